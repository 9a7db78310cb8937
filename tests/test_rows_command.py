"""`riftk rows`: training rows from problem files, for trl and for verl."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from riftk.cli import main
from riftk.constraints import ConstraintError, parse_constraint
from riftk.constraints.published.mathif import description
from riftk.constraints.values import MATHIF
from riftk.constraints.wrapping import MATHIF_BASE_INSTRUCTION
from riftk.data_synth import RowsConfig, SynthesisError, make_rows, write_rows
from riftk.prompts import reasonif_prompt
from riftk.rows import read_rows

PROBLEMS = "riftk.tiny.problems:training_problems"


def riftk(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "riftk.cli", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=cwd)


def config(**changes) -> RowsConfig:
    return RowsConfig(**{"problems": PROBLEMS, "num_rows": 120, "answer_type": "number", **changes})


@pytest.fixture
def problems(tmp_path) -> Path:
    """Problems with columns of their own names."""
    records = [{"problem": f"What is {n} + {n}?", "solution": str(2 * n)} for n in range(1, 31)]
    path = tmp_path / "problems.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def test_the_example_of_the_help_runs(tmp_path):
    shown = " ".join(re.sub(r"[│╭╰─╮╯]", " ", riftk("rows", "--help", cwd=tmp_path).stdout).split())
    example = shown.split("Example: riftk ")[1]
    finished = riftk(*shlex.split(example), cwd=tmp_path)
    assert finished.returncode == 0, finished.stderr
    assert "100 rows: 10 with no, 45 with 1, 45 with 2 constraints" in finished.stdout
    assert len(read_rows(tmp_path / "runs" / "rows.jsonl")) == 100
    assert not list(tmp_path.rglob("*.part"))


def test_columns_are_mapped_and_a_second_run_writes_the_same(problems, tmp_path):
    columns = ["--question-column", "problem", "--answer_column", "solution", "--num-rows", "40"]
    for name in ("one.jsonl", "two.jsonl"):
        assert (
            riftk("rows", "--problems", str(problems), *columns, "--out", name, cwd=tmp_path).returncode == 0
        )
    assert (tmp_path / "one.jsonl").read_bytes() == (tmp_path / "two.jsonl").read_bytes()
    rows = read_rows(tmp_path / "one.jsonl")
    assert len(rows) == 40  # thirty problems come round again
    assert rows[0].user_text.startswith("What is ")
    assert {row.source for row in rows} == {"problems"}
    assert all(int(row.answer) % 2 == 0 for row in rows)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--style", "essay"], "style must be mathif or reasonif"),
        (["--num-constraints", "1,x"], "takes numbers"),
        (["--num-constraints", "4"], "1 to 3"),
        (["--format", "verl"], "rows for verl are a .parquet file"),
        (["--constraints", "no:such"], "no:such is no constraint of style"),
        (["--plain-share", "2"], "plain_share must be between 0 and 1"),
        (["--question-column", "text"], "no column 'text'"),
    ],
)
def test_a_mistake_is_one_sentence(problems, tmp_path, monkeypatch, capsys, arguments, message):
    out = tmp_path / "rows.jsonl"
    given = {"--question-column": "problem", "--answer-column": "solution", "--out": str(out)}
    given |= dict(zip(arguments[::2], arguments[1::2], strict=True))
    options = [word for pair in given.items() for word in pair]
    monkeypatch.setattr(sys, "argv", ["riftk", "rows", "--problems", str(problems), *options])
    with pytest.raises(SystemExit) as exit:
        main()
    assert exit.value.code == 2
    said = capsys.readouterr().err
    assert message in said
    assert said.count("\n") == 1
    assert not out.exists()


def test_mathif_style_prompts_end_in_published_sentences():
    rows = list(make_rows(config(paraphrase_share=0.0)))
    assert Counter(len(row.constraints) for row in rows) == {0: 12, 1: 36, 2: 36, 3: 36}
    for row in rows:
        question, base, asked = row.user_text.partition(MATHIF_BASE_INSTRUCTION)
        assert question
        assert base
        assert asked == " ".join(map(description, row.constraints))
        assert all(constraint.target == "response" for constraint in row.constraints)


def test_reasonif_style_asks_one_thing_about_the_reasoning():
    rows = list(make_rows(config(style="reasonif", paraphrase_share=0.0)))
    assert Counter(len(row.constraints) for row in rows) == {0: 12, 1: 108}
    for row in rows:
        question = row.user_text.partition("Here is the question:\n\n")[2]
        sentence = row.constraints[0].instruction() if row.constraints else None
        assert row.user_text == reasonif_prompt(question, sentence)
        assert all(constraint.target == "reasoning" for constraint in row.constraints)
    assert len({c.id for row in rows for c in row.constraints}) == 6


@pytest.mark.parametrize("style", ["mathif", "reasonif"])
@pytest.mark.parametrize("target", ["reasoning", "response"])
def test_paraphrases_ask_for_the_same_about_either_target(style, target):
    rows = list(make_rows(config(style=style, target=target, paraphrase_share=1.0, plain_share=0.0)))
    for row in rows:
        assert {constraint.target for constraint in row.constraints} == {target}
        for constraint in row.constraints:
            published = (constraint.instruction(), description(constraint) if style == "mathif" else "")
            asked = [sentence for sentence in constraint.instructions() if sentence in row.user_text]
            assert asked
            assert constraint.args == {} or not set(asked) & {published[1]}


def test_the_share_of_paraphrases_is_kept():
    rows = list(make_rows(config(num_rows=400, counts=(1,), plain_share=0.0, paraphrase_share=0.25)))
    published = sum(row.user_text.endswith(description(row.constraints[0])) for row in rows)
    assert 270 < published < 330


def test_published_values_on_request():
    held_out = {c for row in make_rows(config(num_rows=300)) for c in row.constraints}
    published = {c for row in make_rows(config(num_rows=300, values="published")) for c in row.constraints}
    phrases = {c.end_phrase for c in published if c.id == "startend:end_checker"}
    assert phrases <= {"Any other questions?", "Is there anything else I can help with?"}
    words = [
        {w for c in cs if "keywords" in c.args for w in c.args["keywords"]} for cs in (held_out, published)
    ]
    assert words[1] <= set(MATHIF.keywords)
    assert not words[0] & words[1]


def test_rows_for_verl_are_parquet_with_its_columns(tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    tally = write_rows(config(num_rows=1100), tmp_path / "rows.parquet", "verl")
    assert tally.rows == 1100
    records = parquet.read_table(tmp_path / "rows.parquet").to_pylist()
    rows = list(make_rows(config(num_rows=1100)))
    assert len(records) == 1100
    assert set(records[0]) == {"data_source", "prompt", "ability", "reward_model", "extra_info"}
    for index, (record, row) in enumerate(zip(records, rows, strict=True)):
        assert record["prompt"] == [dict(message) for message in row.prompt]
        assert record["reward_model"] == {"style": "rule", "ground_truth": row.answer}
        extra = record["extra_info"]
        assert extra["index"] == index
        assert extra["answer_type"] == "number"
        assert tuple(map(parse_constraint, json.loads(extra["constraints"]))) == row.constraints


def test_problems_with_which_nothing_can_be_asked_are_counted(tmp_path):
    path = tmp_path / "pairs.jsonl"
    path.write_text('{"question": "Which?", "answer": "(1, 2)"}\n{"question": "Which?", "answer": "7"}\n')
    only = {"problems": str(path), "num_rows": 2, "counts": (1,), "plain_share": 0.0}
    tally = write_rows(config(**only, constraints=("punctuation:no_comma",)), tmp_path / "rows.jsonl")
    assert (tally.rows, tally.left_out) == (1, 1)
    assert "1 problems left out" in str(tally)
    path.write_text('{"question": "Which?", "answer": "(1, 2)"}\n')
    with pytest.raises(SynthesisError, match="not one row"):
        write_rows(config(**only, constraints=("punctuation:no_comma",)), tmp_path / "rows.jsonl")
    with pytest.raises(ConstraintError, match="no combination"):
        config(counts=(2,), constraints=("punctuation:no_comma",))


def test_a_file_that_is_there_stays_whole_when_the_problems_break_off(tmp_path):
    path, out = tmp_path / "problems.jsonl", tmp_path / "rows.jsonl"
    path.write_text('{"question": "1 + 1?", "answer": "2"}\n' * 20 + '{"question": "", "answer": "2"}\n')
    out.write_text("before")
    with pytest.raises(SynthesisError, match="record 21"):
        write_rows(config(problems=str(path), num_rows=21), out)
    assert out.read_text() == "before"
