"""Grading: find the answer in a response and compare it with the gold answer.

The one place of riftk where answers are extracted and compared; synthesis, rewards and benchmarks all use it.
Comparison is exact first (strings, words, numbers as fractions, lists element by element), then symbolic on
the extracted answer alone. Nothing that a model wrote is ever run as code, and no response makes `grade`
raise.

Sources: ReasonIF (published extraction), IFFR (numbers, letters, labels), MathIF (pairs on which graders
    differ).
"""

from __future__ import annotations

from dataclasses import dataclass

from riftk.completions import split_completion
from riftk.grading.arithmetic import Number
from riftk.grading.choices import choice, labels_of
from riftk.grading.expressions import same_answer
from riftk.grading.extract import ANSWER_TYPES, extract_answer, has_complete_answer_tag, strip_answer_tags
from riftk.grading.extract import boxed as _boxed
from riftk.grading.numbers import parse_number, same_number
from riftk.grading.published import reasonif_correct, reasonif_extract

RULES = ("robust", "reasonif")

__all__ = [
    "ANSWER_TYPES",
    "RULES",
    "Grade",
    "Number",
    "extract_answer",
    "grade",
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


def grade(response: str | None, gold: str, answer_type: str = "math", rules: str = "robust") -> Grade:
    """Grade a response against a gold answer. Never raises on any response.

    Args:
        response: the visible response; a think block in front of it is passed over, and one that never closes
            means that there is no response.
        gold: gold answer in the form of its data set ("081", " 18", a GSM8K solution that ends in "#### 18",
            "\\text{(C)}", "$k=3$").
        answer_type: "math" (any expression), "number", "choice" (a letter) or "label" (positive, yes, true,
            …).
        rules: "robust", or "reasonif" for the published extraction ("math", "number" and "choice" only).

    Raises:
        ValueError: unknown `answer_type` or `rules`.
    """
    if answer_type not in ANSWER_TYPES:
        raise ValueError(f"answer_type must be one of {', '.join(ANSWER_TYPES)}, not {answer_type!r}")
    if rules not in RULES:
        raise ValueError(f"rules must be one of {', '.join(RULES)}, not {rules!r}")
    response, gold = response or "", str(gold)
    if rules == "reasonif":
        if answer_type == "label":
            raise ValueError(
                'rules="reasonif" has no labels; the published extraction has numbers and letters'
            )
        value = reasonif_extract(response, answer_type)
        return _graded(reasonif_correct(value, gold, answer_type), value, gold)
    completion = split_completion(response)
    if completion.status == "unclosed":
        return Grade(False, None, "the reasoning never closes, so there is no response to grade")
    if completion.blocks:
        response = completion.response
    gold = _gold(gold)
    if not gold:
        return Grade(False, extract_answer(response, answer_type), "there is no gold answer to compare with")
    return {"math": _math, "number": _number, "choice": _choice, "label": _label}[answer_type](response, gold)


def _gold(gold: str) -> str:
    if "####" in gold:
        gold = gold.rpartition("####")[2]
    return (_boxed(gold) or gold).strip()


def _math(response: str, gold: str) -> Grade:
    found = extract_answer(response, "math")
    if found is None:
        return Grade(False, None, "no answer found")
    return _graded(same_answer(gold, found), found, gold)


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
    expected = choice(gold, "ABCDEFGHIJ")
    if expected is None:
        return Grade(False, extract_answer(response, "choice"), f"the gold answer {gold!r} is no letter")
    letters = "ABCD" if expected in "ABCD" else "ABCDEFGHIJ"
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
