"""The embedded benchmark: word problems, plain or with an instruction about the trace or the answer."""

from __future__ import annotations

import random

from riftk.benchmarks import Benchmark
from riftk.constraints import Constraint, parse_constraint
from riftk.constraints.text import word_count
from riftk.prompts import reasonif_prompt
from riftk.rows import Row

from .corpus import END, END_PHRASES, TYPES, draw_args
from .problems import Problem, generate_problems, reference_response, reference_trace

PLAIN, INSTRUCTED = 300, 250


def load(
    split: str = "test",
    limit: int | None = None,
    seed: int = 0,
    plain: int = PLAIN,
    instructed: int = INSTRUCTED,
) -> Benchmark:
    """Generate the items of a split; the first items of a group are the same whatever its size.

    Args:
        split: "test" or "dev"; their sentence patterns, names and numbers differ from each other and from
            the training split.
        limit: how many items in all, fewer *or more* than by default, in about the default proportions.
        seed: draws another set.
        plain: items without an instruction.
        instructed: items with an instruction about the reasoning, and as many about the response, the five
            types in turn.

    Raises:
        ValueError: a split without items ("train" among them), or a limit below one.
    """
    if split not in ("test", "dev"):
        raise ValueError(f"the tiny benchmark has the splits test and dev, not {split!r}")
    if limit is not None:
        if limit < 1:
            raise ValueError(f"limit must be at least 1, not {limit}")
        instructed = round(instructed * limit / (plain + 2 * instructed))
        plain = limit - 2 * instructed
    rows = _group(split, None, plain, seed)
    for target in ("reasoning", "response"):
        rows += _group(split, target, instructed, seed)
    details = {"generator": "riftk.tiny.problems", "seed": str(seed)}
    return Benchmark("tiny", tuple(rows), rules="reasonif", split=split, details=details)


def _group(split: str, target: str | None, size: int, seed: int) -> list[Row]:
    """The items without an instruction (target None) or those with one about a target, the types in turn."""
    group = target or "plain"
    rng = random.Random(f"{split}-{group}-{seed}")
    return [
        _row(problem, f"tiny-{split}-{group}-{number}", TYPES[number % len(TYPES)], target, rng)
        for number, problem in enumerate(generate_problems(split, size, f"{group}-{seed}"))
    ]


def _row(problem: Problem, item_id: str, kind: str, target: str | None, rng: random.Random) -> Row:
    constraints = () if target is None else (_constraint(problem, kind, target, rng),)
    instruction = constraints[0].instruction() if constraints else None
    content = reasonif_prompt(problem.question, instruction, target or "reasoning")
    return Row(
        item_id=item_id,
        prompt=({"role": "user", "content": content},),
        answer=problem.answer,
        answer_type="number",
        constraints=constraints,
        source="tiny",
    )


def _constraint(problem: Problem, kind: str, target: str, rng: random.Random) -> Constraint:
    """The constraint of an item; a word limit is 60 to 75 % of the problem's reference text."""
    reference = reference_trace if target == "reasoning" else reference_response
    args = draw_args(kind, word_count(" ".join(reference(problem, rng))), rng)
    if kind == END:
        args = {"end_phrase": rng.choice(END_PHRASES)}
    return parse_constraint({"id": kind, "args": args, "target": target})
