r"""Cut a trace into prose, formulas and code, or into sentences.

What a formula and what quoted code is, `riftk.constraints.text.regions` decides. A rewriter has to leave
more than that alone: listings and drawings, addresses, and a code fence that is never closed.

    >>> [(s.kind, s.text) for s in segments("It costs $5, so $x = 5$.")]
    [('prose', 'It costs $5, so '), ('formula', '$x = 5$'), ('prose', '.')]
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from riftk.constraints.text import blank, regions, sentences

Kind = Literal["prose", "formula", "code"]

_VERBATIM = re.compile(
    r"""
    ```.*?(?:```|\Z)
  | \[asy\].*?(?:\[/asy\]|\Z)
  | \\begin\{(?P<listing>verbatim|lstlisting|asy|minted|tikzpicture)\}.*?(?:\\end\{(?P=listing)\}|\Z)
  | \b(?:https?://|www\.)[^\s<>)\]`]+
    """,
    re.VERBOSE | re.DOTALL,
)
_MARKER = re.compile(r"\s*(?:[-*•#>]+|\(?\w{1,3}[.)])?\s*\Z")  # "1." and "-" are no sentences
_GOES_ON = re.compile(r"(?!\*{1,2}[A-Z])[a-z=+*/^<>)\]}.,;:!?]")  # "e.g. this", "5! = 120"; not "*So* it is"
_OPENING = re.compile(r"\A(?:\$\$|\$|\\\[|\\\()")
_CLOSING = re.compile(r"(?:\$\$|\$|\\\]|\\\))\Z")


@dataclass(frozen=True)
class Segment:
    """A piece of a text: `text[start:end]`, delimiters included."""

    kind: Kind
    start: int
    end: int
    text: str

    @property
    def body(self) -> str:
        """The text of a formula without its delimiters; an environment is left whole."""
        return _CLOSING.sub("", _OPENING.sub("", self.text))


def segments(text: str) -> list[Segment]:
    """Cut `text` into segments that, joined, give it back."""
    verbatim = [match.span() for match in _VERBATIM.finditer(text)]
    marked: list[tuple[int, int, Kind]] = [(start, end, "code") for start, end in verbatim]
    marked += [
        (region.start, region.end, "code" if region.kind == "code" else "formula")
        for region in regions(blank(text, verbatim))
    ]
    found: list[Segment] = []
    done = 0
    for start, end, kind in sorted(marked):
        if start < done:  # an address inside backticks, a drawing inside a formula
            continue
        if start > done:
            found.append(Segment("prose", done, start, text[done:start]))
        found.append(Segment(kind, start, end, text[start:end]))
        done = end
    if done < len(text):
        found.append(Segment("prose", done, len(text), text[done:]))
    return found


def pieces(text: str) -> list[str]:
    """Cut a text into sentences that, joined, give it back.

    A cut is not made inside formulas and code, after a colon or a list marker, nor before what goes on in
    lower case.
    """
    held = regions(text)
    cuts, following = [0], 0
    for start, _ in sentences(text)[1:]:
        while following < len(held) and held[following].end <= start:
            following += 1
        inside = following < len(held) and held[following].start < start
        piece = text[cuts[-1] : start]
        if inside or piece.rstrip().endswith(":") or _MARKER.match(piece) or _GOES_ON.match(text, start):
            continue
        cuts.append(start)
    ends = [*cuts[1:], len(text)]
    return [text[start:end] for start, end in zip(cuts, ends, strict=True)]
