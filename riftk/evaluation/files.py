"""The samples files of an evaluation: appended to line by line, put in order when they are complete."""

from __future__ import annotations

import fcntl
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from riftk.rows import read_jsonl


def write_sample(samples: IO[str], sample: Mapping[str, Any]) -> None:
    samples.write(json.dumps(sample, ensure_ascii=False) + "\n")
    samples.flush()


def sample_key(item_id: str, sample: int) -> str:
    return f"{item_id}#{sample}"


@contextmanager
def appending(path: Path, drop: Callable[[Mapping[str, Any]], bool] | None = None) -> Iterator[IO[str]]:
    """Open a JSONL file for appending behind its last whole line, for this process alone.

    Args:
        path: the file.
        drop: records to take out of it first.
    """
    path.touch()
    with open(path, "r+b") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ValueError(f"another process is writing {path}; wait for it") from None
        end = file.seek(0, 2)
        while end and not _is_line_end(file, end):
            end -= 1
        file.truncate(end)
        if drop is not None:
            _rewrite(path, (line for line in _lines(path) if not drop(json.loads(line))))
        # A lone surrogate, which UTF-8 has no bytes for, is written as the JSON escape it reads back from.
        with open(path, "a", encoding="utf-8", errors="backslashreplace") as lines:
            yield lines


def put_in_order(path: Path) -> None:
    """Sort the lines of a samples file by item and sample. Only their places are held in memory."""
    places, offset = [], 0
    for line in _lines(path):
        sample = json.loads(line)
        places.append((sample["doc_id"], sample["sample"], offset))
        offset += len(line)
    in_order = sorted(places)
    if in_order == places:
        return
    with open(path, "rb") as file:

        def line_at(offset: int) -> bytes:
            file.seek(offset)
            return file.readline()

        _rewrite(path, (line_at(offset) for _, _, offset in in_order))


def once(path: Path, expected: int) -> Iterator[dict[str, Any]]:
    """The samples of a finished file; each item's each sample just once."""
    seen: set[str] = set()
    for sample in read_jsonl(path) if path.is_file() else ():
        key = sample_key(sample["item_id"], sample["sample"])
        if key in seen:
            raise ValueError(f"{path} holds {key} twice; delete one of the two lines")
        seen.add(key)
        yield sample
    if len(seen) != expected:
        raise ValueError(f"{path} holds {len(seen)} of {expected} samples; run the same command again")


def counting(samples: Iterable[dict[str, Any]], usage: dict[str, int]) -> Iterator[dict[str, Any]]:
    """Pass samples on and add their tokens to `usage`, those of a first turn too."""
    for sample in samples:
        turns = [sample, sample["first_turn"]] if sample.get("turn") == 2 else [sample]
        for name in usage:
            usage[name] += sum(turn[name] or 0 for turn in turns)
        yield sample


def write_json(path: Path, data: Mapping[str, Any]) -> None:
    part = path.with_name(path.name + ".part")
    part.write_text(json.dumps(data, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    part.replace(path)


def _lines(path: Path) -> Iterator[bytes]:
    with open(path, "rb") as file:
        yield from file


def _rewrite(path: Path, lines: Iterable[bytes]) -> None:
    part = path.with_name(path.name + ".part")
    with open(part, "wb") as file:
        file.writelines(lines)
    part.replace(path)


def _is_line_end(file: IO[bytes], end: int) -> bool:
    file.seek(end - 1)
    return file.read(1) == b"\n"
