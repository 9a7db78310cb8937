"""Pictures over parts of the items: by source, by number of instructions, by length of the trace, and the
quadrants of correct and followed (MathIF, Figures 2 to 6).

Each is drawn for one evaluation, for both of a training, or for several, and by the published rules.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from riftk.constraints.base import TARGETS
from riftk.evaluation.summary import QUADRANTS
from riftk.report.comparison import keys_between
from riftk.report.figures import (
    COLOURS,
    GREY,
    draw_estimates,
    headed,
    named_legend,
    new_figure,
    plain,
    save,
    titled,
)
from riftk.report.views import View, has_value, in_all

_AXES = {
    "source": "",
    "constraints": "instructions in a prompt",
    "cot_bin": "sixth of the traces, from the shortest to the longest",
}
_SHADES = {
    "correct_followed": COLOURS[2],
    "correct_unfollowed": COLOURS[4],
    "wrong_followed": COLOURS[5],
    "wrong_unfollowed": "#CCCCCC",
}


def plot_source(views: Mapping[str, View], task: str, path: Path) -> bool:
    """Following and accuracy by source (MathIF, Figure 2)."""
    return _plot_part(views, task, path, "source", "by source")


def plot_constraints(views: Mapping[str, View], task: str, path: Path) -> bool:
    """Following by number of instructions: HAcc solid, SAcc dashed (MathIF, Figure 3)."""
    return _plot_part(views, task, path, "constraints", "by number of instructions")


def plot_lengths(views: Mapping[str, View], task: str, path: Path) -> bool:
    """Following in six bins of trace length: HAcc solid, SAcc dashed (MathIF, Figure 6)."""
    return _plot_part(views, task, path, "cot_bin", "by length of the reasoning")


def plot_quadrants(views: Mapping[str, View], task: str, path: Path) -> bool:
    """Shares of correct or wrong and followed or not, a bar for each evaluation (MathIF, Figure 4)."""
    rows = {
        (name, target): shares
        for target in TARGETS
        for name, view in views.items()
        if (shares := _shares(view, target))
    }
    if not rows:
        return False
    figure = new_figure(7.6, 1.5 + 0.42 * len(rows))
    axis = figure.subplots()
    several = len({target for _, target in rows}) > 1
    labels = [f"{name} ({target})" if several else name for name, target in rows]
    left = [0.0] * len(rows)
    for quadrant in QUADRANTS:
        widths = [100 * shares[quadrant] for shares in rows.values()]
        bars = axis.barh(
            range(len(rows)), widths, left=left, color=_SHADES[quadrant], height=0.7,
            label=quadrant.replace("_", ", "),
        )  # fmt: skip
        axis.bar_label(
            bars, [f"{width:.0f}" if width >= 4 else "" for width in widths], label_type="center", fontsize=8
        )
        left = [start + width for start, width in zip(left, widths, strict=True)]
    axis.set_yticks(range(len(rows)), labels, fontsize=8, parse_math=False)
    axis.invert_yaxis()
    axis.set(xlim=(0, 100), xlabel="% of the items with instructions")
    titled(axis, f"{task}: correct and followed, rules {next(iter(views.values())).published}")
    plain(axis, grid="x")
    named_legend(figure, axis, "outside lower center", columns=4)
    save(figure, path)
    return True


def plot_cost(views: Mapping[str, View], task: str, path: Path) -> bool:
    """Relative change of accuracy with instructions, by source (MathIF, Figure 5)."""
    costs = {target: {name: _costs(view, target) for name, view in views.items()} for target in TARGETS}
    costs = {target: of_views for target, of_views in costs.items() if any(of_views.values())}
    if not costs:
        return False
    figure = new_figure(4.4 * len(costs) + 2.0, 3.8)
    for axis, (target, of_views) in zip(
        figure.subplots(1, len(costs), squeeze=False)[0], costs.items(), strict=True
    ):
        _points(axis, of_views)
        axis.axhline(0.0, color=GREY, linewidth=0.8)
        axis.set(ylabel="change of accuracy, % of that without")
        titled(axis, f"Instructions about the {target}")
    headed(figure, f"{task}: what instructions cost, by source (95 % intervals)")
    named_legend(figure, axis, "outside right center")
    save(figure, path)
    return True


def _plot_part(views: Mapping[str, View], task: str, path: Path, part: str, title: str) -> bool:
    panels = [f"{t}_ifs" for t in TARGETS if any(t in view.targets(part) for view in views.values())]
    if not panels:
        return False
    soft = {panel: _soft(views, panel, part) for panel in panels}
    if part == "source":
        panels = [one for panel in panels for one in (panel, *soft[panel])]
        panels += ["accuracy"] * any(view.by("accuracy", part) for view in views.values())
    figure = new_figure(4.0 * len(panels) + 1.8, 3.8)
    for axis, metric in zip(figure.subplots(1, len(panels), squeeze=False)[0], panels, strict=True):
        shown = _panel_name(views, metric)
        if part == "source":
            _points(axis, _by(views, metric, part))
        else:
            _lines(axis, _by(views, metric, part), "-")
            for graded in soft[metric]:
                _lines(axis, _by(views, graded, part), "--", labelled=False)
                shown = f"{shown}; dashed: {_panel_name(views, graded)}"
        axis.set(ylim=(-3, 103), xlabel=_AXES[part], ylabel="% (95 % interval)")
        titled(axis, shown)
    rules = next(iter(views.values())).published
    headed(figure, f"{task}: {title}, rules {rules}")
    named_legend(figure, axis, "outside right center")
    save(figure, path)
    return True


def _by(views: Mapping[str, View], metric: str, part: str) -> dict[str, dict[str, Mapping[str, Any]]]:
    """A figure by part, of every evaluation: those that do not have it keep their place and colour."""
    return {name: view.by(metric, part) for name, view in views.items()}


def _soft(views: Mapping[str, View], metric: str, part: str) -> list[str]:
    """The mean share of instructions that goes with a figure of whole items, where it says something else:
    where items have several."""
    graded = metric.replace("_ifs", "_sacc")
    return [graded] if any(view.by(graded, part) != view.by(metric, part) for view in views.values()) else []


def _panel_name(views: Mapping[str, View], metric: str) -> str:
    target, _, kind = metric.partition("_")
    return f"{next(iter(views.values())).name(kind)}, {target}" if kind else "accuracy"


def _points(axis: Any, found: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> None:
    """A point with its interval for each evaluation and part, evaluations beside each other."""
    parts = in_all(found.values())
    step = min(0.16, 0.7 / max(1, len(found)))
    for number, (name, estimates) in enumerate(found.items()):
        if not estimates:
            continue
        shift = (number - (len(found) - 1) / 2) * step
        known = [(place + shift, estimates[part]) for place, part in enumerate(parts) if part in estimates]
        draw_estimates(axis, known, number, label=name)
    axis.set_xticks(range(len(parts)), parts, fontsize=8, rotation=20, parse_math=False)
    axis.set_xlim(-0.6, len(parts) - 0.4)
    plain(axis, grid="y")


def _lines(
    axis: Any, found: Mapping[str, Mapping[str, Mapping[str, Any]]], style: str, labelled: bool = True
) -> None:
    """A line for each evaluation over parts that have an order."""
    for number, (name, estimates) in enumerate(found.items()):
        if not estimates:
            continue
        points = [(int(part), one) for part, one in estimates.items()]
        draw_estimates(axis, points, number, label=name if labelled else None, line=style)
    axis.set_xticks(
        sorted({int(part) for estimates in found.values() for part in estimates}) or axis.get_xticks()
    )
    plain(axis)


def _shares(view: View, target: str) -> dict[str, float]:
    found = {quadrant: view.estimates.get(f"{target}_{quadrant},{view.published}") for quadrant in QUADRANTS}
    return {name: one["value"] for name, one in found.items()} if all(map(has_value, found.values())) else {}


def _costs(view: View, target: str) -> dict[str, dict[str, Any]]:
    """Relative changes by source, as estimates."""
    start = f"accuracy_cost_{target}[source="
    rules = view.published if any(key.endswith(f"],{view.published}") for key in view.paired) else "robust"
    gaps = {
        source: view.paired[key] for source, key in keys_between(view.paired, start, f"],{rules}").items()
    }
    return {
        source: {"value": gap["relative"], "low": gap["relative_low"], "high": gap["relative_high"]}
        for source, gap in gaps.items()
        if gap["relative"] is not None
    }
