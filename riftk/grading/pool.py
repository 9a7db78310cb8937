"""A few worker processes that compare answers, with a hard deadline for each.

Symbolic comparison can hang or crash on what a model wrote, a signal cannot stop it off the main thread, and
a thread cannot be killed. So it runs in processes:

* Each is a fresh interpreter (fork and exec at once), so no lock, CUDA context or unguarded `__main__` of the
  caller comes along, and it never imports torch.
* They start when the first comparison needs one, at most two in a process, and on a small node one: eight
  ranks start sixteen at most. RIFTK_GRADING_WORKERS sets another number.
* One that misses its deadline or dies is killed, waited for and replaced. A batch full of hanging answers
  costs two minutes at most: the deadline gets shorter with every few that are lost, and at last the rest is
  given up.
* They end with the process that started them: their pipe closes, and a stuck one is ended by the kernel's
  timer a second after its deadline.

Any thread may use a pool, daemon threads included; a forked child starts workers of its own.
"""

from __future__ import annotations

import atexit
import json
import logging
import os
import selectors
import subprocess
import sys
import tempfile
import threading
import time
import weakref
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import IO, Any

WORKERS_VARIABLE = "RIFTK_GRADING_WORKERS"
_MAX_WORKERS = 2  # by default; a comparison takes 20 ms and one answer in ten needs one
_SECONDS = 5.0
_SECONDS_TO_START = 120.0  # a start takes half a second, on a node where everything starts at once far longer
_LOST_TO_HALVE = 8  # calls that one batch may lose before its deadline is halved, and halved again
_MIN_SHARE = 1 / 8  # of the deadline: what is left of it
_MAX_LOST = 40  # calls that one batch may lose before the rest of it is given up
_MAX_KNOWN = 4096
_TRIES = 2  # a worker may have died of something else than its answer, such as the memory of its node

_log = logging.getLogger(__name__)
# -P: no module of the working directory shadows another; sys.path then is what the caller has.
_BOOT = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from riftk.grading.worker import main; main(*sys.argv[2:])"
)


class WorkerError(RuntimeError):
    """No worker process can be started here."""


@dataclass(frozen=True)
class Outcome:
    """What came of one call.

    Args:
        value: what the function returned, None where it did not return.
        fault: why there is no value, "" where there is one.
    """

    value: Any = None
    fault: str = ""


class _WorkerDied(Exception):
    pass


class Pool:
    """Calls a function in worker processes, with a deadline for each call.

    Args:
        workers: processes at most. By default two, or one where half of the cores, shared among the ranks of
            the node (LOCAL_WORLD_SIZE), are fewer.
        seconds: deadline of one call, in wall-clock seconds from when a worker gets it.
        function: "module:name" of a function that takes and returns JSON values.
    """

    def __init__(
        self,
        workers: int | None = None,
        seconds: float = _SECONDS,
        function: str = "riftk.grading.engine:compare",
    ):
        self._workers = workers or _default_workers()
        self._seconds = seconds
        self._function = function
        self._reset()
        _POOLS.add(self)

    def _reset(self) -> None:
        self._threads = ThreadPoolExecutor(self._workers, thread_name_prefix="riftk-grading")
        self._lock = threading.Lock()
        self._idle: list[_Worker] = []
        self._busy: set[_Worker] = set()
        self._known: dict[tuple[Any, ...], Outcome] = {}
        self._noted: set[str] = set()
        self._has_started = False

    def map(self, calls: Iterable[tuple[Any, ...]]) -> list[Outcome]:
        """Results of the calls, in their order; equal calls are made once.

        Raises:
            WorkerError: no worker can be started in this environment.
        """
        calls = list(calls)
        batch = _Batch()
        with self._lock:
            outcomes = {call: self._known[call] for call in calls if call in self._known}
        futures = {
            call: self._threads.submit(self._call, call, batch)
            for call in dict.fromkeys(calls)
            if call not in outcomes
        }
        try:
            found = {call: future.result() for call, future in futures.items()}
        finally:  # of an interrupted batch nothing stays queued
            for future in futures.values():
                future.cancel()
        with self._lock:
            self._known.update((call, outcome) for call, outcome in found.items() if not outcome.fault)
            while len(self._known) > _MAX_KNOWN:
                del self._known[next(iter(self._known))]
        outcomes |= found
        return [outcomes[call] for call in calls]

    def close(self) -> None:
        """End the workers. The pool can be used again."""
        with self._lock:
            workers, self._idle = self._idle, []
        for worker in workers:
            worker.end()

    def _call(self, call: tuple[Any, ...], batch: _Batch) -> Outcome:
        for _ in range(_TRIES):
            if batch.lost >= _MAX_LOST:
                return Outcome(fault=f"its batch had lost {batch.lost} others before its turn came")
            try:
                worker = self._take()
            except WorkerError as fault:
                if not self._has_started:
                    raise
                return self._lost(batch, call, f"no worker could be started: {fault}")
            seconds = self._seconds * max(_MIN_SHARE, 0.5 ** (batch.lost // _LOST_TO_HALVE))
            try:
                outcome = worker.call(call, seconds)
            except TimeoutError:
                self._discard(worker)
                return self._lost(batch, call, f"it took longer than {seconds:g} s")
            except _WorkerDied:
                self._discard(worker)
            else:
                self._put_back(worker)
                if outcome.fault:
                    self._note(call, outcome.fault)
                return outcome
        return self._lost(batch, call, "it crashed its worker")

    def _lost(self, batch: _Batch, call: tuple[Any, ...], fault: str) -> Outcome:
        batch.lost += 1
        _log.warning("not compared, and taken as unequal: %.200r (%s)", call, fault)
        return Outcome(fault=fault)

    def _note(self, call: tuple[Any, ...], fault: str) -> None:
        """Log what a comparison raised, the first of its kind as a warning."""
        kind = fault.partition(":")[0]
        with self._lock:
            level = logging.DEBUG if kind in self._noted else logging.WARNING
            self._noted.add(kind)
        _log.log(level, "not compared, and taken as unequal: %.200r (%s)", call, fault)

    def _take(self) -> _Worker:
        with self._lock:
            worker = self._idle.pop() if self._idle else None
        worker = worker or _Worker(self._function, self._seconds)
        with self._lock:
            self._busy.add(worker)
            self._has_started = True
        return worker

    def _put_back(self, worker: _Worker) -> None:
        with self._lock:
            self._busy.discard(worker)
            self._idle.append(worker)

    def _discard(self, worker: _Worker) -> None:
        with self._lock:
            self._busy.discard(worker)
        worker.end()

    def _forget(self) -> None:
        """Leave the workers to the parent, in a forked child."""
        for worker in (*self._idle, *self._busy):
            worker.forget()
        self._reset()


@dataclass
class _Batch:
    lost: int = 0  # calls that hung or crashed; counted by a few threads, and exact enough without a lock


class _Worker:
    """One worker process and the pipes to it."""

    def __init__(self, function: str, seconds: float):
        path = json.dumps([str(entry) for entry in sys.path])
        command = [sys.executable, "-P", "-c", _BOOT, path, function, str(seconds + 1)]
        # sympy's paths follow the order of its sets, and so the seed of the hashes
        environment = {**os.environ, "PYTHONHASHSEED": "0"}
        try:
            with tempfile.TemporaryFile() as complaints:
                self._start(command, environment, complaints)
        except OSError as fault:
            raise WorkerError(f"{sys.executable} cannot be started as a grading worker: {fault}") from fault

    def _start(self, command: list[str], environment: dict[str, str], complaints: IO[bytes]) -> None:
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=complaints, env=environment
        )
        self._replies = selectors.DefaultSelector()
        self._replies.register(self._process.stdout, selectors.EVENT_READ)
        try:
            self._receive(_SECONDS_TO_START)
        except (_WorkerDied, TimeoutError):
            self.end()
            complaints.seek(0)
            said = complaints.read().decode(errors="replace").strip() or "it did not answer"
            raise WorkerError(
                f"{sys.executable} cannot run riftk.grading.worker ({said.splitlines()[-1][:300]}); "
                "check that math-verify and sympy can be imported there"
            ) from None

    def call(self, arguments: tuple[Any, ...], seconds: float) -> Outcome:
        try:
            self._process.stdin.write(json.dumps(arguments).encode() + b"\n")
            self._process.stdin.flush()
        except OSError:
            raise _WorkerDied from None
        return Outcome(**self._receive(seconds))

    def _receive(self, seconds: float) -> Any:
        line, end = b"", time.monotonic() + seconds
        while not line.endswith(b"\n"):
            if not self._replies.select(max(0.0, end - time.monotonic())):
                raise TimeoutError
            piece = os.read(self._process.stdout.fileno(), 65536)
            if not piece:
                raise _WorkerDied
            line += piece
        return json.loads(line)

    def end(self) -> None:
        self._process.kill()
        self._process.wait()
        self.forget()

    def forget(self) -> None:
        """Close the pipes and no more."""
        self._process.returncode = self._process.returncode or 0  # a forked child has nothing to wait for
        self._replies.close()
        for pipe in (self._process.stdin, self._process.stdout):
            try:
                pipe.close()
            except OSError:  # what was left in its buffer has no reader
                _log.debug("pipe of a dead worker", exc_info=True)


def _default_workers() -> int:
    given = os.environ.get(WORKERS_VARIABLE, "").strip()
    if given:
        if not given.isdigit() or not int(given):
            raise ValueError(f"{WORKERS_VARIABLE} must be a whole number from 1 on, not {given!r}")
        return int(given)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    given = os.environ.get("LOCAL_WORLD_SIZE", "")
    ranks = int(given) if given.isdigit() else 1
    return max(1, min(_MAX_WORKERS, cores // (2 * max(1, ranks))))


_POOLS: weakref.WeakSet[Pool] = weakref.WeakSet()
_shared: Pool | None = None
_shared_lock = threading.Lock()


def shared_pool() -> Pool:
    """The pool of this process. It starts no worker before it is used."""
    global _shared
    with _shared_lock:
        if _shared is None:
            _shared = Pool()
        return _shared


def _after_fork() -> None:
    global _shared_lock
    _shared_lock = threading.Lock()  # another thread may have held it
    for pool in list(_POOLS):
        pool._forget()


def _at_exit() -> None:
    for pool in list(_POOLS):
        pool.close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
atexit.register(_at_exit)
