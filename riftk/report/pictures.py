"""Which pictures a report has beside its first one: those of the papers' figures that its data can give."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from riftk.report.models import plot_constraint_map, plot_following
from riftk.report.parts import plot_constraints, plot_cost, plot_lengths, plot_quadrants, plot_source
from riftk.report.sources import plot_correlation, plot_targets
from riftk.report.text import inline
from riftk.report.turns import plot_turns
from riftk.report.views import View

Plot = Callable[[Mapping[str, View], str, Path], bool]

# Name in the file's name -> what draws it, and what it shows. Those of a single evaluation and of several.
PICTURES: dict[str, tuple[Plot, str]] = {
    "source": (plot_source, "Following and accuracy by source"),
    "cost": (plot_cost, "What instructions cost, by source"),
    "targets": (plot_targets, "Following in the reasoning against the response, by source"),
    "correlation": (plot_correlation, "Following against accuracy, by source"),
    "constraints": (plot_constraints, "Following by number of instructions"),
    "lengths": (plot_lengths, "Following by length of the reasoning"),
    "quadrants": (plot_quadrants, "Correct and followed"),
    "turns": (plot_turns, "One turn and two"),
}
# Those that say something only of several.
OF_SEVERAL: dict[str, tuple[Plot, str]] = {
    "following": (plot_following, "Following, published rules"),
    "map": (plot_constraint_map, "Following by instruction, published rules"),
}


def draw(
    views: Mapping[str, View], task: str, folder: Path, stem: str, *, several: bool = False
) -> dict[str, str]:
    """Draw what the data of a task give.

    Args:
        views: the task of each evaluation, by what a legend calls it.
        task: its name.
        folder, stem: where the PNG and SVG go, `<stem>_<task>_<picture>.png`.
        several: whether the evaluations are of several runs.

    Returns:
        Names of the files by the picture's name.
    """
    drawn = {}
    for name, (plot, _) in {**(OF_SEVERAL if several else {}), **PICTURES}.items():
        file = f"{stem}_{task}_{name}.png"
        if plot(views, task, folder / file):
            drawn[name] = file
    return drawn


def images(drawn: Mapping[str, str], task: str, names: Iterable[str] | None = None) -> list[str]:
    """Pictures in Markdown, those that are named and were drawn."""
    captions = {name: caption for name, (_, caption) in {**OF_SEVERAL, **PICTURES}.items()}
    chosen = drawn if names is None else [name for name in names if name in drawn]
    return [f"![{captions[name]}: {inline(task)}]({drawn[name]})" for name in chosen]
