"""Evaluations that are killed at every moment, for test_evaluation_killed.py: every_moment.py FOLDER TURNS

A moment is a request that is answered, or a file of the evaluation that is opened, renamed or removed;
between two of them nothing is there that a later start could find. Each evaluation is a fork of this process,
is killed twice at the same moment of its start, and then goes on to the end. Prints the number of moments.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path

from scripted import COMMA, ScriptedEngine, row, says

from riftk.benchmarks import Benchmark
from riftk.engines import Generation, Request, Sampling
from riftk.engines.base import never
from riftk.evaluation import evaluate
from riftk.rows import read_jsonl

SAMPLING = Sampling(1.0, 0.95, 64, seed=3)
ITEMS = Benchmark("items", (row("p0"), *(row(f"c{n}", (COMMA, "reasoning")) for n in range(3))), "reasonif")
FILES = ("open", "os.rename", "os.remove", "os.mkdir")


class Engine(ScriptedEngine):
    """Follows in a second turn only, and fails for one item while it is `ill`.

    Args:
        ill: whether it fails.
        moment: called before each answer.
    """

    def __init__(self, ill: bool, moment: Callable[[], None]) -> None:
        super().__init__(str)
        self.ill, self.moment = ill, moment

    def generate(
        self,
        requests: Sequence[Request],
        sampling: Sampling,
        done: frozenset[str] = frozenset(),
        until: Callable[[], bool] = never,
    ) -> Iterator[tuple[str, Generation]]:
        for request in requests:
            if request.key not in done:
                self.moment()
                self.asked.append(f"{request.key} turn {(len(request.messages) + 1) // 2}")
                second = len(request.messages) > 1
                text = says() if second or request.key == "c2#0" else says("four, and five, make nine")
                failed = Generation("", "error", error="the server answered 500")
                yield request.key, failed if self.ill and request.key == "c1#0" else Generation(text, "stop")


def run(out: Path, asked: Path, turns: int, ill: bool = False, dies_at: int | None = None) -> int:
    """Evaluate in a fork. Returns how it ended, 0 or minus the signal."""
    if child := os.fork():
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    moments = count(1)

    def moment() -> None:
        if next(moments) == dies_at:
            os.kill(os.getpid(), signal.SIGKILL)

    def watch(event: str, arguments: tuple) -> None:
        if event in FILES and str(arguments[0]).startswith(f"{out}/"):
            moment()

    try:
        sys.addaudithook(watch)
        engine = Engine(ill, moment)
        evaluate(engine, replace(ITEMS, reflects=turns == 2), out, SAMPLING)
        asked.write_text(json.dumps(engine.asked))
        os._exit(0)
    except BaseException:
        traceback.print_exc()
        os._exit(1)


def stored(out: Path) -> set[str]:
    """The requests whose samples are there and are no errors."""
    return {
        f"{sample['item_id']}#{sample['sample']} turn {sample.get('turn', 1)}"
        for path in out.glob("*.jsonl")
        for sample in read_jsonl(path)
        if not sample["error"]
    }


def results(out: Path) -> dict:
    return {**json.loads((out / "results.json").read_text()), "date": 0, "git_hash": None}


def main(folder: Path, turns: int) -> None:
    whole, asked = folder / "whole", folder / "asked.json"
    assert run(whole, asked, turns) == 0
    for dies_at in count(1):
        out = folder / str(dies_at)
        if (ended := run(out, asked, turns, ill=True, dies_at=dies_at)) == 0:
            return print(dies_at - 1)
        assert ended == -signal.SIGKILL, ended
        assert run(out, asked, turns, dies_at=dies_at) in (0, -signal.SIGKILL)
        there = stored(out)
        assert run(out, asked, turns) == 0
        assert not there & set(json.loads(asked.read_text())), "asked for what is there"
        assert results(out) == results(whole)
        for path in whole.glob("*.jsonl"):
            assert (out / path.name).read_bytes() == path.read_bytes()
        assert {path.name for path in out.iterdir()} == {path.name for path in whole.iterdir()}


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
