"""Rules that several published evaluators have in common, all of them IFEval's descendants."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping
from typing import Any

from ..base import Span, Verdict, broken, followed
from ..ending import EndChecker, ending_score, last_words
from ..length import relation_holds, relation_score
from ..text import Text, beyond_ascii

Rule = Callable[[Any, Text], Verdict]  # (constraint, text)
_WORD = re.compile(r"\w+")


def not_blank(rules: Mapping[str, Rule]) -> dict[str, Rule]:
    """The rules with the gate that stands before all of them: a blank text follows nothing."""

    def gated(rule: Rule) -> Rule:
        def judge(constraint: Any, text: Text) -> Verdict:
            if not text.raw.strip():
                return broken(0.0, "the text is empty")
            return rule(constraint, text)

        return judge

    return {id: gated(rule) for id, rule in rules.items()}


def stripped_span(raw: str) -> Span:
    """Span of a text without its outer blanks."""
    return len(raw) - len(raw.lstrip()), len(raw.rstrip())


def in_word(character: str) -> bool:
    r"""Whether `\w` matches a character in the engine of nltk 3.10, the package `regex`.

    Other than Python's `re` it takes combining marks for parts of words, so that Hindi words are not cut at
    their vowel signs, and numbers such as ½ for none.
    """
    if character.isascii():
        return character.isalnum() or character == "_"
    kind = unicodedata.category(character)
    return (
        kind[0] in "LM"
        or kind in ("Nd", "Nl", "Pc")
        or character in "\u200c\u200d"  # joiners
        or "Ⓐ" <= character <= "ⓩ"
        or (kind == "So" and "\U0001f130" <= character <= "\U0001f189")  # squared letters
    )


def as_nltk_reads(text: str) -> str:
    r"""The text, as long as it is, such that Python's `\w` finds what nltk 3.10's does; see `in_word`."""
    if text.isascii():
        return text
    characters = {c for c in set(text) if not c.isascii()}
    unlike = {ord(c): "_" for c in characters if in_word(c) and not c.isalnum()}
    unlike |= {ord(c): " " for c in characters if c.isalnum() and not in_word(c)}
    return text.translate(unlike) if unlike else text


def word_matches(text: str) -> list[str]:
    r"""Words as `\w+` finds them."""
    return _WORD.findall(text)


_FEW = 10  # kinds of characters that are sooner replaced than matched
_ASCII_WORDS = bytes(code if in_word(chr(code)) else ord(" ") for code in range(128)).ljust(256)


def word_match_count(text: str) -> int:
    r"""Number of words as `\w+` finds them."""
    others = set(beyond_ascii(text))
    if len(others) > _FEW:
        return len(word_matches(text))
    for other in others:
        text = text.replace(other, "a" if other.isalnum() else " ")
    return len(text.encode().translate(_ASCII_WORDS).split())


def judge_word_matches(text: Text, relation: str, limit: float, read: Callable[[str], str] = str) -> Verdict:
    r"""Verdict on the number of `\w+` words, in the text as `read` makes it (of the same length)."""
    seen = text.once(read)
    count = word_match_count(seen)
    if relation == "at least":
        reason = f"{count} words; at least {limit:g} are needed"
    else:
        reason = f"{count} words; the limit is {limit:g}, and it takes fewer than that"
    if relation_holds(count, relation, limit):
        return followed(reason)
    spans = []
    if relation == "less than":
        beyond = (m.start() for number, m in enumerate(_WORD.finditer(seen), 1) if number >= limit)
        spans = [(next(beyond, 0), len(text.raw.rstrip()))]
    return broken(relation_score(count, relation, limit), reason, spans)


def judge_end_phrase(constraint: EndChecker, text: Text) -> Verdict:
    """The end of the text without outer quotation marks, compared without regard to case."""
    phrase = constraint.end_phrase.strip().lower()
    said = text.raw.strip().strip('"').lower()
    if said.endswith(phrase):
        return followed(f"ends with {constraint.end_phrase!r}")
    last = last_words(text.raw, len(phrase))
    reason = f"ends with {text.raw[slice(*last)][-60:]!r} instead of {constraint.end_phrase!r}"
    return broken(ending_score(said, phrase), reason, [last])


def judge_commas(text: Text) -> Verdict:
    """Only the ASCII comma is one."""
    count = text.raw.count(",")
    if not count:
        return followed("no comma")
    spans = (match.span() for match in re.finditer(",", text.raw))
    return broken(1 / (1 + count), f"{count} comma{'s' * (count > 1)}", spans)
