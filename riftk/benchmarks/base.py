"""What a benchmark is: items, and how they are judged, asked and decoded."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from riftk.constraints import Constraint
from riftk.rows import Row, row_problems


@dataclass(frozen=True)
class Decoding:
    """How completions are decoded where a benchmark's protocol says so; the rest is the run's choice.

    Args:
        greedy: temperature 0.
        max_tokens: most tokens of a completion.
        thinking: False switches thinking off.
        labels: closed set: the first token's favourite among these is the completion.
    """

    greedy: bool = False
    max_tokens: int | None = None
    thinking: bool | None = None
    labels: tuple[str, ...] = ()

    @property
    def sampling(self) -> dict[str, Any]:
        """Fields of `riftk.engines.Sampling` that are given."""
        given: dict[str, Any] = {"temperature": 0.0, "top_p": 1.0} if self.greedy else {}
        return given if self.max_tokens is None else {**given, "max_tokens": self.max_tokens}


@dataclass(frozen=True)
class Benchmark:
    """Items to evaluate and how they are judged.

    Args:
        name: task name in results and in `samples_<name>.jsonl`.
        rows: the items, ids unique.
        rules: the benchmark's published rulebook; "robust" where it has none.
        split: which items: "test" or "dev".
        version: raised when rows or prompts change.
        details: where the rows come from (data set, revision, checksum, limits), for the results.
        waits: how often "Wait" replaces the end of a trace (budget forcing).
        repeat: whether the instructions are repeated at the end of the trace.
        reflects: whether an item whose first completion does not follow is asked a second time.
        macro: whether the accuracy is averaged over sources too, each counting as much as another.
        also: further rulebooks of the published evaluator, such as IFEval's loose one.
        sentence: the words in which a constraint is asked for, where they are repeated.
        decoding: how completions are decoded, where the protocol says so.
        prefixes: of each row, what the assistant's turn begins with already and the model goes on with; none
            where it begins by itself.
    """

    name: str
    rows: tuple[Row, ...]
    rules: str = "robust"
    split: str = "test"
    version: str = "1"
    details: Mapping[str, Any] = field(default_factory=dict)
    waits: int = 0
    repeat: bool = False
    reflects: bool = False
    macro: bool = False
    also: tuple[str, ...] = ()
    sentence: Callable[[Constraint], str] = Constraint.instruction
    decoding: Decoding = Decoding()
    prefixes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if len({row.item_id for row in self.rows}) != len(self.rows):
            raise ValueError(f"benchmark {self.name}: item ids are not unique")
        if not self.rows:
            raise ValueError(f"benchmark {self.name} has no items")
        if self.prefixes and len(self.prefixes) != len(self.rows):
            raise ValueError(
                f"benchmark {self.name} has {len(self.rows)} items and {len(self.prefixes)} prefixes"
            )

    @property
    def rulebooks(self) -> tuple[str, ...]:
        """The rulebooks of a report: the published rules first, robust beside them."""
        return tuple(dict.fromkeys((self.rules, *self.also, "robust")))

    @property
    def items_sha(self) -> str:
        """Hash of the rows in their order: two runs with one hash answered the same questions under the
        same constraints and limits."""
        digest = hashlib.sha256()
        for row in self.rows:
            digest.update(json.dumps(row.to_dict(), sort_keys=True, ensure_ascii=False).encode())
        return digest.hexdigest()

    @property
    def protocol(self) -> dict[str, Any]:
        """How the items are asked and counted, where it is not simply once: entries for a configuration."""
        asked = {
            "waits": self.waits,
            "repeat": self.repeat,
            "reflects": self.reflects,
            "macro": self.macro,
        }
        asked |= {"sampling": self.decoding.sampling, "labels": list(self.decoding.labels)}
        off = {"thinking": "off"} if self.decoding.thinking is False else {}
        return {name: value for name, value in asked.items() if value} | off

    def complete(self, sample: dict[str, Any]) -> dict[str, Any]:
        """A scored sample with what the benchmark has to add to it."""
        return sample

    @property
    def ceilings(self) -> dict[str, float]:
        """The most that HAcc and SAcc can reach, where rows hold constraints that no text can follow
        together: such a row is never followed whole, and loses one constraint at least."""
        asked = [row for row in self.rows if row.constraints]
        hard = [row for row in asked if any(p.kind == "unsatisfiable" for p in row_problems(row))]
        if not hard:
            return {}
        lost = sum(1 / len(row.constraints) for row in hard)
        return {"hacc": 1 - len(hard) / len(asked), "sacc": 1 - lost / len(asked)}


def stratified(rows: Sequence[Row], limit: int | None) -> tuple[Row, ...]:
    """At most `limit` rows, in proportion over targets, constraint ids and sources; in the given order.

    A systematic sample: the rows are sorted by kind, and within a kind by a hash of their id (so that the
    order of the file does not matter), and taken at equal distances. The choice is the same every time.
    """
    if limit is None or limit >= len(rows):
        return tuple(rows)

    def kind(place: int) -> tuple[str, ...]:
        row = rows[place]
        asked = [f"{c.target} {c.id}" for c in row.constraints]
        return (*asked, "|", row.source, hashlib.sha256(row.item_id.encode()).hexdigest())

    order = sorted(range(len(rows)), key=kind)
    chosen = sorted(order[(2 * draw + 1) * len(rows) // (2 * limit)] for draw in range(limit))
    return tuple(rows[place] for place in chosen)


def stratified_questions(questions: Sequence[Sequence[Row]], limit: int | None) -> tuple[Row, ...]:
    """At most `limit` rows of questions that are asked in several forms, so that the forms stay comparable.

    Args:
        questions: the rows of each question, one form after the other, the same forms for each.
        limit: rows in all; where it does not go up, the last forms miss a question.
    """
    rows = [row for question in questions for row in question]
    if limit is None or limit >= len(rows):
        return tuple(rows)
    forms = len(questions[0])
    first = stratified([question[0] for question in questions], -(-limit // forms))
    chosen = {row.item_id for row in first}
    kept = [question for question in questions if question[0].item_id in chosen]
    by_form = [question[form] for form in range(forms) for question in kept]
    taken = {row.item_id for row in by_form[:limit]}
    return tuple(row for row in rows if row.item_id in taken)
