"""The rewards. Each is a frozen dataclass with a `__name__` of its own, because trl logs by name and two
functions of one name collide silently (huggingface/trl#6133); each returns None where a row does not apply.

Every reward takes `think`, how the model marks its reasoning (`riftk.completions.think_mode`). Trainers hand
over the completion without the prompt, so where the prompt opens the block a cut-off trace carries no tag at
all: with `think="prefilled"` it counts as unclosed and earns nothing (huggingface/trl#6966).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from riftk.judging import Output

from .core import correct, output, row_constraints, rulebooks

Think = Literal["tags", "prefilled", "channels", "none"] | None


@dataclass(frozen=True)
class FormatReward:
    """`value` for one well-formed, non-empty reasoning block and an answer after it (MathIF: 0.1)."""

    think: Think = None
    value: float = 0.1

    @property
    def __name__(self) -> str:
        return "format"

    def __call__(self, completions: Sequence[Any], **_: Any) -> list[float | None]:
        rewards: list[float | None] = []
        for text in completions:
            parts = output(text, self.think).completion
            well_formed = parts.status == "closed" and parts.blocks == 1 and parts.response.strip() != ""
            rewards.append(self.value if well_formed else 0.0)
        return rewards


@dataclass(frozen=True)
class CorrectnessReward:
    """1 for a right answer after a closed trace, else 0; None for a row without a gold answer."""

    think: Think = None

    @property
    def __name__(self) -> str:
        return "correctness"

    def __call__(
        self,
        completions: Sequence[Any],
        answer: Sequence[str | None],
        answer_type: Sequence[str] | None = None,
        **_: Any,
    ) -> list[float | None]:
        types = answer_type or ["math"] * len(completions)
        return [
            correct(output(text, self.think), gold, kind)
            for text, gold, kind in zip(completions, answer, types, strict=True)
        ]


@dataclass(frozen=True)
class InstructionReward:
    """Share of a row's constraints on `target` that the completion follows; None for a row without any.

    Args:
        target: "reasoning" or "response".
        credit: "binary" counts followed constraints, "graded" takes each verdict's score.
        rules: a rulebook, or "both" (published and robust: the lower of the two).
        think: how the model marks its reasoning.
    """

    target: Literal["reasoning", "response"] = "reasoning"
    credit: Literal["binary", "graded"] = "binary"
    rules: str = "both"
    think: Think = None

    @property
    def __name__(self) -> str:
        return f"instruction_{self.target}_{self.credit}_{self.rules}"

    def __call__(
        self, completions: Sequence[Any], constraints: Sequence[str | None], **_: Any
    ) -> list[float | None]:
        return [
            self._followed(output(text, self.think), column)
            for text, column in zip(completions, constraints, strict=True)
        ]

    def _followed(self, judged: Output, column: str | None) -> float | None:
        asked = [constraint for constraint in row_constraints(column) if constraint.target == self.target]
        if not asked:
            return None
        if judged.completion.status == "unclosed":
            return 0.0
        books = judged.judge(asked, rulebooks(self.rules)).values()
        credit = [
            min(verdict.score if self.credit == "graded" else float(verdict.followed) for verdict in verdicts)
            for verdicts in zip(*books, strict=True)
        ]
        return sum(credit) / len(credit)


@dataclass(frozen=True)
class GatedReward(InstructionReward):
    """Correctness plus following, where following counts only with a right answer.

    An additive instruction reward is earned by emptying the trace; the product is not. A row without
    constraints earns its correctness alone, one without a gold answer its following alone. The arguments are
    those of `InstructionReward`.
    """

    @property
    def __name__(self) -> str:
        return f"gated_{self.target}_{self.credit}_{self.rules}"

    def __call__(
        self,
        completions: Sequence[Any],
        constraints: Sequence[str | None],
        answer: Sequence[str | None],
        answer_type: Sequence[str] | None = None,
        **_: Any,
    ) -> list[float | None]:
        types = answer_type or ["math"] * len(completions)
        judged = [output(text, self.think) for text in completions]
        return [
            _gate(correct(one, gold, kind), self._followed(one, column))
            for one, column, gold, kind in zip(judged, constraints, answer, types, strict=True)
        ]


def _gate(correct: float | None, followed: float | None) -> float | None:
    if correct is None or followed is None:
        return followed if correct is None else correct
    return correct * (1.0 + followed) / 2.0
