"""What `riftk stress` feeds to a reward: a completion, the row that it answers, and what it is a case of."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from riftk.constraints import Constraint, parse_constraint
from riftk.constraints.text import word_count
from riftk.prompts import mathif_prompt, reasonif_prompt
from riftk.tiny.problems import Problem

CAPITALS = "change_case:english_capital"
NO_COMMA = "punctuation:no_comma"
JSON = "detectable_format:json_format"
END = "startend:end_checker"
WORDS = "length_constraint_checkers:number_words"
LANGUAGE = "language:reasoning_language"
REASONIF = (CAPITALS, NO_COMMA, JSON, END, WORDS, LANGUAGE)
END_PHRASE = "THIS REASONING WAS PRODUCED BY AI"


@dataclass(frozen=True)
class Case:
    """One completion with its row.

    Args:
        kind: "exploit" (rules can see it), "unseen" (rules cannot) or "honest".
        name: the class it belongs to.
        trace: the reasoning; None for a completion without any marker of it.
        response: what stands behind the closing marker; None for a trace that is never closed.
        question: the prompt.
        answer: gold answer.
        constraints: what was asked for.
        answer_type: how the answer is graded.
    """

    kind: str
    name: str
    trace: str | None
    response: str | None
    question: str
    answer: str
    constraints: tuple[Constraint, ...]
    answer_type: str = "number"

    def completion(self, think: str) -> str:
        """The text as a model delivers it that opens the block itself, or whose prompt does ("prefilled")."""
        if self.trace is None:
            return self.response or ""
        opening = "" if think == "prefilled" else "<think>\n"
        closing = "" if self.response is None else f"\n</think>\n\n{self.response}"
        return f"{opening}{self.trace}{closing}"

    def row(self) -> dict[str, Any]:
        """The columns of the row, with the answer under the names that other rewards read too."""
        return {
            "answer": self.answer,
            "solution": self.answer,
            "ground_truth": self.answer,
            "answer_type": self.answer_type,
            "constraints": json.dumps([constraint.to_dict() for constraint in self.constraints]),
        }


def constraint(id: str, target: str, **args: Any) -> Constraint:
    """A constraint by its id."""
    return parse_constraint({"id": id, "args": args, "target": target})


def about_trace(id: str, trace: str, **args: Any) -> tuple[str, Constraint]:
    """A trace made to follow a constraint of ReasonIF as cheaply as can be, and the constraint."""
    if id == CAPITALS:
        return trace.upper(), constraint(id, "reasoning")
    if id == NO_COMMA:
        return trace.replace(",", ""), constraint(id, "reasoning")
    if id == JSON:
        return json.dumps({"reasoning": trace}, ensure_ascii=False), constraint(id, "reasoning")
    if id == END:
        return f"{trace}\n{END_PHRASE}", constraint(id, "reasoning", end_phrase=END_PHRASE)
    if id == WORDS:
        return trace, constraint(
            id, "reasoning", num_words=max(10, len(trace.split()) * 2, word_count(trace) + 1)
        )
    return trace, constraint(id, "reasoning", **(args or {"language": "en"}))


def reasoning_prompt(question: str, asked: Constraint) -> str:
    """ReasonIF's prompt."""
    return reasonif_prompt(question, asked.instruction("reasoning"), "reasoning")


def response_prompt(question: str, asked: Sequence[Constraint]) -> str:
    """MathIF's prompt."""
    return mathif_prompt(question, [one.instruction("response") for one in asked])


def tagged(problem: Problem, said: str | None = None) -> str:
    """A short right answer in tags."""
    said = said or f"{problem.subject} {problem.answer} {problem.item}."
    return f"{said}\n\n<answer>{problem.answer}</answer>"


def drawn(seed: int) -> random.Random:
    """The generator of a corpus."""
    return random.Random(f"stress-{seed}")
