"""The picture of a report: following per constraint before and after, and what it cost in accuracy."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

from riftk.report.comparison import keys_between, pareto_front, trade_off
from riftk.report.figures import (
    COLOURS,
    GREY,
    MARKERS,
    error_bars,
    named_legend,
    new_figure,
    plain,
    save,
    titled,
)
from riftk.report.markdown import column

_STYLE = {"before": (COLOURS[0], MARKERS[0], 0.14), "after": (COLOURS[1], MARKERS[1], -0.14)}
_AXES = {
    "accuracy": "accuracy",
    "standard_accuracy": "accuracy under standard instructions",
    "reasoning_ifs": "reasoning IFS",
    "response_ifs": "response IFS",
    "follow_rate": "following of non-standard instructions",
}
_ARROW = {"arrowstyle": "-|>", "color": GREY, "linewidth": 1.4, "shrinkA": 9, "shrinkB": 9}


def plot(report: Mapping[str, Any], task: str, path: Path) -> bool:
    """Draw one task to a PNG and an SVG. Returns False, and draws nothing, where no instruction was given.

    Args:
        report: data of the report, see `riftk.report.write.collect`.
        task: which task of it.
        path: the PNG to write; the SVG lies beside it.
    """
    sides = {when: report[when]["estimates"][task] for when in ("before", "after") if report.get(when)}
    after = sides["after"]
    targets = [target for target in ("reasoning", "response") if f"{target}_ifs,robust" in after]
    if not targets:
        return False
    panels = len(targets) + ("accuracy,robust" in after)
    most = max(len(_by_constraint(after, target)) for target in targets)
    figure = new_figure(4.6 * panels, 1.6 + 0.52 * (most + 1))
    axes = list(figure.subplots(1, panels, squeeze=False)[0])
    labels = {when: column(report, when) for when in sides}
    for target, axis in zip(targets, axes, strict=False):
        _following(axis, sides, target, labels)
    if panels > len(targets):
        _trade_off(axes[-1], sides, targets[0])
    n = report["after"]["counts"][task]["items"]
    title = f"{task}: {report['after']['model_name']}, robust rules, n = {n} items"
    figure.suptitle(title, fontsize=11, parse_math=False)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=2, frameon=False)
    save(figure, path)
    return True


def plot_trade_off(
    evaluations: Mapping[str, Mapping[str, Any]], task: str, path: Path, compared: Collection[str]
) -> bool:
    """Draw accuracy against following: a point for each evaluation, and the line of those that no other one
    beats in both.

    Args:
        evaluations: content of each `results.json`, by name.
        task: which task of them.
        path: the PNG to write; the SVG lies beside it.
        compared: those that an arrow leads to from the first.

    Returns:
        False, and draws nothing, where no two evaluations have both figures.
    """
    points = trade_off_points(evaluations, task)
    if len(points) < 2:
        return False
    figure = new_figure(7.6, 4.6)
    axis = figure.subplots()
    for number, (name, (accuracy, following)) in enumerate(points.items()):
        axis.errorbar(
            100 * accuracy["value"],
            100 * following["value"],
            xerr=error_bars([accuracy]),
            yerr=error_bars([following]),
            fmt=MARKERS[number % len(MARKERS)],
            color=COLOURS[number % len(COLOURS)],
            markersize=8,
            capsize=3,
            linewidth=1.4,
            label=name,
        )
    places = {name: (100 * one["value"], 100 * other["value"]) for name, (one, other) in points.items()}
    first = next(iter(evaluations))
    for name in compared:
        if {first, name} <= places.keys():
            axis.annotate("", xy=places[name], xytext=places[first], arrowprops=_ARROW)
    front = [places[name] for name in pareto_front(places)]
    axis.plot(*zip(*front, strict=True), color=GREY, linestyle=":", linewidth=1.4, zorder=1, label="front")
    accuracy, following = trade_off_names(evaluations, task)
    axis.set(ylim=(-3, 103), xlabel=f"{accuracy}, %", ylabel=f"{following}, %")
    titled(axis, f"{task}: accuracy against following (95 % intervals)")
    plain(axis)
    named_legend(figure, axis, "outside right center")
    save(figure, path)
    return True


def trade_off_points(
    evaluations: Mapping[str, Mapping[str, Any]], task: str
) -> dict[str, tuple[Mapping[str, Any], Mapping[str, Any]]]:
    """Accuracy and following of each evaluation that has both, as the first one that does measures them."""
    keys = _keys(evaluations, task)
    if keys is None:
        return {}
    found = {name: results["estimates"].get(task, {}) for name, results in evaluations.items()}
    return {
        name: (estimates[keys[0]], estimates[keys[1]])
        for name, estimates in found.items()
        if all(key in estimates and estimates[key]["value"] is not None for key in keys)
    }


def trade_off_names(evaluations: Mapping[str, Mapping[str, Any]], task: str) -> tuple[str, str]:
    """What accuracy and following are called, where there are any."""
    accuracy, following = (_AXES[key.rpartition(",")[0]] for key in _keys(evaluations, task) or ())
    return accuracy, following


def _keys(evaluations: Mapping[str, Mapping[str, Any]], task: str) -> tuple[str, str] | None:
    of_each = (trade_off(results["estimates"].get(task, {})) for results in evaluations.values())
    return next(filter(None, of_each), None)


def _by_constraint(estimates: Mapping[str, Any], target: str) -> dict[str, str]:
    """Keys of the figures per constraint of a target, by the constraint's id."""
    return keys_between(estimates, f"{target}_ifs/", ",robust")


def _following(
    axis: Any, sides: Mapping[str, Mapping[str, Any]], target: str, columns: Mapping[str, str]
) -> None:
    """One line per constraint: share followed with its interval, before above after."""
    overall = f"{target}_ifs,robust"
    found = _by_constraint(sides["after"], target)
    keys = [*reversed(found.values()), overall]
    names = [constraint.rpartition(":")[2].replace("_", " ") for constraint in reversed(found)] + ["all"]
    labels = [f"{name}\n(n = {sides['after'][key]['n']})" for name, key in zip(names, keys, strict=True)]
    for when, estimates in sides.items():
        colour, marker, offset = _STYLE[when]
        for place, key in enumerate(keys):
            estimate = estimates.get(key)
            if estimate is None or estimate["value"] is None:
                continue
            axis.errorbar(
                100 * estimate["value"],
                place + offset,
                xerr=error_bars([estimate]),
                fmt=marker,
                color=colour,
                markersize=6,
                capsize=3,
                linewidth=1.4,
                label=columns[when] if key == overall else None,
            )
    axis.axhline(len(keys) - 1.5, color=GREY, linewidth=0.6)
    axis.set(xlim=(-3, 103), ylim=(-0.6, len(keys) - 0.4), xlabel="followed, % (95 % interval)")
    titled(axis, f"Instructions about the {target}")
    axis.set_yticks(range(len(keys)), labels, fontsize=8)
    plain(axis, grid="x")


def _trade_off(axis: Any, sides: Mapping[str, Mapping[str, Any]], target: str) -> None:
    """Accuracy against following, with an arrow from before to after."""
    points = {}
    for when, estimates in sides.items():
        accuracy, following = estimates["accuracy,robust"], estimates[f"{target}_ifs,robust"]
        colour, marker, _ = _STYLE[when]
        points[when] = (100 * accuracy["value"], 100 * following["value"])
        axis.errorbar(
            *points[when],
            xerr=error_bars([accuracy]),
            yerr=error_bars([following]),
            fmt=marker,
            color=colour,
            markersize=8,
            capsize=3,
            linewidth=1.4,
        )
    if len(points) == 2:
        axis.annotate("", xy=points["after"], xytext=points["before"], arrowprops=_ARROW)
    axis.set(xlim=(-3, 103), ylim=(-3, 103), xlabel="accuracy, %", ylabel=f"{target} IFS, %")
    titled(axis, "Accuracy against following")
    plain(axis)


def read_pictures(folder: Path, names: Iterable[str]) -> dict[str, str]:
    """The SVG beside each PNG of a folder, by the PNG's name."""
    return {name: (folder / name).with_suffix(".svg").read_text(encoding="utf-8") for name in names}
