"""Several evaluations in one report: their figures side by side, and what each changed against the first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from riftk.evaluation import refresh, sample_files
from riftk.files import write_text
from riftk.report.comparison import compare, conclusion, headline, keys_between
from riftk.report.flat import render_csv
from riftk.report.html import render_page
from riftk.report.markdown import provenance
from riftk.report.plots import plot_trade_off, read_pictures
from riftk.report.text import difference_cell, estimate_cell, inline, table
from riftk.report.traces import LIMITS, Limits, collect_traces

_TARGETS = ("reasoning", "response")


@dataclass(frozen=True)
class Several:
    """The data of the report.

    Args:
        evaluations: content of each `results.json`, by name; the first is what the others are compared with.
        differences: of each other one from the first, as `riftk.report.comparison.compare` gives them; empty
            where they are shown side by side only.
        obstacles: why they cannot be compared, one sentence each.
        plots: name of the picture of each task that has one.
    """

    evaluations: Mapping[str, Mapping[str, Any]]
    differences: Mapping[str, Mapping[str, Mapping[str, Any]]] = field(default_factory=dict)
    obstacles: Sequence[str] = ()
    plots: dict[str, str] = field(default_factory=dict)

    @property
    def first(self) -> str:
        return next(iter(self.evaluations))

    @property
    def tasks(self) -> list[str]:
        return list(dict.fromkeys(task for one in self.evaluations.values() for task in one["estimates"]))

    def keys(self, task: str) -> list[str]:
        """Every figure that an evaluation has of a task."""
        of_task = (one["estimates"].get(task, {}) for one in self.evaluations.values())
        return list(dict.fromkeys(key for estimates in of_task for key in estimates))

    def estimate(self, name: str, task: str, key: str) -> Mapping[str, Any] | None:
        return self.evaluations[name]["estimates"].get(task, {}).get(key)


def write_comparison(
    runs: Sequence[str | Path], out: str | Path, *, side_by_side: bool = False, limits: Limits = LIMITS
) -> Path:
    """Write a report over several evaluations and return the path of its `report.md`.

    Args:
        runs: run folders, which stand for their final model, or evaluation folders; the first is what the
            others are compared with.
        out: folder to write to.
        side_by_side: show evaluations that cannot be compared too, without differences.
        limits: how many of the samples `report.html` holds.

    Raises:
        FileNotFoundError: there is no evaluation in one of them.
        ValueError: one is incomplete, or did not answer the same items under the same limits and rules.
    """
    folders = name_evaluations(runs)
    data = collect_several(folders, side_by_side=side_by_side)
    out = Path(out)
    out.mkdir(parents=True, exist_ok=True)
    for task in data.tasks:
        name = f"report_{task}.png"
        if plot_trade_off(data.evaluations, task, out / name, data.differences):
            data.plots[task] = name
    write_text(out / "report.csv", render_csv(data.evaluations, data.differences))
    markdown = render_several(data)
    write_text(out / "report.md", markdown)
    traces = collect_traces({name: sample_files(folder) for name, folder in folders.items()}, limits)
    pictures = read_pictures(out, data.plots.values())
    write_text(out / "report.html", render_page(_title(data), markdown, pictures, traces))
    return out / "report.md"


def collect_several(folders: Mapping[str, Path], *, side_by_side: bool = False) -> Several:
    """The data of a report over several evaluation folders, by name.

    Raises:
        ValueError: see `write_comparison`.
    """
    first, *others = folders
    differences, obstacles = {}, []
    for other in others:
        try:
            differences[other] = compare(folders[first], folders[other])
        except ValueError as error:
            if not side_by_side:
                raise ValueError(f"{error}; --side-by-side shows them without differences") from error
            obstacles.append(str(error))
    evaluations = {name: refresh(folder) for name, folder in folders.items()}
    return Several(evaluations, {} if side_by_side else differences, obstacles)


def name_evaluations(runs: Iterable[str | Path]) -> dict[str, Path]:
    """The evaluation folder of each run, by a name as short as the others allow.

    Raises:
        FileNotFoundError: there is none.
        ValueError: a folder is named twice.
    """
    folders = [evaluation_of(Path(run)) for run in runs]
    if len({folder.resolve() for folder in folders}) < len(folders):
        raise ValueError("a run is named twice; each can stand in a comparison once")
    places = [_place(folder) for folder in folders]
    depth = 1
    while len({place[-depth:] for place in places}) < len(places):
        depth += 1
    return {"/".join(place[-depth:]): folder for place, folder in zip(places, folders, strict=True)}


def evaluation_of(run: Path) -> Path:
    """What a run folder stands for: the evaluation after training, else that before it, else the folder."""
    for folder in (run / "eval" / "after", run / "eval" / "before", run):
        if (folder / "config.json").is_file():
            return folder
    raise FileNotFoundError(f"{run} holds no evaluation; give a run folder, or the --out of riftk eval")


def render_several(data: Several) -> str:
    """The report as Markdown."""
    parts = [f"# {inline(_title(data))}"]
    parts += [f"Not compared: {inline(obstacle)}." for obstacle in data.obstacles]
    tasks = data.tasks
    for task in tasks:
        of_task = f" ({inline(task)})" if len(tasks) > 1 else ""
        parts += [f"## {inline(task)}"] if len(tasks) > 1 else []
        parts.append(_headlines(data, task))
        parts += _conclusions(data, task)
        if task in data.plots:
            parts.append(f"![Accuracy against following: {inline(task)}]({data.plots[task]})")
        if data.differences:
            parts += [f"## Differences from {inline(data.first)}{of_task}", _gaps(data, task)]
        parts += _following(data, task, of_task)
    for name, results in data.evaluations.items():
        parts += [f"## How {inline(name)} was obtained", provenance({"after": results})]
    return "\n\n".join(parts) + "\n"


def _title(data: Several) -> str:
    return ", ".join(data.evaluations)


def _place(folder: Path) -> tuple[str, ...]:
    """What an evaluation is called, from its most distant folder to its own name."""
    path = folder.resolve()
    if path.parent.name != "eval":
        return path.parts
    run = path.parent.parent
    return (*run.parts[:-1], run.name + (" (before)" if path.name == "before" else ""))


def _lines(data: Several, task: str) -> dict[str, str]:
    return headline(dict.fromkeys(data.keys(task)))


def _headlines(data: Several, task: str) -> str:
    lines = _lines(data, task)
    rows = [
        [inline(name), *(estimate_cell(data.estimate(name, task, key), key) for key in lines.values())]
        for name in data.evaluations
    ]
    return table(["", *(_named(name, key) for name, key in lines.items())], rows)


def _named(name: str, key: str) -> str:
    """A figure's name, with the text that it is about where that is not the whole output."""
    target = key.partition("_")[0]
    return f"{name} ({target})" if name in ("IFS", "Joint") and target in _TARGETS else name


def _conclusions(data: Several, task: str) -> list[str]:
    """What each amounts to against the first. One sentence stands alone; several need names."""
    said = {name: conclusion(gaps[task]) for name, gaps in data.differences.items() if task in gaps}
    if len(said) == 1:
        return [f"**{sentence}**" for sentence in said.values()]
    return ["\n".join(f"- **{inline(name)}**: {sentence}" for name, sentence in said.items())] if said else []


def _gaps(data: Several, task: str) -> str:
    lines = _lines(data, task)
    rows = [
        [inline(name), *(difference_cell(gaps.get(task, {}).get(key), key) for key in lines.values())]
        for name, gaps in data.differences.items()
    ]
    return table(["", *(_named(name, key) for name, key in lines.items())], rows)


def _following(data: Several, task: str, of_task: str) -> list[str]:
    """Following by constraint, robust rules."""
    parts = []
    for target in _TARGETS:
        metric = f"{target}_ifs"
        if found := keys_between(data.keys(task), f"{metric}/", ",robust"):
            rows = [("all", f"{metric},robust")]
            rows += [(f"`{constraint}`", key) for constraint, key in found.items()]
            body = [
                [label, *(estimate_cell(data.estimate(name, task, key), key) for name in data.evaluations)]
                for label, key in rows
            ]
            parts.append(f"## Following in the {target}, rules `robust`{of_task}")
            parts.append(table(["", *map(inline, data.evaluations)], body))
    return parts
