"""Write the report of a run folder: `results.json`, `report.md`, `report.html`, `report.csv`, pictures, and
the card of the trained model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from riftk.evaluation import refresh, sample_files
from riftk.files import write_json, write_text
from riftk.report.card import write_card
from riftk.report.comparison import compare, conclusion, headline
from riftk.report.curves import collect_way, plot_way
from riftk.report.examples import examples
from riftk.report.flat import render_csv
from riftk.report.html import render_page
from riftk.report.markdown import column, evaluations, heading, render
from riftk.report.pictures import draw
from riftk.report.plots import plot, read_pictures
from riftk.report.prompts import between_tasks, plot_prompts
from riftk.report.traces import LIMITS, Limits, collect_traces
from riftk.report.training import plot_training, training_log
from riftk.report.trends import plot_waits
from riftk.report.views import views_of


def write_report(run_dir: str | Path, limits: Limits = LIMITS) -> Path:
    """Write a run's report and return the path of `report.md`.

    Everything is made again from the stored samples, so that results, report and picture cannot disagree.

    Args:
        run_dir: run folder with `eval/before` and `eval/after`, or one of the two; or a single evaluation
            folder, whose own `results.json` then stays as it is.
        limits: how many of the samples `report.html` holds.

    Raises:
        FileNotFoundError: there is no evaluation in it.
        ValueError: an evaluation is incomplete, or the two cannot be compared.
    """
    run = Path(run_dir)
    folders = {when: run / "eval" / when for when in ("before", "after")}
    folders = {when: folder for when, folder in folders.items() if (folder / "config.json").is_file()}
    whole_run = bool(folders)
    if not whole_run:
        folders = {"after": run}
    report = collect(folders)
    for task in report["after"]["estimates"]:
        name = f"report_{task}.png"
        if plot(report, task, run / name):
            report["plots"][task] = name
    _add_pictures(report, run)
    if whole_run:
        _add_training(report, run)
        write_json(run / "results.json", report)
    columns = {column(report, when): report[when] for when in evaluations(report)}
    differences = {column(report, "after"): report["differences"]}
    write_text(run / "report.csv", render_csv(columns, differences))
    markdown = render(report)
    write_text(run / "report.md", markdown)
    samples = dict(zip(columns, map(sample_files, folders.values()), strict=True))
    pictures = [*report["plots"].values(), *report.get("way_plots", {}).values()]
    pictures += [name for drawn in report["pictures"].values() for name in drawn.values()]
    pictures += [*report["between_plots"].values(), report.get("waits_plot"), report.get("training_plot")]
    traces = collect_traces(samples, limits)
    write_text(
        run / "report.html",
        render_page(heading(report), markdown, read_pictures(run, filter(None, pictures)), traces),
    )
    if whole_run and "after" in folders:
        write_card(run, report)
    return run / "report.md"


def _add_pictures(report: dict[str, Any], run: Path) -> None:
    """The papers' figures, as far as the data give them: by parts of the items, turns, other prompts."""
    sides = {column(report, when): report[when] for when in evaluations(report)}
    for task in report["after"]["estimates"]:
        report["pictures"][task] = draw(views_of(sides, task), task, run, "report")
    for task, others in report["between"].items():
        name = f"report_{task}_prompts.png"
        if plot_prompts(task, others, report["after"]["configs"][task]["rules"][0], run / name):
            report["between_plots"][task] = name
    if plot_waits(sides, run / "report_waits.png"):
        report["waits_plot"] = "report_waits.png"


def _add_training(report: dict[str, Any], run: Path) -> None:
    """What a run left of its training: the trainer's log, the curve over development items, alarms."""
    if (log := training_log(run)) and plot_training(log, run / "report_training.png"):
        report["training_plot"] = "report_training.png"
    if way := collect_way(run):
        report["way"], report["way_plots"] = way, {}
        for task in way["curve"][0]["estimates"] if way["curve"] else ():
            report["way_plots"][task] = f"report_{task}_way.png"
            plot_way(way, task, run / report["way_plots"][task])


def collect(folders: dict[str, Path]) -> dict[str, Any]:
    """The data of a report.

    Args:
        folders: evaluation folders by name, "before" and "after"; a single one counts as "after".

    Returns:
        `before` and `after` (each a `results.json`), paired `differences`, `conclusions` and `examples` per
        task, differences `between` tasks that ask the same items in another way, and empty `plots`,
        `pictures` and `between_plots` for the names of pictures.
    """
    if len(folders) == 1:
        folders = {"after": next(iter(folders.values()))}
    report: dict[str, Any] = {when: refresh(folder) for when, folder in folders.items()}
    report |= {"differences": {}, "conclusions": {}, "examples": {}, "plots": {}, "pictures": {}}
    report |= {"between": between_tasks(folders["after"]), "between_plots": {}}
    if len(folders) == 2:
        report["differences"] = compare(folders["before"], folders["after"])
        report["conclusions"] = {task: conclusion(gaps) for task, gaps in report["differences"].items()}
    files = {when: sample_files(folder) for when, folder in folders.items()}
    for task, estimates in report["after"]["estimates"].items():
        of_task = {when: paths[task] for when, paths in files.items()}
        report["examples"][task] = examples(of_task, headline(estimates).get("IFS"))
    return report
