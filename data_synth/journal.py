"""An append-only JSONL file that a killed run left behind is read on from where it stopped."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from .errors import SynthesisError

_BLOCK = 1 << 16


class Journal:
    """Records in the order of the work, each with a unique `key`.

    Work is done in batches of keys, one after the other. `take` returns what is already there of the next
    batch, `append` adds the rest. Memory holds one batch.

    Args:
        path: the file; made if it is missing. A last line that was cut off by a kill is dropped.
    """

    def __init__(self, path: Path):
        self.path = path
        self._out = open(path, "ab")  # noqa: SIM115 - closed by `close`
        _drop_torn_line(path)
        self._in = open(path, "rb")  # noqa: SIM115 - closed by `close`

    def take(self, keys: set[str]) -> dict[str, dict[str, Any]]:
        """The stored records of the next batch, by key.

        Raises:
            SynthesisError: a record of other work is in the way, so that the file is of another run.
        """
        found: dict[str, dict[str, Any]] = {}
        while len(found) < len(keys):
            line = self._in.readline()
            if not line:
                break
            record = json.loads(line)
            if record["key"] not in keys or record["key"] in found:
                raise SynthesisError(
                    f"{self.path} holds {record['key']} where it should not; delete the folder"
                )
            found[record["key"]] = record
        return found

    def append(self, record: Mapping[str, Any]) -> None:
        """Write one record of the batch that was taken last; after a kill it is whole or not there."""
        line = json.dumps(record, ensure_ascii=False).encode("utf-8", "surrogatepass")
        self._out.write(line + b"\n")
        self._out.flush()
        self._in.seek(0, os.SEEK_END)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """All records, from the beginning."""
        with open(self.path, "rb") as lines:
            for line in lines:
                yield json.loads(line)

    def __enter__(self) -> Journal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._in.close()
        self._out.close()


def _drop_torn_line(path: Path) -> None:
    """Cut the file off after its last line end."""
    with open(path, "r+b") as file:
        end = file.seek(0, os.SEEK_END)
        while end > 0:
            start = max(end - _BLOCK, 0)
            file.seek(start)
            place = file.read(end - start).rfind(b"\n")
            if place >= 0:
                file.truncate(start + place + 1)
                return
            end = start
        file.truncate(0)
