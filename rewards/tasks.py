"""What a row of the training data asks for, and reading it from the columns that trainers pass."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from riftk.constraints import Constraint, ConstraintError, parse_constraint
from riftk.constraints.published import RULEBOOKS
from riftk.grading import ANSWER_TYPES
from riftk.rows import RowError

COLUMNS = ("constraints", "answer", "answer_type", "rules", "reference_length", "target_length")


@dataclass(frozen=True)
class Task:
    """One row: what a completion must follow and what its answer must be.

    Args:
        constraints: in the order of the row; the same id may occur twice.
        answer: gold answer; "" where there is none.
        answer_type: as `riftk.grading.grade` takes it.
        reference_length: characters of the trace that the untrained model writes for this problem, for the
            guard against collapsing traces; None where unknown.
        target_length: tokens that the prompt asks for (`LengthReward`); None where it asks for none.
        rules: published rulebook of the benchmark in whose words the prompt asks; "" where it is unknown.
    """

    constraints: tuple[Constraint, ...] = ()
    answer: str = ""
    answer_type: str = "math"
    reference_length: float | None = None
    target_length: float | None = None
    rules: str = ""


@lru_cache(maxsize=4096)
def _parsed(column: str) -> tuple[Constraint, ...]:
    specs = json.loads(column or "[]")
    if not isinstance(specs, list):
        raise ConstraintError(f"column `constraints` must hold a JSON list, not {column[:80]!r}")
    return tuple(parse_constraint(spec) for spec in specs)


def read_task(row: Mapping[str, Any]) -> Task:
    """Read a row: `constraints` (JSON string or list), `answer`, `answer_type`, `rules` and the two lengths.

    Raises:
        RowError: constraints that are not JSON or not known, an answer type that does not exist.
    """
    constraints = row.get("constraints")
    try:
        if constraints is None or isinstance(constraints, str):
            parsed = _parsed(constraints or "")
        else:
            parsed = tuple(parse_constraint(spec) for spec in constraints)
    except (ValueError, TypeError) as error:
        raise RowError(f"constraints cannot be read: {error}") from error
    answer_type = row.get("answer_type") or "math"
    if answer_type not in ANSWER_TYPES:
        raise RowError(f"answer_type {answer_type!r} is none of {', '.join(ANSWER_TYPES)}")
    rules = row.get("rules") or ""
    if rules and rules not in RULEBOOKS:
        raise RowError(f"rules {rules!r} is none of {', '.join(RULEBOOKS)}")
    answer = row.get("answer")
    return Task(
        parsed,
        "" if answer is None else str(answer),
        answer_type,
        _length(row, "reference_length"),
        _length(row, "target_length"),
        rules,
    )


def _length(row: Mapping[str, Any], column: str) -> float | None:
    value = row.get(column)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
        raise RowError(f"{column} must be a positive number or null, not {value!r}")
    return float(value)


def rows_of_columns(count: int, columns: Mapping[str, Any], required: Iterable[str]) -> list[dict[str, Any]]:
    """The rows of a batch from the columns that trl passes as keyword arguments, one entry per completion.

    Raises:
        RowError: a required column is missing, or a column has not one entry per completion.
    """
    for name in required:
        if columns.get(name) is None:
            raise RowError(
                f"column {name!r} is missing; `riftk rows` makes data sets that have it (known columns: "
                f"{', '.join(COLUMNS)})"
            )
    given = {name: columns[name] for name in COLUMNS if columns.get(name) is not None}
    for name, values in given.items():
        if isinstance(values, str) or len(values) != count:
            raise RowError(f"column {name!r} has not one entry for each of the {count} completions")
    return [{name: values[place] for name, values in given.items()} for place in range(count)]
