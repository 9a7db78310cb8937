"""What every engine takes and gives: `Request`, `Sampling`, `Generation`, `Engine`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

# Entries of `Engine.describe` that no draw depends on: a resumed run may have others.
RECORDED_ONLY = frozenset({"device", "base_url", "concurrency"})
# What switches thinking off in a chat template (Qwen3 and its likes; DeepSeek, Granite). Others ignore both.
NO_THINKING = {"enable_thinking": False, "thinking": False}


@dataclass(frozen=True)
class Request:
    """One prompt to complete.

    Args:
        key: unique within a run; names the prompt's generation on disk.
        messages: the conversation, up to the turn that is to be written.
        prefix: what the assistant's turn begins with already; it is continued and is no part of the
            generated text.
        max_tokens: fewer tokens than `Sampling.max_tokens` for this prompt; None allows as many.
        reminder: the instruction again, for engines that repeat it at the end of the trace.
        thinking: False asks the chat template to leave thinking out; None leaves it as it is.
        labels: closed set: the completion is the label that the first token favours, see
            `riftk.engines.closed_set`; empty generates text.
    """

    key: str
    messages: tuple[Mapping[str, str], ...]
    prefix: str = ""
    max_tokens: int | None = None
    reminder: str = ""
    thinking: bool | None = None
    labels: tuple[str, ...] = ()


@dataclass(frozen=True)
class Sampling:
    """How text is drawn. temperature 0 means greedy; `max_tokens` counts generated tokens.

    Raises:
        ValueError: a value that makes no sense.
    """

    temperature: float = 1.0
    top_p: float = 0.95
    max_tokens: int = 16384
    seed: int = 0

    def __post_init__(self) -> None:
        demands = {
            "temperature": (self.temperature >= 0, "0 (greedy) or more"),
            "top_p": (0 < self.top_p <= 1, "above 0 and at most 1"),
            "max_tokens": (self.max_tokens >= 1, "at least 1"),
        }
        for name, (holds, demand) in demands.items():
            if not holds:
                raise ValueError(f"{name} must be {demand}, not {getattr(self, name)!r}")

    def limit(self, request: Request) -> int:
        """Most tokens to generate for a request."""
        return self.max_tokens if request.max_tokens is None else min(self.max_tokens, request.max_tokens)


@dataclass(frozen=True)
class Generation:
    """What one prompt received, the same record from every engine.

    Args:
        text: all generated text, special tokens kept out except those that mark reasoning.
        finish_reason: "stop", "length" (cut off at `max_tokens`) or "error".
        prompt_tokens, completion_tokens: counts, None where the server does not report them.
        reasoning_content: the trace where the engine delivers it apart from the text.
        error: what went wrong when `finish_reason` is "error".
        label_logprobs: of a closed set: the log probability of each label's token among all tokens, as far as
            the engine tells them.
    """

    text: str
    finish_reason: str
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    reasoning_content: str | None = None
    error: str | None = None
    label_logprobs: Mapping[str, float] | None = None


def never() -> bool:
    """The `until` of a run without a limit."""
    return False


class Engine(Protocol):
    """A source of text; see `riftk.engines.load_engine`. `close` gives back what it holds."""

    name: str  # "transformers", "vllm", "openai"
    model: str  # as the user named it
    think: str | None  # think mode of the model, see `riftk.completions.think_mode`; None: not known
    think_off: str | None  # the same where a request leaves thinking out
    closed_set: bool  # whether it serves requests with `labels`
    batched: bool  # whether what is drawn for a request depends on which others it was given with

    def generate(
        self,
        requests: Sequence[Request],
        sampling: Sampling,
        done: frozenset[str] = frozenset(),
        until: Callable[[], bool] = never,
    ) -> Iterator[tuple[str, Generation]]:
        """Yield (key, generation) as they are ready, leaving out the keys in `done`.

        What is drawn is seeded from `sampling.seed` and from the request's place among *all* requests (or
        its key), so that a resumed run draws what an uninterrupted one would have drawn. Once `until()` is
        true nothing new is begun; what is being generated is finished and yielded.

        Raises:
            ValueError: two requests share a key, or one that the engine cannot serve.
        """
        ...

    def probe(self) -> dict[str, str]:
        """Ask one question before a run and say what came: where the `reasoning` arrived ("text", "field",
        "none"), the `finish_reason`, and what else is known of the engine.

        Raises:
            ValueError: nothing came, or no reasoning where a think mode was given.
        """
        ...

    def count_tokens(self, text: str) -> int | None:
        """Number of tokens of a text, None where the engine has no tokenizer."""
        ...

    def describe(self) -> dict[str, str]:
        """Settings for `results.json`, among them `chat_template_sha` where the template is known. All
        except `RECORDED_ONLY` must be the same when a run is resumed."""
        ...

    def close(self) -> None: ...


def check_keys(requests: Sequence[Request]) -> None:
    """Raise `ValueError` where two requests have the same key."""
    if len({request.key for request in requests}) != len(requests):
        raise ValueError("two requests have the same key; keys must be unique within a run")
