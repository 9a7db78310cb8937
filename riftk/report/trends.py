"""Pictures over a number that was set: how often "Wait" was written (MathIF, Figure 7), and the size of
models (IFFR, Figures 3 and 4)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from riftk.constraints.base import TARGETS
from riftk.evaluation.iffr import FIGURES as IFFR
from riftk.report.figures import (
    draw_estimates,
    headed,
    named_legend,
    new_figure,
    plain,
    save,
    titled,
)
from riftk.report.views import View, has_value, views_of

_SIZE = re.compile(r"(?<![A-Za-z0-9.])(\d+(?:\.\d+)?)([BbMm])(?![A-Za-z0-9])")
Points = Sequence[tuple[float, Mapping[str, Any]]]  # (number, figure)
_EASIEST = "gsm8k"  # the source whose SAcc Figure 7 shows


def plot_waits(evaluations: Mapping[str, Mapping[str, Any]], path: Path) -> bool:
    """Following by the number of times that "Wait" took the place of a trace's end, over the tasks of an
    evaluation, a line for each. False, and nothing drawn, where none has two such numbers."""
    lines = {name: found for name, results in evaluations.items() if len(found := waits(results)) > 1}
    if not lines:
        return False
    panels = {
        "HAcc": "response_ifs,mathif",
        "SAcc": "response_sacc,mathif",
        "SAcc on GSM8K": f"response_sacc[source={_EASIEST}],mathif",
    }
    panels = {
        title: key for title, key in panels.items()
        if any(key in estimates for found in lines.values() for estimates in found.values())
    }  # fmt: skip
    figure = new_figure(3.6 * len(panels) + 1.4, 3.6)
    axes = figure.subplots(1, len(panels), squeeze=False)[0]
    for axis, (title, key) in zip(axes, panels.items(), strict=True):
        for number, (name, found) in enumerate(lines.items()):
            points = [(n, one) for n, estimates in found.items() if has_value(one := estimates.get(key))]
            draw_estimates(axis, points, number, label=name, line="-")
        axis.set(ylim=(-3, 103), xlabel='times "Wait" was written', ylabel="% (95 % interval)")
        axis.set_xticks(sorted({wait for found in lines.values() for wait in found}))
        titled(axis, title)
        plain(axis)
    headed(figure, 'Following as traces are prolonged by "Wait", rules mathif')
    named_legend(figure, axes[0], "outside right center")
    save(figure, path)
    return True


def waits(results: Mapping[str, Any]) -> dict[int, Mapping[str, Any]]:
    """Estimates of an evaluation's MathIF tasks by how often "Wait" was written, 0 without it."""
    found: dict[int, Mapping[str, Any]] = {}
    for task, config in results["configs"].items():
        asked = config["rules"][0] == "mathif" and config.get("instructions", "published") == "published"
        if asked and not config.get("repeat") and "response_ifs,mathif" in results["estimates"][task]:
            found.setdefault(config.get("waits", 0), results["estimates"][task])
    return dict(sorted(found.items()))


def plot_sizes(evaluations: Mapping[str, Mapping[str, Any]], tasks: Iterable[str], path: Path) -> bool:
    """Accuracy and following against the number of parameters, a line for each task (IFFR, Figures 3 and 4:
    standard accuracy solid, non-standard accuracy dashed, and the IFFR, with the standard deviation over the
    wordings). False, and nothing drawn, where no task has models of two sizes that their names tell."""
    panels: dict[str, list[tuple[int, str, str | None, Points]]] = {}
    for number, task in enumerate(tasks):
        for title, style, points in _by_size(evaluations, task):
            label = task if style == "-" else None
            panels.setdefault(title, []).append((number, style, label, points))
    if not panels:
        return False
    figure = new_figure(4.4 * len(panels) + 1.8, 4.0)
    axes = figure.subplots(1, len(panels), squeeze=False)[0]
    for axis, (title, lines) in zip(axes, panels.items(), strict=True):
        for number, style, label, points in lines:
            draw_estimates(axis, points, number, label=label, line=style)
        axis.set_xscale("log")
        ticks = sorted({size for *_, points in lines for size, _ in points})
        axis.set_xticks(ticks, [_billions(size) for size in ticks])
        axis.minorticks_off()
        axis.set(ylim=(-3, 103), xlabel="parameters", ylabel="%")
        titled(axis, title)
        plain(axis)
    headed(figure, "Against the size of the model")
    named_legend(figure, axes[0], "outside right center")
    save(figure, path)
    return True


def _by_size(evaluations: Mapping[str, Mapping[str, Any]], task: str) -> Iterator[tuple[str, str, Points]]:
    """Panel, style of line, and points of the figures that a task is drawn by."""
    sizes = {name: model_size(results["model_name"]) for name, results in evaluations.items()}
    views = {name: view for name, view in views_of(evaluations, task).items() if sizes[name]}
    if not views:
        return
    for title, style, key in _figures_of(next(iter(views.values()))):
        points = [
            (sizes[name], _with_spread(evaluations[name], task, key))
            for name in sorted(views, key=sizes.__getitem__)
            if has_value(views[name].estimates.get(key))
        ]
        if len({size for size, _ in points}) > 1:
            yield title, style, points


def model_size(name: str) -> float | None:
    """Number of parameters that a model's name tells ("Qwen3.5-0.8B", "SmolLM2-135M-Instruct"; of a mixture,
    "235B-A22B", all of them); None where it tells none."""
    found = _SIZE.search(Path(name).name)
    return found and float(found[1]) * (1e9 if found[2] in "Bb" else 1e6)


def _figures_of(view: View) -> list[tuple[str, str, str]]:
    """Panel, style of line, and key of the figures that a task may be drawn by."""
    book = view.published
    if f"iffr,{book}" in view.estimates:
        both = "standard accuracy, and non-standard (dashed)"
        return [
            (both, "-", f"standard_accuracy,{book}"),
            (both, "--", f"nonstandard_accuracy,{book}"),
            (IFFR["iffr"], "-", f"iffr,{book}"),
        ]
    found = [(f"{target} IFS", "-", f"{target}_ifs,{book}") for target in TARGETS]
    return [*found, ("accuracy", "-", "accuracy,robust")]


def _with_spread(results: Mapping[str, Any], task: str, key: str) -> dict[str, Any]:
    """A figure, where there are wordings with their standard deviation in the place of its interval."""
    estimate = results["estimates"][task][key]
    spread = results.get("variants", {}).get(task, {}).get(key, {}).get("sd")
    around = {} if spread is None else {"low": estimate["value"] - spread, "high": estimate["value"] + spread}
    return {**estimate, **around}


def _billions(size: float) -> str:
    return f"{size / 1e9:g}B" if size >= 5e8 else f"{size / 1e6:g}M"
