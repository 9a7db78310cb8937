"""Find the numbers of a text and evaluate small sums, exactly and within bounds.

No `eval`: a recursive-descent parser over a few token kinds, with limits on digits, powers and nesting.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

_MAX_DIGITS = 400
_MAX_BITS = 20_000  # of a power's result
_MAX_DEPTH = 20  # of parentheses and powers


@dataclass(frozen=True)
class Number:
    """A number as it was written.

    Args:
        value: exact value, None where there is none; a percentage keeps its number (45% is 45).
        percent: a percent sign was written.
        places: digits after the decimal point, of the most precise literal in it.
        reason: why there is no value; "" where there is one.
    """

    value: Fraction | None = None
    percent: bool = False
    places: int = 0
    reason: str = ""


@dataclass(frozen=True)
class Token:
    """A piece of a text, from `start` to `end`."""

    kind: str  # N number, W word, X a command or sign that no plain number has, O anything else
    text: str
    start: int
    end: int


@dataclass(frozen=True)
class Item:
    """A number in the text and the span of its tokens; without a value where it is no number by itself."""

    number: Number
    start: int
    end: int


_TOKEN = re.compile(
    r"(?P<N>(?:\d{1,3}(?:,\d{3})+(?!\d)(?:\.\d+)?|\d{1,3}(?:\.\d{3}){2,}(?![\d.])|\d*\.\d+|\d+)"
    r"(?:[eE][-+]?\d+(?!\w))?)"
    r"|(?P<X>\\[A-Za-z]+|[√∞±∑∫])|(?P<W>[^\W\d_][\w'’]*)|(?P<O>\*\*|\S)"
)
_NONE = Token("", "", -1, -1)
_VOWEL = re.compile("[aeiouAEIOU]")
_SCALES = {"hundred": 2, "thousand": 3, "million": 6, "billion": 9, "trillion": 12}
_IN_WORD = "part of a name or unit"
_IN_EXPRESSION = "part of an expression"


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_UNIT_LETTERS = frozenset("mgsLlhKNJWVCFA")
_SHORT_WORDS = _words(
    "cm mm km nm um pm kg mg lb lbs oz ml mL cL dL kL ft in yd mi hr hrs min sec ms Hz kHz MHz GHz eV keV "
    "MeV GeV mol Pa kPa MPa atm dB kW MW kJ mph kph cal deg rad day st nd rd th usd USD EUR GBP am pm cc "
    "sq cu is of the and per a an to we so for as at on by it he she all out be"
)
FUNCTIONS = _words("sin cos tan cot sec csc arcsin arccos arctan log ln lg exp sqrt cbrt pi tau phi theta")


def tokenize(text: str) -> list[Token]:
    """Tokens of a text, blanks left out."""
    return [Token(m.lastgroup or "", m[0], m.start(), m.end()) for m in _TOKEN.finditer(text)]


def is_prose(word: str) -> bool:
    """Whether a word in an expression is a unit or plain English rather than a product of variables."""
    if word in _SHORT_WORDS or word.lower() in _SHORT_WORDS:
        return True
    return word.lower() not in FUNCTIONS and (len(word) > 3 or (len(word) == 3 and bool(_VOWEL.search(word))))


class _Unreadable(ValueError):
    """No arithmetic at this place, or arithmetic that cannot be evaluated."""


class Reader:
    """Finds the numbers among tokens; evaluates sums, products, powers and parentheses of them.

    Args:
        tokens: tokens of the text.
        strict: the text is an expression, so that single letters are variables; else some are units ("5 m").
    """

    def __init__(self, tokens: list[Token], strict: bool):
        self._tokens = tokens
        self._strict = strict
        self._places = 0  # of the number that is being read
        self._percent = False

    def items(self) -> list[Item]:
        """All numbers, in order. Those that belong to a name or a unit ("CO2", "m^2") are left out."""
        found: list[Item] = []
        index = 0
        while index < len(self._tokens):
            if not self._operand(index) or (self._text(index) in ("+", "-") and not self._is_sign(index)):
                index += 1
                continue
            start, self._places, self._percent = index, 0, False
            try:
                value, index = self._sum(index, 0)
            except _Unreadable as fault:
                number, index = Number(reason=str(fault)), self._past_operand(start)
            else:
                number, index = self._in_context(start, index, value)
            if number.reason != _IN_WORD:
                found.append(Item(number, start, index))
        return found

    def _at(self, index: int) -> Token:
        return self._tokens[index] if 0 <= index < len(self._tokens) else _NONE

    def _text(self, index: int) -> str:
        return self._at(index).text

    def _tight(self, index: int) -> bool:
        return self._at(index - 1).end == self._at(index).start

    def _operand(self, index: int) -> bool:
        """Whether a number can start here: digits, a parenthesis, or signs in front of either."""
        while self._text(index) in ("+", "-"):
            index += 1
        return self._at(index).kind == "N" or self._text(index) == "("

    def _past_operand(self, index: int) -> int:
        while self._text(index) in ("(", "+", "-"):
            index += 1
        return index + 1

    def _is_sign(self, index: int) -> bool:
        """Whether the minus or plus here belongs to the number behind it, not to a word in front of it."""
        before = self._at(index - 1)
        if before.kind not in ("W", "X") and before.text != ")":
            return True
        apart = before.end < self._at(index).start and self._tight(index + 1)
        return before.kind == "W" and len(before.text) > 1 and apart

    # Grammar: sum = product (± product)*, product = power (*/ power)*, power = [±] atom [^ power].

    def _sum(self, index: int, depth: int) -> tuple[Fraction, int]:
        value, index = self._product(index, depth)
        while self._text(index) in ("+", "-") and self._operand(index + 1):
            operator = self._text(index)
            other, index = self._product(index + 1, depth)
            value = value + other if operator == "+" else value - other
        return value, index

    def _product(self, index: int, depth: int) -> tuple[Fraction, int]:
        value, index = self._power(index, depth)
        while self._text(index) in ("*", "/") and self._operand(index + 1):
            operator = self._text(index)
            other, index = self._power(index + 1, depth)
            if operator == "/" and not other:
                raise _Unreadable("a division by zero")
            value = value * other if operator == "*" else value / other
        return value, index

    def _power(self, index: int, depth: int) -> tuple[Fraction, int]:
        if depth > _MAX_DEPTH:
            raise _Unreadable("too deeply nested")
        if self._text(index) in ("+", "-"):
            value, end = self._power(index + 1, depth + 1)
            return (-value if self._text(index) == "-" else value), end
        value, index = self._atom(index, depth)
        if self._text(index) in ("^", "**") and self._operand(index + 1):
            exponent, index = self._power(index + 1, depth + 1)
            value = _bounded_power(value, exponent)
        return value, index

    def _atom(self, index: int, depth: int) -> tuple[Fraction, int]:
        if self._text(index) == "(":
            value, index = self._sum(index + 1, depth + 1)
            if self._text(index) != ")":
                raise _Unreadable("not a plain number")
        elif self._at(index).kind == "N":
            value = self._literal(self._text(index))
        else:
            raise _Unreadable("not a plain number")
        index += 1
        scale = _SCALES.get(self._text(index).lower())
        if scale:
            value, index = value * 10**scale, index + 1
        if self._text(index) == "%" or self._text(index).lower() == "percent":
            self._percent, index = True, index + 1
        return value, index

    def _literal(self, text: str) -> Fraction:
        digits, _, exponent = text.lower().partition("e")
        digits = digits.replace(",", "")
        if digits.count(".") > 1:  # 1.234.567
            digits = digits.replace(".", "")
        if len(digits) > _MAX_DIGITS or len(exponent) > 4:
            raise _Unreadable("too many digits")
        self._places = max(self._places, len(digits.partition(".")[2]) - int(exponent or 0))
        return Fraction(digits) * Fraction(10) ** int(exponent or 0)

    def _in_context(self, start: int, end: int, value: Fraction) -> tuple[Number, int]:
        """The number as its neighbours leave it: with a unit, or as part of something that is no number."""
        if self._at(end + 1).kind == "N":
            if self._text(end) == ":" and self._tight(end) == self._tight(end + 1):
                return Number(reason="a time or a ratio"), end + 2
            if self._text(end) == "–":
                return Number(reason="a range"), end + 2
        fault = self._fault_before(start) or self._fault_behind(end)
        if self._is_date(start, end):
            fault = "a date"
        return (Number(reason=fault) if fault else Number(value, self._percent, self._places)), end

    def _fault_before(self, start: int) -> str:
        before, text = self._at(start - 1), self._text(start - 1)
        if before.kind == "X" or text in ("^", "**", "*", "/", "<", ">", "_"):
            in_unit = (
                text in ("^", "/") and self._at(start - 2).kind == "W" and not self._is_variable(start - 2)
            )
            return _IN_WORD if in_unit else _IN_EXPRESSION
        if text in ("+", "-"):
            word = self._at(start - 2)
            if word.kind == "W" and len(word.text) > 1:
                return _IN_WORD if self._tight(start - 1) else ""  # "GPT-4" against "profit - 3"
            return _IN_EXPRESSION
        of_command = text in ("{", "[") and self._at(start - 2).kind == "X"  # \sqrt{2}
        return _IN_EXPRESSION if of_command or text.lower() in FUNCTIONS else ""

    def _fault_behind(self, end: int) -> str:
        token = self._at(end)
        symbolic = (
            token.kind == "X"
            or token.text in ("_", "^", "**", "*")
            or (token.text == "(" and self._tight(end))
            or (token.text in (("+", "-", "/") if self._strict else ("+", "-")) and self._is_symbol(end + 1))
            or token.text.lower() in FUNCTIONS
            or (token.kind == "W" and self._is_variable(end, glued=self._tight(end)))
            or (token.text == "!" and self._strict)
        )
        return _IN_EXPRESSION if symbolic else ""

    def _is_symbol(self, index: int) -> bool:
        return self._at(index).kind == "X" or (self._at(index).kind == "W" and self._is_variable(index))

    def _is_variable(self, index: int, glued: bool = True) -> bool:
        """Whether a word beside a number is a variable rather than a unit."""
        word = self._text(index)
        if len(word) > 1:
            return self._strict and (len(word) <= 3 or not glued) and not is_prose(word)
        article = word == "a" and not glued
        return not article and (self._strict or word not in _UNIT_LETTERS)

    def _is_date(self, start: int, end: int) -> bool:
        texts = [token.text for token in self._tokens[start:end]]
        if len(texts) != 5 or texts[1] != texts[3] or texts[1] not in ("-", "/") or "." in "".join(texts):
            return False
        tight = all(self._tight(index) for index in range(start + 1, end))
        return tight and (texts[1] == "/" or 4 in (len(texts[0]), len(texts[4])))


def _bounded_power(base: Fraction, exponent: Fraction) -> Fraction:
    if exponent.denominator != 1:
        raise _Unreadable("a root")
    if base == 0 and exponent < 0:
        raise _Unreadable("a division by zero")
    bits = max(base.numerator.bit_length(), base.denominator.bit_length())
    if abs(exponent) * bits > _MAX_BITS:
        raise _Unreadable("too large a power")
    return base ** int(exponent)
