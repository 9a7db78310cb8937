"""An engine that says what a test gives it, for tests of what is made of completions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from riftk.benchmarks import Benchmark
from riftk.constraints import parse_constraint
from riftk.engines import Generation, Request, Sampling
from riftk.engines.base import never
from riftk.rows import Row

COMMA = "punctuation:no_comma"
CAPITAL = "change_case:english_capital"
WORDS = "length_constraint_checkers:number_words"


class ScriptedEngine:
    """Answers the request with key "item#sample" with `script(item)`; strings are finished completions."""

    name = "scripted"
    batched = False

    def __init__(
        self, script: Callable[[str], str | Generation], model: str = "scripted", think: str = "tags"
    ):
        self.script, self.model, self.think = script, model, think
        self.asked: list[str] = []

    def generate(
        self,
        requests: Sequence[Request],
        sampling: Sampling,
        done: frozenset[str] = frozenset(),
        until: Callable[[], bool] = never,
    ) -> Iterator[tuple[str, Generation]]:
        for request in requests:
            if until():
                return
            if request.key not in done:
                self.asked.append(request.key)
                said = self.script(request.key.partition("#")[0])
                tokens = len(said.split()) if isinstance(said, str) else None
                yield request.key, Generation(said, "stop", 5, tokens) if isinstance(said, str) else said

    def probe(self) -> dict[str, str]:
        return {"reasoning": "text", "finish_reason": "stop"}

    def close(self) -> None:
        pass

    def count_tokens(self, text: str) -> int:
        return len(text.split())

    def describe(self) -> dict[str, str]:
        return {"engine": self.name, "model": self.model, "think": self.think, "chat_template_sha": "0" * 64}


def row(item_id: str, *constraints: tuple[str, str], answer: str = "9", **args: object) -> Row:
    """A row with constraints given as (id, target)."""
    parsed = tuple(parse_constraint({"id": id, "args": args, "target": target}) for id, target in constraints)
    return Row(
        item_id, ({"role": "user", "content": f"Question {item_id}"},), answer, "number", parsed, "made up"
    )


def benchmark(plain: int = 6, instructed: int = 6) -> Benchmark:
    """Plain items `p0`…, and items `c0`… (no comma) and `r0`… (response in capitals)."""
    rows = [row(f"p{n}") for n in range(plain)]
    rows += [row(f"c{n}", (COMMA, "reasoning")) for n in range(instructed)]
    rows += [row(f"r{n}", (CAPITAL, "response")) for n in range(instructed)]
    return Benchmark("small", tuple(rows), "reasonif")


def says(reasoning: str = "four and five together make nine", answer: str = "9") -> str:
    return f"<think>\n{reasoning}\n</think>\n\nTHE ANSWER IS <answer>{answer}</answer>"
