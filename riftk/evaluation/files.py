"""The samples files of an evaluation: appended to line by line, put in order when they are complete."""

from __future__ import annotations

import fcntl
import json
import sys
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any

from riftk.files import SURROGATES, cut_torn_line, replacing
from riftk.rows import read_jsonl


def write_sample(samples: IO[str], sample: Mapping[str, Any]) -> None:
    samples.write(json.dumps(sample, ensure_ascii=False) + "\n")
    samples.flush()


def sample_key(item_id: str, sample: int) -> str:
    return f"{item_id}#{sample}"


@contextmanager
def appending(path: Path, again: Callable[[Mapping[str, Any]], bool] | None = None) -> Iterator[IO[str]]:
    """Open a samples file for appending behind its last whole line, for this process alone.

    Args:
        path: the file.
        again: which of its samples are to be made again, and taken out of it first.
    """
    path.touch()
    with ExitStack() as stack:
        cut_torn_line(stack.enter_context(_locked(path)))
        if again is not None and (count := sum(again(json.loads(line)) for line in _lines(path))):
            print(f"{path.name}: {count} samples are made again", file=sys.stderr)
            _rewrite(path, (line for line in _lines(path) if not again(json.loads(line))))
            stack.enter_context(_locked(path))  # it is another file now
        yield stack.enter_context(open(path, "a", encoding="utf-8", errors=SURROGATES))


def put_in_order(path: Path) -> None:
    """Sort the lines of a samples file by item and sample. Only three numbers a line are held in memory."""
    items, samples, offsets = array("q"), array("q"), array("q")
    offset, in_order, last = 0, True, (-1, -1)
    for line in _lines(path):
        sample = json.loads(line)
        place = (sample["doc_id"], sample["sample"])
        in_order, last = in_order and place >= last, place
        for column, value in zip((items, samples, offsets), (*place, offset), strict=True):
            column.append(value)
        offset += len(line)
    if in_order:
        return
    with open(path, "rb") as file:

        def line_at(offset: int) -> bytes:
            file.seek(offset)
            return file.readline()

        order = sorted(range(len(items)), key=lambda line: (items[line], samples[line]))
        _rewrite(path, (line_at(offsets[line]) for line in order))


def once(path: Path, expected: int) -> Iterator[dict[str, Any]]:
    """The samples of a finished file; each item's each sample just once."""
    seen: dict[str, int] = {}  # the samples of an item as bits
    count = 0
    for sample in read_jsonl(path) if path.is_file() else ():
        item, bit = sample["item_id"], 1 << sample["sample"]
        if seen.get(item, 0) & bit:
            key = sample_key(item, sample["sample"])
            raise ValueError(f"{path} holds {key} twice; delete one of the two lines")
        seen[item] = seen.get(item, 0) | bit
        count += 1
        yield sample
    if count != expected:
        raise ValueError(f"{path} holds {count} of {expected} samples; run the same command again")


def counting(samples: Iterable[dict[str, Any]], usage: dict[str, int]) -> Iterator[dict[str, Any]]:
    """Pass samples on and add their tokens to `usage`, those of a first turn too."""
    for sample in samples:
        turns = [sample, sample["first_turn"]] if sample.get("turn") == 2 else [sample]
        for name in usage:
            usage[name] += sum(turn[name] or 0 for turn in turns)
        yield sample


def _lines(path: Path) -> Iterator[bytes]:
    with open(path, "rb") as file:
        yield from file


def _rewrite(path: Path, lines: Iterable[bytes]) -> None:
    with replacing(path) as part, open(part, "wb") as file:
        file.writelines(lines)


@contextmanager
def _locked(path: Path) -> Iterator[IO[bytes]]:
    """Hold a file that no other process has open for appending. Raises `ValueError` where one has."""
    with open(path, "r+b") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ValueError(f"another process is writing {path}; wait for it") from None
        yield file
