"""Does synthesis keep a server as busy as a bare client does? python tests/performance/synth_speed.py

A server on loopback takes 200 ms for an answer. A bare client (`openai.AsyncOpenAI` under a semaphore) asks
for the same prompts with as many requests in flight, and throws the answers away; synthesis asks, checks,
rewrites, verifies, stores and writes the dataset in all its forms. Printed are answers per second of both
and their ratio, one run each, the processor time of a row, and what else kept the machine busy.
"""

from __future__ import annotations

import argparse
import asyncio
import multiprocessing
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

from openai_server import ChatServer
from synth_server import Solver, problem
from timing import machine

from riftk.data_synth import SynthConfig, make_seeds, synthesize
from riftk.data_synth.sampling import request
from riftk.engines.openai import OpenAIEngine
from riftk.rows import write_jsonl

SECONDS = 0.2


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=1200)
    parser.add_argument("--in-flight", type=int, default=8)
    options = parser.parse_args()
    rows, in_flight = options.rows, options.in_flight
    with tempfile.TemporaryDirectory() as folder, server() as url:
        problems = Path(folder, "problems.jsonl")
        write_jsonl(problems, map(problem, range(rows)))
        config = SynthConfig(str(problems), num_rows=rows)
        prompts = [request(config, seed).messages[0]["content"] for seed in make_seeds(config)]
        bare_busy = time.process_time()
        bare = asyncio.run(ask_all(url, prompts, in_flight))
        bare_busy = time.process_time() - bare_busy
        engine = OpenAIEngine("m", base_url=url, batch_size=in_flight, think="tags")
        wall, busy = time.perf_counter(), time.process_time()
        result = synthesize(config, engine, Path(folder, "out"))
        wall, busy = time.perf_counter() - wall, time.process_time() - busy
        engine.close()
    print(
        f"{machine()}\n{rows} rows, {in_flight} in flight, {SECONDS} s for an answer; {result.rows} rows kept"
    )
    print(
        f"bare client {rows / bare:.1f} answers/s, synthesis {rows / wall:.1f} answers/s: {bare / wall:.1%}"
    )
    print(f"the server alone allows {in_flight / SECONDS:.1f} answers/s")
    print(
        f"processor: bare client {1000 * bare_busy / rows:.2f} ms a row, synthesis {1000 * busy / rows:.2f}"
    )


@contextmanager
def server() -> Iterator[str]:
    """The URL of a server in a process of its own, which takes no time of the clients'."""
    context = multiprocessing.get_context("spawn")
    urls = context.Queue()
    process = context.Process(target=serve, args=(urls,), daemon=True)
    process.start()
    yield urls.get()
    process.terminate()


def serve(urls: Any) -> None:
    with ChatServer(Solver(), delay=SECONDS) as running:
        urls.put(running.url)
        threading.Event().wait()


async def ask_all(url: str, prompts: list[str], in_flight: int) -> float:
    """Seconds that a client needs which does nothing but ask."""
    from openai import AsyncOpenAI

    client, gate = AsyncOpenAI(api_key="none", base_url=url, max_retries=0), asyncio.Semaphore(in_flight)

    async def ask(prompt: str) -> None:
        async with gate:
            messages = [{"role": "user", "content": prompt}]
            await client.chat.completions.create(model="m", messages=messages, max_tokens=8192)

    start = time.perf_counter()
    await asyncio.gather(*map(ask, prompts))
    taken = time.perf_counter() - start
    await client.close()
    return taken


if __name__ == "__main__":
    main()
