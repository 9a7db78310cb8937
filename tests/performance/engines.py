"""How much of an evaluation's time is riftk's own: python tests/performance/engines.py

Once with a real server on loopback that answers after a pause, as a model would, with long reasoning, many
requests in flight; once with the tiny model in this process. Completions are scored while the next are
generated. Printed are the time of the engine alone (all completions taken and thrown away), that of the
evaluation, which tells whether scoring holds generation up, and the processor time that scoring adds, which a
busy machine does not change.
"""

from __future__ import annotations

import random
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from openai_server import ChatServer, message
from scripted import benchmark

from riftk.benchmarks import Benchmark, load_benchmark
from riftk.engines import Engine, Sampling, load_engine
from riftk.evaluation import evaluate
from riftk.evaluation.runs import make_requests

SECONDS, IN_FLIGHT, WORDS = 6.0, 32, 600
SAMPLING = Sampling(max_tokens=4096)


def main() -> None:
    items = benchmark(100, 100)
    with ChatServer(answer, delay=SECONDS) as server:
        engine = load_engine("openai", model="m", base_url=server.url, batch_size=IN_FLIGHT)
        print(f"a server: {len(items.rows)} completions, {IN_FLIGHT} in flight, {SECONDS:g} s each")
        measure(engine, items, SAMPLING)
    engine = load_engine(model="pkg://riftk.tiny/weights/base", device="cpu", batch_size=32)
    tiny = load_benchmark("tiny", limit=200)
    print(f"the tiny model on this processor: {len(tiny.rows)} completions")
    measure(engine, tiny, Sampling(max_tokens=160))


def answer(body: dict, number: int):
    """A completion of some 3,000 characters, different for each seed."""
    words = random.Random(body.get("seed", 0)).choices(
        ["so", "we", "add", "four", "and", "five", "to", "nine", "apples"], k=WORDS
    )
    return message(f"<think>{' '.join(words)}</think>THE ANSWER IS <answer>9</answer>")


def measure(engine: Engine, items: Benchmark, sampling: Sampling) -> None:
    """Print what the engine takes alone and what the evaluation takes, once everything is loaded."""
    requests = list(make_requests(items).values())
    with tempfile.TemporaryDirectory() as folder:
        few = replace(items, rows=items.rows[:: len(items.rows) // 4])
        evaluate(engine, few, Path(folder, "warm"), sampling)
        with timed() as alone:
            for _ in engine.generate(requests, sampling):
                pass
        with timed() as probe:
            engine.probe()
        with timed() as whole:
            evaluate(engine, items, Path(folder, "whole"), sampling)
    engine.close()
    clock, processor = (whole[kind] - probe[kind] - alone[kind] for kind in ("clock", "processor"))
    print(f"  engine alone {alone['clock']:.1f} s, evaluation {whole['clock'] - probe['clock']:.1f} s: "
          f"{clock / alone['clock']:+.1%}")  # fmt: skip
    print(f"  processor time of scoring and storing: {processor:.2f} s, {processor / alone['clock']:.1%} of "
          "the engine's time")  # fmt: skip


@contextmanager
def timed() -> Iterator[dict[str, float]]:
    """Seconds on the clock and of this process, known at the end."""
    taken = {"clock": -time.perf_counter(), "processor": -time.process_time()}
    yield taken
    taken["clock"] += time.perf_counter()
    taken["processor"] += time.process_time()


if __name__ == "__main__":
    main()
