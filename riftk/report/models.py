"""Pictures that put several models beside each other (ReasonIF, Figures 2 and 3; MathIF, Figure 1)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from riftk.constraints.base import TARGETS
from riftk.report.comparison import keys_between
from riftk.report.figures import (
    draw_estimates,
    headed,
    named_legend,
    new_figure,
    plain,
    save,
    titled,
)
from riftk.report.views import View, has_value, in_all


def plot_following(views: Mapping[str, View], task: str, path: Path) -> bool:
    """Following of each model in the reasoning and in the response, by the published rules (ReasonIF, Figure
    2; of IFEval MathIF, Figure 1). False, and nothing drawn, where nothing was asked for."""
    found = {target: {n: e for n, v in views.items() if (e := _overall(v, target))} for target in TARGETS}
    found = {target: estimates for target, estimates in found.items() if estimates}
    if not found:
        return False
    names = in_all(found.values())
    figure = new_figure(7.4, 1.4 + 0.42 * len(names))
    axis = figure.subplots()
    for number, (target, estimates) in enumerate(found.items()):
        points = [(names.index(name), one) for name, one in estimates.items()]
        draw_estimates(axis, points, number, label=target, across=True)
    axis.set_yticks(range(len(names)), names, fontsize=8, parse_math=False)
    axis.set(
        xlim=(-3, 103), ylim=(len(names) - 0.5, -0.5), xlabel="all instructions followed, % (95 % interval)"
    )
    titled(axis, f"{task}: following, rules {next(iter(views.values())).published}")
    plain(axis, grid="x")
    named_legend(figure, axis, "outside right center")
    save(figure, path)
    return True


def plot_constraint_map(views: Mapping[str, View], task: str, path: Path) -> bool:
    """Following by instruction, a row for each model: dark is low (ReasonIF, Figure 3). False, and nothing
    drawn, where there is only one instruction."""
    found = {target: {name: _by_id(view, target) for name, view in views.items()} for target in TARGETS}
    panels = {target: rows for target, rows in found.items() if len(in_all(rows.values())) > 1}
    if not panels:
        return False
    widest = max(len(in_all(rows.values())) for rows in panels.values())
    figure = new_figure(2.2 + 0.62 * widest, (1.5 + 0.4 * len(views)) * len(panels) + 0.8)
    for axis, (target, rows) in zip(
        figure.subplots(len(panels), 1, squeeze=False)[:, 0], panels.items(), strict=True
    ):
        ids = in_all(rows.values())
        values = np.array([[rows[name].get(one, np.nan) for one in ids] for name in views])
        axis.imshow(100 * values, vmin=0, vmax=100, cmap="cividis", aspect="auto")
        for (row, column), value in np.ndenumerate(values):
            if not np.isnan(value):
                ink = "white" if value < 0.5 else "black"
                axis.text(column, row, f"{100 * value:.0f}", ha="center", va="center", fontsize=8, color=ink)
        axis.set_yticks(range(len(views)), list(views), fontsize=8, parse_math=False)
        labels = [one.rpartition(":")[2].replace("_", " ") for one in ids]
        axis.set_xticks(range(len(ids)), labels, fontsize=8, rotation=25, ha="right", parse_math=False)
        titled(axis, f"Instructions about the {target}, % followed")
    title = f"{task}, rules {next(iter(views.values())).published}"
    headed(figure, title)
    save(figure, path)
    return True


def _overall(view: View, target: str) -> Mapping | None:
    estimate = view.estimates.get(f"{target}_ifs,{view.published}")
    return estimate if has_value(estimate) else None


def _by_id(view: View, target: str) -> dict[str, float]:
    found = keys_between(view.estimates, f"{target}_ifs/", f",{view.published}")
    return {
        name: view.estimates[key]["value"] for name, key in found.items() if has_value(view.estimates[key])
    }
