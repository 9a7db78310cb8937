"""How much of an evaluation's time is riftk's own: python tests/performance/engines.py

A real server on loopback answers after a pause, as a model would, with long reasoning; the evaluation asks
it with many requests in flight and scores while the rest is generated. Printed is the time of the engine
alone (all answers taken and thrown away), that of the evaluation, and their ratio; scoring that waited for
generation, or held it up, would show as the sum of the two.
"""

from __future__ import annotations

import random
import sys
import tempfile
import time
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
        began = time.perf_counter()
        for _ in engine.generate(requests, SAMPLING):
            pass
        alone = time.perf_counter() - began
        with tempfile.TemporaryDirectory() as folder:
            cpu, began = time.process_time(), time.perf_counter()
            evaluate(engine, items, folder, SAMPLING)
            whole, cpu = time.perf_counter() - began - SECONDS, time.process_time() - cpu  # less the probe
        engine.close()
    print(f"{len(requests)} samples, {IN_FLIGHT} in flight, {SECONDS:g} s each")
    print(f"engine alone {alone:.2f} s, evaluation {whole:.2f} s: {whole / alone - 1:+.1%}")
    print(f"processor time of evaluation, client and server together: {cpu:.2f} s")


if __name__ == "__main__":
    main()
