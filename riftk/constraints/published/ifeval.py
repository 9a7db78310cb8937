r"""IFEval's evaluator, verdict for verdict, as lm-evaluation-harness runs it (task `ifeval`, version 0.4.13).

Thirteen of its rules were taken over by MathIF unchanged, and the one on JSON by ReasonIF; they are not
written twice. What is different from riftk's own rules, on purpose, because it is published so:

- A placeholder is anything between square brackets on one line, nothing at all included.
- A postscript may stand anywhere, in the middle of a word as well ("p. should").
- One of the three answers is enough, also beside another.
- `***` divides paragraphs wherever it stands, in ***bold italics*** too; `******` divides responses.
- Empty paragraphs are left out when paragraphs are counted and not when the nth is looked up.
- Words, words in capitals and sentences are those of nltk 3.10, which a fresh installation gets, see
  `shared.in_word`, `nltk_capitals` and `punkt`; until 3.9, words of Hindi and other scripts with vowel signs
  were cut at these, and no dash divided words.
- The language is langdetect's, drawn with seed 0, see `seeded_langdetect`.

"ifeval-loose" is the published upper bound: a text follows when it, or the text without its first line, its
last line or both, or any of these without asterisks, follows.

An argument that is 0 or missing makes the published evaluator draw one at random; here it is refused when
the constraint is read.
"""

from __future__ import annotations

import re

from ..base import NEARLY, Constraint, ConstraintError, Span, Verdict, broken, followed
from ..case import CapitalWordFrequency, EnglishCapital, EnglishLowercase
from ..content import OPTIONS, ConstrainedResponse, NumberPlaceholders, Postscript, Title
from ..ending import EndChecker
from ..form import JsonFormat
from ..keywords import ForbiddenWords, KeywordFrequency, KeywordsExistence, LetterFrequency, judge_letters
from ..language import ResponseLanguage
from ..length import NumberSentences, ResponseWords, judge_number, relation_holds, relation_score
from ..markdown import MultipleSections, NumberBullets, NumberHighlights, judge_exactly
from ..paragraphs import NthParagraphFirstWord, NumberParagraphs, TwoResponses, split_spans
from ..punctuation import NoComma
from ..text import Text
from ..wrapping import Quotation, RepeatPrompt
from . import mathif, reasonif, shared
from .nltk_capitals import capital_tokens_310
from .punkt import sentence_count

_SENTENCES = {
    KeywordsExistence.id: "Include keywords {keywords} in the response.",
    KeywordFrequency.id: "In your response, the word {keyword} should appear {relation} {frequency} times.",
    ForbiddenWords.id: "Do not include keywords {forbidden_words} in the response.",
    ResponseLanguage.id: "Your ENTIRE response should be in {name} language, no other language is allowed.",
    EndChecker.id: "Finish your response with this exact phrase {end_phrase}. "
    "No other words should follow this phrase.",
    EnglishCapital.id: "Your entire response should be in English, and in all capital letters.",
    NoComma.id: "In your entire response, refrain from the use of any commas.",
    Quotation.id: "Wrap your entire response with double quotation marks.",
    JsonFormat.id: "Entire output should be wrapped in JSON format. You can use markdown ticks such as ```.",
}
_TAKEN_OVER = (
    KeywordsExistence,
    KeywordFrequency,
    ForbiddenWords,
    ResponseLanguage,
    NumberBullets,
    NumberHighlights,
    MultipleSections,
    RepeatPrompt,
    EndChecker,
    Quotation,
    EnglishCapital,
    EnglishLowercase,
    NoComma,
)


def description(constraint: Constraint) -> str:
    """The sentence by which IFEval's evaluator describes a constraint."""
    template = _SENTENCES.get(constraint.id) or constraint.published_response
    return template.format(**constraint.wording_values())


def judged_text(raw_output: str, target: str) -> str:
    """The text that is judged: what follows the last `</think>`, never the reasoning.

    That is lm-evaluation-harness with `think_end_token=</think>`; without it, it judges the trace as well.
    """
    if target == "reasoning":
        raise ConstraintError(
            "IFEval judges only the response; there are no published rules for the reasoning"
        )
    _, tag, after = raw_output.rpartition("</think>")
    return after.lstrip() if tag else raw_output


def _number_words(constraint: ResponseWords, text: Text) -> Verdict:
    return shared.judge_word_matches(text, constraint.relation, constraint.limit, shared.as_nltk_reads)


def _capital_words(constraint: CapitalWordFrequency, text: Text) -> Verdict:
    return mathif.judge_capital_tokens(constraint, text, text.once(capital_tokens_310))


def _letter_frequency(constraint: LetterFrequency, text: Text) -> Verdict:
    return judge_letters(constraint, text.once(str.lower).count(constraint.letter.lower()), text.raw)


def _number_sentences(constraint: NumberSentences, text: Text) -> Verdict:
    count, limit = text.once(sentence_count), int(constraint.num_sentences)
    reason = f"sentences: {count}, and it takes {constraint.relation} {limit}"
    if relation_holds(count, constraint.relation, limit):
        return followed(reason)
    return broken(relation_score(count, constraint.relation, limit), reason)


_STARS = re.compile(r"\s?\*\*\*\s?")


def _number_paragraphs(constraint: NumberParagraphs, text: Text) -> Verdict:
    dividers = [match.span() for match in _STARS.finditer(text.raw)] if "***" in text.raw else []
    parts = split_spans(text.raw, dividers)
    full = [part for part in parts if text.raw[slice(*part)].strip()]
    hollow = [part for part in parts[1:-1] if not text.raw[slice(*part)].strip()]
    verdict = judge_exactly(full, int(constraint.num_paragraphs), "paragraph")
    if hollow:
        return broken(0.5 * verdict.score, "there is nothing between two dividers", hollow)
    return verdict


def _first_word(paragraph: str) -> str:
    word = paragraph.split(maxsplit=1)[0].lstrip("'").lstrip('"')
    word = re.split("[.,?!'\"]", word, maxsplit=1)[0]
    return "".join(map(str.lower, word))  # letter by letter: a capital sigma at the end becomes no final one


def _nth_paragraph_first_word(constraint: NthParagraphFirstWord, text: Text) -> Verdict:
    paragraphs = text.raw.split("\n\n")
    count = sum(1 for paragraph in paragraphs if paragraph.strip())
    wanted, nth = int(constraint.num_paragraphs), int(constraint.nth_paragraph)
    number = judge_exactly([(0, 0)] * count, wanted, "paragraph")
    there = paragraphs[nth - 1].strip() if nth <= count else ""
    if not there:
        return broken(number.score / 2, f"{number.reason}; there is nothing in place {nth}")
    found, word = _first_word(there), constraint.first_word.lower()
    if found != word:
        return broken(number.score / 2, f"paragraph {nth} starts with {found[:40]!r} instead of {word!r}")
    if not number:
        return broken(0.5 + number.score / 2, number.reason)
    return followed(f"{number.reason}, and number {nth} starts with {word!r}")


def _bracket_spans(text: str) -> list[Span]:
    """From a square bracket to the next closing one of its line: `\\[.*?\\]`, in linear time."""
    found: list[Span] = []
    start, close = text.find("["), -1
    while start >= 0:
        close = text.find("]", start) if close < start else close
        if close < 0:
            break
        line_end = text.find("\n", start, close)
        if line_end < 0:
            found.append((start, close + 1))
        start = text.find("[", close if line_end < 0 else line_end)
    return found


def _number_placeholders(constraint: NumberPlaceholders, text: Text) -> Verdict:
    count = len(text.once(_bracket_spans))
    return judge_number(count, "at least", int(constraint.num_placeholders), "placeholders", ())


_POSTSCRIPTS = {"P.P.S": r"p\.\s?p\.\s?s", "P.S.": r"p\.\s?s\."}


def _postscript(constraint: Postscript, text: Text) -> Verdict:
    marker = constraint.postscript_marker.strip()
    pattern = _POSTSCRIPTS.get(marker, marker.lower())
    try:
        found = re.search(pattern, text.once(str.lower), re.MULTILINE)
    except re.error:
        return broken(0.0, f"{marker!r} is no regular expression, which the published evaluator takes it for")
    return followed(f"has {marker!r}") if found else broken(0.0, f"{marker!r} is missing")


def _titles(text: str) -> list[Span]:
    """In each line, what stands between the first `<<` and the last `>>`: `<<[^\\n]+>>`, in linear time."""
    found, at = [], 0
    for line in text.split("\n") if "<<" in text else ():
        start, end = line.find("<<"), line.rfind(">>")
        if start >= 0 and end >= start + 3:
            found.append((at + start, at + end + 2))
        at += len(line) + 1
    return found


def _title(constraint: Title, text: Text) -> Verdict:
    spans = text.once(_titles)
    for start, end in spans:
        if text.raw[start:end].lstrip("<").rstrip(">").strip():
            return followed("has a title")
    return broken(0.3 if spans else 0.0, "there is no title between << and >>", spans)


def _constrained_response(constraint: ConstrainedResponse, text: Text) -> Verdict:
    for option in OPTIONS:
        if option in text.raw:
            return followed(f"answers {option!r}")
    return broken(0.0, "none of the three answers stands in it")


def _two_responses(constraint: TwoResponses, text: Text) -> Verdict:
    parts = [part.strip() for part in text.raw.split("******")]
    if not all(parts[1:-1]):
        return broken(0.3, "there is nothing between two separators")
    full = [part for part in parts if part]
    number = judge_exactly([(0, 0)] * len(full), 2, "response")
    if not number:
        return broken(0.9 * number.score, number.reason)
    return followed(number.reason) if full[0] != full[1] else broken(0.7, "the two responses are the same")


RULES = {cls.id: mathif.RULES[cls.id] for cls in _TAKEN_OVER}
RULES[JsonFormat.id] = reasonif.RULES[JsonFormat.id]
RULES |= shared.not_blank(
    {
        CapitalWordFrequency.id: _capital_words,
        ResponseWords.id: _number_words,
        LetterFrequency.id: _letter_frequency,
        NumberSentences.id: _number_sentences,
        NumberParagraphs.id: _number_paragraphs,
        NthParagraphFirstWord.id: _nth_paragraph_first_word,
        NumberPlaceholders.id: _number_placeholders,
        Postscript.id: _postscript,
        Title.id: _title,
        ConstrainedResponse.id: _constrained_response,
        TwoResponses.id: _two_responses,
    }
)


def loose_texts(text: str) -> list[tuple[str, Text]]:
    """The texts besides the text itself that the loose rules look at, each once, and what was taken off."""
    lines = text.split("\n")
    pieces = {
        "": text,
        "without its first line": "\n".join(lines[1:]).strip(),
        "without its last line": "\n".join(lines[:-1]).strip(),
        "without its first and last line": "\n".join(lines[1:-1]).strip(),
    }
    plain = {f"{name or 'without'} asterisks": piece.replace("*", "") for name, piece in pieces.items()}
    seen, found = {text}, []
    for name, piece in (pieces | plain).items():
        if piece not in seen:
            seen.add(piece)
            found.append((name, Text(piece)))
    return found


def _loosely(rule: shared.Rule) -> shared.Rule:
    def judge(constraint: Constraint, text: Text) -> Verdict:
        strict = rule(constraint, text)
        if strict:
            return strict
        score = strict.score
        for name, variant in text.once(loose_texts):
            verdict = rule(constraint, variant)
            if verdict:
                return followed(f"{verdict.reason} ({name})")
            score = max(score, verdict.score)
        return Verdict(False, min(score, NEARLY), strict.reason, strict.spans)

    return judge


RULES_LOOSE = {id: _loosely(rule) for id, rule in RULES.items()}
