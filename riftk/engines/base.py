"""What every engine takes and gives: `Request`, `Sampling`, `Generation`, `Engine`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class Request:
    """One prompt to complete. `key` is unique within a run and names the prompt's generations on disk."""

    key: str
    messages: tuple[Mapping[str, str], ...]


@dataclass(frozen=True)
class Sampling:
    """How text is drawn. temperature 0 means greedy; `max_tokens` counts generated tokens."""

    temperature: float = 1.0
    top_p: float = 0.95
    max_tokens: int = 16384
    seed: int = 0


@dataclass(frozen=True)
class Generation:
    """What one prompt received, the same record from every engine.

    Args:
        text: all generated text, special tokens kept out except those that mark reasoning.
        finish_reason: "stop", "length" (cut off at `max_tokens`) or "error".
        prompt_tokens, completion_tokens: counts, None where the server does not report them.
        reasoning_content: the trace where the engine delivers it apart from the text.
        error: what went wrong when `finish_reason` is "error".
    """

    text: str
    finish_reason: str
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    reasoning_content: str | None = None
    error: str | None = None


class Engine(Protocol):
    """A source of text. Implementations: `riftk.engines.transformers`; others fill the same record."""

    name: str  # "transformers"
    model: str  # as the user named it
    think: str  # think mode of the model, see `riftk.completions.think_mode`

    def generate(
        self, requests: Sequence[Request], sampling: Sampling, done: frozenset[str] = frozenset()
    ) -> Iterator[tuple[str, Generation]]:
        """Yield (key, generation) as they are ready, leaving out the keys in `done`.

        Batches are formed over *all* requests and each batch is seeded from `sampling.seed` and its own
        place, so that a resumed run draws what an uninterrupted one would have drawn.
        """
        ...

    def count_tokens(self, text: str) -> int | None:
        """Number of tokens of a text, None where the engine has no tokenizer."""
        ...

    def describe(self) -> dict[str, str]:
        """Versions and settings for `results.json`, among them `chat_template_sha`."""
        ...
