"""The embedded benchmarks: the three papers in miniature, on word problems that are generated.

tiny           plain, or with an instruction about the trace or the answer, as ReasonIF asks
tiny-mathif    with no, one, two or three constraints on the answer, as MathIF asks
tiny-iffr      under standard instructions, and under others that want the answer doubled, as IFFR asks
"""

from __future__ import annotations

import random

from riftk.benchmarks import Benchmark, Decoding
from riftk.benchmarks.iffr_prompts import CONDITIONS, VARIANTS
from riftk.constraints import Constraint, parse_constraint
from riftk.constraints.published.mathif import description
from riftk.constraints.text import word_count
from riftk.constraints.values import MATHIF
from riftk.prompts import mathif_prompt, reasonif_prompt
from riftk.rows import Row

from . import doubled, several
from .corpus import END, END_PHRASES, TYPES, draw_args
from .problems import Problem, generate_problems, reference_response, reference_trace

PLAIN, INSTRUCTED = 300, 250
SEVERAL, DOUBLED = 400, 50


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
    _check(split, limit)
    if limit is not None:
        instructed = round(instructed * limit / (plain + 2 * instructed))
        plain = limit - 2 * instructed
    rows = _group(split, None, plain, seed)
    for target in ("reasoning", "response"):
        rows += _group(split, target, instructed, seed)
    return Benchmark("tiny", tuple(rows), rules="reasonif", split=split, details=_details(seed))


def load_mathif(split: str = "test", limit: int | None = None, seed: int = 0) -> Benchmark:
    """Generate the items of MathIF in miniature: no, one, two and three constraints on the answer in turn.

    Arguments and errors as of `load`; by default there are `SEVERAL` items.
    """
    _check(split, limit)
    rng = random.Random(f"{split}-mathif-{seed}")
    problems = generate_problems(split, limit or SEVERAL, f"mathif-{seed}")
    rows = [_several(problem, split, number, rng) for number, problem in enumerate(problems)]
    return Benchmark(
        "tiny-mathif", tuple(rows), "mathif", split, details=_details(seed), sentence=description
    )


def load_iffr(split: str = "test", limit: int | None = None, seed: int = 0) -> Benchmark:
    """Generate the items of IFFR in miniature: six for each question, three of them for its double.

    Arguments and errors as of `load`; by default there are `DOUBLED` questions, and a question is taken with
    all its items.
    """
    _check(split, limit)
    wordings = [(variant, condition) for variant in VARIANTS for condition in CONDITIONS]
    questions = DOUBLED if limit is None else max(limit // len(wordings), 1)
    drawn = generate_problems(split, 8 * questions + 40, f"iffr-{seed}")
    problems = [problem for problem in drawn if doubled.can_be_doubled(problem)][:questions]
    rows = [
        Row(
            item_id=f"iffr-tiny_{split}-{number:04d}-{condition}-{variant}",
            prompt=({"role": "user", "content": doubled.prompt(problem, condition, variant)},),
            answer=problem.answer,
            answer_type="number",
            source="tiny",
        )
        for number, problem in enumerate(problems)
        for variant, condition in wordings
    ]
    decoding = Decoding(greedy=True)
    return Benchmark("tiny-iffr", tuple(rows), "iffr", split, details=_details(seed), decoding=decoding)


def _check(split: str, limit: int | None) -> None:
    if split not in ("test", "dev"):
        raise ValueError(f"the tiny benchmarks have the splits test and dev, not {split!r}")
    if limit is not None and limit < 1:
        raise ValueError(f"limit must be at least 1, not {limit}")


def _details(seed: int) -> dict[str, str]:
    return {"generator": "riftk.tiny.problems", "seed": str(seed)}


def _several(problem: Problem, split: str, number: int, rng: random.Random) -> Row:
    constraints = several.draw_constraints(
        problem, number % (several.MOST + 1), MATHIF.keywords, rng.choice(MATHIF.end_phrases), rng
    )
    content = mathif_prompt(problem.question, [description(constraint) for constraint in constraints])
    return Row(
        item_id=f"tiny-mathif-{split}-{number}",
        prompt=({"role": "user", "content": content},),
        answer=problem.answer,
        answer_type="number",
        constraints=constraints,
        source="tiny",
    )


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
