"""Rows: one problem, what is asked of the answer, and the constraints it comes with.

A row crosses every boundary of riftk (synthesis, training, evaluation) in one form. On disk it is JSONL;
`constraints` is a JSON *string*, because Arrow pads lists of dicts with nulls (huggingface/datasets#7617).
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from riftk.constraints import Constraint, ConstraintError, parse_constraint
from riftk.constraints.conflicts import Conflict, conflicts
from riftk.constraints.published import RULEBOOKS
from riftk.constraints.sentences import disagreements
from riftk.files import SURROGATES, replacing

ANSWER_TYPES = ("math", "number", "choice", "label")
_BAD_ROWS_SHOWN = 10


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
        rules: published rulebook of the benchmark in whose words the prompt asks, e.g. "reasonif": rewards
            judge by it; "" leaves the choice to `riftk.constraints.published.published_rules`.

    Raises:
        RowError: an unknown answer type or rulebook, or a sentence in the prompt that asks for something else
            than the constraints say.
    """

    item_id: str
    prompt: tuple[Mapping[str, str], ...]
    answer: str = ""
    answer_type: str = "math"
    constraints: tuple[Constraint, ...] = ()
    source: str = ""
    rules: str = ""

    def __post_init__(self) -> None:
        if self.answer_type not in ANSWER_TYPES:
            raise RowError(
                f"{self.item_id}: answer_type {self.answer_type!r} is none of {', '.join(ANSWER_TYPES)}"
            )
        if self.rules and self.rules not in RULEBOOKS:
            raise RowError(f"{self.item_id}: rules {self.rules!r} is none of {', '.join(RULEBOOKS)}")
        if problems := disagreements(self.constraints, self.user_text):
            raise RowError(f"{self.item_id}: {'; '.join(problems)}")

    @property
    def user_text(self) -> str:
        """Text of the user messages."""
        return "\n".join(str(m["content"]) for m in self.prompt if m["role"] == "user")

    def to_dict(self) -> dict[str, Any]:
        return {
            "item_id": self.item_id,
            "prompt": [dict(message) for message in self.prompt],
            "answer": self.answer,
            "answer_type": self.answer_type,
            "constraints": json.dumps([c.to_dict() for c in self.constraints], ensure_ascii=False),
            "source": self.source,
            **({"rules": self.rules} if self.rules else {}),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], where: str = "row") -> Row:
        """Validate one row. Raises `RowError` that names `where`, the row's id and what is wrong."""
        if not isinstance(data, Mapping):
            raise RowError(f"{where}: expected an object with columns, found {type(data).__name__}")
        missing = [key for key in ("item_id", "prompt") if key not in data]
        if missing:
            raise RowError(f"{where}: column {missing[0]!r} is missing; found {sorted(data)}")
        item_id, prompt, answer = data["item_id"], data["prompt"], data.get("answer")
        if not isinstance(item_id, str | int) or item_id == "":
            raise RowError(f"{where}: item_id must be a text or a number, not {item_id!r}")
        if not isinstance(prompt, list | tuple) or not prompt or not all(map(_is_message, prompt)):
            demand = 'prompt must be a list of messages {"role": ..., "content": ...} that hold texts'
            raise RowError(f"{where} ({item_id}): {demand}")
        if not isinstance(answer, str | int | float | None):
            raise RowError(f"{where} ({item_id}): answer must be a text or a number, not {answer!r}")
        try:
            return cls(
                item_id=str(item_id),
                prompt=tuple(prompt),
                answer="" if answer is None else str(answer),
                answer_type=data.get("answer_type") or "math",
                constraints=_constraints(data.get("constraints")),
                source=str(data.get("source") or ""),
                rules=str(data.get("rules") or ""),
            )
        except RowError as error:
            raise RowError(f"{where}: {error}") from error
        except ValueError as error:  # constraints
            raise RowError(f"{where} ({data['item_id']}): {error}") from error


def _is_message(message: Any) -> bool:
    return isinstance(message, Mapping) and all(
        isinstance(message.get(key), str) for key in ("role", "content")
    )


def _constraints(column: Any) -> tuple[Constraint, ...]:
    """The constraints of a row: JSON, or a list of mappings; None and "" hold none."""
    if column is None or column == "":
        return ()
    try:
        specs = json.loads(column) if isinstance(column, str) else column
    except (ValueError, RecursionError) as error:
        raise ConstraintError(f"constraints are not JSON ({error})") from None
    if not isinstance(specs, list | tuple):
        raise ConstraintError(f"constraints must be a list, not {specs!r}")
    return tuple(parse_constraint(spec) for spec in specs)


def paired_constraints(ids: Any, args: Any, target: str) -> tuple[Constraint, ...]:
    """Constraints of two parallel lists, as the published files have them.

    Raises:
        RowError: no lists of one length.
        ConstraintError: see `parse_constraint`.
    """
    if not isinstance(ids, list | tuple) or not isinstance(args, list | tuple) or len(ids) != len(args):
        raise RowError(f"ids and arguments of constraints must be lists of one length, not {ids!r}, {args!r}")
    pairs = zip(ids, args, strict=True)
    return tuple(parse_constraint({"id": id, "args": values, "target": target}) for id, values in pairs)


def row_problems(row: Row) -> list[Conflict]:
    """What is wrong with a row that can be used all the same: see `riftk.constraints.conflicts`."""
    return conflicts(row.constraints, row.user_text, row.answer)


def problems_line(rows: Iterable[Row]) -> str:
    """One line about the rows with problems, with the first ids of each kind; "" where there are none."""
    ids: dict[str, dict[str, None]] = {}
    for row in rows:
        for problem in row_problems(row):
            ids.setdefault(problem.kind, {})[row.item_id] = None
    texts = {
        "unsatisfiable": "that no text can satisfy",
        "prompt": "that their own prompt works against",
        "answer": "whose answer cannot be written",
    }
    return ", ".join(
        f"{len(ids[kind])} rows {text} ({', '.join(list(ids[kind])[:3])}{', …' * (len(ids[kind]) > 3)})"
        for kind, text in texts.items()
        if kind in ids
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
    count = 0
    with replacing(path) as part, open(part, "w", encoding="utf-8", errors=SURROGATES) as out:
        for count, record in enumerate(records, 1):  # noqa: B007
            out.write(json.dumps(record, ensure_ascii=False) + "\n")
    return count


def read_rows(path: Path | str, skip_bad: bool = False) -> list[Row]:
    """Read and validate a row file; rows with problems (`row_problems`) are counted on standard error.

    Args:
        path: JSONL file of rows.
        skip_bad: leave out rows that cannot be used, and say so, instead of raising.

    Raises:
        RowError: bad rows, each named; a repeated id; no rows.
    """
    return collect_rows(read_jsonl(path), Row.from_dict, path, skip_bad)


def collect_rows(
    records: Iterable[Mapping[str, Any]],
    make: Callable[[Mapping[str, Any], str], Row],
    path: Path | str,
    skip_bad: bool = False,
) -> list[Row]:
    """Make rows of the records of a file: what `read_rows` does, for files with other columns.

    Args:
        records: objects of the file.
        make: makes a row of a record and of what to call it in errors; raises `RowError`.
        path: name of the file, for errors.
        skip_bad: see `read_rows`.
    """
    rows: dict[str, Row] = {}
    bad: list[str] = []
    for number, record in enumerate(records, 1):
        try:
            row = make(record, f"row {number}")
            if row.item_id in rows:
                raise RowError(f"row {number}: item_id {row.item_id!r} occurs twice; ids must be unique")
        except RowError as error:
            bad.append(str(error))
        else:
            rows[row.item_id] = row
    if bad:
        listed = "\n  ".join(bad[:_BAD_ROWS_SHOWN]) + "\n  …" * (len(bad) > _BAD_ROWS_SHOWN)
        found = f"{path}: {len(bad)} of {len(bad) + len(rows)} rows cannot be used:\n  {listed}"
        if not skip_bad:
            raise RowError(f"{found}\ncorrect them, or leave them out (skip_bad)")
        print(f"{found}\nthey are left out", file=sys.stderr)
    if not rows:
        raise RowError(f"{path} holds no rows")
    if line := problems_line(rows.values()):
        print(f"{path}: {line}", file=sys.stderr)
    return list(rows.values())
