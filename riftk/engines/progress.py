"""Progress on standard error: a live bar on a terminal, a line now and then in a log."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

_SECONDS_BETWEEN_LINES = 30.0


class Step(Protocol):
    """Reports that `count` more items are done, with a short note such as a speed."""

    def __call__(self, count: int, note: str = "") -> None: ...


@contextmanager
def progress(what: str, total: int, done: int = 0) -> Iterator[Step]:
    """Show how far a long task is.

    Args:
        what: said in front of the numbers, e.g. "generating".
        total: items in all.
        done: items that an earlier run had finished already.
    """
    if sys.stderr.isatty():
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.fields[note]}"),
        )
        with Progress(*columns, console=Console(stderr=True)) as bar:
            task = bar.add_task(what, total=total, completed=done, note="")
            yield lambda count, note="": bar.update(task, advance=count, note=note)
        return

    finished, last = done, time.monotonic()

    def step(count: int, note: str = "") -> None:
        nonlocal finished, last
        finished += count
        if finished >= total or time.monotonic() - last > _SECONDS_BETWEEN_LINES:
            last = time.monotonic()
            print(f"{what}: {finished}/{total} {note}".rstrip(), file=sys.stderr, flush=True)

    yield step
