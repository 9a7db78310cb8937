"""Adapters of the rewards, by the contract of each trainer; `test_adapters_*.py` run trainers' own code."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import os
import pickle
import random
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from adapter_cases import CLOSED, CUT_OFF, GOOD, QUESTION, ROW, TRACE

import riftk.rewards
from riftk.rewards import GatedReward, openrlhf, verifiers, verl
from riftk.rewards.settings import read_scoring

PARTS = set(riftk.rewards.Score().to_floats())


def by_trl(text: Any, row: dict) -> float:
    columns = {name: [value] for name, value in row.items()}
    return GatedReward(think=read_scoring().think)(completions=[text], **columns)[0] or 0.0


def by_verl(text: Any, row: dict) -> float:
    return verl.compute_score("gsm8k", text, row["answer"], row)["score"]


def by_openrlhf(text: Any, row: dict) -> float:
    query = f"User: {QUESTION}{text}" if isinstance(text, str) else text
    return openrlhf.rewards_of([query], [f"User: {QUESTION}"], [json.dumps(row)])["rewards"][0]


def by_verifiers(text: Any, row: dict, reasoning: str | None = None, truncated: bool = False) -> float:
    said = SimpleNamespace(content=text, reasoning_content=reasoning)
    reply = (text or "").strip() if isinstance(text, str | None) else text
    trace = SimpleNamespace(last_reply=reply, assistant_messages=[said], is_truncated=truncated)
    task = SimpleNamespace(**row, prompt_text=QUESTION)
    return asyncio.run(verifiers.gated(task, trace))


def by_rubric(text: Any, row: dict) -> float:
    return asyncio.run(verifiers.rubric_reward(text, row["answer"], info=row, prompt=QUESTION, state={}))


ADAPTERS = [by_trl, by_verl, by_openrlhf, by_verifiers, by_rubric]


@pytest.fixture(params=ADAPTERS, ids=lambda adapter: adapter.__name__)
def earn(request):
    return request.param


@pytest.mark.parametrize("think", [None, "tags", "prefilled"])
def test_a_compliant_right_answer_earns_everything_whoever_opened_the_block(earn, think, monkeypatch):
    if think:
        monkeypatch.setenv("RIFTK_THINK", think)
    for text in (GOOD, CLOSED):
        assert earn(text, ROW) == 1.0
        assert earn(text.replace("apples and", "apples, and"), ROW) == 0.0
        assert earn(text.replace("<answer>8", "<answer>9"), ROW) == 0.0


@pytest.mark.parametrize("think", [None, "tags", "prefilled", "channels"])
def test_a_cut_off_prefilled_trace_earns_nothing(earn, think, monkeypatch):
    if think:
        monkeypatch.setenv("RIFTK_THINK", think)
    for row in (ROW, {**ROW, "constraints": "[]"}):
        assert earn(CUT_OFF, row) == 0.0


def test_a_model_that_does_not_reason_is_declared(earn, monkeypatch):
    row = {**ROW, "constraints": "[]"}
    assert earn("Tom has \\boxed{8} apples.", row) == 0.0
    monkeypatch.setenv("RIFTK_THINK", "none")
    assert earn("Tom has \\boxed{8} apples.", row) == 1.0


def test_gpt_oss_channels_are_read_with_and_without_their_special_tokens(earn, monkeypatch):
    monkeypatch.setenv("RIFTK_THINK", "channels")
    answer = "Tom has eight apples.\n\n<answer>8</answer>"
    kept = (
        f"<|channel|>analysis<|message|>{TRACE}<|end|><|start|>assistant<|channel|>final<|message|>{answer}"
    )
    assert earn(kept, ROW) == 1.0
    assert earn(f"analysis{TRACE}assistantfinal{answer}", ROW) == 1.0
    assert earn(f"analysis{TRACE} so \\boxed{{8}}", ROW) == 0.0


HOSTILE: list[Any] = [
    random.Random(0).randbytes(3000).decode("latin-1"),
    "\ud800 half a character </think> 8",
    "<think>" + "a, b " * 2_000_000,  # 10 MB
    "(" * 100_000,
    "",
    None,
    b"\x00\xff",
    8,
    [],
    [{"role": "assistant", "content": [{"type": "text", "text": "8"}]}],
    [{"role": "assistant", "content": None, "tool_calls": [{"id": "1"}]}, {"role": "tool", "content": "8"}],
    [[["nested"]]],
]
ROWS = [ROW, {"constraints": "{not json", "answer": None}, {"constraints": None, "answer": ""}]


@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: repr(text)[:20])
def test_whatever_a_model_or_a_row_holds_is_a_score(earn, text):
    for row in ROWS:
        assert earn(text, row) == 0.0


def test_content_parts_are_read_as_text():
    parts = [{"role": "assistant", "content": [{"type": "text", "text": GOOD}]}]
    assert by_trl(parts, ROW) == by_verl(parts, ROW) == by_rubric(parts, ROW) == 1.0


def test_settings_come_from_arguments_then_from_the_environment(monkeypatch):
    monkeypatch.setenv("RIFTK_FORMULA", "bonus")
    monkeypatch.setenv("RIFTK_GUARDS", "0")
    assert read_scoring(formula="product").formula == "product"
    assert read_scoring() == riftk.rewards.Scoring(think="tags", formula="bonus", guards=False)


@pytest.mark.parametrize(
    ("settings", "error", "said"),
    [
        ({"thnk": "tags"}, TypeError, "thnk"),
        ({"think": "tag"}, ValueError, "prefilled"),
        ({"rules": "robst"}, ValueError, "reasonif"),
        ({"guards": "maybe"}, ValueError, "guards"),
    ],
)
def test_a_mistake_in_the_settings_is_loud(settings, error, said):
    with pytest.raises(error, match=said):
        verl.compute_score("gsm8k", GOOD, "8", ROW, **settings)


@pytest.mark.parametrize("name", ["openrlhf", "verifiers", "trl"])
def test_a_mistake_in_the_environment_shows_when_an_adapter_is_loaded(name):
    program = f"import riftk.rewards.{name}"
    environment = {**os.environ, "RIFTK_THINK": "tag"}
    ended = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
    assert "think must be one of" in ended.stderr


# ------------------------------------------------------------------------------------------- each trainer


def test_verl_gets_the_same_keys_for_every_response():
    keys = {
        frozenset(verl.compute_score("x", text, "8", row)) for text in HOSTILE[4:] for row in (ROW, {}, None)
    }
    assert keys == {frozenset(PARTS | {"acc"})}


def test_verl_former_batch_form_scores_in_order():
    found = verl.compute_scores(["x"] * 2, [GOOD, CUT_OFF], ["8", "8"], [ROW, ROW], think="prefilled")
    assert [one["score"] for one in found] == [1.0, 0.0]


def test_verl_guards_see_the_question_where_a_row_has_it():
    echo = GOOD.replace(TRACE, QUESTION)
    row = {**ROW, "constraints": "[]"}
    assert verl.compute_score("x", echo, "8", {**row, "question": QUESTION})["degenerate"] == 1.0
    assert verl.compute_score("x", echo, "8", row)["degenerate"] == 0.0


def openrlhf_reward(query: str, prompt: str, label: str = json.dumps(ROW)) -> float:
    return openrlhf.rewards_of([query], [prompt], [label])["rewards"][0]


def test_openrlhf_prompt_with_an_open_block_is_enough_to_know_the_mode(monkeypatch):
    monkeypatch.setenv("RIFTK_THINK", "none")
    prompt = f"<|im_start|>user\n{QUESTION}<|im_end|>\n<|im_start|>assistant\n<think>\n"
    assert openrlhf_reward(f"{prompt}{CLOSED}<|im_end|>", prompt) == 1.0
    assert openrlhf_reward(prompt + CUT_OFF, prompt) == 0.0


def test_openrlhf_prompt_that_was_cut_from_the_left_is_still_no_response():
    prompt = f"User: {'much context ' * 100}{QUESTION}\nAssistant: "
    assert openrlhf_reward(prompt[300:] + GOOD, prompt) == 1.0
    assert openrlhf_reward(f"something else {prompt[-200:]}{GOOD}", prompt) == 0.0


def test_openrlhf_label_may_be_the_gold_answer_alone():
    prompt = "User: 5 + 3?"
    assert openrlhf_reward(prompt + GOOD, prompt, "8") == 1.0
    assert openrlhf_reward(prompt + GOOD, prompt, "9") == 0.0


def test_openrlhf_gets_tensors_with_scores_in_the_unit_interval(monkeypatch):
    torch = pytest.importorskip("torch")
    monkeypatch.setenv("RIFTK_FORMULA", "if-rlvr")
    found = openrlhf.reward_func([f"p{GOOD}"], ["p"], [json.dumps(ROW)])
    assert found["rewards"].tolist() == [2.0]
    assert found["scores"].tolist() == [1.0]
    assert set(found["extra_logs"]) == PARTS
    assert all(
        isinstance(value, torch.Tensor) and value.shape == (1,) for value in found["extra_logs"].values()
    )


def post(url: str, body: bytes) -> dict:
    with urllib.request.urlopen(urllib.request.Request(url, body, method="POST"), timeout=30) as answer:
        return json.load(answer)


@pytest.mark.server
def test_openrlhf_server_answers_and_survives_bad_requests(tmp_path):
    command = [sys.executable, "-m", "riftk.rewards.openrlhf", "--port", "0", "--think", "prefilled"]
    server = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True)
    try:
        url = server.stdout.readline().split("rewards at ")[1].split(",")[0]
        for body in (b"{", b"[]", b'{"query": ["a"], "prompts": [], "labels": []}', b"\xff" * 10):
            with pytest.raises(urllib.error.HTTPError, match="400"):
                post(url, body)
        asked = {
            "query": ["p" + CLOSED, "p" + CUT_OFF],
            "prompts": ["p", "p"],
            "labels": [json.dumps(ROW)] * 2,
        }
        found = post(url, json.dumps(asked).encode())
        assert found["rewards"] == found["scores"] == [1.0, 0.0]
        assert found["extra_logs"]["unclosed"] == [0.0, 1.0]
        with urllib.request.urlopen(url, timeout=30) as answer:
            assert json.load(answer) == {"status": "ok"}
    finally:
        server.terminate()
        assert server.wait(timeout=30) == 0


def test_openrlhf_server_refuses_settings_that_make_no_sense():
    command = [sys.executable, "-m", "riftk.rewards.openrlhf", "--think", "tag"]
    ended = subprocess.run(command, capture_output=True, text=True)
    assert ended.returncode == 2
    assert "think must be one of" in ended.stderr


def test_verifiers_reads_reasoning_that_a_server_delivers_apart():
    answer = CLOSED.partition("</think>")[2]
    assert by_verifiers(answer, ROW, reasoning=TRACE) == 1.0
    assert by_verifiers(answer, ROW, reasoning=TRACE, truncated=True) == 0.0
    assert by_verifiers(None, ROW, reasoning=CUT_OFF) == 0.0


def test_trl_names_for_its_command_line_follow_the_environment():
    program = (
        "import pickle; from riftk.rewards import trl;"
        "print(trl.gated_reward.think, trl.instruction_reward.think, trl.gated_reward.formula)"
    )
    environment = {**os.environ, "RIFTK_THINK": "prefilled", "RIFTK_FORMULA": "bonus"}
    ended = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
    assert ended.stdout.split() == ["prefilled", "prefilled", "bonus"], ended.stderr


def test_rewards_pickle_into_a_spawned_process(tmp_path):
    program = "import pickle, sys; r, k = pickle.load(sys.stdin.buffer); print(r.__name__, r(**k))"
    reward = GatedReward(think="tags", credit="graded")
    call = {"completions": [GOOD], **{name: [value] for name, value in ROW.items()}}
    ended = subprocess.run(
        [sys.executable, "-c", program], input=pickle.dumps((reward, call)), capture_output=True, cwd=tmp_path
    )
    assert ended.stdout.decode().split() == [reward.__name__, "[1.0]"], ended.stderr


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("verl", "m.compute_score('x', GOOD, '8', ROW, think='tags')['score']"),
        ("openrlhf", "m.rewards_of(['p' + GOOD], ['p'], [__import__('json').dumps(ROW)])['rewards'][0]"),
        ("verifiers", "__import__('asyncio').run(m.rubric_reward(GOOD, '8', info=ROW))"),
    ],
)
def test_an_adapter_works_as_a_bare_file_and_imports_no_trainer(name, call, tmp_path):
    program = (
        "import importlib.util, sys;"
        f"s = importlib.util.spec_from_file_location('custom_module', {str(adapter_file(name))!r});"
        "m = importlib.util.module_from_spec(s); s.loader.exec_module(m);"
        f"GOOD, ROW = {GOOD!r}, {ROW!r}; print({call});"
        "print(*{'torch', 'transformers', 'trl', 'verl', 'openrlhf', 'verifiers'} & set(sys.modules))"
    )
    ended = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True)
    assert ended.stdout.split() == ["1.0"], ended.stderr


def adapter_file(name: str) -> Path:
    return Path(importlib.util.find_spec(f"riftk.rewards.{name}").origin)
