"""Symbolic equality of two LaTeX expressions by math-verify, kept within bounds.

math-verify gets one extracted expression per side, as LaTeX, so none of its own extraction runs and no text
of a model reaches `parse_expr` or `eval`. Expressions that could keep sympy busy for ever are turned away
before: more than 300 characters or 40 brackets, sums, products, integrals and limits, numbers of 60 digits,
exponents of five digits, towers of powers (9^{9^9}), high powers of powers, factorials of four digits or of
expressions. What passes takes milliseconds as a rule. Only the workers of `riftk.grading.pool` import this
module, so the odd expression that takes longer has a deadline, and math-verify's own timers are off.
"""

from __future__ import annotations

import math
import re
from typing import Any

from math_verify import LatexExtractionConfig, parse, verify
from sympy import Abs, Expr, Float, I, Max, Min, Mod, Rational, ceiling, floor

_MAX_CHARS = 300
_MAX_BRACKETS = 40

_HARD = re.compile(
    r"\\(?:i*int|oint|sum|prod|lim|limsup|liminf|bigcup|bigcap)(?![a-zA-Z])"  # evaluated, some without end
    r"|\d{60}|!\s*!|[)}]\s*!|\d{4}\s*!"  # huge numbers and factorials
    r"|\^\s*[{(]?\s*-?\d{5}|[)}]\s*\^\s*[{(]?\s*-?\d{3}"  # huge powers
)
_POWER_OF_GROUP = re.compile(r"[)}]\s*\^\s*[{(]?\s*(\d+)")
_MAX_POWER = 2000  # of the powers of brackets within each other
_OPENING = re.compile(r"\s*[{(]")
_GROWING = re.compile(r"\^|\\[dt]?binom(?![a-zA-Z])|\\choose(?![a-zA-Z])")
_TAME_POWER = re.compile(
    r"\^\s*[{(]?\s*-?[1-4]\s*(?![\d^!])"
)  # inside an exponent: x^2, not x^{50} or 9^{9^9}
# Coordinates of points, in units of 1/1009.
_POINTS = (613, 1231, 457, 1693, 769, 1049, 331, 1877, 887, 1427, 523, 1151)
_STEPS = (floor, ceiling, Mod, Max, Min)
_E_NOTATION = re.compile(r"(?<![\w.])(\d+(?:\.\d+)?)[eE]([+-]?\d+)(?!\w)")
_RELATION = re.compile(r"([<>]=?|=)")
_INVERSE = re.compile(r"\\(sin|cos|tan)\s*\^\s*\{?\s*-1\s*\}?")
_PYTHON = re.compile(r"\b(?:np|numpy|math|sympy|sp)\.")
_FUNCTION = re.compile(
    r"(?<![\\a-zA-Z])(arc(?:sin|cos|tan)|sin|cos|tan|cot|sec|csc|sinh|cosh|tanh|log|ln|exp|pi)(?![a-zA-Z])"
)
_ROOT = re.compile(r"(?<![\\a-zA-Z])\\?sqrt\s*\(([^()]*)\)")


def equivalent(gold: str, candidate: str) -> bool:
    """Whether two expressions are symbolically equal. False where either cannot be read, or is out of bounds.

    Expressions are equal when their values are, to 25 digits and relatively (1/2004! is not 1/2006!,
    although their difference is tiny), at points where all symbols are positive: sqrt(4 r^2) is 2 r. With
    absolute values the symbols are negative as well, with floors and the like far from 0. Equations are equal
    when one is a multiple of the other, inequalities when the multiple is positive. Sets, matrices and chains
    of relations are left to math-verify's own comparison.

    Raises:
        Exception: sympy's errors on odd input, which are of every kind.
    """
    gold, candidate = _latex(gold), _latex(candidate)
    if _out_of_bounds(gold) or _out_of_bounds(candidate):
        return False
    relations = [_RELATION.split(text) for text in (gold, candidate)]
    related = all(len(parts) == 3 for parts in relations)
    if related:
        (sign, gold), (other, candidate) = (_zero_form(*parts) for parts in relations)
        if sign != other:
            return False
    expected, given = _parse(gold), _parse(candidate)
    if expected is None or given is None:
        return False
    if isinstance(expected, Expr) and isinstance(given, Expr):
        return _proportional(expected, given, sign) if related else _same_values(expected, given)
    return bool(verify(expected, given, timeout_seconds=None))


def _latex(text: str) -> str:
    text = _E_NOTATION.sub(r"\1 \\times 10^{\2}", text)
    text = _PYTHON.sub("", text).replace("**", "^")
    text = _ROOT.sub(r"\\sqrt{\1}", text)
    return _INVERSE.sub(r"\\arc\1", _FUNCTION.sub(r"\\\1", text))


def _out_of_bounds(text: str) -> bool:
    """Whether an expression could keep sympy busy: long, deeply nested, sums and limits, towers of powers."""
    if len(text) > _MAX_CHARS or len(re.findall(r"[({\[]", text)) > _MAX_BRACKETS or _HARD.search(text):
        return True
    if math.prod(int(power) for power in _POWER_OF_GROUP.findall(text)) > _MAX_POWER:
        return True
    for power in _GROWING.finditer(text):
        inside = _group(text, power.end())
        if re.search(r"\d{5}", inside):  # a binomial of large numbers
            return True
        for inner in _GROWING.finditer(inside):
            base = inside[: inner.start()].rstrip(" )}")[-1:]
            if base.isdigit() or not _TAME_POWER.match(inside, inner.start()):
                return True
    return False


def _group(text: str, start: int) -> str:
    """The one or two bracketed groups that begin at `start`; "" where there are none."""
    end = start
    for _ in range(2):
        match = _OPENING.match(text, end)
        if not match:
            break
        depth, end = 1, match.end()
        while depth and end < len(text):
            depth += (text[end] in "{(") - (text[end] in "})")
            end += 1
    return text[start:end]


def _parse(latex: str) -> Any | None:
    config = [LatexExtractionConfig(boxed_match_priority=0)]
    boxed = f"\\boxed{{{latex}}}"
    found = parse(boxed, config, fallback_mode="no_fallback", parsing_timeout=None)
    return found[0] if found else None


def _zero_form(left: str, sign: str, right: str) -> tuple[str, str]:
    """A relation as "=", "<" or "<=", and the difference that is in this relation to 0."""
    if sign[0] == ">":
        left, sign, right = right, sign.replace(">", "<"), left
    return sign, f"{left}-({right})"


def _proportional(a: Any, b: Any, sign: str) -> bool:
    """Whether two expressions in symbols are multiples of each other: so are two forms of one relation."""
    symbols = sorted(a.free_symbols | b.free_symbols, key=str)
    first, second, third = (_at_point((a, b), symbols, number, 1) for number in range(3))
    pairs = [(first[0] * other[1], other[0] * first[1]) for other in (second, third)]
    tolerance = Float(10) ** -12
    if sign != "=" and not first[0] * first[1] > 0:
        return False
    return bool(symbols) and all(
        x.is_finite and y.is_finite and x != 0 and abs(x - y) <= tolerance * abs(x) for x, y in pairs
    )


def _at_point(expressions: tuple[Any, ...], symbols: list[Any], number: int, factor: int) -> list[Any]:
    """Values of expressions at one of the points, to 40 digits."""
    point = {
        symbol: factor * Rational(_POINTS[(3 * index + number) % len(_POINTS)], 1009)
        for index, symbol in enumerate(symbols)
    }
    point.update({symbol: I for symbol in symbols if symbol.name == "i"})
    return [expression.subs(point).doit().evalf(40) for expression in expressions]


def _same_values(a: Any, b: Any) -> bool:
    """Whether two expressions have the same values at a few points, or are the same where they have none."""
    symbols = sorted(a.free_symbols | b.free_symbols, key=str)
    tolerance = 10**-12 if a.has(Float) or b.has(Float) else 10**-25
    for number, factor in enumerate(_factors(a, b) if symbols else [1]):
        left, right = _at_point((a, b), symbols, number, factor)
        if not (left.is_number and right.is_number and left.is_finite and right.is_finite):
            return bool(a == b)
        if not abs(left - right) <= tolerance * max(abs(left), abs(right)):
            return False
    return True


def _factors(a: Any, b: Any) -> list[int]:
    """What the points are multiplied by: below zero for absolute values, far out for functions with steps."""
    below = [-1] if a.has(Abs) or b.has(Abs) else []
    far = [17, 41] if a.has(*_STEPS) or b.has(*_STEPS) else []
    return [1, 1, *below, *far]
