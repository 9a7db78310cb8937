"""Run what is not finished, each run a recipe in its own process with its own log, some side by side."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from graphlib import TopologicalSorter
from pathlib import Path
from typing import IO, Any

from riftk.comparing.matrix import Matrix
from riftk.comparing.plan import Run, command, probe_command
from riftk.evaluation.configuration import read_config
from riftk.evaluation.runs import copy_tasks
from riftk.runs import RunError, RunFolder

TAIL = 20  # lines of a failed run's log that are shown


def run_all(matrix: Matrix, runs: Sequence[Run], jobs: int = 1) -> list[Run]:
    """Start every run that is not finished; return those that failed, or could not start because one failed.

    Args:
        matrix: the comparison.
        runs: with all that they need. The first is the starting checkpoint's, which may measure word limits
            for the others: they wait for it.
        jobs: how many run at a time, each with its share of the processors.
    """
    places = {run.folder: f"[{number}/{len(runs)}] {run.name}" for number, run in enumerate(runs, 1)}
    by_folder = {run.folder: run for run in runs}
    order = TopologicalSorter({run.folder: _awaited(run, runs[0]) for run in runs})
    order.prepare()
    failed = set()
    going: dict[Future[bool], Path] = {}
    pool = ThreadPoolExecutor(jobs)
    try:
        while order.is_active():
            for folder in order.get_ready():
                task = pool.submit(_settle, matrix, by_folder[folder], runs[0], places[folder], jobs)
                going[task] = folder
            for future in wait(going, return_when=FIRST_COMPLETED).done:
                folder = going.pop(future)
                order.done(folder)
                if not future.result():
                    failed.add(folder)
    finally:  # interrupted, nothing more is started
        pool.shutdown(cancel_futures=True)
    return [run for run in runs if run.folder in failed]


def _awaited(run: Run, first: Run) -> set[Path]:
    """The folders of the runs that have to end before one can start."""
    before = {run.before.folder} if run.before else set()
    return (before | {first.folder}) - {run.folder}


def _settle(matrix: Matrix, run: Run, first: Run, where: str, jobs: int) -> bool:
    """Start a run if it has to and can be; whether it is finished then."""
    if run.is_complete:
        _say(f"{where}: finished")
        return True
    if run.before is not None and not run.before.is_finished:
        _say(f"{where}: not started, because {run.before.name} failed")
        return False
    return _run(matrix, run, first, where, jobs)


def _run(matrix: Matrix, run: Run, first: Run, where: str, jobs: int) -> bool:
    """Start a run and wait for it; whether it finished."""
    log, started = run.log(matrix), time.monotonic()
    log.parent.mkdir(parents=True, exist_ok=True)
    _say(f"{where}: started, log {log}")
    lend_evaluation(run, first)
    with open(log, "ab") as file:
        start = file.tell()
        status = 0 if run.is_finished else _call(command(matrix, run), file, jobs)
        if run.probe_options and run.is_finished:
            status = _call(probe_command(matrix, run), file, jobs)
            if not status:
                run.mark_probed()
    minutes = (time.monotonic() - started) / 60
    if status == 0 and run.is_complete:
        _say(f"{where}: finished after {minutes:.1f} minutes")
        return True
    with open(log, "rb") as file:
        file.seek(start)
        lines = file.read().decode("utf-8", "replace").splitlines()[-TAIL:]
    said = f"{where}: FAILED with exit status {status} after {minutes:.1f} minutes; {log} ends:"
    _say("\n".join([said, *(f"    {line}" for line in lines)]))
    return False


def _call(arguments: Sequence[str], log: IO[bytes], jobs: int) -> int:
    """Run a program whose output goes to a log; its exit status."""
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}  # what is printed stands where it happened
    if jobs > 1:  # programs side by side share the processors
        environment.setdefault("OMP_NUM_THREADS", str(max((os.cpu_count() or 1) // jobs, 1)))
    return subprocess.run(
        arguments,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=subprocess.STDOUT,
        check=False,
    ).returncode


def _say(text: str) -> None:
    """Print in one piece, whatever other threads print."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def lend_evaluation(run: Run, first: Run) -> None:
    """Give a run the evaluation of the model that it starts from, instead of letting it make the same again.

    It is taken over only where everything that an evaluation depends on is said alike; the recipe's own
    check of the folder would refuse another one. Of a former evaluation that asked more, a part is taken.

    Args:
        run: about to start.
        first: evaluates the starting checkpoint with the first seed; greedily, it is that of every seed.
    """
    former, target = run.before or first, RunFolder(run.folder, None).evaluation("before")
    if target.exists() or not former.is_finished or _conditions(former) != _conditions(run):
        return
    asked, wanted = (one.step.evaluation_options()["benchmarks"] for one in (former, run))
    of_benchmark = dict(zip(asked, read_config(former.evaluation)["tasks"], strict=True))
    if of_benchmark.keys() >= set(wanted):
        tasks = [of_benchmark[benchmark] for benchmark in wanted]
        copy_tasks(former.evaluation, tasks, target.with_name("before.part")).rename(target)


def _conditions(run: Run) -> dict[str, Any]:
    """All that its evaluations depend on but what is asked; greedily the seed is not of it."""
    options = run.step.evaluation_options()
    return {**options, "benchmarks": None, "seed": run.seed if options["eval_temperature"] != 0 else None}


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
