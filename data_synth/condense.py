"""Shorten a trace to a word limit by choosing whole sentences, never by cutting it off.

What has to stay: the sentence with the answer, the one with the last number, and, for every figure and every
letter that stands for one in them and is not in the question, the sentence in which it first came up, and so
on back. The rest is added while it fits, sentences that compute first.

    >>> trace = "Let me think about this. 3 boxes of 4 are 3 * 4 = 12. Nice. With 5 more, 12 + 5 = 17. So 17."
    >>> Outline.of(trace, answer="17", question="3 boxes of 4, and 5 more?").within(17)
    '3 boxes of 4 are 3 * 4 = 12. With 5 more, 12 + 5 = 17. So 17.'
"""

from __future__ import annotations

import re
from dataclasses import dataclass

# The word count of the published evaluator is another than that of a reader; a limit has to hold for both.
from riftk.constraints.published.shared import word_matches
from riftk.constraints.text import word_count

from .errors import Rejected
from .segments import pieces
from .survival import figures

_VARIABLE = re.compile(r"(?<![^\W\d_]|['’\\])[B-HJ-Zb-z](?![^\W\d_]|['’])")


def count_words(text: str) -> int:
    """The larger of the two word counts that a limit is judged by."""
    return max(word_count(text), len(word_matches(text)))


@dataclass(frozen=True)
class Outline:
    """A trace by sentences.

    Args:
        pieces: the sentences, blanks after them included.
        words: words of each.
        needs: for each sentence the places of those it rests on, its own among them.
        core: places of the sentences that have to stay.
    """

    pieces: tuple[str, ...]
    words: tuple[int, ...]
    needs: tuple[frozenset[int], ...]
    core: frozenset[int]

    @classmethod
    def of(cls, text: str, answer: str, question: str) -> Outline:
        """Find out what rests on what.

        Args:
            text: the trace.
            answer: what the response says; "" where it is not known.
            question: its figures are given and need no sentence that finds them.
        """
        parts = pieces(text)
        given = set(_symbols(question))
        first: dict[str, int] = {}
        needs: list[frozenset[int]] = []
        for place, part in enumerate(parts):
            rests_on = {place}
            for symbol in _symbols(part):
                origin = first.setdefault(symbol, place)
                if origin != place and symbol not in given:
                    rests_on |= needs[origin]
            needs.append(frozenset(rests_on))
        last = len(parts) - 1
        last_figure = max((place for place, part in enumerate(parts) if figures(part)), default=last)
        conclusion = _conclusion(parts, answer)
        words = tuple(count_words(part) for part in parts)
        return cls(tuple(parts), words, tuple(needs), needs[conclusion] | needs[last_figure])

    @property
    def total_words(self) -> int:
        return sum(self.words)

    @property
    def core_words(self) -> int:
        """Words of the sentences that have to stay: the limit must be above them."""
        return self._count(self.core)

    def within(self, limit: int) -> str:
        """The trace in fewer than `limit` words.

        Raises:
            Rejected: the sentences that have to stay do not fit.
        """
        if self.core_words >= limit:
            raise Rejected(
                "the sentences that the answer rests on do not fit the limit",
                f"{self.core_words} words; the limit is {limit}",
            )
        kept = set(self.core)
        used = self.core_words
        for place in sorted(range(len(self.pieces)), key=self._rank):
            added = self.needs[place] - kept
            extra = self._count(added)
            if added and used + extra < limit:
                kept |= added
                used += extra
        return "".join(self.pieces[place] for place in sorted(kept)).strip()

    def _count(self, places: frozenset[int]) -> int:
        return sum(self.words[place] for place in places)

    def _rank(self, place: int) -> tuple[int, int]:
        """Sentences that compute come first, then those with figures, then the others; earlier ones first."""
        piece = self.pieces[place]
        return (0 if "=" in piece else 1 if figures(piece) else 2), place


def _symbols(part: str) -> list[str]:
    """Figures, and single letters that may stand for one."""
    return figures(part) + _VARIABLE.findall(part)


def _conclusion(parts: list[str], answer: str) -> int:
    """The last sentence that says the answer: word for word, or else its last figure, or else the last."""
    said = re.compile(rf"(?<!\w){re.escape(answer)}(?!\w)") if answer else None
    figure = figures(answer)[-1:]
    literal = [place for place, part in enumerate(parts) if said and said.search(part)]
    numeric = [place for place, part in enumerate(parts) if figure and figure[0] in figures(part)]
    return (literal or numeric or [len(parts) - 1])[-1]
