"""What `langdetect.detect` says with `DetectorFactory.seed = 0`, at every call, and several times faster.

MathIF and IFEval ask langdetect, which draws n-grams of the text at random; unseeded, its answer for short
texts changes from call to call. Profiles and character tables are those of the langdetect package. Only the
walk over them is done here, with two differences that leave the result unchanged: the n-grams of a word are
looked up once and remembered, and only the n-grams that the draw picks are ever put together.
"""

from __future__ import annotations

import json
import random
import re
import threading
from bisect import bisect_right
from functools import cache, lru_cache
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
_LONGEST_CACHED_WORD = 30

_URL = re.compile(r"https?://[-_.?&~;+=/#0-9A-Za-z]{1,2076}")
_MAIL = re.compile(r"[-_.0-9A-Za-z]{1,64}@[-_0-9A-Za-z]{1,255}[-_.0-9A-Za-z]{1,255}")
_LATIN = re.compile("[A-z]")
_NOT_LATIN = re.compile("[\u0300-\u1dff\u1f00-\U0010ffff]")

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
        self.rows: dict[str, _Row] = {ngram: tuple(row) for ngram, row in rows.items()}


class _Characters(dict[int, str]):
    """Table for `str.translate`, filled as characters occur."""

    def __init__(self, normalise: Any) -> None:
        self._normalise = normalise

    def __missing__(self, code: int) -> str:
        self[code] = self._normalise(chr(code))
        return self[code]


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
    text = tables.vietnamese(text[: 2 * _LONGEST_TEXT])[:_LONGEST_TEXT]  # composing halves it at most
    text = re.sub(" +", " ", text)
    if 2 * len(_LATIN.findall(text)) < len(_NOT_LATIN.findall(text)):
        text = _LATIN.sub("", text)
    return text.translate(tables.characters)


def _ngrams(word: str, ended: bool) -> tuple[_Row, ...]:
    """Profile rows of the 1- to 3-grams of a word. Inside a run of capitals nothing is counted.

    The blank before the word belongs to its n-grams; the one after it does when the word has `ended`.
    """
    rows = _tables().rows
    padded = f" {word} " if ended else f" {word}"
    found = []
    for end in range(2, len(padded) + 1):
        if padded[end - 1].isupper() and padded[end - 2].isupper():
            continue
        for length in range(1, min(3, end) + 1):
            ngram = padded[end - length : end]
            if ngram != " " and ngram in rows:
                found.append(rows[ngram])
    return tuple(found)


_remembered_ngrams = lru_cache(maxsize=50_000)(_ngrams)


def detect(text: str) -> str | None:
    """Language code of a text as langdetect has it ("zh-cn", "unknown"); None where there are no features."""
    tables = _tables()
    words = _cleaned(text, tables).split(" ")
    last = len(words) - 1
    features = [
        (_remembered_ngrams if len(word) <= _LONGEST_CACHED_WORD else _ngrams)(word, index < last)
        for index, word in enumerate(words)
        if word
    ]
    ends = list(accumulate(map(len, features)))
    if not ends or not ends[-1]:
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
    probabilities = [1.0 / languages] * languages
    places = range(ends[-1])
    for drawn in range(_MOST_DRAWS + 1):
        place = draw.choice(places)
        word = bisect_right(ends, place)
        row = features[word][place - ends[word]]  # counted from the end of the word's n-grams
        probabilities = [p * (weight + q) for p, q in zip(probabilities, row, strict=True)]
        if drawn % _DRAWS_PER_LOOK == 0:
            total = sum(probabilities)
            probabilities = [p / total for p in probabilities]
            if max(probabilities) > _CONVERGED:
                break
    return probabilities
