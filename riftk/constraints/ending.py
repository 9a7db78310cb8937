"""How a text begins and ends."""

from __future__ import annotations

from typing import ClassVar

from .base import Constraint, Verdict, broken, constraint, followed
from .language import MIN_LETTERS, vacuous
from .text import Text, letter_count, prose, says_something

_ZERO_WIDTH = (*range(0x200B, 0x2010), *range(0x2060, 0x2065), 0xFEFF, 0xAD)
_HYPHENS = dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2212", "-")
_QUOTES = {"‘": "'", "’": "'", "“": '"', "”": '"'}
_LOOKS = dict.fromkeys(_ZERO_WIDTH) | str.maketrans(_HYPHENS | _QUOTES)
_WRAPPING = " \"'“”‘’`*_)"


def normalised(text: str) -> str:
    """What looks the same written the same: plain hyphens and quotes, single blanks, nothing invisible."""
    if not text.isascii():
        text = text.translate(_LOOKS)
    return " ".join(text.split())


def ending_score(text: str, phrase: str) -> float:
    """How nearly a normalised text ends with a phrase: words after it, its case, what of it is there."""
    at = text.lower().rfind(phrase.lower())
    if at >= 0:
        after = len(text[at + len(phrase) :].split())
        same_case = text.startswith(phrase, at)
        return (0.9 if same_case else 0.8) / (1 + after)
    longest = min(len(phrase), len(text))
    common = next(
        (k for k in range(longest, 0, -1) if text.endswith(phrase[:k]) or text.endswith(phrase[-k:])), 0
    )
    return 0.5 * common / len(phrase)


def last_words(raw: str, length: int) -> tuple[int, int]:
    """Span of the end of a text, about `length` characters from a word's beginning on."""
    end = len(raw.rstrip())
    start = max(end - length, 0)
    while start > 0 and not raw[start - 1].isspace() and end - start < 2 * length:
        start -= 1
    return start, end


@constraint("startend:end_checker")
class EndChecker(Constraint):
    """The text ends with a phrase, letter for letter; markup and quotation marks around it do not matter."""

    wording: ClassVar[tuple[str, ...]] = (
        'When {acting}, finish your response with this exact phrase "{end_phrase}". '
        "No other {text} words should follow this phrase.",
        'End your {text} with exactly these words: "{end_phrase}". Write nothing after them.',
        'The very last words of your {text} must be "{end_phrase}".',
        'Close your {text} with the phrase "{end_phrase}" and add nothing behind it.',
        'Make sure that your {text} ends with "{end_phrase}", word for word.',
        'Your {text} has to finish with "{end_phrase}"; no further words may come after it.',
    )

    end_phrase: str

    def validate(self) -> None:
        valid = isinstance(self.end_phrase, str) and says_something(self.end_phrase)
        self.require(valid, "end_phrase", "a phrase with at least one word")

    def robust(self, text: Text) -> Verdict:
        if (empty := vacuous(text, self.target)) is not None:
            return empty
        said, phrase = text.once(normalised), normalised(self.end_phrase)
        stripped = _WRAPPING + ".!" if phrase[-1].isalnum() else _WRAPPING
        body = said if said.endswith(phrase) else said.rstrip(stripped)
        if not body.endswith(phrase):
            last = last_words(text.raw, len(self.end_phrase))
            return broken(
                ending_score(body, phrase),
                f"ends with {text.raw[slice(*last)][-60:]!r} instead of {self.end_phrase!r}",
                [last],
            )
        before = body[: -len(phrase)]
        if before[-1:].isalnum() and phrase[0].isalnum():
            return broken(
                0.95, f"{self.end_phrase!r} is glued to the word before it", [last_words(text.raw, 1)]
            )
        enough = says_something(before)
        if self.target == "reasoning":
            enough = letter_count(prose(before)) >= MIN_LETTERS
        if not enough:
            return broken(0.3, "there is nothing before the phrase", [last_words(text.raw, len(phrase))])
        return followed(f"ends with {self.end_phrase!r}")
