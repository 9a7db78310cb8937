"""MathIF: the published prompts, HAcc and SAcc, correctness with and without constraints, parts, variants."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from scripted import COMMA, ScriptedEngine

from riftk.benchmarks import Benchmark, load_benchmark
from riftk.benchmarks.data import check_hub
from riftk.benchmarks.mathif import DATASET, PROMPTS_SHA, PUBLISHED_SHA, prompts_sha
from riftk.constraints import parse_constraint
from riftk.engines import Generation, Sampling
from riftk.evaluation import evaluate, observations, overview, score_sample
from riftk.evaluation.runs import make_requests
from riftk.report.markdown import render
from riftk.report.write import collect
from riftk.rows import Row, read_jsonl, write_jsonl
from riftk.statistics import smallest_difference

GOLDEN = Path(__file__).parent / "golden"
SAMPLING = Sampling(temperature=1.0, top_p=0.95, max_tokens=64, seed=3)
KEYWORDS = "keywords:existence"
LOWERCASE = "change_case:english_lowercase"
RECORD = {
    "source": "HuggingFaceH4/gsm8k",
    "id": "gsm8k-single-0",
    "question": "Tom has 3 apples and eats 1. How many are left?",
    "answer": "2",
    "constraint_desc": ["In your entire response, refrain from the use of any commas."],
    "constraint_name": [COMMA],
    "constraint_args": [None],
}


def item(item_id: str, *ids: str, answer: str = "2", source: str = "gsm8k") -> Row:
    args = {KEYWORDS: {"keywords": ["sum", "total"]}}
    constraints = tuple(parse_constraint({"id": id, "args": args.get(id)}) for id in ids)
    return Row(item_id, ({"role": "user", "content": item_id},), answer, "math", constraints, source)


def observed(row: Row, text: str, **options) -> dict[str, float]:
    generation = Generation(text, options.pop("finish", "stop"), 5, 40)
    return dict(observations(score_sample(row, generation, rulebooks=("mathif", "robust"), think="tags")))


@pytest.fixture
def published(benchmark_file) -> Path:
    return benchmark_file("mathif.jsonl").parent


def test_the_420_prompts_are_the_published_ones_with_and_without_constraints(published):
    for form in ("constrained", "plain"):
        benchmark = load_benchmark(f"mathif:{form}", data_dir=published)
        assert len(benchmark.rows) == 420
        assert prompts_sha(list(benchmark.rows)) == PROMPTS_SHA[form]
        assert benchmark.details["data"] == "as published"
        assert benchmark.rulebooks == ("mathif", "robust")


def test_the_published_rows_have_the_papers_counts_and_ceilings(published):
    benchmark = load_benchmark("mathif", data_dir=published)
    assert len(benchmark.rows) == 840
    asked = [row for row in benchmark.rows if row.constraints]
    assert Counter(len(row.constraints) for row in asked) == {1: 140, 2: 140, 3: 140}
    assert Counter(row.source for row in asked) == {
        "gsm8k": 90, "math500": 90, "minerva": 90, "olympiad": 90, "aime": 60
    }  # fmt: skip
    assert benchmark.ceilings == {"hacc": pytest.approx(416 / 420), "sacc": pytest.approx(418 / 420)}


def test_the_fifteen_published_files_are_the_same_data(published, tmp_path):
    records, place = list(read_jsonl(published / "mathif.jsonl")), 0
    for source, size in (("gsm8k", 30), ("math500", 30), ("minerva", 30), ("olympiad", 30), ("aime", 20)):
        for number in ("single", "double", "triple"):
            write_jsonl(tmp_path / f"{source}_{number}.jsonl", records[place : place + size])
            place += size
    one, other = (load_benchmark("mathif", data_dir=folder) for folder in (published, tmp_path))
    assert one.rows == other.rows
    assert other.details["data_sha"] == PUBLISHED_SHA


def test_a_limit_keeps_pairs_of_forms_and_spreads_over_kinds(published):
    rows = load_benchmark("mathif", data_dir=published, limit=30).rows
    plain = {row.item_id for row in rows if not row.constraints}
    asked = {row.item_id for row in rows if row.constraints}
    assert {name.removesuffix("-plain") for name in plain} == asked
    assert len(asked) == 15
    assert {row.source for row in rows} == {"gsm8k", "math500", "minerva", "olympiad", "aime"}


def test_data_that_is_missing_or_has_changed_says_what_to_do(tmp_path, monkeypatch):
    with pytest.raises(FileNotFoundError, match=r"neither mathif\.jsonl nor 15 files gsm8k_single"):
        load_benchmark("mathif", data_dir=tmp_path)
    (tmp_path / "mathif.jsonl").touch()
    with pytest.raises(FileNotFoundError, match="is a file; give the folder that it is in"):
        load_benchmark("mathif", data_dir=tmp_path / "mathif.jsonl")
    (tmp_path / "mathif.jsonl").unlink()
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(FileNotFoundError, match=r"could not be read from the hub .*the folder as --data-dir"):
        load_benchmark("mathif")
    with pytest.raises(ValueError, match="is not the data set that was published"):
        check_hub("0" * 64, PUBLISHED_SHA, f"{DATASET}@abc", None)
    check_hub("0" * 64, PUBLISHED_SHA, f"{DATASET}@abc", "abc")  # asked for by name
    write_jsonl(tmp_path / "mathif.jsonl", [RECORD])
    assert load_benchmark("mathif", data_dir=tmp_path).details["data"] == "not the published 420 rows"


def test_variants_prolong_the_trace_of_constrained_items(tmp_path):
    write_jsonl(tmp_path / "mathif.jsonl", [RECORD])
    repeat = load_benchmark("mathif:repeat", data_dir=tmp_path)
    assert (repeat.name, repeat.protocol, len(repeat.rows)) == ("mathif-repeat", {"repeat": True}, 1)
    [request] = make_requests(repeat).values()
    assert request.reminder == RECORD["constraint_desc"][0]  # the published sentence
    waits = load_benchmark("mathif:wait=2", data_dir=tmp_path)
    assert (waits.name, waits.protocol) == ("mathif-wait-2", {"waits": 2})

    prefixes: list[str] = []

    class Engine(ScriptedEngine):
        def generate(self, requests, sampling, *rest):
            prefixes.extend(request.prefix for request in requests)
            return super().generate(requests, sampling, *rest)

    for benchmark, last in ((repeat, f"Wait. {request.reminder}\n"), (waits, "Wait")):
        engine = Engine(lambda item: "<think>\nit is 2\n</think>\n\n\\boxed{2}")
        results = evaluate(engine, benchmark, tmp_path / benchmark.name, SAMPLING)
        assert prefixes[-1].endswith(last)
        assert results["configs"][benchmark.name] | benchmark.protocol == results["configs"][benchmark.name]
        prefixes.clear()
    for wrong in ("mathif:wait", "mathif:wait=-1"):
        with pytest.raises(ValueError, match="wait counts the times"):
            load_benchmark(wrong, data_dir=tmp_path)


def test_hacc_and_sacc_are_all_and_the_share_of_the_constraints():
    row = item("x", KEYWORDS, COMMA, LOWERCASE)
    seen = observed(row, "<think>so</think>we have a sum and no comma in here, really \\boxed{2}")
    assert (seen["response_ifs,mathif"], seen["response_sacc,mathif"]) == (0.0, pytest.approx(1 / 3))
    twice = Row("y", row.prompt, "2", constraints=(row.constraints[1],) * 2)
    assert observed(twice, "<think>so</think>none here")["response_sacc,mathif"] == 1.0
    plain = observed(item("z"), "<think>so</think>\\boxed{2}")
    assert not any("sacc" in key or "ifs" in key for key in plain)
    assert plain["accuracy_plain,mathif"] == plain["accuracy_plain,robust"] == 1.0


@pytest.mark.parametrize(
    ("text", "quadrant"),
    [
        ("so it is \\boxed{2}", "correct_followed"),
        ("so, it is \\boxed{2}", "correct_unfollowed"),
        ("so it is \\boxed{3}", "wrong_followed"),
        ("so, it is \\boxed{3}", "wrong_unfollowed"),
    ],
)
def test_every_sample_lies_in_one_quadrant(text, quadrant):
    seen = observed(item("x", COMMA), f"<think>hm</think>{text}")
    for rules in ("mathif", "robust"):
        here = {k: v for k, v in seen.items() if k.startswith(("response_correct_", "response_wrong_"))}
        assert sum(value for key, value in here.items() if key.endswith(rules)) == 1
        assert here[f"response_{quadrant},{rules}"] == 1


def test_a_trace_that_was_cut_off_counts_as_published_and_robustly():
    # The published evaluator takes the trace for the answer, constraints and correctness alike.
    seen = observed(item("x", COMMA), "<think>so it is \\boxed{2}", finish="length")
    assert seen["response_ifs,mathif"] == seen["accuracy,mathif"] == 1.0
    assert seen["response_ifs,robust"] == seen["accuracy,robust"] == 0.0
    assert "accuracy_completed,robust" not in seen


def test_published_cuts_and_grades_of_stored_texts():
    for case in read_jsonl(GOLDEN / "mathif_cuts.jsonl"):
        generation = Generation(case["raw"], "stop")
        same = Generation(case["official"], "stop")
        row = item("x", COMMA, LOWERCASE)
        raw, cut = (
            score_sample(row, one, rulebooks=("mathif",), think=None)["verdicts"]["mathif"]
            for one in (generation, same)
        )
        if "<" not in case["official"]:  # a cut text that holds a tag would be cut again
            assert [v["followed"] for v in raw] == [v["followed"] for v in cut], case["case"]
    for case in read_jsonl(GOLDEN / "mathif_answer_pairs.jsonl"):
        sample = score_sample(
            item("x", COMMA, answer=case["gold"]),
            Generation(case["response"], "stop"),
            rulebooks=("mathif", "robust"),
            think=None,
        )
        assert sample["published_grades"]["mathif"]["correct"] is case["official"], case["case"]


def scripted(name: str) -> str:
    """Constrained items of "b" have a comma, those of "c" are wrong with constraints only."""
    wrong = name.startswith("c") and not name.endswith("-plain")
    text = "well, the sum" if name.startswith("b") else "the sum"
    words = " ".join(["word"] * (int(name[1:3]) + 1))
    return f"<think>{words}</think>{text} is \\boxed{{{3 if wrong else 2}}}"


def whole() -> Benchmark:
    rows = []
    for source in "abc":
        for number in range(20):
            ids = (COMMA, KEYWORDS)[: 1 + number % 2]
            asked = item(f"{source}{number:02d}", *ids, source=source)
            rows += [asked, Row(f"{asked.item_id}-plain", asked.prompt, "2", "math", (), source)]
    return Benchmark("mathif", tuple(rows), "mathif")


def test_results_hold_every_part_and_what_constraints_cost(tmp_path):
    results = evaluate(ScriptedEngine(scripted), whole(), tmp_path, SAMPLING)
    figures, estimates = results["results"]["mathif"], results["estimates"]["mathif"]
    # Single constraints: followed by a and c. Pairs: "total" is nowhere, so none is followed whole.
    assert figures["hacc,mathif"] == figures["response_ifs,mathif"] == pytest.approx(1 / 3)
    assert figures["sacc,mathif"] == pytest.approx((20 + 0.5 * 20) / 60)
    assert figures["hacc[source=b],mathif"] == figures["hacc[constraints=2],robust"] == 0
    assert figures["hacc[constraints=1],mathif"] == pytest.approx(2 / 3)
    assert figures["accuracy[source=c],mathif"] == 0.5
    assert estimates["response_ifs[source=a],mathif"]["n"] == 20
    bins = [estimates[f"response_ifs[cot_bin={number}],mathif"] for number in range(1, 7)]
    assert sum(one["n"] for one in bins) == 60
    assert len(results["cot_bins"]["mathif"]) == 5
    cost = results["paired"]["mathif"]["accuracy_cost_response,mathif"]
    assert (cost["value"], cost["relative"]) == (pytest.approx(-1 / 3), pytest.approx(-1 / 3))
    assert (cost["gained"], cost["lost"], cost["n"]) == (0, 20, 60)
    assert cost["low"] < cost["value"] < cost["high"] < 0
    quadrants = [
        figures[f"response_{a}_{b},mathif"] for a in ("correct", "wrong") for b in ("followed", "unfollowed")
    ]
    assert sum(quadrants) == pytest.approx(1)
    assert results["outcomes"]["mathif"] == {"correct": 100, "wrong": 20, "truncated": 0, "errored": 0}
    told = overview(results)
    assert "HAcc" in told.splitlines()[1]
    assert "relative -33.3 %" in told
    assert "avg@1" in told
    assert "samples 120, truncated 0, unclosed 0, no reasoning 0, errored 0, mean" in told
    assert "mean reasoning tokens 10.5" in told
    assert "temperature 1.0, top_p 0.95, max_tokens 64, seed 3" in told
    shown = 100 * smallest_difference(60)
    assert f"differences in points from: response_ifs {shown:.1f}, accuracy" in told


def test_the_report_has_a_table_for_each_part(tmp_path):
    evaluate(ScriptedEngine(scripted), whole(), tmp_path / "a", SAMPLING)
    better = ScriptedEngine(lambda name: scripted(name).replace("well, ", ""))
    evaluate(better, whole(), tmp_path / "b", SAMPLING)
    report = collect({"before": tmp_path / "a", "after": tmp_path / "b"})
    key = "response_ifs[source=b],mathif"
    assert report["differences"]["mathif"][key]["p_holm"] >= report["differences"]["mathif"][key]["p_value"]
    text = render(report)
    for heading in (
        "By source",
        "By number of instructions",
        "By length of the reasoning",
        "Correct and followed",
    ):
        assert f"## {heading}" in text
    assert "accuracy cost response, rules `mathif`: -33.3" in text


@pytest.mark.slow
def test_the_tiny_model_on_eight_items_of_each_benchmark(benchmark_file, tmp_path):
    from riftk.engines import load_engine

    folder = benchmark_file("mathif.jsonl").parent
    benchmark_file("reasonif.jsonl")
    names = ("mathif", "mathif:repeat", "mathif:wait=1", "reasonif", "reasonif:reflection")
    chosen = [load_benchmark(name, data_dir=folder, limit=8, limits="dataset") for name in names]
    engine = load_engine(model="pkg://riftk.tiny/weights/base", batch_size=8, device="cpu")
    try:
        results = evaluate(engine, chosen, tmp_path, Sampling(0.0, 1.0, 48, 0))
    finally:
        engine.close()
    for name in results["counts"]:
        assert results["counts"][name]["samples"] == 8
        assert results["counts"][name]["errored"] == 0
    assert results["configs"]["mathif"]["data"] == "as published"
