"""Read the number that an answer names, exactly.

`parse_number` is the one number parser of riftk. It reads what models write (thousands separators, decimals,
fractions, mixed numbers, LaTeX, scientific notation, currency, percent, units, number words, small sums)
into a `Fraction`, and gives no value, with a reason, where the text names no number or several.

Source: the readings wanted of a robust IFFR extraction (the published one takes 200 for 1,200 and 4 for 3/4).
"""

from __future__ import annotations

from fractions import Fraction

from riftk.grading.arithmetic import FUNCTIONS, Item, Number, Reader, Token, is_prose, tokenize
from riftk.grading.notation import plain_number
from riftk.grading.words import number_in_words

MAX_CHARS = 2000  # an answer longer than this names no number

_REMARKS = frozenset(["because", "since", "where", "mod", "modulo"])
# After these a sentence goes on to another result.
_GOING_ON = frozenset([
    "so", "then", "thus", "hence", "therefore", "leaving", "leaves", "left", "which", "giving", "gives",
    "making", "makes", "is", "are", "was", "but", "and", "minus", "plus", "less", "=", ",", ";",
])  # fmt: skip
_BOUNDING = frozenset(["not", "than", "least", "most", "over", "under", "above", "below", "except"])
_LISTING = frozenset([",", ";", "&", "and", "or", "to"])


def parse_number(text: str, *, strict: bool = False) -> Number:
    """The number that an answer names.

    Equations give their right-hand side, remarks in parentheses and after "because" are passed over, and of
    the numbers in a sentence the last one counts. There is no value where numbers are listed ("5 or 7", "3 to
    5"), for clock times, ratios and dates, and where the last number is part of an algebraic expression
    ("2x").

    Args:
        text: the answer, or a sentence that ends in it.
        strict: read the text as an expression instead of a sentence: a second number, a variable or a
            function means that there is no plain number.
    """
    if len(text) > MAX_CHARS:
        return Number(reason="too long for a number")
    tokens = tokenize(plain_number(text))
    if not any(token.kind == "N" for token in tokens):
        value = number_in_words([token.text for token in tokens])
        return Number(reason="no number in it") if value is None else Number(value)
    tokens = _without_remarks(tokens, strict)
    items = Reader(tokens, strict).items()
    return _only(tokens, items) if strict else _last(tokens, items)


def same_number(a: Number, b: Number) -> bool:
    """Whether two numbers are equal: exactly, or within 1e-6 where one is a long decimal (six places or
    more).

    A percentage equals its number and its value: 49% is 49 and 0.49 (and 4900% is not 49%).
    """
    if a.value is None or b.value is None:
        return False
    places = max(a.places, b.places)
    if _close(a.value, b.value, places):
        return True
    if a.percent == b.percent:
        return False
    percent, other = (a.value, b.value) if a.percent else (b.value, a.value)
    return _close(percent / 100, other, places)


def _close(a: Fraction, b: Fraction, places: int) -> bool:
    return a == b or (places >= 6 and abs(a - b) <= Fraction(1, 10**6) * max(abs(a), abs(b)))


def written(number: Number) -> str:
    """A number as people write it: "62", "0.75" where the decimals end, else "1/3"."""
    value = number.value
    if value is None:
        return ""
    sign = "%" if number.percent else ""
    if max(value.numerator.bit_length(), value.denominator.bit_length()) > 4000:
        return "a very large number"
    places, rest = 0, value.denominator
    while rest % 2 == 0 or rest % 5 == 0:
        rest //= 10 if rest % 10 == 0 else 5 if rest % 5 == 0 else 2
        places += 1
    if rest != 1 or places > 30:
        return f"{value.numerator}/{value.denominator}{sign}"
    digits = str(abs(value.numerator) * 10**places // value.denominator).rjust(places + 1, "0")
    whole, decimals = digits[: len(digits) - places], digits[len(digits) - places :]
    return ("-" if value < 0 else "") + whole + ("." + decimals if decimals else "") + sign


def _without_remarks(tokens: list[Token], strict: bool) -> list[Token]:
    """Tokens without "because …" behind a number, and without parentheses that only comment on it."""
    kept: list[Token] = []
    number_seen = False
    index = 0
    while index < len(tokens):
        token = tokens[index]
        if token.kind == "W" and number_seen and token.text.lower() in _REMARKS:
            break
        if token.text == "(" and kept and kept[-1].kind in "NW" and kept[-1].text not in FUNCTIONS:
            close = _closing(tokens, index)
            words = any(t.kind == "W" and len(t.text) > 1 for t in tokens[index + 1 : close])
            if words or (not strict and token.start > kept[-1].end):
                index = close + 1
                continue
        number_seen = number_seen or token.kind == "N"
        kept.append(token)
        index += 1
    return kept


def _closing(tokens: list[Token], opening: int) -> int:
    """Index of the parenthesis that closes the one at `opening`, at most sixty tokens on."""
    depth = 0
    last = min(len(tokens), opening + 60)
    for index in range(opening, last):
        depth += {"(": 1, ")": -1}.get(tokens[index].text, 0)
        if depth == 0:
            return index
    return last - 1


def _last(tokens: list[Token], items: list[Item]) -> Number:
    """The last number of a sentence, unless it is one of a list."""
    if not items:
        return Number(reason="no number in it")
    last = _result(tokens, items)
    if last is not items[-1]:
        return last.number
    if len(items) > 1 and last.number.value != items[-2].number.value:
        between = tokens[items[-2].end : last.start]
        words = [
            t.text.lower() for t in between if t.text != "=" and not (t.kind == "W" and len(t.text) == 1)
        ]
        if words and _LISTING.issuperset(words):
            return Number(reason="several numbers")
    return last.number


def _result(tokens: list[Token], items: list[Item]) -> Item:
    """The last number, or the result of the last sum where what follows only tells more of it.

    "9 + 6 = 15 liters of the 24 liters" names 15; "3 + 4 = 7, so 5 are left" goes on to 5.
    """
    for item in reversed(items[1:]):
        if tokens[item.start - 1].text == "=":
            behind = {token.text.lower() for token in tokens[item.end :]}
            is_sum = items[items.index(item) - 1].end == item.start - 1 and item.number.value is not None
            return item if is_sum and behind.isdisjoint(_GOING_ON) else items[-1]
    return items[-1]


def _only(tokens: list[Token], items: list[Item]) -> Number:
    """The only number of an expression, or of an equation's right-hand side."""
    if any(token.text in ("<", ">") for token in tokens):
        return Number(reason="an inequality")
    equals = [index for index, token in enumerate(tokens) if token.text == "="]
    begin = equals[-1] + 1 if equals else 0
    inside = [item for item in items if item.start >= begin]
    earlier = [item for item in items if item.start < begin]
    if earlier and any(token.text.lower() in _LISTING for token in tokens[earlier[0].end : begin]):
        return Number(reason="several numbers")
    if len(inside) != 1:
        return Number(reason="several numbers" if inside else "not a plain number")
    item = inside[0]
    if any(token.text.lower() in _BOUNDING for token in tokens[begin : item.start]):
        return Number(reason="a bound or a negation")
    for token in tokens[begin : item.start] + tokens[item.end :]:
        if token.kind == "X" or token.text in "[]{}<>|_;" or (token.kind == "W" and not is_prose(token.text)):
            return Number(reason="not a plain number")
    return item.number
