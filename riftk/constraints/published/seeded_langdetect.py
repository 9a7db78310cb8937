"""What `langdetect.detect` says with `DetectorFactory.seed = 0`, at every call, and many times faster.

MathIF and IFEval ask langdetect, which draws n-grams of the text at random; unseeded, its answer for short
texts changes from call to call. Profiles and character profiles are those of the langdetect package. Only the
walk over them is done here, and every n-gram is drawn that langdetect draws: the n-grams of a word are looked
up once and remembered, and many draws are multiplied at a time. Probabilities differ from langdetect's by
rounding alone (1e-15).
"""

from __future__ import annotations

import json
import math
import random
import re
import sys
import threading
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

SEED = 0
_TRIALS = 7
_ALPHA, _ALPHA_WIDTH = 0.5, 0.05
_BASE_FREQUENCY = 10000
_CONVERGED = 0.99999
_MOST_DRAWS = 1000
_DRAWS_PER_LOOK = 5
_LOOKS_AT_ONCE = 10  # so few that no product of their 50 factors, each above 3e-5 of the largest, is zero
_LEAST_PROBABILITY = 0.1
_LONGEST_TEXT = 10000
_GOLDEN = 0x9E3779B97F4A7C15

_URL = re.compile(r"https?://[-_.?&~;+=/#0-9A-Za-z]{1,2076}")
_MAIL = re.compile(r"[-_.0-9A-Za-z]{1,64}@[-_0-9A-Za-z]{1,255}[-_.0-9A-Za-z]{1,255}")
_LATIN = re.compile("[A-z]+")
_NOT_LATIN = re.compile("[\u0300-\u1dff\u1f00-\U0010ffff]+")
_NOT_A_TO_Z = bytes(code for code in range(128) if not 65 <= code <= 122)  # A-z, as _LATIN has it


class _Profiles:
    """Profiles and character tables of the langdetect package, read once."""

    def __init__(self) -> None:
        import numpy as np

        spec = find_spec("langdetect")
        if spec is None or not spec.submodule_search_locations:
            raise ModuleNotFoundError(
                "the published language rules of MathIF and IFEval need langdetect's profiles: "
                "pip install langdetect"
            )
        from langdetect.utils.ngram import NGram

        self.vietnamese_marks, self.vietnamese = tuple(NGram.DMARK_CLASS), NGram.normalize_vi
        folder = Path(spec.submodule_search_locations[0]) / "profiles"
        profiles = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.iterdir())]
        self.languages = [profile["name"] for profile in profiles]
        ngrams = sorted(
            {ngram for profile in profiles for ngram in profile["freq"] if len(ngram) <= 3} - {" "}
        )
        self.characters = _Characters(ngrams, NGram.normalize)
        self._places = _Places([self.characters.key(ngram) for ngram in ngrams])
        places = {ngram: place for place, ngram in enumerate(ngrams)}
        self.frequencies = np.zeros((len(ngrams), len(profiles)))  # [place of an n-gram, language]
        for language, profile in enumerate(profiles):
            for ngram, count in profile["freq"].items():
                if ngram in places:
                    self.frequencies[places[ngram], language] = count / profile["n_words"][len(ngram) - 1]

    def ngrams(self, text: str) -> np.ndarray:
        """Places of the 1- to 3-grams of a text that occur in a profile, in langdetect's order.

        They reach over no blank; inside a run of capitals none is counted.
        """
        import numpy as np

        numbers, capital = self.characters.read(" " + text)
        last, before, second = numbers[1:], numbers[:-1], np.append(numbers[0], numbers[:-2])
        many = np.uint64(self.characters.many)
        keys = np.empty((len(last), 3), np.uint64)
        keys[:, 0] = last
        keys[:, 1] = before * many + last
        keys[:, 2] = second * (many * many) + keys[:, 1]
        keys[before == self.characters.blank, 2] = 0
        in_run = capital[1:] & capital[:-1]
        return self._places.find((keys[~in_run] if in_run.any() else keys).ravel())


class _Characters:
    """Numbers of the characters that occur in n-grams, after langdetect's normalisation of a character.

    Attributes:
        many: one more than the greatest number, which is that of all characters that occur in none.
        blank: the number of a blank.
    """

    def __init__(self, ngrams: list[str], normalise: Callable[[str], str]) -> None:
        import numpy as np

        known = sorted({character for ngram in ngrams for character in ngram})
        self._known = {character: number for number, character in enumerate(known, 1)}
        self.blank, self.many = self._known[" "], len(known) + 2
        self._normalise = normalise
        self._numbers = np.zeros(sys.maxunicode + 1, np.uint64)  # filled as characters occur
        self._capital = np.zeros(sys.maxunicode + 1, bool)

    def key(self, ngram: str) -> int:
        """A number of its own for an n-gram."""
        key = 0
        for character in ngram:
            key = key * self.many + self._known[character]
        return key

    def read(self, text: str) -> tuple[np.ndarray, np.ndarray]:
        """Number of each character of a text, and whether it is a capital letter."""
        import numpy as np

        codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4")
        numbers = self._numbers[codes]
        if not numbers.all():
            for code in set(codes[numbers == 0].tolist()):
                character = self._normalise(chr(code))
                self._capital[code] = character.isupper()
                self._numbers[code] = self._known.get(character, self.many - 1)
            numbers = self._numbers[codes]
        return numbers, self._capital[codes]


class _Places:
    """Finds many numbers in a list at a time: a hash table, and smaller ones for what collides in it."""

    def __init__(self, keys: list[int]) -> None:
        import numpy as np

        self._keys = np.array(keys, np.uint64)
        self._tables: list[np.ndarray] = []
        left = np.arange(len(keys), dtype=np.int32)
        while len(left):
            table = np.zeros(1 << (len(left).bit_length() + 4), np.int32)
            slots = _slots(self._keys[left], len(table), level=len(self._tables))
            table[slots] = left
            self._tables.append(table)
            left = left[table[slots] != left]

    def find(self, keys: np.ndarray) -> np.ndarray:
        """Places in the list, in order; what is not in it is left out."""
        import numpy as np

        left, places = np.arange(len(keys)), np.empty(len(keys), np.int32)
        for level, table in enumerate(self._tables):
            places[left] = found = table[_slots(keys[left], len(table), level)]
            left = left[self._keys[found] != keys[left]]
        places[left] = -1
        return places[places >= 0]


def _slots(keys: np.ndarray, size: int, level: int) -> np.ndarray:
    """Multiplicative hashing (Knuth, section 6.4) into a table whose size is a power of two."""
    import numpy as np

    factor = (_GOLDEN + (level << 21)) % (1 << 64)
    slots = keys * np.uint64(factor)
    slots >>= np.uint64(65 - size.bit_length())
    return slots


class _Draws:
    """What `random.Random(SEED)` gives to `gauss` and `choice`, many choices at a time.

    Python's generator gives a sequence of 32-bit numbers, of which its methods take one after the other.
    """

    def __init__(self) -> None:
        self._numbers = _random_numbers()
        self._place = 0
        self._next_gauss: float | None = None

    def gauss(self) -> float:
        """The next `gauss(0, 1)`; they come in pairs."""
        if (second := self._next_gauss) is not None:
            self._next_gauss = None
            return second
        angle, radius = 2 * math.pi * self._random(), math.sqrt(-2 * math.log(1 - self._random()))
        self._next_gauss = math.sin(angle) * radius
        return math.cos(angle) * radius

    def _random(self) -> float:
        high, low = (int(number) for number in self._numbers[self._place : self._place + 2])
        self._place += 2
        return ((high >> 5) * 67108864 + (low >> 6)) / 9007199254740992

    def upcoming(self, count: int, many: int) -> tuple[np.ndarray, np.ndarray]:
        """The next `many` choices among `count`, and how much of the sequence is used after each."""
        import numpy as np

        bits, window = count.bit_length(), 2 * many + 40
        while True:
            numbers = self._numbers[self._place : self._place + window] >> (32 - bits)
            accepted = np.flatnonzero(numbers < count)[:many]
            if len(accepted) == many:
                return numbers[accepted], accepted + (self._place + 1)
            window *= 2

    def use(self, place: int) -> None:
        """Go on at a place of the sequence that `upcoming` named."""
        self._place = place


@cache
def _random_numbers() -> np.ndarray:
    """Four times as many as seven trials of 1,000 draws need when every other number is refused."""
    import numpy as np

    many = 1 << 16
    numbers = random.Random(SEED).getrandbits(32 * many).to_bytes(4 * many, "little")
    return np.frombuffer(numbers, "<u4")


_loading = threading.Lock()


@cache
def _load() -> _Profiles:
    return _Profiles()


def _profiles() -> _Profiles:
    with _loading:  # langdetect's own first use is not thread-safe (Mimino666/langdetect#65)
        return _load()


def _cleaned(text: str, profiles: _Profiles) -> str:
    """The text without addresses, cut, and without Latin letters where others prevail.

    langdetect also makes one of several blanks, which changes no n-gram.
    """
    if "http" in text:
        text = _URL.sub(" ", text)
    if "@" in text:
        text = _MAIL.sub(" ", text)
    text = text[: 2 * _LONGEST_TEXT]
    if any(mark in text for mark in profiles.vietnamese_marks):
        text = profiles.vietnamese(text)  # composing halves it at most
    text = text[:_LONGEST_TEXT]
    ascii_part = text.encode("ascii", "ignore")
    latin = len(ascii_part.translate(None, _NOT_A_TO_Z))
    if 2 * latin < len(text) - len(ascii_part) and 2 * latin < sum(map(len, _NOT_LATIN.findall(text))):
        text = _LATIN.sub("", text)
    return text


def detect(text: str) -> str | None:
    """Language code of a text as langdetect has it ("zh-cn", "unknown"); None where there are no features."""
    profiles = _profiles()
    ngrams = profiles.ngrams(_cleaned(text, profiles))
    if not len(ngrams):
        return None
    draws = _Draws()
    mean = sum(_trial(draws, ngrams, profiles.frequencies) / _TRIALS for _ in range(_TRIALS))
    best = int(mean.argmax())
    return profiles.languages[best] if mean[best] > _LEAST_PROBABILITY else "unknown"


def _trial(draws: _Draws, ngrams: np.ndarray, frequencies: np.ndarray) -> np.ndarray:
    """Probabilities of the languages after drawing n-grams until one is almost certain.

    langdetect looks at them after the first n-gram and after each five more.
    """
    weight = (_ALPHA + draws.gauss() * _ALPHA_WIDTH) / _BASE_FREQUENCY
    choice, after = draws.upcoming(len(ngrams), 1)
    draws.use(after[0])
    probabilities = frequencies[ngrams[choice[0]]] + weight
    probabilities /= probabilities.sum()
    for _ in range(_MOST_DRAWS // (_DRAWS_PER_LOOK * _LOOKS_AT_ONCE)):
        if probabilities.max() > _CONVERGED:
            break
        choices, after = draws.upcoming(len(ngrams), _DRAWS_PER_LOOK * _LOOKS_AT_ONCE)
        factors = frequencies[ngrams[choices]] + weight
        looks = factors.reshape(_LOOKS_AT_ONCE, _DRAWS_PER_LOOK, -1).prod(axis=1)
        looks /= looks.max(axis=1, keepdims=True)
        looks[0] *= probabilities
        looks = looks.cumprod(axis=0)
        looks /= looks.sum(axis=1, keepdims=True)
        sure = looks.max(axis=1) > _CONVERGED
        last = int(sure.argmax()) if sure.any() else _LOOKS_AT_ONCE - 1
        draws.use(after[_DRAWS_PER_LOOK * (last + 1) - 1])
        probabilities = looks[last]
    return probabilities
