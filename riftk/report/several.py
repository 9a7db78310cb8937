"""Several evaluations in one report: their figures side by side, and what each changed against the first.

A side of the comparison is one evaluation, or one for each seed that a way of training was run with.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from riftk.constraints.base import TARGETS
from riftk.evaluation import sample_files
from riftk.evaluation.probing import FIGURES, figure_rows
from riftk.files import write_text
from riftk.report.columns import ABILITY, BEST, FOLLOWING, LEADS, RULE, Column, columns, explanation, leaders
from riftk.report.comparison import check_comparable, conclusion, keys_between, pareto_front
from riftk.report.flat import render_csv
from riftk.report.gallery import Gallery, make_gallery
from riftk.report.html import render_page
from riftk.report.markdown import provenance
from riftk.report.plots import plot_trade_off, read_pictures, trade_off_names, trade_off_points
from riftk.report.sides import Side, side_differences
from riftk.report.text import difference_cell, estimate_cell, inline, table
from riftk.report.traces import LIMITS, Limits, collect_traces

Differences = Mapping[str, Mapping[str, Mapping[str, Any]]]  # by side, task and key

WIDEST = 8  # columns of a table
_MARKS = {BEST: "**", LEADS: "*"}
_OVER_SEEDS = (
    "Figures are means over the seeds that are named. Their intervals add, as squares, what other items "
    "could change (the runs' own intervals, narrower where averaging over runs makes the items' values "
    "less noisy) and what other seeds could change (Student's t of the runs' figures: 4.3 standard errors"
    " of three runs). Differences are those of the same items under the same seed, averaged in the same "
    "way. Pictures by parts of the items, and traces, are those of each one's first seed."
)


@dataclass(frozen=True)
class Several:
    """The data of the report.

    Args:
        sides: what is compared, by name; the first is what the others are compared with.
        evaluations: each one's `results.json`; over several seeds with the means over them.
        differences: of each other one from the first, as `riftk.report.comparison.compare` gives them; empty
            where they are shown side by side only.
        further: the same from other ones, by their name.
        obstacles: why they cannot be compared, one sentence each.
        notes: what else stands at the top, such as what is missing.
        plots: name of the picture of each task that has one.
        gallery: further pictures.
    """

    sides: Mapping[str, Side]
    evaluations: Mapping[str, Mapping[str, Any]]
    differences: Differences = field(default_factory=dict)
    further: Mapping[str, Differences] = field(default_factory=dict)
    obstacles: Sequence[str] = ()
    notes: Sequence[str] = ()
    plots: dict[str, str] = field(default_factory=dict)
    gallery: Gallery = field(default_factory=Gallery)

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

    def columns(self, group: str, rules: str | None = "robust") -> list[Column]:
        """The columns of a table, in the order in which evaluations bring them up."""
        found = (one for results in self.evaluations.values() for one in columns(results, rules))
        return list(dict.fromkeys(one for one in found if one.group == group))


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
    sides = {name: {0: folder} for name, folder in name_evaluations(runs).items()}
    try:
        return write_sides(sides, out, side_by_side=side_by_side, limits=limits)
    except NotComparable as error:
        raise ValueError(f"{error}; --side-by-side shows them without differences") from error


def write_sides(
    folders: Mapping[str, Mapping[int, Path]],
    out: str | Path,
    *,
    stem: str = "report",
    against: Sequence[str] = (),
    notes: Sequence[str] = (),
    side_by_side: bool = False,
    limits: Limits = LIMITS,
) -> Path:
    """Write a report over evaluations with different seeds and return the path of its Markdown.

    Args:
        folders: evaluation folders by the name of their side and by seed; the first side is what the others
            are compared with.
        out: folder to write to.
        stem: beginning of the files' names.
        against: further sides that the others are compared with.
        notes, side_by_side, limits: see `Several` and `write_comparison`; the page shows the samples of each
            side's first seed.

    Raises:
        ValueError: see `write_comparison`; `NotComparable` where items, limits or rules differ.
    """
    data = collect_several(folders, against=against, notes=notes, side_by_side=side_by_side)
    out = Path(out)
    out.mkdir(parents=True, exist_ok=True)
    for task in data.tasks:
        name = f"{stem}_{task}.png"
        if plot_trade_off(data.evaluations, task, out / name, data.differences):
            data.plots[task] = name
    said = {name: next(iter(side.tallies.values())) for name, side in data.sides.items()}
    data = replace(data, gallery=make_gallery(data.evaluations, said, out, stem))
    write_text(out / f"{stem}.csv", render_csv(data.evaluations, data.differences))
    markdown = render_several(data)
    write_text(out / f"{stem}.md", markdown)
    shown = {name: next(iter(of_side.values())) for name, of_side in folders.items()}
    traces = collect_traces({name: sample_files(folder) for name, folder in shown.items()}, limits)
    pictures = read_pictures(out, [*data.plots.values(), *data.gallery.files])
    write_text(out / f"{stem}.html", render_page(_title(data), markdown, pictures, traces))
    return out / f"{stem}.md"


class NotComparable(ValueError):
    """Evaluations that did not answer the same items under the same limits and rules."""


def collect_several(
    folders: Mapping[str, Mapping[int, Path]],
    *,
    against: Sequence[str] = (),
    notes: Sequence[str] = (),
    side_by_side: bool = False,
) -> Several:
    """The data of a report over several evaluation folders, by name and seed.

    Raises:
        ValueError: see `write_sides`.
    """
    sides = {name: Side.read(of_side) for name, of_side in folders.items()}
    first, *others = (folder for of_side in folders.values() for folder in of_side.values())
    obstacles = []
    for other in others:
        try:
            check_comparable(first, other)
        except ValueError as error:
            if not side_by_side:
                raise NotComparable(str(error)) from error
            obstacles.append(str(error))
    evaluations = {name: side.merged() for name, side in sides.items()}
    base, *rest = sides
    differences = {} if side_by_side else _from(sides, base, rest)
    further = {} if side_by_side else {one: _from(sides, one, rest) for one in against if one in rest}
    return Several(sides, evaluations, differences, further, obstacles, notes)


def _from(sides: Mapping[str, Side], one: str, others: Sequence[str]) -> dict[str, dict[str, dict[str, Any]]]:
    """Paired differences of others from one."""
    return {name: side_differences(sides[one], sides[name]) for name in others if name != one}


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
    parts += [inline(note) for note in data.notes]
    parts += _summary(data)
    parts += _tables(data)
    for name, differences in ({data.first: data.differences} | data.further).items():
        parts += _gaps(data, name, differences)
    for task in data.tasks:
        parts += _following(data, task, _of(data, task))
        parts += _probed(data, task, _of(data, task))
    parts += _published(data)
    parts += data.gallery.parts
    return "\n\n".join([*parts, *_provenance(data)]) + "\n"


def _title(data: Several) -> str:
    return ", ".join(data.evaluations)


def _place(folder: Path) -> tuple[str, ...]:
    """What an evaluation is called, from its most distant folder to its own name."""
    path = folder.resolve()
    if path.parent.name != "eval":
        return path.parts
    run = path.parent.parent
    return (*run.parts[:-1], run.name + (" (before)" if path.name == "before" else ""))


def _of(data: Several, task: str) -> str:
    return f" ({inline(task)})" if len(data.tasks) > 1 else ""


def _summary(data: Several) -> list[str]:
    """What each amounts to against the first, in a sentence, and in a picture."""
    parts = []
    for task in data.tasks:
        parts += _conclusions(data, task, data.differences)
        parts += _picture(data, task)
    return [f"## In short, against {inline(data.first)}", *parts] if parts else []


def _tables(data: Several) -> list[str]:
    """Following, and what it costs, under robust rules: a row for each side."""
    parts: list[str] = []
    named: list[Column] = []
    titles = {FOLLOWING: "Following, robust rules", ABILITY: "Accuracy, joint and length, robust rules"}
    for group, title in titles.items():
        if found := data.columns(group):
            named += found
            parts.append(f"## {title}")
            for heading, shown in _tables_of(data, found):
                parts += [*heading, _figures(data, shown)]
    if named:
        parts.append(explanation(named))
    return [*parts, RULE] if named and data.differences else parts


def _tables_of(data: Several, found: Sequence[Column]) -> list[tuple[list[str], list[Column]]]:
    """Columns that stand in one table, with what stands above it: all of them, or where they are too many for
    a page those of each task. Of several tasks a table of one says whose it is above, not in each column."""
    tasks = list(dict.fromkeys(column.task for column in found))
    if len(found) > WIDEST or len(tasks) == 1:
        tables = [(task, [one for one in found if one.task == task]) for task in tasks]
        return [(_on(data, task), of_task) for task, of_task in tables]
    return [([], list(found))] if found else []


def _on(data: Several, task: str) -> list[str]:
    """Of which task something is, and how much there is of it, where there are several."""
    items = next(one["configs"][task]["items"] for one in data.evaluations.values() if task in one["configs"])
    return [f"On {inline(task)} ({items:,} items):"] if len(data.tasks) > 1 else []


def _figures(data: Several, found: Sequence[Column]) -> str:
    cells = []
    for column in found:
        estimates = {name: data.estimate(name, column.task, column.key) for name in data.evaluations}
        marked = leaders(data.sides, estimates, column) if data.differences else {}
        cells.append(
            {
                name: _marked(estimate_cell(one, column.key), marked.get(name))
                for name, one in estimates.items()
            }
        )
    rows = [[inline(name), *(column[name] for column in cells)] for name in data.evaluations]
    return table(_header(found), rows)


def _marked(cell: str, mark: str | None) -> str:
    """A figure set off, without its interval."""
    if mark is None:
        return cell
    value, bracket, interval = cell.partition(" [")
    return f"{_MARKS[mark]}{value}{_MARKS[mark]}{bracket}{interval}"


def _header(found: Sequence[Column]) -> list[str]:
    several = len({column.task for column in found}) > 1
    return ["", *(f"{one.name} ({inline(one.task)})" if several else one.name for one in found)]


def _picture(data: Several, task: str) -> list[str]:
    """Accuracy against following, with those that no other one beats in both."""
    if task not in data.plots:
        return []
    points = trade_off_points(data.evaluations, task)
    places = {name: (one["value"], other["value"]) for name, (one, other) in points.items()}
    front = ", ".join(map(inline, pareto_front(places)))
    accuracy, following = trade_off_names(data.evaluations, task)
    return [
        f"![Accuracy against following: {inline(task)}]({data.plots[task]})",
        f"Beaten by no other in both {accuracy} and {following}{_of(data, task)}, by the figures alone: "
        f"{front}.",
    ]


def _gaps(data: Several, first: str, differences: Differences) -> list[str]:
    """What each changed against one of them, in tables; the first of all is summarised elsewhere."""
    if not differences:
        return []
    parts = [f"## Differences from {inline(first)}"]
    if first != data.first:
        for task in data.tasks:
            parts += _conclusions(data, task, differences)
    for group in (FOLLOWING, ABILITY):
        for heading, shown in _tables_of(data, data.columns(group)):
            parts += [*heading, _gap_table(data, shown, differences)]
    return parts


def _gap_table(data: Several, found: Sequence[Column], differences: Differences) -> str:
    rows = [
        [inline(name), *(difference_cell(gaps.get(one.task, {}).get(one.key), one.key) for one in found)]
        for name, gaps in differences.items()
    ]
    return table(_header(found), rows)


def _conclusions(data: Several, task: str, differences: Differences) -> list[str]:
    """What each amounts to against one of them. One sentence stands alone; several need names."""
    said = {name: conclusion(gaps[task]) for name, gaps in differences.items() if task in gaps}
    if len(said) == 1:
        return [f"**{sentence}**" for sentence in said.values()]
    lines = "\n".join(f"- **{inline(name)}**: {sentence}" for name, sentence in said.items())
    return [*_on(data, task), lines] if said else []


def _following(data: Several, task: str, of_task: str) -> list[str]:
    """Following by constraint, robust rules."""
    parts = []
    for target in TARGETS:
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


def _probed(data: Several, task: str, heading: str) -> list[str]:
    """What became of the answers behind changed traces, over all samples of a probe."""
    parts = []
    for title, figures in figure_rows(data.keys(task)).items():
        of_all = [(label, key) for label, key in figures if key.partition("/")[0] in FIGURES]
        body = [
            [label, *(estimate_cell(data.estimate(name, task, key), key) for name in data.evaluations)]
            for label, key in of_all
        ]
        parts += [f"## {title}{heading}", table(["", *map(inline, data.evaluations)], body)]
        if data.differences:
            gaps = [one.get(task, {}) for one in data.differences.values()]
            rows = [[label, *(difference_cell(gap.get(key), key) for gap in gaps)] for label, key in of_all]
            parts += [
                f"Differences from {inline(data.first)}:",
                table(["", *map(inline, data.differences)], rows),
            ]
    return parts


def _published(data: Several) -> list[str]:
    """The same figures by each benchmark's published rules, to be held against its paper."""
    found = [column for group in (FOLLOWING, ABILITY) for column in data.columns(group, None)]
    if not found:
        return []
    parts = ["## By the benchmarks' published rules"]
    for heading, shown in _tables_of(data, found):
        parts += [*heading, _figures(data, shown)]
    if data.differences:
        parts.append(f"Differences from {inline(data.first)}:")
        for heading, shown in _tables_of(data, found):
            parts += [*heading, _gap_table(data, shown, data.differences)]
    return parts


def _provenance(data: Several) -> list[str]:
    """How the first was obtained, and of each other one what is different."""
    parts, said = [], set()
    for name, results in data.evaluations.items():
        lines = [line for line in provenance({"after": results}).splitlines() if line not in said]
        said |= set(lines)
        if len(data.sides[name].folders) > 1:
            lines.append(f"- seeds: {', '.join(map(str, data.sides[name].folders))}")
        if lines:
            parts += [f"## How {inline(name)} was obtained", "\n".join(lines)]
    if any(len(side.folders) > 1 for side in data.sides.values()):
        parts.append(_OVER_SEEDS)
    return parts
