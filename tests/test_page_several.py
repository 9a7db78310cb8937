"""`riftk report`: one run again, several side by side, and what is refused."""

from __future__ import annotations

import csv
import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from report_runs import ITEMS, before, make_evaluation, make_run
from typer.testing import CliRunner

from riftk.cli import app
from riftk.report import compare, write_comparison, write_report
from riftk.report.several import name_evaluations
from riftk.report.training import plot_training, training_log


@pytest.fixture(scope="module")
def runs(tmp_path_factory) -> Path:
    """Two runs from one model, and an evaluation of it under other limits on tokens."""
    folder = tmp_path_factory.mktemp("runs")
    make_run(folder / "first")
    make_run(folder / "second", {"after": before})
    make_evaluation(folder / "other", before, items=replace(ITEMS, rows=ITEMS.rows[:6]))
    return folder


def rows(path: Path) -> list[dict[str, str]]:
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_everything_is_made_again_from_the_folder(runs, tmp_path):
    run = shutil.copytree(runs / "first", tmp_path / "run")
    write_report(run)
    names = ["report.md", "report.html", "report.csv", "report_small.png", "report_small.svg",
             "report_training.png", "report_training.svg", "results.json", "final/README.md"]  # fmt: skip
    first = {name: (run / name).read_bytes() for name in names}
    for name in names:
        (run / name).unlink()
    result = CliRunner().invoke(app, ["report", str(run)])
    assert result.exit_code == 0, result.output
    assert {name: (run / name).read_bytes() for name in names} == first


def test_the_csv_holds_every_figure_and_difference(runs, tmp_path):
    run = shutil.copytree(runs / "first", tmp_path / "run")
    write_report(run)
    found = {(r["evaluation"], r["task"], f"{r['metric']},{r['rules']}"): r for r in rows(run / "report.csv")}
    report = json.loads((run / "results.json").read_text())
    for when in ("before", "after"):
        for key, estimate in report[when]["estimates"]["small"].items():
            line = found[when, "small", key]
            for name in ("value", "low", "high", "n"):
                assert line[name] == ("" if estimate[name] is None else str(estimate[name]))
            assert line["model"] == f"model-{when}"
    gap = report["differences"]["small"]["reasoning_ifs,robust"]
    line = found["after", "small", "reasoning_ifs,robust"]
    assert (line["difference_value"], line["gained"]) == (str(gap["value"]), str(gap["gained"]))
    assert found["before", "small", "reasoning_ifs,robust"]["difference_value"] == ""


def test_several_runs_stand_side_by_side_with_differences_from_the_first(runs, tmp_path):
    named = [runs / "first" / "eval" / "before", runs / "first", runs / "second"]
    out = write_comparison(named, tmp_path / "out").parent
    text = (out / "report.md").read_text()
    gap = compare(named[0], runs / "first" / "eval" / "after")["small"]["reasoning_ifs,robust"]
    assert f"{100 * gap['value']:+.1f}" in text.split("## Differences from first (before)")[1]
    assert text.count("| first (before) | 25.0 %") == 2  # robust rules, and the published ones
    assert "- **first**: " in text
    assert (out / "report_small.svg").is_file()
    table = rows(out / "report.csv")
    assert {line["evaluation"] for line in table} == {"first (before)", "first", "second"}
    page = (out / "report.html").read_text()
    assert '"evaluations":["first (before)","first","second"]' in page


def test_runs_that_did_not_do_the_same_are_refused_and_shown_only_when_asked(runs, tmp_path):
    named = [str(runs / "first"), str(runs / "other"), "--out", str(tmp_path / "out")]
    refused = CliRunner().invoke(app, ["report", *named])
    assert isinstance(refused.exception, ValueError)
    assert "of small and cannot be compared; --side-by-side shows them" in str(refused.exception)
    assert not (tmp_path / "out").exists()
    shown = CliRunner().invoke(app, ["report", *named, "--side-by-side"])
    assert shown.exit_code == 0, shown.output
    text = (tmp_path / "out" / "report.md").read_text()
    assert text.count("\nNot compared: ") == 1
    assert "Differences" not in text
    assert "rose" not in text
    assert all(not line["difference_value"] for line in rows(tmp_path / "out" / "report.csv"))


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["first", "second"], "name it with --out"),
        (["first", "--out", "x"], "go with several runs"),
        (["first", "first", "--out", "x"], "named twice"),
        (["first", "none", "--out", "x"], "holds no evaluation"),
    ],
)
def test_mistakes_are_one_sentence(runs, arguments, sentence, monkeypatch):
    monkeypatch.chdir(runs)
    result = CliRunner().invoke(app, ["report", *arguments])
    assert isinstance(result.exception, (ValueError, FileNotFoundError))
    assert sentence in str(result.exception)
    assert not Path("x").exists()


def test_names_are_as_short_as_they_can_be(tmp_path):
    for name in ("a/x", "b/x", "b/y"):
        (tmp_path / name / "eval" / "after").mkdir(parents=True)
        (tmp_path / name / "eval" / "after" / "config.json").touch()
    named = name_evaluations(tmp_path / name for name in ("a/x", "b/x"))
    assert list(named) == ["a/x", "b/x"]
    assert list(name_evaluations(tmp_path / name for name in ("a/x", "b/y"))) == ["x", "y"]


def test_the_longest_log_of_the_trainer_is_drawn(tmp_path):
    run = make_run(tmp_path / "run")
    assert [entry["step"] for entry in training_log(run)] == [5, 10, 15]
    log = [{"step": step, "loss": 1.0, "rewards/a/mean": 0.5, "rewards/b/mean": 0.1} for step in range(9)]
    state = {"global_step": 9, "log_history": log}
    (run / "checkpoints" / "trainer_state.json").write_text(json.dumps(state))
    assert training_log(run) == log
    assert plot_training(training_log(run), tmp_path / "training.png")
    picture = (tmp_path / "training.svg").read_text()
    assert all(f">{title}</text>" in picture for title in ("loss", "reward", "a", "b"))
    assert not plot_training(log[:1], tmp_path / "none.png")
    assert training_log(tmp_path) == []
