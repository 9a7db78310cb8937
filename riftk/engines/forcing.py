"""Longer thinking at inference: an engine that does not let a trace end when the model wants it to.

Budget forcing (s1, arXiv 2501.19393; MathIF, "The More Thinking, the Less Following", Figure 7) puts "Wait"
in the place of the mark that ends the trace, N times. "+repeat" (MathIF, Table 6) puts "Wait" and the
instruction there once, so that it stands close to the answer. The papers do not print how "Wait" is joined to
the text: here it begins a paragraph of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from riftk.completions import split_completion
from riftk.completions.split import MARK, response_start
from riftk.engines.base import Engine, Generation, Request, Sampling, check_keys, never

_WAIT = "\n\nWait"
_WINDOW = 256  # requests of a batching engine that go through their rounds together


@dataclass(frozen=True)
class ForcingEngine:
    """Another engine, with its traces prolonged.

    `Sampling.max_tokens` counts the tokens of all rounds together; what is forced in is not counted.

    Args:
        engine: what generates; it must be able to continue an assistant message.
        waits: how often "Wait" replaces the end of a trace.
        repeat: whether a request's `reminder` follows a last "Wait"; nothing does where it has none.

    Raises:
        ValueError: nothing to force.
    """

    engine: Engine
    waits: int = 0
    repeat: bool = False

    def __post_init__(self) -> None:
        if self.waits < 0 or not (self.waits or self.repeat):
            raise ValueError("budget forcing needs at least one wait, or repeat")

    def __getattr__(self, name: str) -> Any:  # name, model, think, batched, probe, count_tokens, close
        return getattr(self.engine, name)

    def describe(self) -> dict[str, str]:
        """The engine's settings, and what is forced."""
        return self.engine.describe() | {"waits": str(self.waits), "repeat": str(self.repeat)}

    def generate(
        self,
        requests: Sequence[Request],
        sampling: Sampling,
        done: frozenset[str] = frozenset(),
        until: Callable[[], bool] = never,
    ) -> Iterator[tuple[str, Generation]]:
        """See `riftk.engines.base.Engine.generate`. A request is yielded once all its rounds are through.

        Where draws depend on the batch, requests go through their rounds in fixed groups, and a group of
        which something is missing is drawn again as a whole: only so does a resumed run draw the same.

        Raises:
            ValueError: the engine cannot continue a trace.
        """
        check_keys(requests)
        for start in range(0, len(requests), _WINDOW):
            if until():
                return
            window = requests[start : start + _WINDOW]
            missing = [request for request in window if request.key not in done]
            if missing:
                drawn = self._rounds(window if self.engine.batched else missing, sampling)
                yield from ((request.key, drawn[request.key]) for request in missing)

    def _rounds(self, requests: Sequence[Request], sampling: Sampling) -> dict[str, Generation]:
        """Generate, and go on behind each end of a trace."""
        drawn = dict(self.engine.generate(requests, sampling))
        for number in range(self.waits + self.repeat):
            begun: dict[str, str] = {}  # what the assistant has written by now, the forced words included
            nexts = []
            for request in requests:
                so_far = drawn[request.key]
                left = sampling.limit(request) - (so_far.completion_tokens or 0)
                trace = self._ended_trace(so_far)
                repeats = number == self.waits
                if trace is not None and left > 0 and (request.reminder or not repeats):
                    forced = f"{_WAIT}. {request.reminder}\n" if repeats else _WAIT
                    begun[request.key] = trace.rstrip() + forced
                    prefix = request.prefix + begun[request.key]
                    nexts.append(replace(request, prefix=prefix, max_tokens=left))
            later = replace(sampling, seed=sampling.seed + number + 1)
            for key, generation in self.engine.generate(nexts, later):
                drawn[key] = _joined(begun[key], drawn[key], generation)
        return drawn

    def _ended_trace(self, generation: Generation) -> str | None:
        """A finished completion up to the end of its trace, None where there is nothing to prolong."""
        if generation.finish_reason != "stop":
            return None
        if generation.reasoning_content:
            raise ValueError(
                "the server delivers the reasoning apart from the text, so it cannot be continued; start it "
                "without a reasoning parser, or use another --engine"
            )
        return open_trace(generation.text, self.engine.think)


def open_trace(text: str, think: str | None) -> str | None:
    """A completion up to where its trace ends, without the mark that ends it; None without a trace."""
    split = split_completion(text, think=think)
    head = text[: response_start(text, think)]
    if not split.blocks:
        return None
    if split.status == "unclosed":
        return head
    if "<|channel|>" in head:
        return head[: head.rindex("<|end|>")] if "<|end|>" in head else None
    *_, closing = MARK.finditer(head)
    return head[: closing.start()]


def _joined(begun: str, before: Generation, after: Generation) -> Generation:
    """One record of a completion that was continued: the whole text, the tokens of all rounds."""
    if after.finish_reason == "error":
        return after
    counts = (before.completion_tokens, after.completion_tokens)
    return replace(
        after,
        text=begun + after.text,
        prompt_tokens=before.prompt_tokens,
        completion_tokens=None if None in counts else sum(counts),
    )
