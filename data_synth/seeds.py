"""Seeds: what each row starts from, and every random draw that is made for it."""

from __future__ import annotations

import hashlib
import random
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from itertools import combinations
from typing import Any

from riftk.constraints import Constraint, ConstraintError, parse_constraint
from riftk.constraints.compose import ifeval_compatible
from riftk.constraints.conflicts import conflicts
from riftk.prompts import mathif_prompt, reasonif_prompt

from .config import SynthConfig
from .errors import SynthesisError
from .problems import Problem, load_problems
from .registry import REWRITERS, Draw, Place

OF_RESPONSE = " (response)"  # behind the kind of a row about the response
_DRAWS = 50  # of arguments that go together


@dataclass(frozen=True)
class Seed:
    """A problem and what is asked of its trace or of its answer.

    Args:
        item_id: unique within the run; all draws for the row are derived from it.
        problem: question, gold answer, how to grade it, source.
        ids: constraints, in the order of their sentences; none for a plain row.
        args: of each, the arguments that are known already; a word limit may have to wait for the trace.
        target: "reasoning", or "response" for a row whose answer has to follow as it was sampled.
    """

    item_id: str
    problem: Problem
    ids: tuple[str, ...] = ()
    args: tuple[Mapping[str, Any], ...] = ()
    target: str = "reasoning"

    @property
    def kind(self) -> str | None:
        """Under which name its yield is counted; None for a plain row."""
        if not self.ids:
            return None
        name = " + ".join(self.ids)
        return name + OF_RESPONSE if self.target == "response" else name

    def constraints(self, args: Sequence[Mapping[str, Any]] | None = None) -> tuple[Constraint, ...]:
        """The constraints of its row, once all arguments are known.

        Args:
            args: of each constraint; None takes those of the seed.

        Raises:
            ConstraintError: an argument is missing.
        """
        return tuple(
            parse_constraint({"id": id, "args": values, "target": self.target})
            for id, values in zip(self.ids, self.args if args is None else args, strict=True)
        )

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Seed:
        lists = {"ids": tuple(data["ids"]), "args": tuple(data["args"])}
        return cls(**{**data, **lists, "problem": Problem(**data["problem"])})


def draws(config: SynthConfig, item_id: str, purpose: str) -> random.Random:
    """The random generator for one purpose of one row: the same whatever was done before."""
    return random.Random(f"{config.seed}/{item_id}/{purpose}")


def derived_seed(config: SynthConfig, window: int, attempt: int) -> int:
    """Seed of the sampling of one window."""
    digest = hashlib.sha256(f"{config.seed}/{window}/{attempt}".encode()).digest()
    return int.from_bytes(digest[:4], "big")


@cache
def combined(ids: tuple[str, ...], count: int) -> tuple[tuple[str, ...], ...]:
    """The combinations of `count` constraints that can be asked of one trace (IFEval's table of conflicts).

    Raises:
        SynthesisError: there is none.
    """
    if count == 1:
        return tuple((id,) for id in ids)
    found = tuple(
        chosen
        for chosen in combinations(ids, count)
        if all(ifeval_compatible(*pair) and _in_turn(*pair) for pair in combinations(chosen, 2))
    )
    if not found:
        raise SynthesisError(
            f"no {count} of {', '.join(ids)} can be asked of one trace; name more constraints"
        )
    return found


def _in_turn(one: str, other: str) -> bool:
    """Whether one rewriter can have its turn after the other: two that divide or wrap a text cannot."""
    first, second = REWRITERS[one].place, REWRITERS[other].place
    return first != second or first not in (Place.BLOCKS, Place.WRAPPING)


def make_seeds(config: SynthConfig) -> Iterator[Seed]:
    """Yield `config.num_rows` seeds: shares of plain ones and of those about the response, the rest about the
    reasoning; these in equal parts by number of constraints, and by constraint or combination.

    Raises:
        SynthesisError: see `load_problems`; also where constraints cannot be combined.
    """
    problems = load_problems(
        config.problems,
        config.num_rows,
        config.seed,
        config.question_column,
        config.answer_column,
        config.answer_type,
    )
    asked: list[tuple[tuple[str, ...], str]] = []
    places: list[range] = []
    for count in config.num_constraints:
        chosen = combined(config.constraints, count)
        places.append(range(len(asked), len(asked) + len(chosen)))
        asked += [(ids, "reasoning") for ids in chosen]
    about_response = range(len(asked), len(asked) + len(config.constraints))
    asked += [((id,), "response") for id in config.constraints]
    asked.append(((), "reasoning"))
    plain = round(config.plain_share * config.num_rows)
    response = round(config.response_share * config.num_rows)
    # Two bytes a row: the place of what it asks for.
    kinds = array("H")
    for row in range(config.num_rows - plain - response):
        turn, of_count = divmod(row, len(places))
        kinds.append(places[of_count][turn % len(places[of_count])])
    kinds.extend(about_response[row % len(about_response)] for row in range(response))
    kinds.extend([len(asked) - 1] * plain)
    random.Random(f"kinds-{config.seed}").shuffle(kinds)  # type: ignore[arg-type]
    rows = enumerate(zip(problems, kinds, strict=True))
    return (_seed(config, number, problem, *asked[kind]) for number, (problem, kind) in rows)


def _seed(config: SynthConfig, number: int, problem: Problem, ids: tuple[str, ...], target: str) -> Seed:
    item_id = f"synth-{number:07d}"
    in_prompt = target == "response" or config.sample_with_instruction
    drawn = Draw(draws(config, item_id, "args"), config, problem.question, problem.source, ids, in_prompt)
    for _ in range(_DRAWS):
        args = tuple(REWRITERS[id].draw_args(drawn) for id in ids)
        seed = Seed(item_id, problem, ids, args, target)
        if len(ids) < 2 or not _contradict(seed):
            break
    return seed


def _contradict(seed: Seed) -> bool:
    """Whether no text can follow the constraints with the arguments that are known."""
    known = []
    for id, args in zip(seed.ids, seed.args, strict=True):
        try:
            known.append(parse_constraint({"id": id, "args": args, "target": seed.target}))
        except ConstraintError:  # a word limit, which waits for the trace
            continue
    return any(conflict.kind == "unsatisfiable" for conflict in conflicts(known))


def make_prompt(
    config: SynthConfig, seed: Seed, constraints: Sequence[Constraint]
) -> tuple[str, tuple[int, ...]]:
    """The user message that asks for `constraints`, and which wording each sentence has."""
    drawn = draws(config, seed.item_id, "wording")
    sentences, variants = [], []
    for constraint in constraints:
        wordings = constraint.instructions()
        variants.append(drawn.randrange(len(wordings)) if config.paraphrases else 0)
        sentences.append(wordings[variants[-1]])
    return write_prompt(config, seed.problem.question, sentences, seed.target), tuple(variants)


def write_prompt(config: SynthConfig, question: str, sentences: Sequence[str], target: str) -> str:
    """The user message that asks a question under instructions about a target, or under none."""
    if config.style == "mathif":
        return mathif_prompt(question, sentences)
    return reasonif_prompt(question, " ".join(sentences) or None, target)


def sampling_prompt(config: SynthConfig, seed: Seed) -> str:
    """The user message under which a trace is sampled.

    An instruction about the response is in it; one about the reasoning only if the config wants it.
    """
    asked = config.sample_with_instruction or seed.target == "response"
    return make_prompt(config, seed, seed.constraints() if asked else ())[0]
