"""The report over what is finished."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from riftk.comparing.held_out import held_out_evaluations
from riftk.comparing.matrix import Matrix
from riftk.comparing.plan import last_runs
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
    if len(sides) < 2 or (matrix.cells and matrix.base not in sides):
        return None
    notes = [f"Not finished, and therefore not in here: {', '.join(missing)}."] if missing else []
    for stem, (said, further, against) in _further(matrix, sides).items():
        write_sides(further, out, stem=f"{STEM}_{stem}", against=against, limits=limits)
        notes.append(f"{said}: {STEM}_{stem}.md.")
    whole = {name: side for name, side in sides.items() if name in (*matrix.whole, *matrix.runs)}
    return write_sides(whole, out, stem=STEM, against=matrix.against, notes=notes, limits=limits)


def _further(
    matrix: Matrix, sides: Mapping[str, Mapping[int, Path]]
) -> dict[str, tuple[str, Mapping[str, Mapping[int, Path]], Sequence[str]]]:
    """Further reports, where there is something to show: what each is about, its sides, what else the sides
    are compared with."""
    found: dict[str, tuple[str, Mapping[str, Mapping[int, Path]], Sequence[str]]] = {}
    for cell, without in list(matrix.left_out.items())[:1]:
        shown = {name: sides[name] for name in (matrix.base, cell, *without) if name in sides}
        found["left_out"] = ("What was trained, and what was asked", shown, ())
    held_out = held_out_evaluations(matrix)
    found["held_out"] = (
        "Following of constraints that were left out of the training",
        held_out,
        [*held_out][1:2],
    )
    found["probe"] = ("What answers owe to the traces", _probes(matrix), matrix.against)
    return {stem: one for stem, one in found.items() if len(one[1]) > 1 and matrix.base in one[1]}


def _probes(matrix: Matrix) -> dict[str, dict[int, Path]]:
    """Folders of finished probes by side and seed."""
    last = last_runs(matrix) if matrix.probe and matrix.cells else {}
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
        missing += [f"{cell} (seed {seed})" for seed in runs if seed not in done]
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
