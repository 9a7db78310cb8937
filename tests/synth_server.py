"""A server for synthesis: it solves the problems of `problem`, rewrites its own traces on request, and fails.
`SolvingEngine` solves them in this process.

What the server answers depends on what it is asked alone; whether it fails depends on that and on how often
it has been asked it before. So a run that is killed and goes on gets the same answers as one that is not.
"""

from __future__ import annotations

import hashlib
import json
import random
import re
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from openai_server import Answer, message

from riftk.engines.base import Generation, Request, Sampling, never

FAULTS = {"429": 0.10, "500": 0.05, "hang": 0.02, "cut": 0.01, "nonsense": 0.01}
_NUMBERS = re.compile(r"\d+")


def problem(number: int) -> dict[str, str]:
    a, b, c = 10 + number % 37, 3 + number % 11, 2 + number % 7
    return {
        "question": f"Box {number}: Anna has {a} pens, gets {b} more and gives {c} away. How many are left?",
        "answer": f"{a} + {b} = {a + b}\n{a + b} - {c} = {a + b - c}\n#### {a + b - c}",
    }


class Solver:
    """A script for `ChatServer`.

    Args:
        faults: what goes wrong, by share of the requests.
        refused: share of rewrites whose first answer does not do.
    """

    def __init__(self, faults: Mapping[str, float] | None = None, refused: float = 0.2) -> None:
        self.faults, self.refused = dict(faults or {}), refused
        self.answered: Counter[str] = Counter()
        self._asked: Counter[str] = Counter()
        self._lock = threading.Lock()

    def __call__(self, body: dict[str, Any], number: int) -> Answer:
        asked = json.dumps([body["messages"], body.get("seed")], sort_keys=True)
        name = hashlib.sha256(asked.encode()).hexdigest()
        with self._lock:
            self._asked[name] += 1
            draws = random.Random(f"{name}/{self._asked[name]}")
        chance = draws.random()
        for fault, share in self.faults.items():
            chance -= share
            if chance < 0:
                return fault
        with self._lock:
            self.answered[name] += 1
        first = body["messages"][0]["content"]
        if "the notes below" in first:
            return message(self._rewrite(first, len(body["messages"]) > 1, random.Random(name)))
        return message(solve(first, random.Random(name)))

    def _rewrite(self, asked: str, again: bool, draws: random.Random) -> str:
        order, _, notes = asked.partition("\n\n")
        if not again and draws.random() < self.refused:
            return notes  # as it was: in the wrong language, too long, without the words
        quoted = re.findall(r'"(\w+)"', order)
        if order.startswith("Translate"):
            return french(notes) if "French" in order else notes
        if order.startswith("Shorten"):
            a, b, _, _, total, *_ = _NUMBERS.findall(notes)
            rest = _NUMBERS.findall(notes)[-1]
            return f"Anna has {a} + {b} = {total} pens, and {rest} of them in the end."
        if "without any of these words" in order:
            for word in quoted:
                notes = re.sub(rf"\b{word}\b", "well", notes, flags=re.IGNORECASE)
            return notes
        if "at least" in order or "each of these words" in order:
            return f"{notes} Let me say {' and '.join(quoted * 4)} here as well."
        for word in quoted:
            notes = re.sub(rf"\b{word}\b", "well", notes, flags=re.IGNORECASE)
        return notes


def pens(asked: str) -> tuple[int, int, int]:
    """The numbers of a `problem`: had, got, given away."""
    a, b, c = map(int, re.findall(r"(?:has|gets|gives) (\d+)", asked))
    return a, b, c


def trace_of(asked: str, draws: random.Random) -> str:
    """How one comes to the answer of a `problem`, in prose."""
    a, b, c = pens(asked)
    opening = draws.choice(["Okay, let me see.", "Well, this is not hard.", "Let me go on step by step."])
    return (
        f"{opening} First, Anna has {a} pens, and {b} more make {a} + {b} = {a + b}. "
        f"Next, she gives {c} away, which leaves {a + b} - {c} = {a + b - c}. "
        f"That looks right, as far as I can tell. So, in the end, Anna has {a + b - c} pens."
    )


def solve(asked: str, draws: random.Random) -> str:
    """A completion: right and in prose, now and then wrong or without its answer."""
    a, b, c = pens(asked)
    trace = trace_of(asked, draws)
    answer = a + b - c + (draws.random() < 0.05)
    tag = "" if draws.random() < 0.03 else f" <answer>{answer}</answer>"
    return f"<think>\n{trace}\n</think>\n\nAnna has {answer} pens.{tag}"


class SolvingEngine:
    """Answers with `solve`, in an order of its own."""

    name = "scripted"
    model = "scripted-model"
    think = "tags"

    def describe(self) -> dict[str, str]:
        return {"engine": self.name, "model": self.model}

    def count_tokens(self, text: str) -> int | None:
        return None

    def generate(
        self,
        requests: Sequence[Request],
        sampling: Sampling,
        done: frozenset[str] = frozenset(),
        until: Callable[[], bool] = never,
    ) -> Iterator[tuple[str, Generation]]:
        for request in sorted(requests, key=lambda r: hashlib.sha256(r.key.encode()).digest()):
            if request.key not in done and not until():
                yield request.key, self.complete(request, random.Random(f"{sampling.seed}/{request.key}"))

    def complete(self, request: Request, draws: random.Random) -> Generation:
        return Generation(solve(request.messages[0]["content"], draws), "stop", 100, 100)


def french(notes: str) -> str:
    """The notes of `solve` in French, with the same numbers."""
    a, b, _, _, total, _, c, _, rest, _ = _numbers(notes)
    return (
        f"Voyons ce qui est demandé. D'abord, Anna a {a} stylos, et {b} de plus font {a} + {b} = {total}. "
        f"Ensuite, elle en donne {c} à une amie, ce qui laisse {total} - {c} = {rest}. "
        f"Cela me semble juste, autant que je puisse en juger. À la fin, Anna a donc {rest} stylos."
    )


def _numbers(notes: str) -> list[str]:
    a, b, _, _, total, c, _, _, rest, last = _NUMBERS.findall(notes)
    return [a, b, a, b, total, total, c, total, rest, last]
