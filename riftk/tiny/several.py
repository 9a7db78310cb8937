"""MathIF in miniature: answers under one, two or three constraints, asked for as MathIF asks for them.

Six of MathIF's constraints are short enough for answers of two dozen words. Keywords and end phrases of the
benchmark are the published ones; the training texts hold none of the phrases, and other words.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from riftk.constraints import Constraint, parse_constraint
from riftk.constraints.conflicts import conflicts
from riftk.constraints.text import word_count

from .problems import Problem, conclusion, reference_response

KEYWORD = "keywords:existence"
LOWERCASE = "change_case:english_lowercase"
NO_COMMA = "punctuation:no_comma"
QUOTATION = "startend:quotation"
END = "startend:end_checker"
WORDS = "length_constraint_checkers:number_words"
KINDS = (KEYWORD, LOWERCASE, NO_COMMA, QUOTATION, END, WORDS)
MOST = 3  # constraints together

_USE = "The word is {}."


def draw_constraints(
    problem: Problem, number: int, keywords: Sequence[str], end_phrase: str, rng: random.Random
) -> tuple[Constraint, ...]:
    """So many constraints of different kinds about the answer that one text can follow together.

    Args:
        problem: whose usual answer decides about a word limit: 80 to 95 % of it and of what is added.
        number: 1 to `MOST`.
        keywords: to draw one from.
        end_phrase: what an answer may have to end with.
        rng: decides.
    """
    usual = word_count(" ".join(reference_response(problem, rng)))
    while True:
        chosen = rng.sample(KINDS, number)
        kinds = [kind for kind in KINDS if kind in chosen]
        added = {KEYWORD: word_count(_USE), END: word_count(end_phrase)}
        words = usual + sum(added.get(kind, 0) for kind in kinds)
        args = {
            KEYWORD: {"keywords": [rng.choice(keywords)]},
            END: {"end_phrase": end_phrase},
            WORDS: {"relation": "less than", "num_words": round(words * rng.uniform(0.8, 0.95))},
        }
        drawn = tuple(
            parse_constraint({"id": kind, "args": args.get(kind, {}), "target": "response"}) for kind in kinds
        )
        if not conflicts(drawn):
            return drawn


def answer_under(problem: Problem, constraints: Sequence[Constraint], rng: random.Random) -> str:
    """A worked answer, its number in a box, that follows the constraints."""
    args = {constraint.id: constraint.args for constraint in constraints}
    sentences = reference_response(problem, rng)
    if WORDS in args:  # the plan or a calculation goes, the conclusion is enough
        sentences = [conclusion(problem, rng, short=True)]
    if KEYWORD in args:
        sentences.insert(0, _USE.format(args[KEYWORD]["keywords"][0]))
    text = f"{' '.join(sentences)} \\boxed{{{problem.answer}}}"
    if LOWERCASE in args:
        text = text.lower()
    if NO_COMMA in args:
        text = text.replace(",", "")
    if END in args:
        text = f"{text} {args[END]['end_phrase']}"
    return f'"{text}"' if QUOTATION in args else text
