"""Parts of a text: paragraphs and separate responses."""

from __future__ import annotations

import re

from .base import Constraint, Span, Verdict, broken, constraint, followed
from .keywords import keyword_spans
from .language import vacuous
from .length import whole_number
from .markdown import judge_exactly
from .text import Text, blank, regions, says_something

_DIVIDER = re.compile(r"(?<!\S)\*{3}(?!\S)")  # ***bold*** is none
_SEPARATOR = re.compile(r"(?<!\*)\*{6}(?!\*)")
_EMPTY_LINES = re.compile(r"\n[^\S\n]*\n\s*")
_LABEL = re.compile(
    r"\W*(?:(?:first|second|response|answer|version|option|variant)\b\W*)+"
    r"(?:\d+|[abAB]|one|two|first|second)?\b\W*",
    re.IGNORECASE,
)


def without_fences(text: str) -> str:
    """Fenced code blanked out: what stands in it divides nothing."""
    return blank(text, [(r.start, r.end) for r in regions(text) if text.startswith("```", r.start)])


def split_spans(text: str, separators: list[Span]) -> list[Span]:
    """What stands before, between and after the separators."""
    starts = [0, *(end for _, end in separators)]
    ends = [*(start for start, _ in separators), len(text)]
    return list(zip(starts, ends, strict=True))


def _divided(raw: str, pattern: re.Pattern[str]) -> tuple[list[Span], Span | None]:
    """Parts between dividers, empty ones at the ends left out; and the first empty one in between."""
    dividers = [match.span() for match in pattern.finditer(without_fences(raw))]
    parts = split_spans(raw, dividers)
    full = [says_something(raw[slice(*part)]) for part in parts]
    hollow = next((part for part, filled in zip(parts[1:-1], full[1:-1], strict=True) if not filled), None)
    return [part for part, filled in zip(parts, full, strict=True) if filled], hollow


def starred_paragraphs(raw: str) -> tuple[list[Span], Span | None]:
    """Parts between the dividers `***`, and the first that is empty."""
    return _divided(raw, _DIVIDER)


def starred_responses(raw: str) -> tuple[list[Span], Span | None]:
    """Parts between the separators `******`, and the first that is empty."""
    return _divided(raw, _SEPARATOR)


def plain_paragraphs(raw: str) -> list[Span]:
    """Paragraphs between empty lines, without outer blanks; a fenced block is not divided."""
    gaps = [match.span() for match in _EMPTY_LINES.finditer(raw)]
    fences = [(r.start, r.end) for r in regions(raw) if raw.startswith("```", r.start)]
    if fences:
        inside = iter((*fences, (len(raw), len(raw))))
        start, end = next(inside)
        kept = []
        for gap in gaps:
            while gap[0] >= end and end < len(raw):
                start, end = next(inside)
            if not start <= gap[0] < end:
                kept.append(gap)
        gaps = kept
    found = []
    for start, end in split_spans(raw, gaps):
        piece = raw[start:end]
        if says_something(piece):
            start += len(piece) - len(piece.lstrip())
            found.append((start, start + len(piece.strip())))
    return found


@constraint("length_constraints:number_paragraphs")
class NumberParagraphs(Constraint):
    """Exactly a number of paragraphs, divided by `***`."""

    published_response = (
        "There should be {num_paragraphs} paragraphs. Paragraphs are separated with the markdown divider: ***"
    )
    wording = (
        "When {acting}, write {num_paragraphs} paragraphs and separate them with the markdown divider: ***",
        "Your {text} must have exactly {num_paragraphs} paragraphs, with *** between them.",
        "Divide your {text} into {num_paragraphs} paragraphs; put the divider *** between two of them.",
        "Use *** to separate the paragraphs of your {text}, of which there have to be {num_paragraphs}.",
        "There should be {num_paragraphs} paragraphs in your {text}, set apart by ***",
    )

    num_paragraphs: int

    def validate(self) -> None:
        valid = whole_number(self.num_paragraphs, least=1)
        self.require(valid, "num_paragraphs", "a whole number of at least 1")

    def wording_values(self) -> dict[str, object]:
        return {"num_paragraphs": int(self.num_paragraphs)}

    def robust(self, text: Text) -> Verdict:
        if (empty := vacuous(text, self.target)) is not None:
            return empty
        parts, hollow = text.once(starred_paragraphs)
        verdict = judge_exactly(parts, int(self.num_paragraphs), "paragraph")
        if hollow is not None:
            return broken(0.5 * verdict.score, "there is nothing between two dividers", [hollow])
        return verdict


@constraint("length_constraints:nth_paragraph_first_word")
class NthParagraphFirstWord(Constraint):
    """Exactly a number of paragraphs between empty lines; one of them starts with a given word."""

    published_response = (
        "There should be {num_paragraphs} paragraphs. Paragraphs and only paragraphs are separated with each "
        "other by two new lines as if it was '\\n\\n' in python. "
        "Paragraph {nth_paragraph} must start with word {first_word}."
    )
    wording = (
        "When {acting}, write {num_paragraphs} paragraphs with an empty line between them; "
        "paragraph {nth_paragraph} must start with the word {first_word}.",
        "Your {text} has to consist of {num_paragraphs} paragraphs, separated by two line breaks. "
        'The first word of paragraph {nth_paragraph} is "{first_word}".',
        "Split your {text} into exactly {num_paragraphs} paragraphs by empty lines, "
        "and begin number {nth_paragraph} with {first_word}.",
        'Write {num_paragraphs} paragraphs in your {text} (two new lines between them). Use "{first_word}" '
        "as the first word of paragraph {nth_paragraph}.",
        "Make {num_paragraphs} paragraphs of your {text}, empty lines between them and nowhere else; "
        "{first_word} opens paragraph {nth_paragraph}.",
    )

    num_paragraphs: int
    nth_paragraph: int
    first_word: str

    def validate(self) -> None:
        for argument in ("num_paragraphs", "nth_paragraph"):
            valid = whole_number(getattr(self, argument), least=1)
            self.require(valid, argument, "a whole number of at least 1")
        within = self.nth_paragraph <= self.num_paragraphs
        self.require(within, "nth_paragraph", f"at most num_paragraphs ({self.num_paragraphs})")
        valid = isinstance(self.first_word, str) and len(self.first_word.split()) == 1
        self.require(valid and says_something(self.first_word), "first_word", "one word")

    def wording_values(self) -> dict[str, object]:
        return {
            "num_paragraphs": int(self.num_paragraphs),
            "nth_paragraph": int(self.nth_paragraph),
            "first_word": self.first_word.lower(),
        }

    def robust(self, text: Text) -> Verdict:
        if (empty := vacuous(text, self.target)) is not None:
            return empty
        parts, nth = text.once(plain_paragraphs), int(self.nth_paragraph)
        number = judge_exactly(parts, int(self.num_paragraphs), "paragraph")
        if nth > len(parts):
            return broken(number.score / 2, f"{number.reason}; there is no paragraph {nth}")
        start, end = parts[nth - 1]
        head = text.raw[start : min(end, start + 100 + len(self.first_word))]
        head = re.sub(r"^[\W_]+", "", head)
        word = self.first_word.strip()
        right = keyword_spans(head[: len(word) + 1], word)[:1] == [(0, len(word))]
        if not right:
            found = head.split()[0][:40] if head.split() else ""
            reason = f"paragraph {nth} starts with {found!r} instead of {word!r}"
            return broken(number.score / 2, f"{number.reason}; {reason}", [(start, min(end, start + 40))])
        if not number:
            return broken(0.5 + number.score / 2, number.reason, number.spans)
        return followed(f"{number.reason}, and number {nth} starts with {word!r}")


def _words(text: str) -> list[str]:
    """What a response says, to compare two: its words, without a label such as "Response 1:"."""
    label = _LABEL.match(text)
    return re.findall(r"\w+", text[label.end() if label else 0 :].casefold())


@constraint("combination:two_responses")
class TwoResponses(Constraint):
    """Two responses that differ in more than punctuation and labels, with `******` between them."""

    published_response = (
        "Give two different responses. Responses and only responses should"
        " be separated by 6 asterisk symbols: ******."
    )
    wording = (
        "When {acting}, give two different versions and separate them by 6 asterisks: ******.",
        "Your {text} has to consist of two different responses with ****** between them.",
        "Write two responses that are not the same; put ****** between the two, and nowhere else.",
        "Divide your {text} by six asterisks (******) into two different responses.",
        "Give your {text} twice, in two different ways, separated by the line ******",
    )

    def robust(self, text: Text) -> Verdict:
        if (empty := vacuous(text, self.target)) is not None:
            return empty
        parts, hollow = text.once(starred_responses)
        number = judge_exactly(parts, 2, "response")
        if hollow is not None:
            return broken(0.5 * number.score, "there is nothing between two separators", [hollow])
        if not number:
            return broken(0.9 * number.score, number.reason, number.spans)
        first, second = (_words(text.raw[slice(*part)]) for part in parts)
        if not first or not second or first == second:
            return broken(0.7, "the two responses say the same", [parts[1]])
        return followed("two different responses")
