"""A look at a few of many: evenly spread places."""

from __future__ import annotations


def spread(count: int, wanted: int) -> list[int]:
    """Up to `wanted` places among `count`, evenly spread and in order."""
    wanted = min(wanted, count)
    return [place * count // wanted for place in range(wanted)]
