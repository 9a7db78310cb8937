"""How many of NLTK's word tokens are in capitals, without NLTK.

MathIF counts `word.isupper()` over `nltk.word_tokenize(text)` (nltk 3.9.1: Punkt sentences, then the Treebank
tokenizer). What splits a token matters here only where letters stand on both sides, so a text can be counted
blank-separated piece by piece, and pieces repeat.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache

# A letter alone after an apostrophe is cut off, unless it may be a clitic: O'K, but not IT'S.
_LONE_LETTER = re.compile(r"(?i)'(?!re|ve|ll|m|t|s|d|n)(?=\w\b)")
_SEPARATOR = re.compile(r"[«»“”‘’„`;@#$%&?!*\[\](){}<>\"]|[:,](?!\d)|\.{2,}|--|''")
_FINAL_PERIOD = re.compile(r"(?<=[^.])\.(?=[' ]*$)")
_CLOSING_APOSTROPHE = re.compile(r"(?<=[^'])'(?= )")
_CLITIC = re.compile(r"(?<=[^' ])(?='[sSmMdD] )")
_LONG_CLITIC = re.compile(r"(?<=[^' ])(?=(?:'ll|'LL|'re|'RE|'ve|'VE|n't|N'T) )")
_CONTRACTION = re.compile(
    r"(?i)\b(?:(can)(not)|(d)('ye)|(gim)(me)|(gon)(na)|(got)(ta)|(lem)(me)|(more)('n)|(wan)(na)(?=\s))\b"
)
_TIS = re.compile(r"(?i)(?<= )('t)(is|was)\b")
_SENTENCE_END = re.compile(r"(?<=[?!])(?=['@:;(\[{*])|(?<=[^\W\d_][^\W_]\.)(?=['@:;(\[{*!?])")
_LONGEST_CACHED = 50


def _capitals(piece: str) -> int:
    if piece.isalnum() and not _CONTRACTION.search(piece):
        return int(piece.isupper())
    sentences = _SENTENCE_END.split(piece)
    if len(sentences) > 1:
        return sum(map(_capitals, sentences))
    text = _SEPARATOR.sub(" ", _LONE_LETTER.sub("' ", piece) + " ")
    text = _CLOSING_APOSTROPHE.sub(" ", _FINAL_PERIOD.sub(" ", f" {text} "))
    text = _LONG_CLITIC.sub(" ", _CLITIC.sub(" ", text))
    text = _CONTRACTION.sub(lambda match: f" {' '.join(filter(None, match.groups()))} ", text)
    return sum(map(str.isupper, _TIS.sub(r" \1 \2 ", text).split()))


_remembered = lru_cache(maxsize=50_000)(_capitals)


def capital_tokens(text: str) -> int:
    """Number of word tokens in capitals."""
    return sum(
        times * (_remembered if len(piece) <= _LONGEST_CACHED else _capitals)(piece)
        for piece, times in Counter(text.split()).items()
        if not piece.islower()
    )
