"""Run what is not finished, one run after the other, each a recipe in its own process with its own log."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from riftk.comparing.matrix import Matrix
from riftk.comparing.plan import Run, command
from riftk.runs import RunError, RunFolder

TAIL = 20  # lines of a failed run's log that are shown


def run_all(matrix: Matrix, runs: Sequence[Run]) -> list[Run]:
    """Start every run that is not finished; return those that failed, or could not start because one failed.

    Args:
        matrix: the comparison.
        runs: in an order in which each stands behind those that it needs.
    """
    failed: list[Run] = []
    for number, run in enumerate(runs, 1):
        where = f"[{number}/{len(runs)}] {run.name}"
        if run.is_finished:
            print(f"{where}: finished", flush=True)
        elif run.before is not None and not run.before.is_finished:
            failed.append(run)
            print(f"{where}: not started, because {run.before.name} failed", flush=True)
        elif not _run(matrix, run, where):
            failed.append(run)
    return failed


def _run(matrix: Matrix, run: Run, where: str) -> bool:
    """Start a run and wait for it; whether it finished."""
    log, started = run.log(matrix), time.monotonic()
    log.parent.mkdir(parents=True, exist_ok=True)
    print(f"{where}: started, log {log}", flush=True)
    _lend_evaluation(run)
    with open(log, "ab") as file:
        start = file.tell()
        process = subprocess.run(
            command(matrix, run),
            env={**os.environ, "PYTHONUNBUFFERED": "1"},  # what is printed stands where it happened
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
            check=False,
        )
    minutes = (time.monotonic() - started) / 60
    if process.returncode == 0 and run.is_finished:
        print(f"{where}: finished after {minutes:.1f} minutes", flush=True)
        return True
    with open(log, "rb") as file:
        file.seek(start)
        lines = file.read().decode("utf-8", "replace").splitlines()[-TAIL:]
    print(f"{where}: FAILED with exit status {process.returncode} after {minutes:.1f} minutes; {log} ends:")
    print("\n".join(f"    {line}" for line in lines), flush=True)
    return False


def _lend_evaluation(run: Run) -> None:
    """Give a run the evaluation of the model that it starts from, instead of letting it make the same again.

    It is taken over only where everything that an evaluation depends on is said alike; the recipe's own
    check of the folder would refuse another one.
    """
    before, target = run.before, RunFolder(run.folder, None).evaluation("before")
    if before is None or target.exists() or before.step.evaluation_options() != run.step.evaluation_options():
        return
    part = target.with_name("before.part")
    shutil.rmtree(part, ignore_errors=True)
    shutil.copytree(before.evaluation, part)
    part.rename(target)


@contextmanager
def holding(folder: Path) -> Iterator[None]:
    """Hold a comparison's folder for this process. Raises `RunError` where another one has it."""
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / ".lock", "w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise RunError(f"another riftk compare is using {folder}; wait for it") from None
        yield
