"""Words that must, or must not, occur."""

from __future__ import annotations

import re
from collections.abc import Sequence

from .base import Constraint, Span, Verdict, broken, constraint, followed
from .language import vacuous
from .length import RELATIONS, judge_count, judge_number, whole_number
from .text import HAN, HANGUL, KANA, UNSPACED, Text, visible, without_commands

_JOINED = re.compile(f"[{HAN}{KANA}{HANGUL}{UNSPACED}]")  # scripts in which a word has no blanks around it


def keyword_spans(text: str, keyword: str) -> list[Span]:
    r"""Where a keyword stands as a whole word, in any case.

    A neighbouring letter or digit makes it part of another word ("now" in "known" is none); `-` and `_` do
    not. Give it the `visible` text, in which LaTeX's `\bar` is no word.
    """
    word = keyword.strip()
    if text.isascii() and word.isascii() and word.lower() not in text.lower():
        return []
    pattern, first, last = re.escape(word), word[0], word[-1]
    if first.isalnum() and not _JOINED.match(first):
        pattern = r"(?<![^\W_])" + pattern
    if last.isalnum() and not _JOINED.match(last):
        pattern += r"(?![^\W_])"
    return [match.span() for match in re.finditer(pattern, text, re.IGNORECASE)]


def _validate_words(constraint: Constraint, argument: str) -> None:
    value = getattr(constraint, argument)
    valid = (
        isinstance(value, tuple) and value and all(isinstance(word, str) and word.strip() for word in value)
    )
    constraint.require(bool(valid), argument, "a list of words")


def _listed(words: Sequence[str]) -> str:
    """A list of words as MathIF prints it."""
    return str(sorted(words))


@constraint("keywords:existence")
class KeywordsExistence(Constraint):
    """Every keyword occurs as a word."""

    published_response = 'Include keywords "{keywords}" in the response.'
    wording = (
        "When {acting}, include the keywords {keywords} in your {text}.",
        "Each of the words {keywords} has to appear in your {text}.",
        "Make sure to use these words in your {text}: {keywords}.",
        "Your {text} must contain all of the following keywords: {keywords}.",
        "Work the words {keywords} into your {text}.",
    )

    keywords: Sequence[str]

    def validate(self) -> None:
        _validate_words(self, "keywords")

    def wording_values(self) -> dict[str, str]:
        return {"keywords": _listed(self.keywords)}

    def robust(self, text: Text) -> Verdict:
        if (empty := vacuous(text, self.target)) is not None:
            return empty
        seen = text.once(visible)
        missing = [word for word in self.keywords if not keyword_spans(seen, word)]
        if missing:
            return broken(1 - len(missing) / len(self.keywords), f"missing: {', '.join(missing)}")
        return followed("all keywords occur")


@constraint("keywords:forbidden_words")
class ForbiddenWords(Constraint):
    """None of the words occurs."""

    published_response = 'Do not include keywords "{forbidden_words}" in the response.'
    wording = (
        "When {acting}, do not use the words {forbidden_words}.",
        "None of the words {forbidden_words} may appear in your {text}.",
        "Avoid these words in your {text}: {forbidden_words}.",
        "The following words are forbidden in your {text}: {forbidden_words}.",
        "Write your {text} without using any of {forbidden_words}.",
    )

    forbidden_words: Sequence[str]

    def validate(self) -> None:
        _validate_words(self, "forbidden_words")

    def wording_values(self) -> dict[str, str]:
        return {"forbidden_words": _listed(self.forbidden_words)}

    def robust(self, text: Text) -> Verdict:
        if (empty := vacuous(text, self.target)) is not None:
            return empty
        seen = text.once(visible)
        spans = sorted(span for word in self.forbidden_words for span in keyword_spans(seen, word))
        if spans:
            first = seen[slice(*spans[0])]
            return broken(1 / (1 + len(spans)), f"{len(spans)} forbidden words, first: {first!r}", spans)
        return followed("no forbidden word occurs")


@constraint("keywords:frequency")
class KeywordFrequency(Constraint):
    """A keyword occurs as a word less than, or at least, a number of times."""

    published_response = 'In your response, the word "{keyword}" should appear {relation} {frequency} times.'
    wording = (
        'When {acting}, use the word "{keyword}" {relation} {frequency} times.',
        'The word "{keyword}" must occur {relation} {frequency} times in your {text}.',
        'Your {text} should contain the word "{keyword}" {relation} {frequency} times.',
        'Count your use of "{keyword}": it has to appear {relation} {frequency} times in your {text}.',
        'In your {text}, write "{keyword}" {relation} {frequency} times.',
    )

    keyword: str
    frequency: int
    relation: str

    def validate(self) -> None:
        self.require(isinstance(self.keyword, str) and bool(self.keyword.strip()), "keyword", "a word")
        self.require(whole_number(self.frequency, least=1), "frequency", "a whole number of at least 1")
        self.require(self.relation in RELATIONS, "relation", " or ".join(map(repr, RELATIONS)))

    def wording_values(self) -> dict[str, object]:
        return {
            "keyword": self.keyword.strip(),
            "frequency": int(self.frequency),
            "relation": self.relation,
        }

    def robust(self, text: Text) -> Verdict:
        if (empty := vacuous(text, self.target)) is not None:
            return empty
        spans = keyword_spans(text.once(visible), self.keyword)
        return judge_count(spans, self.relation, int(self.frequency), f"{self.keyword.strip()!r}")


@constraint("keywords:letter_frequency")
class LetterFrequency(Constraint):
    """A letter from a to z occurs, in either case, less than or at least a number of times.

    Letters of LaTeX commands, which no reader sees, do not count; é is another letter than e. IFEval's file
    has two rows with `#` and `!` for the letter, for which its evaluator draws a letter at random
    (google-research/google-research#3427): they are refused.
    """

    published_response = (
        "In your response, the letter {letter} should appear {let_relation} {let_frequency} times."
    )
    wording = (
        "When {acting}, use the letter {letter} {let_relation} {let_frequency} times.",
        "The letter {letter} must occur {let_relation} {let_frequency} times in your {text}.",
        'Your {text} has to contain the letter "{letter}" {let_relation} {let_frequency} times.',
        "Count the letter {letter} in your {text}: {let_relation} {let_frequency} times, please.",
        "In your {text}, write the letter {letter} {let_relation} {let_frequency} times.",
    )

    letter: str
    let_frequency: int
    let_relation: str

    def validate(self) -> None:
        valid = isinstance(self.letter, str) and re.fullmatch("[A-Za-z]", self.letter) is not None
        self.require(valid, "letter", "one letter from a to z")
        self.require(
            whole_number(self.let_frequency, least=1), "let_frequency", "a whole number of at least 1"
        )
        self.require(self.let_relation in RELATIONS, "let_relation", " or ".join(map(repr, RELATIONS)))

    def wording_values(self) -> dict[str, object]:
        return {
            "letter": self.letter.lower(),
            "let_frequency": int(self.let_frequency),
            "let_relation": self.let_relation,
        }

    def robust(self, text: Text) -> Verdict:
        if (empty := vacuous(text, self.target)) is not None:
            return empty
        seen = text.once(without_commands)
        count = seen.count(self.letter.lower()) + seen.count(self.letter.upper())
        return judge_letters(self, count, seen)


def judge_letters(constraint: LetterFrequency, count: int, text: str) -> Verdict:
    """Verdict on a number of letters; spans mark those in `text` that are too many."""
    letter = constraint.letter.lower()
    places = re.finditer(f"[{letter}{letter.upper()}]", text)
    return judge_number(
        count, constraint.let_relation, int(constraint.let_frequency), f"letter {letter!r}", places
    )
