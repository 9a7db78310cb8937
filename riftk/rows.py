"""Rows: one problem, what is asked of the answer, and the constraints it comes with.

A row crosses every boundary of riftk (synthesis, training, evaluation) in one form. On disk it is JSONL;
`constraints` is a JSON *string*, because Arrow pads lists of dicts with nulls (huggingface/datasets#7617).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from riftk.constraints import Constraint, ConstraintError, parse_constraint

ANSWER_TYPES = ("math", "number", "choice", "label")


class RowError(ValueError):
    """A row that cannot be used; the message names the row and says what to change."""


@dataclass(frozen=True)
class Row:
    """One item to train on or to evaluate.

    Args:
        item_id: unique within its file (official ids are not always unique).
        prompt: chat messages, `[{"role": ..., "content": ...}, ...]`, instruction included.
        answer: gold answer; empty where the problem has none.
        answer_type: how `riftk.grading.grade` reads it: "math", "number", "choice" or "label".
        constraints: what the completion must follow, in order; the same id may occur twice.
        source: data set the problem comes from, e.g. "gsm8k".
    """

    item_id: str
    prompt: tuple[Mapping[str, str], ...]
    answer: str = ""
    answer_type: str = "math"
    constraints: tuple[Constraint, ...] = ()
    source: str = ""

    def to_dict(self) -> dict[str, Any]:
        return {
            "item_id": self.item_id,
            "prompt": [dict(message) for message in self.prompt],
            "answer": self.answer,
            "answer_type": self.answer_type,
            "constraints": json.dumps([c.to_dict() for c in self.constraints], ensure_ascii=False),
            "source": self.source,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], where: str = "row") -> Row:
        """Validate one row. Raises `RowError` that names `where` and the offending field."""
        if not isinstance(data, Mapping):
            raise RowError(f"{where}: expected an object with columns, found {type(data).__name__}")
        missing = [key for key in ("item_id", "prompt") if key not in data]
        if missing:
            raise RowError(f"{where}: column {missing[0]!r} is missing; found {sorted(data)}")
        prompt = data["prompt"]
        if not isinstance(prompt, list | tuple) or not all(
            isinstance(message, Mapping) and {"role", "content"} <= message.keys() for message in prompt
        ):
            raise RowError(f'{where}: prompt must be a list of messages {{"role": ..., "content": ...}}')
        constraints = data.get("constraints") or "[]"
        answer_type = data.get("answer_type") or "math"
        if answer_type not in ANSWER_TYPES:
            raise RowError(f"{where}: answer_type {answer_type!r} is none of {', '.join(ANSWER_TYPES)}")
        try:
            specs = json.loads(constraints) if isinstance(constraints, str) else constraints
            parsed = tuple(parse_constraint(spec) for spec in specs)
        except (ConstraintError, ValueError) as error:
            raise RowError(f"{where} ({data['item_id']}): {error}") from error
        return cls(
            item_id=str(data["item_id"]),
            prompt=tuple(prompt),
            answer=str(data.get("answer") or ""),
            answer_type=answer_type,
            constraints=parsed,
            source=str(data.get("source") or ""),
        )


def read_jsonl(path: Path | str) -> Iterator[dict[str, Any]]:
    """Yield the objects of a JSONL file; a last line that was cut off by a kill is passed over."""
    with open(path, encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                yield json.loads(line)
            except json.JSONDecodeError as error:
                if not line.endswith("\n"):
                    return
                raise RowError(f"{path}, line {number}: not JSON ({error})") from error


def write_jsonl(path: Path | str, records: Iterable[Mapping[str, Any]]) -> int:
    """Write records one per line and return how many; the file appears only when it is complete."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(path.name + ".part")
    count = 0
    with open(part, "w", encoding="utf-8") as out:
        for record in records:
            out.write(json.dumps(record, ensure_ascii=False) + "\n")
            count += 1
    part.replace(path)
    return count


def read_rows(path: Path | str) -> list[Row]:
    """Read and validate a row file. Raises `RowError` on a bad row, a repeated id or an empty file."""
    rows: list[Row] = []
    seen: set[str] = set()
    for number, data in enumerate(read_jsonl(path), 1):
        row = Row.from_dict(data, where=f"{path}, row {number}")
        if row.item_id in seen:
            raise RowError(f"{path}, row {number}: item_id {row.item_id!r} occurs twice; ids must be unique")
        seen.add(row.item_id)
        rows.append(row)
    if not rows:
        raise RowError(f"{path} holds no rows")
    return rows
