"""The same items asked in other ways, within one evaluation: what another prompt changes (ReasonIF, Figure
11; MathIF, Table 6).

Tasks of one evaluation whose items have the same ids are forms of one another: a prompt that defines the
trace, constraints repeated at its end, "Wait", instructions in other words, in the system message, or none.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from riftk.constraints.base import TARGETS
from riftk.evaluation import Tally, sample_files
from riftk.report.comparison import differences, keys_between, tallies
from riftk.report.figures import (
    GREY,
    draw_estimates,
    headed,
    named_legend,
    new_figure,
    plain,
    save,
)
from riftk.report.text import difference_cell, inline, sizes_cell, table

_FIGURES = {
    "reasoning_ifs": "reasoning IFS",
    "response_ifs": "response IFS",
    "response_sacc": "response SAcc",
    "accuracy": "accuracy",
    "standard_accuracy": "standard accuracy",
    "iffr": "IFFR",
    "follow_rate": "followed",
}

Between = Mapping[
    str, Mapping[str, Mapping[str, Any]]
]  # "other task" -> key -> difference from the first form


def between_tasks(folder: str | Path) -> dict[str, dict[str, dict[str, Any]]]:
    """Paired differences between tasks of one evaluation that ask the same items in another way.

    Returns:
        first task -> other task -> key -> the difference, other minus first, as
        `riftk.report.comparison.differences` gives it; nothing for tasks that share no items.
    """
    if len(sample_files(folder)) < 2:  # nothing to read all its samples for
        return {}
    known = tallies(folder)
    found: dict[str, dict[str, dict[str, Any]]] = {}
    for task, tally in known.items():
        first = next((name for name in found if _same_items(known[name], tally)), None)
        if first is None:
            found[task] = {}
        else:
            found[first][task] = differences(known[first], tally)
    return {first: others for first, others in found.items() if others}


def prompt_table(first: str, others: Between, rules: str) -> str | None:
    """The differences of the main figures, a row for each, and of following by constraint; None where there
    are none."""
    rows = []
    for name, key in _rows(others, rules).items():
        found = [gaps.get(key) for gaps in others.values()]
        rows.append([name, *(difference_cell(gap, key) for gap in found), sizes_cell(found)])
    return table([f"minus {inline(first)}, points", *map(inline, others), "n"], rows) if rows else None


def plot_prompts(first: str, others: Between, rules: str, path: Path) -> bool:
    """The same differences with their intervals, around zero."""
    rows = _rows(others, rules)
    if not rows:
        return False
    figure = new_figure(7.0, 1.5 + 0.42 * len(rows))
    axis = figure.subplots()
    step = min(0.2, 0.7 / len(others))
    for number, (task, gaps) in enumerate(others.items()):
        shift = (number - (len(others) - 1) / 2) * step
        known = [(place + shift, gaps[key]) for place, key in enumerate(rows.values()) if key in gaps]
        draw_estimates(axis, known, number, label=task, across=True)
    axis.axvline(0.0, color=GREY, linewidth=0.8)
    axis.set_yticks(range(len(rows)), [_short(name) for name in rows], fontsize=8)
    axis.invert_yaxis()
    shown = "" if len(others) > 1 else f"{next(iter(others))} "
    axis.set(xlabel=f"{shown}minus {first}, points (95 % interval)".strip())
    axis.xaxis.label.set_parse_math(False)
    headed(figure, f"The same items, asked in another way, rules {rules}")
    plain(axis, grid="x")
    named_legend(figure, axis, "outside lower center", columns=min(3, len(others)))
    save(figure, path)
    return True


def _same_items(one: Tally, other: Tally) -> bool:
    return bool(one.items.keys() & other.items.keys())


def _rows(others: Between, rules: str) -> dict[str, str]:
    """Keys of the figures that any of the differences has, by what they are called."""
    keys = list(dict.fromkeys(key for gaps in others.values() for key in gaps))
    rows = {name: f"{metric},{rules}" for metric, name in _FIGURES.items() if f"{metric},{rules}" in keys}
    if "accuracy" not in rows and "accuracy,robust" in keys:
        rows["accuracy"] = "accuracy,robust"
    for target in TARGETS:
        found = keys_between(keys, f"{target}_ifs/", f",{rules}")
        rows |= {f"`{constraint}` ({target})": key for constraint, key in found.items()}
    return rows


def _short(name: str) -> str:
    """A row's name without the group of its constraint."""
    return name.rpartition(":")[2].replace("`", "").replace("_", " ")
