"""The vLLM engine, run for real: it asks and reads as the transformers engine does."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from riftk.engines import Request, Sampling, load_engine

pytestmark = [pytest.mark.vllm, pytest.mark.slow]

TINY = "pkg://riftk.tiny/weights/base"
SMOLLM2 = Path(os.environ.get("RIFTK_TEST_MODELS", Path.home() / ".cache/riftk-test-models"))
SMOLLM2 /= "SmolLM2-135M-Instruct"
QUESTIONS = [
    "What is the capital of France?",
    "Tom has 7 apples and eats 5 of them. How many are left?",
    "Name three fruits.",
    "Is the sky blue?",
    "Write a sentence about a river.",
    "What is 12 + 30?",
    "Which animal barks?",
    "Give a word that begins with z.",
]
REQUESTS = [
    Request(f"{number}-{polite}", ({"role": "user", "content": question + polite},))
    for number, question in enumerate(QUESTIONS)
    for polite in ("", " Please explain.")
]
GREEDY = Sampling(temperature=0, top_p=1, max_tokens=48)


@pytest.fixture
def vllm(monkeypatch):
    """Opens vLLM engines, which are closed in the end."""
    pytest.importorskip("vllm")
    monkeypatch.setenv("VLLM_CPU_KVCACHE_SPACE", "1")
    opened = []

    def make(model: str, **options):
        settings = {"max_model_len": 512, "dtype": "float32", "enforce_eager": True, "batch_size": 16}
        opened.append(load_engine("vllm", model=model, **settings | options))
        return opened[-1]

    yield make
    for engine in opened:
        engine.close()


def differing(engine, other, requests=REQUESTS) -> list[str]:
    """Keys whose greedy records differ; none is missing."""
    one, two = (dict(each.generate(requests, GREEDY)) for each in (engine, other))
    assert one.keys() == two.keys() == {request.key for request in requests}
    return [key for key in one if one[key] != two[key]]


def test_greedy_records_are_those_of_transformers(vllm):
    plain = load_engine(model=TINY, device="cpu")
    engine = vllm(TINY, think=plain.think)
    assert engine.think == plain.think
    assert differing(engine, plain) == []
    assert engine.probe()["reasoning"] == "text"
    # A turn that is begun already, a limit of one's own, samples that are there.
    begun = [Request("a", REQUESTS[0].messages, prefix="<think>\nso the", max_tokens=9), *REQUESTS[:2]]
    assert differing(engine, plain, begun) == []
    done = frozenset(request.key for request in REQUESTS[2:])
    assert [key for key, _ in engine.generate(REQUESTS, GREEDY, done)] == ["0-", "0- Please explain."]
    long = Request("long", ({"role": "user", "content": "apples " * 600},))
    assert dict(engine.generate([long], GREEDY))["long"].finish_reason == "error"
    # What is drawn belongs to the request, whatever runs beside it.
    drawn = Sampling(1.0, 0.9, 24, seed=5)
    whole = dict(engine.generate(REQUESTS, drawn))
    rest = dict(engine.generate(REQUESTS, drawn, done=frozenset(list(whole)[:9])))
    assert rest == {key: whole[key] for key in rest}
    assert len({generation.text for generation in whole.values()}) > 12
    assert list(engine.generate(REQUESTS, drawn, until=lambda: True)) == []


def test_a_real_model_answers_the_same(vllm):
    if not SMOLLM2.is_dir():
        pytest.skip(f"no model in {SMOLLM2}")
    assert differing(vllm(str(SMOLLM2)), load_engine(model=str(SMOLLM2), device="cpu")) == []


def test_an_adapter_is_applied(vllm, tmp_path):
    import torch
    from peft import LoraConfig, get_peft_model
    from transformers import AutoModelForCausalLM

    from riftk.paths import resolve

    torch.manual_seed(1)
    config = LoraConfig(r=4, target_modules=["q_proj", "v_proj", "down_proj"], init_lora_weights=False)
    get_peft_model(AutoModelForCausalLM.from_pretrained(resolve(TINY)), config).save_pretrained(tmp_path)
    merged, base = (load_engine(model=model, device="cpu") for model in (str(tmp_path), TINY))
    engine = vllm(str(tmp_path))
    assert differing(engine, merged) == []
    assert len(differing(merged, base)) > 8
