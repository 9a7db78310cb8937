"""What came of the seeds: kept and rejected per constraint, with reasons."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

PLAIN = "plain"
FILTER = "filter"


@dataclass
class Yield:
    """The yield of one constraint, or of the plain rows.

    Args:
        seeds: how many there were.
        attempts: samples drawn for them; each was kept or rejected.
        kept: rows in the dataset.
        rejected: number of samples by stage ("seed", "sample", "rewrite", "verify", "filter") and reason.
    """

    seeds: int = 0
    attempts: int = 0
    kept: int = 0
    rejected: dict[str, Counter[str]] = field(default_factory=dict)

    @property
    def reasons(self) -> Counter[str]:
        """Rejects by "stage: reason"."""
        return Counter({f"{stage}: {why}": n for stage, by in self.rejected.items() for why, n in by.items()})

    def to_dict(self) -> dict[str, Any]:
        rejected = {stage: dict(counts.most_common()) for stage, counts in sorted(self.rejected.items())}
        return {"seeds": self.seeds, "attempts": self.attempts, "kept": self.kept, "rejected": rejected}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Yield:
        rejected = {stage: Counter(counts) for stage, counts in data["rejected"].items()}
        return cls(data["seeds"], data["attempts"], data["kept"], rejected)


class Yields:
    """The yields of a run, counted outcome by outcome."""

    def __init__(self) -> None:
        self._counted: dict[str, Yield] = {}

    def add(self, outcome: Mapping[str, Any], filtered: str | None = None) -> None:
        """Count an outcome.

        Args:
            outcome: a record of `rewritten/`.
            filtered: why its row was left out of the dataset all the same.
        """
        counted = self._counted.setdefault(outcome["constraint"] or PLAIN, Yield())
        counted.attempts += 1
        counted.seeds += outcome["attempt"] == 1
        if outcome["row"] is None:
            counted.rejected.setdefault(outcome["stage"], Counter())[outcome["reason"]] += 1
        elif filtered:
            counted.rejected.setdefault(FILTER, Counter())[filtered] += 1
        else:
            counted.kept += 1

    @property
    def by_kind(self) -> dict[str, Yield]:
        """By constraint, plain rows last."""
        order = sorted(self._counted, key=lambda name: (name == PLAIN, name))
        return {name: self._counted[name] for name in order}

    @property
    def table(self) -> str:
        return yield_table(self.by_kind)

    def most_common(self) -> str:
        """The most frequent reasons of rejection, for one line."""
        reasons = sum((counted.reasons for counted in self._counted.values()), start=Counter[str]())
        return "; ".join(f"{why} ({n})" for why, n in reasons.most_common(3))

    def to_dict(self) -> dict[str, Any]:
        return {name: counted.to_dict() for name, counted in self.by_kind.items()}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Yields:
        yields = cls()
        yields._counted = {name: Yield.from_dict(counted) for name, counted in data.items()}
        return yields


def yield_table(yields: Mapping[str, Yield], reasons: int = 4) -> str:
    """The yields as a Markdown table, with the most frequent reasons of each constraint."""
    total = Yield()
    for counted in yields.values():
        total.seeds, total.kept = total.seeds + counted.seeds, total.kept + counted.kept
        total.attempts += counted.attempts
    lines = ["| constraint | seeds | kept | share | rejected because |", "|---|---|---|---|---|"]
    for name, counted in {**yields, "all": total}.items():
        why = "; ".join(f"{reason} ({n})" for reason, n in counted.reasons.most_common(reasons))
        share = f"{counted.kept / counted.seeds:.0%}" if counted.seeds else "-"
        lines.append(f"| {name} | {counted.seeds} | {counted.kept} | {share} | {why} |")
    return "\n".join(lines)
