r"""Constraints that no text can follow together, and those that work against the rest of their row.

"No text" is meant under robust rules: a published rule that can be gamed may let one through. What is
reported is certain; not everything that is impossible is reported.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

from .base import Constraint
from .case import (
    CapitalWordFrequency,
    EnglishCapital,
    EnglishLowercase,
    capital_word_spans,
    cased_letters,
    lower_case_spans,
    upper_case_spans,
)
from .content import ConstrainedResponse, Postscript
from .cotcontrol import (
    AlternatingCase,
    EndOfSentence,
    IgnoreQuestion,
    LowercaseThinking,
    MeowBetweenWords,
    RepeatSentences,
    UppercaseThinking,
    WordSuppression,
    uneven_words,
)
from .ending import EndChecker, normalised
from .form import JsonFormat
from .keywords import ForbiddenWords, KeywordFrequency, KeywordsExistence, LetterFrequency, keyword_spans
from .language import ReasoningLanguage, ResponseLanguage
from .length import NumberSentences, NumberWords, ResponseWords
from .markdown import MultipleSections, NumberBullets, bullet_spans
from .paragraphs import NthParagraphFirstWord, NumberParagraphs
from .punctuation import NoComma, comma_spans
from .text import full_sentences, word_count
from .wrapping import Quotation, RepeatPrompt

LONGEST_ANSWER = 200  # characters; more than that is a solution, which nobody has to write down as it is
_MANY = 100  # repetitions of a demanded word that are looked at
_STEPS = re.compile(r"step[ -]by[ -]step", re.IGNORECASE)
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")


class Conflict(NamedTuple):
    """What is wrong with a row.

    Args:
        kind: "unsatisfiable" (no text follows), "prompt" (the prompt asks for the opposite) or "answer" (the
            right answer cannot be written down).
        reason: what contradicts what.
    """

    kind: str
    reason: str


def conflicts(constraints: Sequence[Constraint], prompt: str = "", answer: str = "") -> list[Conflict]:
    r"""Reasons why a row cannot be followed, or only against its own prompt or answer.

    Four rows of MathIF are unsatisfiable (repeat a request that has commas, use no comma), 27 fight their
    prompt (capitals, and `\boxed` in the prompt) and two their answer (commas in it).

    Args:
        constraints: those of one row; only constraints of one target can conflict.
        prompt: text of the user message.
        answer: gold answer.
    """
    found = []
    for constraint in constraints:
        if (counted := _counted(constraint)) and counted.most < counted.natural:
            found.append(Conflict("unsatisfiable", f"{constraint.id}: no text has 0 {counted.thing}"))
        if reason := _against_prompt(constraint, prompt):
            found.append(Conflict("prompt", f"{constraint.id}: {reason}"))
        if reason := _against_answer(constraint, answer):
            found.append(Conflict("answer", f"{constraint.id}: the answer cannot be written: {reason}"))
    for one, other in combinations(constraints, 2):
        if one.target == other.target and (reason := _clash(one, other) or _clash(other, one)):
            found.append(Conflict("unsatisfiable", f"{one.id} and {other.id}: {reason}"))
    return found


def _against_prompt(constraint: Constraint, prompt: str) -> str:
    if isinstance(constraint, IgnoreQuestion) and _STEPS.search(prompt):
        return "the prompt asks to think about the question step by step"
    if constraint.target == "response" and "\\boxed" in prompt:
        reason = _contradicts("boxed", constraint)
        return f"the prompt asks for \\boxed, but {reason}" if reason else ""
    return ""


def _against_answer(constraint: Constraint, answer: str) -> str:
    final = _THOUSANDS.sub("", answer.rpartition("####")[2].strip())
    if constraint.target != "response" or not final or len(final) > LONGEST_ANSWER:
        return ""
    return _contradicts(final, constraint, any_case=True)


def _clash(one: Constraint, other: Constraint) -> str:
    """Why no text follows both, in one order of the two; empty where one may."""
    for demanded, any_case in _demanded(one):
        if reason := _contradicts(demanded, other, any_case):
            return reason
    return (
        _different_edges(one, other)
        or _different_counts(one, other)
        or _different_letters(one, other)
        or _never_together(one, other)
    )


# ------------------------------------------------------------------ what a text must hold, and must not


def _demanded(constraint: Constraint) -> list[tuple[str, bool]]:
    """Texts that whatever follows the constraint holds, and whether in any case or as they stand."""
    match constraint:
        case RepeatPrompt(prompt_to_repeat=text) | EndChecker(end_phrase=text):
            return [(text, False)]
        case Postscript(postscript_marker=marker):
            return [(marker, False)]
        case RepeatSentences():
            return [(f"{_sentence(constraint)}\n{_sentence(constraint)}", False)]
        case ConstrainedResponse():
            return [("My answer is", False)]
        case MultipleSections(section_spliter=word, num_sections=count):
            return [("\n".join(f"{word.strip()} {n}" for n in range(1, min(int(count), _MANY) + 1)), False)]
        case KeywordsExistence(keywords=words):
            return [(word, True) for word in words]
        case KeywordFrequency(relation="at least", keyword=word, frequency=least):
            return [(" ".join([word.strip()] * min(int(least), _MANY)), True)]
        case NthParagraphFirstWord(first_word=word):
            return [(word, True)]
        case EndOfSentence() | MeowBetweenWords():
            return [(constraint.word or constraint.WORD, True)]
    return []


def _contradicts(demanded: str, other: Constraint, any_case: bool = False) -> str:
    """Why a text that holds `demanded`, in `any_case` or as it stands, cannot follow `other`."""
    match other:
        case NoComma():
            return f"{demanded[:40]!r} has commas" if comma_spans(demanded) else ""
        case ForbiddenWords(forbidden_words=words) | WordSuppression(words=words):
            word = next((word for word in words if keyword_spans(demanded, word)), "")
            return f"{word!r} is demanded and forbidden" if word else ""
        case KeywordFrequency(relation="less than", keyword=word, frequency=limit):
            count = len(keyword_spans(demanded, word))
            return f"{word!r} is demanded {count} times" if count >= limit else ""
        case LetterFrequency(let_relation="less than", letter=letter, let_frequency=limit):
            count = demanded.lower().count(letter.lower())
            return f"{demanded[:40]!r} has the letter {letter!r} {count} times" if count >= limit else ""
        case NumberWords(relation="less than" | None) | ResponseWords(relation="less than"):
            count = word_count(demanded)
            return f"{demanded[:40]!r} has {count} words" if count >= other.limit else ""
        case NumberSentences(relation="less than", num_sentences=limit):
            count = len(full_sentences(demanded))
            return f"{demanded[:40]!r} has {count} sentences" if count >= limit else ""
        case NumberBullets(num_bullets=wanted):
            count = len(bullet_spans(demanded))
            return f"{demanded[:40]!r} has {count} bullet points" if count > wanted else ""
    return "" if any_case else _contradicts_in_letters(demanded, other)


def _contradicts_in_letters(demanded: str, other: Constraint) -> str:
    """As `_contradicts`, for what depends on capital and small letters or on neighbouring words."""
    match other:
        case EnglishCapital() | UppercaseThinking() if cased_letters(demanded):
            return f"{demanded[:40]!r} has small letters" if lower_case_spans(demanded)[0] else ""
        case EnglishLowercase() | LowercaseThinking():
            return f"{demanded[:40]!r} has capital letters" if upper_case_spans(demanded)[0] else ""
        case AlternatingCase():
            return f"the letters of {demanded[:40]!r} do not alternate" if uneven_words(demanded)[1] else ""
        case CapitalWordFrequency(capital_relation="less than", capital_frequency=limit):
            count = len(capital_word_spans(demanded))
            return f"{demanded[:40]!r} has {count} words in capitals" if count >= limit else ""
        case MeowBetweenWords():
            word = (other.word or other.WORD).lower()
            pairs = re.finditer(r"(?=\b([^\W\d_]{2,})[^\S\n]+([^\W\d_]{2,}))", demanded.lower())
            bare = any(word not in pair.groups() for pair in pairs)
            return f"{demanded[:40]!r} has words without {word!r} between them" if bare else ""
    return ""


# --------------------------------------------------------------- beginnings, ends, counts, letters, languages


def _sentence(constraint: RepeatSentences) -> str:
    return (constraint.sentence or constraint.SENTENCE).strip()


def _beginning(constraint: Constraint) -> str:
    match constraint:
        case RepeatPrompt(prompt_to_repeat=text):
            return normalised(text)
        case RepeatSentences():
            return normalised(_sentence(constraint))
        case Quotation():
            return '"'
        case JsonFormat():
            return "{"
    return ""


def _end(constraint: Constraint) -> str:
    match constraint:
        case EndChecker(end_phrase=phrase):
            return normalised(phrase).rstrip("\"'.!?")
        case RepeatSentences():
            return normalised(_sentence(constraint))
        case JsonFormat():
            return "}"
    return ""


def _different_edges(one: Constraint, other: Constraint) -> str:
    """Why a text cannot begin, or end, as both want."""
    first, second = _beginning(one), _beginning(other)
    if first and second and not (first.startswith(second) or second.startswith(first)):
        return f"the text cannot begin with {first[:40]!r} and with {second[:40]!r}"
    last, latter = _end(one), _end(other)
    if last and latter and not (last.endswith(latter) or latter.endswith(last)):
        return f"the text cannot end with {last[-40:]!r} and with {latter[-40:]!r}"
    if isinstance(other, EndOfSentence) and last and not isinstance(one, JsonFormat):
        word, words = (other.word or other.WORD).lower(), _WORD.findall(last.lower())
        if words and words[-1] != word:
            return f"the last sentence cannot end with {last[-40:]!r} and with {word!r}"
    if isinstance(other, NthParagraphFirstWord) and other.nth_paragraph == 1 and len(first) > 1:
        words = _WORD.findall(first.lower())
        if words and words[0] != other.first_word.strip().lower():
            return f"the text cannot begin with {first[:40]!r} and with {other.first_word!r}"
    return ""


class _Counted(NamedTuple):
    """How many of a thing a text may have; `natural` is what every text has that follows anything."""

    thing: str
    least: float
    most: float
    natural: int = 0


def _counted(constraint: Constraint) -> _Counted | None:
    match constraint:
        case NumberWords() | ResponseWords():
            return _related("words", constraint.relation, constraint.limit, natural=1)
        case NumberSentences(relation=relation, num_sentences=limit):
            return _related("sentences", relation, limit, natural=1)
        case CapitalWordFrequency(capital_relation=relation, capital_frequency=limit):
            return _related("words in capitals", relation, limit)
        case KeywordFrequency(relation=relation, keyword=word, frequency=limit):
            return _related(f"times {word.strip().lower()!r}", relation, limit)
        case LetterFrequency(let_relation=relation, letter=letter, let_frequency=limit):
            return _related(f"letters {letter.lower()!r}", relation, limit)
        case NumberBullets(num_bullets=count):
            return _Counted("bullet points", count, count)
        case NumberParagraphs(num_paragraphs=count):
            return _Counted("paragraphs divided by ***", count, count)
        case NthParagraphFirstWord(num_paragraphs=count):
            return _Counted("paragraphs divided by empty lines", count, count)
        case MultipleSections(section_spliter=word, num_sections=count):
            return _Counted(f"sections called {word.strip()!r}", count, count)
    return None


def _related(thing: str, relation: str | None, limit: float, natural: int = 0) -> _Counted:
    if relation == "at least":
        return _Counted(thing, limit, math.inf, natural)
    return _Counted(thing, 0, limit - 1, natural)


def _different_counts(one: Constraint, other: Constraint) -> str:
    first, second = _counted(one), _counted(other)
    if first is None or second is None or first.least <= second.most:
        return ""
    words = second.thing == "words" and first.thing in ("sentences", "words in capitals")
    if first.thing == second.thing or words:
        return f"at least {first.least} {first.thing} and at most {second.most} {second.thing}"
    return ""


def _letters(constraint: Constraint) -> str:
    match constraint:
        case EnglishCapital() | UppercaseThinking():
            return "capital"
        case EnglishLowercase() | LowercaseThinking():
            return "small"
        case AlternatingCase():
            return "alternating"
    return ""


def _different_letters(one: Constraint, other: Constraint) -> str:
    first, second = _letters(one), _letters(other)
    if first and second and first != second:
        return f"all letters {first}, and all {second}"
    match other:
        case CapitalWordFrequency(capital_relation="at least") if first in ("small", "alternating"):
            return f"words in capitals, and all letters {first}"
        case CapitalWordFrequency(capital_relation="less than", capital_frequency=1) if first == "capital":
            return "all letters capital, and no word in capitals"
    return ""


def _language(constraint: Constraint) -> str:
    match constraint:
        case ReasoningLanguage(language=code) | ResponseLanguage(language=code):
            return code
        case EnglishCapital() | EnglishLowercase():
            return "en"
    return ""


def _never_together(one: Constraint, other: Constraint) -> str:
    if (first := _language(one)) and (second := _language(other)) and first != second:
        return f"two languages, {first} and {second}"
    match one, other:
        case JsonFormat(), NumberBullets():
            return "a line of JSON cannot begin with a bullet"
        case RepeatPrompt(), IgnoreQuestion():
            return "the text cannot repeat the request and leave it out"
        case EndOfSentence(), EndOfSentence():
            words = [(constraint.word or constraint.WORD).lower() for constraint in (one, other)]
            return (
                f"sentences cannot end with {words[0]!r} and with {words[1]!r}" if len(set(words)) > 1 else ""
            )
        case NthParagraphFirstWord(), NthParagraphFirstWord():
            same = one.nth_paragraph == other.nth_paragraph
            if same and one.first_word.strip().lower() != other.first_word.strip().lower():
                return f"two first words of paragraph {one.nth_paragraph}"
    return ""
