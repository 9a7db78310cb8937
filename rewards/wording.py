"""The guard on wording: no language, random or disguised letters, lists of words, words without blanks."""

from __future__ import annotations

import codecs
import re

from riftk.constraints.languages import identify
from riftk.constraints.text import HAN, HANGUL, KANA, UNSPACED, prose

from .lexicon import JOINING
from .sample import EXAMINED_CHARS, Sample

_ENOUGH_WORDS = 25
_MANY_WORDS = 40  # of a response, which may list terms
_SOME_WORDS = 12
_FEWEST_JOINING = 0.08
_SURELY_JOINED = 0.25  # English prose, whose language need not be identified
_WORD = re.compile(r"[^\W\d_]{2,}")
_LONG_WORD = 24
_DENSE = re.compile(f"[{HAN}{KANA}{HANGUL}{UNSPACED}]")
_UNKNOWN_LANGUAGE = 0.15
_UNJOINED_LANGUAGE = 0.3  # without English particles; random letters reach 0.21, short honest texts 0.55
_GLUED = re.compile(r"\S{25,}")
_DIGITS_IN_WORD = re.compile(r"[A-Za-z]\d+[A-Za-z]|\d[A-Za-z]+\d")  # w0rd, 1e55: not 17th, 2x or x1
_HEXADECIMAL = re.compile(r"(?<!\w)[0-9a-f]{2}(?!\w)")
_ALNUM_WORD = re.compile(r"\w*[^\W\d_]\w*")
_LATIN_WORD = re.compile(r"(?<!\w)[A-Za-z]+(?!\w)")
_VOWEL = re.compile(r"[AEIOUYaeiouy]")
_OPERATOR = re.compile(r"[-+*/^=<>_\\]")  # formulas have letters of their own
_SINGLE_LETTERS = re.compile(r"(?<!\w)(?:[^\W\d_] ){5,}")
_ONE_LETTER_WORD = re.compile(r"(?<!\w)([^\W\d_])\1{2,}(?!\w)", re.IGNORECASE)


def gibberish(sample: Sample) -> str | None:
    """Random or disguised letters, lists of words that no sentence joins, words without blanks."""
    if (reason := _disguised(sample.response[:EXAMINED_CHARS])) is not None:
        return f"the response holds {reason}"
    words = _WORD.findall(prose(sample.response[:EXAMINED_CHARS]))
    if len(words) >= _MANY_WORDS and (reason := _no_language([word.lower() for word in words])) is not None:
        return f"the response is {reason}"
    if not sample.thinks:
        return None
    said = sample.said[:EXAMINED_CHARS]
    plain = prose(said)
    if (reason := _disguised(plain)) is not None:
        return f"the trace holds {reason}"
    words = _WORD.findall(plain)
    letters = sum(map(len, words))
    glued = sum(len(word) for word in words if len(word) > _LONG_WORD and not _DENSE.search(word))
    glued += sum(_joins(token) * len(token) for token in _GLUED.findall(said))
    if glued > 0.3 * max(letters, 1):
        return "words without blanks between them"
    reason = _no_language([word.lower() for word in words])
    return reason and f"the trace is {reason}"


def _disguised(text: str) -> str | None:
    """Words spelt so that a checker does not know them: d1g1ts for letters, l e t t e r s apart, aaa bbb."""
    if len(set(map(str.lower, _ONE_LETTER_WORD.findall(text)))) > 2:  # part III alone is none
        return "words of one letter"
    if sum(map(len, _SINGLE_LETTERS.findall(text))) > 0.3 * len(text):
        return "letters one by one"
    if 3 * len(_HEXADECIMAL.findall(text)) > 0.8 * max(len(text), 30):
        return "hexadecimal codes"
    found = len(_DIGITS_IN_WORD.findall(text))
    if found > 3 and found > 0.2 * len(_ALNUM_WORD.findall(text)):
        return "digits inside words"
    words = _LATIN_WORD.findall(text)
    whole, operators = sum(len(word) > 2 for word in words), len(_OPERATOR.findall(text))
    if len(words) >= _SOME_WORDS and whole < 0.15 * len(words) and 2 * operators < len(words):
        return "words cut short"
    longer = [word for word in words if len(word) > 2]
    if len(longer) >= _SOME_WORDS and sum(not _VOWEL.search(word) for word in longer) > 0.5 * len(longer):
        return "words without their vowels"
    return None


def _joins(token: str) -> bool:
    """Whether a token is several words without their blanks; a path or an address is none."""
    marks = token.count("_") + token.count("-") + token.count(".")
    return marks > (9 if "/" in token else 3)


def _coded(words: list[str]) -> str | None:
    """Whether lower-case words are English ones backwards or in rot13."""
    for name, change in (
        ("backwards", lambda word: word[::-1]),
        ("in rot13", lambda w: codecs.encode(w, "rot13")),
    ):
        if sum(change(word) in JOINING for word in words) > _SURELY_JOINED * len(words):
            return f"English words {name}"
    return None


def _no_language(words: list[str]) -> str | None:
    """What lower-case words are that make no sentence of any language; None where they make one."""
    if len(words) < _SOME_WORDS:
        return None
    joining = sum(word in JOINING for word in words) / len(words)
    if joining > _SURELY_JOINED:
        return None
    language, probability = identify(" ".join(words))[0]
    if joining < _FEWEST_JOINING and (reason := _coded(words)) is not None:
        return reason
    if len(words) < _ENOUGH_WORDS:
        return None
    if probability < (_UNKNOWN_LANGUAGE if joining >= _FEWEST_JOINING else _UNJOINED_LANGUAGE):
        return "in no language"
    if language == "la":
        return "placeholder text"
    if language == "en" and joining < _FEWEST_JOINING:
        return "a list of words that nothing joins"
    return None
