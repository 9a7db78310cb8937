"""Where the offending places of a verdict lie in the text that a reader is shown.

A verdict's spans are offsets into the text that its rulebook read. The reader sees the reasoning and the
response as riftk splits them, so spans are moved there, past answer tags and blanks that were stripped.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence

from riftk.grading import answer_tags

Span = tuple[int, int]


def place(spans: Iterable[Sequence[int]], judged: str, shown: str) -> list[Span] | None:
    """Move spans of the judged text into the shown one, merged and in order.

    Returns:
        None where the judged text is no part of the shown one, nor the shown one of it, so that no offset of
        one means anything in the other.
    """
    for holes in (answer_tags(shown), []):  # published evaluators leave the tags in
        kept = _between(holes, len(shown))
        bare = "".join(shown[start:end] for start, end in kept)
        shift = _shift(judged, bare)
        if shift is not None:
            limit = len(bare)
            moved = ((max(start + shift, 0), min(end + shift, limit)) for start, end in spans)
            return merged(part for start, end in moved for part in _spread(start, end, kept))
    return None


def merged(spans: Iterable[Span]) -> list[Span]:
    """Spans in order, those that touch or overlap made one; empty ones left out."""
    result: list[Span] = []
    for start, end in sorted(span for span in spans if span[0] < span[1]):
        if result and start <= result[-1][1]:
            result[-1] = (result[-1][0], max(result[-1][1], end))
        else:
            result.append((start, end))
    return result


def shorten(text: str, longest: int, spans: Sequence[Span] = ()) -> tuple[str, list[Span]]:
    """The beginning and the end of a long text, which are what an instruction is mostly about, and the spans
    that are left in them."""
    if len(text) <= longest:
        return text, list(spans)
    head, tail = 2 * longest // 3, longest // 3
    note = f"\n[… {len(text) - head - tail} characters left out …]\n"
    cut = len(text) - tail
    shift = head + len(note) - cut
    left = [(start, min(end, head)) for start, end in spans if start < head]
    left += [(max(start, cut) + shift, end + shift) for start, end in spans if end > cut]
    return f"{text[:head]}{note}{text[cut:]}", left


def utf16(spans: Iterable[Span], text: str) -> list[Span]:
    """Offsets as JavaScript counts them, where a character beyond U+FFFF has two places."""
    if not text or max(text) <= "\uffff":
        return list(spans)
    wide = [place for place, character in enumerate(text) if character > "\uffff"]
    return [(start + bisect_left(wide, start), end + bisect_left(wide, end)) for start, end in spans]


def _shift(judged: str, shown: str) -> int | None:
    """How far offsets move from one text to the other, of which one holds the other."""
    if judged in shown:
        return shown.index(judged)
    return -judged.index(shown) if shown.strip() and shown in judged else None


def _between(holes: Sequence[Span], length: int) -> list[Span]:
    """What is left of a text of some length without its holes."""
    edges = [0, *(edge for hole in holes for edge in hole), length]
    return list(zip(edges[::2], edges[1::2], strict=True))


def _spread(start: int, end: int, kept: Sequence[Span]) -> list[Span]:
    """A span of the kept parts, put end to end, as spans of the whole text."""
    found, offset = [], 0
    for left, right in kept:
        first, last = max(start, offset), min(end, offset + right - left)
        if first < last:
            found.append((first - offset + left, last - offset + left))
        offset += right - left
    return found
