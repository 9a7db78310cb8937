"""Memory and time of scoring stored outputs: python tests/performance/stored.py [SAMPLES ...]

Writes so many outputs of 500 items (default: 10,000 and 100,000), has `riftk eval --from-samples` score each
file in a process of its own, and prints the most memory that it took. Scoring reads, judges and writes a
batch at a time, so that the memory should hardly depend on the number of outputs.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from scripted import CAPITAL, COMMA, row

from riftk.rows import write_jsonl

ITEMS = 500
WORDS = ("so", "we", "add", "four,", "and", "five", "to", "nine", "apples", "then", "divide", "by", "three")


def main() -> None:
    sizes = [int(size.replace(",", "")) for size in sys.argv[1:]] or [10_000, 100_000]
    peaks = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        kinds = ((), ((COMMA, "reasoning"),), ((CAPITAL, "response"),))
        rows = (row(f"i{number}", *kinds[number % 3]) for number in range(ITEMS))
        write_jsonl(folder / "items.jsonl", (one.to_dict() for one in rows))
        for size in sizes:
            write_outputs(folder / "outputs.jsonl", size)
            megabytes = (folder / "outputs.jsonl").stat().st_size / 1e6
            peaks[size], clock, processor = score(folder, folder / f"out{size}")
            print(
                f"{size:9,} outputs ({megabytes:.0f} MB): at most {peaks[size]:.0f} MB, {clock:.0f} s, "
                f"{1000 * processor / size:.2f} ms of processor time each",
                flush=True,
            )
    if len(sizes) > 1:
        first, last = sizes[0], sizes[-1]
        growth = 1e6 * (peaks[last] - peaks[first]) / (last - first)
        print(
            f"{peaks[last] / peaks[first]:.2f} times the memory for {last / first:g} times the outputs: ",
            end="",
        )
        print(f"{growth:.0f} bytes for each more")


def write_outputs(path: Path, size: int) -> None:
    """Outputs of the items in turn, of 150 different words each."""
    draws = random.Random(0)
    with open(path, "w", encoding="utf-8") as file:
        for number in range(size):
            trace = " ".join(draws.choices(WORDS, k=150))
            said = f"<think>{trace}</think>THE ANSWER IS <answer>{draws.choice('789')}</answer>"
            file.write(json.dumps({"item_id": f"i{number % ITEMS}", "output": said}) + "\n")


def score(folder: Path, out: Path) -> tuple[float, float, float]:
    """Score the outputs; most memory in MB, seconds on the clock and of the processor, workers included."""
    command = [sys.executable, "-m", "riftk", "eval", "--from-samples", str(folder / "outputs.jsonl")]
    command += ["--benchmarks", f"{folder / 'items.jsonl'}:rules=reasonif", "--out", str(out)]
    began = time.perf_counter()
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise SystemExit(f"riftk eval ended with {child.returncode}")
    return used.ru_maxrss / 1024, time.perf_counter() - began, used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main()
