"""What pictures of the papers' figures are drawn from: one task of one evaluation, by parts of its items."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from riftk.constraints.base import TARGETS
from riftk.report.comparison import keys_between

# What a picture calls a figure; with MathIF's rules they have the paper's names.
_NAMES = {"ifs": "IFS", "sacc": "SAcc"}
_MATHIF = {"ifs": "HAcc", "sacc": "SAcc"}


@dataclass(frozen=True)
class View:
    """One task of one evaluation.

    Args:
        estimates: figures with intervals, by key.
        paired: differences between forms of the same questions.
        correlations: of following and accuracy over sources.
        rules: its rulebooks, the published one first.
    """

    estimates: Mapping[str, Mapping[str, Any]]
    paired: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    correlations: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    rules: tuple[str, ...] = ("robust",)

    @classmethod
    def of(cls, results: Mapping[str, Any], task: str) -> View:
        """A task of a `results.json`."""
        return cls(
            results["estimates"][task],
            results.get("paired", {}).get(task, {}),
            results.get("correlations", {}).get(task, {}),
            tuple(results["configs"][task]["rules"]),
        )

    @property
    def published(self) -> str:
        """The rules of the paper whose figures are drawn; "robust" where a benchmark has none of its own."""
        return self.rules[0]

    def name(self, metric: str) -> str:
        """What its paper calls "ifs" and "sacc"."""
        return (_MATHIF if self.published == "mathif" else _NAMES)[metric]

    def by(self, metric: str, part: str) -> dict[str, Mapping[str, Any]]:
        """A figure under the published rules for each part that has a value, numbers in order."""
        rules = self.published if f"{metric},{self.published}" in self.estimates else "robust"
        found = keys_between(self.estimates, f"{metric}[{part}=", f"],{rules}")
        known = {value: self.estimates[key] for value, key in found.items()}
        return {value: known[value] for value in sorted(known, key=_in_order) if has_value(known[value])}

    def targets(self, part: str) -> list[str]:
        """The texts whose instructions are known by a part of the items."""
        return [target for target in TARGETS if self.by(f"{target}_ifs", part)]


def views_of(evaluations: Mapping[str, Mapping[str, Any]], task: str) -> dict[str, View]:
    """A task of several evaluations, by their names; those without it are left out."""
    return {
        name: View.of(results, task) for name, results in evaluations.items() if task in results["estimates"]
    }


def has_value(estimate: Mapping[str, Any] | None) -> bool:
    return estimate is not None and estimate["value"] is not None


def in_all(parts: Iterable[Iterable[str]]) -> list[str]:
    """Every value that occurs, in the order of the first that has it."""
    return list(dict.fromkeys(value for values in parts for value in values))


def _in_order(value: str) -> tuple[int, str]:
    return (int(value), "") if value.isdecimal() else (0, value)
