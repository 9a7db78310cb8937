"""Files that a kill leaves usable: whole or not there, and never with half a last line."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

# A lone surrogate, which UTF-8 has no bytes for, is written as the JSON escape that it reads back from.
SURROGATES = "backslashreplace"
_BLOCK = 1 << 16


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A file beside `path` to write to, which takes its place when the block ends without an exception."""
    part = path.with_name(path.name + ".part")
    yield part
    part.replace(path)


def write_text(path: Path, text: str) -> None:
    """Write a text file; it appears only when it is complete."""
    with replacing(path) as part:
        part.write_text(text, encoding="utf-8", errors=SURROGATES)


def write_json(path: Path, data: Mapping[str, Any]) -> None:
    """Write a JSON file for people to read too; it appears only when it is complete."""
    write_text(path, json.dumps(data, ensure_ascii=False, indent=1) + "\n")


def cut_torn_line(file: IO[bytes]) -> None:
    """Cut off what stands behind the last line end of a file that is open for reading and writing."""
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
