"""Benchmarks: the registry, options in names, proportional limits."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from riftk.benchmarks import Benchmark, load_benchmark, stratified, stratified_questions, takes_limits
from riftk.constraints import parse_constraint
from riftk.rows import Row, write_jsonl


def test_unknown_benchmarks_are_named_with_the_known_ones(tmp_path):
    with pytest.raises(
        ValueError, match=r"unknown benchmark 'reasonIf'; there are: aime24, .* reasonif, tiny"
    ):
        load_benchmark("reasonIf")
    with pytest.raises(ValueError, match="no_such_module"):
        load_benchmark("no_such_module:load")
    with pytest.raises(ValueError, match="limit must be at least 1"):
        load_benchmark("reasonif", limit=0)
    with pytest.raises(FileNotFoundError, match=r"rows\.jsonl does not exist"):
        load_benchmark(str(tmp_path / "rows.jsonl"))


def test_a_file_of_rows_is_a_benchmark(tmp_path):
    row = Row("a", ({"role": "user", "content": "1 + 1?"},), "2", "number")
    write_jsonl(tmp_path / "mine.jsonl", [row.to_dict()])
    benchmark = load_benchmark(str(tmp_path / "mine.jsonl"), rules="reasonif")
    assert benchmark.rows == (row,)
    assert (benchmark.name, benchmark.rulebooks) == ("mine", ("reasonif", "robust"))
    assert load_benchmark(str(tmp_path / "mine.jsonl")).rulebooks == ("robust",)


def test_item_ids_are_unique_and_rows_are_hashed():
    row = Row("a", (), "2")
    with pytest.raises(ValueError, match="not unique"):
        Benchmark("x", (row, row))
    with pytest.raises(ValueError, match="no items"):
        Benchmark("x", ())
    assert Benchmark("x", (row,)).items_sha == Benchmark("y", (Row("a", (), "2"),)).items_sha
    assert Benchmark("x", (row,)).items_sha != Benchmark("x", (Row("a", (), "3"),)).items_sha


def test_a_limit_keeps_the_proportions_and_does_not_follow_the_file():
    comma = parse_constraint({"id": "punctuation:no_comma", "target": "reasoning"})
    capital = parse_constraint({"id": "change_case:english_capital", "target": "response"})
    rows = [
        Row(f"{kind}-{number}", (), "1", constraints=constraints)
        for kind, constraints, size in (("a", (comma,), 50), ("b", (capital,), 30), ("c", (), 20))
        for number in range(size)
    ]
    chosen = stratified(rows, 20)
    assert Counter(row.item_id[0] for row in chosen) == {"a": 10, "b": 6, "c": 4}
    assert list(chosen) == [row for row in rows if row in chosen]  # the order stays
    shuffled = random.Random(0).sample(rows, len(rows))
    assert set(stratified(shuffled, 20)) == set(chosen)
    assert stratified(rows, None) == stratified(rows, 1000) == tuple(rows)
    assert len(stratified(rows, 1)) == 1
    assert [row.item_id for row in chosen[:10]] != [f"a-{number}" for number in range(10)]


def test_options_stand_behind_the_name_and_in_the_name_of_the_task(tmp_path):
    row = Row("a", ({"role": "user", "content": "1 + 1?"},), "2", "number")
    path = tmp_path / "mine.jsonl"
    write_jsonl(path, [row.to_dict()])
    benchmark = load_benchmark(f"{path}:rules=mathif")
    assert (benchmark.name, benchmark.rulebooks) == ("mine-rules-mathif", ("mathif", "robust"))
    assert load_benchmark("tiny:plain=3:instructed=2").name == "tiny-plain-3-instructed-2"
    assert len(load_benchmark("riftk.tiny.benchmark:load:plain=3:instructed=2").rows) == 7
    with pytest.raises(ValueError, match=r"'tiny:colour=red' takes .*; not colour"):
        load_benchmark("tiny:colour=red")
    assert takes_limits("reasonif:response")
    assert not takes_limits("mathif")
    assert not takes_limits(str(path))


def test_forms_of_a_question_are_drawn_together():
    questions = [[Row(f"{n}-{form}", (), "1") for form in ("asked", "plain")] for n in range(20)]
    rows = stratified_questions(questions, 10)
    assert Counter(row.item_id.rpartition("-")[0] for row in rows).most_common()[-1][1] == 2
    assert len(stratified_questions(questions, 7)) == 7
    assert len(stratified_questions(questions, None)) == 40


def test_ceilings_are_what_contradictions_leave():
    comma = parse_constraint({"id": "punctuation:no_comma"})
    repeat = parse_constraint(
        {"id": "combination:repeat_prompt", "args": {"prompt_to_repeat": "Add 1, 2 and 3."}}
    )
    prompt = ({"role": "user", "content": "Add 1, 2 and 3."},)
    rows = (
        Row("a", prompt, constraints=(comma, repeat)),
        Row("b", prompt, constraints=(comma,)),
        Row("c", prompt),
    )
    assert Benchmark("x", rows).ceilings == {"hacc": 0.5, "sacc": 0.75}
    assert Benchmark("x", rows[1:]).ceilings == {}
