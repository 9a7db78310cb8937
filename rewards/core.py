"""One completion, judged once: the parts that every reward is made of."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from riftk.completions import Completion, split_completion
from riftk.constraints import Constraint, Text, Verdict, check_all, parse_constraint
from riftk.grading import grade, strip_answer_tags

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


@dataclass(frozen=True)
class Judged:
    """A completion after the split. An open trace has no response: it earns nothing."""

    completion: Completion

    @classmethod
    def of(cls, completion: Any, think: str | None) -> Judged:
        return cls(split_completion(completion_text(completion), think=think))

    @property
    def finished(self) -> bool:
        return self.completion.status != "unclosed"

    def followed(self, constraints: Sequence[Constraint], target: str, rules: str) -> list[list[Verdict]]:
        """Verdicts [rulebook][constraint] for one target."""
        text = (
            self.completion.reasoning
            if target == "reasoning"
            else strip_answer_tags(self.completion.response)
        )
        shared = Text(text)  # analysed once for all rulebooks
        return [check_all(constraints, shared, rules=rulebook) for rulebook in rulebooks(rules)]

    def correct(self, answer: str | None, answer_type: str) -> float | None:
        """1 for a right answer, else 0; None where there is no gold answer."""
        if not answer:
            return None
        return float(self.finished and grade(self.completion.response, answer, answer_type).correct)
