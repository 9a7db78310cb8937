"""Seeds: what each row starts from, and every random draw that is made for it."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

from riftk.constraints import Constraint, parse_constraint
from riftk.prompts import reasonif_prompt

from .config import SynthConfig
from .problems import Problem, load_problems
from .rewriters import REWRITERS


@dataclass(frozen=True)
class Seed:
    """A problem and what is asked of its trace or of its answer.

    Args:
        item_id: unique within the run; all draws for the row are derived from it.
        problem: question, gold answer, how to grade it, source.
        constraint: id, None for a plain row.
        args: arguments that are known already; a word limit may have to wait for the trace.
        target: "reasoning", or "response" for a row whose answer has to follow as it was sampled.
    """

    item_id: str
    problem: Problem
    constraint: str | None = None
    args: dict[str, Any] = field(default_factory=dict)
    target: str = "reasoning"

    @property
    def kind(self) -> str | None:
        """Under which name its yield is counted; None for a plain row."""
        return f"{self.constraint} (response)" if self.target == "response" else self.constraint

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Seed:
        return cls(**{**data, "problem": Problem(**data["problem"])})


def draws(config: SynthConfig, item_id: str, purpose: str) -> random.Random:
    """The random generator for one purpose of one row: the same whatever was done before."""
    return random.Random(f"{config.seed}/{item_id}/{purpose}")


def derived_seed(config: SynthConfig, window: int, attempt: int) -> int:
    """Seed of the sampling of one window."""
    digest = hashlib.sha256(f"{config.seed}/{window}/{attempt}".encode()).digest()
    return int.from_bytes(digest[:4], "big")


def make_seeds(config: SynthConfig) -> Iterator[Seed]:
    """Yield `config.num_rows` seeds: shares of plain ones and of those about the response, the rest about the
    reasoning; both kinds of instruction in equal parts by constraint.

    Raises:
        SynthesisError: see `load_problems`.
    """
    problems = load_problems(
        config.problems,
        config.num_rows,
        config.seed,
        config.question_column,
        config.answer_column,
        config.answer_type,
    )
    ids = len(config.constraints)
    plain = round(config.plain_share * config.num_rows)
    response = round(config.response_share * config.num_rows)
    # One byte a row: the place of its id, behind these the places for the response, last the plain ones.
    kinds = bytearray(place % ids for place in range(config.num_rows - plain - response))
    kinds += bytes(ids + place % ids for place in range(response)) + bytes([2 * ids]) * plain
    random.Random(f"kinds-{config.seed}").shuffle(kinds)
    rows = enumerate(zip(problems, kinds, strict=True))
    return (_seed(config, number, problem, kind) for number, (problem, kind) in rows)


def _seed(config: SynthConfig, number: int, problem: Problem, kind: int) -> Seed:
    item_id = f"synth-{number:07d}"
    about_response, place = divmod(kind, len(config.constraints))
    if about_response == 2:
        return Seed(item_id, problem)
    id = config.constraints[place]
    in_prompt = bool(about_response) or config.sample_with_instruction
    args = REWRITERS[id].draw_args(draws(config, item_id, "args"), config, in_prompt)
    return Seed(item_id, problem, id, args, "response" if about_response else "reasoning")


def make_constraint(seed: Seed, args: dict[str, Any]) -> Constraint | None:
    """The constraint of a row, with arguments that are all known by now; None for a plain row."""
    if seed.constraint is None:
        return None
    return parse_constraint({"id": seed.constraint, "args": args, "target": seed.target})


def make_prompt(config: SynthConfig, seed: Seed, constraint: Constraint | None) -> tuple[str, int | None]:
    """The user message that asks for `constraint`, and which wording it has (None: no instruction)."""
    if constraint is None:
        return reasonif_prompt(seed.problem.question), None
    wordings = constraint.instructions()
    variant = draws(config, seed.item_id, "wording").randrange(len(wordings)) if config.paraphrases else 0
    return reasonif_prompt(seed.problem.question, wordings[variant], constraint.target), variant


def sampling_prompt(config: SynthConfig, seed: Seed) -> str:
    """The user message under which a trace is sampled.

    An instruction about the response is in it; one about the reasoning only if the config wants it.
    """
    asked = config.sample_with_instruction or seed.target == "response"
    return make_prompt(config, seed, make_constraint(seed, seed.args) if asked else None)[0]
