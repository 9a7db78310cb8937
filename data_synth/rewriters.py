"""The rewriters: by rule where a rule is safe, by an LLM where none is. See `riftk.data_synth.registry`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from riftk.constraints import check
from riftk.constraints.case import capital_word_spans
from riftk.constraints.length import RELATIONS
from riftk.constraints.published.nltk_capitals import capital_tokens_39
from riftk.constraints.values import HELD_OUT

from . import layout, phrases
from .capitals import in_capitals
from .commas import without_commas
from .condense import Outline, count_words
from .errors import Rejected, SynthesisError
from .json_forms import SHAPES, from_json, split_steps, to_json
from .lowercase import in_lowercase
from .phrases import END_PHRASES
from .registry import REWRITERS, Draw, Material, Place, Rewrite, Rewriter, only_llm, rewriter

if TYPE_CHECKING:
    from riftk.benchmarks.limits import WordLimits

__all__ = ["END_PHRASES", "REASONIF_BY_RULE", "REWRITERS", "Material", "Rewrite", "Rewriter", "rewriter"]

LANGUAGE = "language:reasoning_language"
CAPITALS = "change_case:english_capital"
LOWERCASE = "change_case:english_lowercase"
CAPITAL_WORDS = "change_case:capital_word_frequency"
NO_COMMA = "punctuation:no_comma"
JSON = "detectable_format:json_format"
BULLETS = "detectable_format:number_bullet_lists"
HIGHLIGHTS = "detectable_format:number_highlighted_sections"
SECTIONS = "detectable_format:multiple_sections"
REPEAT = "combination:repeat_prompt"
END = "startend:end_checker"
QUOTATION = "startend:quotation"
WORDS = "length_constraint_checkers:number_words"
EXISTENCE = "keywords:existence"
FREQUENCY = "keywords:frequency"
FORBIDDEN = "keywords:forbidden_words"

# ReasonIF's constraints without the language, which takes an LLM: what is drawn unless others are named.
REASONIF_BY_RULE = (CAPITALS, NO_COMMA, JSON, END, WORDS)

_KEYWORD_WORDS = 12  # that an LLM may need to work one or two keywords in


@rewriter(CAPITALS, Place.CASE)
def capitals(material: Material) -> Rewrite:
    """Capital letters; formulas become plain text."""
    return Rewrite(in_capitals(material.reasoning))


@rewriter(LOWERCASE, Place.CASE)
def lowercase(material: Material) -> Rewrite:
    """Small letters; formulas stay formulas."""
    return Rewrite(in_lowercase(material.reasoning))


@rewriter(NO_COMMA, Place.PUNCTUATION)
def no_comma(material: Material) -> Rewrite:
    """No commas; lists of values get semicolons."""
    return Rewrite(without_commas(material.reasoning))


@rewriter(JSON, Place.WRAPPING)
def json_format(material: Material) -> Rewrite:
    """JSON in one of four shapes, on one line or indented, in a code fence or not."""
    shape, fenced = material.draws.choice(SHAPES), material.draws.random() < 0.5
    indent = material.draws.choice((None, None, 2, 4))
    text = to_json(material.reasoning, shape, fenced, indent)
    steps, parted_by = split_steps(material.reasoning)
    if from_json(text, parted_by) != material.reasoning:
        raise Rejected("the text would change", text[:80])
    shape = shape if len(steps) > 1 else "object"
    return Rewrite(text, shape=f"{shape}, {parted_by}{', fenced' if fenced else ''}")


@rewriter(QUOTATION, Place.WRAPPING)
def quotation(material: Material) -> Rewrite:
    """Double quotation marks around the trace; those inside become typographic ones."""
    return Rewrite(layout.quoted(material.reasoning))


def _in_case(draw: Draw, words: str) -> str:
    """Words that a text has to hold, in small letters where all of it has to be."""
    return words.lower() if LOWERCASE in draw.ids else words


def _draw_phrase(draw: Draw) -> dict[str, Any]:
    return {"end_phrase": _in_case(draw, draw.draws.choice(draw.config.end_phrases))}


@rewriter(
    END, Place.END, draw_args=_draw_phrase, added_words=lambda args: count_words(str(args["end_phrase"]))
)
def end_phrase(material: Material) -> Rewrite:
    """The phrase on a line of its own, unless the trace ends with it already."""
    args = dict(material.args)
    spec = {"id": END, "args": args, "target": "reasoning"}
    if check(spec, material.reasoning, rules="reasonif") and check(spec, material.reasoning):
        return Rewrite(material.reasoning, args)
    return Rewrite(f"{material.reasoning.rstrip()}\n{args['end_phrase']}", args)


@rewriter(
    REPEAT,
    Place.BEGINNING,
    draw_args=lambda draw: {"prompt_to_repeat": draw.question},
    added_words=lambda args: count_words(str(args["prompt_to_repeat"])),
)
def repeat_request(material: Material) -> Rewrite:
    """The problem word for word, then the trace."""
    return Rewrite(layout.behind_request(material.reasoning, material.question), dict(material.args))


# ------------------------------------------------------------------------------------- counted things


def _number(material: Material, name: str, bounds: tuple[int, int], most: int) -> int:
    """The number that a trace with room for `most` things is given: the one drawn, or one that fits."""
    wanted = int(material.args[name])
    if wanted <= most:
        return wanted
    if material.fixed or most < bounds[0]:
        raise Rejected(f"too few steps for {name}", f"{wanted} wanted, room for {most}")
    return material.draws.randint(bounds[0], most)


def _draws(name: str, bounds: tuple[int, int]) -> Callable[[Draw], dict[str, Any]]:
    return lambda draw: {name: draw.draws.randint(*bounds)}


@rewriter(BULLETS, Place.BLOCKS, draw_args=_draws("num_bullets", phrases.BULLETS))
def bullets(material: Material) -> Rewrite:
    """The trace as exactly so many bullet points; list markers that it has become •."""
    most = layout.room_for_blocks(material.reasoning)
    count = _number(material, "num_bullets", phrases.BULLETS, most)
    return Rewrite(layout.as_bullets(material.reasoning, count), {"num_bullets": count})


def _draw_sections(draw: Draw) -> dict[str, Any]:
    number = draw.draws.randint(*phrases.SECTIONS)
    word = _in_case(draw, draw.draws.choice(HELD_OUT.section_words))
    return {"section_spliter": word, "num_sections": number}


@rewriter(
    SECTIONS,
    Place.BLOCKS,
    draw_args=_draw_sections,
    added_words=lambda args: 2 * int(args["num_sections"]),
)
def sections(material: Material) -> Rewrite:
    """A heading with the section's word and number before each of so many parts."""
    most = layout.room_for_blocks(material.reasoning)
    count = _number(material, "num_sections", phrases.SECTIONS, most)
    word = material.args["section_spliter"]
    args = {"section_spliter": word, "num_sections": count}
    return Rewrite(layout.in_sections(material.reasoning, word, count), args)


@rewriter(HIGHLIGHTS, Place.HIGHLIGHTS, draw_args=_draws("num_highlights", phrases.HIGHLIGHTS))
def highlights(material: Material) -> Rewrite:
    """Stars around a few words of so many sentences."""
    most = layout.room_for_highlights(material.reasoning)
    count = _number(material, "num_highlights", phrases.HIGHLIGHTS, most)
    mark = material.draws.choice(("*", "**"))
    return Rewrite(layout.highlighted(material.reasoning, count, mark), {"num_highlights": count})


def _draw_capital_words(draw: Draw) -> dict[str, Any]:
    relation, number = draw.draws.choice(RELATIONS), draw.draws.randint(*phrases.CAPITAL_WORDS)
    return {"capital_relation": relation, "capital_frequency": number}


@rewriter(CAPITAL_WORDS, Place.CASE, draw_args=_draw_capital_words)
def capital_words(material: Material) -> Rewrite:
    """At least so many words in capitals, put there; or fewer than a number above what there are."""
    text, relation = material.reasoning, material.args["capital_relation"]
    counts = len(capital_word_spans(text)), capital_tokens_39(text)
    if relation == "less than":
        limit = int(material.args["capital_frequency"])
        if not material.fixed:
            limit = max(counts) + material.draws.randint(*phrases.SLACK)
        return Rewrite(text, {"capital_relation": relation, "capital_frequency": limit})
    most = min(counts) + layout.room_for_capital_words(text)
    count = _number(material, "capital_frequency", phrases.CAPITAL_WORDS, most)
    written = layout.with_capital_words(text, max(count - min(counts), 0), material.draws)
    return Rewrite(written, {"capital_relation": relation, "capital_frequency": count})


# ---------------------------------------------------------------------------------------------- length


@cache
def _limits(path: str) -> WordLimits:
    """Word limits that `riftk calibrate` measured."""
    from riftk.benchmarks.limits import read_limits

    limits = read_limits(path)
    if limits is None:
        raise SynthesisError("calibrated_limits takes a folder of riftk calibrate, or FILE:MODEL")
    return limits


def _draw_limit(draw: Draw) -> dict[str, Any]:
    """A limit that does not depend on the trace is needed only where it stands in the sampling prompt.

    MathIF's rows name the relation, ReasonIF's have none.
    """
    if draw.config.calibrated_limits:
        limit = _limits(draw.config.calibrated_limits).of(draw.source)
    elif draw.in_prompt:
        limit = draw.draws.choice(draw.config.word_limits)
    else:
        return {}
    return {"num_words": limit} | ({"relation": "less than"} if draw.config.style == "mathif" else {})


@rewriter(WORDS, Place.LENGTH, draw_args=_draw_limit, may_use_llm=lambda config: config.llm_words)
def word_limit(material: Material) -> Rewrite:
    """Whole sentences below a limit, which is a share of the trace's length and leaves room for its core."""
    outline = Outline.of(material.reasoning, material.answer, material.question)
    limit = material.args.get("num_words")
    if limit is None:
        low, high = (int(share * outline.total_words) for share in material.word_share)
        low = max(low, outline.core_words + 1)
        if low > high:
            raise Rejected(
                "the sentences that the answer rests on do not fit the limit",
                f"{outline.core_words} of {outline.total_words} words",
            )
        limit = material.draws.randint(low, high) + material.reserve
    room = limit - material.reserve
    if outline.total_words < room:
        return Rewrite(material.reasoning, {**material.args, "num_words": limit})
    return Rewrite(outline.within(room), {**material.args, "num_words": limit})


# ----------------------------------------------------------------------------------------- by LLM only


def _draw_language(draw: Draw) -> dict[str, Any]:
    return {"language": draw.draws.choice(draw.config.languages)}


def _draw_words(name: str) -> Callable[[Draw], dict[str, Any]]:
    return lambda draw: {name: draw.draws.sample(HELD_OUT.keywords, HELD_OUT.words_per_list)}


def _draw_frequency(draw: Draw) -> dict[str, Any]:
    number = draw.draws.choice(HELD_OUT.frequencies)
    relation = draw.draws.choice(RELATIONS)
    return {"keyword": draw.draws.choice(HELD_OUT.keywords), "frequency": number, "relation": relation}


def _keyword_words(args: Mapping[str, Any]) -> int:
    return _KEYWORD_WORDS


only_llm(LANGUAGE, "language", Place.LANGUAGE, draw_args=_draw_language)
only_llm(EXISTENCE, "keywords", Place.WORDS, draw_args=_draw_words("keywords"), added_words=_keyword_words)
only_llm(FREQUENCY, "keyword_count", Place.WORDS, draw_args=_draw_frequency, added_words=_keyword_words)
only_llm(FORBIDDEN, "forbidden_words", Place.WORDS, draw_args=_draw_words("forbidden_words"))
