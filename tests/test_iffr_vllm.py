"""Closed sets with vLLM: the choices and the probabilities of the transformers engine."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from test_engines_vllm import vllm  # noqa: F401 - a fixture

from riftk.benchmarks import load_benchmark
from riftk.engines import Request, Sampling, load_engine
from riftk.evaluation.runs import make_requests

pytestmark = [pytest.mark.vllm, pytest.mark.slow]

TINY = "pkg://riftk.tiny/weights/base"
SMOLLM2 = Path(os.environ.get("RIFTK_TEST_MODELS", Path.home() / ".cache/riftk-test-models"))
SMOLLM2 /= "SmolLM2-135M-Instruct"
SAMPLING = Sampling(temperature=0)
AGREEMENT = 0.98


def choices(engine, requests) -> dict:
    got = dict(engine.generate(requests, SAMPLING))
    assert got.keys() == {request.key for request in requests}
    return got


def check(engine, other, requests) -> None:
    one, two = choices(engine, requests), choices(other, requests)
    same = [key for key in one if one[key].text == two[key].text]
    assert len(same) >= AGREEMENT * len(requests)
    for key in one:
        assert (one[key].prompt_tokens, one[key].finish_reason) == (two[key].prompt_tokens, "stop")
        for label, logprob in one[key].label_logprobs.items():
            assert logprob == pytest.approx(two[key].label_logprobs[label], abs=0.02)
        assert one[key].label_logprobs[one[key].text] == max(one[key].label_logprobs.values())


def test_letters_of_the_tiny_model(vllm):  # noqa: F811
    requests = [
        Request(str(n), ({"role": "user", "content": f"Is it A, B, C or {'D ' * n}?"},), labels=tuple("ABCD"))
        for n in range(40)
    ]
    check(vllm(TINY), load_engine(model=TINY, device="cpu"), requests)


@pytest.mark.parametrize("name", ["rotten_tomatoes", "obqa"])
def test_a_real_model_on_real_items(vllm, benchmark_file, name):  # noqa: F811
    if not SMOLLM2.is_dir():
        pytest.skip(f"no model in {SMOLLM2}")
    file = {"rotten_tomatoes": "rotten_tomatoes.jsonl", "obqa": "openbookqa.jsonl"}[name]
    folder = benchmark_file(file).parent
    items = load_benchmark(f"iffr:set={name}", limit=60, data_dir=folder)
    requests = list(make_requests(items).values())
    check(vllm(str(SMOLLM2)), load_engine(model=str(SMOLLM2), device="cpu"), requests)
