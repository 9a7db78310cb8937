"""Grading: find the answer in a response and compare it with the gold answer.

The one place of riftk where answers are extracted and compared; synthesis, rewards and benchmarks all use it.
Comparison is exact first (strings, words, numbers as fractions, lists element by element), at once and in
this process. What then is open, the extracted answer alone, is compared symbolically in a few worker
processes, with a deadline for each answer (`riftk.grading.pool`). Nothing that a model wrote is ever run as
code, and no response makes `grade` raise or hang.

Bounds: of a response the last 400,000 characters are read and of a marked answer 2,000; answers of more than
1,000 must be equal as strings; the symbolic engine gets 300 at most, and no towers of powers or large
factorials (`riftk.grading.symbolic`).

Sources: ReasonIF (published extraction), IFFR (numbers, letters, labels), MathIF (published grader; pairs on
    which graders differ).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from string import ascii_uppercase

from riftk.completions import split_completion
from riftk.grading.arithmetic import Number
from riftk.grading.choices import choice, labels_of
from riftk.grading.expressions import Undecided, same_answer
from riftk.grading.extract import (
    ANSWER_TYPES,
    answer_tags,
    extract_answer,
    has_complete_answer_tag,
    strip_answer_tags,
)
from riftk.grading.extract import boxed as _boxed
from riftk.grading.iffr import iffr_correct, iffr_extract
from riftk.grading.mathif import mathif_equal, mathif_extract
from riftk.grading.numbers import parse_number, same_number
from riftk.grading.pool import Outcome, Pool, WorkerError, shared_pool
from riftk.grading.published import reasonif_correct, reasonif_extract

RULES = ("robust", "reasonif", "mathif", "iffr")
_LETTERS = (
    "ABCD",
    "ABCDEFGHIJ",
    ascii_uppercase,
)  # options of a choice; the fewest that hold the gold answer
_PUBLISHED_TYPES = {
    "reasonif": ("math", "number", "choice"),
    "mathif": ("math", "number"),
    "iffr": ("number", "choice", "label"),
}

__all__ = [
    "ANSWER_TYPES",
    "RULES",
    "Grade",
    "Number",
    "Pool",
    "WorkerError",
    "answer_tags",
    "extract_answer",
    "grade",
    "grade_many",
    "has_complete_answer_tag",
    "parse_number",
    "same_number",
    "strip_answer_tags",
]


@dataclass(frozen=True)
class Grade:
    """Verdict on one response.

    Args:
        correct: whether the extracted answer equals the gold answer.
        extracted: the answer as it was found, None where there was none.
        reason: one sentence that says why.
    """

    correct: bool
    extracted: str | None
    reason: str


@dataclass(frozen=True)
class _Open:
    """Two answers that only the symbolic engine can compare."""

    rules: str
    gold: str
    found: str

    def close(self, outcome: Outcome) -> Grade:
        if outcome.fault:
            reason = f"{self.found[:80]!r} could not be compared with {self.gold[:80]!r}: {outcome.fault}"
            return Grade(False, self.found, reason)
        return _graded(outcome.value, self.found, self.gold)


def grade(response: str | None, gold: str, answer_type: str = "math", rules: str = "robust") -> Grade:
    """Grade a response against a gold answer. No response makes it raise or hang, in any thread.

    Args:
        response: the visible response; a think block in front of it is passed over, and one that never closes
            means that there is no response.
        gold: gold answer in the form of its data set ("081", " 18", a GSM8K solution that ends in "#### 18",
            "\\text{(C)}", "$k=3$").
        answer_type: "math" (any expression), "number", "choice" (a letter) or "label" (positive, yes, true,
            …).
        rules: "robust"; "reasonif" for the published extraction ("math", "number" and "choice"); "mathif" for
            the published grader ("math" and "number"), see `riftk.grading.mathif` for where it deviates;
            "iffr" for its notebooks' extraction ("number", "choice" and "label"). The published
            ones take the text as it is, with what their evaluators cut cut off before.

    Raises:
        ValueError: unknown `answer_type` or `rules`.
        WorkerError: the symbolic engine is needed and cannot be started in this environment.
    """
    return grade_many([response], [gold], answer_type, rules)[0]


def grade_many(
    responses: Iterable[str | None],
    golds: Iterable[str],
    answer_types: str | Sequence[str] = "math",
    rules: str = "robust",
    *,
    pool: Pool | None = None,
) -> list[Grade]:
    """Grade responses against their gold answers, in their order; those that need an engine at the same time.

    Args:
        answer_types: one for all, or one for each; otherwise as `grade`.
        pool: worker processes; by default those that all of this process shares.

    Raises:
        ValueError: unknown `answer_types` or `rules`, or lists of different lengths.
        WorkerError: as `grade`.
    """
    responses, golds = list(responses), list(golds)
    types = [answer_types] * len(responses) if isinstance(answer_types, str) else list(answer_types)
    if not len(responses) == len(golds) == len(types):
        raise ValueError(
            f"there must be as many gold answers and types as responses, not {len(golds)} and {len(types)} "
            f"for {len(responses)}"
        )
    for answer_type in set(types):
        _check(answer_type, rules)
    first = [_first(*item, rules) for item in zip(responses, golds, types, strict=True)]
    calls = [(item.rules, item.gold, item.found) for item in first if isinstance(item, _Open)]
    outcomes = iter((pool or shared_pool()).map(calls) if calls else ())
    return [item.close(next(outcomes)) if isinstance(item, _Open) else item for item in first]


def _check(answer_type: str, rules: str) -> None:
    if answer_type not in ANSWER_TYPES:
        raise ValueError(f"answer_type must be one of {', '.join(ANSWER_TYPES)}, not {answer_type!r}")
    if rules not in RULES:
        raise ValueError(f"rules must be one of {', '.join(RULES)}, not {rules!r}")
    if answer_type not in _PUBLISHED_TYPES.get(rules, ANSWER_TYPES):
        known = ", ".join(_PUBLISHED_TYPES[rules])
        raise ValueError(f"rules={rules!r} has no {answer_type}s; the published code has {known}")


def _first(response: str | None, gold: str, answer_type: str, rules: str) -> Grade | _Open:
    """The verdict where it needs no symbolic engine."""
    response, gold = "" if response is None else str(response), "" if gold is None else str(gold)
    if rules == "reasonif":
        value = reasonif_extract(response, answer_type)
        return _graded(reasonif_correct(value, gold, answer_type), value, gold)
    if rules == "iffr":
        value = iffr_extract(response, answer_type)
        if value is None:
            return Grade(False, None, f"no {answer_type} found")
        return _graded(iffr_correct(value, gold, answer_type), value, gold)
    if rules == "mathif":
        return _compared(rules, gold, mathif_extract(response))
    completion = split_completion(response)
    if completion.status == "unclosed":
        return Grade(False, None, "the reasoning never closes, so there is no response to grade")
    if completion.blocks:
        response = completion.response
    gold = _gold(gold)
    if not gold:
        return Grade(False, extract_answer(response, answer_type), "there is no gold answer to compare with")
    return {"math": _math, "number": _number, "choice": _choice, "label": _label}[answer_type](response, gold)


def _compared(rules: str, gold: str, found: str) -> Grade | _Open:
    compare = {"robust": same_answer, "mathif": mathif_equal}[rules]
    try:
        return _graded(compare(gold, found), found, gold)
    except Undecided:
        return _Open(rules, gold, found)


def _gold(gold: str) -> str:
    if "####" in gold:
        gold = gold.rpartition("####")[2]
    return (_boxed(gold) or gold).strip()


def _math(response: str, gold: str) -> Grade | _Open:
    found = extract_answer(response, "math")
    if found is None:
        return Grade(False, None, "no answer found")
    return _compared("robust", gold, found)


def _number(response: str, gold: str) -> Grade:
    found = extract_answer(response, "number")
    if found is None:
        return Grade(False, None, "no number found")
    expected, given = parse_number(gold), parse_number(found)
    if expected.value is None:
        return Grade(False, found, f"the gold answer {gold!r} is no number: {expected.reason}")
    if given.value is None:
        return Grade(False, found, f"{found[:80]!r} names no number: {given.reason}")
    return _graded(same_number(expected, given), found, gold)


def _choice(response: str, gold: str) -> Grade:
    expected = choice(gold, _LETTERS[-1])
    if expected is None:
        return Grade(False, extract_answer(response, "choice"), f"the gold answer {gold!r} is no letter")
    letters = next(letters for letters in _LETTERS if expected in letters)
    found = extract_answer(response, "choice", letters=letters)
    if found is None:
        return Grade(False, None, "no option chosen, or several")
    return _graded(found == expected, found, gold)


def _label(response: str, gold: str) -> Grade:
    found = extract_answer(response, "label", labels=labels_of(gold))
    if found is None:
        return Grade(False, None, "no label found")
    return _graded(found == gold.lower(), found, gold)


def _graded(correct: bool, found: str, gold: str) -> Grade:
    verb = "is" if correct else "is not"
    return Grade(correct, found, f"{found[:80]!r} {verb} the gold answer {gold.strip()[:80]!r}")
