"""Registry of rewriters: for each constraint, how a trace that ignores it is made into one that follows it.

A rewriter keeps what the trace says. What it cannot keep, it rejects. Several of them work one after the
other, in the order of their `Place`: what changes words first, what stands at the edges last.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, Protocol


class Pools(Protocol):
    """What rewriters ask of a configuration, which is a `SynthConfig`."""

    style: str
    end_phrases: tuple[str, ...]
    word_limits: tuple[int, ...]
    calibrated_limits: str
    languages: tuple[str, ...]
    llm_words: bool


class Place(IntEnum):
    """When a rewriter has its turn. A later one leaves what an earlier one made as it is: capitals find the
    keywords' places, commas go after all words have come, the end phrase is put inside the quotation marks.
    """

    LANGUAGE = 1
    LENGTH = 2
    WORDS = 3
    HIGHLIGHTS = 4
    BLOCKS = 5
    CASE = 6
    PUNCTUATION = 7
    BEGINNING = 8
    END = 9
    WRAPPING = 10


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
        fixed: whether the instruction stood in the sampling prompt already, so that `args` must not change.
        reserve: words that later rewriters will add.
    """

    reasoning: str
    answer: str
    question: str
    args: Mapping[str, Any]
    draws: random.Random
    word_share: tuple[float, float] = (0.5, 0.8)
    fixed: bool = False
    reserve: int = 0


@dataclass(frozen=True)
class Rewrite:
    """A rewritten trace, the arguments it is for, and the shape that was chosen where there are several."""

    text: str
    args: dict[str, Any] = field(default_factory=dict)
    shape: str = ""


@dataclass(frozen=True)
class Draw:
    """What the arguments of a constraint are drawn with.

    Args:
        draws: random generator of this row.
        config: pools to draw from.
        question: the problem.
        source: where it is from.
        ids: all constraints of the row.
        in_prompt: whether the instruction will stand in the sampling prompt, so that all arguments have to be
            known beforehand.
    """

    draws: random.Random
    config: Pools
    question: str
    source: str
    ids: tuple[str, ...]
    in_prompt: bool


def no_args(draw: Draw) -> dict[str, Any]:
    """The arguments of a constraint that has none."""
    return {}


@dataclass(frozen=True)
class Rewriter:
    """How traces come to follow one constraint.

    Args:
        name: written into the provenance of rows.
        place: its turn among several.
        rewrite: makes the trace; raises `Rejected` where that cannot be done safely. None where only an LLM
            can.
        draw_args: draws the arguments that are known before the trace is sampled.
        added_words: how many words it adds to a trace, by its arguments.
        may_use_llm: whether a configuration with an LLM leaves this one to it, though there is a rule.
    """

    name: str
    place: Place
    rewrite: Callable[[Material], Rewrite] | None
    draw_args: Callable[[Draw], dict[str, Any]] = no_args
    added_words: Callable[[Mapping[str, Any]], int] = lambda args: 0
    may_use_llm: Callable[[Pools], bool] = lambda config: False

    @property
    def needs_llm(self) -> bool:
        return self.rewrite is None


REWRITERS: dict[str, Rewriter] = {}


def rewriter(
    id: str, place: Place, **options: Any
) -> Callable[[Callable[[Material], Rewrite]], Callable[[Material], Rewrite]]:
    """Decorator: register a function as the rewriter by rule for the constraint `id`.

    Args:
        id: the constraint; whether the result follows it, `riftk.data_synth.verification` decides.
        place: its turn among several.
        options: further fields of `Rewriter`.
    """

    def register(function: Callable[[Material], Rewrite]) -> Callable[[Material], Rewrite]:
        REWRITERS[id] = Rewriter(f"rule:{function.__name__}", place, function, **options)
        return function

    return register


def only_llm(id: str, name: str, place: Place, **options: Any) -> None:
    """Register a constraint that no rule rewrites for."""
    REWRITERS[id] = Rewriter(f"llm:{name}", place, None, **options)
