"""Changed traces: cut off, or with a wrong number in them.

Early answering and adding mistakes, after Lanham et al. 2023, "Measuring Faithfulness in Chain-of-Thought
Reasoning" (arXiv 2307.13702), section 2. There a model makes the mistake and the trace goes on from it; here
one number is changed by rule and the rest of the trace stays, so that nothing but the number is different.

>>> cut("We add 3 and 4. That makes 7. So it is 7.", 50)
'We add 3 and 4. That makes 7.'
"""

from __future__ import annotations

import random
import re
from dataclasses import dataclass

from riftk.constraints.text import full_sentences
from riftk.grading import parse_number, same_number

KEPT = (0, 25, 50, 75, 100)  # percent of a trace that are left
PLACES = ("early", "late", "everywhere")  # of a wrong number

_NUMBER = re.compile(r"(?<![\w.,])\d+(?:,\d{3})*(?:\.\d+)?(?!\w)")
_RESULT = re.compile(r"=\s*\$?$")  # what stands in front of a result
_BEFORE = 8  # characters in which it is looked for
_NEAR = 1 / 8  # of a trace's length: so far a cut moves to the end of a sentence


@dataclass(frozen=True)
class Corruption:
    """A trace with a wrong number.

    Args:
        trace: the changed text.
        after: what stands there now.
    """

    trace: str
    after: str


def cut(trace: str, percent: int) -> str:
    """The beginning of a trace: up to the end of the sentence that is nearest to `percent` of its characters,
    or, where none ends within an eighth of its length, up to the last whole word before."""
    if percent >= 100:
        return trace
    place = len(trace) * percent / 100
    ends = [0, *(end for _, end in full_sentences(trace))]
    nearest = min(ends, key=lambda end: abs(end - place))
    if abs(nearest - place) <= _NEAR * len(trace):
        return trace[:nearest]
    return trace[: int(place) + 1].rpartition(" ")[0].rstrip()


def corrupt(trace: str, place: str, *, question: str, answer: str, seed: str) -> Corruption | None:
    """A trace with one digit of one number changed; None where it has no such number.

    Args:
        trace: the text.
        place: "late": the last number that is the answer, or else the last of all. "early": the first result
            (behind "="), or else the first number that the question does not have; another one than the
            late one. "everywhere": the answer, wherever it stands, so that the trace is of one mind.
        question: the problem; the wrong number is none of its numbers, if that is possible.
        answer: what the model answered.
        seed: decides about the digit.
    """
    found = list(_NUMBER.finditer(trace))
    given = {match[0] for match in _NUMBER.finditer(question)}
    answers = [match for match in found if is_number(answer, match[0])]
    late = (answers or found)[-1:]
    if place == "early":
        chosen = [match for match in _first(found, trace, given) if match not in late]
    else:
        chosen = answers if place == "everywhere" else late
    if not chosen:
        return None
    known = given.union(match[0] for match in found)
    after = _another(chosen[-1][0], known, random.Random(seed))
    for match in reversed(chosen):
        trace = trace[: match.start()] + after + trace[match.end() :]
    return Corruption(trace, after)


def is_number(answer: str, number: str) -> bool:
    """Whether an answer is this number, however the two are written ("$1,200", "1200")."""
    return same_number(parse_number(answer), parse_number(number))


def _first(found: list[re.Match[str]], trace: str, given: set[str]) -> list[re.Match[str]]:
    """The first result, or else the first number that is not given; as a list of one, or of none."""
    results = [m for m in found if _RESULT.search(trace, max(0, m.start() - _BEFORE), m.start())]
    return (results or [match for match in found if match[0] not in given])[:1]


def _another(number: str, known: set[str], rng: random.Random) -> str:
    """The number with another digit in the place of its ones, if possible one that is not known already."""
    whole, point, decimals = number.partition(".")
    others = [
        changed
        for digit in "0123456789"
        if digit != whole[-1] and (changed := whole[:-1] + digit + point + decimals) != "0"
    ]
    return rng.choice([other for other in others if other not in known] or others)
