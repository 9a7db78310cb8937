"""Evenly spread places."""

from __future__ import annotations

import pytest

from riftk.spreading import spread


@pytest.mark.parametrize(
    ("count", "wanted", "places"),
    [(0, 4, []), (2, 3, [0, 1]), (3, 3, [0, 1, 2]), (9, 3, [0, 3, 6]), (10, 4, [0, 2, 5, 7]), (5, 0, [])],
)
def test_places_are_in_order_and_none_comes_twice(count, wanted, places):
    assert spread(count, wanted) == places
