"""Word limits measured: the 20th percentile of the words in a model's own traces, by source (ReasonIF, 3)."""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from riftk.benchmarks.limits import effort_of

PERCENTILE = 20
_WORD = re.compile(r"\w+")  # what ReasonIF's evaluator counts


@dataclass(frozen=True)
class SourceLimit:
    """What was measured for one source.

    Args:
        limit: N of "less than N words".
        low, high: 95 % interval of the percentile (order statistics); None where n is too small for one.
        n: traces behind it, those that were cut off included.
        censored: traces that were cut off: they are at least as long as what there is of them.
        errored: requests without a completion, which say nothing.
    """

    limit: int
    low: int | None
    high: int | None
    n: int
    censored: int
    errored: int


def measure_limits(
    samples: Iterable[Mapping[str, Any]], percentile: int = PERCENTILE
) -> dict[str, SourceLimit]:
    """Limits by source from scored samples, which are read once.

    A trace that was cut off is censored: it counts with the words that it has, as a lower bound, and is never
    dropped, because those are the longest. The percentile is right as long as it lies below all of them.

    Raises:
        ValueError: the percentile lies among traces that were cut off, or a model that hardly reasons.
    """
    lengths: dict[str, array[int]] = {}
    cut: dict[str, array[int]] = {}
    errors: dict[str, int] = {}
    for sample in samples:
        source = sample["source"]
        errors.setdefault(source, 0)
        if sample["finish_reason"] == "error":
            errors[source] += 1
            continue
        words = sum(1 for _ in _WORD.finditer(sample["reasoning"]))
        lengths.setdefault(source, array("l")).append(words)
        if sample["status"] == "unclosed":
            cut.setdefault(source, array("l")).append(words)
    measured = {
        source: _limit(source, lengths.get(source, ()), cut.get(source, ()), errors[source], percentile)
        for source in sorted(errors)
    }
    return measured


def limits_record(
    measured: Mapping[str, SourceLimit], results: Mapping[str, Any], percentile: int = PERCENTILE
) -> dict[str, Any]:
    """What `limits.json` holds: limits, whose they are and how they were obtained."""
    task = next(iter(results["configs"].values()))
    return {
        "model": results["model_name"],
        "effort": effort_of(results["engine"]),
        "percentile": percentile,
        "counter": _WORD.pattern,
        "limits": {source: found.limit for source, found in measured.items()},
        "sources": {source: asdict(found) for source, found in measured.items()},
        "items_sha": task["items_sha"],
        "sampling": task["sampling"],
        "samples_per_item": task["samples_per_item"],
        "engine": results["engine"],
        "date": results["date"],
    }


def _limit(
    source: str, lengths: Iterable[int], cut: Iterable[int], errored: int, percentile: int
) -> SourceLimit:
    words, censored = np.sort(np.asarray(lengths)), np.asarray(cut)
    if not words.size:
        raise ValueError(f"{source}: every request failed, so there is no trace to measure")
    limit = int(np.percentile(words, percentile))
    if censored.size and censored.min() < limit:
        raise ValueError(
            f"{source}: {censored.size} of {words.size} traces were cut off, some of them ({censored.min()} "
            f"words) below the {percentile}th percentile ({limit}), which is therefore not known; give more "
            "--max-tokens"
        )
    if limit < 2:
        raise ValueError(
            f"{source}: the {percentile}th percentile is {limit} words, so no limit can be asked for; does "
            "the model reason? (see --think and --chat-template-kwargs)"
        )
    low, high = _order_interval(words, percentile / 100)
    return SourceLimit(limit, low, high, int(words.size), int(censored.size), errored)


def _order_interval(ordered: np.ndarray, share: float) -> tuple[int | None, int | None]:
    """Distribution-free interval of a quantile: the observations two standard deviations of a binomial count
    below and above it."""
    n = ordered.size
    reach = 1.96 * (n * share * (1 - share)) ** 0.5
    low, high = int(np.floor(n * share - reach)) - 1, int(np.ceil(n * share + reach))
    return (int(ordered[low]) if low >= 0 else None, int(ordered[high]) if high < n else None)
