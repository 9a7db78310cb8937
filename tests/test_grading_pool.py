"""Grading workers: deadlines, crashes, threads, processes, forks, and the death of the parent."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from riftk.grading import Pool, WorkerError, grade, grade_many
from riftk.grading.pool import Outcome

HAZARDS = "grading_hazards:compare"
SECONDS = 3.0  # far above what an honest comparison takes on a busy machine
TESTS = Path(__file__).parent


@pytest.fixture
def pool():
    pool = Pool(workers=2, seconds=SECONDS, function=HAZARDS)
    yield pool
    pool.close()


def children(parent: int) -> dict[int, str]:
    """Process ids and states (Z: a zombie) of the children of a process."""
    found = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            head, _, tail = stat.read_text().rpartition(")")
        except OSError:  # gone meanwhile
            continue
        state, ppid = tail.split()[:2]
        if int(ppid) == parent and "python" in head:
            found[int(head.split()[0])] = state
    return found


def gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def wait_until(condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.05)
    assert condition()


def batch(size, hazards):
    """Gradings that need the engine, right and wrong in turn, with hazards among them."""
    items = [(f"\\boxed{{x+{n}y}}" if n % 2 else f"\\boxed{{x+{n}z}}", f"{n}y+x") for n in range(size)]
    for place, hazard in hazards.items():
        items[place] = (f"\\boxed{{x+\\{hazard}}}", "x+1")
    expected = [n % 2 == 1 and n not in hazards for n in range(size)]
    return items, expected


FOUR = {40: "hangA", 140: "crashA", 240: "hangB", 340: "crashB"}


def test_what_hangs_or_crashes_is_wrong_and_the_rest_is_graded(pool):
    hazards = {3: "hang", 7: "crash", 11: "spin", 14: "exit", 18: "raise", 20: "print"}
    items, expected = batch(24, hazards)
    grades = grade_many(*zip(*items, strict=True), pool=pool)
    assert [grade.correct for grade in grades] == expected
    assert "longer than 3 s" in grades[3].reason
    assert "longer than 3 s" in grades[11].reason or "crashed" in grades[11].reason
    assert "crashed its worker" in grades[7].reason
    assert "MemoryError" in grades[18].reason
    assert grade_many(["\\boxed{x+y}"], ["y+x"], pool=pool)[0].correct
    states = children(os.getpid())
    assert "Z" not in states.values()


def test_many_threads_at_once(pool):
    items, expected = batch(500, FOUR)
    plain, clean = batch(500, {})
    verdicts = {}

    def work(number):
        mine = items if number == 0 else plain
        verdicts[number] = [grade_many([response], [gold], pool=pool)[0].correct for response, gold in mine]

    threads = [threading.Thread(target=work, args=(number,), daemon=True) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert verdicts == {number: clean if number else expected for number in range(8)}
    assert "Z" not in children(os.getpid()).values()
    assert len(pool._idle) <= 2


# No `if __name__ == "__main__"`: what starts workers must not run this again.
SCRIPT = """
import json, os, sys
sys.path[:0] = {path!r}
from riftk.grading import Pool, grade_many
import test_grading_pool as tests
items, expected = tests.batch(500, tests.FOUR)
pool = Pool(seconds=tests.SECONDS, function=tests.HAZARDS)
verdicts = [grade.correct for grade in grade_many(*zip(*items), pool=pool)]
again = grade_many(["\\\\boxed{{x+y}}"], ["y+x"], pool=pool)[0].correct
print(json.dumps([verdicts == expected, again, sorted(tests.children(os.getpid()).values()).count("Z")]))
"""


def test_many_processes_at_once_without_a_guarded_main(tmp_path):
    script = tmp_path / "unguarded.py"
    script.write_text(SCRIPT.format(path=[str(TESTS)]))
    environment = {**os.environ, "LOCAL_WORLD_SIZE": "8"}
    runs = [
        subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, text=True, env=environment)
        for _ in range(8)
    ]
    outputs = [run.communicate()[0] for run in runs]
    assert outputs == ["[true, true, 0]\n"] * 8
    assert [run.returncode for run in runs] == [0] * 8


@pytest.mark.parametrize("answer", ["x+y", "hang", "spin"], ids=["idle", "asleep", "in C code"])
def test_workers_die_with_their_parent(tmp_path, answer):
    script = tmp_path / "parent.py"
    script.write_text(
        f"import sys, time; sys.path.insert(0, {str(TESTS)!r})\n"
        "from riftk.grading import Pool\n"
        f"pool = Pool(workers=1, seconds=2, function={HAZARDS!r})\n"
        "pool.map([('robust', 'y+x', 'x+y')])\n"
        "print('ready', flush=True)\n"
        f"pool.map([('robust', 'y+x', {answer!r})])\n"
        "time.sleep(600)\n"
    )
    parent = subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, text=True)
    assert parent.stdout.readline() == "ready\n"
    (worker,) = children(parent.pid)
    time.sleep(0.3)  # into the second call
    parent.kill()
    parent.communicate()
    wait_until(lambda: gone(worker))


def test_a_forked_child_has_workers_of_its_own(pool):
    assert pool.map([("robust", "y+x", "x+y")]) == [Outcome(True)]
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            outcome = pool.map([("robust", "y+2x", "2x+y")])
            os.write(writer, repr(outcome[0].value).encode())
            pool.close()
        finally:
            os._exit(0)
    os.close(writer)
    assert os.waitpid(child, 0)[1] == 0
    assert os.read(reader, 100) == b"True"
    os.close(reader)
    assert pool.map([("robust", "y+3x", "3x+y")]) == [Outcome(True)]


def test_a_worker_that_was_killed_while_idle_is_replaced():
    pool = Pool(workers=1, function="grading_hazards:pid")
    (first,) = pool.map([()])
    os.kill(first.value, signal.SIGKILL)
    pool._known.clear()
    (second,) = pool.map([()])
    pool.close()
    assert second.value not in (None, first.value)
    assert gone(first.value)
    assert gone(second.value)


def test_a_batch_of_hanging_answers_is_given_up():
    pool = Pool(workers=2, seconds=0.1, function=HAZARDS)
    outcomes = pool.map([("robust", "x", f"hang{n}") for n in range(200)])
    pool.close()
    assert all(outcome.fault for outcome in outcomes)
    assert "had lost 4" in outcomes[-1].fault


def test_what_a_comparison_raises_is_logged_once_as_a_warning_and_the_next_is_compared(pool, caplog):
    caplog.set_level("DEBUG", logger="riftk.grading.pool")
    raised = [pool.map([("robust", "x", f"raise{n}")])[0] for n in range(3)]
    assert all(outcome.fault for outcome in raised)
    assert [record.levelname for record in caplog.records] == ["WARNING", "DEBUG", "DEBUG"]
    assert "not compared, and taken as unequal: ('robust', 'x', 'raise0')" in caplog.text
    assert pool.map([("robust", "y+3x", "3x+y")]) == [Outcome(True)]


def test_equal_calls_are_made_once_and_remembered(pool):
    call = ("robust", "y+x", "x+y")
    assert pool.map([call] * 3) == [Outcome(True)] * 3
    pool._function = "nowhere:nothing"  # a new worker could not be started
    pool.close()
    assert pool.map([call]) == [Outcome(True)]
    with pytest.raises(WorkerError):
        Pool(function="nowhere:nothing").map([call])


def test_easy_answers_need_no_worker():
    nobody = Pool(function="nowhere:nothing")
    responses = ["\\boxed{7}", "\\boxed{0.5}", "so \\boxed{(1, 2)}", "The answer is 12.", None, "(B)", "yes"]
    golds = ["8", "\\frac{1}{2}", "(1,2)", "12", "3", "B", "yes"]
    types = ["math", "math", "math", "number", "math", "choice", "label"]
    grades = grade_many(responses, golds, types, pool=nobody)
    assert [item.correct for item in grades] == [False, True, True, True, False, True, True]
    with pytest.raises(WorkerError, match=r"cannot run riftk.grading.worker .*nowhere"):
        grade_many(["\\boxed{x+y}"], ["y+x"], pool=nobody)


def test_workers_load_no_heavy_module():
    pool = Pool(workers=1, seconds=60, function="grading_hazards:heavy_modules")
    (outcome,) = pool.map([()])
    pool.close()
    assert outcome == Outcome([])


def test_the_number_of_workers_is_bounded_and_can_be_set(monkeypatch):
    from riftk.grading.pool import _default_workers

    monkeypatch.delenv("RIFTK_GRADING_WORKERS", raising=False)
    monkeypatch.delenv("LOCAL_WORLD_SIZE", raising=False)
    assert 1 <= _default_workers() <= 2
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "1000")
    assert _default_workers() == 1
    monkeypatch.setenv("RIFTK_GRADING_WORKERS", "5")
    assert _default_workers() == 5
    monkeypatch.setenv("RIFTK_GRADING_WORKERS", "many")
    with pytest.raises(ValueError, match="RIFTK_GRADING_WORKERS must be a whole number"):
        _default_workers()


def test_lists_of_different_lengths_are_refused():
    with pytest.raises(ValueError, match="as many gold answers and types as responses"):
        grade_many(["7", "8"], ["7"])
    with pytest.raises(ValueError, match="as many gold answers and types as responses"):
        grade_many(["7"], ["7"], ["math", "number"])
    assert grade_many([], []) == []


def test_the_shared_pool_serves_any_thread():
    verdicts = []
    worker = threading.Thread(
        target=lambda: verdicts.append(grade("\\boxed{(x+1)^2}", "x^2+2x+1").correct), daemon=True
    )
    worker.start()
    worker.join()
    assert verdicts == [True]
    assert grade("\\boxed{(x+2)^2}", "x^2+4x+4").correct
