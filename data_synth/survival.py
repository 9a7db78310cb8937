"""What a rewrite may not lose: figures, tuples, formulas. Every rule is checked against these afterwards."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter

from riftk.constraints.text import regions

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


# ------------------------------------------------------------------ what an LLM has rewritten

_WITH_UNIT = re.compile(
    r"(?:[$€£¥]\s?)\d[\d.,]*|\d\s?(?:%|°[CF]?|[kcmµ]?m[²³23]?|km/h|m/s|[km]?g|[mk]?[lL]|[kM]?Hz|[kM]?W|[kM]?J|mol"
    r"|GB|MB|kB|ms|min|€|£)(?![\w])"
)
_TEXT_IN_FORMULA = re.compile(r"\\(?:text[a-z]*|mbox|mathrm|operatorname)\b")
_DECIMAL_COMMA = re.compile(r"(?<=\d),(?=\d{1,2}(?!\d))")


def plain_digits(text: str) -> str:
    """The text with the digits of every script written as 0 to 9."""
    if text.isascii():
        return text
    return "".join(
        str(unicodedata.digit(char)) if char.isdecimal() and not char.isascii() else char for char in text
    )


def inventory(text: str, *, words: bool = True) -> dict[str, Counter[str]]:
    """What of a text has to survive, by kind: numbers, tuples, formulas, code and units, each as a multiset.

    Args:
        text: any text.
        words: whether formulas count that hold words (`\\text{if}`), which a translation changes, and units,
            which it may write otherwise.
    """
    text = plain_digits(text)
    found = regions(text)
    formulas = (text[region.start : region.end] for region in found if region.kind == "formula")
    units = _WITH_UNIT.findall(text) if words else ()
    return {
        "number": Counter(figures(text)),
        "tuple": Counter(map(" ".join, tuples(text))),
        "formula": Counter(
            "".join(formula.split()) for formula in formulas if words or not _TEXT_IN_FORMULA.search(formula)
        ),
        "code": Counter(text[region.start : region.end] for region in found if region.kind == "code"),
        "unit": Counter("".join(unit.split()) for unit in units),
    }


def require_survival(before: str, after: str, *, translated: bool = False, shorter: bool = False) -> None:
    """Raise `Rejected` unless numbers, tuples, formulas, code and units are those that there were.

    Args:
        before, after: the text before it was rewritten, and after.
        translated: into another language, in which 3.5 may be 3,5.
        shorter: fewer of them are allowed, none that are new.
    """
    if translated and _DECIMAL_COMMA.search(plain_digits(after)) and not _DECIMAL_COMMA.search(before):
        after = _DECIMAL_COMMA.sub(".", plain_digits(after))
    old, new = (inventory(text, words=not translated) for text in (before, after))
    for kind, had in old.items():
        if added := new[kind] - had:
            raise Rejected(f"a {kind} is new", next(iter(added))[:80])
        if not shorter and (lost := had - new[kind]):
            raise Rejected(f"a {kind} is lost", next(iter(lost))[:80])
