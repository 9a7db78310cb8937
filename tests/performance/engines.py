"""How much of an evaluation's time is riftk's own: python tests/performance/engines.py

A real server on loopback answers after a pause, as a model would, with long reasoning; the evaluation asks
it with many requests in flight and scores while the rest is generated. Printed is the time of the engine
alone (all answers taken and thrown away) and that of the evaluation, which tells whether scoring holds
generation up, and the processor time that scoring adds, which a busy machine does not change.
"""

from __future__ import annotations

import random
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from openai_server import ChatServer, message
from scripted import benchmark

from riftk.engines import Sampling, load_engine
from riftk.evaluation import evaluate
from riftk.evaluation.runs import make_requests

ITEMS, IN_FLIGHT, SECONDS, WORDS = 100, 32, 6.0, 600
SAMPLING = Sampling(max_tokens=4096)


def answer(body: dict, number: int):
    """A completion of some 3,000 characters, different for each seed."""
    words = random.Random(body.get("seed", 0)).choices(
        ["so", "we", "add", "four", "and", "five", "to", "nine", "apples"], k=WORDS
    )
    return message(f"<think>{' '.join(words)}</think>THE ANSWER IS <answer>9</answer>")


def main() -> None:
    items = benchmark(ITEMS, ITEMS)
    with ChatServer(answer, delay=SECONDS) as server:
        engine = load_engine("openai", model="m", base_url=server.url, batch_size=IN_FLIGHT)
        requests = list(make_requests(items).values())
        with timed() as alone:
            for _ in engine.generate(requests, SAMPLING):
                pass
        with tempfile.TemporaryDirectory() as folder, timed() as whole:
            evaluate(engine, items, folder, SAMPLING)
        engine.close()
    generation = SECONDS * ITEMS * 3 / IN_FLIGHT
    harness = whole["processor"] - alone["processor"]
    print(f"{len(requests)} samples, {IN_FLIGHT} in flight, {SECONDS:g} s each: {generation:.0f} s in all")
    print(f"engine alone {alone['clock']:.1f} s, evaluation with its probe {whole['clock']:.1f} s")
    print(f"processor time of scoring and storing: {harness:.2f} s, {harness / generation:.1%} of generation")


@contextmanager
def timed() -> Iterator[dict[str, float]]:
    """Seconds on the clock and of this process, known at the end."""
    taken = {"clock": -time.perf_counter(), "processor": -time.process_time()}
    yield taken
    taken["clock"] += time.perf_counter()
    taken["processor"] += time.process_time()


if __name__ == "__main__":
    main()
