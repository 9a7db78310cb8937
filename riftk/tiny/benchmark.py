"""The embedded benchmarks: the papers in miniature, on word problems that are generated.

tiny             plain, or with an instruction about the trace or the answer, as ReasonIF asks
tiny-mathif      with no, one, two or three constraints on the answer, as MathIF asks
tiny-iffr        under standard instructions, and under others that want the answer doubled, as IFFR asks
tiny-several     with two instructions about the trace at once, in ReasonIF's prompt
tiny-cotcontrol  under CoTControl's eight rules about the trace, in its words, which are trained nowhere
"""

from __future__ import annotations

import random
from itertools import combinations

from riftk.benchmarks import Benchmark, Decoding
from riftk.benchmarks.cotcontrol import MODES, SUPPRESSION, SUPPRESSIONS
from riftk.benchmarks.iffr_prompts import CONDITIONS, VARIANTS
from riftk.constraints import Constraint, parse_constraint
from riftk.constraints.compose import ifeval_compatible
from riftk.constraints.conflicts import conflicts
from riftk.constraints.cotcontrol import published_prompt
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
COMBINED, CONTROLLED = 240, 240


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
        _number_row(
            problem,
            f"iffr-tiny_{split}-{number:04d}-{condition}-{variant}",
            doubled.prompt(problem, condition, variant),
        )
        for number, problem in enumerate(problems)
        for variant, condition in wordings
    ]
    decoding = Decoding(greedy=True)
    return Benchmark("tiny-iffr", tuple(rows), "iffr", split, details=_details(seed), decoding=decoding)


def load_several(
    split: str = "test", limit: int | None = None, seed: int = 0, together: int = 2
) -> Benchmark:
    """Generate items with several instructions about the trace at once, the combinations of types in turn.

    Args:
        split, limit, seed: as of `load`; by default there are `COMBINED` items.
        together: how many instructions, 2 or 3.

    Raises:
        ValueError: as `load`; also another number of instructions.
    """
    _check(split, limit)
    if together not in (2, 3):
        raise ValueError(f"tiny-several asks for 2 or 3 instructions together, not {together}")
    rng = random.Random(f"{split}-several-{seed}")
    choices = combined_types(together)
    rows = [
        _reasonif_row(
            problem,
            f"tiny-several-{split}-{number}",
            _drawn(problem, choices[number % len(choices)], rng),
            "reasoning",
        )
        for number, problem in enumerate(generate_problems(split, limit or COMBINED, f"several-{seed}"))
    ]
    return Benchmark("tiny-several", tuple(rows), "reasonif", split, details=_details(seed))


def load_cotcontrol(split: str = "test", limit: int | None = None, seed: int = 0) -> Benchmark:
    """Generate items under CoTControl's rules in turn, as its sentences ask for them behind the question.

    A trace of thirty-five words can follow each. What must not be said is the thing that is counted, or that
    and who counts. Arguments and errors as of `load`; by default there are `CONTROLLED` items.
    """
    _check(split, limit)
    rows = [
        _controlled(problem, f"tiny-cotcontrol-{split}-{number}", MODES[number % len(MODES)])
        for number, problem in enumerate(generate_problems(split, limit or CONTROLLED, f"cotcontrol-{seed}"))
    ]
    return Benchmark("tiny-cotcontrol", tuple(rows), "cotcontrol", split, details=_details(seed))


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
    return _number_row(problem, f"tiny-mathif-{split}-{number}", content, constraints)


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
    return _reasonif_row(problem, item_id, constraints, target or "reasoning")


def _reasonif_row(problem: Problem, item_id: str, constraints: tuple[Constraint, ...], target: str) -> Row:
    instruction = " ".join(constraint.instruction() for constraint in constraints) or None
    content = reasonif_prompt(problem.question, instruction, target)
    return _number_row(problem, item_id, content, constraints)


def _number_row(
    problem: Problem, item_id: str, content: str, constraints: tuple[Constraint, ...] = ()
) -> Row:
    return Row(
        item_id=item_id,
        prompt=({"role": "user", "content": content},),
        answer=problem.answer,
        answer_type="number",
        constraints=constraints,
        source="tiny",
    )


def combined_types(number: int) -> list[tuple[str, ...]]:
    """The types that may stand together, so many of them, as synthesis combines them."""
    return [
        types
        for types in combinations(TYPES, number)
        if all(ifeval_compatible(*pair) for pair in combinations(types, 2))
    ]


def _drawn(problem: Problem, types: tuple[str, ...], rng: random.Random) -> tuple[Constraint, ...]:
    """Constraints of these types that one trace can follow together."""
    while True:
        drawn = tuple(_constraint(problem, kind, "reasoning", rng) for kind in types)
        if not conflicts(drawn):
            return drawn


def _controlled(problem: Problem, item_id: str, mode: str) -> Row:
    keywords = {SUPPRESSION: problem.item, SUPPRESSIONS: ", ".join((problem.item, *problem.names))}
    args = {"keyword": keywords[mode]} if mode in keywords else {}
    constraint = parse_constraint({"id": f"cotcontrol:{mode}", "args": args, "target": "reasoning"})
    _, requirement, words = published_prompt(constraint, "", ()).rpartition("\n\nRequirement: ")
    return _number_row(
        problem, item_id, reasonif_prompt(problem.question) + requirement + words, (constraint,)
    )


def _constraint(problem: Problem, kind: str, target: str, rng: random.Random) -> Constraint:
    """The constraint of an item; a word limit is 60 to 75 % of the problem's reference text."""
    reference = reference_trace if target == "reasoning" else reference_response
    args = draw_args(kind, word_count(" ".join(reference(problem, rng))), rng)
    if kind == END:
        args = {"end_phrase": rng.choice(END_PHRASES)}
    return parse_constraint({"id": kind, "args": args, "target": target})
