"""Does the memory of synthesis grow with the rows? synth_memory.py [--rows 10000 200000]

Each size runs in a process of its own, with the same window and an engine that makes up its traces at once,
so that what is measured is the pipeline: seeds, samples, rewriting, verification, filters, all forms of the
dataset. Printed is the highest memory of each process and the difference between them.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from synth_server import SolvingEngine, problem
from timing import machine

from riftk.data_synth import SynthConfig, synthesize
from riftk.rows import write_jsonl

WINDOW = 1000


def run(rows: int) -> None:
    """Synthesise so many rows and print the highest memory in MB, and the processor time of a row."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "problems.jsonl")
        write_jsonl(path, map(problem, range(rows)))
        config = SynthConfig(str(path), num_rows=rows, window=WINDOW, sft=("tags",))
        start = time.process_time()
        kept = synthesize(config, SolvingEngine(), Path(folder, "out")).rows
        busy = time.process_time() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{rows:8} rows: {peak:7.1f} MB at most, {1000 * busy / rows:.2f} ms of processor a row, {kept} kept"
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, nargs="+", default=[10_000, 200_000])
    parser.add_argument("--one", type=int)
    options = parser.parse_args()
    if options.one:
        return run(options.one)
    print(machine())
    for rows in options.rows:
        command = [sys.executable, __file__, "--one", str(rows)]
        subprocess.run(command, check=True, stderr=subprocess.DEVNULL)


if __name__ == "__main__":
    main()
