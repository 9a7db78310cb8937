"""Rewards: what a completion earns, and what it must not earn."""

from __future__ import annotations

import json
import pickle

import pytest

from riftk.rewards import CorrectnessReward, FormatReward, GatedReward, InstructionReward

TRACE = "Tom has five apples and buys three more so he has eight apples now."
GOOD = f"<think>\n{TRACE}\n</think>\n\nTom has eight apples.\n\n<answer>8</answer>"
COMMA = json.dumps([{"id": "punctuation:no_comma", "args": {}, "target": "reasoning"}])
BROKEN = GOOD.replace("apples and", "apples, and")
REWARDS = [FormatReward(), CorrectnessReward(), InstructionReward(), GatedReward()]


def columns(n: int = 1) -> dict:
    return {"constraints": [COMMA] * n, "answer": ["8"] * n, "answer_type": ["number"] * n}


@pytest.mark.parametrize("reward", REWARDS, ids=lambda reward: reward.__name__)
def test_rewards_pickle_and_have_names_of_their_own(reward):
    assert pickle.loads(pickle.dumps(reward)) == reward
    assert len({other.__name__ for other in REWARDS}) == len(REWARDS)


def test_a_compliant_right_answer_earns_everything():
    assert [reward(completions=[GOOD], **columns()) for reward in REWARDS] == [[0.1], [1.0], [1.0], [1.0]]


def test_conversational_completions_are_read_as_trl_hands_them_over():
    messages = [[{"role": "assistant", "content": GOOD}], [{"role": "assistant", "content": None}]]
    assert GatedReward()(completions=messages, **columns(2)) == [1.0, 0.0]


def test_following_without_a_right_answer_earns_nothing_from_the_gate():
    wrong = GOOD.replace("<answer>8", "<answer>9")
    assert InstructionReward()(completions=[wrong], **columns()) == [1.0]
    assert GatedReward()(completions=[wrong], **columns()) == [0.0]
    assert GatedReward()(completions=[BROKEN], **columns()) == [0.0]
    assert GatedReward(formula="bonus")(completions=[BROKEN], **columns()) == [0.5]


def test_graded_credit_grows_towards_compliance():
    graded = InstructionReward(credit="graded", rules="robust")
    worse = BROKEN.replace("more so", "more, so")
    earned = graded(completions=[worse, BROKEN, GOOD], **columns(3))
    assert 0 < earned[0] < earned[1] < earned[2] == 1.0


@pytest.mark.parametrize("reward", REWARDS, ids=lambda reward: reward.__name__)
def test_a_cut_off_prefilled_trace_earns_nothing(reward):
    cut_off = "The total is \\boxed{8} I think, but let me check <answer>8</answer> again and"
    prefilled = type(reward)(think="prefilled")
    assert prefilled(completions=[cut_off, TRACE], **columns(2)) == [0.0, 0.0]


def test_rows_to_which_a_reward_does_not_apply_are_none():
    assert InstructionReward("response")(completions=[GOOD], **columns()) == [None]
    assert CorrectnessReward()(completions=[GOOD], answer=[""]) == [None]
    plain = {"completions": [GOOD], "answer": ["8"], "answer_type": ["number"]}
    assert GatedReward()(constraints=["[]"], **plain) == [1.0]
    assert GatedReward()(constraints=[None], **{**plain, "answer": [None]}) == [None]


HOSTILE = ["", "\x00\xff" * 50, "{" * 10_000, "</think>" * 100, "<think>" * 100, "9" * 5000]


@pytest.mark.parametrize("text", HOSTILE)
def test_nothing_that_a_model_writes_raises(text):
    for reward in REWARDS:
        assert reward(completions=[text], **columns())[0] in (0.0, None)
