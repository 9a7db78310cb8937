"""Rewards: what a completion earns, and what it must not earn."""

from __future__ import annotations

import json
import logging
import math
import pickle

import pytest

from riftk.constraints import parse_constraint
from riftk.constraints.published import published_rules
from riftk.rewards import (
    CorrectnessReward,
    FormatReward,
    GatedReward,
    InstructionReward,
    LengthReward,
    Score,
    Scoring,
    score,
    score_many,
)
from riftk.rewards import completions as reading
from riftk.rewards.formulas import FORMULAS, Evidence
from riftk.rows import RowError

TRACE = "Tom has five apples and buys three more so he has eight apples now."
GOOD = f"<think>\n{TRACE}\n</think>\n\nTom has eight apples.\n\n<answer>8</answer>"
COMMA = json.dumps([{"id": "punctuation:no_comma", "args": {}, "target": "reasoning"}])
BROKEN = GOOD.replace("apples and", "apples, and")
REWARDS = [FormatReward(), CorrectnessReward(), InstructionReward(), GatedReward()]
ROW = {"constraints": COMMA, "answer": "8", "answer_type": "number"}


def columns(n: int = 1) -> dict:
    return {"constraints": [COMMA] * n, "answer": ["8"] * n, "answer_type": ["number"] * n}


@pytest.fixture(autouse=True)
def _fresh_warnings():
    reading._warned.clear()


@pytest.mark.parametrize("reward", [*REWARDS, LengthReward()], ids=lambda reward: reward.__name__)
def test_rewards_pickle_and_are_frozen(reward):
    assert pickle.loads(pickle.dumps(reward)) == reward
    assert pickle.loads(pickle.dumps(reward)).__name__ == reward.__name__


def test_each_setting_shows_in_the_name():
    rewards = [
        *REWARDS,
        LengthReward(),
        LengthReward(mode="max"),
        FormatReward(value=0.2),
        CorrectnessReward(think="tags"),
        InstructionReward("response"),
        InstructionReward(credit="graded"),
        InstructionReward(rules="robust"),
        InstructionReward(guards=False),
        GatedReward(think="prefilled"),
        GatedReward(formula="bonus"),
        GatedReward(target="reasoning"),
        GatedReward(guards=False),
    ]
    assert len({reward.__name__ for reward in rewards}) == len(rewards)


@pytest.mark.parametrize("field", ["target", "credit", "formula", "think"])
def test_a_setting_that_does_not_exist_is_an_error(field):
    with pytest.raises(ValueError, match=field):
        GatedReward(**{field: "nonsense"})


def test_a_compliant_right_answer_earns_everything():
    assert [reward(completions=[GOOD], **columns()) for reward in REWARDS] == [[0.1], [1.0], [1.0], [1.0]]


def test_conversational_completions_are_read_as_trl_hands_them_over():
    messages = [[{"role": "assistant", "content": GOOD}], [{"role": "assistant", "content": None}]]
    assert GatedReward()(completions=messages, **columns(2)) == [1.0, 0.0]
    parts = [[{"role": "assistant", "content": [{"type": "text", "text": GOOD}, {"type": "image"}]}]]
    assert GatedReward()(completions=parts, **columns()) == [1.0]


def test_tool_messages_and_reasoning_fields():
    answer = {"role": "assistant", "reasoning_content": TRACE, "content": "Eight. <answer>8</answer>"}
    tool = [{"role": "assistant", "content": "", "tool_calls": []}, {"role": "tool", "content": "8"}]
    assert GatedReward(think="tags")(completions=[[*tool, answer], tool], **columns(2)) == [1.0, 0.0]


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


CUT_OFF = [
    "The total is \\boxed{8} I think, but let me check <answer>8</answer> again and",
    TRACE,
    f"{TRACE} So \\boxed{{8}}",
    f"<think>\n{TRACE} \\boxed{{8}}",
]


@pytest.mark.parametrize(
    "text",
    ["<think>a</think>b</think>c", "a</think>b</THINK>c", "<think>a<think>b</think>c", "a</think>c<think>"],
)
def test_tags_are_counted_for_the_format(text):
    assert FormatReward()([text]) == FormatReward(think="prefilled")([text]) == [0.0]


@pytest.mark.parametrize("think", ["prefilled", "tags", "channels"])
@pytest.mark.parametrize(
    "kind", [FormatReward, CorrectnessReward, InstructionReward, GatedReward, LengthReward]
)
def test_a_trace_that_is_never_closed_earns_nothing(kind, think):
    given = columns(len(CUT_OFF)) | {"target_length": [5] * len(CUT_OFF)}
    reward = kind(think=think)
    ids = [[0] * 5] * len(CUT_OFF)
    assert reward(completions=CUT_OFF, completion_ids=ids, **given) == [0.0] * len(CUT_OFF)


def test_without_think_a_batch_or_a_rendered_prompt_tells_that_traces_are_prefilled():
    cut = f"{TRACE} So \\boxed{{8}} or"
    closed = GOOD.removeprefix("<think>\n")
    about_response = json.dumps([{"id": "punctuation:no_comma", "target": "response"}])
    row = {**ROW, "constraints": about_response}
    assert score(cut, row).score == 1.0  # nothing tells it from an answer without a trace
    assert [one.score for one in score_many([closed, cut], [row, row])] == [1.0, 0.0]
    assert CorrectnessReward()([closed, cut], answer=["8", "8"]) == [1.0, 0.0]
    assert score(cut, row, prompt="<|user|>How many?<|assistant|><think>\n").score == 0.0
    assert [one.score for one in score_many([GOOD, cut], [row, row])] == [1.0, 1.0]


@pytest.mark.parametrize("think", ["prefilled", "tags", None])
def test_a_prefilled_trace_that_closes_earns_all(think):
    assert GatedReward(think=think)(completions=[GOOD.removeprefix("<think>\n")], **columns()) == [1.0]


def test_what_was_cut_off_by_the_length_limit_is_unfinished():
    found = score(GOOD, ROW, finish_reason="length")
    assert (found.score, found.correct, found.followed, found.format, found.unclosed) == (0, 0, 0, 0, 1)


def test_rows_to_which_a_reward_does_not_apply_are_none():
    assert InstructionReward("response")(completions=[GOOD], **columns()) == [None]
    assert CorrectnessReward()(completions=[GOOD], answer=[""]) == [None]
    plain = {"completions": [GOOD], "answer": ["8"], "answer_type": ["number"]}
    assert GatedReward()(constraints=["[]"], **plain) == [1.0]
    assert GatedReward()(constraints=[None], **{**plain, "answer": [None]}) == [None]
    assert LengthReward()(target_length=[None], completion_ids=[[1]], **plain) == [None]


def test_length_rewards_are_those_of_l1():
    given = {"completions": [GOOD], "answer": ["8"], "completion_ids": [[0] * 1100], "target_length": [100]}
    assert LengthReward("exact")(**given) == [pytest.approx(1 - 0.0003 * 1000)]
    assert LengthReward("max")(**given) == [pytest.approx(0.5 - 0.3)]
    assert LengthReward("max")(**{**given, "target_length": [9000]}) == [1.0]


def test_formulas_gate():
    honest = Evidence(1.0, 1.0, 1.0, False, trace=1500, response=0)
    values = {name: formula(honest) for name, formula in FORMULAS.items()}
    assert values == {"product": 1.0, "bonus": 1.0, "controllability": 1.0, "if-rlvr": 2.0}
    degenerate = Evidence(1.0, 1.0, 1.0, True, trace=1500, response=0)
    assert [FORMULAS[name](degenerate) for name in values] == [0, 0, 0, 0.5]
    wrong = Evidence(0.0, 1.0, 1.0, False, trace=1500, response=0)
    assert FORMULAS["controllability"](wrong) == pytest.approx(0.1 / 1.1)
    assert FORMULAS["if-rlvr"](wrong) == 0.5
    half = Evidence(1.0, 0.5, 0.0, False, trace=750, response=200)
    assert FORMULAS["controllability"](half) == pytest.approx(0.5 * 0.5 * 0.5 * 1.1 / 2.2)


def rules_of(id: str, target: str, **args) -> str | None:
    return published_rules(parse_constraint({"id": id, "args": args, "target": target}))


def test_the_published_rulebook_of_a_constraint():
    assert rules_of("punctuation:no_comma", "reasoning") == "reasonif"
    assert rules_of("punctuation:no_comma", "response") == "mathif"
    assert rules_of("detectable_format:title", "response") == "ifeval"
    assert rules_of("cotcontrol:lowercase_thinking", "reasoning") == "cotcontrol"
    assert rules_of("detectable_format:title", "reasoning") is None


def test_the_rulebook_of_the_rows_own_benchmark_goes_first():
    capitals = [{"id": "change_case:english_capital", "args": {}, "target": "response"}]
    row = {"constraints": json.dumps(capitals), "answer": "8", "answer_type": "number"}
    text = f"<think>{TRACE}</think>TOM HAS EIGHT APPLES NOW. <answer>8</answer>"
    # MathIF's evaluator would judge nothing but the "8" between the tags that ReasonIF's prompt asks for.
    assert score(text, row).followed == 0.0
    assert score(text, {**row, "rules": "reasonif"}).followed == 1.0
    limit = [
        {"id": "length_constraint_checkers:number_words", "args": {"num_words": 9}, "target": "response"}
    ]
    limited = {**row, "constraints": json.dumps(limit), "rules": "reasonif"}
    assert score(text, limited).followed == 1.0
    assert GatedReward().check_dataset([limited]) == 1
    with pytest.raises(RowError, match="reasonif-99"):
        GatedReward().check_dataset([{**row, "rules": "reasonif-99"}])


def test_both_takes_the_lower_verdict():
    end = json.dumps(
        [{"id": "startend:end_checker", "args": {"end_phrase": "Over and out"}, "target": "reasoning"}]
    )
    text = GOOD.replace("now.", "now. **Over and out**.")
    earned = {
        rules: score(text, {"constraints": end}, Scoring(rules=rules)).followed
        for rules in ("robust", "reasonif", "both")
    }
    assert earned == {"robust": 1.0, "reasonif": 0.0, "both": 0.0}


def test_one_score_has_one_set_of_keys():
    rows = [ROW, {"answer": "8"}, {"constraints": COMMA}, {}, {"constraints": "no JSON"}]
    found = [score(GOOD, row) for row in rows]
    assert len({tuple(one.to_floats()) for one in found}) == 1
    assert all(math.isfinite(value) for one in found for value in one.to_floats().values())
    assert [one.score for one in found] == [1.0, 1.0, 1.0, None, None]
    assert found == score_many([GOOD] * 5, rows)
    assert Score().to_floats().keys() == found[0].to_floats().keys()


def test_logged_keys_never_change():
    logs: list[dict] = []
    for given in (columns(2), {**columns(2), "constraints": [None, "[]"], "answer": ["", None]}):
        metrics, extra = {}, {}
        GatedReward()(
            completions=[GOOD, ""], log_metric=metrics.__setitem__, log_extra=extra.__setitem__, **given
        )
        assert all(math.isfinite(value) for value in metrics.values())
        assert all(len(values) == 2 for values in extra.values())
        logs.append(dict.fromkeys([*metrics, *extra]))
    assert logs[0] == logs[1]


def test_a_fault_while_judging_costs_one_reward_and_shows(caplog, monkeypatch):
    def fails_on_one(sample):
        if "nine" in sample.output.completion.response:
            raise ZeroDivisionError("by mistake")

    monkeypatch.setattr("riftk.rewards.core.find_degenerate", fails_on_one)
    metrics: dict[str, float] = {}
    texts = [GOOD, GOOD.replace("Tom has eight", "Tom has nine"), GOOD, GOOD]
    with caplog.at_level(logging.WARNING, "riftk.rewards"):
        earned = GatedReward()(completions=texts, log_metric=metrics.__setitem__, **columns(4))
    assert earned == [1.0, None, 1.0, 1.0]
    assert metrics[f"{GatedReward().__name__}/errored"] == 0.25
    assert "by mistake" in caplog.text
    assert "Traceback" in caplog.text


HOSTILE = [
    "",
    "\x00\xff" * 50,
    "{" * 10_000,
    "</think>" * 100,
    "<think>" * 100,
    "9" * 5000,
    "\ud800 half",
    "<think>\ud83d \udc00",
    None,
    b"bytes",
    7,
    [],
    [None],
    [{"role": "tool", "content": "8"}],
    {"content": GOOD[:20]},
    "a" * 10_000_000,
]


@pytest.mark.parametrize("number", range(len(HOSTILE)))
def test_nothing_that_a_model_writes_raises(number):
    for reward in REWARDS:
        assert reward(completions=[HOSTILE[number]], prompts=[None], **columns())[0] in (0.0, None)


def test_what_holds_no_text_is_warned_of_once(caplog):
    with caplog.at_level(logging.WARNING, "riftk.rewards"):
        GatedReward()(completions=[None, None, GOOD], **columns(3))
    assert len(caplog.records) == 1


BAD_ROWS = [
    ({"constraints": "no JSON", "answer": "8"}, "constraints cannot be read"),
    ({"constraints": '[{"id": "no:such"}]', "answer": "8"}, "unknown constraint id"),
    ({"constraints": '{"id": "punctuation:no_comma"}', "answer": "8"}, "JSON list"),
    ({"constraints": COMMA, "answer": "8", "answer_type": "essay"}, "answer_type"),
    ({"constraints": COMMA, "answer": "8", "reference_length": -1}, "reference_length"),
]


@pytest.mark.parametrize(("row", "message"), BAD_ROWS)
def test_a_broken_row_is_an_error_before_a_run_and_none_within_it(row, message, caplog):
    with pytest.raises(RowError, match=f"row 2 of the data set: .*{message}"):
        GatedReward().check_dataset([ROW, row])
    given = {name: [value] for name, value in row.items()}
    assert GatedReward()(completions=[GOOD], **given) == [None]
    assert message in caplog.text


def test_data_that_no_reward_could_use_is_an_error():
    with pytest.raises(RowError, match="column 'answer' is missing"):
        GatedReward().check_dataset([{"constraints": COMMA}])
    with pytest.raises(RowError, match="applies to no row"):
        InstructionReward("response").check_dataset([ROW])
    with pytest.raises(RowError, match="no published rules for the reasoning"):
        InstructionReward(rules="mathif").check_dataset(
            [{"constraints": COMMA.replace("punctuation:no_comma", "detectable_format:title")}]
        )
    question = json.dumps([{"id": "cotcontrol:ignore_question", "args": {"question": "2 + 2?"}}])
    with pytest.raises(RowError, match="needs a judge"):
        GatedReward().check_dataset([{"constraints": question, "answer": "4"}])
    with pytest.raises(RowError, match="column 'constraints' is missing"):
        InstructionReward()(completions=[GOOD])


def test_scores_are_the_same_in_any_order_and_company():
    texts = [GOOD, BROKEN, "", GOOD.replace("8", "9")]
    together = score_many(texts, [ROW] * 4)
    assert together == [score(text, ROW) for text in texts]
