r"""MathIF's evaluator, verdict for verdict (MathIF, section 3 and its public code).

What is different from riftk's own rules, on purpose, because it is published so:

- Keywords are regular expressions; existence and frequency find them inside other words ("now" in "known").
- The language is langdetect's choice for the whole text, and a text in which it finds no feature ("42") is in
  every language. Drawn with seed 0 here, see `seeded_langdetect`.
- Bullets are lines that begin with `-` or with `*` and something else: a rule `---` is one.
- `**bold**` within stars is counted by two patterns; "3 * 4 * 5" is a highlight.
- Capital words are NLTK's tokens, so `A`, `$F=MA$` and the two halves of CANNOT are some.
- A row's sections may be more than it asks for, and a mention of "Section 1" is one.
"""

from __future__ import annotations

import re

from ..base import Constraint, ConstraintError, Span, Verdict, broken, followed
from ..case import (
    CapitalWordFrequency,
    EnglishCapital,
    EnglishLowercase,
    cased_letters,
    lower_case_spans,
    upper_case_spans,
)
from ..ending import EndChecker
from ..keywords import ForbiddenWords, KeywordFrequency, KeywordsExistence
from ..language import ResponseLanguage
from ..length import NumberWords, judge_count
from ..markdown import MultipleSections, NumberBullets, NumberHighlights, judge_exactly
from ..punctuation import NoComma
from ..text import Text
from ..wrapping import Quotation, RepeatPrompt, common_prefix
from . import shared
from .nltk_capitals import capital_tokens_39
from .seeded_langdetect import detect

_SENTENCES = {
    NumberWords.id: "Answer with {relation} {num_words} words.",
    EndChecker.id: 'Finish your response with this exact phrase "{end_phrase}". '
    "No other words should follow this phrase.",
    EnglishCapital.id: "Your entire response should be in English, and in all capital letters.",
    NoComma.id: "In your entire response, refrain from the use of any commas.",
}


def description(constraint: Constraint) -> str:
    """The sentence by which MathIF asks for a constraint (`constraint_desc` of its rows)."""
    template = _SENTENCES.get(constraint.id) or constraint.published_response
    return template.format(**constraint.wording_values())


def judged_text(raw_output: str, target: str) -> str:
    """The text that MathIF's evaluator judges, for constraints and answer alike: never the reasoning.

    It cuts by the first tags that it meets, so a second `<think>` or `</think>` costs the rest of the text,
    and of a trace that is never closed it takes the trace.
    """
    if target == "reasoning":
        raise ConstraintError(
            "MathIF judges only the response; there are no published rules for the reasoning"
        )
    text = raw_output
    if "<think>" in text:
        text = text.split("<think>")[1]
    if "</think>" in text:
        text = text.split("</think>")[1]
    if "<answer>" in text:
        text = text.split("<answer>")[1]
    if "</answer>" in text:
        text = text.split("</answer>")[0]
    return text


def _spans(pattern: str, text: str, flags: int = 0) -> list[Span] | None:
    """Matches of a row's own regular expression; None where it is none (the evaluator stops there)."""
    try:
        return [match.span() for match in re.finditer(pattern, text, flags)]
    except re.error:
        return None


def _word_spans(word: str, text: Text, whole: bool = False) -> list[Span] | None:
    """As `_spans`, for a keyword in any case, as a whole word or anywhere; a plain one needs no pattern."""
    lowered = text.once(_in_small_letters)
    if lowered is None or not (word.isascii() and word.isalnum()):
        return _spans(rf"\b{word}\b" if whole else word, text.raw, re.IGNORECASE)
    spans, end = [], 0
    while (start := lowered.find(word.lower(), end)) >= 0:
        end = start + len(word)
        around = lowered[max(start - 1, 0) : start] + lowered[end : end + 1]
        if not (whole and any(sign.isalnum() or sign == "_" for sign in around)):
            spans.append((start, end))
    return spans


def _in_small_letters(raw: str) -> str | None:
    """The text with its ASCII letters small; None with a sign that `re` takes for an i, k or s."""
    if any(sign in raw for sign in "\u0130\u0131\u017f\u212a"):
        return None
    return raw.encode("utf-8", "surrogatepass").lower().decode("utf-8", "surrogatepass")


def _no_pattern(word: str) -> Verdict:
    return broken(0.0, f"{word!r} is no regular expression, which the published evaluator takes it for")


def _existence(constraint: KeywordsExistence, text: Text) -> Verdict:
    found = {word: _word_spans(word, text) for word in constraint.keywords}
    for word, spans in found.items():
        if spans is None:
            return _no_pattern(word)
    missing = [word for word, spans in found.items() if not spans]
    if missing:
        return broken(1 - len(missing) / len(found), f"missing: {', '.join(missing)}")
    return followed("all keywords occur")


def _frequency(constraint: KeywordFrequency, text: Text) -> Verdict:
    word = constraint.keyword.strip()
    spans = _word_spans(word, text)
    if spans is None:
        return _no_pattern(word)
    return judge_count(spans, constraint.relation, int(constraint.frequency), repr(word))


def _forbidden(constraint: ForbiddenWords, text: Text) -> Verdict:
    spans: list[Span] = []
    for word in constraint.forbidden_words:
        found = _word_spans(word, text, whole=True)
        if found is None:
            return _no_pattern(word)
        spans += found
    if spans:
        spans.sort()
        first = text.raw[slice(*spans[0])]
        return broken(1 / (1 + len(spans)), f"{len(spans)} forbidden words, first: {first!r}", spans)
    return followed("no forbidden word occurs")


def _language(code: str, text: Text) -> Verdict:
    found = text.once(detect)
    if found is None:
        return followed("langdetect finds nothing to tell the language by, which counts as followed")
    if found == code:
        return followed(f"identified as {code}")
    return broken(0.0, f"identified as {found}, not {code}", [shared.stripped_span(text.raw)])


def _capital(text: Text) -> Verdict:
    return _case(text, text.raw.isupper(), lower_case_spans, "capitals")


def _lowercase(text: Text) -> Verdict:
    return _case(text, text.raw.islower(), upper_case_spans, "small letters")


def _case(text: Text, right: bool, find_wrong, form: str) -> Verdict:
    if right:
        english = _language("en", text)
        return followed(f"English in {form}") if english else english
    wrong, spans = text.once(find_wrong)
    letters = text.once(cased_letters)
    if not wrong:  # control words or symbols, which are exempt under robust rules only
        return broken(0.9 if letters else 0.0, f"not all in {form}", [shared.stripped_span(text.raw)])
    return broken(1 - wrong / letters, f"{wrong} of {letters} letters are not in {form}", spans)


def _number_words(constraint: NumberWords, text: Text) -> Verdict:
    if constraint.relation is None:
        raise ConstraintError(f"{constraint.id}: argument 'relation' is missing; MathIF's rows have one")
    return shared.judge_word_matches(text, constraint.relation, constraint.limit)


_BULLETS = (re.compile(r"^[^\S\n]*\*[^\*].*$", re.MULTILINE), re.compile(r"^[^\S\n]*-.*$", re.MULTILINE))


def _bullets(constraint: NumberBullets, text: Text) -> Verdict:
    spans = sorted(match.span() for pattern in _BULLETS for match in pattern.finditer(text.raw))
    return judge_exactly(spans, int(constraint.num_bullets), "bullet point")


_HIGHLIGHTS = (re.compile(r"\*[^\n\*]*\*"), re.compile(r"\*\*[^\n\*]*\*\*"))


def _highlights(constraint: NumberHighlights, text: Text) -> Verdict:
    spans = [
        match.span()
        for pattern in _HIGHLIGHTS
        for match in pattern.finditer(text.raw)
        if match.group().strip("*").strip()
    ]
    return judge_count(sorted(spans), "at least", int(constraint.num_highlights), "highlighted passages")


def _sections(constraint: MultipleSections, text: Text) -> Verdict:
    word = constraint.section_spliter.strip()
    there = word in text.raw or not word.isalnum()
    spans = _spans(rf"\s?{word}\s?\d+\s?", text.raw) if there else []
    if spans is None:
        return _no_pattern(word)
    return judge_count(spans, "at least", int(constraint.num_sections), "sections")


def _repeat_prompt(constraint: RepeatPrompt, text: Text) -> Verdict:
    said, request = text.raw.strip().lower(), constraint.prompt_to_repeat.strip().lower()
    if said.startswith(request):
        return followed("begins with the request")
    common = common_prefix(said, request)
    wanted, found = request[common : common + 30], said[common : common + 30]
    return broken(0.9 * common / len(request), f"instead of {wanted!r} the text goes on with {found!r}")


def _quotation(text: Text) -> Verdict:
    said = text.raw.strip()
    opened, closed = said[0] == '"', said[-1] == '"' and len(said) > 1
    if opened and closed:
        return followed("wrapped in quotation marks")
    return broken(0.4 * (opened + closed), "of the quotation marks around the text there is one missing")


def judge_capital_tokens(constraint: CapitalWordFrequency, text: Text, count: int) -> Verdict:
    """Verdict on a number of tokens in capitals."""
    places = [(0, 0)] * count
    verdict = judge_count(
        places, constraint.capital_relation, int(constraint.capital_frequency), "words in capitals"
    )
    return verdict if verdict else broken(verdict.score, verdict.reason, _capital_places(text.raw, count))


_CAPITALS = re.compile(r"[^\W\d_a-z]{2,}")


def _capital_places(text: str, count: int) -> list[Span]:
    return [match.span() for match in _CAPITALS.finditer(text) if match.group().isupper()][:count]


RULES = shared.not_blank(
    {
        KeywordsExistence.id: _existence,
        KeywordFrequency.id: _frequency,
        ForbiddenWords.id: _forbidden,
        ResponseLanguage.id: lambda c, text: _language(c.language, text),
        NumberWords.id: _number_words,
        NumberBullets.id: _bullets,
        NumberHighlights.id: _highlights,
        MultipleSections.id: _sections,
        RepeatPrompt.id: _repeat_prompt,
        EndChecker.id: shared.judge_end_phrase,
        Quotation.id: lambda c, text: _quotation(text),
        CapitalWordFrequency.id: lambda c, text: judge_capital_tokens(c, text, text.once(capital_tokens_39)),
        EnglishCapital.id: lambda c, text: _capital(text),
        EnglishLowercase.id: lambda c, text: _lowercase(text),
        NoComma.id: lambda c, text: shared.judge_commas(text),
    }
)
