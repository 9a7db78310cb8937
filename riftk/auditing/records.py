"""Rows of a JSONL or Parquet file one after another, in constant memory; a bad row does not end the file."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from riftk.rows import RowError

ROWS_AT_ONCE = 64  # of a Parquet file; traces are long
_PARQUET_MAGIC = b"PAR1"

Record = Mapping[str, Any]


def read_records(path: Path | None = None) -> Iterator[tuple[str, Record | RowError]]:
    """Yield (name of the row, the row or what is wrong with it); None reads JSONL from standard input.

    Raises:
        FileNotFoundError: no such file.
        ValueError: a Parquet file that cannot be read, or no pyarrow to read it with.
    """
    if path is None:
        yield from _json_lines(sys.stdin.buffer, "line")
        return
    if not path.is_file():
        raise FileNotFoundError(f"{path} does not exist; give a JSONL or Parquet file")
    with open(path, "rb") as file:
        if file.read(len(_PARQUET_MAGIC)) == _PARQUET_MAGIC:
            yield from _parquet_rows(path)
            return
        file.seek(0)
        yield from _json_lines(file, f"{path}, line")


def _json_lines(lines: Iterable[bytes], where: str) -> Iterator[tuple[str, Record | RowError]]:
    for number, line in enumerate(lines, 1):
        if line.strip():
            yield f"{where} {number}", _json_object(line)


def _json_object(line: bytes) -> Record | RowError:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:  # not JSON, not UTF-8, or nested too deeply
        return RowError(f"not JSON ({error})")
    if not isinstance(value, dict):
        return RowError(f"expected a JSON object, found {type(value).__name__}")
    return value


def _parquet_rows(path: Path) -> Iterator[tuple[str, Record]]:
    try:
        from pyarrow import ArrowException
        from pyarrow.parquet import ParquetFile
    except ModuleNotFoundError as error:
        raise ValueError(
            f"{path} is Parquet, which needs pyarrow: pip install pyarrow (it comes with 'riftk[train]')"
        ) from error
    try:
        number = 0
        for batch in ParquetFile(path).iter_batches(batch_size=ROWS_AT_ONCE):
            for record in batch.to_pylist():
                number += 1
                yield f"{path}, row {number}", record
    except ArrowException as error:
        raise ValueError(f"{path} cannot be read as Parquet: {error}") from error
