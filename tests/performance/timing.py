"""Measuring CPU time, and printing what came of it."""

from __future__ import annotations

import cProfile
import os
import pstats
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

Case = TypeVar("Case")
T = TypeVar("T")


def cpu_seconds(work: Callable[[], T]) -> tuple[float, T]:
    """CPU time of a call, and what it returned."""
    start = time.process_time()
    result = work()
    return time.process_time() - start, result


@dataclass
class Race:
    """CPU seconds that two functions took for the same cases, by the cases' names."""

    ours: Counter[str] = field(default_factory=Counter)
    theirs: Counter[str] = field(default_factory=Counter)
    cases: Counter[str] = field(default_factory=Counter)
    compared: int = 0
    equal: int = 0

    def print_table(self, title: str) -> None:
        """Milliseconds a case of both, their ratio, and how our time is shared out."""
        print(f"\n{title}\n{'':44}{'cases':>6}{'theirs, ms':>12}{'ours, ms':>10}{'ratio':>9}{'our time':>10}")
        for name in sorted(self.ours, key=self.ours.__getitem__, reverse=True):
            self._print_line(name, self.cases[name], self.theirs[name], self.ours[name])
        self._print_line("all", self.cases.total(), self.theirs.total(), self.ours.total())
        if self.compared:
            print(f"equal verdicts: {self.equal} of {self.compared}")

    def _print_line(self, name: str, cases: int, theirs: float, ours: float) -> None:
        print(
            f"{name:44}{cases:6}{1000 * theirs / cases:12.3f}{1000 * ours / cases:10.3f}"
            f"{theirs / ours:8.1f}x{ours / self.ours.total():10.1%}"
        )


def race(
    cases: Sequence[tuple[str, Case]], ours: Callable[[Case], object], theirs: Callable[[Case], object]
) -> Race:
    """Give both functions each (name, case), one after the other, once what they load is loaded.

    Theirs may return None where there is no result to compare.
    """
    result = Race()
    for _, case in {name: (name, case) for name, case in cases}.values():
        ours(case), theirs(case)
    for name, case in cases:
        seconds, said = cpu_seconds(lambda case=case: theirs(case))
        result.theirs[name] += seconds
        seconds, we_said = cpu_seconds(lambda case=case: ours(case))
        result.ours[name] += seconds
        result.cases[name] += 1
        if said is not None:
            result.compared += 1
            result.equal += said == we_said
    return result


def print_profile(work: Callable[[], object], lines: int = 12) -> None:
    """Where the time of a call goes: functions by the time spent in themselves."""
    profile = cProfile.Profile()
    profile.runcall(work)
    stats = pstats.Stats(profile)
    total = stats.total_tt
    print(f"\nwhere our time goes (under cProfile):\n{'share':>7}{'calls':>10}  function")
    functions = sorted(stats.stats.items(), key=lambda item: item[1][2], reverse=True)
    for (file, line, name), (_, calls, own, _, _) in functions[:lines]:
        place = f"{Path(file).name}:{line} {name}" if line else name
        print(f"{own / total:7.1%}{calls:10}  {place}")


def machine() -> str:
    """The processor and how busy it is."""
    names: Sequence[str] = ()
    if os.path.exists("/proc/cpuinfo"):
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    load = os.getloadavg()[0]
    return f"{names[0] if names else 'unknown processor'}, {os.cpu_count()} CPUs, load {load:.1f}"
