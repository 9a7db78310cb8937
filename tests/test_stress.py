"""riftk stress: visible exploits earn next to nothing from the default reward, honest completions all."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from riftk.cli import app
from riftk.rewards import FormatReward, GatedReward, InstructionReward
from riftk.rewards.exploits import exploits
from riftk.rewards.honest import honest
from riftk.rewards.stress import load_reward, stress


def always_one(completions, **columns):
    return [1.0] * len(completions)


async def correct_text(completions, answer, **columns):
    """An asynchronous reward that reads texts."""
    return [None if not text else float(gold in text) for text, gold in zip(completions, answer, strict=True)]


def nothing(completions, **columns):
    return [0.0] * len(completions)


def test_the_corpus_is_large_named_and_repeatable():
    cases = exploits(1, seed=0)
    assert len({case.name for case in cases}) > 40
    assert len([case for case in cases if case.kind == "exploit"]) >= 60
    assert cases == exploits(1, seed=0) != exploits(1, seed=1)
    asked = {constraint.id for case in (*cases, *honest(1)) for constraint in case.constraints}
    assert len(asked) >= 15


@pytest.mark.parametrize(("think", "plain"), [("tags", False), ("prefilled", True)])
def test_the_default_gated_reward_pays_honest_completions_alone(think, plain):
    report = stress(GatedReward(think=think), think=think, plain=plain, problems=2, seed=7)
    assert report.paid == []
    assert report.underpaid == []
    assert report.maximum == 1.0
    assert {one.share for one in report.of("unseen")} == {1.0}  # said apart: rules cannot see them


def test_without_think_the_default_reward_holds_too():
    assert stress(GatedReward(), problems=1).paid == []


def test_rewards_without_gate_or_guards_are_found_out():
    paid = {one.name for one in stress(InstructionReward(guards=False), problems=1).paid}
    assert {"filler", "loop of words", "wrong but compliant", "constant answer"} & paid >= {
        "filler",
        "loop of words",
    }
    assert len(stress(FormatReward(think="tags"), problems=1).paid) > 20


def test_any_reward_with_the_signature_of_trl():
    report = stress(correct_text, plain=True, problems=1)
    assert report.maximum == 1.0
    assert len(stress(always_one, problems=1).paid) == len(stress(always_one, problems=1).of("exploit"))
    with pytest.raises(ValueError, match="no honest completion earns anything"):
        stress(nothing, problems=1)
    with pytest.raises(ValueError, match="returned 1 values"):
        stress(lambda completions, **columns: [1.0], problems=1)


@pytest.mark.parametrize(
    "spec", ["riftk.rewards", "riftk.rewards:Nothing", "no.such.module:f", "riftk.rewards:__all__"]
)
def test_a_reward_that_cannot_be_loaded_is_one_sentence(spec):
    with pytest.raises(ValueError, match="--reward"):
        load_reward(spec, "tags")


def test_the_command_says_what_earns_and_fails_above_the_threshold():
    good = CliRunner().invoke(app, ["stress", "--problems", "1"])
    assert good.exit_code == 0, good.output
    assert "rules cannot" in good.output
    bad = CliRunner().invoke(app, ["stress", "--reward", f"{__name__}:always_one", "--problems", "1"])
    assert bad.exit_code == 1
    assert "visible classes earn more than" in bad.output.replace("\n", " ")


def test_rows_of_cases_are_rows_that_rewards_read():
    cases = exploits(1)
    assert GatedReward().check_dataset([case.row() for case in cases]) == len(cases)
    assert all(json.loads(case.row()["constraints"]) for case in cases)
