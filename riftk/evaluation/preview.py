"""What an evaluation would ask and what it may cost, without asking anything."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from riftk.benchmarks import Benchmark
from riftk.engines.base import Engine, Request, Sampling
from riftk.evaluation.runs import make_requests

_BYTES_PER_TOKEN = 3  # where there is no tokenizer: rather too many tokens than too few


@dataclass(frozen=True)
class Preview:
    """The requests of an evaluation and their most tokens. `str()` gives the prompts and the figures.

    Args:
        requests: what would be asked, in order; of a conversation with a reflection the first turn, because
            the second depends on it (its completion is counted, its prompt is not).
        prompt_tokens: tokens of all prompts, without those of the chat template.
        counted: whether a tokenizer counted them; else they are estimated from their length.
        completion_tokens: most tokens that can be generated.
        price_in, price_out: of a million prompt and completion tokens.
    """

    requests: tuple[Request, ...]
    prompt_tokens: int
    counted: bool
    completion_tokens: int
    price_in: float | None = None
    price_out: float | None = None

    @property
    def cost(self) -> float | None:
        """Most that the run can cost, None without prices."""
        if self.price_in is None and self.price_out is None:
            return None
        millions = (self.prompt_tokens / 1e6, self.completion_tokens / 1e6)
        return millions[0] * (self.price_in or 0) + millions[1] * (self.price_out or 0)

    def __str__(self) -> str:
        how = "" if self.counted else ", estimated from their length"
        lines = [line for request in self.requests for line in _shown(request)]
        lines += [
            "",
            f"requests: {len(self.requests):,}",
            f"prompt tokens: about {self.prompt_tokens:,} (the chat template's own not counted{how})",
            f"completion tokens: at most {self.completion_tokens:,}",
            f"token ceiling: {self.prompt_tokens + self.completion_tokens:,}",
        ]
        if self.cost is not None:
            lines.append(f"cost: at most {self.cost:,.2f}")
        return "\n".join(lines)


def preview(
    engine: Engine,
    benchmarks: Sequence[Benchmark],
    sampling: Sampling,
    *,
    samples_per_item: int = 1,
    price_in: float | None = None,
    price_out: float | None = None,
) -> Preview:
    """Look at an evaluation from its first to its last request; what a folder holds already is not taken off.

    Args:
        engine: it is asked for nothing but token counts.
        benchmarks: what would be asked.
        sampling: how text would be drawn.
        samples_per_item: completions per item.
        price_in, price_out: of a million prompt and completion tokens.
    """
    asked = [
        (benchmark, request)
        for benchmark in benchmarks
        for request in make_requests(benchmark, samples_per_item).values()
    ]
    requests = tuple(request for _, request in asked)
    counts = [engine.count_tokens(text) for text in _contents(requests)]
    counted = None not in counts
    estimated = sum(len(text.encode()) // _BYTES_PER_TOKEN + 1 for text in _contents(requests))
    return Preview(
        requests=requests,
        prompt_tokens=sum(counts) if counted else estimated,
        counted=counted,
        completion_tokens=sum(
            replace(sampling, **benchmark.decoding.sampling).limit(request) * (1 + benchmark.reflects)
            for benchmark, request in asked
        ),
        price_in=price_in,
        price_out=price_out,
    )


def _shown(request: Request) -> list[str]:
    begun = [f"[assistant, begun] {request.prefix}"] if request.prefix else []
    return [f"--- {request.key}", *(f"[{m['role']}] {m['content']}" for m in request.messages), *begun]


def _contents(requests: Iterable[Request]) -> list[str]:
    return [
        text
        for request in requests
        for text in (*(message["content"] for message in request.messages), request.prefix)
    ]
