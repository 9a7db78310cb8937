"""The published extraction of IFFR, verdict for verdict, as its notebooks read what was generated.

The whole output counts. A choice must be nothing but its letter, a label nothing but its word in lower case,
and of numbers the last one written in digits is taken: 200 for 1,200, and 2 for 16 cm^2. Numbers are
compared as floats.
"""

from __future__ import annotations

import re

_GOLD = re.compile(r"-?\d+\.?\d*")
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_LABELS = ("positive", "negative")


def iffr_extract(response: str, answer_type: str) -> str | None:
    """What the notebooks take for the answer; None where it is none.

    Args:
        response: everything that was generated.
        answer_type: "number", "choice" or "label".
    """
    if answer_type == "number":
        return _last(_NUMBER, response)
    if answer_type == "choice":
        letter = response.strip().replace("Ġ", "").replace("▁", "").upper()
        return letter if letter in ("A", "B", "C", "D") else None
    word = response.strip()
    return word if word in _LABELS else None


def iffr_correct(value: str | None, gold: str, answer_type: str, times: int = 1) -> bool:
    """Whether an extracted answer is the gold answer.

    Args:
        value: what `iffr_extract` found.
        gold: as the data set has it; of a number the last one behind the last "####" counts.
        answer_type: as above.
        times: what a gold number is multiplied by first.
    """
    if answer_type != "number":
        return value == gold
    expected = _last(_GOLD, gold.rpartition("####")[2])
    return None not in (value, expected) and float(value) == times * float(expected)


def _last(pattern: re.Pattern[str], text: str) -> str | None:
    return next(reversed(pattern.findall(text)), None)
