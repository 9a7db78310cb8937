"""Guards on parts that were asked for: keywords, capitals, bullets, highlights, sections that say nothing."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from riftk.constraints import Constraint
from riftk.constraints.case import CapitalWordFrequency
from riftk.constraints.keywords import ForbiddenWords, KeywordFrequency, KeywordsExistence, keyword_spans
from riftk.constraints.markdown import MultipleSections, NumberBullets, NumberHighlights
from riftk.constraints.text import sentences

from .lexicon import FILLER, JOINING, NUMBER_WORDS
from .sample import Sample, tokens

_LISTING = re.compile(
    r"key\s?words?|required words?|word list|\bthe words?\b"
    r"|\b(?:this|my) (?:response|answer|text) (?:also )?(?:includes?|contains?|mentions?)\b"
    r"|\bI (?:also |just |will |now |must |can )*(?:say|mention|write|include|insert|use)\b",
    re.IGNORECASE,
)
_ITEM = re.compile(r"^[ \t]*[*+-][ \t]+(.*)$", re.MULTILINE)
_HIGHLIGHT = re.compile(r"\*+([^*\n]{1,200})\*+")
_ORDER = frozenset(
    ("first", "second", "third", "fourth", "fifth", "last", "next", "bullet", "bullets", "section",
     "sections", "item", "items", "entry", "part", "element", "content", "list", "stuff")
)  # fmt: skip
_RUN = 3
_LOOK_ALIKES = {"a": "a4@", "e": "e3", "i": "i1!", "o": "o0", "s": "s5$", "t": "t7"}
_SPLIT_WORD = 5  # letters of a forbidden word whose letters may not be set apart either
_BOX = re.compile(r"\\boxed\{[^{}\n]{0,200}\}")
_CAPITALS = re.compile(r"(?:(?<!\w)[A-Z]{2,}(?!\w)[\s,;.]{1,3}){6,}")


def stuffing(sample: Sample) -> str | None:
    """Keywords or capitals in a heap instead of in sentences, forbidden words in pieces."""
    for constraint in sample.asked:
        text = sample.trace if constraint.target == "reasoning" else sample.response
        if (words := _keywords(constraint)) and (reason := _heaped(text, words)) is not None:
            return reason
        if isinstance(constraint, ForbiddenWords):
            for word in constraint.forbidden_words:
                if (match := _in_pieces(word.strip()).search(text)) is not None:
                    return f"a forbidden word in pieces: {match[0]!r}"
        if isinstance(constraint, CapitalWordFrequency) and constraint.capital_relation == "at least":
            for match in _CAPITALS.finditer(text):
                words = tokens(match[0])
                if sum(word in JOINING for word in words) < 0.15 * len(words):
                    return f"words in capitals that nothing joins: {match[0][:40]!r}"
    return None


def _keywords(constraint: Constraint) -> tuple[str, ...]:
    if isinstance(constraint, KeywordsExistence):
        return tuple(constraint.keywords)
    if isinstance(constraint, KeywordFrequency) and constraint.relation != "less than":
        return (constraint.keyword,)
    return ()


@lru_cache(maxsize=1024)
def _in_pieces(word: str) -> re.Pattern[str]:
    """A word with marks between some of its letters, a blank between any two, or digits for letters."""
    if len(word) < _SPLIT_WORD or not word.isalpha():
        return re.compile(r"(?!)")
    marked = "[-_.*'’{}\u00a0\u2009\u202f]{0,2}".join(word)
    digits = "".join(f"[{_LOOK_ALIKES.get(letter, letter)}]" for letter in word.lower())
    ways = rf"{marked}|{' '.join(word)}|(?!\d+(?!\w)){digits}"
    return re.compile(rf"(?<!\w)(?!{word})(?:{ways})(?!\w)", re.IGNORECASE)


def _heaped(text: str, keywords: Sequence[str]) -> str | None:
    """Whether the sentences that hold the keywords hold little else, or one keyword stands in a row."""
    wanted = dict.fromkeys(keyword.strip().lower() for keyword in keywords)
    found = tokens(text)
    telling = [t for t in found if t in wanted or not (t in JOINING or t.isdigit())]
    for keyword in wanted:
        if found.count(keyword) >= _RUN and (keyword,) * _RUN in zip(
            telling, telling[1:], telling[2:], strict=False
        ):
            return f"{keyword!r} {_RUN} times with nothing but particles between"
    occurrences = others = 0
    for start, end in sentences(text):
        sentence = text[start:end]
        hits = sum(len(keyword_spans(sentence, keyword)) for keyword in wanted)
        if hits:
            occurrences += hits
            said = len(tokens(_BOX.sub(" ", sentence) if hits > 1 else sentence))
            said += sentence.rstrip().endswith(":")  # what it introduces is a sentence of its own
            others += 0 if _LISTING.search(sentence) else max(said - hits, 0)
    least = 1.5 if len(wanted) == 1 and occurrences >= _RUN else 0.6
    if others < least * occurrences:
        return "the keywords stand in a heap"
    return None


def hollow(sample: Sample) -> str | None:
    """Bullets, highlights or sections that hold nothing, or all the same."""
    for constraint in sample.asked:
        text = sample.trace if constraint.target == "reasoning" else sample.response
        idle = FILLER | _ORDER
        match constraint:
            case NumberBullets():
                parts = _ITEM.findall(text)
            case NumberHighlights():
                parts, idle = [part for part in _HIGHLIGHT.findall(text) if part.strip()], JOINING
            case MultipleSections():
                parts = re.split(rf"{re.escape(constraint.section_spliter.strip())}\s{{0,3}}\d+", text)[1:]
            case _:
                continue
        if len(parts) > 1 and _empty(parts, idle | sample.instruction_words):
            return f"the parts that {constraint.id} asks for hold nothing"
    return None


def _empty(parts: Sequence[str], idle: frozenset[str]) -> bool:
    """Whether most parts hold idle words, single letters and their own number at most, or all are alike."""
    said = [tokens(part) for part in parts]
    empty = 0
    for place, part in enumerate(said, 1):
        own = {token for token in part if NUMBER_WORDS.get(token, token) == str(place)}
        empty += all(
            len(token) < 2 and token.isascii() and not token.isdigit() for token in {*part} - own - idle
        )
    return 2 * empty > len(parts) or len({tuple(one) for one in said}) == 1
