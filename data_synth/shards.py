"""Shards: a run split over the jobs of a cluster array, window by window.

Which windows there are, what they hold and how they are sampled does not depend on the shards, so the merged
dataset is the one that a single run makes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from riftk.rows import read_jsonl, write_jsonl

from .config import SynthConfig
from .errors import SynthesisError
from .seeds import Seed, make_seeds

SHARD_DONE = "shard"  # the stage that a finished shard's folder names


@dataclass(frozen=True)
class Shard:
    """Part `number` (from 1) of `of`: the windows number - 1, number - 1 + of, …"""

    number: int = 1
    of: int = 1

    @classmethod
    def parse(cls, text: str) -> Shard:
        """Read "2/8". Raises `SynthesisError` where it is no such thing."""
        match = re.fullmatch(r"(\d+)/(\d+)", text.strip())
        if not match or not 1 <= int(match[1]) <= int(match[2]):
            raise SynthesisError(f"a shard is given as NUMBER/OF, from 1/8 to 8/8, not {text!r}")
        return cls(int(match[1]), int(match[2]))

    def has(self, window: int) -> bool:
        """Whether a window is this shard's."""
        return window % self.of == self.number - 1

    def windows(self, config: SynthConfig) -> range:
        """The windows of this shard."""
        return range(self.number - 1, number_of_windows(config), self.of)

    def check(self, config: SynthConfig) -> None:
        """Raise `SynthesisError` where there are fewer windows than shards."""
        if number_of_windows(config) < self.of:
            raise SynthesisError(
                f"{config.num_rows} rows in windows of {config.window} cannot be split into {self.of} "
                f"shards; take a window of at most {max(config.num_rows // self.of, 1)}"
            )

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"


WHOLE = Shard()


def number_of_windows(config: SynthConfig) -> int:
    """How many windows a run has."""
    return -(-config.num_rows // config.window)


@dataclass(frozen=True)
class Window:
    """Seeds that are worked on together, and the run folder that their samples and outcomes stand in."""

    number: int
    seeds: list[Seed]
    folder: Path


def windows_of(config: SynthConfig, folder: Path, shard: Shard) -> Iterator[Window]:
    """The windows of a run, in order, read from its `seeds.jsonl`, which is made if it is missing."""
    path = folder / "seeds.jsonl"
    if not path.exists():
        made = enumerate(make_seeds(config))
        write_jsonl(path, (seed.to_dict() for n, seed in made if shard.has(n // config.window)))
    records = read_jsonl(path)
    for number in shard.windows(config):
        yield Window(number, [Seed.from_dict(record) for record in islice(records, config.window)], folder)
