"""Rows: validated when they are read, and the same after a round trip."""

from __future__ import annotations

import json

import pytest

from riftk.constraints import parse_constraint
from riftk.rows import Row, RowError, read_jsonl, read_rows, write_jsonl

PROMPT = ({"role": "user", "content": "1 + 1?"},)


def row(**changes):
    comma = parse_constraint({"id": "punctuation:no_comma", "args": {}, "target": "reasoning"})
    return Row(**{"item_id": "a", "prompt": PROMPT, "answer": "2", "constraints": (comma, comma), **changes})


def test_a_row_survives_the_round_trip_with_repeated_constraints(tmp_path):
    write_jsonl(tmp_path / "rows.jsonl", [row().to_dict(), row(item_id="b", constraints=()).to_dict()])
    rows = read_rows(tmp_path / "rows.jsonl")
    assert [r.item_id for r in rows] == ["a", "b"]
    assert rows[0].constraints == row().constraints
    assert isinstance(row().to_dict()["constraints"], str)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"constraints": json.dumps([{"id": "punctuation:no_commas", "args": {}}])}, "punctuation:no_commas"),
        ({"constraints": "not json"}, "row 1"),
        ({"answer_type": "essay"}, "essay"),
    ],
)
def test_a_bad_row_names_itself(tmp_path, change, message):
    write_jsonl(tmp_path / "rows.jsonl", [{**row().to_dict(), **change}])
    with pytest.raises(RowError, match=message) as error:
        read_rows(tmp_path / "rows.jsonl")
    assert "row 1" in str(error.value)


def test_missing_column_repeated_id_and_empty_file_are_errors(tmp_path):
    path = tmp_path / "rows.jsonl"
    write_jsonl(path, [{"item_id": "a"}])
    with pytest.raises(RowError, match="'prompt' is missing"):
        read_rows(path)
    write_jsonl(path, [row().to_dict()] * 2)
    with pytest.raises(RowError, match="occurs twice"):
        read_rows(path)
    write_jsonl(path, [])
    with pytest.raises(RowError, match="no rows"):
        read_rows(path)


def test_a_torn_last_line_is_passed_over_and_a_torn_middle_line_is_not(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_text('{"a": 1}\n{"a": 2')
    assert list(read_jsonl(path)) == [{"a": 1}]
    path.write_text('{"a": 1\n{"a": 2}\n')
    with pytest.raises(RowError, match="line 1"):
        list(read_jsonl(path))
