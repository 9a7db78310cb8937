"""Preflight: each thing that would spoil a training is named, with advice."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from riftk.preflight import (
    check_groups,
    check_memory,
    check_prompts,
    check_think,
    check_truncation,
    earnings,
    memory_needed,
    sampling_engine,
)
from riftk.rewards import CorrectnessReward, FormatReward
from riftk.rl import Finished
from riftk.runs import RunFolder
from riftk.stages import Job
from riftk.training import EvaluationArguments

THOUGHT = "<think>five plus three</think>\\boxed{8}"


def sample(raw: str = THOUGHT, finish_reason: str = "stop", text: str | None = None) -> dict:
    row = {"prompt": [{"role": "user", "content": "5 + 3?"}], "answer": "8", "answer_type": "number"}
    return {
        "row": row,
        "raw": raw,
        "text": raw if text is None else text,
        "finish_reason": finish_reason,
        "tokens": 12,
    }


@pytest.mark.parametrize(("dropped", "stops"), [(0, False), (5, False), (6, True)])
def test_prompts_longer_than_planned(dropped, stops):
    advice = check_prompts(dropped, 100, 1024)
    assert bool(advice) is stops
    if stops:
        assert "6 of 100 prompts are longer than max_prompt_length (1024 tokens)" in advice


@pytest.mark.parametrize(("cut", "stops"), [(0, False), (3, False), (4, True)])
def test_too_many_are_cut_off(cut, stops):
    samples = [sample(finish_reason="length")] * cut + [sample()] * (10 - cut)
    advice = check_truncation(samples, 512)
    assert bool(advice) is stops
    if stops:
        assert "4 of 10 completions are cut off at 512 tokens" in advice
        assert "raise max_completion_length" in advice


@pytest.mark.parametrize(
    ("samples", "think", "sentence"),
    [
        ([sample()] * 4, "tags", None),
        ([sample("five</think>8")] * 4, "prefilled", None),
        ([sample("8")] * 4, "none", None),
        ([sample(text="five plus three8")] * 4, "tags", "strips the think markers"),
        ([sample("five</think>8")] * 4, "none", "the chat template does not announce"),
        ([sample("8")] * 3 + [sample()], "prefilled", "3 of 4 finished completions close no think block"),
        ([sample("8", "length")] * 4, "prefilled", None),  # cut off is another matter
    ],
)
def test_think_blocks_that_would_go_unrecognised(samples, think, sentence):
    advice = check_think(samples, think)
    assert advice is None if sentence is None else sentence in advice


@pytest.mark.parametrize(
    ("earned", "sentence"),
    [
        ([[0.0, 1.0], [1.0, 1.0]], None),
        ([[0.0, 0.0], [0.0, 0.0]], "take easier problems"),
        ([[1.0, 1.0], [1.0, 1.0]], "take harder problems"),
        ([[1.0, 1.0], [0.0, 0.0]], "in all 2 groups"),
    ],
)
def test_groups_that_are_all_alike(earned, sentence):
    advice = check_groups(earned)
    assert advice is None if sentence is None else sentence in advice


def test_earnings_are_weighted_and_a_cut_off_completion_earns_nothing():
    rewards = [
        Finished(reward, frozenset({7}))
        for reward in (CorrectnessReward(think="tags"), FormatReward(think="tags"))
    ]
    groups = [[sample(), sample("<think>five</think>9")], [sample(finish_reason="length"), sample("<think>")]]
    earned = earnings(groups, rewards, [2.0, 1.0], end=7)
    assert earned == [[pytest.approx(2.1), pytest.approx(0.1)], [0.0, 0.0]]


def job(**training) -> SimpleNamespace:
    options = {
        "per_device_train_batch_size": 8,
        "steps_per_generation": 2,
        "max_completion_length": 160,
        "use_vllm": False,
        "beta": 0.001,
        "trust_remote_code": False,
        **training,
    }
    model = SimpleNamespace(
        model_name_or_path="pkg://riftk.tiny/weights/base",
        model_revision=None,
        dtype="float32",
        use_peft=False,
    )
    args = SimpleNamespace(max_prompt_length=100)
    return SimpleNamespace(args=args, training=SimpleNamespace(**options), model=model)


def test_memory_is_counted_from_the_models_shape():
    needed = memory_needed(job())
    cache = 2 * 4 * 4 * 32 * 4 * 16 * (100 + 160)  # 4 layers, 4 heads of 32, 16 completions
    assert needed["rollouts"] == cache
    without_reference = memory_needed(job(beta=0.0, use_vllm=True, vllm_mode="server"))
    assert needed["weights"] == 2 * without_reference["weights"] == 2 * needed["gradients"]
    assert needed["optimizer"] == 2 * needed["gradients"]
    assert without_reference["rollouts"] == 0
    assert "activations" not in needed


def test_what_cannot_fit_is_said_with_its_parts():
    assert check_memory(job()) is None
    advice = check_memory(job(per_device_train_batch_size=1 << 20, max_completion_length=1 << 14))
    assert "rollouts" in advice
    assert "lower per_device_train_batch_size" in advice


@pytest.mark.parametrize(
    ("engine", "options", "takes"),
    [
        ("transformers", [], {"engine": "transformers", "attn_implementation": "sdpa"}),
        ("vllm", ["tensor-parallel=2"], {"engine": "vllm", "tensor-parallel": "2"}),
        ("openai", ["base-url=http://there"], {"engine": "transformers"}),
    ],
)
def test_the_configurations_engine_samples_and_no_server(engine, options, takes, tmp_path):
    training = SimpleNamespace(trust_remote_code=False, chat_template_path=None)
    model = SimpleNamespace(dtype="float32", model_revision="main", attn_implementation="sdpa")
    args = EvaluationArguments(engine=engine, engine_options=options)
    given = sampling_engine(Job(RunFolder(tmp_path, None), args, training, model))
    assert takes.items() <= given.items()
    assert "base-url" not in given
