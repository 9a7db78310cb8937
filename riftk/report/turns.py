"""One turn against two (ReasonIF, Figures 6 and 10)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from riftk.report.comparison import keys_between
from riftk.report.figures import (
    GREY,
    draw_estimates,
    headed,
    named_legend,
    new_figure,
    plain,
    save,
    titled,
)
from riftk.report.views import View, has_value

FIRST = "_first_turn"


def plot_turns(views: Mapping[str, View], task: str, path: Path) -> bool:
    """Accuracy and reasoning IFS after one turn and after two, and IFS by instruction; a panel for each
    evaluation. False, and nothing drawn, where no second turn was asked."""
    found = {name: rows for name, view in views.items() if (rows := turn_rows(view))}
    if not found:
        return False
    most = max(map(len, found.values()))
    figure = new_figure(4.6 * len(found) + 1.2, 1.4 + 0.42 * most)
    axes = figure.subplots(1, len(found), squeeze=False)[0]
    for axis, (name, rows) in zip(axes, found.items(), strict=True):
        for place, pair in enumerate(rows.values()):
            _pair(axis, place, [views[name].estimates[key] for key in pair])
        axis.set_yticks(range(len(rows)), list(rows), fontsize=8, parse_math=False)
        axis.invert_yaxis()
        axis.set(xlim=(-3, 103), xlabel="% (95 % interval)")
        titled(axis, name)
        plain(axis, grid="x")
    published = next(iter(views.values())).published
    headed(figure, f"{task}: one turn and two, rules {published}")
    named_legend(figure, axes[0], "outside lower center", columns=2)
    save(figure, path)
    return True


def _pair(axis: Any, place: int, pair: Sequence[Mapping[str, Any]]) -> None:
    """A figure after one turn and, a little lower, after two, joined by a line."""
    heights = (place - 0.12, place + 0.12)
    axis.plot([100 * one["value"] for one in pair], heights, color=GREY, linewidth=0.8)
    for number, (one, label) in enumerate(zip(pair, ("one turn", "two turns"), strict=True)):
        draw_estimates(axis, [(heights[number], one)], number, label=label, across=True)


def turn_rows(view: View) -> dict[str, tuple[str, str]]:
    """Keys of a figure after the first turn and after the last, by what it is called."""
    rules, estimates = view.published, view.estimates
    rows = {"accuracy": f"accuracy{FIRST},{rules}", "reasoning IFS": f"reasoning_ifs{FIRST},{rules}"}
    if rows["accuracy"] not in estimates:
        rows["accuracy"] = f"accuracy{FIRST},robust"
    found = keys_between(estimates, f"reasoning_ifs{FIRST}/", f",{rules}")
    rows |= {name.rpartition(":")[2].replace("_", " "): key for name, key in found.items()}
    pairs = {name: (key, key.replace(FIRST, "")) for name, key in rows.items()}
    return {name: pair for name, pair in pairs.items() if all(has_value(estimates.get(key)) for key in pair)}
