"""Every configuration of a comparison, tried before anything starts: each recipe's own dry run."""

from __future__ import annotations

import io
from collections.abc import Sequence
from contextlib import redirect_stdout
from importlib import import_module

from riftk.comparing.matrix import Matrix
from riftk.comparing.plan import Run, arguments


def check_runs(matrix: Matrix, runs: Sequence[Run]) -> None:
    """Try each run's configuration and print what was found out; runs that differ in the seed are one.

    A recipe that starts from another run is tried with the starting checkpoint as long as that run is not
    finished.

    Raises:
        ValueError, FileNotFoundError: the first mistake, with the name of the run.
    """
    _check_probe(matrix)
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


def _check_probe(matrix: Matrix) -> None:
    """Raise `ValueError` where `riftk probe` has no such option."""
    from typer.main import get_command

    from riftk.cli import app

    command = get_command(app).commands["probe"]  # type: ignore[attr-defined]
    known = {option.name for option in command.params}
    if unknown := [name for name in matrix.probe if name.replace("-", "_") not in known]:
        raise ValueError(
            f"probe: riftk probe has no option {unknown[0]!r}; it has {', '.join(sorted(known))}"
        )


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
