r"""The published answer grader of MathIF, as far as it can be had without running what a model wrote.

The published one (PRIME's, after PRM800K and ToRA) looks for markers all over the judged text, compares by
two normal forms and tolerant floats, and hands what is left to `eval` and sympy's `parse_expr`. Its oddities
are kept, because a published figure contains them: 5.04 is 504 (a factor of 100 is forgiven), 907.05 is 907
(1e-4 is), 101_2 is 101_3 (bases are dropped), "Fri" is "Friday" (units go, wherever they stand), sets
have an order, and "the answer is" in prose behind a box costs the answer.

It deviates where the original runs text or depends on the machine:

- Sums in Python notation are read by riftk's own arithmetic; other expressions of at most two letters are
  compared by the grading workers, with positive symbols. Other Python is no number here ("42 or 43" is 42
  there), nor are factorials, `Point(…)` and `Interval(…)`.
- LaTeX is compared as a string or a number, as in the original without its optional parser (antlr 4.9.3).
- Its second of time per step, after which an answer is wrong on a busy machine, is a deadline of several.
- LaTeX is turned to plain text for the commands that answers have, not for all that pylatexenc knows.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from fractions import Fraction

from riftk.grading.expressions import undecided
from riftk.grading.numbers import parse_number

_MAX_CHARS = 1000  # of an answer; longer ones are compared as strings
_TOLERANCE = 1e-4
_MAX_DEPTH = 8

_BEFORE = ("answer:", "answer is", "answers are")  # the answer follows the last of these
_BEHIND = ("is answer", "is the answer", "are answers", "are the answers")
_LINKS = ("be ", "is ", "are ", "=", ": ", "get ", "be\n", "is\n", "are\n", ":\n", "get\n")


def mathif_extract(response: str) -> str:
    """What the published grader takes for the answer of a judged text; all of it where nothing marks one."""
    for marker in _BEFORE:
        response = _after(response, marker)
    for marker in _BEHIND:
        index = response.lower().rfind(marker)
        response = response if index < 0 else response[:index].strip()
    response = _last_box(response) or response
    head, dot, _ = response.rpartition(". ")
    response = head.strip() if dot else response
    for marker in _LINKS:
        response = _after(response, marker)
    return response


def _after(text: str, marker: str) -> str:
    index = text.lower().rfind(marker)
    return text if index < 0 else text[index + len(marker) :].strip()


def _last_box(text: str) -> str | None:
    start = text.rfind("\\boxed")
    start = text.rfind("\\fbox") if start < 0 else start
    opening = text.find("{", start) if start >= 0 else -1
    if opening < 0:
        return None
    depth = 0
    for brace in re.finditer(r"[{}]", text[start:]):
        depth += 1 if brace[0] == "{" else -1
        if depth == 0:
            return text[opening + 1 : start + brace.start()].strip()
    return None


def mathif_equal(gold: str, candidate: str, symbolic: Callable[[str, str], bool] = undecided) -> bool:
    """Whether the published grader takes a candidate for the gold answer.

    Args:
        symbolic: compares two expressions in LaTeX or calculator notation.

    Raises:
        Undecided: by default, where only a symbolic engine can tell.
    """
    if max(len(gold), len(candidate)) > _MAX_CHARS:
        return gold.strip() == candidate.strip()
    if _string_form(gold) == _string_form(candidate):
        return True
    if _same_elements(_plain_form(gold), _plain_form(candidate), symbolic):
        return True
    has_pi = "\\pi" in gold or "\\pi" in candidate
    try:
        return any(
            _loosely_equal(gold, candidate, pi, symbolic)
            for pi in ((math.pi, 3.14) if has_pi else (math.pi,))
        )
    except _NoBase:
        return False


# --- first comparison: two normal forms, elements exactly ---------------------------------------------------

_STRING_FORM = (
    (re.compile(r"\n|\\!"), ""),
    (re.compile(r"\\\\"), r"\\"),
    (re.compile(r"\\[td]frac"), r"\\frac"),
    (re.compile(r"\\left|\\right|\^\{\\circ\}|\^\\circ|\\\$"), ""),
)  # fmt: skip
_NUMBER_FORM = (
    (re.compile(r"\\%"), ""),
    (re.compile(r"(?<= )\."), "0."),
    (re.compile(r"(?<=\{)\."), "0."),
    (re.compile(r"^\."), "0."),
    (re.compile(r"^[^=]{0,2}=(?=[^=]*$)"), ""),
    (re.compile(r"\\sqrt([^{])"), r"\\sqrt{\1}"),
    (re.compile(r" "), ""),
    (re.compile(r"\\frac([^{])([^{])"), r"\\frac{\1}{\2}"),
    (re.compile(r"\\frac([^{])\{"), r"\\frac{\1}{"),
    (re.compile(r"^0\.5$"), r"\\frac{1}{2}"),
    (re.compile(r"^(-?[1-9]\d*|0)/(-?[1-9]\d*)$"), r"\\frac{\1}{\2}"),
)
_IN_TEXT = re.compile(r"^\\text\{(.+?)\}$")


def _string_form(text: str) -> str:
    text = text.strip()
    wrapped = _IN_TEXT.search(text)
    text = wrapped[1].strip() if wrapped else text
    for pattern, form in _STRING_FORM:
        text = pattern.sub(form, text)
    if text.count("\\text{ ") == 1:  # a unit
        text = text.partition("\\text{ ")[0]
    for pattern, form in _NUMBER_FORM:
        text = pattern.sub(form, text)
    return text


_UNITS = re.compile(
    r"(?:degree|cm|centimeter|meter|mile|second|minute|hour|day|week|month|year|foot|feet|inch|yard|liter)"
    r"(?:es)?s? *(?:\^[0-9]+)?"
)
_PLAIN_FORM = (
    (re.compile(r"\\?[$%]"), ""),
    (re.compile(r" (?:or|and) "), " , "),
    (re.compile(r"million"), "*10^6"),
    (re.compile(r"billion"), "*10^9"),
    (re.compile(r"trillion"), "*10^12"),
    (_UNITS, ""),
    (re.compile(r"\^ *\\circ"), ""),
    (re.compile(r"^\{(.*)\}$", re.DOTALL), r"\1"),
    (re.compile(r",\\! *"), ""),
)
_COMMAS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_FRACTION = re.compile(r"-?[0-9]+.?/0*[1-9][0-9]*.?")


def _plain_form(text: str) -> str:
    wrapped = _IN_TEXT.search(text)
    text = wrapped[1] if wrapped else text
    for pattern, form in _PLAIN_FORM:
        text = pattern.sub(form, text)
    text = _as_whole(text) or text
    if "\\" in text:
        text = _without_latex(text)
    text = re.sub(r"- *", "-", text)
    text = re.sub(r"([0-9]) +([0-9])", r"\1+\2", text).lower()  # 7 3/4
    return _as_whole(_COMMAS.sub("", text)) or text


def _as_whole(text: str) -> str | None:
    """The whole number that a text is as a float, None where it is none."""
    value = _float(text)
    if value is None or not math.isfinite(value) or abs(value - round(value)) > 1e-7:
        return None
    return str(round(value))


def _float(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _same_elements(gold: str, candidate: str, symbolic: Callable[[str, str], bool]) -> bool:
    if gold == candidate:
        return True
    elements, given = _tuple(gold), _tuple(candidate)
    if not candidate or len(elements) != len(given):
        return False
    if len(elements) > 1 and (gold[0], gold[-1]) != (candidate[0], candidate[-1]):
        return False
    return all(_same_element(a, b, symbolic) for a, b in zip(elements, given, strict=True))


def _tuple(text: str) -> list[str]:
    text = _COMMAS.sub("", text)
    if len(text) > 2 and text[0] in "()[]" and text[-1] in "()[]" and not set("()[]") & set(text[1:-1]):
        return [element.strip() for element in text[1:-1].split(",")]
    return [text] if text else []


def _same_element(gold: str, candidate: str, symbolic: Callable[[str, str], bool]) -> bool:
    """Fractions must be reduced alike and whole numbers written as such; the rest may differ in form."""
    if _FRACTION.fullmatch(gold) and _FRACTION.fullmatch(candidate):
        return gold == candidate
    if (_as_whole(gold) is None) != (_as_whole(candidate) is None):
        return False
    both = f"({gold})-({candidate})"
    letters = {character for character in both.replace("sqrt", "").replace("frac", "") if character.isalpha()}
    if len(letters) > 2 or re.search(r"\^[{(]|\^[0-9]+\^|\^[0-9][0-9]", both):
        return False
    values = _arithmetic(gold), _arithmetic(candidate)
    if None not in values:
        return values[0] == values[1]
    if not all(_CHARACTERS.fullmatch(text) and not _UNREADABLE.search(text) for text in (gold, candidate)):
        return False
    return symbolic(_with_products(gold), _with_products(candidate))


_CHARACTERS = re.compile(r"[\w.+*/^() \-]+")
# What `parse_expr` stumbles over (dangling signs, words that run on into a digit, dots by themselves or
# behind decimals) or reads as something else: x^2. is not x^2.
_UNREADABLE = re.compile(r"^[*/^]|[*/^+\-]$|[a-z]{2}\d|(?<!\d)\.(?!\d)|(?:[.^]|e[-+]?)\d*\.")
_CLOSING_DOT = re.compile(r"(?<=\d)\.(?!\d)")
_UNSIGNED_PRODUCT = re.compile(r"(?<=[\d)]) *(?=[a-z(])|(?<=(?<![a-z])[a-z])(?=\()")
_NUMBER = r"[-+ (]*+(?:\d++(?:\.\d*+)?|\.\d++)(?:e[-+]?\d{1,4}+)?[ )]*+"
_SUM = re.compile(rf"{_NUMBER}(?:(?:\*\*?|[-+/^]){_NUMBER})*+")


def _with_products(text: str) -> str:
    """The text with a sign for each product, so that 3/4sqrt(3) is no fraction with a root below."""
    return _UNSIGNED_PRODUCT.sub("*", _CLOSING_DOT.sub("", text))


def _arithmetic(text: str) -> Fraction | None:
    return parse_number(text, strict=True).value if _SUM.fullmatch(text) else None


# --- LaTeX as plain text ------------------------------------------------------------------------------------

_SIGNS = {
    "pi": "pi", "infty": "inf", "cup": "U", "cap": "∩", "cdot": "*", "times": "*", "pm": "±", "mp": "∓",
    "le": "≤", "leq": "≤", "leqslant": "⩽", "ge": "≥", "geq": "≥", "geqslant": "⩾", "ne": "≠", "neq": "≠",
    "in": "∈", "circ": "∘", "approx": "≈", "alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ",
    "epsilon": "ϵ", "theta": "θ", "lambda": "λ", "mu": "μ", "nu": "ν", "rho": "ρ", "sigma": "σ", "tau": "τ",
    "phi": "ϕ", "omega": "ω", "Delta": "Δ", "Omega": "Ω", "sin": "sin", "cos": "cos", "tan": "tan",
    "log": "log", "ln": "ln", "exp": "exp", "arcsin": "arcsin", "arccos": "arccos", "arctan": "arctan",
    "ldots": "…", "dots": "…", "lfloor": "⌊", "rfloor": "⌋", "lceil": "⌈", "rceil": "⌉",
}  # fmt: skip
_COMMANDS = (
    (re.compile(r"\\begin\{[a-zA-Z]*matrix\}\s*"), "[ "),
    (re.compile(r"\s*\\end\{[a-zA-Z]*matrix\}"), " ]"),
    (re.compile(r"\s*\\\\\s*"), "; "),
    (re.compile(r"\s*&\s*"), " & "),
    (re.compile(r"\\!"), ""),
    (re.compile(r"\\[,;: ]|~"), " "),
    (re.compile(r"\\([{}])"), lambda match: {"{": "❴", "}": "❵"}[match[1]]),
    (re.compile(r"\\(?:left|right|displaystyle)(?![A-Za-z])"), ""),
    (re.compile(r"\\[td]?frac\s*"), r" \\frac"),  # apart from the whole part of a mixed number
    (re.compile(r"\\frac([^{\\])"), r"\\frac{\1}"),
    (re.compile(r"(\\frac\{[^{}]*\})\s*([^{\\\s])"), r"\1{\2}"),
    (re.compile(r"\\sqrt\s*([^{\[\\])"), r"\\sqrt{\1}"),
)
_INNERMOST = (
    (re.compile(r"\\sqrt\s*(?:\[[^\[\]]*\])?\s*\{([^{}]*)\}"), r"sqrt(\1)"),
    (re.compile(r"\\frac\s*\{([^{}]*)\}\s*\{([^{}]*)\}"), r"\1/\2"),
    (re.compile(r"(?<=[\^_])\{([^{}]*)\}"), r"\1"),
    (re.compile(r"\\(?:text|math)[a-z]*\s*\{([^{}]*)\}"), r"\1"),
)
_COMMAND = re.compile(r"\\([A-Za-z]+)\s*")


def _without_latex(text: str) -> str:
    for pattern, form in _COMMANDS:
        text = pattern.sub(form, text)
    for _ in range(_MAX_DEPTH):
        before = text
        for pattern, form in _INNERMOST:
            text = pattern.sub(form, text)
        if text == before:
            break
    text = _COMMAND.sub(lambda match: _SIGNS.get(match[1], ""), text)
    return text.translate(str.maketrans({"{": "", "}": "", "❴": "{", "❵": "}"})).strip()


# --- second comparison: tolerant floats, lists in order -----------------------------------------------------


class _NoBase(ValueError):
    """An underscore behind something that is no number; the published grader stumbles, and says "wrong"."""


def _loosely_equal(
    gold: str, candidate: str, pi: float, symbolic: Callable[[str, str], bool], depth: int = 0
) -> bool:
    reference, prediction = _loose_form(gold, pi), _loose_form(candidate, pi)
    if prediction.strip().lower() == reference.strip().lower():
        return True
    if prediction.replace(" ", "") == reference.replace(" ", ""):
        return True
    expected, given = _loose_float(reference), _loose_float(prediction)
    if expected is not None and given is not None:
        return any(math.isclose(expected * by, given, rel_tol=_TOLERANCE) for by in (0.01, 1, 100))
    reference, prediction = reference.strip(), prediction.strip()
    if not prediction or depth > _MAX_DEPTH:
        return False
    if _same_without_brackets(reference, prediction):
        return True

    def all_equal(references: str, predictions: str) -> bool | None:
        pairs = references.split(","), predictions.split(",")
        if len(pairs[0]) != len(pairs[1]):
            return None
        return all(
            _loosely_equal(a.strip(), b.strip(), math.pi, symbolic, depth + 1)
            for a, b in zip(*pairs, strict=True)
        )

    ends = prediction[0] + prediction[-1]
    enclosed = ends[0] in "([" and ends[1] in ")]" and reference[:1] + reference[-1:] == ends
    if enclosed and all_equal(reference[1:-1], prediction[1:-1]):
        return True
    verdict = all_equal(reference, prediction) if "," in prediction and "," in reference else None
    return _same_sums(reference, prediction, symbolic) if verdict is None else verdict


_DOLLARS = re.compile(r"\$\d")
_PERCENT = re.compile(r"(\d+(?:\.\d+)?)\\?%")


def _loose_form(text: str, pi: float) -> str:
    """The text without a dollar or percent sign, or the base of a numeral, or with pi as a number."""
    if _DOLLARS.match(text):
        return text[1:]
    if percent := _PERCENT.fullmatch(text):
        return percent[1]
    if "_" in text:
        value = _float(text.partition("_")[0])
        if value is None or not math.isfinite(value):
            raise _NoBase
        text = str(int(value))
    if "\\pi" in text:
        text = re.sub(r"(?<=\d)\\pi", f"*{pi}", text).replace("\\pi", f"1*{pi}")
        value = _python_sum(text)
        text = text if value is None else str(float(value))
    return text


def _loose_float(text: str) -> float | None:
    return _float(text.replace("{,}", "") if "{,}" in text else text.replace(",", ""))


def _same_without_brackets(reference: str, prediction: str) -> bool:
    ends = prediction[0] + prediction[-1]
    if (ends == "[]" and reference[:1] != "(") or (ends == "()" and reference[:1] != "["):
        reference, prediction = reference.strip("[]()"), prediction.strip("[]()")
    brackets = str.maketrans("", "", "{}()")
    return reference.translate(brackets) == prediction.translate(brackets)


_PYTHON_TERM = re.compile(r"(?:(?<![\w.)])[a-zA-Z](?![\w(])|[\d.+*/() \-])+")


def _python_sum(text: str) -> Fraction | None:
    return None if "^" in text else _arithmetic(text)  # "exclusive or" in Python


def _same_sums(reference: str, prediction: str, symbolic: Callable[[str, str], bool]) -> bool:
    values = _python_sum(reference), _python_sum(prediction)
    if None not in values:
        return math.isclose(*values, rel_tol=_TOLERANCE)
    terms = _PYTHON_TERM.fullmatch(reference), _PYTHON_TERM.fullmatch(prediction)
    return all(terms) and symbolic(reference, prediction)
