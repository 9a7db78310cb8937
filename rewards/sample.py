"""What guards look at: one finished completion beside what was asked, each view of it made once."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import Any

from riftk.constraints import Constraint
from riftk.constraints.form import parse_json
from riftk.constraints.language import ReasoningLanguage, ResponseLanguage
from riftk.constraints.languages import identify
from riftk.constraints.text import HAN, HANGUL, KANA, UNSPACED, beyond_ascii, without_tags
from riftk.grading import parse_number
from riftk.judging import Output

from .lexicon import FILLER, NUMBER_WORDS
from .tasks import Task

EXAMINED = 60_000  # characters that guards read of a longer text: as many of its beginning as of its end

# No letters to Python, but parts of words: vowel signs of Indic scripts, points of Arabic and Hebrew.
_MARKS = "\u0300-\u036f\u0591-\u05bd\u064b-\u065f\u0670\u0900-\u0963\u0966-\u0dff"
_TOKEN = re.compile(rf"[{HAN}{KANA}{HANGUL}{UNSPACED}]|(?:[^\W_{HAN}{KANA}{HANGUL}{UNSPACED}]|[{_MARKS}])+")
_PLAIN_TOKEN = re.compile(r"[^\W_]+")
_NOT_PLAIN = re.compile(f"[{HAN}{KANA}{HANGUL}{UNSPACED}{_MARKS}]")
_STRETCH = 400  # characters
_DENSE = re.compile(rf"[{HAN}{KANA}{HANGUL}{UNSPACED}]")
_FENCE = re.compile(r"```\w*\s*([\[{].*[\]}])\s*```|([\[{].*[\]}])", re.DOTALL)
EXAMINED_CHARS = 1000  # of a text; its language and wording show there
_STEM = 5  # letters of a word that its forms have in common


def examined(text: str) -> str:
    """The part of a text that guards read: all of it up to `EXAMINED` characters, else both its ends."""
    if len(text) <= EXAMINED:
        return text
    return text[: EXAMINED // 2] + "\n" + text[-EXAMINED // 2 :]


def tokens(text: str) -> list[str]:
    """Words and numbers, lower-cased; a character each in scripts that set no blanks between words."""
    plain = _NOT_PLAIN.search(beyond_ascii(text := text.lower())) is None
    return (_PLAIN_TOKEN if plain else _TOKEN).findall(text)


def tokens_in_turn(text: str) -> Iterator[str]:
    """The `tokens` of a text one by one, for a reader who soon knows enough."""
    for start in range(0, len(text), _STRETCH):
        yield from tokens(text[start : start + _STRETCH])


def content(text: str) -> set[str]:
    """What a text is about: numbers, stems of words but filler, pairs of Chinese or Thai letters."""
    every = tokens(text)
    words, found = set(every), set()
    if _DENSE.search(beyond_ascii(text)):
        dense = {token for token in words if _DENSE.match(token)}
        words -= dense
        found = {one + other for one, other in pairwise(every) if one in dense and other in dense}
    for token in words:
        if token in NUMBER_WORDS:
            found.add(NUMBER_WORDS[token] or token)
        elif token[0].isdigit() or (len(token) > 3 and token not in FILLER):
            found.add(token[:_STEM])
    return found


@lru_cache(maxsize=1024)
def _instructions(asked: tuple[Constraint, ...]) -> str:
    return " ".join(constraint.instruction() for constraint in asked)


@lru_cache(maxsize=1024)
def _instruction_words(asked: tuple[Constraint, ...]) -> frozenset[str]:
    return frozenset(tokens(_instructions(asked)))


@lru_cache(maxsize=1024)
def _prompt_content(prompt: str, asked: tuple[Constraint, ...]) -> frozenset[str]:
    return frozenset(content(examined(prompt)) - content(_instructions(asked)))


def _last_message(prompt: Any) -> str:
    """The text of a prompt: a string, or the last message of the user."""
    if isinstance(prompt, list | tuple):
        said = [m.get("content") for m in prompt if isinstance(m, Mapping) and m.get("role") == "user"]
        prompt = said[-1] if said else ""
    if isinstance(prompt, list | tuple):
        prompt = " ".join(str(part.get("text") or "") for part in prompt if isinstance(part, Mapping))
    return prompt if isinstance(prompt, str) else ""


@dataclass(frozen=True)
class Sample:
    """A finished completion and what was asked of it.

    Args:
        output: the completion.
        asked: the constraints that count.
        task: the row.
        prompt: text or messages; None where the trainer does not pass it.
        expects_trace: whether the model is known to mark its reasoning.
    """

    output: Output
    asked: tuple[Constraint, ...]
    task: Task
    prompt: Any = None
    expects_trace: bool = False

    @cached_property
    def thinks(self) -> bool:
        """Whether there has to be a trace."""
        about_trace = any(constraint.target == "reasoning" for constraint in self.asked)
        return self.expects_trace or about_trace or self.output.completion.blocks > 0

    @cached_property
    def trace(self) -> str:
        """The examined trace."""
        return examined(self.output.judged_text("reasoning"))

    @cached_property
    def response(self) -> str:
        """The examined response, without answer tags."""
        return examined(self.output.judged_text("response"))

    @cached_property
    def said(self) -> str:
        """What the trace says of its own: of JSON the values, and no phrase that was asked for."""
        text = _values(self.trace)
        for constraint in self.asked:
            if constraint.target == "reasoning":
                for phrase in demanded_phrases(constraint):
                    text = text.replace(phrase, " ")
        return without_tags(text)

    @cached_property
    def question(self) -> str:
        """The text of the prompt, "" where it is not known."""
        return _last_message(self.prompt)

    @cached_property
    def answer_value(self) -> Fraction | None:
        """The gold answer where it is a number."""
        return parse_number(self.task.answer).value if self.task.answer else None

    @property
    def instructions(self) -> str:
        """What the row's constraints ask for, in the published words."""
        return _instructions(self.task.constraints)

    @cached_property
    def instruction_words(self) -> frozenset[str]:
        """The words of the row's instructions."""
        return _instruction_words(self.task.constraints)

    @cached_property
    def prompt_language(self) -> str:
        """The language of the prompt, "" where it is not known."""
        return language_of(self.question)[0] if self.question else ""

    @cached_property
    def asked_language(self) -> str:
        """The language that is asked for in the trace, "" where none is."""
        asked = (c for c in self.asked if isinstance(c, ReasoningLanguage | ResponseLanguage))
        return next((constraint.language for constraint in asked if constraint.target == "reasoning"), "")

    @cached_property
    def prompt_content(self) -> frozenset[str]:
        """What the prompt is about, without the words of its instructions."""
        return _prompt_content(self.question, self.task.constraints)


def language_of(text: str) -> tuple[str, float]:
    """The language that a text begins in, and its probability; ("", 0.0) for a text without any."""
    found = identify(" ".join(text[:EXAMINED_CHARS].lower().split()))
    return found[0] if found else ("", 0.0)


def demanded_phrases(constraint: Constraint) -> tuple[str, ...]:
    """Texts that a constraint asks for word for word: writing them is no reasoning."""
    arguments = (getattr(constraint, name, None) for name in ("end_phrase", "prompt_to_repeat", "sentence"))
    return tuple(phrase for phrase in arguments if isinstance(phrase, str) and phrase.strip())


def _values(text: str) -> str:
    """The values of a text that is one JSON object or array, else the text."""
    match = _FENCE.fullmatch(text.strip())
    if match is None:
        return text
    parsed = parse_json(match[1] or match[2])
    if parsed.error:
        return text
    found: list[str] = []
    stack = [parsed.value]
    while stack:
        value = stack.pop()
        if isinstance(value, dict):
            stack.extend(reversed(value.values()))
        elif isinstance(value, list):
            stack.extend(reversed(value))
        elif value is not None:
            found.append(str(value))
    return "\n".join(found)
