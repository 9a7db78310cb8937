"""The report over what is finished."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from riftk.comparing.held_out import held_out_evaluations
from riftk.comparing.matrix import Matrix
from riftk.comparing.plan import last_runs
from riftk.evaluation.configuration import read_config
from riftk.evaluation.runs import copy_tasks
from riftk.report import Limits
from riftk.report.several import evaluation_of, write_sides
from riftk.report.traces import LIMITS

STEM = "compare"


def write_report(matrix: Matrix, out: Path | None = None, limits: Limits = LIMITS) -> Path | None:
    """Write `compare.md`, `.html`, `.csv` and pictures over the runs of a matrix that are finished.

    Args:
        matrix: the comparison.
        out: folder to write to, instead of the comparison's own.
        limits: how many of the samples the page holds.

    Returns:
        The path of `compare.md`; None where fewer than two sides, or not the base, are there.

    Raises:
        FileNotFoundError: a folder of `runs` holds no evaluation.
        ValueError: runs did not answer the same items under the same limits and rules.
    """
    out = out or matrix.output_dir
    sides, missing = _finished(matrix)
    whole = {name: side for name, side in sides.items() if name in (*matrix.whole, *matrix.runs)}
    if len(whole) < 2 or (matrix.cells and matrix.base not in whole):
        return None
    notes = [f"Not finished, and therefore not in here: {', '.join(missing)}."] if missing else []
    further = []
    for one in _further(matrix, sides, out):
        write_sides(one.sides, out, stem=one.stem, against=one.against, notes=notes, limits=limits)
        further.append(f"{one.about}: {one.stem}.md.")
    return write_sides(whole, out, stem=STEM, against=matrix.against, notes=[*notes, *further], limits=limits)


@dataclass(frozen=True)
class Further:
    """A report beside the main one: the beginning of its files' names, what it is about, and its sides."""

    stem: str
    about: str
    sides: Mapping[str, Mapping[int, Path]]
    against: Sequence[str] = ()


def _further(matrix: Matrix, sides: Mapping[str, Mapping[int, Path]], out: Path) -> list[Further]:
    """The reports beside the main one for which there is something to show."""
    found = []
    for number, (cell, without) in enumerate(matrix.left_out.items()):
        shown = {name: sides[name] for name in (matrix.base, cell, *without) if name in sides}
        stem = f"{STEM}_left_out" + (f"_{cell}" if number else "")
        found.append(Further(stem, f"What {cell} was trained on, and what it was asked", shown))
    held_out = held_out_evaluations(matrix, out / "held_out")
    said = "Following of constraints that were left out of the training"
    found.append(Further(f"{STEM}_held_out", said, held_out, matrix.against))
    found.append(Further(f"{STEM}_probe", "What answers owe to the traces", _probes(matrix), matrix.against))
    found = [one for one in found if len(one.sides) > 1 and matrix.base in one.sides]
    return [replace(one, sides=_asked_alike(one.sides, out / "asked_alike" / one.stem)) for one in found]


def _asked_alike(sides: Mapping[str, Mapping[int, Path]], out: Path) -> dict[str, dict[int, Path]]:
    """The sides, each with those tasks alone that all of them answered."""
    asked = {folder: [*read_config(folder)["tasks"]] for side in sides.values() for folder in side.values()}
    first, *others = asked.values()
    common = [task for task in first if all(task in other for other in others)]

    def with_common(folder: Path, name: str, seed: int) -> Path:
        return folder if asked[folder] == common else copy_tasks(folder, common, out / name / f"seed-{seed}")

    return {
        name: {seed: with_common(folder, name, seed) for seed, folder in side.items()}
        for name, side in sides.items()
    }


def _probes(matrix: Matrix) -> dict[str, dict[int, Path]]:
    """Folders of finished probes by side and seed."""
    last = last_runs(matrix) if matrix.probe else {}
    found = {
        cell: {seed: run.probe for seed, run in last[cell].items() if run.is_complete}
        for cell in matrix.whole
        if cell in last
    }
    return {cell: of_seeds for cell, of_seeds in found.items() if of_seeds}


def _finished(matrix: Matrix) -> tuple[dict[str, dict[int, Path]], list[str]]:
    """Evaluation folders by side and seed, and the names of those that are missing."""
    sides: dict[str, dict[int, Path]] = {}
    missing = []
    for cell, runs in last_runs(matrix).items() if matrix.cells else ():
        done = {seed: run.evaluation for seed, run in runs.items() if run.is_finished}
        if left := [str(seed) for seed in runs if seed not in done]:
            missing.append(f"{cell} (seed{'s' * (len(left) > 1)} {', '.join(left)})")
        if done:
            sides[cell] = done
    return sides | _collected(matrix.runs, matrix.seeds if matrix.cells else None), missing


def _collected(
    runs: Mapping[str, tuple[Path, ...]], seeds: tuple[int, ...] | None
) -> dict[str, dict[int, Path]]:
    """Evaluations of runs that exist already; the first of a list goes with the first seed."""
    found = {}
    for name, folders in runs.items():
        places = seeds if seeds and len(seeds) >= len(folders) else range(len(folders))
        found[name] = {place: evaluation_of(folder) for place, folder in zip(places, folders, strict=False)}
    return found
