"""How many of NLTK's word tokens are in capitals, without NLTK.

MathIF and IFEval count `word.isupper()` over `nltk.word_tokenize(text)`: Punkt sentences, then the Treebank
tokenizer. What splits a token matters here only where letters stand on both sides, so a text can be counted
blank-separated piece by piece, and pieces repeat.

MathIF pins nltk 3.9.1; IFEval's harness takes the newest. Since 3.10 dashes divide words ("FIRST—SECOND" is
two) and an apostrophe is cut off before whole words ('TIS) but no more inside them (O'K).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from functools import lru_cache

# What an apostrophe is cut off from. 3.9: a letter alone, unless it may be a clitic: O'K, but not IT'S.
_CUT_OFF_39 = re.compile(r"(?i)'(?!re|ve|ll|m|t|s|d|n)(?=\w\b)")
_CUT_OFF_310 = re.compile(r"(?i)(?<!\w)'(?!(?:re|ve|ll|m|t|s|d|n)\b)(?=\w)")
_MARKS = r"«»“”‘’„`;@#$%&?!*\[\](){}<>\""
_SEPARATOR_39 = re.compile(rf"[{_MARKS}]|[:,](?!\d)|\.{{2,}}|--|''")
_SEPARATOR_310 = re.compile(rf"[{_MARKS}\u2012-\u2015]|[:,](?!\d)|\.{{2,}}|--|''")
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


def _counter(cut_off: re.Pattern[str], separator: re.Pattern[str]) -> Callable[[str], int]:
    """A function that counts the tokens in capitals of a text."""

    def capitals(piece: str) -> int:
        if piece.isalnum() and not _CONTRACTION.search(f"{piece} "):
            return int(piece.isupper())
        sentences = _SENTENCE_END.split(piece)
        if len(sentences) > 1:
            return sum(map(capitals, sentences))
        text = separator.sub(" ", cut_off.sub("' ", piece) + " ")
        text = _CLOSING_APOSTROPHE.sub(" ", _FINAL_PERIOD.sub(" ", f" {text} "))
        text = _LONG_CLITIC.sub(" ", _CLITIC.sub(" ", text))
        text = _CONTRACTION.sub(lambda match: f" {' '.join(filter(None, match.groups()))} ", text)
        return sum(map(str.isupper, _TIS.sub(r" \1 \2 ", text).split()))

    remembered = lru_cache(maxsize=50_000)(capitals)

    def count(text: str) -> int:
        return sum(
            times * (remembered if len(piece) <= _LONGEST_CACHED else capitals)(piece)
            for piece, times in Counter(text.split()).items()
            if not piece.islower()
        )

    return count


capital_tokens_39 = _counter(_CUT_OFF_39, _SEPARATOR_39)
"""Number of word tokens in capitals, of nltk 3.9.1."""

capital_tokens_310 = _counter(_CUT_OFF_310, _SEPARATOR_310)
"""Number of word tokens in capitals, of nltk 3.10."""
