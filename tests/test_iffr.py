"""IFFR: its sets and prompts, how answers are read, and what its figures say of answers that are known."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from statistics import stdev

import numpy as np
import pytest
from scripted import ScriptedEngine

from riftk.benchmarks import Benchmark, load_benchmark
from riftk.benchmarks.iffr import SETS
from riftk.engines import Generation, Sampling
from riftk.evaluation import evaluate, overview, score_stored
from riftk.evaluation.iffr import readings
from riftk.evaluation.scoring import score_sample
from riftk.grading import grade
from riftk.grading.iffr import iffr_extract
from riftk.report import write_report
from riftk.rows import Row, RowError, read_jsonl, write_jsonl
from riftk.statistics import mean_of_ratios, proportion

CASES = list(read_jsonl(Path(__file__).parent / "golden" / "iffr_cases.jsonl"))
SAMPLING = Sampling(temperature=1.0, max_tokens=512)
MADE_UP = {  # records in the hub's columns, and what is to be read of them
    "race_m": (
        [
            {
                "article": "It rains.",
                "question": "Is it dry?",
                "options": ["no", "yes", "so", "on"],
                "answer": "A",
            }
        ],
        ["A"],
    ),
    "arc_c": (
        [
            {"question": "Q?", "choices": {"text": list("wxyz"), "label": list("1234")}, "answerKey": "3"},
            {"question": "Q?", "choices": {"text": list("xyz"), "label": list("ABC")}, "answerKey": "B"},
            {"question": "Q?", "choices": {"text": list("vwxyz"), "label": list("ABCDE")}, "answerKey": "E"},
            {"question": "Q?", "choices": {"text": list("wxyz"), "label": list("ABCD")}, "answerKey": "D"},
        ],
        ["C", "D"],
    ),
    "sentiment": (
        [{"text": "bad", "label": 0}, {"text": "so so", "label": 1}, {"text": "good", "label": 2}],
        ["negative", "positive"],
    ),
    "fpb": (
        [{"sentence": "up", "label": 2}, {"sentence": "flat", "label": 1}, {"sentence": "down", "label": 0}],
        ["positive", "negative"],
    ),
    "rotten_tomatoes": (
        [{"text": "bad", "label": 0}, {"text": "good", "label": 1}],
        ["negative", "positive"],
    ),
    "mawps": ([{"question": "1 + 1?", "answer": "2.0"}], ["2.0"]),
    "asdiv": ([{"question": "1 + 1?", "result": "2"}], ["2"]),
}


def made_up(folder: Path, name: str, records: list[dict] | None = None, **options: object) -> Benchmark:
    write_jsonl(folder / SETS[name].file, MADE_UP[name][0] if records is None else records)
    return load_benchmark("iffr", set=name, data_dir=folder, **options)


# --- sets and prompts ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["arc_c", "obqa", "rotten_tomatoes", "asdiv", "multiarith"])
def test_the_published_sets_have_the_papers_questions(benchmark_file, name):
    folder = benchmark_file(SETS[name].file).parent
    for options in ("", ":prompts=notebook:decode=generate"):
        loaded = load_benchmark(f"iffr:set={name}{options}", data_dir=folder)
        assert len(loaded.rows) == 6 * SETS[name].n
        assert loaded.details["data"] == "as many questions as in the paper"
        assert {row.source for row in loaded.rows} == {SETS[name].title}


def test_another_split_is_said_to_be_one(benchmark_file):
    loaded = load_benchmark("iffr:set=mawps", data_dir=benchmark_file("mawps.jsonl").parent)
    assert loaded.details["data"] == "238 questions, not the paper's 355"


@pytest.mark.parametrize("name", MADE_UP)
def test_what_the_filter_leaves_has_its_gold_answer(tmp_path, name):
    rows = made_up(tmp_path, name).rows
    assert [row.answer for row in rows[::6]] == MADE_UP[name][1]
    assert [row.item_id.split("-", 3)[-1] for row in rows[:6]] == [
        f"{condition}-{variant}" for variant in (1, 2, 3) for condition in ("standard", "nonstandard")
    ]
    assert len({row.user_text for row in rows[:6]}) == 6
    assert len({row.answer for row in rows[:6]}) == 1  # the gold answer stays what it is


def test_the_papers_prompt(tmp_path):
    texts = [row.user_text for row in made_up(tmp_path, "race_m").rows]
    assert texts[0] == (
        "Read the passage and answer the multiple-choice question correctly.\nPassage: It rains.\n"
        "Question: Is it dry?\nOptions:\nA. no\nB. yes\nC. so\nD. on\n"
        "Return only one letter: A, B, C, or D.\nAnswer:"
    )
    texts = [row.user_text for row in made_up(tmp_path, "asdiv").rows]
    assert texts[5] == (
        "The required output is a transformed answer. If the correct answer to the problem is x, your output "
        "must be 2x.\nQuestion: 1 + 1?\nReturn only the final answer and do not explain.\nAnswer:"
    )


def test_the_notebooks_prompts_blanks_included(tmp_path):
    options = "\n\nOptions:\nA. w\nB. x\nC. y\nD. z\n\nReturn only one letter: A, B, C, or D.\n\nAnswer:\n"
    texts = [row.user_text for row in made_up(tmp_path, "arc_c", prompts="notebook").rows]
    assert texts[0] == f"\nAnswer the multiple-choice question correctly.\n\nQuestion:\nQ?{options}"
    assert texts[5] == (
        "\nCarefully determine which option correctly answers the question.\nDo not select that option. "
        f"Instead, select an incorrect option.\n\nQuestion:\nQ?{options}"
    )
    texts = [row.user_text for row in made_up(tmp_path, "race_m", prompts="notebook").rows]
    assert texts[1].startswith(
        "\n\n Read the passage and answer the multiple-choice question incorrectly.\n\nPassage:\nIt rains.\n"
        "Question:\nIs it dry?\n\nOptions:\nA. no\n"
    )
    assert texts[2].startswith("\n\nRead the passage, understand")
    texts = [row.user_text for row in made_up(tmp_path, "sentiment", prompts="notebook").rows]
    end = "\n\nText: bad\n\nReturn only one word: positive or negative.\n\nAnswer:"
    assert texts[0] == f"Classify the sentiment of the following text correctly.{end}"
    assert texts[2].startswith(" Determine whether")
    assert texts[5] == (
        " First identify the true sentiment of the text, but output the incorrect sentiment label." + end
    )
    texts = [row.user_text for row in made_up(tmp_path, "asdiv", prompts="notebook").rows]
    assert texts[:2] == [
        "Answer the following question correctly:\n Question : 1 + 1? return only the final answer and do "
        "not explain. \nAnswer:",
        "Solve the following math problem. Let x be the correct answer.\nReturn 2*x instead of x. :\n "
        "Question : 1 + 1? return only the final answer and do not explain.\nAnswer:",
    ]


def test_the_protocol_is_greedy_without_thinking(tmp_path):
    closed = made_up(tmp_path, "arc_c")
    assert closed.protocol == {
        "sampling": {"temperature": 0.0, "top_p": 1.0, "max_tokens": 1},
        "labels": ["A", "B", "C", "D"],
        "thinking": "off",
    }
    assert closed.rulebooks == ("robust",)
    published = made_up(tmp_path, "arc_c", prompts="notebook", decode="generate")
    assert published.rulebooks == ("iffr", "robust")
    assert published.protocol["sampling"]["max_tokens"] == 10
    assert made_up(tmp_path, "asdiv", prompts="notebook").protocol["sampling"]["max_tokens"] == 20
    assert made_up(tmp_path, "asdiv", max_tokens=128).protocol["sampling"]["max_tokens"] == 128


def test_a_limit_takes_questions_with_all_their_wordings(tmp_path):
    records = [{"question": f"1 + {n}?", "result": str(1 + n)} for n in range(20)]
    for limit, questions in ((1, 1), (6, 1), (35, 5), (500, 20)):
        assert len(made_up(tmp_path, "asdiv", records, limit=limit).rows) == 6 * questions


def test_mistakes_are_named(tmp_path):
    for name, told in (
        ("iffr", "set by set, e.g. iffr:set=arc_c; the sets are race_m, arc_c, obqa"),
        ("iffr:set=arc", "the sets are race_m"),
        ("iffr:set=mawps:decode=closed_set", "numbers, which are no closed set"),
        ("iffr:set=obqa:prompts=mine", "prompts are paper or notebook"),
        ("iffr:set=obqa:max-tokens=9", "of a generated answer"),
    ):
        with pytest.raises(ValueError, match=told):
            load_benchmark(name, data_dir=tmp_path)
    with pytest.raises(FileNotFoundError, match=r"holds no race_middle.jsonl; offline, write the test split"):
        load_benchmark("iffr:set=race-m", data_dir=tmp_path)
    with pytest.raises(
        FileNotFoundError, match=r"ehovy/race could not be read from the hub.*columns article"
    ):
        load_benchmark("iffr:set=race_m")  # tests are offline
    with pytest.raises(RowError, match="'none' is no number"):
        made_up(tmp_path, "asdiv", [{"question": "1 + 1?", "result": "none"}])
    with pytest.raises(RowError, match="column 'label' is missing"):
        made_up(tmp_path, "fpb", [{"sentence": "up"}])
    odd = {"question": "Q?", "choices": {"text": list("wxyz"), "label": list("ABCD")}, "answerKey": "E"}
    with pytest.raises(RowError, match="row 1: not ARC-C's"):
        made_up(tmp_path, "arc_c", [odd])


# --- golden cases -------------------------------------------------------------------------------------------


def of_kind(kind: str) -> list:
    return [pytest.param(case, id=case["id"]) for case in CASES if case["kind"] == kind]


def read_as(text: str, gold: str, answer_type: str, condition: str = "nonstandard") -> dict:
    row = Row(f"iffr-x-0000-{condition}-1", ({"role": "user", "content": "?"},), gold, answer_type)
    generation = Generation(text, "stop")
    return readings(score_sample(row, generation, rulebooks=("iffr", "robust"), think="none"))


@pytest.mark.parametrize("case", of_kind("pred_extract"))
def test_golden_extraction(case):
    found = iffr_extract(case["text"], "number")
    assert (None if found is None else float(found)) == case["official"]
    if case["sensible"] is not None:
        assert grade(case["text"], repr(case["sensible"]), "number").correct
    else:
        assert not read_as(case["text"], "30", "number")["robust"].valid


@pytest.mark.parametrize("case", of_kind("gold_extract"))
def test_golden_gold_answers(case):
    assert grade(repr(case["official"]), case["text"], "number", rules="iffr").correct
    assert grade(repr(case["sensible"]), case["text"], "number").correct


@pytest.mark.parametrize("case", of_kind("math_pair"))
def test_golden_pairs(case, tmp_path):
    official, sensible = case["official"], case["sensible"]
    standard = read_as(case["std_out"], case["gold"], "number", "standard")
    other = read_as(case["nonstd_out"], case["gold"], "number")
    assert standard["iffr"].correct == official["std_correct"]
    assert other["iffr"].kept == official["nonstd_returned_original"]
    if sensible["std_correct"] is None:  # such a gold answer is refused when it is loaded
        with pytest.raises(RowError, match="is no number"):
            made_up(tmp_path, "asdiv", [{"question": "?", "result": case["gold"]}])
    else:
        assert standard["robust"].correct == sensible["std_correct"]
        assert other["robust"].kept == sensible["nonstd_returned_original"]
        assert other["robust"].followed == sensible["nonstd_followed"]


@pytest.mark.parametrize("case", of_kind("sentiment") + of_kind("mcqa"))
def test_golden_labels_and_letters(case):
    kind = {"sentiment": "label", "mcqa": "choice"}[case["kind"]]
    found = read_as(case["raw"], case["label"], kind)
    assert found["iffr"].kept == case["official_returns_label"]
    assert found["robust"].kept == case["sensible_returns_label"]
    assert found["robust"].valid == (case["sensible_pred"] is not None)
    assert found["robust"].followed == (case["sensible_pred"] not in (None, case["label"]))
    if "official_pred" in case:
        assert iffr_extract(case["raw"], kind) == case["official_pred"]


@pytest.mark.parametrize("case", of_kind("metric"))
def test_golden_metric(case, tmp_path):
    letters = [dict(zip(("standard", "nonstandard"), pair, strict=True)) for pair in zip(
        case["std_pred"], case["nonstd_pred"], strict=True)]  # fmt: skip
    records = [
        {
            "question": "Q?",
            "choices": {"text": list("wxyz"), "label": list("ABCD")},
            "answerKey": "ABCD"[gold],
        }
        for gold in case["labels"]
    ]
    items = made_up(tmp_path, "arc_c", records, prompts="notebook", decode="generate")
    results = evaluate(
        Scripted(lambda n, condition, _: "ABCD"[letters[n][condition]]), items, tmp_path / "out", SAMPLING
    )
    estimates = results["estimates"][items.name]
    for rules, wanted in (("iffr", case["official"]), ("robust", case["sensible"])):
        named = {"std": "standard_accuracy", "nonstd": "nonstandard_accuracy", "iffr": "iffr"}
        for short, metric in named.items():
            if wanted is not None:
                assert 100 * estimates[f"{metric},{rules}"]["value"] == pytest.approx(wanted[short])
    if case["sensible"] is None:
        assert estimates["iffr,robust"] == dict.fromkeys(("value", "low", "high", "stderr")) | {"n": 0}
        assert estimates["iffr/2,robust"]["value"] is None


# --- figures ------------------------------------------------------------------------------------------------


class Scripted(ScriptedEngine):
    """Answers question n under a condition in a wording with `script(n, condition, variant)`."""

    think_off = "none"

    def __init__(self, script):
        super().__init__(lambda item: script(*self.place(item)))

    @staticmethod
    def place(item: str) -> tuple[int, str, int]:
        _, _, number, condition, variant = item.split("-")
        return int(number), condition, int(variant)


def problems(folder: Path, count: int = 10) -> Benchmark:
    records = [{"question": f"{n} + 1?", "result": str(n + 1)} for n in range(count)]
    return made_up(folder, "asdiv", records)


def answer(number: int, condition: str, variant: int) -> str:
    """Question 0 is wrong in the first wording; of the others, the first ones do not double: one more in each
    wording. The last one answers the non-standard instruction with words."""
    gold = number + 1
    if condition == "standard":
        return "77" if (number, variant) == (0, 1) else str(gold)
    if number == 9:
        return "I would rather not."
    return str(gold) if number <= variant else str(2 * gold)


def test_the_figures_of_answers_that_are_known(tmp_path):
    items = problems(tmp_path)
    results = evaluate(Scripted(answer), items, tmp_path / "out", SAMPLING)
    estimates, of_wordings = results["estimates"]["iffr"], results["variants"]["iffr"]
    kept, solved = [1, 3, 4], [9, 10, 10]  # question 0 counts from the second wording on
    assert of_wordings["iffr,robust"]["n"] == solved
    shares = [k / n for k, n in zip(kept, solved, strict=True)]
    assert of_wordings["iffr,robust"]["values"] == pytest.approx(shares)
    assert of_wordings["iffr,robust"]["mean"] == pytest.approx(sum(shares) / 3)
    assert of_wordings["iffr,robust"]["sd"] == pytest.approx(stdev(shares))  # of a sample: n - 1
    assert estimates["iffr,robust"]["value"] == pytest.approx(sum(shares) / 3)
    assert (
        estimates["iffr,robust"]["low"] < estimates["iffr,robust"]["value"] < estimates["iffr,robust"]["high"]
    )
    wilson = proportion(3, 10)
    assert estimates["iffr/2,robust"]["low"] == pytest.approx(wilson.low)
    assert estimates["iffr/2,robust"]["high"] == pytest.approx(wilson.high)
    assert of_wordings["standard_accuracy,robust"]["values"] == pytest.approx([0.9, 1, 1])
    assert of_wordings["nonstandard_accuracy,robust"]["values"] == pytest.approx([0.2, 0.3, 0.4])
    assert of_wordings["follow_rate,robust"]["values"] == pytest.approx([0.7, 0.6, 0.5])
    assert of_wordings["follow_rate_solved,robust"]["values"] == pytest.approx([7 / 9, 0.6, 0.5])
    assert of_wordings["invalid_nonstandard,robust"]["values"] == pytest.approx([0.1] * 3)
    assert of_wordings["invalid_standard,robust"]["values"] == [0, 0, 0]
    assert estimates["invalid_standard,robust"]["high"] > 0.1  # nothing seen is not nothing possible
    assert results["configs"]["iffr"]["chance"]["iffr"] == 0
    assert results["configs"]["iffr"]["sampling"]["temperature"] == 0
    assert results["counts"]["iffr"]["items"] == 10
    assert results["outcomes"]["iffr"]["correct"] == 29  # of 30 standard answers
    assert not any(key.startswith(("accuracy", "over_application")) for key in estimates)
    assert "iffr/1,robust" in results["results"]["iffr"]
    lines = overview(results)
    assert "IFFR" in lines
    assert f"{100 * sum(shares) / 3:.2f} ± {100 * stdev(shares):.2f} %" in lines


def test_zero_twice_is_zero_and_tells_nothing(tmp_path):
    items = made_up(tmp_path, "asdiv", [{"question": f"{n} - {n}?", "result": "0"} for n in range(3)])
    results = evaluate(Scripted(lambda *_: "0"), items, tmp_path / "out", SAMPLING)
    estimates = results["estimates"]["iffr"]
    assert estimates["standard_accuracy,robust"]["value"] == 1
    assert estimates["iffr,robust"] == dict.fromkeys(("value", "low", "high", "stderr")) | {"n": 0}
    assert estimates["iffr,iffr"]["value"] == 1  # what the notebook makes of it


def test_failed_requests_are_neither_right_nor_followed(tmp_path):
    def script(number: int, condition: str, variant: int):
        failed = Generation("", "error", error="gone")
        return failed if number == 1 and condition == "nonstandard" else answer(number, condition, variant)

    results = evaluate(Scripted(script), problems(tmp_path), tmp_path / "out", SAMPLING)
    assert results["counts"]["iffr"]["errored"] == 3
    assert results["variants"]["iffr"]["follow_rate,robust"]["values"] == pytest.approx([0.7, 0.6, 0.5])
    assert results["variants"]["iffr"]["invalid_nonstandard,robust"]["values"] == pytest.approx([0.2] * 3)
    assert results["variants"]["iffr"]["iffr,robust"]["n"] == [9, 10, 10]


def test_a_stopped_run_goes_on_and_stored_samples_give_the_same_figures(tmp_path):
    items = problems(tmp_path)
    whole = evaluate(Scripted(answer), items, tmp_path / "whole", SAMPLING)
    evaluate(Scripted(answer), items, tmp_path / "part", SAMPLING)
    path = tmp_path / "part" / "samples_iffr.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    path.write_text("".join(lines[:25]), encoding="utf-8")
    engine = Scripted(answer)
    part = evaluate(engine, items, tmp_path / "part", SAMPLING)
    assert len(engine.asked) == 35
    again = score_stored(tmp_path / "whole" / "samples_iffr.jsonl", [], tmp_path / "again")
    for results in (part, again):
        for section in ("estimates", "variants", "counts", "outcomes"):
            assert results[section] == whole[section]


def test_a_report_shows_the_wordings_and_compares_two_models(tmp_path):
    items, run = problems(tmp_path), tmp_path / "run"
    evaluate(Scripted(answer), items, run / "eval" / "before", SAMPLING)
    better = Scripted(lambda number, condition, variant: str((number + 1) * (1 + (condition != "standard"))))
    evaluate(better, items, run / "eval" / "after", SAMPLING)
    text = write_report(run).read_text(encoding="utf-8")
    assert "**Better: following of non-standard instructions (+40.0 points" in text
    assert "| **IFFR** | 27.0 %" in text
    assert "| IFFR | robust | 27.04 ± 14.67 |" in text
    assert "| IFFR | robust | 0.00 ± 0.00 |" in text


def test_the_interval_of_a_mean_of_ratios_covers_it():
    generator = np.random.default_rng(0)
    shares, hits = np.array([0.9, 0.6, 0.5]), 0
    for _ in range(60):
        solved = (generator.random((80, 3)) < 0.7).astype(float)
        kept = solved * (generator.random((80, 3)) < shares)
        found = mean_of_ratios(kept, solved, resamples=400)
        hits += found.low <= shares.mean() <= found.high
    assert hits >= 50
    assert mean_of_ratios(np.zeros((4, 3)), np.zeros((4, 3))).value is None
    assert mean_of_ratios(np.zeros((4, 3)), np.zeros((4, 3)), empty=0.0).value == 0
    none_failed = mean_of_ratios(np.zeros((50, 3)), np.ones((50, 3)))
    assert (none_failed.low, none_failed.n) == (0, 150)
    assert none_failed.high == pytest.approx(proportion(0, 50).high)


def test_the_command(tmp_path):
    records = [{"text": f"bad film {n}", "label": n % 2} for n in range(4)]
    write_jsonl(tmp_path / SETS["rotten_tomatoes"].file, records)
    command = [sys.executable, "-m", "riftk", "eval", "--model", "pkg://riftk.tiny/weights/base"]
    command += ["--benchmarks", "iffr:set=rotten_tomatoes:decode=generate:max-tokens=8"]
    command += ["--data-dir", str(tmp_path), "--out", str(tmp_path / "out")]
    said = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "non-standard accuracy" in said.stdout
    task = "iffr-set-rotten_tomatoes-decode-generate-max-tokens-8"
    samples = list(read_jsonl(tmp_path / "out" / f"samples_{task}.jsonl"))
    assert len(samples) == 24
    assert max(sample["completion_tokens"] for sample in samples) <= 8
    results = json.loads((tmp_path / "out" / "results.json").read_text(encoding="utf-8"))
    assert results["configs"][task]["sampling"] == {
        "temperature": 0.0, "top_p": 1.0, "max_tokens": 8, "seed": 0,
    }  # fmt: skip
