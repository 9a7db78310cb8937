"""Constraints that no text can follow together, and those that the prompt itself works against."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

from .base import Constraint
from .case import EnglishCapital, EnglishLowercase, cased_letters, lower_case_spans, upper_case_spans
from .ending import EndChecker
from .form import JsonFormat
from .keywords import ForbiddenWords, KeywordFrequency, KeywordsExistence, keyword_spans
from .language import ReasoningLanguage, ResponseLanguage
from .length import NumberWords
from .markdown import MultipleSections
from .punctuation import NoComma, comma_spans
from .wrapping import Quotation, RepeatPrompt


class Conflict(NamedTuple):
    """What is wrong with a row: `kind` is "unsatisfiable" or "prompt" (the prompt asks for the opposite)."""

    kind: str
    reason: str


def conflicts(constraints: Sequence[Constraint], prompt: str = "") -> list[Conflict]:
    r"""Reasons why a row cannot be followed, or only against its own prompt.

    Four rows of MathIF are of the first kind (repeat a request that has commas, use no comma), 27 of the
    second (capitals, and `\boxed` in the prompt).

    Args:
        constraints: those of one row; only constraints of one target can conflict.
        prompt: text of the user message.
    """
    found = []
    for constraint in constraints:
        if (
            isinstance(constraint, NumberWords)
            and constraint.relation != "at least"
            and constraint.limit <= 1
        ):
            found.append(Conflict("unsatisfiable", f"{constraint.id}: no text has fewer than 1 word"))
        if isinstance(constraint, EnglishCapital) and constraint.target == "response" and "\\boxed" in prompt:
            found.append(
                Conflict("prompt", f"{constraint.id}: the prompt asks for \\boxed, in small letters")
            )
    for one, other in combinations(constraints, 2):
        if one.target == other.target and (reason := _clash(one, other) or _clash(other, one)):
            found.append(Conflict("unsatisfiable", f"{one.id} and {other.id}: {reason}"))
    return found


def _clash(one: Constraint, other: Constraint) -> str:
    """Why no text follows both, in one order of the two; empty where one may."""
    match one:
        case RepeatPrompt(prompt_to_repeat=demanded):
            if isinstance(other, Quotation):
                return "the text cannot begin with the request and with a quotation mark"
            if isinstance(other, JsonFormat):
                return "the text cannot begin with the request and be JSON"
            return _contradicts(demanded, other)
        case EndChecker(end_phrase=demanded):
            if isinstance(other, EndChecker) and other.end_phrase != demanded:
                return "two different last phrases"
            return _contradicts(demanded, other)
        case KeywordsExistence(keywords=words):
            return next(filter(None, (_contradicts(word, other, any_case=True) for word in words)), "")
        case KeywordFrequency(relation="at least", keyword=word, frequency=least):
            if isinstance(other, KeywordFrequency) and other.relation == "less than":
                same = other.keyword.strip().lower() == word.strip().lower()
                return f"{word!r} at least {least} times" if same and other.frequency <= least else ""
            return _contradicts(word, other, any_case=True)
        case MultipleSections(section_spliter=word):
            return _contradicts(word, other)
        case NumberWords(relation="at least"):
            if isinstance(other, NumberWords) and other.relation != "at least" and other.limit <= one.limit:
                return f"at least {one.limit} and less than {other.limit} words"
        case EnglishCapital():
            if isinstance(other, EnglishLowercase):
                return "all letters capital, and none"
    if (first := _language(one)) and (second := _language(other)) and first != second:
        return f"two languages, {first} and {second}"
    return ""


def _contradicts(demanded: str, other: Constraint, any_case: bool = False) -> str:
    """Why a text that contains `demanded`, in `any_case` or as it stands, cannot follow `other`."""
    match other:
        case NoComma():
            return f"{demanded[:40]!r} has commas" if comma_spans(demanded) else ""
        case ForbiddenWords(forbidden_words=words):
            word = next((word for word in words if keyword_spans(demanded, word)), "")
            return f"{word!r} is demanded and forbidden" if word else ""
        case KeywordFrequency(relation="less than", keyword=word, frequency=limit):
            count = len(keyword_spans(demanded, word))
            return f"{word!r} is demanded {count} times" if count >= limit else ""
        case EnglishCapital() if not any_case and cased_letters(demanded):
            return f"{demanded[:40]!r} has small letters" if lower_case_spans(demanded)[0] else ""
        case EnglishLowercase() if not any_case:
            return f"{demanded[:40]!r} has capital letters" if upper_case_spans(demanded)[0] else ""
    return ""


def _language(constraint: Constraint) -> str:
    match constraint:
        case ReasoningLanguage(language=code) | ResponseLanguage(language=code):
            return code
        case EnglishCapital() | EnglishLowercase():
            return "en"
    return ""
