"""How correctness, following and soundness become one reward.

Adding them lets a model earn one part by giving up another: an instruction about the trace is followed best
by a trace that says nothing (allenai/open-instruct#659 saw the like of an additive format reward). So all of
these gate. Unfinished completions never come here: they earn 0.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

USUAL_TRACE = 1500  # characters; the length that the "controllability" formula asks of a trace
PURE_RESPONSE = 200  # characters of a response at which its purity is a half


@dataclass(frozen=True)
class Evidence:
    """What is known of a finished completion.

    Args:
        correct: 1 or 0; None for a row without a gold answer.
        followed: credit over the constraints in [0, 1]; None for a row without any.
        strict: 1 when all are followed, else 0; None as above.
        degenerate: whether a guard calls the text degenerate.
        trace, response: their lengths in characters.
        usual_trace: characters that a trace should have.
    """

    correct: float | None
    followed: float | None
    strict: float | None
    degenerate: bool
    trace: int
    response: int
    usual_trace: float = USUAL_TRACE


def product(found: Evidence) -> float:
    """correct x followed, 0 for degenerate text; at most 1. The default.

    With one constraint and binary credit its mean is the share of answers that are right *and* compliant.
    """
    if found.degenerate:
        return 0.0
    return _or_one(found.correct) * _or_one(found.followed)


def bonus(found: Evidence) -> float:
    """correct x (1 + followed) / 2, 0 for degenerate text; at most 1.

    A right answer alone earns a half, which holds accuracy where few completions follow anything yet.
    """
    if found.degenerate:
        return 0.0
    return _or_one(found.correct) * (1.0 + _or_one(found.followed)) / 2


def controllability(found: Evidence) -> float:
    """gate x (shaped + strict) x purity x (correct + 0.1), over its maximum of 2.2; at most 1.

    The multiplicative reward that a GRPO replication of CoTControl (MATS programme) ended with, after an
    additive one oscillated. `gate` is min(1, trace characters / 1500), or over what the untrained model
    writes where that is known, and 0 for degenerate text; `shaped` is the fractional credit; `purity`,
    against reasoning that moves into the answer, is 200 / (200 + answer characters), at least 0.1. The 0.1
    keeps a wrong but compliant answer above nothing.
    """
    if found.degenerate:
        return 0.0
    gate = min(1.0, found.trace / found.usual_trace)
    purity = max(0.1, PURE_RESPONSE / (PURE_RESPONSE + found.response))
    return (
        gate
        * (_or_one(found.followed) + _or_one(found.strict))
        * purity
        * (_or_one(found.correct) + 0.1)
        / 2.2
    )


def if_rlvr(found: Evidence) -> float:
    """V + 1 for a sound answer that follows something, V - 0.5 for an unsound one, else V; at most 2.

    The combination of IF-RLVR (AI2, arXiv 2507.02833, section 5 and appendix E, equation 2): V is the
    verifiable reward, and a reward model's score above a threshold tells sound from unsound. Two things are
    riftk's: a right, non-degenerate answer is sound, and V is the share followed, where the paper adds up a
    reward for each constraint (open-instruct pays up to 10), so that the answer weighs more here. Unlike the
    other formulas it pays something for following alone, as published.
    """
    value = _or_one(found.followed)
    if value <= 0:
        return value
    sound = not found.degenerate and _or_one(found.correct) > 0
    return value + 1.0 if sound else value - 0.5


def _or_one(part: float | None) -> float:
    """A part that a row does not have gates nothing."""
    return 1.0 if part is None else part


FORMULAS: dict[str, Callable[[Evidence], float]] = {
    "product": product,
    "bonus": bonus,
    "controllability": controllability,
    "if-rlvr": if_rlvr,
}
