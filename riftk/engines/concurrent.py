"""Many requests in flight at once: an event loop in a thread of its own, results handed to an iterator.

While the caller scores one result, the others go on being generated.
"""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence
from contextlib import suppress
from typing import Any, TypeVar

T = TypeVar("T")
R = TypeVar("R")

_END = object()
_SECONDS_TO_CANCEL = 10.0


class Background:
    """An event loop that runs in a thread until `close`."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="riftk-engine", daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, R]) -> R:
        """Wait for one coroutine."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def each(
        self, do: Callable[[T], Awaitable[R]], items: Sequence[T], limit: int, until: Callable[[], bool]
    ) -> Iterator[R]:
        """Yield `await do(item)` of each item as they finish, at most `limit` at once.

        Args:
            do: what to do; what it raises ends the iteration.
            items: begun in their order.
            limit: most at once.
            until: once true nothing further is begun.
        """
        results: queue.SimpleQueue[Any] = queue.SimpleQueue()
        source = iter(items)

        async def lane() -> None:
            for item in source:  # all lanes take from the one iterator
                if until():
                    return
                results.put(await do(item))

        async def all_lanes() -> None:
            try:
                async with asyncio.TaskGroup() as group:
                    for _ in range(min(limit, len(items))):
                        group.create_task(lane())
            except ExceptionGroup as errors:
                raise errors.exceptions[0] from None
            finally:
                results.put(_END)

        work = asyncio.run_coroutine_threadsafe(all_lanes(), self._loop)
        ended = False
        try:
            while (result := results.get()) is not _END:
                yield result
            ended = True
            work.result()
        finally:
            if not ended:  # the caller stopped early: nothing may be in flight when it goes on
                work.cancel()
                with suppress(queue.Empty):  # what cannot be cancelled ends with the loop
                    while results.get(timeout=_SECONDS_TO_CANCEL) is not _END:
                        pass

    def close(self) -> None:
        """End the thread. Nothing may be running."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
