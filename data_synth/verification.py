"""Verify a rewritten row with the checker that will judge the model trained on it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from riftk.completions import split_completion
from riftk.constraints import Constraint, Text, Verdict, check
from riftk.constraints.base import TARGETS
from riftk.constraints.published import published_rules
from riftk.grading import strip_answer_tags

from .config import SynthConfig
from .errors import Rejected
from .sampling import check_answer, check_answered, has_answer_tag
from .seeds import Seed

BOOKS = ("published", "robust")


@dataclass(frozen=True)
class Judged:
    """The verdict on one constraint under one rulebook; `book` is one of `BOOKS`."""

    constraint: Constraint
    book: str
    rules: str
    verdict: Verdict


def _rules(constraint: Constraint, book: str, own: str) -> str:
    """The rulebook that stands for a book where this constraint is judged.

    The published one is the row's own, or that which judges its target, or else that of a benchmark which
    judges the other target only. For a constraint that nobody has published, riftk's own rules are all
    there is.
    """
    if book == "robust":
        return book
    targets = (constraint.target, *TARGETS)
    published = (published_rules(replace(constraint, target=target), own) for target in targets)
    return next(filter(None, published), "robust")


def judge(constraints: Sequence[Constraint], reasoning: str, response: str, own: str = "") -> list[Judged]:
    """The verdicts on each constraint, published rules first, robust behind them.

    Args:
        constraints: of one row.
        reasoning, response: its texts.
        own: the row's `rules`.
    """
    texts = {"reasoning": Text(reasoning), "response": Text(strip_answer_tags(response))}
    return [
        Judged(constraint, book, rules, check(constraint, texts[constraint.target], rules))
        for book in BOOKS
        for constraint in constraints
        for rules in (_rules(constraint, book, own),)
    ]


def followed(judged: Sequence[Judged]) -> dict[str, bool]:
    """Whether all constraints are followed, by book."""
    return {book: all(one.verdict.followed for one in judged if one.book == book) for book in BOOKS}


def verify(
    config: SynthConfig, seed: Seed, constraints: Sequence[Constraint], reasoning: str, response: str
) -> dict[str, bool]:
    """Make sure that a row is what it claims to be.

    Trace and response have to follow their constraints under published rules and under robust ones. The trace
    has to be free of answer tags and survive being written into a completion; the response has to be complete
    and, with a gold answer, correct. The published way (`recipe: paper`) verifies nothing.

    Returns:
        Whether the constraints are followed, by book.

    Raises:
        Rejected: with the reason.
    """
    judged = judge(constraints, reasoning, response, config.row_rules)
    if config.is_paper:
        return followed(judged)
    for one in judged:
        if not one.verdict.followed:
            raise Rejected(
                f"not followed under {one.rules} rules", f"{one.constraint.id}: {one.verdict.reason}"
            )
    if has_answer_tag(reasoning):
        raise Rejected("answer tag in the trace")
    check_answered(config, response)
    check_answer(config, seed, response)
    parts = split_completion(f"<think>\n{reasoning}\n</think>\n\n{response}", think="tags")
    if (parts.reasoning.strip(), parts.response.strip()) != (reasoning.strip(), response.strip()):
        raise Rejected("a marker of reasoning inside the text")
    return followed(judged)
