"""Benchmarks: the registry, proportional limits, and ReasonIF against the published file."""

from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path

import pytest

from riftk.benchmarks import Benchmark, load_benchmark, reasonif, stratified
from riftk.constraints import parse_constraint
from riftk.rows import Row, RowError, read_jsonl, write_jsonl

RECORD = {
    "source": "gsm8k",
    "hf_id": "openai/gsm8k",
    "question": "Tom has 3 apples and eats 1. How many are left?",
    "answer": " 2",
    "constraint_name": ["length_constraint_checkers:number_words"],
    "constraint_args": [{"num_words": 52, "language": None, "end_phrase": None}],
    "prompt": "Think step-by-step, and place only your final answer inside the tags `<answer>` and "
    "`</answer>`. Format your reasoning according to the following rule: **When reasoning, respond with less "
    "than 52 words.**\n\nHere is the question:\n\nTom has 3 apples and eats 1. How many are left?",
}


@pytest.fixture
def folder(tmp_path) -> Path:
    write_jsonl(tmp_path / "reasonif.jsonl", [RECORD])
    return tmp_path


@pytest.fixture
def published(benchmark_file) -> Path:
    return benchmark_file("reasonif.jsonl").parent


def test_a_question_is_asked_in_three_forms(folder):
    rows = load_benchmark("reasonif", data_dir=folder).rows
    assert [row.item_id for row in rows] == [
        f"reasonif-000-{form}" for form in ("reasoning", "response", "plain")
    ]
    reasoning, response, plain = rows
    assert reasoning.prompt[0]["content"] == RECORD["prompt"]
    assert reasoning.constraints == (
        parse_constraint(
            {"id": RECORD["constraint_name"][0], "args": {"num_words": 52}, "target": "reasoning"}
        ),
    )
    assert response.constraints[0].target == "response"
    assert "Format your response" in response.prompt[0]["content"]
    assert "respond with less than 52 words" in response.prompt[0]["content"]
    assert "reasoning" not in response.prompt[0]["content"].lower()
    assert plain.constraints == ()
    assert "rule" not in plain.prompt[0]["content"]
    assert {(row.answer, row.answer_type, row.source) for row in rows} == {("2", "number", "gsm8k")}


def test_forms_are_chosen_by_options(folder):
    def forms(**options) -> list[str]:
        rows = load_benchmark("reasonif", data_dir=folder, **options).rows
        return [row.item_id.rpartition("-")[2] for row in rows]

    assert forms(targets="reasoning", plain=False) == ["reasoning"]
    assert forms(targets=["response"]) == ["response", "plain"]
    with pytest.raises(ValueError, match=r"targets are .* not answer"):
        forms(targets="answer")
    with pytest.raises(ValueError, match=r"takes .*; not temperature"):
        forms(temperature=1)
    with pytest.raises(ValueError, match="test split only"):
        forms(split="dev")


def test_both_published_file_formats_are_the_same_data(folder, tmp_path):
    (tmp_path / "json").mkdir()
    unpadded = {**RECORD, "constraint_args": [{"num_words": 52}]}
    (tmp_path / "json" / "reasonIF_dataset.json").write_text(json.dumps([unpadded]))
    one = load_benchmark("reasonif", data_dir=folder)
    other = load_benchmark("reasonif", data_dir=tmp_path / "json")
    assert one.rows == other.rows
    assert one.details["data_sha"] == other.details["data_sha"]
    assert one.details["data"] == "not the published 300 rows"


def test_missing_data_says_what_to_do(tmp_path, monkeypatch):
    with pytest.raises(FileNotFoundError, match=r"neither reasonif\.jsonl nor reasonIF_dataset.json"):
        load_benchmark("reasonif", data_dir=tmp_path)
    monkeypatch.setattr("datasets.config.HF_HUB_OFFLINE", True)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(FileNotFoundError, match="give its folder as --data-dir"):
        load_benchmark("reasonif")
    write_jsonl(tmp_path / "reasonif.jsonl", [{k: v for k, v in RECORD.items() if k != "answer"}])
    with pytest.raises(RowError, match="row 1: column 'answer' is missing"):
        load_benchmark("reasonif", data_dir=tmp_path)
    write_jsonl(tmp_path / "reasonif.jsonl", [{**RECORD, "source": "mmlu"}])
    with pytest.raises(RowError, match="unknown source 'mmlu'"):
        load_benchmark("reasonif", data_dir=tmp_path)


def test_unknown_benchmarks_are_named_with_the_known_ones(tmp_path):
    with pytest.raises(ValueError, match="unknown benchmark 'reasonIf'; there are: reasonif, tiny"):
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


def test_published_prompts_byte_for_byte(published):
    records = list(read_jsonl(published / "reasonif.jsonl"))
    benchmark = load_benchmark("reasonif", data_dir=published, targets="reasoning", plain=False)
    assert len(benchmark.rows) == len(records) == 300
    for row, record in zip(benchmark.rows, records, strict=True):
        assert row.prompt == ({"role": "user", "content": record["prompt"]},)
        # Template and published sentence alone give the same prompt: limits can be changed by rebuilding it.
        instruction = row.constraints[0].instruction()
        assert reasonif.reasonif_prompt(record["question"], instruction) == record["prompt"]
    assert benchmark.details["data"] == "as published"


def test_published_rows_have_the_papers_counts(published):
    rows = load_benchmark("reasonif", data_dir=published).rows
    assert len(rows) == 900
    reasoning = [row for row in rows if row.item_id.endswith("-reasoning")]
    # Tables 1 and 4 of the paper (the total of Table 4 is misprinted).
    assert Counter(row.source for row in reasoning) == {
        "gsm8k": 53,
        "amc": 54,
        "aime": 61,
        "gpqa": 73,
        "arc": 59,
    }
    assert Counter(row.constraints[0].id.rpartition(":")[2] for row in reasoning) == {
        "reasoning_language": 52, "number_words": 53, "end_checker": 49, "json_format": 47,
        "english_capital": 43, "no_comma": 56,
    }  # fmt: skip
    assert {row.answer_type for row in rows if row.source in ("arc", "gpqa")} == {"choice"}
    assert {row.answer_type for row in rows if row.source in ("gsm8k", "amc", "aime")} == {"number"}


def test_every_published_gold_is_graded_correct(published):
    from riftk.grading import grade

    for row in load_benchmark("reasonif", data_dir=published, targets="reasoning", plain=False).rows:
        said = row.answer if row.answer_type == "choice" else str(int(row.answer))
        assert grade(f"<answer>{said}</answer>", row.answer, row.answer_type).correct, row.item_id
        assert not grade("<answer>-99</answer>", row.answer, row.answer_type).correct


def test_sixty_of_the_published_rows_hold_every_kind(published):
    rows = load_benchmark("reasonif", data_dir=published, limit=60).rows
    assert len(rows) == 60
    assert Counter(row.item_id.rpartition("-")[2] for row in rows) == {
        "reasoning": 20, "response": 20, "plain": 20
    }  # fmt: skip
    assert len({row.constraints[0].id for row in rows if row.constraints}) == 6
    assert {row.source for row in rows} == {"gsm8k", "amc", "aime", "gpqa", "arc"}
