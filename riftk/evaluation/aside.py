"""Work beside what makes it: completions are scored in a thread of their own while the next are generated."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

_BACKLOG = 512  # things that wait at most; a batch of a local engine is smaller


@contextmanager
def aside(do: Callable[..., None]) -> Iterator[Callable[..., None]]:
    """Gives a function that has `do` called with its arguments, in order, and does not wait for it.

    Everything that was handed over is done when the block ends, also where an exception ends it.

    Raises:
        Exception: what `do` raised, from a later call or when the block ends.
    """
    begun: deque[Future[None]] = deque()
    with ThreadPoolExecutor(1, thread_name_prefix="riftk-scoring") as thread:

        def hand_over(*arguments: Any) -> None:
            while begun and (begun[0].done() or len(begun) == _BACKLOG):
                begun.popleft().result()
            begun.append(thread.submit(do, *arguments))

        yield hand_over
        for one in begun:
            one.result()
