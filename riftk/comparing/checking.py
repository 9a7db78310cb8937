"""Every configuration of a comparison, tried before anything starts: each recipe's own dry run."""

from __future__ import annotations

import io
from collections.abc import Sequence
from contextlib import redirect_stdout
from importlib import import_module
from typing import Any

from riftk.benchmarks import load_benchmark
from riftk.comparing.matrix import Matrix
from riftk.comparing.plan import Run, arguments, probe_arguments


def check_runs(matrix: Matrix, runs: Sequence[Run]) -> None:
    """Try each run's configuration and print what was found out; runs that differ in the seed are one.

    A recipe that starts from another run is tried with the starting checkpoint as long as that run is not
    finished.

    Raises:
        ValueError, FileNotFoundError: the first mistake, with the name of the run.
    """
    tried = set()
    for run in runs:
        if run.stage in tried:
            continue
        tried.add(run.stage)
        try:
            found = _dry_run(matrix, run)
        except (ValueError, FileNotFoundError) as error:
            raise ValueError(f"{run.name} ({run.step.config}): {error}") from error
        except SystemExit as error:  # how argparse refuses; what it said is on stderr
            raise ValueError(f"{run.name} ({run.step.config}): see above") from error
        print(f"{run.stage}: {'; '.join(found)}", flush=True)


def check_probe(matrix: Matrix, run: Run, probe: Any) -> None:
    """Try the options of a probe.

    Args:
        matrix: the comparison.
        run: one of its runs.
        probe: the command `riftk probe`.

    Raises:
        ValueError: the command does not take the options, or there is no such task.
    """
    from typer import BadParameter

    usage_error: Any = BadParameter.__base__  # click's, or that of typer's own copy of click
    try:
        said = probe.make_context("probe", probe_arguments(matrix, run)).params
    except usage_error as error:
        raise ValueError(f"probe: {error.format_message()}") from error
    options = run.step.resolved()
    asked = [load_benchmark(name, data_dir=options.get("data_dir")).name for name in options["benchmarks"]]
    if unknown := [task for task in filter(None, said["tasks"].split(",")) if task not in asked]:
        raise ValueError(f"probe: there is no task {unknown[0]!r}; the benchmarks' are {', '.join(asked)}")


def _dry_run(matrix: Matrix, run: Run) -> list[str]:
    """What the recipe's dry run finds out; all else that it shows is left out."""
    from riftk.dry_run import show_dry_run

    recipe = import_module(f"riftk.recipes.{run.step.recipe}")
    said = arguments(matrix, run)
    if run.before and run.before.trains and not run.before.is_finished:
        said += ["--model_name_or_path", matrix.model]
    if "--limits" in said:  # measured by the first run
        said += ["--limits", "calibrate"]
    with redirect_stdout(io.StringIO()):
        return show_dry_run(*recipe.parse([*said, "--dry_run", "true"]), recipe.check_inputs)
