"""`riftk compare`: a matrix of ways of training over seeds, or runs that exist, on one page."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from riftk.commands.options import MaxCharacters, MaxSamples

if TYPE_CHECKING:
    from riftk.comparing.matrix import Matrix
    from riftk.comparing.plan import Run


def compare(
    context: typer.Context,
    config: Annotated[
        str | None, typer.Argument(help="YAML of the comparison, also pkg://riftk.recipes/configs/compare/….")
    ] = None,
    collect: Annotated[
        list[str] | None,
        typer.Option(
            help="NAME=FOLDER of a run that exists, the first of which the others are compared with; a name "
            "that is given again is another seed. Nothing is run."
        ),
    ] = None,
    only: Annotated[str, typer.Option(help="Cells to run, comma-separated; none: all.")] = "",
    seeds: Annotated[str, typer.Option(help="Seeds instead of the YAML's, such as 0,1,2.")] = "",
    launcher: Annotated[
        str | None,
        typer.Option(help="Arguments of accelerate launch instead of the YAML's, as one string."),
    ] = None,
    jobs: Annotated[
        int, typer.Option(min=1, help="Runs at a time. They share the machine's processors, and its GPUs.")
    ] = 1,
    out: Annotated[Path | None, typer.Option(help="Folder of the report, instead of the output_dir.")] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print what would run, check every configuration, and stop.")
    ] = False,
    max_samples: MaxSamples = 5_000,
    max_characters: MaxCharacters = 30_000_000,
) -> None:
    """Run recipes over seeds from one starting checkpoint, each in its own process, and compare the results.

    What is finished stays: the same command goes on where it was killed. A run that fails is reported with
    the end of its log, and the others go on; the exit status is then 1. The report holds whatever is
    finished: compare.md, compare.html, compare.csv and pictures, and what is named in compare.md besides.
    """
    from riftk.comparing.matrix import check_seeds, read_matrix
    from riftk.comparing.plan import check_folders, needed
    from riftk.comparing.report import write_report
    from riftk.report import Limits

    limits = Limits(samples=max_samples, characters=max_characters)
    if collect:
        if config is not None:
            raise ValueError("--collect compares runs that exist; in a YAML they stand under runs")
        if out is None:
            raise ValueError("--collect writes its report to a folder of its own; name it with --out")
        return print(_written(write_report(_collection(collect, out), out, limits), out))
    if config is None:
        raise ValueError("give the YAML of a comparison, or --collect NAME=FOLDER")
    matrix = read_matrix(config)
    if seeds:
        matrix = replace(matrix, seeds=check_seeds(_numbers(seeds)))
    if launcher is not None:
        matrix = replace(matrix, launcher=tuple(shlex.split(launcher)))
    names = [name for name in only.split(",") if name]
    runs = needed(matrix, names or list(matrix.cells)) if matrix.cells else []
    check_folders(runs)
    if dry_run:
        return _show_plan(matrix, runs, context.parent.command.commands["probe"])
    failed = _run(config, matrix, runs, jobs)
    print(_written(write_report(matrix, out, limits), out or matrix.output_dir))
    if failed:
        print(f"{len(failed)} of {len(runs)} runs are not finished: {', '.join(run.name for run in failed)}")
        raise typer.Exit(1)


def _run(config: str, matrix: Matrix, runs: list[Run], jobs: int) -> list[Run]:
    """Check what is not finished, and run it; what failed."""
    from riftk.comparing.running import holding, run_all
    from riftk.runs import run_module

    todo = [run for run in runs if not run.is_complete]
    if not todo:
        return []
    with holding(matrix.output_dir):
        # In a process of its own, because trl and torch would keep a GPU's memory from the runs.
        asked = [f"--seeds={','.join(map(str, matrix.seeds))}", f"--launcher={shlex.join(matrix.launcher)}"]
        asked += [f"--only={','.join(dict.fromkeys(run.cell for run in todo))}"]
        run_module(["riftk.cli", "compare", config, *asked, "--dry-run"], "the check of the configurations")
        return run_all(matrix, runs, jobs)


def _show_plan(matrix: Matrix, runs: list[Run], probe: Any) -> None:
    from riftk.comparing.checking import check_probe, check_runs
    from riftk.comparing.plan import shown_command

    seeds = ", ".join(map(str, matrix.seeds))
    if matrix.cells:
        print(f"{', '.join(matrix.cells)}; seeds {seeds}; all from {matrix.model}, in {matrix.output_dir}")
    for number, run in enumerate(runs, 1):
        state = "finished" if run.is_complete else "begun" if run.folder.exists() else "to do"
        print(f"[{number}/{len(runs)}] {run.name}: {state}\n    {shown_command(matrix, run)}")
    for name, folders in matrix.runs.items():
        print(f"{name}: collected from {', '.join(map(str, folders))}")
    if matrix.probe and runs:
        check_probe(matrix, runs[0], probe)
    check_runs(matrix, [run for run in runs if not run.is_complete])


def _collection(collect: list[str], out: Path) -> Matrix:
    from riftk.comparing.matrix import Matrix

    runs: dict[str, tuple[Path, ...]] = {}
    for one in collect:
        name, equals, folder = one.partition("=")
        if not (name and equals and folder):
            raise ValueError(f"--collect takes NAME=FOLDER, not {one!r}")
        runs[name] = (*runs.get(name, ()), Path(folder))
    if len(runs) < 2:
        raise ValueError("--collect needs two names at least; riftk report shows a single run")
    return Matrix(out, runs=runs)


def _numbers(text: str) -> list[int]:
    if not all(part.strip().isdecimal() for part in text.split(",")):
        raise ValueError(f"--seeds takes whole numbers such as 0,1,2, not {text!r}")
    return [int(part) for part in text.split(",")]


def _written(report: Path | None, out: Path) -> str:
    return str(report) if report else f"{out}: there are not two results to compare yet"
