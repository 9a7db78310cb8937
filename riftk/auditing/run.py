"""Checking a file row by row: verdicts out as JSONL, failures shown, everything tallied."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import IO

from riftk.rows import RowError

from .audit import Audit, Judged, judge
from .layouts import Reader
from .records import Record, read_records

_REPORTED = 5  # bad rows that are printed; all are counted


def check_file(
    path: Path | None,
    reader: Reader,
    rules: Sequence[str],
    *,
    out: Path | None = None,
    to_stdout: bool = False,
    failure: Callable[[str, Judged], None] | None = None,
    skip_bad_rows: bool = False,
) -> Audit:
    """Judge every row of a file, in memory that does not grow with it.

    Args:
        path: JSONL or Parquet; None reads JSONL from standard input.
        reader: how rows are read.
        rules: rulebooks, see `judge`.
        out: file for the rows with their `verdicts`, as JSONL.
        to_stdout: write them to standard output, where there is no `out`.
        failure: called with the row's name and each verdict that is not followed.
        skip_bad_rows: count a row that cannot be judged, report it on standard error and go on.

    Raises:
        RowError: a row that cannot be judged, by name; or no row at all that can.
        FileNotFoundError, ValueError: the file cannot be read, or is also the one to be written.
    """
    if path and out and out.exists() and out.samefile(path):
        raise ValueError(f"{out} is the file that is read; give --out another name")
    audit = Audit()
    with _sink(out, to_stdout) as lines:
        for where, record in read_records(path):
            try:
                judged = _judge_record(where, record, reader, rules, audit)
            except ValueError as error:
                if not skip_bad_rows:
                    raise RowError(f"{where}: {error}") from error
                audit.skipped += 1
                if audit.skipped <= _REPORTED:
                    print(f"riftk: left out, {where}: {error}", file=sys.stderr)
                continue
            if lines is not None:
                verdicts = [one.to_dict() for one in judged]
                line = json.dumps({**record, "verdicts": verdicts}, ensure_ascii=False, default=str)
                lines.write(line + "\n")
            if failure is not None:
                for one in judged:
                    if not one.verdict.followed:
                        failure(where, one)
    if audit.skipped:
        print(f"riftk: {audit.skipped} of {audit.rows + audit.skipped} rows left out", file=sys.stderr)
    if not audit.rows:
        raise RowError(
            f"{path or 'standard input'}: {'no row can be judged' if audit.skipped else 'no rows'}"
        )
    return audit


def _judge_record(
    where: str, record: Record | RowError, reader: Reader, rules: Sequence[str], audit: Audit
) -> list[Judged]:
    if isinstance(record, RowError):
        raise record
    case = reader.case(record)
    judged = judge(case, rules)
    audit.add(case, judged, where)
    return judged


def _sink(out: Path | None, to_stdout: bool) -> AbstractContextManager[IO[str] | None]:
    """Where lines go. A lone surrogate, which UTF-8 has no bytes for, becomes its JSON escape."""
    sys.stdout.reconfigure(errors="backslashreplace")
    if out is None:
        return nullcontext(sys.stdout if to_stdout else None)
    out.parent.mkdir(parents=True, exist_ok=True)
    return open(out, "w", encoding="utf-8", errors="backslashreplace")


def constraint_specs(values: Iterable[str]) -> list[dict]:
    """Constraints from the command line: an id, or `{"id": ..., "args": {...}}` as JSON."""
    specs = []
    for value in values:
        if not value.lstrip().startswith("{"):
            specs.append({"id": value})
            continue
        try:
            specs.append(json.loads(value))
        except ValueError as error:
            raise ValueError(f"--constraint {value}: not JSON ({error})") from None
    return specs
