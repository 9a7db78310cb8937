"""Numbers written in words."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

_SMALL = {
    "zero": 0, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8,
    "nine": 9, "ten": 10, "eleven": 11, "twelve": 12, "thirteen": 13, "fourteen": 14, "fifteen": 15,
    "sixteen": 16, "seventeen": 17, "eighteen": 18, "nineteen": 19, "twenty": 20, "thirty": 30, "forty": 40,
    "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90,
}  # fmt: skip
_SCALE = {
    "hundred": 100,
    "dozen": 12,
    "thousand": 10**3,
    "million": 10**6,
    "billion": 10**9,
    "trillion": 10**12,
}
_PARTS = {
    "half": 2, "halves": 2, "third": 3, "thirds": 3, "quarter": 4, "quarters": 4, "fourth": 4, "fourths": 4,
    "fifth": 5, "fifths": 5, "sixth": 6, "sixths": 6, "eighth": 8, "eighths": 8, "tenth": 10, "tenths": 10,
}  # fmt: skip
_NEGATIVE = ("minus", "negative")
_LISTING = {",", ";", "and", "or", "to"}


def number_in_words(words: Sequence[str]) -> Fraction | None:
    """The last number that the words name ("twenty-one" is 21, "two thirds" is 2/3), None without one.

    Words that only list numbers ("two or three") name none, nor does a lone "one" in a sentence, where it
    is a pronoun.
    """
    words = [word.lower() for word in words]
    runs: list[tuple[int, int, Fraction]] = []
    index = 0
    while index < len(words):
        value, end = _run(words, index)
        if value is None:
            index += 1
        else:
            runs.append((index, end, value))
            index = end
    if not runs:
        return None
    if len(runs) > 1 and runs[-1][2] != runs[-2][2] and _LISTING.issuperset(words[runs[-2][1] : runs[-1][0]]):
        return None
    start, end, value = runs[-1]
    if words[start:end] == ["one"] and len(words) > 3:
        return None
    return -value if start and words[start - 1] in _NEGATIVE else value


def _run(words: Sequence[str], start: int) -> tuple[Fraction | None, int]:
    """Value of the number that starts at a word, and where it ends."""
    total, group, index = 0, None, start
    if (
        words[start] in ("a", "an")
        and start + 1 < len(words)
        and (words[start + 1] in _SCALE or words[start + 1] in _PARTS)
    ):
        group, index = 1, start + 1
    while index < len(words):
        word = words[index]
        if word in _SMALL and (group is None or _fits(group, _SMALL[word])):
            group = (group or 0) + _SMALL[word]
        elif word in _SCALE and (group is not None or index == start):
            group = (1 if group is None else group) * _SCALE[word]
            if _SCALE[word] >= 1000:
                total, group = total + group, 0
        elif not (word == "-" or (word == "and" and group is not None)) or not _continues(
            words, index, group
        ):
            break
        index += 1
    if index < len(words) and words[index] in _PARTS and (group is not None or words[index] == "half"):
        return Fraction(total + (1 if group is None else group), _PARTS[words[index]]), index + 1
    return (None, start) if index == start or group is None else (Fraction(total + group), index)


def _fits(group: int, value: int) -> bool:
    """Whether a small number can follow within a group: "twenty one", "two hundred forty", not "two
    three"."""
    tail = group % 100
    return group == 0 or (tail == 0 and group >= 100) or (tail >= 20 and tail % 10 == 0 and 0 < value < 10)


def _continues(words: Sequence[str], index: int, group: int | None) -> bool:
    """Whether a hyphen or "and" joins the number to its next word: "twenty-one", "one hundred and five"."""
    after = words[index + 1] if index + 1 < len(words) else ""
    if words[index] == "and":
        return group is not None and (group == 0 or group % 100 == 0) and after in _SMALL
    return group is not None and (after in _SMALL or after in _SCALE or after in _PARTS)
