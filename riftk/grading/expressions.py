"""Compare two mathematical answers: words, numbers, lists, sets, tuples, intervals, and single expressions.

Structure is compared here, element by element, with the right number of elements and kind of brackets; only
single expressions that are no plain numbers go to a symbolic engine, which the caller hands in. So no set is
accepted for its overlap, no anagram for a word and no interval for its twin with other ends (Math-Verify#14,
Math-Verify#47).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from riftk.grading.choices import choice
from riftk.grading.notation import fold_layout, strip_markdown, unwrap_text
from riftk.grading.numbers import parse_number, same_number
from riftk.grading.words import number_in_words

MAX_CHARS = 1000
_MAX_ELEMENTS = 24
_MAX_DEPTH = 4

_BLANKS = re.compile(r"\s+")
_MARKS = (
    (re.compile(r"\\(?:\{|lbrace(?![a-zA-Z]))"), "❴"),  # braces of sets, told from braces of LaTeX groups
    (re.compile(r"\\(?:\}|rbrace(?![a-zA-Z]))"), "❵"),
    (re.compile(r"\\(?:leqslant|leq|le)(?![a-zA-Z])|≤"), "<="),
    (re.compile(r"\\(?:geqslant|geq|ge)(?![a-zA-Z])|≥"), ">="),
    (re.compile(r"\\lt(?![a-zA-Z])"), "<"),
    (re.compile(r"\\gt(?![a-zA-Z])"), ">"),
    (re.compile(r"\\(?:infin|infinity)(?![a-zA-Z])|∞"), r"\\infty"),
    (re.compile(r"\\varnothing(?![a-zA-Z])|∅"), r"\\emptyset"),
    (re.compile(r"π"), r"\\pi "),
    (re.compile(r"√\s*(\d+)"), r"\\sqrt{\1}"),
    (re.compile(r"\\mathb[bf]\s*\{?R\}?"), r"(-\\infty,\\infty)"),
    (re.compile(r"\\(sin|cos|tan|cot|sec|csc)\s*\(?(\d+(?:\.\d+)?)\s*\\degree ?\)?"), r"\\\1(\2\\pi/180)"),
    (re.compile(r"\\degree ?"), ""),
    (re.compile(r"∪"), r"\\cup "),
    (re.compile(r"±|\+/-"), r"\\pm "),
)
_UNIT = re.compile(
    r"(?<=[\w)}\s])\s*(?:\\(?:text|mathrm|mbox)\s*\{[^{}\d]*\}(?:\s*\^\s*\{?\d\}?)?"
    r"|(?<=[\s)}])\s*[a-z]{4,}(?: [a-z]+)*)\s*$"
)
_LETTER = re.compile(r"\(?([A-Z])\)?\.?")
_WORDS = re.compile(r"[^\W\d_]+(?:[ '’,\-]+[^\W\d_]+)*")
_ARTICLE = re.compile(r"\b(?:an?|the)\s+", re.IGNORECASE)
_PROSE = re.compile(r"(?<![\\a-zA-Z])(?!arc|sinh|cosh|tanh|sqrt)[a-zA-Z]{4,}")
_ENVIRONMENT = re.compile(r"\\(?:begin|end)\{\w+\}")
_BASED = re.compile(r"([0-9A-Fa-f]+)_\{?\(?(\d{1,2}|[a-z]+)\)?\}?")
_ASSIGNED = re.compile(
    r"(\\?[A-Za-z]+'?(?:_\{?\w+\}?)?(?:\([A-Za-z](?:,[A-Za-z])*\))?|\([A-Za-z](?:,[A-Za-z])+\))=([^=<>]+)"
)
_OR = re.compile(r"(?<![a-zA-Z\\])or(?![a-zA-Z])|\\(?:lor|vee)(?![a-zA-Z])")
_BUILT = re.compile(  # {x | x > 3}
    r"^❴ *[A-Za-z](?![A-Za-z])[^|:]*?(?:\\mid(?![a-zA-Z])|\||:)([^❴❵<>]*[<>][^❴❵]*)❵$"
)
_MEMBER = re.compile(r"\s*\\?[A-Za-z]+(?:_\{?\w+\}?)?\s*\\in(?![a-zA-Z])")
_RELATION = re.compile(r"[<>]=?")
_ABSOLUTE = re.compile(r"^\|\s*([A-Za-z])\s*\|\s*(<=?)([^|<>=]+)$")  # |x| < 3
_VARIABLE = re.compile(r"[A-Za-z]|\\(?!infty|pi)[a-z]+")
_OPENING, _CLOSING = "([{❴", ")]}❵"


class Undecided(Exception):
    """Two answers can only be compared symbolically."""


@dataclass(frozen=True)
class _Level:
    symbolic: Callable[[str, str], bool]
    depth: int = 0  # of lists in lists

    def deeper(self) -> _Level:
        return replace(self, depth=self.depth + 1)


def undecided(gold: str, candidate: str) -> bool:
    """The engine of those who have none.

    Raises:
        Undecided: always.
    """
    raise Undecided


def same_answer(gold: str, candidate: str, symbolic: Callable[[str, str], bool] = undecided) -> bool:
    """Whether a candidate is the gold answer, in any of the usual notations.

    Bounded in time for any text: what is longer than `MAX_CHARS` must be equal as a string, lists have 24
    elements at most, and lists in lists go four deep.

    Args:
        symbolic: compares two single expressions that are no plain numbers.

    Raises:
        Undecided: by default, where strings, words and numbers do not decide.
    """
    if len(candidate) > MAX_CHARS or len(gold) > MAX_CHARS:
        return gold.strip() == candidate.strip()
    return _same(_canonical(gold), _canonical(candidate), _Level(symbolic))


def _canonical(text: str) -> str:
    """One spelling of signs, and no math delimiters, layout, markdown or closing full stop."""
    text = fold_layout(strip_markdown(text))
    for pattern, mark in _MARKS:
        text = pattern.sub(mark, text)
    text = _BLANKS.sub(" ", text.replace("$", " ")).strip().rstrip(".,;:")
    return text.removeprefix("\\(").removesuffix("\\)").removeprefix("\\[").removesuffix("\\]").strip()


def _same(gold: str, candidate: str, level: _Level) -> bool:
    if _tight(gold) == _tight(candidate):
        return True
    if level.depth > _MAX_DEPTH or not candidate:
        return False
    for compare in (_same_words, _same_based, _same_relation, _same_elements):
        verdict = compare(gold, candidate, level)
        if verdict is not None:
            return verdict
    return _same_value(gold, candidate, level)


def _tight(text: str) -> str:
    text = _BLANKS.sub("", unwrap_text(text))
    return re.sub(r"([_^])\{(\w)\}", r"\1\2", text).rstrip(".")


def _same_words(gold: str, candidate: str, level: _Level) -> bool | None:
    """Answers in words ("an ellipse", "\\text{Evelyn}") and letters ("\\text{(C)}"); None for other golds."""
    plain, given = unwrap_text(gold).strip(), unwrap_text(candidate).strip()
    letter = _LETTER.fullmatch(plain)
    if letter and plain != gold.strip("() "):
        return choice(given, "ABCDEFGHIJ") == letter[1]
    if letter and (alone := _LETTER.fullmatch(given.upper())):
        return alone[1] == letter[1]
    if not _WORDS.fullmatch(plain) or (plain == gold and not re.search(r"[^\W\d_]{4}", plain)):
        return None
    return _bare_words(plain) == _bare_words(given)


def _bare_words(text: str) -> str:
    return " ".join(re.findall(r"[^\W_]+", _ARTICLE.sub("", text).lower()))


def _same_based(gold: str, candidate: str, level: _Level) -> bool | None:
    """Numerals with a base ("4210_5"); the base may be left out, but not be another one."""
    pair = [_BASED.fullmatch(_tight(text)) for text in (gold, candidate)]
    if not any(pair):
        return None
    digits = [
        match[1] if match else _tight(text) for match, text in zip(pair, (gold, candidate), strict=True)
    ]
    bases = {str(number_in_words([match[2]]) or match[2]) for match in pair if match}
    return digits[0].lower() == digits[1].lower() and len(bases) == 1


def _same_relation(gold: str, candidate: str, level: _Level) -> bool | None:
    """Equations, memberships and inequalities: what they say of a name, which both sides may leave out."""
    expected, given = (_MEMBER.sub("", _BUILT.sub(r"\1", text), count=1) for text in (gold, candidate))
    if (expected, given) != (gold, candidate):
        return _same(expected.strip(), given.strip(), level.deeper())
    if _RELATION.search(gold) or _RELATION.search(candidate):
        return _same_inequality(gold, candidate, level)
    sides = [_ASSIGNED.fullmatch(_BLANKS.sub("", text)) for text in (gold, candidate)]
    if all(sides) and sides[0][1] != sides[1][1]:
        return False
    if not all(sides) and _is_equation(gold) and _is_equation(candidate):
        return level.symbolic(gold, candidate)
    if any(sides):
        gold_value, value = (
            side[2] if side else text for side, text in zip(sides, (gold, candidate), strict=True)
        )
        return _same(gold_value, value, level.deeper())
    if "=" in gold and "," not in gold and "=" not in candidate:
        return False
    return None


def _is_equation(text: str) -> bool:
    """Whether a text is one equation that says something of a variable on its left: "y - 2 = 3x"."""
    left, *right = text.split("=")
    return len(right) == 1 and "," not in text and bool(re.search(r"[A-Za-z]", re.sub(r"\\[a-z]+", "", left)))


def _same_inequality(gold: str, candidate: str, level: _Level) -> bool | None:
    pairs = [_as_union(text) for text in (gold, candidate)]
    names = {name for _, name in pairs if name}
    if len(names) > 1:
        return False
    if all(text for text, _ in pairs):
        return _same(pairs[0][0], pairs[1][0], level.deeper())
    return None if all(_RELATION.search(text) for text in (gold, candidate)) else False


def _as_union(text: str) -> tuple[str | None, str]:
    """A union, or inequalities joined by "or" as one, and their variable; None for anything else."""
    if not _RELATION.search(text) and "\\cup" in text:
        return text, ""
    intervals = [_as_interval(part) for part in _OR.split(unwrap_text(text))]
    names = {name for _, name in intervals}
    if len(names) > 1 or not all(interval for interval, _ in intervals):
        return None, ""
    return " \\cup ".join(interval for interval, _ in intervals), names.pop()


def _as_interval(text: str) -> tuple[str | None, str]:
    """An inequality in one variable as an interval, and the variable; an interval as it is; else None."""
    text = _ABSOLUTE.sub(r"-(\3)\2\1\2\3", text.strip())
    parts, signs = [part.strip() for part in _RELATION.split(text)], _RELATION.findall(text)
    if not signs:
        outer = _outer(text)
        return (text, "") if outer and outer[0] in "([" and len(_split(outer[1])) == 2 else (None, "")
    if len({sign[0] for sign in signs}) > 1 or len(signs) > 2:
        return None, ""
    if signs[0][0] == ">":
        parts, signs = parts[::-1], signs[::-1]
    if len(signs) == 1:  # x < a or a < x
        upward = bool(_VARIABLE.fullmatch(parts[1])) and not _VARIABLE.fullmatch(parts[0])
        parts = [parts[0], parts[1], "\\infty"] if upward else ["-\\infty", *parts]
        signs = [signs[0], "<"] if upward else ["<", signs[0]]
    if not _VARIABLE.fullmatch(parts[1]):
        return None, ""
    opening, closing = ("[" if "=" in signs[0] else "("), ("]" if "=" in signs[1] else ")")
    return f"{opening}{parts[0]},{parts[2]}{closing}", parts[1]


def _same_elements(gold: str, candidate: str, level: _Level) -> bool | None:
    """Unions, lists, sets, tuples and intervals; None for single expressions."""
    unions = [re.split(r"\\cup(?![a-zA-Z])", text) for text in (gold, candidate)]
    if max(map(len, unions)) > 1:
        return _same_set(*unions, level)
    if _number(gold) and _number(candidate):
        return None
    outers = [_outer(text) for text in (gold, candidate)]
    if any(outer and outer[0] == "(" for outer in outers):
        named = [_named_tuple(text) for text in (gold, candidate)]
        outers = [outer or name for outer, name in zip(outers, named, strict=True)]
    ordered = [
        outer if outer and outer[0] in "([" and len(_split(outer[1])) > 1 else None for outer in outers
    ]
    if any(ordered):
        if not all(ordered) or ordered[0][0] + ordered[0][2] != ordered[1][0] + ordered[1][2]:
            return False
        elements, given = _split(ordered[0][1]), _split(ordered[1][1])
        pairs = zip(elements, given, strict=False)
        return len(elements) == len(given) and all(_same(a, b, level.deeper()) for a, b in pairs)
    lists = [
        _elements(outer[1] if outer and outer[0] != "[" else text)
        for outer, text in zip(outers, (gold, candidate), strict=True)
    ]
    if max(map(len, lists)) > 1:
        return _same_set(*lists, level)
    if any(outers):
        inner = [outer[1] if outer else text for outer, text in zip(outers, (gold, candidate), strict=True)]
        return _same(*inner, level.deeper())
    return None


def _named_tuple(text: str) -> tuple[str, str, str] | None:
    """ "y = 2, x = 1" as the tuple (1,2), in the order of the names; None for anything else."""
    values = dict(side.split("=") for side in _split(text) if re.fullmatch(r"[A-Za-z] *=[^=]*", side))
    if len(values) < 2 or len(values) < len(_split(text)):
        return None
    return "(", ",".join(values[name] for name in sorted(values)), ")"


def _number(text: str) -> bool:
    return parse_number(text, strict=True).value is not None


def _same_set(gold: Sequence[str], candidate: Sequence[str], level: _Level) -> bool:
    """Whether each element of one list has its own equal in the other, in any order."""
    if len(gold) != len(candidate) or len(gold) > _MAX_ELEMENTS:
        return False
    left, rest = list(candidate), []
    for element in gold:  # those that are written alike need no engine
        alike = next((other for other in left if _tight(element) == _tight(other)), None)
        if alike is None:
            rest.append(element)
        else:
            left.remove(alike)
    for element in rest:
        match = next((other for other in left if _same(element.strip(), other.strip(), level.deeper())), None)
        if match is None:
            return False
        left.remove(match)
    return True


def _elements(text: str) -> list[str]:
    """Elements of a list; one with a plus-minus sign stands for two."""
    elements = []
    for element in _split(text):
        if "\\pm" in element:
            upper, lower = element.replace("\\mp", "-"), element.replace("\\mp", "+")
            elements += [
                upper.replace("\\pm", "+").strip().removeprefix("+"),
                lower.replace("\\pm", "-").strip(),
            ]
        else:
            elements.append(element)
    return elements


def _split(text: str) -> list[str]:
    """Parts between commas, semicolons, "and" and "or" that lie outside of brackets."""
    text = re.sub(
        r"(?<![a-zA-Z\\])(?:and|or)(?![a-zA-Z])|\\(?:lor|land|vee|wedge)(?![a-zA-Z])", ",", unwrap_text(text)
    )
    parts, depth, start = [], 0, 0
    for index, character in enumerate(text):
        depth += (character in _OPENING) - (character in _CLOSING)
        if depth == 0 and character in ",;":
            parts.append(text[start:index])
            start = index + 1
    parts.append(text[start:])
    return [part.strip() for part in parts if part.strip()]


def _outer(text: str) -> tuple[str, str, str] | None:
    """Opening bracket, inside and closing bracket where one pair encloses all of the text."""
    text = text.strip()
    if len(text) < 2 or text[0] not in _OPENING or text[-1] not in _CLOSING:
        return None
    depth = 0
    for index, character in enumerate(text):
        depth += (character in _OPENING) - (character in _CLOSING)
        if depth == 0:
            return (text[0], text[1:-1], text[-1]) if index == len(text) - 1 else None
    return None


def _same_value(gold: str, candidate: str, level: _Level) -> bool:
    """Single expressions: plain numbers exactly, everything else symbolically."""
    expected, given = parse_number(gold, strict=True), parse_number(candidate, strict=True)
    if expected.value is not None and given.value is not None:
        return same_number(expected, given)
    gold, candidate = (unwrap_text(_UNIT.sub("", text)) for text in (gold, candidate))
    if "=" in candidate and "=" not in gold:
        candidate = candidate.rpartition("=")[2]
    if any(_PROSE.search(_ENVIRONMENT.sub("", text)) for text in (gold, candidate)):
        return False
    return level.symbolic(
        gold.replace("❴", "\\{").replace("❵", "\\}"), candidate.replace("❴", "\\{").replace("❵", "\\}")
    )
