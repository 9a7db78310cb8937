"""Pictures in which a point is a source of problems: reasoning against response, and following against
accuracy (ReasonIF, Figures 4, 5, 8 and 9)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from riftk.constraints.base import TARGETS
from riftk.report.figures import (
    COLOURS,
    GREY,
    MARKERS,
    error_bars,
    headed,
    named_legend,
    new_figure,
    plain,
    save,
    titled,
)
from riftk.report.views import View, in_all


def plot_targets(views: Mapping[str, View], task: str, path: Path) -> bool:
    """Following in the reasoning against following in the response, a panel for each evaluation (ReasonIF,
    Figures 4 and 8). False, and nothing drawn, where none has both."""
    found = {}
    for name, view in views.items():
        reasoning, response = (view.by(f"{target}_ifs", "source") for target in TARGETS)
        if shared := [source for source in reasoning if source in response]:
            found[name] = {source: (response[source], reasoning[source]) for source in shared}
    if not found:
        return False
    figure, axes = _panels(found)
    for axis, (name, points) in zip(axes, found.items(), strict=True):
        _scatter(axis, points, in_all(found.values()))
        axis.plot((0, 100), (0, 100), color=GREY, linestyle="--", linewidth=1.0, label="alike in both")
        axis.set(xlim=(-4, 104), ylim=(-4, 104), xlabel="response IFS, %", ylabel="reasoning IFS, %")
        titled(axis, name)
    return _finish(figure, axes, path, f"{task}: reasoning against response by source, {_rules(views)}")


def plot_correlation(views: Mapping[str, View], task: str, path: Path) -> bool:
    """Following against accuracy with the line of least squares, a panel for each evaluation and target
    (ReasonIF, Figures 5 and 9). False, and nothing drawn, below three sources."""
    found, rules = {}, set()
    for name, view in views.items():
        for target in TARGETS:
            books = (f"{target},{book}" for book in (view.published, "robust"))
            if known := next((key for key in books if key in view.correlations), None):
                found[f"{name}, {target}"] = (target, view.correlations[known])
                rules.add(known.partition(",")[2])
    if not found:
        return False
    figure, axes = _panels(found)
    everywhere = in_all(known["sources"] for _, known in found.values())
    for axis, (name, (target, known)) in zip(axes, found.items(), strict=True):
        means = {
            source: (_bare(one["accuracy"]), _bare(one["followed"]))
            for source, one in known["sources"].items()
        }
        _scatter(axis, means, everywhere)
        x, y = (100 * np.array([point[side]["value"] for point in means.values()]) for side in (0, 1))
        if np.ptp(x) > 0:
            slope, start = np.polyfit(x, y, 1)
            ends = np.array([x.min(), x.max()])
            axis.plot(
                ends, start + slope * ends, color=GREY, linestyle=":", linewidth=1.2, label="least squares"
            )
        axis.set(xlim=(-4, 104), ylim=(-4, 104), xlabel="accuracy, %", ylabel=f"{target} IFS, %")
        titled(axis, f"{name}: {_told(known['pearson'])}")
    title = f"{task}: following against accuracy by source, rules {', '.join(sorted(rules))}"
    return _finish(figure, axes, path, title)


def _panels(found: Mapping[str, Any]) -> tuple[Any, list[Any]]:
    """A figure with as many panels, three in a row."""
    columns = min(3, len(found))
    rows = -(-len(found) // columns)
    figure = new_figure(3.9 * columns + 1.6, 3.7 * rows + 0.3)
    axes = list(figure.subplots(rows, columns, squeeze=False).flat)
    for axis in axes[len(found) :]:
        axis.remove()
    return figure, axes[: len(found)]


def _scatter(axis: Any, points: Mapping[str, tuple[Mapping, Mapping]], everywhere: list[str]) -> None:
    """A point for each source, of the same colour and shape in every panel."""
    for source, (across, up) in points.items():
        number = everywhere.index(source)
        axis.errorbar(
            100 * across["value"], 100 * up["value"], xerr=error_bars([across]), yerr=error_bars([up]),
            fmt=MARKERS[number % len(MARKERS)], color=COLOURS[number % len(COLOURS)],
            markersize=6, capsize=2, linewidth=1.0, label=source,
        )  # fmt: skip
    plain(axis)


def _finish(figure: Any, axes: list[Any], path: Path, title: str) -> bool:
    headed(figure, title)
    named_legend(figure, axes[0], "outside right center")
    save(figure, path)
    return True


def _bare(value: float) -> dict[str, float | None]:
    """A mean without an interval."""
    return {"value": value, "low": None, "high": None}


def _told(found: Mapping[str, Any]) -> str:
    return "r undefined" if found["value"] is None else f"r = {found['value']:+.2f}"


def _rules(views: Mapping[str, View]) -> str:
    return f"rules {next(iter(views.values())).published}"
