"""Figures over groups of samples: forms of the same question, sources, and lengths of the trace."""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from riftk.evaluation.scoring import PUBLISHED_GRADERS
from riftk.statistics import (
    LEVEL,
    Estimate,
    estimate_of_totals,
    paired_difference,
    partial_correlation,
    pearson,
    relative_change,
)

BINS = 6  # MathIF, Figure 6
_FORM = re.compile(r"-(reasoning|response|plain)$")
_BINNED = re.compile(r"(reasoning|response)_(ifs|sacc),.+")
_RESAMPLES = 1000

ByItem = Callable[[str], Mapping[str, float]]


@dataclass(frozen=True)
class Item:
    """What groups an item belongs to.

    Args:
        source: data set of the problem.
        constraints: how many it has.
        targets: what they are about.
    """

    source: str
    constraints: int
    targets: frozenset[str]

    @classmethod
    def of(cls, sample: Mapping[str, Any]) -> Item:
        asked = sample["constraints"]
        return cls(sample["source"], len(asked), frozenset(c["target"] for c in asked))

    def part(self, name: str) -> str:
        """The group of an item by a division: its `source`, or its number of `constraints`."""
        return str({"source": self.source, "constraints": self.constraints or ""}[name])


def paired_forms(kinds: Sequence[Item], names: Sequence[str], by_item: ByItem) -> dict[str, Any]:
    """What instructions cost in accuracy: the same questions with them and without, pair by pair.

    Returns:
        `accuracy_cost_{target},{rules}`, and where there are several sources also
        `accuracy_cost_{target}[source={source}],{rules}` (MathIF, Figure 5) -> the paired difference (with
        minus without), and as `relative` with `relative_low` and `relative_high` the difference as a share of
        the accuracy without instructions (MathIF's "Diff.", Table 3).
    """
    questions = {name: _FORM.sub("", name) for name in names}
    kind = dict(zip(names, kinds, strict=True))
    found = {}
    for rules in (*PUBLISHED_GRADERS, "robust"):
        values = by_item(f"accuracy,{rules}")
        plain = {questions[name]: value for name, value in values.items() if not kind[name].targets}
        for target in ("reasoning", "response"):
            both: dict[str, list[tuple[float, float]]] = {}  # source -> accuracy without, with
            for name, value in values.items():
                if kind[name].targets == {target} and questions[name] in plain:
                    both.setdefault(kind[name].source, []).append((plain[questions[name]], value))
            if both:
                metric = f"accuracy_cost_{target}"
                found[f"{metric},{rules}"] = _cost([pair for pairs in both.values() for pair in pairs])
                parts = sorted(both) if len(both) > 1 else ()
                found |= {f"{metric}[source={part}],{rules}": _cost(both[part]) for part in parts}
    return found


def _cost(pairs: Sequence[tuple[float, float]]) -> dict[str, Any]:
    without, with_them = zip(*pairs, strict=True)
    share = relative_change(without, with_them)
    relative = {"relative": share.value, "relative_low": share.low, "relative_high": share.high}
    return paired_difference(without, with_them).to_dict() | relative


def correlations(kinds: Sequence[Item], names: Sequence[str], by_item: ByItem) -> dict[str, Any]:
    """Pearson's correlation of following and accuracy over sources, and the partial one with the length of
    the traces held fixed (ReasonIF, section 4, RQ2, and Appendix C.1).

    Returns:
        "{target},{rules}" -> `pearson` and `partial`, each with an interval from a bootstrap over the items
        of each source, and the means that they were made of.
    """
    length = by_item("reasoning_tokens,none") or by_item("reasoning_words,none")
    source = {name: kind.source for name, kind in zip(names, kinds, strict=True)}
    found = {}
    for target in ("reasoning", "response"):
        for rules in ("reasonif", "robust"):
            followed = by_item(f"{target}_ifs,{rules}")
            accuracy = by_item(f"accuracy,{rules}") or by_item("accuracy,robust")
            groups: dict[str, list[tuple[float, float, float]]] = {}
            for name, value in followed.items():
                if name in accuracy and name in length:
                    groups.setdefault(source[name], []).append((accuracy[name], value, length[name]))
            if len(groups) >= 3:
                found[f"{target},{rules}"] = _over_sources(groups)
    return found


class LengthBins:
    """Following by the length of the trace, in bins with as many samples each.

    The paper says that there are six bins of traces by their tokens, and not where they end: here by
    quantiles. A few numbers are kept for each sample.
    """

    def __init__(self) -> None:
        self._lengths, self._items = array("f"), array("l")
        self._values: dict[str, array[float]] = {}

    def add(self, item: int, seen: Mapping[str, float]) -> None:
        """Take in what a sample says; see `riftk.evaluation.summary.observations`."""
        binned = {key: value for key, value in seen.items() if _BINNED.fullmatch(key)}
        length = seen.get("reasoning_tokens,none", seen.get("reasoning_words,none"))
        if not binned or length is None:
            return
        place = len(self._lengths)
        self._lengths.append(length)
        self._items.append(item)
        for key, value in binned.items():
            values = self._values.setdefault(key, array("f"))
            values.extend([float("nan")] * (place - len(values)))
            values.append(value)

    def edges(self) -> list[float]:
        """Upper ends of the bins but the last; empty below two samples a bin."""
        if len(self._lengths) < 2 * BINS:
            return []
        return np.quantile(np.asarray(self._lengths), np.arange(1, BINS) / BINS).tolist()

    def estimates(self) -> dict[str, Estimate]:
        """`metric[cot_bin=1],rules` and so on, from the shortest to the longest traces."""
        edges = self.edges()
        if not edges:
            return {}
        bins = np.searchsorted(edges, np.asarray(self._lengths))
        items = np.asarray(self._items)
        found = {}
        for key, stored in self._values.items():
            values = np.full(len(items), np.nan)
            values[: len(stored)] = stored
            metric, _, rules = key.partition(",")
            for number in range(BINS):
                here = (bins == number) & ~np.isnan(values)
                if here.any():
                    _, index = np.unique(items[here], return_inverse=True)
                    totals = np.bincount(index, weights=values[here]), np.bincount(index)
                    found[f"{metric}[cot_bin={number + 1}],{rules}"] = estimate_of_totals(*totals)
        return found


def _over_sources(groups: Mapping[str, list[tuple[float, float, float]]]) -> dict[str, Any]:
    names = sorted(groups)
    values = [np.asarray(groups[name]) for name in names]  # (items, 3) for each source
    means = np.asarray([one.mean(axis=0) for one in values])
    draws = np.stack([_resampled_means(one) for one in values], axis=1)  # (resamples, sources, 3)
    accuracy, followed, length = means.T
    return {
        "pearson": _with_interval(
            pearson(accuracy, followed), [pearson(draw[:, 0], draw[:, 1]) for draw in draws]
        ),
        "partial": _with_interval(
            partial_correlation(accuracy, followed, length),
            [partial_correlation(*draw.T) for draw in draws],
        ),
        "sources": {
            name: {"accuracy": float(a), "followed": float(f), "length": float(n), "items": len(groups[name])}
            for name, a, f, n in zip(names, accuracy, followed, length, strict=True)
        },
    }


def _resampled_means(values: np.ndarray) -> np.ndarray:
    """Means of draws of as many rows with replacement, (resamples, columns), a little memory at a time."""
    generator, n = np.random.default_rng(0), len(values)
    at_once = max(1, 1_000_000 // n)
    draws = []
    for start in range(0, _RESAMPLES, at_once):
        chosen = generator.integers(0, n, (min(at_once, _RESAMPLES - start), n))
        draws.append(values[chosen].mean(axis=1))
    return np.concatenate(draws)


def _with_interval(value: float | None, drawn: Sequence[float | None]) -> dict[str, Any]:
    """A correlation and the middle 95 % of what resampling makes of it; no interval where a twentieth of the
    draws have none."""
    there = [one for one in drawn if one is not None]
    if value is None or len(there) < LEVEL * len(drawn):
        return {"value": value, "low": None, "high": None}
    low, high = np.quantile(there, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return {"value": value, "low": float(low), "high": float(high)}
