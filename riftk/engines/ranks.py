"""Ranks of a launcher (torchrun, accelerate) that generate together.

Rank 0 leads: it alone runs the command, asks for text and writes files. The other ranks `follow`: they take
numbered pieces of its work, whichever comes next, and send the results back through the launcher's key-value
store. No process group is made, so nothing here meets a trainer's.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property
from itertools import count
from typing import Any

_A_YEAR = timedelta(days=365)  # a launcher ends all ranks when one dies; until then there is work or an end
_TIME_TO_MEET = timedelta(minutes=30)
_SECONDS_BETWEEN_LOOKS = 0.05
_SECONDS_FOR_FAREWELL = 60.0


@dataclass(frozen=True)
class Ranks:
    """This process among those that the launcher started.

    Args:
        rank: number of this process, 0 leads.
        size: how many there are.
        local_rank: number on this machine, which names its GPU.
    """

    rank: int = 0
    size: int = 1
    local_rank: int = 0

    @classmethod
    def from_environment(cls) -> Ranks:
        names = ("RANK", "WORLD_SIZE", "LOCAL_RANK")
        return cls(*(int(os.environ.get(name, default)) for name, default in zip(names, "010", strict=True)))

    @cached_property
    def _store(self) -> Any:
        from torch.distributed import PrefixStore, rendezvous

        store, _, _ = next(rendezvous("env://", timeout=_TIME_TO_MEET))
        return PrefixStore("riftk", store)

    @cached_property
    def _jobs(self) -> Iterator[int]:
        return count()

    def lead(
        self, job: Any, pieces: int, do: Callable[[int], Any], until: Callable[[], bool]
    ) -> Iterator[tuple[int, Any]]:
        """Do the pieces of a job together with the other ranks.

        Args:
            job: what the other ranks need to know, as JSON holds it.
            pieces: number of pieces.
            do: does one piece; its result is something that JSON holds.
            until: once true, no further piece is begun.

        Yields:
            (number, result) of each piece, as they are done.
        """
        if self.size == 1:
            for number in range(pieces):
                if until():
                    return
                yield number, do(number)
            return
        name, away, known = next(self._jobs), set[int](), 0
        self._store.set(f"job/{name}", json.dumps([pieces, job]))
        try:
            while not until() and (number := self._take(name)) < pieces:
                away |= set(range(known, number))
                known = number + 1
                yield number, do(number)
                yield from self._arrived(name, away)
            away |= set(range(known, min(self._take(name, pieces), pieces)))
            while away:
                time.sleep(_SECONDS_BETWEEN_LOOKS)
                yield from self._arrived(name, away)
        finally:
            self._take(name, pieces)  # whoever asks now gets nothing more

    def follow(self, worker: Callable[[Any], Callable[[int], Any]]) -> None:
        """Work for rank 0 until it closes.

        Args:
            worker: makes the function that does one piece, from a job.
        """
        for name in self._jobs:
            self._store.wait([f"job/{name}"], _A_YEAR)
            task = json.loads(self._store.get(f"job/{name}"))
            if task is None:
                self._store.add("left", 1)
                return
            pieces, job = task
            do = worker(job)
            while (number := self._take(name)) < pieces:
                self._store.set(f"{name}/{number}", json.dumps(do(number)))

    def close(self) -> None:
        """Let the other ranks go; for rank 0, which waits for them: it may hold the store itself."""
        if self.size == 1 or self.rank:
            return
        self._store.set(f"job/{next(self._jobs)}", "null")
        deadline = time.monotonic() + _SECONDS_FOR_FAREWELL
        while self._store.add("left", 0) < self.size - 1 and time.monotonic() < deadline:
            time.sleep(_SECONDS_BETWEEN_LOOKS)

    def _take(self, name: int, pieces: int = 1) -> int:
        """Take the next pieces of a job; return the number of the first."""
        return self._store.add(f"{name}/next", pieces) - pieces

    def _arrived(self, name: int, away: set[int]) -> Iterator[tuple[int, Any]]:
        """Results of the other ranks that have come by now; they leave `away` and the store."""
        for number in sorted(away):
            key = f"{name}/{number}"
            if self._store.check([key]):
                away.remove(number)
                yield number, json.loads(self._store.get(key))
                self._store.delete_key(key)
