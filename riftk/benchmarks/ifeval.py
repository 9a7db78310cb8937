"""IFEval's rows: 541 requests with up to three constraints on the response (arXiv 2311.07911)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from riftk.constraints import ConstraintError
from riftk.rows import Row, RowError, collect_rows, paired_constraints, read_jsonl


def read_ifeval_rows(path: str | Path, skip_bad: bool = False) -> list[Row]:
    """Read IFEval's file (columns `key`, `prompt`, `instruction_id_list`, `kwargs`).

    Two of the published rows, 1122 and 1129, cannot be used: they ask for "letters" `#` and `!`, for which
    the published evaluator counts a letter drawn at random (google-research/google-research#3427).

    Args:
        path: JSONL file.
        skip_bad: leave such rows out, and say so, instead of raising.

    Raises:
        RowError: see `riftk.rows.read_rows`.
    """
    return collect_rows(read_jsonl(path), _row, path, skip_bad)


def _row(record: Mapping[str, Any], where: str) -> Row:
    missing = [name for name in ("key", "prompt", "instruction_id_list", "kwargs") if name not in record]
    if missing:
        raise RowError(f"{where}: column {missing[0]!r} is missing; found {sorted(record)}")
    try:
        return Row(
            item_id=f"ifeval-{record['key']}",
            prompt=({"role": "user", "content": record["prompt"]},),
            constraints=paired_constraints(record["instruction_id_list"], record["kwargs"], "response"),
            source="ifeval",
        )
    except (ConstraintError, RowError) as error:
        raise RowError(f"{where} ({record['key']}): {error}") from error
