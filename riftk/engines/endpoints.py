"""Several servers of one model: asked in turn, those that fail set aside for a while."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit, urlunsplit

_MOST_SECONDS_ASIDE = 60.0


@dataclass
class Endpoint:
    """One server and what is known of its health."""

    client: Any
    failures: int = 0
    aside_until: float = 0.0

    def answered(self) -> None:
        self.failures, self.aside_until = 0, 0.0

    def failed(self) -> None:
        """Set aside, for longer with each failure in a row."""
        self.failures += 1
        self.aside_until = time.monotonic() + min(2.0**self.failures, _MOST_SECONDS_ASIDE)


class Endpoints:
    """The servers of one model."""

    def __init__(self, endpoints: Sequence[Endpoint]) -> None:
        self._endpoints = list(endpoints)
        self._next = 0

    def __iter__(self) -> Iterator[Endpoint]:
        return iter(self._endpoints)

    def pick(self) -> Endpoint:
        """The next one in turn that is not set aside; where all are, the one that has been longest."""
        turn = self._endpoints[self._next :] + self._endpoints[: self._next]
        now = time.monotonic()
        chosen = next((e for e in turn if e.aside_until <= now), None) or min(
            turn, key=lambda e: e.aside_until
        )
        self._next = (self._endpoints.index(chosen) + 1) % len(self._endpoints)
        return chosen


def public_url(url: str) -> str:
    """A URL as it may be stored: without user, password and query, which can hold keys."""
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))
