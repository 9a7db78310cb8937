"""OpenRLHF's own rollout code with riftk's reward, from the file and over HTTP.

Run in an environment with OpenRLHF: `python -m pytest -m openrlhf tests`. Without a GPU, `pip install
--no-deps openrlhf` and torch, transformers, ray, aiohttp, datasets, pylatexenc, sympy are enough.
"""

from __future__ import annotations

import asyncio
import importlib.util
import json
import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import pytest
from adapter_cases import BROKEN, CLOSED, CUT_OFF, GOOD, QUESTION, ROW

from riftk.paths import resolve

pytestmark = pytest.mark.openrlhf
pytest.importorskip("openrlhf", reason="OpenRLHF is not installed; see README, Tests")
TAGS = f"<|im_start|>user\n{QUESTION}<|im_end|>\n<|im_start|>assistant\n"
CASES = [
    (TAGS, GOOD, 1.0),
    (TAGS, BROKEN, 0.0),
    (TAGS + "<think>\n", CLOSED, 1.0),
    (TAGS + "<think>\n", CUT_OFF, 0.0),
]


@pytest.fixture(scope="module")
def tokenizer():
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(resolve("pkg://riftk.tiny/weights/base"))


class Engine:
    """An engine that answers what it is told: what vLLM's would, without a GPU."""

    def __init__(self, tokens: list[int]) -> None:
        self.tokens = tokens

    async def generate(self, prompt: Any, params: Any, multi_modal_data: Any = None) -> Any:
        out = SimpleNamespace(token_ids=self.tokens, finish_reason="stop", logprobs=None, text="")
        return SimpleNamespace(outputs=[out])


def execute(url: str, tokenizer: Any, prompt: str, text: str, label: str) -> dict:
    """One rollout by OpenRLHF's executor."""
    from openrlhf.utils.agent import SingleTurnAgentExecutor

    tokens = tokenizer(text, add_special_tokens=False)["input_ids"] + [tokenizer.eos_token_id]
    params = SimpleNamespace(max_tokens=4096, logprobs=None)
    executor = SingleTurnAgentExecutor(url)
    return asyncio.run(executor.execute(prompt, label, params, 100_000, tokenizer, Engine(tokens)))


@pytest.mark.parametrize(("prompt", "text", "earned"), CASES)
def test_the_executor_pays_by_the_file(prompt, text, earned, tokenizer, tmp_path, monkeypatch):
    import torch

    monkeypatch.chdir(tmp_path)
    url = importlib.util.find_spec("riftk.rewards.openrlhf").origin
    rollout = execute(url, tokenizer, prompt, text, json.dumps(ROW))
    # What OpenRLHF makes of it next: one number per sample.
    assert torch.tensor([rollout["reward"]]).flatten().tolist() == [earned]
    assert torch.tensor([rollout["scores"]]).flatten().tolist() == [earned]
    assert rollout["extra_logs"]["unclosed"].flatten()[0].item() == float(text == CUT_OFF)


@pytest.fixture(scope="module")
def server():
    command = [sys.executable, "-m", "riftk.rewards.openrlhf", "--port", "0", "--think", "tags"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    yield process.stdout.readline().split("rewards at ")[1].split(",")[0]
    process.terminate()
    assert process.wait(timeout=30) == 0


@pytest.mark.parametrize(("prompt", "text", "earned"), CASES)
def test_the_executor_pays_over_http(prompt, text, earned, tokenizer, server):
    rollout = execute(server, tokenizer, prompt, text, json.dumps(ROW))
    assert (rollout["reward"], rollout["scores"]) == ([earned], [earned])


def test_the_data_set_makes_prompts_and_labels_of_riftk_rows(tmp_path, tokenizer):
    from openrlhf.datasets.prompts_dataset import preprocess_data

    from riftk.data_synth.row_files import RowsConfig, write_rows
    from riftk.rewards.openrlhf import rewards_of

    out = tmp_path / "rows.jsonl"
    problems = "riftk.tiny.problems:training_problems"
    write_rows(RowsConfig(problems, 4, "reasonif", answer_type="number"), out, "openrlhf")
    for row in map(json.loads, out.read_text().splitlines()):
        prompt, label = preprocess_data(
            row, input_key="input", label_key="label", apply_chat_template=tokenizer.apply_chat_template
        )
        assert "reasoning" in prompt
        answer = json.loads(label)["answer"]
        text = f"{prompt}<think>\nshort\n</think>\n\nIt is \\boxed{{{answer}}}."
        assert rewards_of([text], [prompt], [label])["extra_logs"]["correct"] == [1.0]
