"""What stands in a comparison: one evaluation, or one for each seed that a model was trained with."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from riftk.evaluation import Tally, refresh
from riftk.report.comparison import difference, differences, item_pairs, tallies
from riftk.report.text import LENGTHS
from riftk.seeds import UNBOUNDED, over_seeds
from riftk.statistics import Difference, Estimate


@dataclass(frozen=True)
class Side:
    """The evaluations of one side, by seed, and what they say.

    Args:
        folders: evaluation folders; a single evaluation goes with every seed of the others.
        results: content of each one's `results.json`.
        tallies: what each one's samples say, by task.
    """

    folders: Mapping[int, Path]
    results: Mapping[int, Mapping[str, Any]]
    tallies: Mapping[int, Mapping[str, Tally]]

    @classmethod
    def read(cls, folders: Mapping[int, Path]) -> Side:
        """Summarise evaluation folders again. Raises `ValueError` where samples are missing."""
        results = {seed: refresh(folder) for seed, folder in folders.items()}
        return cls(folders, results, {seed: tallies(folder) for seed, folder in folders.items()})

    @property
    def first(self) -> Mapping[str, Any]:
        return next(iter(self.results.values()))

    def merged(self) -> dict[str, Any]:
        """The first `results.json`, with every figure the mean over the seeds, and their number as `runs`."""
        estimates = {
            task: {key: merged for key in of_task if (merged := self._estimate(task, key)) is not None}
            for task, of_task in self.first["estimates"].items()
        }
        return {**self.first, "estimates": estimates, "runs": len(self.results)}

    def _estimate(self, task: str, key: str) -> dict[str, Any] | None:
        """A figure over the seeds; None where a run does not have it."""
        found = [results["estimates"][task].get(key) for results in self.results.values()]
        if None in found:
            return None
        parts = [Estimate(**one) for one in found]
        by_item = [of_tasks[task].by_item(key) for of_tasks in self.tallies.values()]
        within = _bounds(key, any((part.low or 0.0) < 0 for part in parts))
        return over_seeds(parts, by_item, within=within).to_dict()


def side_difference(before: Side, after: Side, task: str, key: str) -> Difference | None:
    """Paired difference of one figure, averaged over the seeds that both sides have; None where no item has
    it on both sides."""
    return _over_seeds([(one[task], other[task]) for one, other in _pairs(before, after)], key)


def side_differences(before: Side, after: Side) -> dict[str, dict[str, dict[str, Any]]]:
    """Paired differences of every figure, by task and key; of a single pair with its tests."""
    pairs = list(_pairs(before, after))
    if len(pairs) == 1:
        [(one, other)] = pairs
        return {task: differences(one[task], other[task]) for task in one}
    found: dict[str, dict[str, dict[str, Any]]] = {}
    for task in pairs[0][0] if pairs else ():
        of_task = [(one[task], other[task]) for one, other in pairs]
        gaps = {key: _over_seeds(of_task, key) for key in of_task[0][0].keys}
        found[task] = {key: gap.to_dict() for key, gap in gaps.items() if gap is not None}
    return found


def _pairs(before: Side, after: Side) -> Iterator[tuple[Mapping[str, Tally], Mapping[str, Tally]]]:
    """The evaluations that are subtracted: those of one seed, or a single one with each of the other side."""
    first, second = before.tallies, after.tallies
    if len(first) == 1 or len(second) == 1:
        yield from ((one, other) for one in first.values() for other in second.values())
    else:
        yield from ((first[seed], second[seed]) for seed in first if seed in second)


def _over_seeds(pairs: Sequence[tuple[Tally, Tally]], key: str) -> Difference | None:
    gaps = [difference(one, other, key) for one, other in pairs]
    if not gaps or None in gaps:
        return None
    by_item = [
        {item: after - before for item, (before, after) in item_pairs(one, other, key).items()}
        for one, other in pairs
    ]
    return over_seeds(gaps, by_item, within=_bounds(key, True))


def _bounds(key: str, signed: bool) -> tuple[float, float]:
    """What a figure or a difference of it cannot pass."""
    if key in LENGTHS:
        return UNBOUNDED
    return (-1.0, 1.0) if signed else (0.0, 1.0)
