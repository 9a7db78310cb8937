"""One completion, judged once: the parts that every reward is made of."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any

from riftk.constraints import Constraint, parse_constraint
from riftk.grading import grade
from riftk.judging import Output

BOTH = ("reasonif", "robust")


def completion_text(completion: Any) -> str:
    """Text of a completion as trl hands it over: a string, or a list of messages whose last one counts.

    Content parts are joined; what carries no text (None, tool calls) counts as empty.
    """
    if isinstance(completion, str):
        return completion
    if not isinstance(completion, list) or not completion:
        return ""
    last = completion[-1]
    content = last.get("content") if isinstance(last, dict) else last
    if isinstance(content, list):
        return "".join(part.get("text") or "" for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""


@lru_cache(maxsize=4096)
def row_constraints(column: str | None) -> tuple[Constraint, ...]:
    """Constraints of a row from its JSON column. Raises `ConstraintError` for an unknown one."""
    return tuple(parse_constraint(spec) for spec in json.loads(column or "[]"))


def rulebooks(rules: str) -> tuple[str, ...]:
    """Rulebooks that must all be satisfied: "both" is the published one and robust."""
    return BOTH if rules == "both" else (rules,)


def output(completion: Any, think: str | None) -> Output:
    """A completion as trl hands it over, to be judged."""
    return Output(completion_text(completion), think)


def correct(judged: Output, answer: str | None, answer_type: str) -> float | None:
    """1 for a right answer after a closed trace, else 0; None where there is no gold answer."""
    if not answer:
        return None
    right = (
        judged.fault("response") is None and grade(judged.completion.response, answer, answer_type).correct
    )
    return float(right)
