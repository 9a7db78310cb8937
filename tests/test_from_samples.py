"""Stored outputs: riftk's own samples and plain files, scored as the published evaluators score them."""

from __future__ import annotations

import json
import subprocess
import sys
import tracemalloc
from dataclasses import replace
from pathlib import Path

import pytest
from scripted import COMMA, ScriptedEngine, benchmark, row, says

from riftk.benchmarks import Benchmark, load_benchmark
from riftk.constraints import parse_constraint
from riftk.engines import Sampling
from riftk.evaluation import check_errors, evaluate, score_stored
from riftk.rows import Row, RowError, read_jsonl, write_jsonl

GOLDEN = Path(__file__).parent / "golden"
SAMPLING = Sampling(temperature=1.0, top_p=0.95, max_tokens=64, seed=3)
FIGURES = ("results", "estimates", "counts", "outcomes", "paired", "correlations")


def half_right(item: str) -> str:
    return says() if int(item[1:]) % 2 == 0 else says("four, and five, make ten or so", "10")


def items(count: int) -> Benchmark:
    rows = tuple(row(f"c{n}", (COMMA, "reasoning")) for n in range(count))
    return Benchmark("items", rows, "reasonif")


def outputs(count: int) -> list[dict]:
    return [{"item_id": f"c{n}", "output": half_right(f"c{n}")} for n in range(count)]


def test_riftks_own_samples_give_the_same_results_again(tmp_path):
    before = evaluate(ScriptedEngine(half_right), benchmark(), tmp_path / "a", SAMPLING, samples_per_item=2)
    file = tmp_path / "a" / "samples_small.jsonl"
    for folder, chosen in (("alone", []), ("with", [benchmark()])):
        again = score_stored(file, chosen, tmp_path / folder)
        for name in FIGURES:
            assert again[name] == before[name], (folder, name)
        assert again["model_name"] == "scripted"
        assert again["configs"]["small"]["items_sha"] == before["configs"]["small"]["items_sha"]
    assert (tmp_path / "alone" / "samples_small.jsonl").read_bytes() == file.read_bytes()
    moved = tmp_path / "moved.jsonl"  # without the configuration beside it
    moved.write_bytes(file.read_bytes())
    assert score_stored(moved, [], tmp_path / "m")["counts"]["moved"] == before["counts"]["small"]


@pytest.mark.parametrize("kind", ["item_id", "prompt", "messages", "index", "order", "lists"])
def test_plain_files_name_their_items_in_several_ways(tmp_path, kind):
    chosen, records = items(6), []
    for number, one in enumerate(chosen.rows):
        named = {
            "item_id": {"item_id": one.item_id},
            "prompt": {"prompt": one.user_text},
            "messages": {"prompt": [dict(message) for message in one.prompt]},
            "index": {"index": number},
        }.get(kind, {})
        text = half_right(one.item_id)
        records.append({**named, "output": [text, text] if kind == "lists" else text})
    write_jsonl(tmp_path / "o.jsonl", records if kind in ("order", "lists") else records[::-1])
    results = score_stored(tmp_path / "o.jsonl", [chosen], tmp_path / "out")
    assert results["results"]["items"]["reasoning_ifs,reasonif"] == 0.5
    assert results["results"]["items"]["accuracy,robust"] == 0.5
    assert results["counts"]["items"]["samples"] == (12 if kind == "lists" else 6)
    assert ("pass@2,robust" in results["results"]["items"]) == (kind == "lists")


def test_items_without_an_output_are_errors_and_stay_in_the_denominator(tmp_path):
    write_jsonl(tmp_path / "o.jsonl", [*outputs(10)[:-1], {"item_id": "c9", "output": None}])
    results = score_stored(tmp_path / "o.jsonl", [items(11)], tmp_path / "out")
    assert results["counts"]["items"] | {"samples": 11, "errored": 2} == results["counts"]["items"]
    assert results["estimates"]["items"]["reasoning_ifs,robust"]["n"] == 11
    with pytest.raises(ValueError, match="2 of 11 samples are errors"):
        check_errors(results, 0.05)


def test_mistakes_in_a_file_are_named(tmp_path):
    def score(*records: dict, chosen: list | None = None):
        write_jsonl(tmp_path / "o.jsonl", records)
        return score_stored(tmp_path / "o.jsonl", [items(2)] if chosen is None else chosen, tmp_path / "out")

    with pytest.raises(RowError, match="line 1: there is no output; found"):
        score({"item_id": "c0", "answer": "9"})
    with pytest.raises(RowError, match="line 2: items has no item 'c7'"):
        score({"item_id": "c0", "output": "x"}, {"item_id": "c7", "output": "x"})
    with pytest.raises(RowError, match="no item with this prompt: 'What"):
        score({"prompt": "What?", "output": "x"})
    with pytest.raises(RowError, match="has 1 lines for 2 items, so that lines and items cannot be paired"):
        score({"output": "x"})
    with pytest.raises(RowError, match="an output is a text, not int"):
        score({"index": 0, "output": 5})
    with pytest.raises(ValueError, match="name the one benchmark"):
        score({"index": 0, "output": "x"}, chosen=[])
    with pytest.raises(ValueError, match="holds no outputs"):
        score()
    with pytest.raises(FileNotFoundError, match="does not exist"):
        score_stored(tmp_path / "none.jsonl", [items(2)], tmp_path / "out")
    write_jsonl(tmp_path / "o.jsonl", outputs(2))
    with pytest.raises(ValueError, match="pass@4 needs 4 samples per item; there are 1"):
        score_stored(tmp_path / "o.jsonl", [items(2)], tmp_path / "out", pass_at=[4])
    evaluate(ScriptedEngine(half_right), items(2), tmp_path / "run", SAMPLING)
    with pytest.raises(ValueError, match="holds another evaluation"):
        score_stored(tmp_path / "o.jsonl", [items(2)], tmp_path / "run")


def test_any_text_survives(tmp_path):
    odd = "<think>lone \ud800 surrogate \u2028 and \x00</think>数 <answer>9</answer>"
    (tmp_path / "o.jsonl").write_text(json.dumps({"item_id": "c0", "output": odd}) + "\n")
    score_stored(tmp_path / "o.jsonl", [items(1)], tmp_path / "out")
    [sample] = read_jsonl(tmp_path / "out" / "samples_items.jsonl")
    assert sample["resps"] == [[odd]]


@pytest.mark.parametrize("rules", ["mathif", "reasonif"])
def test_stored_outputs_get_the_published_evaluators_verdicts(tmp_path, rules):
    """Every golden check as a stored output of its own: the mean of the file is the published mean."""
    cases = [c for c in read_jsonl(GOLDEN / f"{rules}_checks.jsonl") if c["official"] in (True, False)]
    rows, stored = [], []
    for number, case in enumerate(cases):
        asked = {"id": case["constraint"], "args": case["args"] or {}, "target": case["target"]}
        try:
            rows.append(Row(f"i{number}", (), "1", "number", (parse_constraint(asked),)))
        except ValueError:
            continue  # a constraint that no row can carry
        text = case["text"] if rules == "mathif" else f"<think>{case['text']}</think>1"
        stored.append({"item_id": f"i{number}", "output": text, "official": case["official"]})
    write_jsonl(tmp_path / "o.jsonl", stored)
    results = score_stored(tmp_path / "o.jsonl", [Benchmark("golden", tuple(rows), rules)], tmp_path / "out")
    found = {
        sample["item_id"]: sample["verdicts"][rules][0]["followed"]
        for sample in read_jsonl(tmp_path / "out" / "samples_golden.jsonl")
    }
    # A text that holds think or answer tags is cut first; the golden verdict is on the text as it is.
    same = [one for one in stored if rules == "reasonif" or "</" not in one["output"]]
    assert {one["item_id"]: found[one["item_id"]] for one in same} == {
        one["item_id"]: one["official"] for one in same
    }
    assert len(same) > 90
    assert results["counts"]["golden"]["errored"] == 0


def test_the_published_outputs_of_mathif_are_scored_line_by_line(benchmark_file, tmp_path):
    folder = benchmark_file("mathif.jsonl").parent
    write_jsonl(tmp_path / "o.jsonl", [{"output": ["42"]} for _ in range(420)])
    chosen = load_benchmark("mathif:constrained", data_dir=folder)
    chosen = replace(chosen, rows=tuple(replace(one, answer="") for one in chosen.rows))  # nothing to grade
    figures = score_stored(tmp_path / "o.jsonl", [chosen], tmp_path / "out")["results"]["mathif-constrained"]
    assert figures["hacc,mathif"] == pytest.approx(0.1548, abs=5e-5)  # what the published evaluator gives
    assert figures["sacc,mathif"] == pytest.approx(0.3429, abs=5e-5)


def peak_of(count: int, folder: Path) -> int:
    chosen = items(50)
    record = {"output": half_right("c1")}
    write_jsonl(folder / "o.jsonl", ({"index": n % 50, **record} for n in range(count)))
    tracemalloc.start()
    score_stored(folder / "o.jsonl", [chosen], folder / f"out{count}")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def test_memory_does_not_grow_with_the_samples(tmp_path):
    peak_of(300, tmp_path)  # what is loaded once
    small, large = peak_of(600, tmp_path), peak_of(1600, tmp_path)
    per_sample = (large - small) / 1000
    assert per_sample < 500  # places and lengths, never texts: a record has more than 2,000 bytes


def test_the_command(tmp_path):
    write_jsonl(tmp_path / "rows.jsonl", (one.to_dict() for one in items(4).rows))
    write_jsonl(tmp_path / "o.jsonl", outputs(4))
    command = [sys.executable, "-m", "riftk", "eval", "--from-samples", str(tmp_path / "o.jsonl")]
    command += ["--benchmarks", f"{tmp_path / 'rows.jsonl'}:rules=reasonif", "--out", str(tmp_path / "out")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "reasoning IFS               reasonif      50.00 %" in done.stdout
    results = json.loads((tmp_path / "out" / "results.json").read_text())
    assert results["results"]["rows-rules-reasonif"]["accuracy,robust"] == 0.5
    both = subprocess.run([*command, "--model", "x"], capture_output=True, text=True, check=False)
    assert (both.returncode, both.stderr.count("\n")) == (2, 1)
    assert "give a --model, or --from-samples" in both.stderr
