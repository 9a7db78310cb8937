"""What a rewrite may not lose: figures, tuples, formulas. Every rule is checked against these afterwards."""

from __future__ import annotations

import re

from .errors import Rejected

# Figures are finer than the numbers of `riftk.constraints.text`: the 2 of "2x" and of "x_2" counts as well.
_FIGURES = re.compile(r"\d+(?:\.\d+)?")
DIGIT_SEPARATOR = r"(?:,\\!|\{,\}|,)"  # 1,200 and, in LaTeX, 1{,}200 and 1,\!200
IS_THOUSANDS = re.compile(rf"[1-9]\d{{0,2}}(?:{DIGIT_SEPARATOR}\d{{3}})+")
_THOUSANDS = re.compile(rf"(?<![\d.,]){IS_THOUSANDS.pattern}(?!\d|{DIGIT_SEPARATOR}\d)")
_SEPARATORS = re.compile(r"\{[,;]\}|,\\!|[,;，、；،﹐﹑､﹔]")
_FUNCTIONS = re.compile(r"\\[A-Za-z]+|\b(?:sin|cos|tan|log|ln|max|min|gcd|lcm|exp|det|mod)\b")
_WORDS = re.compile(r"[a-z]{2,}")
_BRACKETED = re.compile(r"[(\[{]([^()\[\]{}]*)[)\]}]")


def join_thousands(text: str) -> str:
    """Take the separators out of 1,200 and 1{,}200; digits in other groups are left as they are."""
    return _THOUSANDS.sub(lambda match: re.sub(r"\D", "", match.group()), text)


def figures(text: str) -> list[str]:
    """All runs of digits with their decimals, in order, thousands joined."""
    return _FIGURES.findall(join_thousands(text))


def holds_values(inside: str) -> bool:
    """Whether what stands in a bracket is mathematics and no sentence: "x, 2" and not "so, yes"."""
    return not _WORDS.search(_FUNCTIONS.sub("", inside))


def tuples(text: str) -> list[tuple[str, ...]]:
    """Innermost brackets that hold a list of values, as its items without blanks: "(1, 2)" -> ("1", "2")."""
    found = []
    for inside in _BRACKETED.findall(join_thousands(text)):
        items = tuple("".join(item.split()) for item in _SEPARATORS.split(inside))
        if len(items) > 1 and holds_values(inside):
            found.append(items)
    return found


def require_same_figures(before: str, after: str) -> None:
    """Raise `Rejected` unless the same figures stand in the same order."""
    old, new = figures(before), figures(after)
    if old != new:
        lost = next(
            (a for a, b in zip(old, new, strict=False) if a != b), (old + new)[min(len(old), len(new))]
        )
        raise Rejected("a number would change", lost)


def require_same_but_separators(before: str, after: str) -> None:
    """Raise `Rejected` unless only commas, semicolons and blanks differ, and no figure or tuple changes."""
    old, new = (re.sub(r"\s+", "", _SEPARATORS.sub("", text)) for text in (before, after))
    if old != new:
        raise Rejected("the text would change", after[:80])
    require_same_figures(before, after)
    if tuples(before) != tuples(after):
        raise Rejected("a tuple would change", str(tuples(after))[:80])
