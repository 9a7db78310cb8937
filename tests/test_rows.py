"""Rows: validated when they are read, and the same after a round trip."""

from __future__ import annotations

import json
import random
from collections import Counter
from hashlib import sha256

import pytest

from riftk.benchmarks import load_benchmark
from riftk.benchmarks.ifeval import read_ifeval_rows
from riftk.benchmarks.mathif import read_mathif_rows
from riftk.constraints import ConstraintError, parse_constraint
from riftk.constraints.compose import STYLES, compose
from riftk.constraints.sentences import disagreements
from riftk.prompts import mathif_prompt
from riftk.rows import Row, RowError, read_jsonl, read_rows, row_problems, write_jsonl

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
        ({"constraints": False}, "must be a list, not False"),
        ({"constraints": {}}, "must be a list, not {}"),
        ({"constraints": "[" * 100_000}, "not JSON"),
        ({"answer_type": "essay"}, "essay"),
        ({"answer": ["4"]}, "answer must be"),
        ({"item_id": None}, "item_id must be"),
        ({"prompt": []}, "prompt must be"),
        ({"prompt": [{"role": "user", "content": None}]}, "prompt must be"),
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


# ------------------------------------------------------------------ sentences and arguments that disagree

COUNT = {"id": "keywords:frequency", "args": {"keyword": "now", "frequency": 3, "relation": "at least"}}
TRACE_WORDS = {
    "id": "length_constraint_checkers:number_words",
    "args": {"num_words": 80},
    "target": "reasoning",
}
ANSWER_WORDS = {"id": "length_constraints:number_words", "args": {"num_words": 80, "relation": "less than"}}


def asking(prompt: str, *specs: dict) -> dict:
    content = {"role": "user", "content": prompt}
    return {"item_id": "a", "prompt": [content], "answer": "2", "constraints": json.dumps(specs)}


@pytest.mark.parametrize(
    ("sentence", "spec", "message"),
    [
        ('In your response, the word "now" should appear at least 4 times.', COUNT, "at least 4"),
        ('In your response, the word "now" should appear less than 3 times.', COUNT, "less than 3"),
        ('In your response, the word "then" should appear at least 3 times.', COUNT, "then"),
        ('Your answer should contain the word "now" at least 5 times.', COUNT, "at least 5"),
        ("**When reasoning, respond with less than 392 words.**", TRACE_WORDS, "392"),
        ("Write at least 80 words when reasoning.", TRACE_WORDS, "at least 80"),
        (
            "When reasoning, respond only in French language, no other language is allowed.",
            {"id": "language:reasoning_language", "args": {"language": "ru"}},
            "French",
        ),
        (
            'When reasoning, finish your response with this exact phrase "THE END". '
            "No other reasoning words should follow this phrase.",
            {"id": "startend:end_checker", "args": {"end_phrase": "The End"}, "target": "reasoning"},
            "THE END",
        ),
        (
            "Include keywords \"['now', 'same']\" in the response.",
            {"id": "keywords:existence", "args": {"keywords": ["now", "must"]}},
            "same",
        ),
        (
            "At the end of your response, please explicitly add a postscript starting with P.S.",
            {"id": "detectable_content:postscript", "args": {"postscript_marker": "P.P.S"}},
            "P.S.",
        ),
        (
            "First repeat the request word for word without change.",
            {"id": "combination:repeat_prompt", "args": {"prompt_to_repeat": "2 + 2?"}},
            "request to repeat",
        ),
    ],
)
def test_a_sentence_that_disagrees_with_the_arguments_is_refused(tmp_path, sentence, spec, message):
    write_jsonl(tmp_path / "rows.jsonl", [asking(f"1 + 1? {sentence}", spec)])
    with pytest.raises(RowError, match=message) as error:
        read_rows(tmp_path / "rows.jsonl")
    assert "row 1: a: " in str(error.value)


@pytest.mark.parametrize(
    ("sentence", "specs"),
    [
        ("Say now three times or more.", [COUNT]),  # in words of its own
        ('In your response, the word "NOW" should appear at least 3 times.', [COUNT]),
        ('In your response, the word "now" should appear more than 2 times.', [COUNT]),
        ("Answer with no more than 79 words.", [ANSWER_WORDS]),
        (
            "Include keywords same, and now in the response.",
            [{"id": "keywords:existence", "args": {"keywords": ["now", "same"]}}],
        ),
        (
            'In your response, the word "then" should appear less than 2 times. '
            'In your response, the word "now" should appear at least 3 times.',
            [COUNT, {**COUNT, "args": {"keyword": "then", "frequency": 2, "relation": "less than"}}],
        ),
        (  # the question talks like an instruction, and the instruction is there as well
            "When reasoning, respond with less than 5 words. "
            "When reasoning, respond with less than 80 words.",
            [TRACE_WORDS],
        ),
    ],
)
def test_other_words_for_the_same_are_no_disagreement(sentence, specs):
    assert len(Row.from_dict(asking(f"1 + 1? {sentence}", *specs)).constraints) == len(specs)


def test_of_two_constraints_of_one_id_each_needs_its_own_sentence():
    other = {**COUNT, "args": {"keyword": "then", "frequency": 2, "relation": "at least"}}
    sentences = 'the word "now" should appear at least 3 times. In your response, the word "so" should appear'
    with pytest.raises(RowError, match='word "so"'):
        Row.from_dict(asking(f"1 + 1? In your response, {sentences} at least 2 times.", COUNT, other))


@pytest.mark.parametrize("constraints", ["5", '{"id": "punctuation:no_comma"}', '["punctuation:no_comma"]'])
def test_constraints_that_are_no_list_of_constraints_name_the_row(constraints):
    with pytest.raises(RowError, match=r"row 7 \(a\)"):
        Row.from_dict({**row().to_dict(), "constraints": constraints}, where="row 7")


def test_an_answer_of_zero_is_an_answer():
    assert Row.from_dict({**row().to_dict(), "answer": 0}).answer == "0"


# -------------------------------------------------------------------------- problems, and published files


def test_rows_that_nobody_can_follow_are_reported_and_kept(tmp_path, capsys):
    request = "Take 2, 3 and 4."
    repeat = {"id": "combination:repeat_prompt", "args": {"prompt_to_repeat": request}}
    comma = {"id": "punctuation:no_comma", "args": None}
    capital = {"id": "change_case:english_capital", "args": None}
    records = [
        {**asking(request, repeat, comma), "item_id": "repeat"},
        {**asking(r"1 + 1? Put it in \boxed{}.", capital), "item_id": "capital"},
        {**asking("Where is it?", comma), "item_id": "pair", "answer": "(1, 2)"},
        {**asking("1 + 1?", comma), "item_id": "fine"},
    ]
    write_jsonl(tmp_path / "rows.jsonl", records)
    rows = read_rows(tmp_path / "rows.jsonl")
    assert [[problem.kind for problem in row_problems(row)] for row in rows] == [
        ["unsatisfiable"],
        ["prompt"],
        ["answer"],
        [],
    ]
    printed = capsys.readouterr().err
    assert printed.count("\n") == 1
    for text in ("1 rows that no text can satisfy (repeat)", "(capital)", "(pair)"):
        assert text in printed


def test_bad_rows_are_all_named_and_left_out_only_when_told_so(tmp_path, capsys):
    bad = {**row(item_id="b").to_dict(), "answer_type": "essay"}
    unknown = {**row(item_id="c").to_dict(), "constraints": '[{"id": "no:such"}]'}
    write_jsonl(tmp_path / "rows.jsonl", [row().to_dict(), bad, unknown])
    with pytest.raises(RowError, match="2 of 3 rows") as error:
        read_rows(tmp_path / "rows.jsonl")
    assert "row 2: b" in str(error.value)
    assert "row 3 (c)" in str(error.value)
    assert [r.item_id for r in read_rows(tmp_path / "rows.jsonl", skip_bad=True)] == ["a"]
    assert "left out" in capsys.readouterr().err


def test_mathif_s_420_rows(benchmark_file, capsys):
    rows = read_mathif_rows(benchmark_file("mathif.jsonl"))
    assert len({row.item_id for row in rows}) == 420
    assert [len(row.constraints) for row in rows].count(2) == 140
    assert sum(len({c.id for c in row.constraints}) < len(row.constraints) for row in rows) == 14
    prompts = "\x1e".join(row.user_text for row in rows)
    assert sha256(prompts.encode()).hexdigest().startswith("2c4923de11f0f775")
    assert Counter(row.source for row in rows) == {
        "gsm8k": 90,
        "math500": 90,
        "minerva": 90,
        "olympiad": 90,
        "aime": 60,
    }
    kinds = Counter(problem.kind for row in rows for problem in row_problems(row))
    assert kinds == {"unsatisfiable": 4, "prompt": 27, "answer": 2}
    assert "4 rows that no text can satisfy" in capsys.readouterr().err


def test_every_changed_argument_of_mathif_is_found_out(benchmark_file):
    """Each argument of each row is changed alone; the sentence, which stays, contradicts it."""
    changed = 0
    for record in read_jsonl(benchmark_file("mathif.jsonl")):
        prompt = mathif_prompt(record["question"], record["constraint_desc"])
        specs = [
            {"id": id, "args": args}
            for id, args in zip(record["constraint_name"], record["constraint_args"], strict=True)
        ]
        for place, spec in enumerate(specs):
            for name, value in (spec["args"] or {}).items():
                wrong = {**spec, "args": {**spec["args"], name: _another(name, value)}}
                constraints = [parse_constraint(s) for s in (*specs[:place], wrong, *specs[place + 1 :])]
                assert disagreements(constraints, prompt), (record["id"], wrong)
                changed += 1
    assert changed == 985


def _another(name: str, value: object) -> object:
    if isinstance(value, int):
        return value + 1
    if "relation" in name:
        return "less than" if value == "at least" else "at least"
    if isinstance(value, list):
        return [value[0], "zebra"]
    return "fr" if name == "language" else f"{value} zebra"


def test_ifeval_s_two_rows_with_letters_that_are_none(benchmark_file):
    path = benchmark_file("ifeval.jsonl")
    with pytest.raises(RowError, match="2 of 541 rows") as error:
        read_ifeval_rows(path)
    assert "(1122)" in str(error.value)
    assert "(1129)" in str(error.value)
    rows = read_ifeval_rows(path, skip_bad=True)
    assert len(rows) == 539
    assert "ifeval-1122" not in {row.item_id for row in rows}


def test_reasonif_s_300_rows_agree_with_their_prompts(benchmark_file):
    benchmark = load_benchmark("reasonif", data_dir=benchmark_file("reasonif.jsonl").parent, limits="dataset")
    assert len(benchmark.rows) == 900
    assert not any(row_problems(row) for row in benchmark.rows if row.constraints[:1] != ())


@pytest.mark.parametrize("style", STYLES)
def test_whatever_riftk_asks_agrees_with_its_arguments_and_with_no_others(style):
    """All wordings, alone and beside those of other constraints, about either target."""
    for seed in range(150):
        draws = random.Random(seed)
        target = draws.choice(["reasoning", "response"])
        constraints = compose(1 + seed % 3, draws, style=style, target=target, question="What is 2 + 3?")
        sentences = [draws.choice(constraint.instructions()) for constraint in constraints]
        prompt = f"What is 2 + 3? **{' '.join(sentences)}**\n\nGo on."
        assert disagreements(constraints, prompt) == []
        for constraint in constraints:
            for name, value in constraint.args.items():
                changed = {**constraint.args, name: "q" if name == "letter" else _another(name, value)}
                if name == "language":
                    changed = {"language": "ru" if value == "hi" else "hi"}
                if name == "first_word":
                    changed = {**constraint.args, name: "zebra"}
                try:
                    wrong = parse_constraint({**constraint.to_dict(), "args": changed})
                except ConstraintError:  # a first word beyond the last paragraph
                    continue
                others = [wrong if c is constraint else c for c in constraints]
                assert disagreements(others, prompt), (wrong, prompt)
