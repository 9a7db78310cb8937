"""Every configuration of a comparison, tried before anything starts: each recipe's own dry run."""

from __future__ import annotations

import io
from collections.abc import Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from importlib import import_module

from riftk.comparing.matrix import Matrix
from riftk.comparing.plan import Run, arguments


@dataclass(frozen=True)
class Recipe:
    """Names of what a recipe's module parses its command line with and checks it by."""

    arguments: str
    trainer: str
    check: str


_RECIPES = {
    "rif": Recipe("RifArguments", "SFTConfig", "check_supervised_inputs"),
    "sft": Recipe("SftArguments", "SFTConfig", "check_inputs"),
    "cold_rl": Recipe("ColdRlArguments", "RlConfig", "check_inputs"),
}
# How the lines of a dry run begin or end that say what was read.
_SAID = ("out of reach", "all inputs were read")


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
            said = _dry_run(matrix, run)
        except (ValueError, FileNotFoundError) as error:
            raise ValueError(f"{run.name} ({run.step.config}): {error}") from error
        except SystemExit as error:  # how argparse refuses; what it said is on stderr
            raise ValueError(f"{run.name} ({run.step.config}): see above") from error
        notes = [line for line in said.splitlines() if any(part in line for part in _SAID)]
        print(f"{run.stage}: {'; '.join(notes)}", flush=True)


def _dry_run(matrix: Matrix, run: Run) -> str:
    from riftk.dry_run import show_dry_run
    from riftk.training import parse_recipe

    module, names = import_module(f"riftk.recipes.{run.step.recipe}"), _RECIPES[run.step.recipe]
    said = arguments(matrix, run)
    if run.before and run.before.trains and not run.before.is_finished:
        said += ["--model_name_or_path", matrix.model]
    if "--limits" in said:  # measured by the first run
        said += ["--limits", "calibrate"]
    parsed = parse_recipe(
        [*said, "--dry_run", "true"],
        *(getattr(module, name) for name in (names.arguments, names.trainer)),
        module.DEFAULT_CONFIG,
    )
    output = io.StringIO()
    with redirect_stdout(output):
        show_dry_run(*parsed, getattr(module, names.check))
    return output.getvalue()
