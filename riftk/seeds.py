"""Figures over several training runs that differ in their seed: a mean whose interval knows both that other
items could have been asked and that other seeds could have been drawn.

All runs answer the same items. So the items' share of the error does not go away with more runs, and the
runs' share does not go away with more items; each is estimated by itself, and the two are put together.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TypeVar

import numpy as np

from riftk.statistics import LEVEL, Difference, Estimate

Part = TypeVar("Part", Estimate, Difference)
UNBOUNDED = (-math.inf, math.inf)


def over_seeds(
    parts: Sequence[Part],
    by_item: Sequence[Mapping[str, float]] = (),
    *,
    within: tuple[float, float] = UNBOUNDED,
    level: float = LEVEL,
) -> Part:
    """Mean of one figure, or of one paired difference, over runs with different seeds.

    The interval has two parts, which are added as squares (G. Y. Zou and A. Donner, Statistics in Medicine
    27, 2008):

    items   the mean distance of the runs' own bounds from their values, times how much less the items differ
            from each other once their values are averaged over the runs: 1 where all runs answer alike,
            1 / sqrt(runs) where what they answer is noise.
    runs    t * s / sqrt(runs), with the standard deviation of the runs' figures and Student's t of runs - 1
            degrees of freedom: 12.7 for two runs, 4.3 for three.

    An item's noise in one run is in both of them, so that the interval is rather too wide than too narrow.

    Args:
        parts: the figure of each run with its interval over items; of a single run it is returned as it is.
        by_item: what stands behind each of them, by item; without it, or where the runs share fewer than two
            items, averaging is taken to help nothing.
        within: what the bounds cannot pass, such as 0 and 1.
        level: coverage of the intervals, those of the parts included.

    Returns:
        `n` counts the observations of one run, the most of them. No value where a run has none; no interval
        where a run has none.

    Raises:
        ValueError: no parts.
    """
    if not parts:
        raise ValueError("a figure over seeds needs one run at least")
    if len(parts) == 1:
        return parts[0]
    kind, n = type(parts[0]), max(part.n for part in parts)
    if any(part.value is None for part in parts):
        return kind(None, None, None, n, None)
    values = np.array([part.value for part in parts])
    value = float(values.mean())
    if any(part.low is None for part in parts):
        return kind(value, None, None, n, None)
    stays = _what_averaging_leaves(by_item)
    below = stays * float(np.mean([part.value - part.low for part in parts]))
    above = stays * float(np.mean([part.high - part.value for part in parts]))
    of_runs = float(values.std(ddof=1)) / math.sqrt(len(parts))
    reach = t_quantile(len(parts) - 1, level) * of_runs
    errors = [part.stderr for part in parts]
    stderr = None if None in errors else math.hypot(stays * float(np.mean(errors)), of_runs)
    low, high = value - math.hypot(below, reach), value + math.hypot(above, reach)
    return kind(value, max(low, within[0]), min(high, within[1]), n, stderr)


def _what_averaging_leaves(by_item: Sequence[Mapping[str, float]]) -> float:
    """Standard deviation over items of their means over runs, as a share of that within one run."""
    shared = sorted(set.intersection(*map(set, by_item))) if by_item else []
    if len(shared) < 2:
        return 1.0
    values = np.array([[one[item] for item in shared] for one in by_item])
    single = float(values.var(axis=1, ddof=1).mean())
    if single == 0:
        return 1.0  # every item says the same: nothing tells how they would differ
    return math.sqrt(min(1.0, float(values.mean(axis=0).var(ddof=1)) / single))


def t_quantile(freedom: int, level: float = LEVEL) -> float:
    """The t with P(|T| <= t) = level for Student's T of so many degrees of freedom.

    The probability is a finite sum in the angle atan(t / sqrt(freedom)) (M. Abramowitz and I. A. Stegun,
    Handbook of Mathematical Functions, 1964, 26.7.3 and 26.7.4), which is halved until it fits.
    """
    low, high = 0.0, math.pi / 2
    for _ in range(60):
        angle = (low + high) / 2
        low, high = (angle, high) if _t_within(angle, freedom) < level else (low, angle)
    return math.sqrt(freedom) * math.tan(low)


def _t_within(angle: float, freedom: int) -> float:
    odd = freedom % 2
    term, total = math.cos(angle) if odd else 1.0, 0.0
    for power in range(odd, freedom - 1, 2):
        total += term
        term *= (power + 1) / (power + 2) * math.cos(angle) ** 2
    within = math.sin(angle) * total
    return 2 / math.pi * (angle + within) if odd else within
