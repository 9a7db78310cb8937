"""An engine's answers, kept by the hash of what was asked: nothing is paid for twice."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import Any

from riftk.engines.base import RECORDED_ONLY, Engine, Generation, Request, Sampling

from .spending import Spending

Messages = Sequence[Mapping[str, str]]


def settings_of(engine: Engine) -> dict[str, str]:
    """The settings of an engine that its answers depend on."""
    return {name: value for name, value in engine.describe().items() if name not in RECORDED_ONLY}


class Answers:
    """Asks an engine, and a store first.

    What is drawn is seeded from the content of a request, so that the same question has the same answer in
    every run and in whatever order. Errors are not stored.

    Args:
        engine: answers what the store does not hold.
        sampling: how; its seed counts.
        path: the store, an SQLite file that several runs may share.
        run: name of the run, by which it knows its own answers again: those of others cost it nothing.
        spending: counts, and stops.
    """

    def __init__(self, engine: Engine, sampling: Sampling, path: Path, run: str, spending: Spending) -> None:
        self._engine, self._sampling, self._run, self._spending = engine, sampling, run, spending
        self._context = json.dumps([settings_of(engine), asdict(sampling)], sort_keys=True)
        self._store = sqlite3.connect(path, isolation_level=None, timeout=60)
        # A killed process loses nothing by this, a machine without power the last answers.
        self._store.execute("PRAGMA journal_mode=WAL")
        self._store.execute("PRAGMA synchronous=OFF")
        self._store.execute(
            "CREATE TABLE IF NOT EXISTS answers (key TEXT PRIMARY KEY, run TEXT, answer TEXT)"
        )

    def ask(self, questions: Mapping[str, Messages]) -> Iterator[tuple[str, Generation]]:
        """Yield (name, answer) as they come; questions with the same content are asked once.

        Raises:
            BudgetSpent: answers are missing because the budget is spent.
        """
        usage = self._spending.rewriting
        names: dict[str, list[str]] = {}
        requests: dict[str, Request] = {}
        for name, messages in questions.items():
            key = self._key(messages)
            names.setdefault(key, []).append(name)
            requests[key] = Request(key, tuple(messages))
        for key in list(requests):
            if (stored := self._read(key)) is not None:
                del requests[key]
                run, generation = stored
                if run == self._run:
                    usage.add(generation)
                usage.from_cache += 1
                for name in names.pop(key):
                    yield name, generation
        asked = list(requests.values())
        for key, generation in self._engine.generate(asked, self._sampling, until=self._spending.is_spent):
            usage.add(generation)
            if generation.finish_reason != "error":
                self._store.execute(
                    "INSERT OR IGNORE INTO answers VALUES (?, ?, ?)",
                    (key, self._run, json.dumps(asdict(generation))),
                )
            for name in names.pop(key):
                yield name, generation
        if names:
            raise self._spending.stop()

    def _key(self, messages: Messages) -> str:
        content = json.dumps([self._context, [dict(message) for message in messages]], sort_keys=True)
        return hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()

    def _read(self, key: str) -> tuple[str, Generation] | None:
        row: Any = self._store.execute("SELECT run, answer FROM answers WHERE key = ?", (key,)).fetchone()
        return None if row is None else (row[0], Generation(**json.loads(row[1])))

    def __enter__(self) -> Answers:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._store.close()
