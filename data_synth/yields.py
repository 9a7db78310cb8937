"""What came of the seeds: kept and rejected per constraint, with reasons."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

PLAIN = "plain"


@dataclass
class Yield:
    """The yield of one constraint, or of the plain rows.

    Args:
        seeds: how many there were.
        attempts: samples drawn for them; each was kept or rejected.
        kept: rows in the dataset.
        rejected: number of samples by stage ("sample", "rewrite", "verify") and reason.
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


def count_yields(outcomes: Iterable[Mapping[str, Any]]) -> dict[str, Yield]:
    """Count the records of `rewritten.jsonl` by constraint, plain rows last."""
    yields: dict[str, Yield] = {}
    for outcome in outcomes:
        counted = yields.setdefault(outcome["constraint"] or PLAIN, Yield())
        counted.attempts += 1
        counted.seeds += outcome["attempt"] == 1
        if outcome["row"] is not None:
            counted.kept += 1
        else:
            counted.rejected.setdefault(outcome["stage"], Counter())[outcome["reason"]] += 1
    return {name: yields[name] for name in sorted(yields, key=lambda name: (name == PLAIN, name))}


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
