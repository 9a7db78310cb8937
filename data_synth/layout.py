r"""Lay a text out otherwise, its words as they are: bullets, sections, highlights, capital words, quotation.

>>> as_bullets("First we add. Then we halve. So it is 4.", 2)
'* First we add.\n* Then we halve. So it is 4.'
>>> highlighted("First we add. So it is 4.", 2, "*")
'**First we add**. *So it is* 4.'
"""

from __future__ import annotations

import itertools
import random
import re

from riftk.constraints.markdown import highlight_spans
from riftk.constraints.text import regions

from .errors import Rejected
from .segments import pieces, segments

_MARKER = re.compile(r"^([^\S\n]*)[*+-](?=[^\S\n]+\S)", re.MULTILINE)
# What the published evaluators take for a bullet point, and what is left of list markers and rules.
_LIKE_A_BULLET = re.compile(r"^[^\S\n]*(?:-|\*[^*])", re.MULTILINE)
_PHRASE = re.compile(r"(?<![\w\\])[^\W\d_]{2,}(?:[^\S\n][^\W\d_]{2,}){0,3}(?!\w)")
_CAPITAL_CANDIDATE = re.compile(r"(?<![\w\\'’-])[a-z]{4,}(?![\w'’-])")
_UNITS = frozenset(("sqrt", "frac", "mods", "sinh", "cosh", "tanh"))  # words of mathematics, not of prose
_STRAIGHT = re.compile(r'"')


def _groups(text: str, count: int) -> list[str]:
    """The sentences of a text in so many parts of about the same number."""
    parts = pieces(text)
    if len(parts) < count:
        raise Rejected("too few steps to divide", f"{len(parts)} for {count}")
    bounds = [place * len(parts) // count for place in range(count + 1)]
    return ["".join(parts[a:b]).strip() for a, b in itertools.pairwise(bounds)]


def room_for_blocks(text: str) -> int:
    """How many bullet points or sections a text can be divided into."""
    return len(pieces(text))


def as_bullets(text: str, count: int) -> str:
    """The text as exactly `count` bullet points, each of whole sentences.

    Raises:
        Rejected: too few sentences, or lines inside it that would read as further points.
    """
    plain = _without_markers(text)
    if line := _LIKE_A_BULLET.search(plain):
        raise Rejected("a line would read as a bullet point", plain[line.start() : line.start() + 40])
    groups = _groups(plain, count)
    # "* *So* it is" would be read as the emphasis of a blank.
    marker = "-" if any(group.startswith("*") for group in groups) else "*"
    return "\n".join(f"{marker} {group}" for group in groups)


def _without_markers(text: str) -> str:
    """List markers that the text has become •, which no evaluator counts."""
    code = [(region.start, region.end) for region in regions(text)]
    return _MARKER.sub(
        lambda match: match.group() if any(a <= match.start() < b for a, b in code) else f"{match.group(1)}•",
        text,
    )


def in_sections(text: str, word: str, count: int) -> str:
    """The text in `count` sections, each under a heading of the section's word and its number.

    Raises:
        Rejected: too few sentences, or the text numbers something by this word already.
    """
    if found := re.search(rf"{re.escape(word)}\s*\d", text):
        raise Rejected("the section word stands in the text already", found.group())
    groups = _groups(text, count)
    return "\n\n".join(f"{word} {number}\n{group}" for number, group in enumerate(groups, 1))


def _highlightable(text: str) -> list[tuple[int, int]]:
    """The first few words of each sentence that has no emphasis yet, outside formulas and code."""
    hidden = [(part.start, part.end) for part in segments(text) if part.kind != "prose"]
    marked = highlight_spans(text)
    found, start = [], 0
    for piece in pieces(text):
        end = start + len(piece)
        if not any(a < end and start < b for a, b in marked):
            for match in _PHRASE.finditer(text, start, end):
                if not any(a < match.end() and match.start() < b for a, b in hidden):
                    found.append(match.span())
                    break
        start = end
    return found


def room_for_highlights(text: str) -> int:
    """How many highlighted passages a text has or can be given."""
    return len(highlight_spans(text)) + len(_highlightable(text))


def highlighted(text: str, count: int, mark: str) -> str:
    """The text with at least `count` passages between two `mark`s, sentences apart from each other.

    Raises:
        Rejected: too few sentences that can have one.
    """
    needed = count - len(highlight_spans(text))
    if needed <= 0:
        return text
    places = _highlightable(text)
    if len(places) < needed:
        raise Rejected("too few passages to highlight", f"{len(places)} for {needed}")
    for number in reversed(range(needed)):
        start, end = places[number * len(places) // needed]
        opens_line = not text[:start].rpartition("\n")[2].strip()
        around = "**" if opens_line else mark  # a line that begins with one star may pass for a list item
        text = f"{text[:start]}{around}{text[start:end]}{around}{text[end:]}"
    return text


def _capital_places(text: str) -> list[tuple[int, int]]:
    prose = [part for part in segments(text) if part.kind == "prose"]
    return [
        match.span()
        for part in prose
        for match in _CAPITAL_CANDIDATE.finditer(text, part.start, part.end)
        if match.group() not in _UNITS
    ]


def room_for_capital_words(text: str) -> int:
    """How many words of the prose can be put in capitals: English words of four letters and more."""
    return len(_capital_places(text))


def with_capital_words(text: str, count: int, draws: random.Random) -> str:
    """The text with `count` of its words in capitals, drawn among those that stand for no quantity."""
    places = _capital_places(text)
    for start, end in draws.sample(places, min(count, len(places))):
        text = text[:start] + text[start:end].upper() + text[end:]
    return text


def quoted(text: str) -> str:
    """The text in double quotation marks; those inside become typographic ones, which do not close it. What
    begins with a bullet point begins on a line of its own, or that would be none.

    Raises:
        Rejected: quotation marks in code or formulas, for inches, or of LaTeX.
    """
    out = []
    for part in segments(text.strip()):
        if part.kind != "prose" and '"' in part.text:
            raise Rejected(f"quotation marks inside {part.kind}", part.text[:80])
        out.append(part.text)
    inner = "".join(out)
    if found := re.search(r'(?:\d|\\)"', inner):
        raise Rejected("a quotation mark with a meaning of its own", inner[max(0, found.start() - 10) :][:40])

    def typographic(match: re.Match[str]) -> str:
        before = inner[match.start() - 1 : match.start()]
        return "“" if not before or before.isspace() or before in "([{“—-" else "”"

    opening = '"\n' if _LIKE_A_BULLET.match(inner) else '"'
    return f'{opening}{_STRAIGHT.sub(typographic, inner)}"'


def behind_request(text: str, request: str) -> str:
    """The request word for word, then the text."""
    return text if text.startswith(request) else f"{request}\n\n{text}"
