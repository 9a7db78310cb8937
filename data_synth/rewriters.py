"""Rewriters: for each constraint, how a trace that ignores it is made into one that follows it.

A rewriter keeps what the trace says. What it cannot keep, it rejects. A new one is a function with
`@rewriter("constraint:id")`; whether its result follows, `riftk.data_synth.verification` decides.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from riftk.constraints import check

from .capitals import in_capitals
from .commas import without_commas
from .condense import Outline
from .errors import Rejected
from .json_forms import SHAPES, from_json, split_steps, to_json

LANGUAGE = "language:reasoning_language"
CAPITALS = "change_case:english_capital"
NO_COMMA = "punctuation:no_comma"
JSON = "detectable_format:json_format"
END = "startend:end_checker"
WORDS = "length_constraint_checkers:number_words"

# Many, so that copying is learnt and not a phrase; ReasonIF's six are not among them.
END_PHRASES = (
    *(
        f"THIS {noun} {verb} BY {author}"
        for noun in (
            "REASONING",
            "EXPLANATION",
            "ANALYSIS",
            "ARGUMENT",
            "DERIVATION",
            "SOLUTION",
            "CHAIN OF THOUGHT",
        )
        for verb in ("WAS WRITTEN", "HAS BEEN PREPARED", "WAS PUT TOGETHER", "WAS THOUGHT OUT")
        for author in ("AI", "A MODEL", "A MACHINE")
    ),
    "That is the end of my reasoning",
    "This concludes the analysis",
    "Nothing more needs to be said",
    "My thinking stops here",
    "End of the chain of thought",
    "All steps are done",
    "I have finished thinking",
    "No further steps follow",
    "Here the reasoning is complete",
    "And that is how I got there",
    "The rest is in the answer",
    "I am done with this problem",
)


@dataclass(frozen=True)
class Material:
    """What a rewriter works with.

    Args:
        reasoning: the trace.
        answer: what the response says, "" where nothing could be extracted.
        question: the problem, without the instruction.
        args: arguments of the constraint that were drawn before the trace was known.
        draws: random generator of this row.
        word_share: shares of the trace's own words between which a word limit is drawn.
    """

    reasoning: str
    answer: str
    question: str
    args: Mapping[str, Any]
    draws: random.Random
    word_share: tuple[float, float]


@dataclass(frozen=True)
class Rewrite:
    """A rewritten trace, the arguments it is for, and the shape that was chosen where there are several."""

    text: str
    args: dict[str, Any] = field(default_factory=dict)
    shape: str = ""


class Choices(Protocol):
    """What arguments are drawn from: the settings of these names in `riftk.data_synth.SynthConfig`."""

    @property
    def end_phrases(self) -> tuple[str, ...]: ...

    @property
    def word_limits(self) -> tuple[int, ...]: ...


DrawArgs = Callable[[random.Random, Choices, bool], dict[str, Any]]


@dataclass(frozen=True)
class Rewriter:
    """How traces come to follow one constraint.

    Args:
        name: written into the provenance of rows.
        rewrite: makes the trace; raises `Rejected` where that cannot be done safely.
        draw_args: draws the arguments that are known before the trace is sampled. Its last argument says
            whether the instruction will stand in the sampling prompt, so that all have to be known.
    """

    name: str
    rewrite: Callable[[Material], Rewrite]
    draw_args: DrawArgs


REWRITERS: dict[str, Rewriter] = {}


def _no_args(draws: random.Random, choices: Choices, in_prompt: bool) -> dict[str, Any]:
    return {}


def rewriter(
    id: str, draw_args: DrawArgs = _no_args
) -> Callable[[Callable[[Material], Rewrite]], Callable[[Material], Rewrite]]:
    """Decorator: register a function as the rewriter by rule for the constraint `id`."""

    def register(function: Callable[[Material], Rewrite]) -> Callable[[Material], Rewrite]:
        REWRITERS[id] = Rewriter(f"rule:{function.__name__}", function, draw_args)
        return function

    return register


@rewriter(CAPITALS)
def capitals(material: Material) -> Rewrite:
    """Capital letters; formulas become plain text."""
    return Rewrite(in_capitals(material.reasoning))


@rewriter(NO_COMMA)
def no_comma(material: Material) -> Rewrite:
    """No commas; lists of values get semicolons."""
    return Rewrite(without_commas(material.reasoning))


@rewriter(JSON)
def json_format(material: Material) -> Rewrite:
    """JSON in one of four shapes, on one line or indented, in a code fence or not."""
    shape, fenced = material.draws.choice(SHAPES), material.draws.random() < 0.5
    indent = material.draws.choice((None, None, 2, 4))
    text = to_json(material.reasoning, shape, fenced, indent)
    steps, parted_by = split_steps(material.reasoning)
    if from_json(text, parted_by) != material.reasoning:
        raise Rejected("the text would change", text[:80])
    shape = shape if len(steps) > 1 else "object"
    return Rewrite(text, shape=f"{shape}, {parted_by}{', fenced' if fenced else ''}")


def _draw_phrase(draws: random.Random, choices: Choices, in_prompt: bool) -> dict[str, Any]:
    return {"end_phrase": draws.choice(choices.end_phrases)}


@rewriter(END, _draw_phrase)
def end_phrase(material: Material) -> Rewrite:
    """The phrase on a line of its own, unless the trace ends with it already."""
    args = dict(material.args)
    spec = {"id": END, "args": args, "target": "reasoning"}
    if check(spec, material.reasoning, rules="reasonif") and check(spec, material.reasoning):
        return Rewrite(material.reasoning, args)
    return Rewrite(f"{material.reasoning.rstrip()}\n{args['end_phrase']}", args)


def _draw_limit(draws: random.Random, choices: Choices, in_prompt: bool) -> dict[str, Any]:
    """A limit that does not depend on the trace is needed only where it stands in the sampling prompt."""
    return {"num_words": draws.choice(choices.word_limits)} if in_prompt else {}


@rewriter(WORDS, _draw_limit)
def word_limit(material: Material) -> Rewrite:
    """Whole sentences below a limit, which is a share of the trace's length and leaves room for its core."""
    outline = Outline.of(material.reasoning, material.answer, material.question)
    limit = material.args.get("num_words")
    if limit is None:
        low, high = (int(share * outline.total_words) for share in material.word_share)
        low = max(low, outline.core_words + 1)
        if low > high:
            raise Rejected(
                "the sentences that the answer rests on do not fit the limit",
                f"{outline.core_words} of {outline.total_words} words",
            )
        limit = material.draws.randint(low, high)
    if outline.total_words < limit:
        return Rewrite(material.reasoning, {"num_words": limit})
    return Rewrite(outline.within(limit), {"num_words": limit})
