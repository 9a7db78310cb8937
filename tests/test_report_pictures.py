"""The papers' figures in reports: what they are drawn from, and that they are drawn where they apply."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import pytest
from report_runs import SAMPLING, SOURCES, forms, make_evaluation, of_skill
from scripted import COMMA, ScriptedEngine, row, says

from riftk.benchmarks import Benchmark
from riftk.evaluation import Tally, evaluate
from riftk.report import compare, write_comparison, write_report
from riftk.report.averages import mean_view
from riftk.report.comparison import tallies
from riftk.report.prompts import between_tasks
from riftk.report.trends import model_size, plot_sizes, plot_waits
from riftk.report.views import View, views_of
from riftk.rows import read_jsonl
from riftk.statistics import mean_of_differences, paired_difference, relative_change

ITEMS = forms(12)


@pytest.fixture(scope="module")
def runs(tmp_path_factory) -> Path:
    """One run of two tasks with the same items, and three models of which the names tell the size."""
    folder = tmp_path_factory.mktemp("pictures")
    for name, skill in (("m-1B", 0.5), ("m-7B", 0.7), ("m-32B", 0.95)):
        make_evaluation(folder / name, of_skill(skill), ITEMS, f"org/{name}")
    again = replace(ITEMS, name="again")
    calls: dict[str, int] = {}

    def better_again(item: str) -> str:
        calls[item] = calls.get(item, 0) + 1
        return of_skill(0.5 if calls[item] == 1 else 0.95)(item)

    evaluate(ScriptedEngine(better_again, "org/m-1B"), [ITEMS, again], folder / "two", SAMPLING)
    write_report(folder / "two")
    write_comparison([folder / "m-1B", folder / "m-7B", folder / "m-32B"], folder / "several")
    return folder


def results(folder: Path) -> dict:
    return json.loads((folder / "results.json").read_text())


def test_a_report_of_one_run_shows_every_picture_that_its_data_give(runs):
    run, text = runs / "two", (runs / "two" / "report.md").read_text()
    for name in ("source", "cost", "targets", "correlation", "constraints", "lengths", "quadrants"):
        assert f"](report_forms_{name}.png)" in text
        assert (run / f"report_forms_{name}.png").stat().st_size > 5000
    assert "](report_forms_prompts.png)" in text
    assert "_turns.png" not in text  # no second turn was asked
    assert not list(run.glob("*_waits.png"))
    page = (run / "report.html").read_text()
    assert page.count("<figure>") == text.count("](report_")
    assert all(source in (run / "report_forms_source.svg").read_text() for source in SOURCES)


def test_a_report_of_several_runs_shows_them_beside_each_other(runs):
    out = runs / "several"
    text = (out / "report.md").read_text()
    for name in ("following", "map", "source", "cost", "quadrants", "lengths", "correlation", "targets"):
        assert f"](report_forms_{name}.png)" in text
    assert "](report_sizes.png)" in text
    picture = (out / "report_forms_source.svg").read_text()
    assert all(name in picture for name in ("m-1B", "m-7B", "m-32B", "mean of 3"))
    assert "Mean over the evaluations, by source" in text


def test_what_instructions_cost_by_source(runs):
    paired = results(runs / "two")["paired"]["forms"]
    samples = {sample["item_id"]: sample for sample in read_jsonl(runs / "two" / "samples_forms.jsonl")}
    for source in SOURCES:
        plain, asked = (
            sum(samples[f"{source}{number}-{form}"]["correct"] for number in range(12))
            for form in ("plain", "response")
        )
        gap = paired[f"accuracy_cost_response[source={source}],robust"]
        assert gap["value"] == pytest.approx((asked - plain) / 12)
        assert gap["relative"] == pytest.approx(asked / plain - 1)
    whole = paired["accuracy_cost_response,robust"]
    assert whole["relative_low"] < whole["relative"] < whole["relative_high"]
    shown = f"relative {100 * whole['relative']:+.1f} % [{100 * whole['relative_low']:+.1f}"
    assert shown in (runs / "two" / "report.md").read_text()


def test_tasks_with_the_same_items_are_forms_of_one_another(runs):
    between = between_tasks(runs / "two")
    assert list(between) == ["forms"]
    assert list(between["forms"]) == ["again"]
    found = results(runs / "two")["estimates"]
    gap = between["forms"]["again"]["reasoning_ifs,reasonif"]
    values = [found[task]["reasoning_ifs,reasonif"]["value"] for task in ("forms", "again")]
    assert gap["value"] == pytest.approx(values[1] - values[0])
    assert gap["gained"] - gap["lost"] == round(36 * gap["value"])
    assert between_tasks(runs / "m-1B") == {}


def test_the_mean_over_models_resamples_items_that_all_have_answered(runs):
    folders = [runs / name for name in ("m-1B", "m-7B", "m-32B")]
    known = {folder.name: results(folder) for folder in folders}
    said = [tallies(folder)["forms"] for folder in folders]
    views = views_of(known, "forms")
    average = mean_view(views, said)
    for source, one in average.by("reasoning_ifs", "source").items():
        of_each = [view.by("reasoning_ifs", "source")[source] for view in views.values()]
        assert one["value"] == pytest.approx(sum(each["value"] for each in of_each) / 3)
        assert one["n"] == 12
        assert one["low"] <= one["value"] <= one["high"]


def test_numbers_of_instructions_and_bins_are_in_order():
    estimate = {"value": 0.5, "low": None, "high": None, "n": 2}
    keys = [f"response_ifs[constraints={n}],robust" for n in (10, 2, 1)]
    view = View({"response_ifs,robust": estimate, **dict.fromkeys(keys, estimate)})
    assert list(view.by("response_ifs", "constraints")) == ["1", "2", "10"]


def test_one_turn_and_two_by_instruction(tmp_path):
    rows = tuple(row(f"c{n}", (COMMA, "reasoning")) for n in range(4))
    asked: set[str] = set()

    def script(item: str) -> str:
        follows = item == "c0" or (item in asked and item != "c3")
        asked.add(item)
        return says() if follows else says("four, five", "10")

    folder = make_evaluation(tmp_path / "run", script, Benchmark("turns", rows, "reasonif", reflects=True))
    write_report(folder)
    paired = results(folder)["paired"]["turns"]
    for key in ("reasoning_ifs", f"reasoning_ifs/{COMMA}", "accuracy"):
        metric, slash, constraint = key.partition("/")
        rules = "robust" if key == "accuracy" else "reasonif"
        gain = paired[f"{metric}_reflection{slash}{constraint},{rules}"]
        assert (gain["value"], gain["gained"], gain["lost"]) == (0.5, 2, 0)
    text = (folder / "report.md").read_text()
    assert "](report_turns_turns.png)" in text
    assert "| no comma | 25.0 %" in text


def test_waits_are_put_in_order_with_the_run_without_them_at_zero(runs, tmp_path):
    rows = [one for one in forms(4).rows if one.item_id.endswith("response")]
    items = Benchmark("mathif", tuple(rows), "mathif")
    tasks = [items, *(replace(items, name=f"mathif-wait-{n}") for n in (4, 2))]
    folder = tmp_path / "run"
    evaluate(ScriptedEngine(of_skill(0.6)), tasks, folder, SAMPLING)
    known = results(folder)
    assert not plot_waits({"a": known}, tmp_path / "none.png")
    for number in (4, 2):
        known["configs"][f"mathif-wait-{number}"]["waits"] = number
    assert plot_waits({"a": known}, tmp_path / "waits.png")
    picture = (tmp_path / "waits.svg").read_text()
    assert "SAcc on GSM8K" in picture
    assert not plot_waits({"a": results(runs / "m-1B")}, tmp_path / "other.png")


@pytest.mark.parametrize(
    ("name", "size"),
    [
        ("Qwen/Qwen3.5-0.8B", 8e8),
        ("HuggingFaceTB/SmolLM2-135M-Instruct", 135e6),
        ("Qwen/Qwen3-235B-A22B-Thinking-2507", 235e9),
        ("deepseek-ai/DeepSeek-R1-Distill-Qwen-14B", 14e9),
        ("openai/gpt-oss-20b", 20e9),
        ("runs/rif-tiny/final", None),
        ("org/model-v2", None),
    ],
)
def test_the_size_that_a_name_tells(name, size):
    assert model_size(name) == size


def test_sizes_need_two_models_that_tell_theirs(runs, tmp_path):
    known = {name: results(runs / name) for name in ("m-1B", "m-7B")}
    assert plot_sizes(known, ["forms"], tmp_path / "sizes.png")
    assert "7B" in (tmp_path / "sizes.svg").read_text()
    known["m-7B"]["model_name"] = "unknown"
    assert not plot_sizes(known, ["forms"], tmp_path / "none.png")


def test_nothing_is_drawn_of_tasks_without_instructions(tmp_path):
    folder = make_evaluation(tmp_path / "run", of_skill(0.5), replace(ITEMS, rows=ITEMS.rows[::3]))
    write_report(folder)
    assert not list(folder.glob("*.png"))


# ------------------------------------------------------------------------------------- macro averages


def test_macro_averages_are_compared_source_by_source(tmp_path):
    items = replace(ITEMS, macro=True, rows=ITEMS.rows[:-9])  # the last source has fewer items
    for name, skill in (("a", 0.5), ("b", 0.9)):
        make_evaluation(tmp_path / name, of_skill(skill), items)
    gaps = compare(tmp_path / "a", tmp_path / "b")["forms"]
    macro = gaps["accuracy_macro,robust"]
    parts = [gaps[f"accuracy[source={source}],robust"] for source in SOURCES]
    assert macro["value"] == pytest.approx(sum(part["value"] for part in parts) / 3)
    assert macro["value"] != pytest.approx(gaps["accuracy,robust"]["value"])
    assert macro["low"] < macro["value"] < macro["high"]
    assert macro["high"] - macro["low"] < max(part["high"] - part["low"] for part in parts)
    assert (macro["p_value"], macro["n"]) == (None, len(items.rows))
    values = [results(tmp_path / name)["estimates"]["forms"]["accuracy_macro,robust"] for name in "ab"]
    assert macro["value"] == pytest.approx(values[1]["value"] - values[0]["value"])
    write_comparison([tmp_path / "a", tmp_path / "b"], tmp_path / "out")
    assert f"{100 * macro['value']:+.1f} [" in (tmp_path / "out" / "report.md").read_text()


def test_without_macro_there_is_none(runs):
    tally = Tally(read_jsonl(runs / "m-1B" / "samples_forms.jsonl"))
    assert not [key for key in tally.keys if "macro" in key]


def test_the_mean_of_differences_adds_their_intervals_as_squares():
    one = paired_difference([0, 0, 1, 1, 0], [1, 0, 1, 1, 1])
    both = mean_of_differences([one, one])
    assert both.value == one.value
    assert both.value - both.low == pytest.approx((one.value - one.low) / math.sqrt(2))
    assert (both.n, both.p_value) == (10, None)
    assert mean_of_differences([]).value is None


def test_relative_changes():
    found = relative_change([1, 1, 0, 1] * 20, [1, 0, 0, 1] * 20)
    assert found.value == pytest.approx(-1 / 3)
    assert found.low < -1 / 3 < found.high < 0
    assert relative_change([0, 0], [1, 0]).value is None
    assert relative_change([0.0, 1.0], [1.0, 1.0]).low is None  # no accuracy before in a quarter of the draws
