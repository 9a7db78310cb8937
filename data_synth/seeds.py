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

TARGET = "reasoning"


@dataclass(frozen=True)
class Seed:
    """A problem and what is asked of its trace.

    Args:
        item_id: unique within the run; all draws for the row are derived from it.
        problem: question, gold answer, how to grade it, source.
        constraint: id, None for a plain row.
        args: arguments that are known already; a word limit may have to wait for the trace.
    """

    item_id: str
    problem: Problem
    constraint: str | None = None
    args: dict[str, Any] = field(default_factory=dict)

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
    """Yield `config.num_rows` seeds: plain ones as `plain_share` says, the rest in equal parts by constraint.

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
    plain = round(config.plain_share * config.num_rows)
    kinds = bytearray(len(config.constraints) for _ in range(plain))  # one byte a row: the place of its id
    kinds += bytes(place % len(config.constraints) for place in range(config.num_rows - plain))
    random.Random(f"kinds-{config.seed}").shuffle(kinds)
    rows = enumerate(zip(problems, kinds, strict=True))
    return (_seed(config, number, problem, kind) for number, (problem, kind) in rows)


def _seed(config: SynthConfig, number: int, problem: Problem, kind: int) -> Seed:
    item_id = f"synth-{number:07d}"
    if kind == len(config.constraints):
        return Seed(item_id, problem)
    id = config.constraints[kind]
    return Seed(item_id, problem, id, REWRITERS[id].draw_args(draws(config, item_id, "args"), config))


def make_constraint(id: str, args: dict[str, Any]) -> Constraint:
    """The constraint of a row, on its reasoning."""
    return parse_constraint({"id": id, "args": args, "target": TARGET})


def make_prompt(config: SynthConfig, seed: Seed, constraint: Constraint | None) -> tuple[str, int | None]:
    """The user message that asks for `constraint`, and which wording it has (None: no instruction)."""
    if constraint is None:
        return reasonif_prompt(seed.problem.question), None
    wordings = constraint.instructions(TARGET)
    variant = draws(config, seed.item_id, "wording").randrange(len(wordings)) if config.paraphrases else 0
    return reasonif_prompt(seed.problem.question, wordings[variant], TARGET), variant


def sampling_prompt(config: SynthConfig, seed: Seed) -> str:
    """The user message under which a trace is sampled: without the instruction unless the config wants it."""
    constraint = None
    if config.sample_with_instruction and seed.constraint is not None:
        constraint = make_constraint(seed.constraint, seed.args)
    return make_prompt(config, seed, constraint)[0]
