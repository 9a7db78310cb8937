"""Argument values to draw from when constraints are composed: those of the benchmarks, and held-out ones.

Held-out values are for training: no constraint that is made of them stands in the published files of MathIF,
ReasonIF or IFEval. How it is done, for each argument:

- `keywords`, `forbidden_words`, `keyword`, `first_word`: other words. Counts and relations beside a new word
  are free, because the constraint is a new one anyway.
- `letter`: letters of which IFEval asks nothing; their counts are free.
- `end_phrase`, `section_spliter`, `postscript_marker`: other phrases, words and marks.
- `num_words`: other numbers of the same range.
- `num_bullets`, `num_highlights`, `num_placeholders`, `num_paragraphs`: numbers that no file asks for, which
  are mostly larger ones.
- `capital_frequency`, `num_sentences`: other pairs of a number and a relation.
- `language` of a response: the four of thirty of which no file asks.
- `language` of the reasoning: not held out. There are seven, and ReasonIF asks for all of them.
- `prompt_to_repeat`: the problem's own text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .languages import MATHIF_LANGUAGES, REASONIF_LANGUAGES
from .length import RELATIONS

Related = tuple[str, int]  # a relation and a number


@dataclass(frozen=True)
class Values:
    """Pools of argument values. What a rulebook does not have stays empty, and is not drawn.

    Args:
        keywords: words to be used or avoided; one that stands twice is drawn twice as often.
        words_per_list: how many of them `keywords` and `forbidden_words` hold.
        frequencies: of a keyword, with `RELATIONS`.
        word_limits: numbers of words.
        word_relations: "less than" and "at least", or None where the benchmark has no relation.
        bullets, highlights, sections, paragraphs, placeholders: counts.
        section_words: words that open a section.
        capitals, sentences: pairs of a relation and a count.
        letters: letters to be counted, with `letter_counts` and `RELATIONS`.
        end_phrases, postscripts: phrases that end a text, marks that open a postscript.
        languages: codes for `language:response_language`.
        reasoning_languages: codes for `language:reasoning_language`.
    """

    keywords: Sequence[str] = ()
    words_per_list: int = 2
    frequencies: Sequence[int] = ()
    word_limits: Sequence[int] = ()
    word_relations: Sequence[str | None] = RELATIONS
    bullets: Sequence[int] = ()
    highlights: Sequence[int] = ()
    sections: Sequence[int] = ()
    section_words: Sequence[str] = ()
    capitals: Sequence[Related] = ()
    end_phrases: Sequence[str] = ()
    languages: Sequence[str] = ()
    reasoning_languages: Sequence[str] = ()
    letters: Sequence[str] = ()
    letter_counts: Sequence[int] = ()
    paragraphs: Sequence[int] = ()
    placeholders: Sequence[int] = ()
    sentences: Sequence[Related] = ()
    postscripts: Sequence[str] = ()


# MathIF's word list (its public code): "because" and "function" stand in it twice.
_MATHIF_WORDS = (
    "above", "adjacent", "align", "answer", "bar", "because", "because", "between", "case", "choose",
    "condition", "configuration", "denote", "draw", "equal", "equation", "expression", "find", "follow",
    "formula", "function", "function", "furthermore", "given", "identical", "imply", "length", "maximum",
    "must", "note", "now", "number", "point", "possible", "problem", "question", "respectively", "root",
    "same", "see", "side", "similar", "simply", "since", "solution", "strategy", "than", "theorem",
    "therefore", "total", "valid", "value", "when", "where", "win", "yield",
)  # fmt: skip
_HELD_OUT_WORDS = (
    "add", "amount", "apply", "assume", "average", "combine", "common", "compare", "compute", "confirm",
    "consider", "constant", "convert", "correct", "decrease", "define", "direct", "double", "exactly",
    "factor", "final", "first", "fraction", "general", "half", "hence", "however", "indeed", "initial",
    "integer", "list", "measure", "method", "moreover", "multiply", "next", "obtain", "observe", "overall",
    "particular", "pattern", "product", "property", "quantity", "ratio", "recall", "rule", "second",
    "separate", "simple", "solve", "start", "statement", "substitute", "subtract", "sum", "suppose",
    "symbol", "term", "then", "thus", "unit", "unknown", "variable", "verify", "whole",
)  # fmt: skip

# Numbers of words that the published files ask for: MathIF, IFEval, ReasonIF.
# fmt: off
_PUBLISHED_WORD_LIMITS = frozenset((
    128, 208, 215, 223, 232, 259, 266, 298, 314, 331, 346, 375, 395, 401, 409, 411, 421, 435, 469, 486, 488,
    498, 499, 516, 548, 564, 570, 574, 628, 657, 681, 738, 749, 764, 780, 801, 802, 805, 835, 863, 864, 866,
    897, 923, 924, 930, 943, 963, 978, 982, 996, 999, 1016,
    20, 30, 31, 40, 46, 50, 100, 101, 121, 150, 151, 164, 200, 201, 250, 300, 336, 350, 400, 500, 600, 701,
    800, 900, 1200,
    38, 52, 181, 392, 860,
))
# fmt: on
_SHORT_LIMITS = (10, 11, 13, 15, 17, 19, 22, 25, 28, 33, 37, 42, 47, 54, 61, 69, 78, 88, 99, 112, 126)


def _held_out_limits(low: int, high: int) -> tuple[int, ...]:
    return tuple(n for n in range(low, high + 1) if n not in _PUBLISHED_WORD_LIMITS)


MATHIF = Values(
    keywords=_MATHIF_WORDS,
    frequencies=range(1, 4),
    word_limits=range(128, 1025),
    bullets=range(1, 6),
    highlights=range(1, 5),
    sections=range(1, 6),
    section_words=("Section", "SECTION"),
    capitals=tuple((relation, count) for relation in RELATIONS for count in range(1, 21)),
    end_phrases=("Any other questions?", "Is there anything else I can help with?"),
    languages=tuple(MATHIF_LANGUAGES),
)
"""What MathIF's rows are drawn from (its section 3 and its public code)."""

REASONIF = Values(
    word_limits=(38, 52, 181, 392, 860),
    word_relations=(None,),
    end_phrases=(
        "THIS REASONING WAS PRODUCED BY AI",
        "THIS THOUGHT PROCESS WAS GENERATED BY AI",
        "THIS EXPLANATION IS AI-GENERATED",
        "THIS ANALYSIS WAS CREATED BY AI",
        "THIS ARGUMENT WAS CONSTRUCTED BY AI",
        "THIS LOGIC WAS GENERATED THROUGH AI",
    ),
    reasoning_languages=tuple(REASONIF_LANGUAGES),
)
"""What ReasonIF's 300 rows are made of (its Tables 4 to 6)."""

HELD_OUT = Values(
    keywords=_HELD_OUT_WORDS,
    frequencies=range(1, 4),
    word_limits=_held_out_limits(128, 1024),
    bullets=(7, 11, 12),
    highlights=(7, 9),
    sections=range(1, 6),
    section_words=("Part", "PART", "Stage", "Chapter", "Block", "PHASE"),
    capitals=(
        *(("less than", count) for count in (6, 8, 12, 13, 15, 16, 17)),
        *(("at least", count) for count in (7, 11, 13, 17, 18)),
    ),
    end_phrases=(
        "That is all there is to say.",
        "This is the end of it.",
        "Nothing more needs to be added.",
        "I am done here.",
        "Everything has been said.",
        "Thank you for your patience.",
        "No further steps follow.",
        "I hope that this is clear.",
        "so it ends",
        "THE END HAS BEEN REACHED",
        "NOTHING MORE FOLLOWS",
        "WRITTEN BY A MACHINE",
        "THIS TEXT HAS BEEN PUT TOGETHER BY A MODEL",
        "ALL STEPS ARE DONE",
    ),
    languages=("fr", "uk", "pl", "ml"),
    reasoning_languages=tuple(REASONIF_LANGUAGES),
    letters=tuple("bdfhkrsuv"),
    letter_counts=range(1, 11),
    paragraphs=(7, 8),
    placeholders=(4, 9, 11),
    sentences=tuple(
        (relation, count) for relation in RELATIONS for count in (9, 11, 12, 14, 15, 18, 19, 21, 22, 24)
    ),
    postscripts=("PS:", "Postscript:", "N.B.:"),
)
"""For training on what MathIF and IFEval ask; see the module's text."""

HELD_OUT_REASONING = Values(
    word_limits=(*_SHORT_LIMITS, *_held_out_limits(130, 900)[::35]),
    word_relations=(None,),
    end_phrases=HELD_OUT.end_phrases,
    reasoning_languages=HELD_OUT.reasoning_languages,
)
"""For training on what ReasonIF asks. Half of the word limits are below 130."""
