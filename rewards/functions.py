"""The rewards: frozen dataclasses that trl calls as reward functions.

trl logs by name, and two functions of one name collide silently, so each instance has a `__name__` in which
all of its settings show. They return None where a row does not apply. Settings are those of `Scoring`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Literal

from riftk.constraints import Constraint, list_constraints
from riftk.rows import RowError

from .core import PARTS, Part, Score, Scoring, Target, Think, check_judgeable, counted, score_many
from .guards import GUARDS
from .tasks import Task, read_task, rows_of_columns

FAMILIES = tuple(sorted({id.partition(":")[0] for id in list_constraints()}))
LogMetric = Callable[[str, float], None]
LogExtra = Callable[[str, list], None]


class Reward:
    """What the rewards have in common: being called by trl, a name, logging, a check of the data."""

    kind: ClassVar[str]
    parts: ClassVar[tuple[Part, ...]]
    required: ClassVar[tuple[str, ...]] = ()

    def pays(self, found: Score, row: Mapping[str, Any], tokens: int | None) -> float | None:
        """What a scored completion earns; `tokens` is its length where the trainer tells."""
        raise NotImplementedError

    @property
    def scoring(self) -> Scoring:
        """The settings under which completions are scored."""
        return Scoring(think=self.think)  # type: ignore[attr-defined]

    @property
    def __name__(self) -> str:
        settings = ((f.name, getattr(self, f.name)) for f in fields(self))  # type: ignore[arg-type]
        return "_".join((self.kind, *(_shown(name, value) for name, value in settings)))

    def __call__(
        self,
        completions: Sequence[Any],
        prompts: Sequence[Any] | None = None,
        completion_ids: Sequence[Sequence[int]] | None = None,
        log_extra: LogExtra | None = None,
        log_metric: LogMetric | None = None,
        trainer_state: Any = None,
        **columns: Any,
    ) -> list[float | None]:
        """Score a batch as trl hands it over, one reward per completion.

        Raises:
            riftk.rows.RowError: a required column is missing. Nothing in a row or a completion raises.
        """
        rows = rows_of_columns(len(completions), columns, self.required)
        found = score_many(completions, rows, self.scoring, prompts=prompts, parts=self.parts)
        tokens = [None] * len(rows) if completion_ids is None else [len(ids) for ids in completion_ids]
        earned = [
            None if one.error else self.pays(one, row, count)
            for one, row, count in zip(found, rows, tokens, strict=True)
        ]
        self._log(found, earned, log_extra, log_metric)
        return earned

    def _log(
        self,
        found: Sequence[Score],
        earned: Sequence[float | None],
        log_extra: LogExtra | None,
        log_metric: LogMetric | None,
    ) -> None:
        if log_metric is not None and found:
            for name, value in shares(found, earned, self.parts).items():
                log_metric(f"{self.__name__}/{name}", value)
        if log_extra is not None:
            for name, values in details(found, self.parts).items():
                log_extra(f"{self.__name__}/{name}", values)

    def check_dataset(self, dataset: Iterable[Mapping[str, Any]]) -> int:
        """Check the rows that will be paid for, before the first step, and count those that apply.

        Raises:
            riftk.rows.RowError: a missing column, a row that cannot be read, a constraint that the rulebook
                lacks, or not one row to which this reward applies. The message names the row.
        """
        applies = 0
        for number, row in enumerate(dataset, 1):
            where = f"row {number} of the data set"
            for column in self.required:
                if column not in row:
                    raise RowError(
                        f"{where}: column {column!r} is missing; `riftk rows` makes data that has it"
                    )
            try:
                task = read_task(row)
                check_judgeable(self._counted(task), self.scoring.rules, task.rules)
            except ValueError as error:
                raise RowError(f"{where}: {error}") from error
            applies += self._applies(task)
        if not applies:
            raise RowError(f"the reward {self.__name__!r} applies to no row of the data set")
        return applies

    def _counted(self, task: Task) -> list[Constraint]:
        """The constraints of a row that this reward judges."""
        return counted(task, self.scoring) if "followed" in self.parts else []

    def _applies(self, task: Task) -> bool:
        """Whether a row can earn anything but None."""
        answerable = "correct" in self.parts and bool(task.answer)
        return not self.parts or answerable or bool(self._counted(task))


def _shown(name: str, value: Any) -> str:
    if name == "guards":
        return "guarded" if value else "unguarded"
    if value is None:
        return "auto"
    return f"{value:g}" if isinstance(value, float) else str(value)


def shares(
    found: Sequence[Score], earned: Sequence[float | None], parts: Sequence[Part] = PARTS
) -> dict[str, float]:
    """Means over all completions of a batch, under keys that depend on `parts` alone; never NaN.

    `asked/FAMILY` is constraints of a family per completion and `followed/FAMILY` credit per completion, so
    that their ratio is the share that is followed, over any number of batches and ranks. `guard/NAME` is the
    share of completions that a guard stopped.
    """
    count = len(found)
    floats = [one.to_floats() for one in found]
    keys = ["format", "unclosed", "errored"]
    keys += ["correct", "has_answer"] if "correct" in parts else []
    keys += ["followed", "strict", "has_reasoning", "has_response"] if "followed" in parts else []
    keys += ["followed_reasoning", "followed_response"] if "followed" in parts else []
    keys += ["degenerate"] if "degenerate" in parts else []
    means = {key: sum(one[key] for one in floats) / count for key in keys}
    means["earned"] = sum(value or 0.0 for value in earned) / count
    means["applies"] = sum(value is not None for value in earned) / count
    if "followed" in parts:
        asked: Counter[str] = Counter()
        credit: Counter[str] = Counter()
        for one in found:
            for id, _, value in one.credits:
                asked[id.partition(":")[0]] += 1
                credit[id.partition(":")[0]] += value
        for family in FAMILIES:
            means[f"asked/{family}"] = asked[family] / count
            means[f"followed/{family}"] = credit[family] / count
    if "degenerate" in parts:
        stopped = Counter(one.guard for one in found)
        means |= {f"guard/{name}": stopped[name] / count for name in GUARDS}
    return means


def details(found: Sequence[Score], parts: Sequence[Part] = PARTS) -> dict[str, list[str]]:
    """Columns for the trainer's table of completions: each constraint's credit, the guard and its reason."""
    columns = {}
    if "followed" in parts:
        columns["credits"] = ["; ".join(f"{id} {value:g}" for id, _, value in one.credits) for one in found]
    if "degenerate" in parts:
        columns["guard"] = [": ".join(filter(None, (one.guard, one.guard_reason))) for one in found]
    return columns


@dataclass(frozen=True)
class FormatReward(Reward):
    """`value` for one well-formed, non-empty reasoning block and a response after it (MathIF: 0.1)."""

    think: Think = None
    value: float = 0.1

    kind = "format"
    parts = ()

    def pays(self, found: Score, row: Mapping[str, Any], tokens: int | None) -> float | None:
        return self.value * found.format


@dataclass(frozen=True)
class CorrectnessReward(Reward):
    """1 for a right answer after a closed trace, else 0; None for a row without a gold answer (MathIF)."""

    think: Think = None

    kind = "correctness"
    parts = ("correct",)
    required = ("answer",)

    def pays(self, found: Score, row: Mapping[str, Any], tokens: int | None) -> float | None:
        return found.correct


@dataclass(frozen=True)
class InstructionReward(Reward):
    """Share of a row's constraints on `target` that are followed; None for a row without any.

    Degenerate text earns nothing unless `guards` is off. Pays for following whatever the answer: prefer
    `GatedReward`.
    """

    target: Target = "reasoning"
    credit: Literal["binary", "graded"] = "binary"
    rules: str = "both"
    think: Think = None
    guards: bool = True

    kind = "instruction"
    parts = ("followed", "degenerate")
    required = ("constraints",)

    @property
    def scoring(self) -> Scoring:
        return Scoring(self.target, self.credit, self.rules, self.think, guards=self.guards)

    def pays(self, found: Score, row: Mapping[str, Any], tokens: int | None) -> float | None:
        return found.followed if found.followed is None or not found.guard else 0.0


@dataclass(frozen=True)
class LengthReward(Reward):
    """L1's reward for keeping to `target_length` tokens; None for a row without a gold answer or a length.

    With g tokens asked for and n generated (L1, arXiv 2503.04697, section 3):
    mode "exact" gives correct - alpha |g - n|; "max" gives correct x clip(alpha (g - n) + delta, 0, 1).

    Tokens are the trainer's `completion_ids`. Both are as published: under "exact" a wrong answer of the
    right length earns 0, as much as a right one that is 1 / alpha tokens off.
    """

    mode: Literal["exact", "max"] = "exact"
    alpha: float = 0.0003
    delta: float = 0.5
    think: Think = None

    kind = "length"
    parts = ("correct",)
    required = ("answer", "target_length")

    def pays(self, found: Score, row: Mapping[str, Any], tokens: int | None) -> float | None:
        asked = row.get("target_length")
        if found.correct is None or asked is None:
            return None
        if tokens is None:
            raise RowError("LengthReward counts tokens: the trainer must pass `completion_ids`")
        if self.mode == "exact":
            return found.correct - self.alpha * abs(asked - tokens)
        return found.correct * min(max(self.alpha * (asked - tokens) + self.delta, 0.0), 1.0)


@dataclass(frozen=True)
class GatedReward(Scoring, Reward):
    """The reward that cannot be earned by giving something up: following counts only with a right,
    non-degenerate answer, by one of the formulas of `riftk.rewards.formulas`.

    A row without constraints earns its correctness alone, one without a gold answer its following alone; one
    with neither is None. Arguments are those of `Scoring`.
    """

    kind = "gated"
    parts = PARTS
    required = ("constraints", "answer")

    @property
    def scoring(self) -> Scoring:
        return self

    def pays(self, found: Score, row: Mapping[str, Any], tokens: int | None) -> float | None:
        return found.score
