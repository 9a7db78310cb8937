"""`riftk eval` on the published benchmarks with a real model: greedily, vLLM and a real server say what
transformers says.

    RIFTK_TEST_MODELS=FOLDER python -m pytest -m "vllm or server" tests/test_evaluation_real_engines.py

FOLDER holds SmolLM2-135M-Instruct. The server is vLLM's where vLLM is installed, else `transformers serve`,
which needs fastapi and uvicorn.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from riftk.rows import read_jsonl

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]

MODEL = Path(os.environ.get("RIFTK_TEST_MODELS", Path.home() / ".cache/riftk-test-models"))
MODEL /= "SmolLM2-135M-Instruct"
BENCHMARKS = "mathif:constrained,reasonif:reasoning:response"
ITEMS = 12  # of each
SERVE = "import sys; from transformers.cli.transformers import main; sys.argv[0] = 'transformers'; main()"


@pytest.fixture(scope="module")
def riftk_eval(benchmark_file, tmp_path_factory):
    """Runs the command with an engine and gives its samples by task and item."""
    if not MODEL.is_dir():
        pytest.skip(f"no model in {MODEL}")
    data = benchmark_file("mathif.jsonl").parent
    benchmark_file("reasonif.jsonl")
    environment = {**os.environ, "VLLM_CPU_KVCACHE_SPACE": "1"}

    def run(*engine: str) -> dict[tuple[str, str], dict[str, Any]]:
        out = tmp_path_factory.mktemp("eval")
        command = [sys.executable, "-m", "riftk", "eval", "--model", str(MODEL), "--out", str(out), *engine]
        command += ["--benchmarks", BENCHMARKS, "--limit", str(ITEMS), "--data-dir", str(data)]
        command += ["--limits", "dataset", "--think", "none", "--temperature", "0", "--top-p", "1"]
        command += ["--max-tokens", "64", "--batch-size", "8"]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr[-3000:]
        files = out.glob("samples_*.jsonl")
        return {(file.stem, sample["item_id"]): sample for file in files for sample in read_jsonl(file)}

    return run


@pytest.fixture(scope="module")
def expected(riftk_eval):
    return riftk_eval("--dtype", "float32")


@contextmanager
def served() -> Iterator[str]:
    """The URL of a real server of the model."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    at = ["--host", "127.0.0.1", "--port", port, "--dtype", "float32"]
    if find_spec("vllm"):
        command = ["-m", "vllm.entrypoints.openai.api_server", "--model", str(MODEL), *at]
        command += ["--max-model-len", "2048", "--enforce-eager", "--generation-config", "vllm"]
    elif find_spec("fastapi") and find_spec("uvicorn"):
        command = ["-c", SERVE, "serve", str(MODEL), *at, "--device", "cpu"]
    else:
        pytest.skip("neither vLLM nor fastapi and uvicorn are installed")
    environment = {**os.environ, "VLLM_CPU_KVCACHE_SPACE": "1"}
    server = subprocess.Popen([sys.executable, *command], env=environment)
    url = f"http://127.0.0.1:{port}/v1"
    try:
        while not answers(f"{url}/models"):
            assert server.poll() is None, "the server has ended"
            time.sleep(1)
        yield url
    finally:
        server.send_signal(signal.SIGINT)
        server.wait()


def answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:
            return answer.status == 200
    except OSError:
        return False


def judged(sample: dict[str, Any]) -> dict[str, Any]:
    """Everything that an item counts as."""
    followed = {rules: [v["followed"] for v in found] for rules, found in sample["verdicts"].items()}
    published = {rules: grade["correct"] for rules, grade in sample["published_grades"].items()}
    return {"followed": followed, "published": published, "correct": sample["correct"]}


def check_agreement(expected: dict[Any, dict[str, Any]], found: dict[Any, dict[str, Any]]) -> None:
    """At least 98 % of the items count as the same; the others are printed, and how many texts are equal."""
    assert found.keys() == expected.keys()
    assert len(found) == 2 * ITEMS
    other = {key for key in found if judged(found[key]) != judged(expected[key])}
    texts = sum(found[key]["resps"] == expected[key]["resps"] for key in found)
    print(f"{len(found) - len(other)} of {len(found)} items count as the same; {texts} texts are equal")
    for key in sorted(other):
        print(*key, judged(expected[key]), judged(found[key]), expected[key]["resps"], found[key]["resps"])
    assert len(other) <= 0.02 * len(found)
    assert not any(sample["error"] for sample in found.values())
    assert [s["prompt_tokens"] for s in found.values()] == [expected[key]["prompt_tokens"] for key in found]


@pytest.mark.vllm
def test_vllm_says_what_transformers_says(riftk_eval, expected):
    pytest.importorskip("vllm")
    check_agreement(expected, riftk_eval("--engine", "vllm", "--dtype", "float32", "--max-model-len", "2048"))


@pytest.mark.server
def test_a_real_server_says_what_transformers_says(riftk_eval, expected):
    with served() as url:
        found = riftk_eval("--engine", "openai", "--base-url", url, "--deadline", "600")
    check_agreement(expected, found)
