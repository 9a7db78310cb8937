"""Estimates with intervals, paired differences, and what a sample of a given size can show.

Everything is deterministic: where resampling is needed the generator is seeded. Intervals are 95 % unless a
level is given. Proportions of independent items get closed forms, which stay honest at 0 and 1 where a
bootstrap would report a width of zero; everything else resamples *items* (clusters), never completions,
because completions of one item are not independent.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from statistics import NormalDist
from typing import Any

import numpy as np

LEVEL = 0.95
RESAMPLES = 2000
_DRAWS_AT_ONCE = 4_000_000  # resampled indices held in memory at a time


@dataclass(frozen=True)
class Estimate:
    """A figure and how sure one can be of it.

    Args:
        value: point estimate; None where nothing was observed.
        low, high: interval; None where it cannot be had (no observations).
        n: observations behind it.
        stderr: standard error; None below two items.
    """

    value: float | None
    low: float | None
    high: float | None
    n: int
    stderr: float | None

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class Difference:
    """After minus before on the same items.

    Args:
        value, low, high, n, stderr: as in `Estimate`; `n` counts items.
        gained, lost: items that went from 0 to 1 and from 1 to 0 (McNemar's counts), None for quantities.
        p_value: exact two-sided McNemar test, None for quantities.
    """

    value: float | None
    low: float | None
    high: float | None
    n: int
    stderr: float | None
    gained: int | None = None
    lost: int | None = None
    p_value: float | None = None

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


NOTHING = Estimate(None, None, None, 0, None)


def proportion(successes: int, n: int, level: float = LEVEL) -> Estimate:
    """Share of successes with Wilson's score interval (E. B. Wilson, JASA 22, 1927).

    Raises:
        ValueError: counts that are no counts.
    """
    if not 0 <= successes <= n:
        raise ValueError(f"{successes} successes of {n} is no proportion")
    if n == 0:
        return NOTHING
    z = _z(level)
    share = successes / n
    centre = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    # At 0 and n the formula gives the end itself, up to rounding; say it exactly.
    low = 0.0 if successes == 0 else centre - half
    high = 1.0 if successes == n else centre + half
    stderr = math.sqrt(share * (1 - share) / (n - 1)) if n > 1 else None
    return Estimate(share, low, high, n, stderr)


def mean(
    values: Sequence[float],
    clusters: Sequence[int] | None = None,
    *,
    level: float = LEVEL,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Estimate:
    """Mean with a percentile interval from a bootstrap over clusters (A. C. Davison and D. V. Hinkley,
    Bootstrap Methods and Their Application, 1997, 3.8).

    Args:
        values: observations, shape (n,).
        clusters: item of each observation, shape (n,); None makes every observation its own item.
        level: coverage of the interval.
        resamples: bootstrap draws.
        seed: of the draws.
    """
    sums, counts = _by_cluster(values, clusters)
    return _mean_of_totals(sums, counts, level, resamples, seed)


def estimate(values: Sequence[float], clusters: Sequence[int], *, seed: int = 0) -> Estimate:
    """`proportion` where every item has one 0/1 observation, `mean` otherwise."""
    return estimate_of_totals(*_by_cluster(values, clusters), seed=seed)


def estimate_of_totals(sums: Sequence[float], counts: Sequence[float], *, seed: int = 0) -> Estimate:
    """`estimate` from the sum and the number of each item's observations, shapes (items,)."""
    totals, sizes = np.asarray(sums, dtype=float), np.asarray(counts, dtype=float)
    if (sizes == 1).all() and np.isin(totals, (0.0, 1.0)).all():
        return proportion(int(totals.sum()), totals.size)
    return _mean_of_totals(totals, sizes, LEVEL, RESAMPLES, seed)


def mean_of_estimates(parts: Sequence[Estimate]) -> Estimate:
    """Mean of independent figures, each counting as much as another (a macro average).

    The interval is put together from theirs (method of variance estimates recovery: G. Y. Zou and A. Donner,
    Statistics in Medicine 27, 2008), so that it stays honest where a part is 0 or 1.

    Args:
        parts: figures with intervals; none makes `NOTHING`.
    """
    known = [part for part in parts if part.value is not None]
    if not known or len(known) < len(parts):
        return NOTHING
    count, value = len(known), sum(part.value for part in known) / len(known)
    n = sum(part.n for part in known)
    if any(part.low is None for part in known):
        return Estimate(value, None, None, n, None)
    below = math.sqrt(sum((part.value - part.low) ** 2 for part in known)) / count
    above = math.sqrt(sum((part.high - part.value) ** 2 for part in known)) / count
    errors = [part.stderr for part in known]
    stderr = None if None in errors else math.sqrt(sum(error**2 for error in errors)) / count
    return Estimate(value, value - below, value + above, n, stderr)


def mean_of_ratios(
    sums: np.ndarray,
    counts: np.ndarray,
    *,
    empty: float | None = None,
    level: float = LEVEL,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Estimate:
    """Mean of several ratios over the same items, such as a share under each of three wordings, with a
    percentile interval from a bootstrap over items.

    Args:
        sums, counts: numerator and denominator of each item in each ratio, shapes (items, ratios).
        empty: value of a ratio whose denominator is zero; None makes the mean None.
        level, resamples, seed: see `mean`.

    Returns:
        The estimate, `n` the sum of all counts. There is no interval where a twentieth of the draws have an
        empty denominator; at 0 and 1 it is Wilson's over the items.
    """
    n, (items, ratios) = int(counts.sum()), counts.shape
    of_each = [_ratio(*totals, empty) for totals in zip(sums.sum(axis=0), counts.sum(axis=0), strict=True)]
    if None in of_each:
        return Estimate(None, None, None, n, None)
    value = sum(of_each) / ratios
    if items < 2 or not n:
        return Estimate(value, None, None, n, None)
    if value in (0.0, 1.0):  # all draws would be alike: as if each item had said it once
        once = int((counts.sum(axis=1) > 0).sum())
        return replace(proportion(int(value) * once, once, level), n=n)
    draws = np.zeros(resamples)
    for column in range(ratios):  # one seed: each draw takes the same items for every ratio
        drawn = _resampled_ratios(sums[:, column], counts[:, column], resamples, seed)
        draws += np.where(np.isnan(drawn), np.nan if empty is None else empty, drawn) / ratios
    return _of_draws(value, draws, n, level)


def pass_at_k(correct: Sequence[int], samples: Sequence[int], k: int, *, seed: int = 0) -> Estimate:
    """Probability that at least one of k completions of an item is right, without bias: drawn without
    replacement from the n that there are (M. Chen et al., arXiv 2107.03374, section 2.1), with an interval
    from a bootstrap over items.

    Args:
        correct: right completions of each item, shape (items,).
        samples: completions of each item, shape (items,).
        k: completions of which one must be right.
        seed: of the bootstrap.

    Raises:
        ValueError: an item has fewer than k completions; the figure could only be made up.
    """
    if k < 1:
        raise ValueError(f"pass@k needs k of at least 1, not {k}")
    if fewest := [n for n in samples if n < k]:
        raise ValueError(f"pass@{k} needs {k} completions of every item, and there are {min(fewest)}")
    shares = [1.0 - _none_of(n, c, k) for n, c in zip(samples, correct, strict=True)]
    return estimate_of_totals(shares, [1.0] * len(shares), seed=seed)


def pearson(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Pearson's correlation; None below three pairs or where one of the two does not vary."""
    one, other = np.asarray(first, dtype=float), np.asarray(second, dtype=float)
    if one.size != other.size:
        raise ValueError(f"a correlation needs pairs: {one.size} and {other.size} values")
    if one.size < 3:
        return None
    one, other = one - one.mean(), other - other.mean()
    scale = math.sqrt(float((one**2).sum() * (other**2).sum()))
    if scale < 1e-12:
        return None
    return float(np.clip((one * other).sum() / scale, -1.0, 1.0))


def partial_correlation(
    first: Sequence[float], second: Sequence[float], given: Sequence[float]
) -> float | None:
    """Correlation of two quantities with a third one held fixed (R. A. Fisher, Metron 3, 1924).

    None below four triples, where a quantity does not vary, or where the third one decides another.
    """
    if len(first) < 4:
        return None
    pairs = [pearson(first, second), pearson(first, given), pearson(second, given)]
    if None in pairs:
        return None
    ab, ac, bc = pairs
    rest = (1 - ac**2) * (1 - bc**2)
    return None if rest < 1e-12 else float(np.clip((ab - ac * bc) / math.sqrt(rest), -1.0, 1.0))


def paired_difference(
    before: Sequence[float],
    after: Sequence[float],
    *,
    level: float = LEVEL,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Difference:
    """Mean difference after - before over the same items.

    0/1 values get the hybrid score interval for paired proportions (R. G. Newcombe, Statistics in Medicine
    17, 1998, method 10) and McNemar's counts with the exact test; other values get a paired bootstrap.

    Args:
        before, after: one value per item, in the same order, shape (n,). Several samples of an item are to
            be averaged first.
        level, resamples, seed: see `mean`.

    Raises:
        ValueError: the two are not equally long.
    """
    first, second = np.asarray(before, dtype=float), np.asarray(after, dtype=float)
    if first.shape != second.shape:
        raise ValueError(
            f"a paired difference needs the same items: {first.size} before, {second.size} after"
        )
    n = first.size
    if n == 0:
        return Difference(None, None, None, 0, None)
    gaps = second - first
    value = float(gaps.mean())
    stderr = float(gaps.std(ddof=1) / math.sqrt(n)) if n > 1 else None
    if np.isin(first, (0.0, 1.0)).all() and np.isin(second, (0.0, 1.0)).all():
        gained, lost = int((gaps > 0).sum()), int((gaps < 0).sum())
        both = int((first * second).sum())
        low, high = _newcombe_paired(both, gained, lost, n, level)
        return Difference(value, low, high, n, stderr, gained, lost, mcnemar(gained, lost))
    if n == 1:
        return Difference(value, None, None, 1, None)
    draws = _resampled_ratios(gaps, np.ones(n), resamples, seed)
    low, high = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2])
    return Difference(value, float(low), float(high), n, stderr)


def mean_of_differences(parts: Sequence[Difference]) -> Difference:
    """Mean of independent paired differences, each counting as much as another: that of a macro average. The
    interval as in `mean_of_estimates`; there is no test over items, which do not count alike."""
    whole = mean_of_estimates([Estimate(one.value, one.low, one.high, one.n, one.stderr) for one in parts])
    return Difference(**asdict(whole))


def relative_change(before: Sequence[float], after: Sequence[float]) -> Estimate:
    """Change of a mean over the same items as a share of the mean before; its interval as in `mean`.

    No value where the mean before is zero; no interval where it is in a twentieth of the draws.
    """
    first, second = np.asarray(before, dtype=float), np.asarray(after, dtype=float)
    if not first.sum():
        return Estimate(None, None, None, first.size, None)
    value = float((second - first).sum() / first.sum())
    if first.size < 2:
        return Estimate(value, None, None, first.size, None)
    with np.errstate(divide="ignore"):
        draws = _resampled_ratios(second - first, first, RESAMPLES, 0)
    return _of_draws(value, draws, first.size, LEVEL)


def mcnemar(gained: int, lost: int) -> float:
    """Exact two-sided p-value of McNemar's test (Q. McNemar, Psychometrika 12, 1947): are gains and losses
    equally likely? 1.0 when nothing changed."""
    changed = gained + lost
    if changed == 0:
        return 1.0
    log_choose = [
        math.lgamma(changed + 1) - math.lgamma(k + 1) - math.lgamma(changed - k + 1)
        for k in range(min(gained, lost) + 1)
    ]
    tail = math.fsum(math.exp(term - changed * math.log(2)) for term in log_choose)
    return min(1.0, 2 * tail)


def holm(p_values: Sequence[float]) -> list[float]:
    """p-values adjusted for their number by Holm's step-down (S. Holm, Scand. J. Statistics 6, 1979),
    in the given order."""
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    adjusted = [0.0] * len(p_values)
    largest = 0.0
    for rank, index in enumerate(order):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[index]))
        adjusted[index] = largest
    return adjusted


def smallest_difference(
    n: int, discordant: float = 0.5, *, level: float = LEVEL, power: float = 0.8
) -> float | None:
    """Smallest paired difference of proportions that n items find with the given power
    (R. J. Connor, Biometrics 43, 1987), and never less than the exact test can call significant at all.

    Args:
        n: items.
        discordant: share of items whose outcome changes in either direction; 0.5 is the worst case, two
            runs of a coin that know nothing of each other.
        level: 1 - level is the size of the test.
        power: probability of finding it.

    Returns:
        The difference, or None when n items cannot show any.
    """
    fewest = math.ceil(1 - math.log2(1 - level))  # all changes one way: 2 * 2**-k <= 1 - level
    if n < fewest:
        return None
    z_test, z_power = _z(level), NormalDist().inv_cdf(power)
    gap = 0.0
    for _ in range(50):  # a contraction: settles in a few rounds
        spread = math.sqrt(max(discordant - gap * gap, 0.0))
        gap = min((z_test * math.sqrt(discordant) + z_power * spread) / math.sqrt(n), discordant)
    return max(gap, fewest / n)


def _ratio(total: float, count: float, empty: float | None) -> float | None:
    return float(total / count) if count else empty


def _none_of(n: int, correct: int, k: int) -> float:
    """Probability that k of n completions, drawn without replacement, hold none of the right ones."""
    return math.comb(n - correct, k) / math.comb(n, k)


def _mean_of_totals(
    sums: np.ndarray, counts: np.ndarray, level: float, resamples: int, seed: int
) -> Estimate:
    if not len(sums):
        return NOTHING
    n = int(counts.sum())
    value = float(sums.sum() / n)
    if len(sums) == 1:
        return Estimate(value, None, None, n, None)
    draws = _resampled_ratios(sums, counts, resamples, seed)
    low, high = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2])
    return Estimate(value, float(low), float(high), n, _ratio_stderr(sums, counts))


def _of_draws(value: float, draws: np.ndarray, n: int, level: float) -> Estimate:
    """A ratio with the percentile interval of its draws; none where a twentieth of them are no number."""
    there = draws[np.isfinite(draws)]
    if there.size < LEVEL * draws.size:
        return Estimate(value, None, None, n, None)
    low, high = np.quantile(there, [(1 - level) / 2, (1 + level) / 2])
    return Estimate(value, float(low), float(high), n, float(there.std(ddof=1)))


def _z(level: float) -> float:
    return NormalDist().inv_cdf((1 + level) / 2)


def _newcombe_paired(both: int, gained: int, lost: int, n: int, level: float) -> tuple[float, float]:
    """Newcombe's method 10 for p(after) - p(before)."""
    neither = n - both - gained - lost
    old, new = proportion(both + lost, n, level), proportion(both + gained, n, level)
    margins = (both + gained) * (both + lost) * (neither + gained) * (neither + lost)
    phi = 0.0
    if margins:
        cross = both * neither - gained * lost
        if cross > 0:
            cross = max(cross - n / 2, 0.0)  # Newcombe's continuity correction of the correlation
        phi = cross / math.sqrt(margins)

    def reach(towards: float, away: float) -> float:
        return math.sqrt(max(towards**2 - 2 * phi * towards * away + away**2, 0.0))

    gap = new.value - old.value
    low = gap - reach(new.value - new.low, old.high - old.value)
    high = gap + reach(new.high - new.value, old.value - old.low)
    return max(low, -1.0), min(high, 1.0)


def _by_cluster(values: Sequence[float], clusters: Sequence[int] | None) -> tuple[np.ndarray, np.ndarray]:
    """Sum and number of the observations of each cluster."""
    array = np.asarray(values, dtype=float)
    if clusters is None:
        return array, np.ones(array.size)
    _, index = np.unique(np.asarray(clusters), return_inverse=True)
    if index.size != array.size:
        raise ValueError(f"{array.size} values, but {index.size} cluster labels")
    counts = np.bincount(index).astype(float)
    return np.bincount(index, weights=array, minlength=counts.size), counts


def _resampled_ratios(sums: np.ndarray, counts: np.ndarray, resamples: int, seed: int) -> np.ndarray:
    """Means of `resamples` draws of as many clusters with replacement."""
    generator = np.random.default_rng(seed)
    size = len(sums)
    at_once = max(1, _DRAWS_AT_ONCE // size)
    ratios = []
    for start in range(0, resamples, at_once):
        chosen = generator.integers(0, size, (min(at_once, resamples - start), size))
        with np.errstate(invalid="ignore"):  # 0 / 0 where no item drawn has a denominator: not a number
            ratios.append(sums[chosen].sum(axis=1) / counts[chosen].sum(axis=1))
    return np.concatenate(ratios)


def _ratio_stderr(sums: np.ndarray, counts: np.ndarray) -> float:
    """Linearised standard error of a ratio of cluster totals (W. G. Cochran, Sampling Techniques, 1977, 6.4);
    with clusters of one this is the usual standard error of a mean."""
    residuals = sums - counts * (sums.sum() / counts.sum())
    size = len(sums)
    return float(math.sqrt((residuals**2).sum() / (size - 1) / size) / counts.mean())
