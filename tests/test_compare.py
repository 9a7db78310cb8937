"""`riftk compare`: its statistics by hand, its YAML, what it runs and goes on with, and its page."""

from __future__ import annotations

import csv
import json
import math
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from launching import ENVIRONMENT, RECIPES
from report_runs import BREAKS, ITEMS, KEEPS, SAMPLING, WRONG, make_evaluation
from scripted import CAPITAL, COMMA, ScriptedEngine, row, says
from typer.main import get_command
from typer.testing import CliRunner

from riftk.benchmarks import Benchmark
from riftk.cli import _dashes, app
from riftk.comparing import running
from riftk.comparing.checking import check_probe
from riftk.comparing.held_out import held_out_evaluations
from riftk.comparing.matrix import Matrix, read_matrix
from riftk.comparing.plan import (
    Run,
    arguments,
    check_folders,
    command,
    last_runs,
    needed,
    plan,
    probe_command,
    shown_command,
)
from riftk.comparing.report import write_report
from riftk.evaluation import evaluate
from riftk.report import several
from riftk.report.columns import BEST, LEADS, Column, columns, leaders
from riftk.report.comparison import pareto_front
from riftk.report.several import write_sides
from riftk.report.sides import Side, side_difference
from riftk.seeds import over_seeds, t_quantile
from riftk.statistics import Difference, Estimate, proportion

CONTROLS = ("unrewritten", "shuffled", "shortened", "correct")
SHIPPED = sorted((RECIPES / "configs" / "compare").glob("*.yaml"))
CONFIGS = RECIPES / "configs"


# Statistics over seeds


def test_students_quantiles_are_those_of_the_tables():
    for freedom, quantile in {1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776, 9: 2.262, 30: 2.042}.items():
        assert t_quantile(freedom) == pytest.approx(quantile, abs=5e-4)
    assert t_quantile(7, 0.99) == pytest.approx(3.499, abs=5e-4)


def test_a_figure_over_seeds_by_hand():
    """Three runs with bounds 0.1 below and 0.2 above; averaged, items vary a third as much."""
    parts = [Estimate(value, value - 0.1, value + 0.2, 4, 0.05) for value in (0.5, 0.6, 0.7)]
    # Two items in three runs: within a run they differ by 1, their means by 1/3: a third is left.
    by_item = [{"a": 1.0, "b": 0.0}, {"a": 1.0, "b": 0.0}, {"a": 0.0, "b": 1.0}]
    found = over_seeds(parts, by_item)
    reach = 4.30265 * 0.1 / math.sqrt(3)
    assert found.value == pytest.approx(0.6)
    assert found.low == pytest.approx(0.6 - math.hypot(0.1 / 3, reach), abs=1e-5)
    assert found.high == pytest.approx(0.6 + math.hypot(0.2 / 3, reach), abs=1e-5)
    assert found.stderr == pytest.approx(math.hypot(0.05 / 3, 0.1 / math.sqrt(3)))
    assert found.n == 4
    assert over_seeds(parts, by_item, within=(0.0, 0.7)).high == 0.7


def test_items_that_all_runs_answer_alike_are_not_averaged_away():
    parts = [proportion(2, 4)] * 3
    alike = over_seeds(parts, [{"a": 1.0, "b": 1.0, "c": 0.0, "d": 0.0}] * 3)
    assert (alike.low, alike.high) == (pytest.approx(parts[0].low), pytest.approx(parts[0].high))
    assert over_seeds([proportion(0, 20)] * 3, [dict.fromkeys("abc", 0.0)] * 3).high == proportion(0, 20).high


def test_one_seed_is_what_a_single_run_says_and_gaps_stay_gaps():
    gap = Difference(0.1, 0.0, 0.2, 10, 0.05, 3, 2, 1.0)
    assert over_seeds([gap]) is gap
    merged = over_seeds([gap, replace(gap, value=0.2, low=0.1, high=0.3)])
    assert isinstance(merged, Difference)
    assert (merged.value, merged.gained, merged.p_value) == (pytest.approx(0.15), None, None)
    assert merged.low == pytest.approx(0.15 - math.hypot(0.1, 12.7062 * 0.05), abs=1e-4)
    assert over_seeds([gap, replace(gap, value=None)]).value is None
    assert over_seeds([gap, replace(gap, low=None, high=None)]).low is None
    with pytest.raises(ValueError, match="one run at least"):
        over_seeds([])


def test_the_front_holds_what_nothing_beats_in_both():
    points = {
        "low": (0.1, 0.1),
        "left": (0.2, 0.9),
        "right": (0.9, 0.2),
        "equal": (0.9, 0.1),
        "mid": (0.5, 0.5),
    }
    assert pareto_front(points) == ["left", "mid", "right"]
    assert pareto_front({"a": (0.5, 0.5), "b": (0.5, 0.5)}) == ["a", "b"]


# Evaluations over seeds


def following(many: int, wrong: int = 0) -> Callable[[str], str]:
    """Follows in the first so many of the four items about the trace; the first plain ones are wrong."""

    def script(item: str) -> str:
        number = int(item[1:])
        if item[0] == "c":
            return KEEPS if number < many else BREAKS
        return WRONG if item[0] == "p" and number < wrong else KEEPS

    return script


def sides(folder: Path, **scripts: list[Callable[[str], str]]) -> dict[str, Side]:
    found = {}
    for name, of_seeds in scripts.items():
        places = {seed: folder / name / str(seed) for seed in range(len(of_seeds))}
        for seed, script in enumerate(of_seeds):
            make_evaluation(places[seed], script)
        found[name] = Side.read(places)
    return found


def test_sides_are_means_over_seeds_and_differences_are_paired_by_seed(tmp_path):
    found = sides(tmp_path, base=[following(0)], one=[following(4), following(2), following(3)])
    base, one = found["base"], found["one"]
    key = "reasoning_ifs,robust"
    merged = one.merged()
    assert merged["estimates"]["small"][key]["value"] == pytest.approx(0.75)
    assert merged["runs"] == 3
    assert base.merged()["estimates"] == base.first["estimates"]
    gap = side_difference(base, one, "small", key)  # a single evaluation goes with every seed
    assert gap.value == pytest.approx(0.75)
    spread = 4.30265 * 0.25 / math.sqrt(3)
    assert gap.value - gap.low >= spread - 1e-4
    assert -1.0 <= gap.low <= gap.high <= 1.0
    assert side_difference(one, one, "small", key).value == 0


def test_a_column_marks_a_leader_only_where_the_interval_allows(tmp_path):
    found = sides(tmp_path, none=[following(0)], all=[following(4)], most=[following(3)])
    estimates = {name: side.merged()["estimates"]["small"] for name, side in found.items()}

    def marked(
        name: str, better: int = 1, names: tuple[str, ...] = ("none", "all", "most")
    ) -> dict[str, str]:
        column = Column("small", name, name, "following", better)
        return leaders(
            {side: found[side] for side in names}, {side: estimates[side][name] for side in names}, column
        )

    key = "reasoning_ifs,robust"
    assert marked(key) == {"all": LEADS, "most": LEADS}
    assert marked(key, names=("none", "all")) == {"all": BEST}
    assert marked(key, better=-1) == {"none": BEST}
    assert marked("accuracy,robust") == {}  # all alike
    assert marked("reasoning_tokens,none", better=0) == {}
    assert [one.name for one in columns(found["all"].first)][:2] == ["Reasoning IFS", "Response IFS"]


def test_runs_that_exist_are_collected_over_seeds(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    make_evaluation(tmp_path / "base", following(0, wrong=1))
    for seed, many in enumerate((4, 3)):
        make_evaluation(tmp_path / f"rif-{seed}", following(many))
    chosen = ["base=base", "rif=rif-0", "rif=rif-1"]
    result = CliRunner().invoke(app, ["compare", "--out", "out", *(f"--collect={one}" for one in chosen)])
    assert result.exit_code == 0, result.output
    text = Path("out/compare.md").read_text()
    assert "## Following, robust rules" in text
    assert "| rif | 87.5 %" in text.replace("*", "")
    assert "seeds: 0, 1" in text
    assert "Beaten by no other in both accuracy and reasoning IFS, by the figures alone: rif." in text
    with open("out/compare.csv", newline="") as file:
        lines = {(row["evaluation"], row["metric"], row["rules"]): row for row in csv.DictReader(file)}
    line = lines["rif", "reasoning_ifs", "robust"]
    assert (line["value"], line["runs"], line["difference_value"]) == ("0.875", "2", "0.875")
    assert lines["base", "reasoning_ifs", "robust"]["runs"] == "1"
    page = Path("out/compare.html").read_text()
    assert '"evaluations":["base","rif"]' in page
    assert page.count("<svg") >= 1
    assert Path("out/compare_small.png").is_file()


def test_sides_are_also_compared_with_others_than_the_first(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, many in {"base": 0, "control": 1, "rif": 3}.items():
        make_evaluation(tmp_path / name, following(many))
    runs = {name: name for name in ("base", "control", "rif")}
    Path("matrix.yaml").write_text(
        yaml.safe_dump({"output_dir": "out", "runs": runs, "against": ["control"]})
    )
    result = CliRunner().invoke(app, ["compare", "matrix.yaml"])
    assert result.exit_code == 0, result.output
    text = Path("out/compare.md").read_text()
    from_base, from_control = text.split("## Differences from ")[1:]
    assert from_base.startswith("base\n")
    assert "| rif | +75.0 [" in from_base
    assert from_control.startswith("control\n")
    assert "| rif | +50.0 [" in from_control
    assert "| control |" not in from_control.partition("\n## ")[0]


def test_a_table_that_would_be_too_wide_is_one_for_each_task(tmp_path, monkeypatch):
    both = [ITEMS, replace(ITEMS, name="other")]
    for name, many in {"base": 0, "rif": 3}.items():
        make_evaluation(tmp_path / name, following(many), both)
    folders = {name: {0: tmp_path / name} for name in ("base", "rif")}
    wide = write_sides(folders, tmp_path / "wide").read_text()
    assert "\n\n|  | Reasoning IFS (small) | Response IFS (small) |" in wide
    assert "\n\nIFS: share of items whose instructions are all followed. Over-application: " in wide
    assert "HAcc" not in wide
    monkeypatch.setattr(several, "WIDEST", 1)
    narrow = write_sides(folders, tmp_path / "narrow").read_text()
    for task in ("small", "other"):
        assert f"\n\nOn {task} ({len(ITEMS.rows)} items):\n\n|  | Reasoning IFS | Response IFS |" in narrow


def test_constraints_that_were_left_out_are_put_together_over_cells(tmp_path):
    """Two cells, each without one of two constraints: of each only what it was not trained on counts."""
    rows = [row(f"p{n}") for n in range(2)]
    rows += [
        row(f"{kind}{n}", (id, "reasoning")) for kind, id in (("c", COMMA), ("u", CAPITAL)) for n in range(4)
    ]
    items = Benchmark("small", tuple(rows), rules="reasonif")
    asked_more = [replace(ITEMS, name="more"), replace(items, name="other")]

    def ends(cell: Path, name: str, script: Callable[[str], str]) -> None:
        """A run that is finished; cells that leave nothing out are asked more."""
        asked = [items] if "without" in cell.parent.name else [*asked_more, items]
        evaluated = make_evaluation(cell / "eval" / name, script, asked)
        (evaluated.parents[1] / (".run.finished" if name == "after" else "results.json")).touch()

    # Without commas it follows in one item of four about commas; all those about capitals do not count.
    upper = says("FOUR, AND FIVE, MAKE NINE", "9")
    scripts = {
        "rif-without-no_comma": lambda item: {"c0": KEEPS, "u": upper}.get(
            item if item == "c0" else item[0], BREAKS
        ),
        "rif-without-english_capital": lambda item: upper if item in ("u0", "u1") else BREAKS,
    }
    cells = {"rif": [{"rif": RIF, "constraints": [COMMA, CAPITAL]}]}
    content = {"output_dir": str(tmp_path / "lab"), "cells": cells, "probe": {"tasks": "tiny"}}
    content["settings"] = SETTINGS | {"benchmarks": ["tiny", "tiny-iffr", "tiny-mathif"]}
    content["leave_out"] = {"cells": ["rif"], "benchmarks": ["tiny-mathif"]}
    matrix = read_matrix(written(tmp_path, **content))
    left = {run.stage: run.step.options.get("constraints") for run in plan(matrix)}
    of_rif = {"base": [COMMA, CAPITAL], "rif": [COMMA, CAPITAL]}
    assert left == {**of_rif, **dict(zip(scripts, ([CAPITAL], [COMMA]), strict=True))}
    assert [run.stage for run in plan(matrix) if run.probe_options] == ["base", "rif"]
    ends(tmp_path / "lab" / "base" / "seed-0", "before", lambda item: BREAKS)
    for name, script in scripts.items():
        assert held_out_evaluations(matrix, tmp_path / "held_out").keys() <= {"base"}
        ends(tmp_path / "lab" / name / "seed-0", "after", script)
    found = held_out_evaluations(matrix, tmp_path / "held_out")
    assert list(found) == ["base", "rif"]
    base, rif = (Side.read(found[name]) for name in found)
    estimates = rif.first["estimates"]["small"]
    assert estimates["reasoning_ifs,robust"]["value"] == pytest.approx(3 / 8)
    assert estimates[f"reasoning_ifs/{COMMA},robust"]["value"] == pytest.approx(1 / 4)
    assert "accuracy_plain,robust" not in estimates
    assert side_difference(base, rif, "small", "reasoning_ifs,robust").value == pytest.approx(3 / 8)
    ends(tmp_path / "lab" / "rif" / "seed-0", "after", lambda item: KEEPS)
    write_report(matrix)
    assert "without" not in (tmp_path / "lab" / "compare.md").read_text().partition("\n")[0]
    trained = (tmp_path / "lab" / "compare_left_out.md").read_text()
    assert f"# base, rif, {', '.join(scripts)}" in trained.replace("\\", "")
    assert "(other)" not in trained
    text = (tmp_path / "lab" / "compare_held_out.md").read_text()
    assert "| rif | 37.5 %" in text.replace("*", "")
    assert "left out of the training" in (tmp_path / "lab" / "compare.md").read_text()
    assert "## Differences from rif" not in text

    paper = {"paper": [{**cells["rif"][0], "batch_size": 8}]}
    content |= {"cells": cells | paper, "leave_out": {"cells": ["rif", "paper"]}, "against": ["paper"]}
    for constraint in ("no_comma", "english_capital"):
        ends(tmp_path / "lab" / f"paper-without-{constraint}" / "seed-0", "after", lambda item: BREAKS)
    write_report(read_matrix(written(tmp_path, **content)))
    text = (tmp_path / "lab" / "compare_held_out.md").read_text()
    assert "| rif | +37.5 " in text.partition("## Differences from paper")[2].replace("*", "")


def test_a_run_takes_over_what_its_start_was_asked_and_some_of_it_where_it_asks_less(tmp_path):
    matrix = written(
        tmp_path,
        output_dir=str(tmp_path / "lab"),
        settings=SETTINGS | {"benchmarks": ["tiny", "tiny-mathif"]},
        cells={"rif": [{"rif": RIF}], "few": [{"rif": RIF, "batch_size": 8}]},
    )
    last = last_runs(read_matrix(matrix))
    base, rif, few = (last[cell][0] for cell in ("base", "rif", "few"))
    less = replace(rif.step, options={**rif.step.options, "benchmarks": ["tiny-mathif"]})
    more = replace(rif.step, options={**rif.step.options, "benchmarks": ["tiny", "tiny-iffr"]})
    finished_base(base)
    taken = {
        name: [path.name for path in lent(replace(run, folder=tmp_path / name), base)]
        for name, run in {
            "rif": rif,
            "few": few,
            "less": replace(rif, step=less),
            "more": replace(rif, step=more),
        }.items()
    }
    both = ["config.json", "samples_other.jsonl", "samples_small.jsonl"]
    assert taken == {"rif": both, "few": [], "less": both[:2], "more": []}
    config = json.loads((tmp_path / "less" / "eval" / "before" / "config.json").read_text())
    assert [*config["tasks"]] == ["other"]


@pytest.mark.parametrize("temperature", [0.0, 0.5])
def test_what_is_greedy_is_asked_once_for_all_seeds(tmp_path, temperature):
    settings = SETTINGS | {"benchmarks": ["tiny", "tiny-mathif"], "eval_temperature": temperature}
    matrix = read_matrix(
        written(tmp_path, output_dir=str(tmp_path / "lab"), settings=settings, cells={"rif": [{"rif": RIF}]})
    )
    last = last_runs(replace(matrix, seeds=(0, 1)))
    first, second = last["base"].values()
    assert not lent(second, first)  # it is not finished
    finished_base(first)
    assert not lent(first, first)
    assert bool(lent(second, first)) == (temperature == 0)


def finished_base(run: Run) -> None:
    """Two benchmarks, answered by the starting checkpoint."""
    make_evaluation(run.evaluation, lambda item: KEEPS, [ITEMS, replace(ITEMS, name="other")])
    (run.folder / "results.json").touch()


def lent(run: Run, first: Run) -> list[Path]:
    """What a run is given before it starts, beside what was there."""
    before = {*run.folder.glob("eval/*/*")}
    running.lend_evaluation(run, first)
    return sorted({*run.folder.glob("eval/*/*")} - before)


def test_a_page_takes_the_tables_and_pictures_between_its_marks(tmp_path):
    (tmp_path / "out").mkdir()
    report = tmp_path / "out" / "compare.md"
    parts = [
        "# a, b",
        "## Following, robust rules",
        "|  | x |",
        "![p](compare_small.png)",
        "## Differences from a",
    ]
    table = "\n".join(["|  | y |"] * 50)
    report.write_text("\n\n".join([*parts, table, "## How a was obtained", "long ago"]) + "\n")
    (tmp_path / "out" / "compare_small.png").write_bytes(b"png")
    page = tmp_path / "docs" / "lab.md"
    page.parent.mkdir()
    page.write_text("# Lab\n\n<!-- measured: begin -->\n\nold\n\n<!-- measured: end -->\n\nAfter.\n")
    command = [sys.executable, str(RECIPES.parent / "docs" / "fill.py"), str(page), str(report)]
    for _ in range(2):  # what stood there is replaced
        subprocess.run(command, check=True)
        assert page.read_text() == (
            "# Lab\n\n<!-- measured: begin -->\n\n### Following, robust rules\n\n|  | x |\n\n"
            "![p](images/lab_compare_small.png)\n\n"
            '<details markdown="1">\n<summary>Differences from a</summary>\n\n'
            f"{table}\n\n</details>\n\n<!-- measured: end -->\n\nAfter.\n"
        )
    assert (tmp_path / "docs" / "images" / "lab_compare_small.png").read_bytes() == b"png"
    left_out = report.rename(report.with_name("compare_left_out_small.md"))
    subprocess.run([*command[:-1], str(left_out)], check=True)
    assert "### What was trained, and what was asked: small\n\n#### Following, robust" in page.read_text()
    page.write_text("no marks")
    assert subprocess.run(command, capture_output=True, check=False).returncode != 0


def test_runs_that_did_not_answer_the_same_are_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    make_evaluation(tmp_path / "a")
    make_evaluation(tmp_path / "b", items=replace(ITEMS, rows=ITEMS.rows[:-1]))
    evaluate(ScriptedEngine(following(4)), ITEMS, tmp_path / "c", replace(SAMPLING, max_tokens=128))
    for other, said in (("b", "differ in the number of items"), ("c", "max_tokens 64 and 128")):
        arguments = ["compare", "--collect", "a=a", "--collect", f"other={other}", "--out", "out"]
        result = CliRunner().invoke(app, arguments)
        assert said in str(result.exception)
        assert not Path("out").exists()
    seeds = ["--collect", "a=a", "--collect", "x=a", "--collect", "x=b", "--out", "out"]
    assert "differ in the number" in str(CliRunner().invoke(app, ["compare", *seeds]).exception)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([], "give the YAML"),
        (["none.yaml"], "none.yaml"),
        (["--collect", "a=x", "--collect", "b=y"], "name it with --out"),
        (["--collect", "a", "--out", "out"], "NAME=FOLDER, not 'a'"),
        (["--collect", "a=x", "--out", "out"], "two names at least"),
        (["--collect", "a=x", "--collect", "b=y", "--out", "out"], "holds no evaluation"),
        ([str(SHIPPED[-1]), "--collect", "a=x"], "stand under runs"),
        ([str(SHIPPED[-1]), "--only", "rlhf"], "there is no cell 'rlhf'; there are base, sft"),
        ([str(SHIPPED[-1]), "--seeds", "one"], "--seeds takes whole numbers"),
        ([str(SHIPPED[-1]), "--seeds", "1,1"], "each once"),
    ],
)
def test_mistakes_on_the_command_line_are_one_sentence(arguments, sentence, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(app, ["compare", *arguments])
    assert isinstance(result.exception, (ValueError, FileNotFoundError))
    assert sentence in str(result.exception)
    assert not list(tmp_path.iterdir())


def test_arguments_for_the_launcher_keep_their_underscores():
    said = "--config_file accelerate_configs/zero3.yaml"
    assert _dashes(said) == said
    assert _dashes("--dry_run") == "--dry-run"


# The YAML, and what is made of it

RIF = str(CONFIGS / "rif" / "tiny.yaml")
RL = str(CONFIGS / "cold_rl" / "tiny.yaml")
CELLS = {
    "rif": [{"rif": RIF}],
    "rif+rl": [{"rif": RIF}, {"cold_rl": RL, "max_steps": 2}],
    "long+rl": [{"rif": RIF, "num_train_epochs": 8}, {"cold_rl": RL, "max_steps": 2}],
}
SETTINGS = {"benchmarks": ["tiny"], "eval_limit": 12}


def written(folder: Path, **content) -> str:
    whole = {"model_name_or_path": "pkg://riftk.tiny/weights/base", "output_dir": "runs/x"}
    whole |= {"settings": SETTINGS, "cells": CELLS, **content}
    path = folder / "matrix.yaml"
    kept = {name: value for name, value in whole.items() if value is not None}
    path.write_text(yaml.safe_dump(kept, sort_keys=False))
    return str(path)


def test_cells_that_begin_alike_share_their_first_run(tmp_path):
    matrix = read_matrix(written(tmp_path, seeds=[0, 7]))
    names = ["base", "rif", "rif+rl", "long+rl.1", "long+rl"]
    assert [run.name for run in plan(matrix)] == [f"{name}, seed {seed}" for seed in (0, 7) for name in names]
    runs = {run.name: run for run in plan(matrix)}
    assert runs["rif+rl, seed 7"].before is runs["rif, seed 7"]
    assert runs["rif, seed 0"].before is runs["base, seed 0"]
    last = last_runs(matrix)["rif+rl"][0]
    assert last.folder == Path("runs/x/rif+rl/seed-0")
    assert last.evaluation == last.folder / "eval" / "after"
    assert last_runs(matrix)["base"][7].evaluation == Path("runs/x/base/seed-7/eval/before")
    chosen = [run.name for run in needed(matrix, ["rif+rl"])]
    assert chosen == [f"{name}, seed {seed}" for seed in (0, 7) for name in ("base", "rif", "rif+rl")]


def test_a_run_is_its_recipe_with_its_configuration_and_what_the_matrix_says(tmp_path):
    launcher = ["--config_file", "pkg://riftk.accelerate_configs/cpu.yaml"]
    settings = {**SETTINGS, "bf16": False, "lr_scheduler_kwargs": {"a": 1}}
    matrix = read_matrix(written(tmp_path, launcher=launcher, settings=settings))
    base, rif, rl = plan(matrix)[:3]
    assert arguments(matrix, base)[-2:] == ["--stages", "eval"]
    assert arguments(matrix, rl) == [
        "--config", RL, "--benchmarks", "tiny", "--eval_limit", "12", "--bf16", "false",
        "--lr_scheduler_kwargs", '{"a": 1}', "--max_steps", "2", "--seed", "0",
        "--output_dir", "runs/x/rif+rl/seed-0", "--model_name_or_path", "runs/x/rif/seed-0",
    ]  # fmt: skip
    assert arguments(matrix, rif)[-1] == "pkg://riftk.tiny/weights/base"
    said = shown_command(matrix, rif)
    assert re.match(
        r"accelerate launch --quiet --config_file \S+/accelerate_configs/cpu.yaml \S+/rif.py ", said
    )
    assert command(matrix, rif)[0] == sys.executable


def test_word_limits_are_measured_once_and_are_those_of_every_run(tmp_path):
    matrix = read_matrix(written(tmp_path, seeds=[3, 4], settings={"benchmarks": ["reasonif"]}))
    limits = {run.name: "--limits" in arguments(matrix, run) for run in plan(matrix)}
    assert [name for name, given in limits.items() if not given] == ["base, seed 3"]
    said = arguments(matrix, plan(matrix)[-1])
    assert said[said.index("--limits") + 1] == "runs/x/base/seed-3/limits/limits.json"
    given = read_matrix(written(tmp_path, settings={"benchmarks": ["reasonif"], "limits": "dataset"}))
    assert all("dataset" in arguments(given, run) for run in plan(given))


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ({"seed": 1}, "there is no 'seed'"),
        ({"output_dir": None}, "output_dir is missing"),
        ({"model_name_or_path": None}, "model_name_or_path is missing"),
        ({"settings": {}}, "name no benchmarks"),
        ({"settings": {**SETTINGS, "seed": 1}}, "seed is said to each recipe"),
        ({"seeds": [0, 0]}, "each once"),
        ({"seeds": "three"}, "whole numbers"),
        ({"cells": {"a b": []}}, "'a b' is no name"),
        ({"cells": {"base": []}}, "no cell trains anything"),
        ({"cells": {**CELLS, "a": [], "b": []}}, "a and b are both the starting model"),
        ({"cells": {"x": ["rif.yaml"]}}, "each `{RECIPE: CONFIG.yaml, option: value}`"),
        ({"cells": {"x": [{"ppo": RIF}]}}, "rif, sft, cold_rl"),
        ({"cells": {"x": [{"rif": "no.yaml"}]}}, "there is no file"),
        ({"cells": {"x": [{"rif": "pkg://riftk.recipes/configs/no.yaml"}]}}, "no such file"),
        (
            {"cells": {**CELLS, "odd": [{"rif": RIF, "eval_temperature": 0.7}]}},
            "rif and odd differ in eval_temperature (0.0 and 0.7)",
        ),
        ({"runs": {"rif": "runs/old"}}, "rif is a cell and a run"),
        ({"runs": {"old": []}}, "a list with one for each seed"),
        ({"against": ["rof"]}, "against names 'rof', which is neither a cell nor a run"),
        ({"probe": {"model": "x"}}, "model is said to riftk probe"),
        ({"probe": ["tiny"]}, "probe takes options of riftk probe"),
        ({"against": "rif"}, "against takes a list of different names"),
        ({"leave_out": ["rif"]}, "leave_out takes cells and benchmarks"),
        ({"leave_out": {"cells": ["rif", "rif"]}}, "cells of leave_out takes a list of different names"),
        ({"leave_out": {"cells": ["rif"], "benchmarks": ["tini"]}}, "leave_out asks tini, which is none of"),
        ({"leave_out": {"cells": ["rof"]}}, "leave_out names 'rof', which is no cell that is trained"),
        (
            {"leave_out": {"cells": ["base"]}, "cells": {**CELLS, "base": []}},
            "'base', which is no cell that is trained",
        ),
        (
            {"leave_out": {"cells": ["x"]}, "cells": {"x": [{"rif": RIF, "constraints": [COMMA]}]}},
            "two constraints or more",
        ),
        (
            {"leave_out": {"cells": ["rif"]}, "cells": {**CELLS, "rif-without-no_comma": [{"rif": RIF}]}},
            "would have taken names",
        ),
    ],
)
def test_a_matrix_that_cannot_be_compared_is_refused(content, sentence, tmp_path):
    with pytest.raises((ValueError, FileNotFoundError), match=re.escape(sentence)):
        read_matrix(written(tmp_path, **content))


def test_the_base_comes_first_and_may_have_a_name_of_its_own(tmp_path):
    assert list(read_matrix(written(tmp_path)).cells) == ["base", *CELLS]
    assert list(read_matrix(written(tmp_path, cells={**CELLS, "start": []})).cells) == ["start", *CELLS]


def test_a_folder_of_another_configuration_is_not_taken_for_this_one(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    matrix = written(tmp_path)
    run = plan(read_matrix(matrix))[2]
    run.folder.mkdir(parents=True)
    kept = {"max_steps": 2, "eval_limit": 12, "eval_temperature": 0, "benchmarks": ["tiny"], "seed": 0}
    (run.folder / "config.yaml").write_text(yaml.safe_dump(kept))
    check_folders([run])
    (run.folder / "config.yaml").write_text(yaml.safe_dump(kept | {"max_steps": 5}))
    result = CliRunner().invoke(app, ["compare", matrix, "--dry-run"])
    assert "rif+rl/seed-0 was made with another configuration (max_steps: 5 -> 2)" in str(result.exception)


def test_after_an_error_of_its_own_nothing_more_is_started(tmp_path, monkeypatch):
    cells = {f"rif-{rows}": [{"rif": RIF, "num_rows": rows}] for rows in range(20, 30)}
    runs = plan(read_matrix(written(tmp_path, output_dir=str(tmp_path / "lab"), cells=cells)))
    began = []

    def work(matrix: Matrix, run: Run, first: Run, where: str, jobs: int) -> bool:
        began.append(run.name)
        if run.trains:
            time.sleep(0.2)  # as long as it takes to notice the first error, many times over
            raise OSError("no space left on device")
        run.folder.mkdir(parents=True)
        (run.folder / "results.json").touch()
        return True

    monkeypatch.setattr(running, "_run", work)
    with pytest.raises(OSError, match="no space left"):
        running.run_all(read_matrix(str(tmp_path / "matrix.yaml")), runs, 1)
    assert len(began) < len(runs)


@pytest.mark.parametrize("jobs", [1, 2, 5])
def test_runs_stand_side_by_side_but_behind_what_they_need(jobs, tmp_path, monkeypatch):
    cells = {"rif": [{"rif": RIF}], "rif+rl": [{"rif": RIF}, {"cold_rl": RL}], "rl": [{"cold_rl": RL}]}
    matrix = read_matrix(written(tmp_path, output_dir=str(tmp_path / "lab"), cells=cells, seeds=[0, 1]))
    runs = plan(matrix)
    began: list[str] = []
    ended: list[str] = []
    most = 0

    def work(matrix: Matrix, run: Run, first: Run, where: str, jobs: int) -> bool:
        nonlocal most
        assert run.before is None or run.before.name in ended
        assert run is runs[0] or runs[0].name in ended
        began.append(run.name)
        most = max(most, len(began) - len(ended))
        time.sleep(0.05)
        ended.append(run.name)
        if run.name == "rl, seed 1":
            return False
        run.folder.mkdir(parents=True)
        (run.folder / (".run.finished" if run.trains else "results.json")).touch()
        return True

    monkeypatch.setattr(running, "_run", work)
    assert [run.name for run in running.run_all(matrix, runs, jobs)] == ["rl, seed 1"]
    assert sorted(ended) == sorted(run.name for run in runs)
    assert min(jobs, 3) <= most <= jobs  # behind the first run: two of its cells, and the next seed's base


def test_probes_are_part_of_a_run_and_their_options_are_checked(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    matrix = read_matrix(written(tmp_path, probe={"tasks": "tiny", "limit": 8}))
    base, rif, *_ = plan(matrix)
    for run, model in ((base, matrix.model), (rif, f"{rif.folder}/final")):
        said = probe_command(matrix, run)
        assert said[said.index("probe") + 1 :][:5] == [
            str(run.evaluation), "--model", model, "--out", str(run.folder / "probe"),
        ]  # fmt: skip
        assert said[-4:] == ["--tasks", "tiny", "--limit", "8"]
    rif.folder.mkdir(parents=True)
    (rif.folder / ".run.finished").touch()
    assert rif.is_finished
    assert not rif.is_complete
    rif.probe.mkdir()
    rif.mark_probed()
    assert rif.is_complete
    other = read_matrix(written(tmp_path, probe={"tasks": "tiny", "limit": 9}))
    (rif.folder / "config.yaml").write_text("seed: 0\n")
    with pytest.raises(ValueError, match="was made with other options"):
        check_folders(plan(other))


@pytest.mark.parametrize(
    ("probe", "sentence"),
    [
        ({"task": "tiny"}, "No such option: --task"),
        ({"limit": "many"}, "unable to parse string as an integer"),
        ({"tasks": ["tiny", "tiny-mathif"]}, "there is no task 'tiny-mathif'; the benchmarks' are tiny"),
    ],
)
def test_options_of_a_probe_are_tried_before_anything_runs(probe, sentence, tmp_path):
    matrix = read_matrix(written(tmp_path, probe=probe))
    with pytest.raises(ValueError, match=re.escape(sentence)):
        check_probe(matrix, plan(matrix)[0], get_command(app).commands["probe"])
    result = CliRunner().invoke(app, ["compare", str(tmp_path / "matrix.yaml"), "--dry-run"])
    assert sentence in str(result.exception)


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_every_shipped_matrix_has_a_dry_run(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(app, ["compare", str(path), "--dry-run"])
    assert result.exit_code == 0, result.output + repr(result.exception)
    matrix = read_matrix(str(path))
    for run in plan(matrix):
        assert f"{run.name}: to do" in result.output
        assert re.search(rf"^{re.escape(run.stage)}: .*(out of reach|are good)", result.output, re.MULTILINE)
    assert not list(tmp_path.iterdir())


def test_the_shipped_matrices_are_the_papers_tables_the_laboratory_and_the_evidence():
    cells = {path.stem: list(read_matrix(str(path)).cells) for path in SHIPPED}
    assert cells.keys() == {"evidence", "mathif_table4", "mathif_table5", "reasonif_table3", "tiny"}
    controls = [f"rif-{control}" for control in CONTROLS]
    assert len(cells["evidence"]) == 13 + 4 * 5
    assert cells["evidence"][:9] == ["base", "rif", "rif-general", "paper", "metr", *controls]
    assert cells["mathif_table4"] == ["base", "sft", "sft+rl", "cold-rl", "cold-rl+format"]
    assert cells["mathif_table5"] == ["original", *(f"cold-rl-{length}k" for length in (1, 2, 4, 8))]
    assert cells["reasonif_table3"] == ["base", "rif", "rif-long"]
    assert cells["tiny"] == [
        "base", "sft", "sft+rl", "cold-rl", "cold-rl+format", "cold-rl+instruction", "rif", "rif+rl"
    ]  # fmt: skip


# For real: killed, gone on with, and one cell that fails


def start(folder: Path, *options: str) -> subprocess.Popen[str]:
    arguments = [sys.executable, "-m", "riftk.cli", "compare", "matrix.yaml", *options]
    environment = {**os.environ, **ENVIRONMENT}
    return subprocess.Popen(
        arguments, cwd=folder, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_a_killed_comparison_goes_on_and_a_failing_cell_stops_no_other(tmp_path):
    short = {"max_steps": 2, "num_rows": 24}
    rl = {"cold_rl": RL, **short, "num_generations": 4, "per_device_train_batch_size": 8, "eval_steps": 0}
    cells = {
        "rif": [{"rif": RIF, **short}],
        # A run that could not learn: its responses are all cut off, and the recipe stops before it trains.
        "broken": [{**rl, "max_completion_length": 2}],
        "broken+rif": [{**rl, "max_completion_length": 2}, {"rif": RIF, **short}],
        "rif+rl": [{"rif": RIF, **short}, {**rl, "skip_preflight": True}],
    }
    settings = {"benchmarks": ["tiny", "tiny-mathif"], "eval_limit": 12, "batch_size": 12}
    probe = {"tasks": "tiny", "limit": 6, "max_tokens": 60, "batch_size": 32}
    written(tmp_path, output_dir="lab", cells=cells, settings=settings, probe=probe)
    lab = tmp_path / "lab"

    process = start(tmp_path)
    while not (lab / "rif" / "seed-0" / "config.yaml").is_file():  # its recipe is at work
        assert process.poll() is None, process.communicate()[0]
        time.sleep(0.05)
    os.kill(process.pid, signal.SIGKILL)  # it alone: what it started must not outlive it
    process.communicate()
    first = (lab / "base" / "seed-0" / "results.json").stat().st_mtime_ns

    process = start(tmp_path, "--jobs", "2")
    said = process.communicate(timeout=900)[0]
    assert process.returncode == 1, said
    assert "[1/5] base, seed 0: finished\n" in said
    assert (lab / "base" / "seed-0" / "results.json").stat().st_mtime_ns == first
    assert re.search(r"broken, seed 0: FAILED .*broken-seed-0.log ends:\n( {4}.*\n)+", said)
    assert "cut off" in said.partition("FAILED")[2].partition("[4/5]")[0]
    assert "broken+rif, seed 0: not started, because broken, seed 0 failed" in said
    assert "rif+rl, seed 0: finished after" in said
    assert "2 of 5 runs are not finished: broken, seed 0, broken+rif, seed 0" in said

    # What the former model was asked is not asked again.
    for cell, former in (("rif", "base/seed-0/eval/before"), ("rif+rl", "rif/seed-0/eval/after")):
        lent = lab / cell / "seed-0" / "eval" / "before"
        name = "samples_tiny.jsonl"
        assert (lent / name).read_bytes() == (lab / former / name).read_bytes()
        date = json.loads((lent / "config.json").read_text())["date"]
        assert date == json.loads((lab / former / "config.json").read_text())["date"]

    text = (lab / "compare.md").read_text()
    assert "Not finished, and therefore not in here: broken (seed 0), broken+rif (seed 0)." in text
    for column in ("HAcc (tiny-mathif)", "SAcc (tiny-mathif)", "Reasoning IFS (tiny)"):
        assert f"| {column} |" in text
    # Too wide for one table.
    assert re.search(r"\n\nOn tiny \(\d+ items\):\n\n\|  \| Accuracy \| Joint, reasoning \|", text)
    assert (lab / "compare.html").is_file()
    assert "What answers owe to the traces" in text
    assert "| 0 % of the trace |" in (lab / "compare_probe.md").read_text()
    process = start(tmp_path, "--only", "rif+rl")
    said = process.communicate(timeout=300)[0]
    assert process.returncode == 0, said
    assert said.strip().endswith("lab/compare.md")
