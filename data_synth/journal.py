"""The files of one stage: a part for each window and attempt, that a killed run leaves usable.

    traces/00000-1.jsonl    the samples of the first window's first attempt
    traces/00000-2.jsonl    of its second

A part holds records with unique keys in whatever order they came. Memory holds one part.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from riftk.files import cut_torn_line

Record = dict[str, Any]


def part_path(folder: Path, window: int, attempt: int) -> Path:
    """The file of a window's attempt (counted from 1)."""
    return folder / f"{window:05d}-{attempt}.jsonl"


class Part:
    """One part, open for reading what is there and for adding the rest.

    Args:
        path: the file; made if it is missing. A last line that was cut off by a kill is dropped.
        is_void: records that do not count, e.g. of a server that failed: what they stand for is done again.
    """

    def __init__(self, path: Path, is_void: Callable[[Record], bool] = lambda record: False) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._out = open(path, "a+b")  # noqa: SIM115 - closed by `__exit__`
        cut_torn_line(self._out)
        self.records = {key: record for key, record in read_part(path).items() if not is_void(record)}

    def append(self, record: Mapping[str, Any]) -> None:
        """Write one record; after a kill it is whole or not there. `records` holds what was there before."""
        line = json.dumps(record, ensure_ascii=False).encode("utf-8", "surrogatepass")
        self._out.write(line + b"\n")
        self._out.flush()

    def __enter__(self) -> Part:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._out.close()


def read_part(path: Path) -> dict[str, Record]:
    """The records of a part by key; of two with one key the later counts. No file, no records."""
    if not path.exists():
        return {}
    with open(path, "rb") as lines:
        return {record["key"]: record for record in map(json.loads, lines)}
