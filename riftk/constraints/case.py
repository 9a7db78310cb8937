"""Capital and small letters."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import islice

from .base import SPAN_LIMIT, Constraint, Verdict, broken, constraint, followed
from .language import judge_language, vacuous
from .length import RELATIONS, judge_count, whole_number
from .text import Span, Text, ascii_letter_count, beyond_ascii, prose, without_commands, word_tokens

MANY_WORDS = 6  # of two letters or more: enough for identifying the language
_WORD = re.compile(r"[^\W\d_]{2,}")
# Ordinals, micro, Greek, Roman numerals and circled letters: symbols, of which no case is asked.
_SYMBOLS = re.compile("[ªºµ\u0370-\u03ff\u1f00-\u1fff\u2160-\u217f\u24b6-\u24e9]+")


def _cased(text: str) -> str:
    """The text in which case counts: LaTeX control words and symbols blanked out."""
    plain = without_commands(text)
    return plain if plain.isascii() else _SYMBOLS.sub(lambda match: " " * len(match.group()), plain)


def lower_case_spans(text: str) -> tuple[int, list[Span]]:
    """Number of small letters that have a capital form, and the spans of the first."""
    return _case_spans(_cased(text), str.islower, str.upper)


def upper_case_spans(text: str) -> tuple[int, list[Span]]:
    """Number of capital letters, and the spans of the first."""
    return _case_spans(_cased(text), str.isupper, str.lower)


def _case_spans(
    text: str, wrong: Callable[[str], bool], change: Callable[[str], str]
) -> tuple[int, list[Span]]:
    letters = sorted(c for c in set(text) if wrong(c) and c.isalpha() and change(c) != c)
    if not letters:
        return 0, []
    runs = islice(re.finditer(f"[{''.join(letters)}]+", text), SPAN_LIMIT)
    return sum(map(text.count, letters)), [run.span() for run in runs]


def cased_letters(text: str) -> int:
    """Number of letters that have two forms, LaTeX control words left out."""
    plain = _cased(text)
    others = sum(1 for letter in beyond_ascii(plain) if letter.isalpha() and letter.lower() != letter.upper())
    return ascii_letter_count(plain) + others


def judge_english(text: Text, target: str) -> Verdict:
    """Whether a text is English. A short answer is, when its words are ASCII: "THE ANSWER IS 42"."""
    visible = text.once(without_commands)
    words = [match.group() for match in islice(_WORD.finditer(visible), MANY_WORDS)]
    if target == "response" and len(words) < MANY_WORDS:
        if not words or len(list(islice(word_tokens(visible), 2))) < 2:
            return broken(0.0, "too few words to be an English text")
        if not all(map(str.isascii, words)):
            return broken(0.5, "not English")
        return followed("English words")
    return judge_language(text, "en", "English", target)


def _judge(text: Text, target: str, wrong: int, spans: list[Span], form: str) -> Verdict:
    if (empty := vacuous(text, target)) is not None:
        return empty
    letters = text.once(cased_letters)
    if not letters:
        return broken(0.0, "there is no letter to write in " + form)
    english = judge_english(text, target)
    share = 1 - wrong / letters
    if wrong:
        start, end = spans[0]
        return broken(
            share * (0.5 + english.score / 2),
            f"{wrong} of {letters} letters are not in {form}, first: {text.raw[start:end][:40]!r}",
            spans,
        )
    if not english:
        return broken(english.score, f"in {form}, but not English: {english.reason}", english.spans)
    return followed(f"English, all {letters} letters in {form}")


@constraint("change_case:english_capital")
class EnglishCapital(Constraint):
    """English in capitals. LaTeX control words, Greek and letters without a capital form are exempt."""

    wording = (
        "When {acting}, your response should be in English and in all capital letters.",
        "Write your entire {text} in English, using capital letters only.",
        "Your {text} has to be in English and must not contain any lowercase letters.",
        "Use ALL CAPS throughout your {text}, and write it in English.",
        "Every letter of your {text} must be uppercase, and its language English.",
        "Keep your {text} in English and fully capitalized, from start to finish.",
    )

    def robust(self, text: Text) -> Verdict:
        wrong, spans = text.once(lower_case_spans)
        return _judge(text, self.target, wrong, spans, "capitals")


@constraint("change_case:english_lowercase")
class EnglishLowercase(Constraint):
    """English in small letters. LaTeX control words and Greek letters are exempt."""

    published_response = (
        "Your entire response should be in English, and in all lowercase letters. "
        "No capital letters are allowed."
    )
    wording = (
        "When {acting}, write in English and in all lowercase letters; no capital letters are allowed.",
        "Write your entire {text} in English, using lowercase letters only.",
        "Your {text} has to be in English and must not contain a single capital letter.",
        "Use no uppercase letters at all in your {text}, and write it in English.",
        "Every letter of your {text} must be lowercase, and its language English.",
    )

    def robust(self, text: Text) -> Verdict:
        wrong, spans = text.once(upper_case_spans)
        return _judge(text, self.target, wrong, spans, "small letters")


_WORDS = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")


def capital_word_spans(text: str) -> list[Span]:
    """Words of two letters or more in capitals, outside code and formulas; IT'S and WELL-KNOWN are one."""
    found = []
    for match in _WORDS.finditer(prose(text)):
        word = match.group()
        if word.isupper() and sum(map(str.isalpha, word)) >= 2:
            found.append(match.span())
    return found


@constraint("change_case:capital_word_frequency")
class CapitalWordFrequency(Constraint):
    """Less than, or at least, a number of words in capitals."""

    published_response = (
        "In your response, words with all capital letters should appear "
        "{capital_relation} {capital_frequency} times."
    )
    wording = (
        "When {acting}, use {capital_relation} {capital_frequency} words in all capital letters.",
        "Your {text} must contain {capital_relation} {capital_frequency} words written in ALL CAPS.",
        "Words in capitals have to appear {capital_relation} {capital_frequency} times in your {text}.",
        "Write {capital_relation} {capital_frequency} fully capitalized words in your {text}.",
        "In your {text}, the number of words in capitals should be {capital_relation} {capital_frequency}.",
    )

    capital_frequency: int
    capital_relation: str

    def validate(self) -> None:
        valid = whole_number(self.capital_frequency, least=1)
        self.require(valid, "capital_frequency", "a whole number of at least 1")
        self.require(
            self.capital_relation in RELATIONS, "capital_relation", " or ".join(map(repr, RELATIONS))
        )

    def wording_values(self) -> dict[str, object]:
        return {"capital_frequency": int(self.capital_frequency), "capital_relation": self.capital_relation}

    def robust(self, text: Text) -> Verdict:
        if (empty := vacuous(text, self.target)) is not None:
            return empty
        spans = text.once(capital_word_spans)
        return judge_count(spans, self.capital_relation, int(self.capital_frequency), "words in capitals")
