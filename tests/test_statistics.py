"""Statistics against published values, and against simulation where coverage is the claim."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from riftk import statistics as rs


def test_wilson_published_values():
    # Newcombe (1998, Statistics in Medicine 17, 857-872), Table I, score interval without correction.
    for successes, n, low, high in [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0, 0.1611),
                                    (1, 29, 0.0061, 0.1718)]:  # fmt: skip
        got = rs.proportion(successes, n)
        assert got.value == pytest.approx(successes / n)
        assert (got.low, got.high) == (pytest.approx(low, abs=5e-5), pytest.approx(high, abs=5e-5))


def test_newcombe_paired_published_value():
    # Newcombe (1998, Statistics in Medicine 17, 2635-2650), method 10 on 36, 12, 2, 0 of 50; the paper's
    # difference is before - after.
    before = [1] * 36 + [1] * 12 + [0] * 2
    after = [1] * 36 + [0] * 12 + [1] * 2
    got = rs.paired_difference(before, after)
    assert (got.value, got.gained, got.lost, got.n) == (pytest.approx(-0.2), 2, 12, 50)
    assert (-got.high, -got.low) == (pytest.approx(0.0569, abs=5e-4), pytest.approx(0.3404, abs=5e-4))


def test_nothing_changed_is_not_certainty():
    got = rs.paired_difference([0] * 50, [0] * 50)
    assert got.value == 0
    assert got.low < -0.01
    assert got.high > 0.01
    assert got.p_value == 1.0


def test_mcnemar_exact_values():
    assert rs.mcnemar(0, 0) == 1.0
    assert rs.mcnemar(0, 6) == pytest.approx(2 / 64)
    assert rs.mcnemar(6, 0) == rs.mcnemar(0, 6)
    assert rs.mcnemar(5, 5) == 1.0
    assert rs.mcnemar(2, 8) == pytest.approx(2 * (1 + 10 + 45) / 1024)
    assert 0 < rs.mcnemar(40_000, 41_000) < 1e-3  # no overflow, no wait


def test_holm_published_example():
    # Holm's procedure on (0.01, 0.04, 0.03, 0.005): 4 * .005, 3 * .01, 2 * .03, then monotone.
    assert rs.holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert rs.holm([]) == []


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_holm_never_lowers_and_keeps_the_order(p_values):
    adjusted = rs.holm(p_values)
    assert all(p <= a <= 1 for p, a in zip(p_values, adjusted, strict=True))
    ranked = [a for _, a in sorted(zip(p_values, adjusted, strict=True))]
    assert ranked == sorted(ranked)


def test_bootstrap_is_seeded_and_agrees_with_theory():
    values = np.random.default_rng(1).normal(10, 2, 400)
    got = rs.mean(values)
    assert got == rs.mean(values)
    assert got.stderr == pytest.approx(values.std(ddof=1) / 20)
    assert (got.high - got.low) / 2 == pytest.approx(1.96 * got.stderr, rel=0.1)


def test_clusters_widen_the_interval():
    # Eight identical completions of each of 40 items carry the information of 40.
    per_item = np.random.default_rng(2).integers(0, 2, 40).astype(float)
    values, items = np.repeat(per_item, 8), np.repeat(np.arange(40), 8)
    clustered, naive = rs.mean(values, items), rs.mean(values)
    assert clustered.value == naive.value
    assert (clustered.high - clustered.low) > 2 * (naive.high - naive.low)
    assert clustered.stderr == pytest.approx(rs.mean(per_item).stderr)
    assert rs.estimate(values, items) == rs.mean(values, items)
    assert rs.estimate(per_item, np.arange(40)) == rs.proportion(int(per_item.sum()), 40)


def test_empty_and_single():
    assert rs.proportion(0, 0) == rs.NOTHING
    assert rs.mean([]) == rs.NOTHING
    assert rs.paired_difference([], []).value is None
    assert rs.mean([3.0]).value == 3.0
    assert rs.paired_difference([1.5], [2.0]).low is None
    with pytest.raises(ValueError, match="same items"):
        rs.paired_difference([1, 0], [1])
    with pytest.raises(ValueError, match="no proportion"):
        rs.proportion(3, 2)


def test_paired_interval_covers_the_truth():
    generator, inside = np.random.default_rng(3), 0
    for _ in range(400):
        kind = generator.choice(4, 60, p=[0.3, 0.25, 0.1, 0.35])  # both, gained, lost, neither
        got = rs.paired_difference(np.isin(kind, (0, 2)), np.isin(kind, (0, 1)))
        inside += got.low <= 0.15 <= got.high
    assert inside / 400 >= 0.92


def test_smallest_difference_is_found_at_the_promised_rate():
    for n, discordant in [(300, 0.5), (100, 0.3)]:
        gap = rs.smallest_difference(n, discordant)
        generator, found = np.random.default_rng(4), 0
        up, down = (discordant + gap) / 2, (discordant - gap) / 2
        for _ in range(600):
            gained, lost, _ = generator.multinomial(n, [up, down, 1 - up - down])
            found += rs.mcnemar(int(gained), int(lost)) <= 0.05
        assert found / 600 == pytest.approx(0.8, abs=0.08)  # the exact test is a little conservative
    assert rs.smallest_difference(5) is None
    assert rs.smallest_difference(6) == 1.0
    assert rs.smallest_difference(1500) < rs.smallest_difference(300) < rs.smallest_difference(60)


def test_pass_at_k_is_the_share_of_draws_with_a_right_one():
    # All ways to draw k of n completions, counted.
    from itertools import combinations

    for n, correct, k in [(4, 1, 2), (5, 2, 3), (6, 0, 4), (6, 6, 1), (6, 5, 2)]:
        draws = list(combinations([1] * correct + [0] * (n - correct), k))
        expected = sum(any(draw) for draw in draws) / len(draws)
        assert rs.pass_at_k([correct], [n], k).value == pytest.approx(expected)
    assert rs.pass_at_k([1, 3, 0], [4, 4, 4], 1).value == pytest.approx(4 / 12)
    with pytest.raises(ValueError, match=r"pass@5 needs 5 completions of every item, and there are 4"):
        rs.pass_at_k([1, 2], [4, 8], 5)
    with pytest.raises(ValueError, match="at least 1"):
        rs.pass_at_k([1], [4], 0)


def test_totals_of_items_give_what_their_observations_give():
    generator = np.random.default_rng(5)
    items = generator.integers(0, 30, 200)
    values = generator.random(200)
    sums, counts = np.bincount(items, weights=values), np.bincount(items)
    assert rs.estimate_of_totals(sums, counts) == rs.estimate(values, items)
    assert rs.estimate_of_totals([1, 0, 1], [1, 1, 1]) == rs.proportion(2, 3)
    assert rs.estimate_of_totals([], []) == rs.NOTHING


def test_correlations_agree_with_least_squares():
    generator = np.random.default_rng(6)
    length = generator.normal(size=40)
    first, second = length + generator.normal(size=40), -length + generator.normal(size=40)
    assert rs.pearson(first, second) == pytest.approx(np.corrcoef(first, second)[0, 1])

    def residual(values):
        return values - np.polyval(np.polyfit(length, values, 1), length)

    expected = np.corrcoef(residual(first), residual(second))[0, 1]
    assert rs.partial_correlation(first, second, length) == pytest.approx(expected)


def test_correlations_that_there_are_not():
    assert rs.pearson([1, 2], [2, 1]) is None
    assert rs.pearson([1, 1, 1], [1, 2, 3]) is None
    assert rs.partial_correlation([1, 2, 3], [3, 1, 2], [1, 3, 2]) is None
    assert rs.partial_correlation([1, 2, 3, 4], [4, 1, 3, 2], [1, 2, 3, 4]) is None
    with pytest.raises(ValueError, match="needs pairs"):
        rs.pearson([1, 2, 3], [1, 2])
