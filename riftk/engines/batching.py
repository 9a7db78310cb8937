"""Batches for local generation: which prompts go together, and the seed each batch draws with.

Both depend on the run's settings and on all of its prompts only, never on the free memory or on what an
earlier run finished, so that a resumed run draws what an uninterrupted one would have drawn.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Prompt:
    """A rendered request: its token ids, how many tokens the context and the run allow behind them, where
    this request's own completion is cut off (None: at the room's end), and the token of each label of a
    closed set."""

    key: str
    ids: list[int]
    room: int
    limit: int | None = None
    labels: Mapping[str, int] = field(default_factory=dict)


def plan_batches(prompts: Sequence[Prompt], batch_size: int, batch_tokens: int) -> list[list[Prompt]]:
    """Group prompts of like length, longest first, so that what does not fit into memory fails at once.

    A batch holds at most `batch_size` prompts and, unless it is a single one, at most `batch_tokens` tokens,
    counted as rows x (longest prompt + room of the shortest). Completions of a batch end together, so a long
    prompt near the end of the context is kept apart from those whose room it would cut by more than a tenth.
    """
    batches: list[list[Prompt]] = []
    for prompt in sorted(prompts, key=lambda prompt: -len(prompt.ids)):
        batch = batches[-1] if batches else []
        if batch and len(batch) < batch_size:
            longest = batch[0]
            held = (len(batch) + 1) * (len(longest.ids) + prompt.room)
            if held <= batch_tokens and longest.room >= 0.9 * prompt.room:
                batch.append(prompt)
                continue
        batches.append([prompt])
    return batches


def batch_seed(seed: int, place: int) -> int:
    """Seed of the batch at `place`: unrelated for neighbours, the same on every machine."""
    return int.from_bytes(hashlib.sha256(f"{seed}:{place}".encode()).digest()[:7], "big")


def request_seed(seed: int, key: str) -> int:
    """Seed of a request that is drawn on its own, in the 31 bits that every server takes."""
    return int.from_bytes(hashlib.sha256(f"{seed}:{key}".encode()).digest()[:4], "big") >> 1
