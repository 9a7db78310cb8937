"""What `import riftk.constraints` adds to a bare Python: CPU time, modules, threads.

python tests/performance/import_time.py
"""

from __future__ import annotations

import resource
import statistics
import subprocess
import sys

import timing

RUNS = 9
HEAVY = (
    "torch",
    "transformers",
    "trl",
    "datasets",
    "nltk",
    "numpy",
    "sympy",
    "fasttext",
    "openai",
    "requests",
)
REPORT = f"""
import riftk.constraints, sys, threading
print(len(sys.modules), threading.active_count(), *(name for name in {HEAVY} if name in sys.modules))
"""


def milliseconds(code: str) -> float:
    """CPU time of a fresh Python that runs `code`."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", code], check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return 1000 * (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def main() -> None:
    print(timing.machine())
    milliseconds("import riftk.constraints")  # writes the byte code
    bare, loaded = [], []
    for _ in range(RUNS):  # in turn, so that both see the machine alike
        bare.append(milliseconds("pass"))
        loaded.append(milliseconds("import riftk.constraints"))
    start, both = statistics.median(bare), statistics.median(loaded)
    print(f"bare Python {start:.0f} ms; riftk.constraints adds {both - start:.0f} ms (medians of {RUNS})")
    said = subprocess.run([sys.executable, "-c", REPORT], check=True, capture_output=True, text=True).stdout
    modules, threads, *heavy = said.split()
    print(f"{modules} modules, {threads} thread, heavy modules: {', '.join(heavy) or 'none'}")
    times = subprocess.run(
        [sys.executable, "-X", "importtime", "-c", "import riftk.constraints"],
        check=True, capture_output=True, text=True,
    ).stderr  # fmt: skip
    rows = [line.split("|") for line in times.splitlines() if line.count("|") == 2 and "self" not in line]
    print("where it goes (own time, ms):")
    for own, _, name in sorted(rows, key=lambda row: -int(row[0].rpartition(":")[2]))[:10]:
        print(f"{int(own.rpartition(':')[2]) / 1000:8.1f}  {name.strip()}")


if __name__ == "__main__":
    main()
