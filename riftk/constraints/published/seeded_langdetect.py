"""What `langdetect.detect` says with `DetectorFactory.seed = 0`, at every call, and several times faster.

MathIF and IFEval ask langdetect, which draws n-grams of the text at random; unseeded, its answer for short
texts changes from call to call. Profiles and character tables are those of the langdetect package. Only the
walk over them is done here, with differences that leave every bit of the result unchanged: the n-grams of a
word are looked up once and remembered, and the n-grams drawn between two looks at the probabilities are
multiplied in one go.
"""

from __future__ import annotations

import json
import random
import re
import threading
from bisect import bisect_right
from collections.abc import Iterable
from functools import cache
from importlib.util import find_spec
from itertools import accumulate
from pathlib import Path
from typing import Any

SEED = 0
_TRIALS = 7
_ALPHA, _ALPHA_WIDTH = 0.5, 0.05
_BASE_FREQUENCY = 10000
_CONVERGED = 0.99999
_MOST_DRAWS = 1000
_DRAWS_PER_LOOK = 5
_LEAST_PROBABILITY = 0.1
_LONGEST_TEXT = 10000
_LONGEST_KEPT_WORD = 30
_MOST_KEPT_WORDS = 50_000

_URL = re.compile(r"https?://[-_.?&~;+=/#0-9A-Za-z]{1,2076}")
_MAIL = re.compile(r"[-_.0-9A-Za-z]{1,64}@[-_0-9A-Za-z]{1,255}[-_.0-9A-Za-z]{1,255}")
_LATIN = re.compile("[A-z]+")
_NOT_LATIN = re.compile("[\u0300-\u1dff\u1f00-\U0010ffff]+")

_Row = tuple[float, ...]  # probability of one n-gram in each language


class _Tables:
    """Profiles and character tables of the langdetect package, read once."""

    def __init__(self) -> None:
        spec = find_spec("langdetect")
        if spec is None or not spec.submodule_search_locations:
            raise ModuleNotFoundError(
                "the published language rules of MathIF and IFEval need langdetect's profiles: "
                "pip install langdetect"
            )
        from langdetect.utils.ngram import NGram

        self.vietnamese = NGram.normalize_vi
        self.characters = _Characters(NGram.normalize)
        folder = Path(spec.submodule_search_locations[0]) / "profiles"
        profiles = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.iterdir())]
        self.languages = [profile["name"] for profile in profiles]
        rows: dict[str, list[float]] = {}
        for index, profile in enumerate(profiles):
            for ngram, count in profile["freq"].items():
                row = rows.setdefault(ngram, [0.0] * len(profiles))
                if len(ngram) <= 3:
                    row[index] = count / profile["n_words"][len(ngram) - 1]
        rows.pop(" ", None)  # a blank alone is no n-gram
        self.words = _Words({ngram: tuple(row) for ngram, row in rows.items()})


class _Characters(dict[int, str]):
    """Table for `str.translate`, filled as characters occur."""

    def __init__(self, normalise: Any) -> None:
        self._normalise = normalise

    def __missing__(self, code: int) -> str:
        self[code] = self._normalise(chr(code))
        return self[code]


class _Words(dict[str, tuple[_Row, ...]]):
    """Profile rows of the n-grams of words that a blank follows, filled as words occur."""

    def __init__(self, rows: dict[str, _Row]) -> None:
        self._rows = rows

    def __missing__(self, word: str) -> tuple[_Row, ...]:
        found = self.ngrams(f" {word} ")
        if len(word) <= _LONGEST_KEPT_WORD:
            if len(self) >= _MOST_KEPT_WORDS:
                self.clear()
            self[word] = found
        return found

    def ngrams(self, padded: str) -> tuple[_Row, ...]:
        """Rows of the 1- to 3-grams that end behind the first character, which is the blank before a word.

        Inside a run of capitals nothing is counted.
        """
        ends: Iterable[int] = range(2, len(padded) + 1)
        if not padded[2:].islower():
            ends = (end for end in ends if not (padded[end - 1].isupper() and padded[end - 2].isupper()))
        find = self._rows.get
        return tuple(
            row
            for end in ends
            for start in (end - 1, end - 2, end - 3)
            if start >= 0 and (row := find(padded[start:end])) is not None
        )


_loading = threading.Lock()


@cache
def _load() -> _Tables:
    return _Tables()


def _tables() -> _Tables:
    with _loading:  # langdetect's own first use is not thread-safe (Mimino666/langdetect#65)
        return _load()


def _cleaned(text: str, tables: _Tables) -> str:
    if "http" in text:
        text = _URL.sub(" ", text)
    if "@" in text:
        text = _MAIL.sub(" ", text)
    text = text[: 2 * _LONGEST_TEXT]
    if not text.isascii():
        text = tables.vietnamese(text)  # composing halves it at most
    text = text[:_LONGEST_TEXT]
    if "  " in text:
        text = re.sub(" +", " ", text)
    if not text.isascii():
        foreign = sum(map(len, _NOT_LATIN.findall(text)))
        if foreign and 2 * sum(map(len, _LATIN.findall(text))) < foreign:
            text = _LATIN.sub("", text)
    return text.translate(tables.characters)


def detect(text: str) -> str | None:
    """Language code of a text as langdetect has it ("zh-cn", "unknown"); None where there are no features."""
    tables = _tables()
    *words, last = _cleaned(text, tables).split(" ")
    features = list(map(tables.words.__getitem__, words))
    features.append(tables.words.ngrams(f" {last}"))
    ends = list(accumulate(map(len, features)))
    if not ends[-1]:
        return None
    draw = random.Random(SEED)
    mean = [0.0] * len(tables.languages)
    for _ in range(_TRIALS):
        weight = (_ALPHA + draw.gauss(0.0, 1.0) * _ALPHA_WIDTH) / _BASE_FREQUENCY
        mean = [
            m + p / _TRIALS
            for m, p in zip(mean, _trial(draw, features, ends, weight, len(mean)), strict=True)
        ]
    best = max(range(len(mean)), key=mean.__getitem__)
    return tables.languages[best] if mean[best] > _LEAST_PROBABILITY else "unknown"


def _trial(
    draw: random.Random, features: list[tuple[_Row, ...]], ends: list[int], weight: float, languages: int
) -> list[float]:
    """Probabilities of the languages after drawing n-grams until one is almost certain."""
    count, bits = ends[-1], ends[-1].bit_length()

    def pick() -> _Row:
        """What `draw.choice` picks of all n-grams."""
        while (place := draw.getrandbits(bits)) >= count:
            pass
        word = bisect_right(ends, place)
        return features[word][place - ends[word]]  # counted from the end of the word's n-grams

    probabilities = _normalised([1.0 / languages * (weight + q) for q in pick()])
    for _ in range(_MOST_DRAWS // _DRAWS_PER_LOOK):
        if max(probabilities) > _CONVERGED:
            break
        rows = [pick() for _ in range(_DRAWS_PER_LOOK)]
        probabilities = _normalised(
            [
                p * (weight + a) * (weight + b) * (weight + c) * (weight + d) * (weight + e)
                for p, a, b, c, d, e in zip(probabilities, *rows, strict=True)
            ]
        )
    return probabilities


def _normalised(probabilities: list[float]) -> list[float]:
    total = sum(probabilities)
    return [p / total for p in probabilities]
