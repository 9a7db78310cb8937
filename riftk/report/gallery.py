"""The papers' figures over several evaluations: what a report of several runs shows beside its tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from riftk.evaluation import Tally
from riftk.report.averages import mean_table, mean_view
from riftk.report.pictures import draw, images
from riftk.report.text import inline
from riftk.report.trends import plot_sizes, plot_waits
from riftk.report.views import views_of
from riftk.report.within import cost_table

FEWEST = 3  # evaluations that a mean over them is given of


@dataclass(frozen=True)
class Gallery:
    """Parts of a report in Markdown, and the files of their pictures."""

    parts: Sequence[str] = ()
    files: Sequence[str] = ()


def make_gallery(
    evaluations: Mapping[str, Mapping[str, Any]],
    tallies: Mapping[str, Mapping[str, Tally]],
    out: Path,
    stem: str,
) -> Gallery:
    """Draw every picture that the evaluations give.

    Args:
        evaluations: content of each `results.json`, by name.
        tallies: what each one's samples say, by task.
        out, stem: where the pictures go, and how their names begin.
    """
    parts, files = [], []
    tasks = list(dict.fromkeys(task for one in evaluations.values() for task in one["estimates"]))
    for task in tasks:
        views = views_of(evaluations, task)
        average = None
        if len(views) >= FEWEST:
            average = mean_view(views, [tallies[name][task] for name in views])
            views |= {f"mean of {len(views)}": average} if average.estimates else {}
        drawn = draw(views, task, out, stem, several=True)
        of_task = f" ({inline(task)})" if len(tasks) > 1 else ""
        if drawn:
            parts += [f"## In pictures{of_task}", *images(drawn, task)]
            files += drawn.values()
        if average and (told := mean_table(average, len(views) - 1)):
            parts += [f"## Mean over the evaluations, by source{of_task}", told]
        with_task = {name: results for name, results in evaluations.items() if task in results["estimates"]}
        if costs := cost_table({inline(name): results for name, results in with_task.items()}, task):
            parts += [f"## What instructions cost, by source{of_task}", costs]
    for name, title, is_drawn in (
        ("sizes", "Against the size of the model", plot_sizes(evaluations, tasks, out / f"{stem}_sizes.png")),
        ("waits", "Traces prolonged by Wait", plot_waits(evaluations, out / f"{stem}_waits.png")),
    ):
        if is_drawn:
            parts += [f"## {title}", f"![{title}]({stem}_{name}.png)"]
            files.append(f"{stem}_{name}.png")
    return Gallery(parts, files)
