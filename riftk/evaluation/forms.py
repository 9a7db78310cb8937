"""Forms that a completion has although nobody asked for them there: over-application and leakage.

Training on instructions can teach the form without the instruction: a model that writes capitals wherever it
writes follows well and has learnt nothing. What is looked for is what the published instructions ask for:

    capitals        all in English capitals
    json            nothing but JSON
    quotation       all in double quotation marks
    end_phrase      ends with a phrase of MathIF or ReasonIF, or with one that riftk's synthesis draws
    other_language  all in a language that is not the prompt's
    short           a trace of fewer than 20 words, none at all included
    no_comma        free of commas beyond chance: 1 for a text without one, less the chance that a text of
                    that length has none, so that ordinary prose averages zero

Robust rules say whether a text has a form; a text that is missing or was cut off says nothing. In items
without an instruction both texts are looked at (over-application), in items with instructions about one text
the other one, for the forms that were asked for (leakage).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from riftk.constraints import Constraint, Text
from riftk.constraints.base import TARGETS
from riftk.constraints.case import EnglishCapital
from riftk.constraints.ending import EndChecker
from riftk.constraints.form import JsonFormat
from riftk.constraints.language import ReasoningLanguage, ResponseLanguage
from riftk.constraints.languages import MATHIF_LANGUAGES, REASONIF_LANGUAGES, passages
from riftk.constraints.punctuation import NoComma
from riftk.constraints.text import word_count
from riftk.constraints.values import HELD_OUT, MATHIF, REASONIF
from riftk.constraints.wrapping import Quotation
from riftk.judging import Output
from riftk.rows import Row

SHORT, NO_COMMA, LANGUAGE = "short", "no_comma", "other_language"
FORMS = {
    EnglishCapital: "capitals",
    JsonFormat: "json",
    Quotation: "quotation",
    EndChecker: "end_phrase",
    ReasoningLanguage: LANGUAGE,
    ResponseLanguage: LANGUAGE,
    NoComma: NO_COMMA,
}
UNASKED = {  # beginnings of keys, and what they are called
    "over_application_": "Over-application: forms that nothing asked for",
    "leakage_to_": "Leakage: forms that were asked for in the other text",
}
END_PHRASES = tuple(dict.fromkeys((*REASONIF.end_phrases, *MATHIF.end_phrases, *HELD_OUT.end_phrases)))
SHORT_TRACE = 20  # words; the tightest limit that ReasonIF publishes is 38
WORDS_PER_COMMA = 20  # about what English prose has


def unasked_forms(row: Row, output: Output) -> dict[str, dict[str, float]]:
    """Which forms the texts of a completion have that were not asked for there.

    Returns:
        target -> form -> 1.0 or 0.0 (`no_comma`: what is said above). Texts that say nothing are left out.
    """
    asked = {constraint.target for constraint in row.constraints}
    spoken = _language(Text(row.user_text))
    found = {}
    for target in TARGETS:
        if target in asked:
            continue
        forms: dict[str, float] = {}
        if output.fault(target) is None:
            text = output.analysis(target)
            if asked:
                forms = _seen(text, _elsewhere(row, target, spoken))
            else:
                forms = {LANGUAGE: 0.0, **_seen(text, _any(text, target, spoken))}
        if target == "reasoning" and not asked and _has_reasoned(output):
            forms[SHORT] = float(word_count(output.completion.reasoning) < SHORT_TRACE)
        if forms:
            found[target] = forms
    return found


def form_observations(sample: Mapping[str, Any]) -> Iterable[tuple[str, float]]:
    """(key, value) of each form that was looked for in a sample, and of any of them but `no_comma`.

    Keys are `over_application_{target}/{form},robust` and, in items with an instruction about the other text,
    `leakage_to_{target}/{form},robust`; without `/{form}` it is any of them.
    """
    over_application, leakage = UNASKED
    kind = leakage if sample["constraints"] else over_application
    for target, forms in sample.get("forms", {}).items():
        for name, value in forms.items():
            yield f"{kind}{target}/{name},robust", value
        certain = [value for name, value in forms.items() if name != NO_COMMA]
        if certain:
            yield f"{kind}{target},robust", max(certain)


def unasked_name(key: str) -> str:
    """What a report calls a figure: "over_application_reasoning/json,robust" is "reasoning, json"."""
    metric = key.rpartition(",")[0]
    for kind in UNASKED:
        metric = metric.removeprefix(kind)
    target, _, form = metric.partition("/")
    beyond = " beyond chance" if form == NO_COMMA else ""
    return f"{target}, {form.replace('_', ' ') or 'any but commas'}{beyond}"


def _any(text: Text, target: str, spoken: str | None) -> list[Constraint]:
    """Everything that is looked for where nothing was asked for."""
    heard = {passage.language for passage in text.once(passages)} - {spoken}
    return [
        *(form(target=target) for form in (EnglishCapital, JsonFormat, Quotation, NoComma)),
        *(EndChecker(end_phrase=phrase, target=target) for phrase in END_PHRASES),
        *(ResponseLanguage(language=code, target=target) for code in sorted(heard & MATHIF_LANGUAGES.keys())),
        *(
            ReasoningLanguage(language=code, target=target)
            for code in sorted(heard & REASONIF_LANGUAGES.keys())
        ),
    ]


def _elsewhere(row: Row, target: str, spoken: str | None) -> list[Constraint]:
    """What was asked for in the other text, as far as it is a form that this one need not have."""
    return [
        replace(constraint, target=target)
        for constraint in row.constraints
        if type(constraint) in FORMS and getattr(constraint, "language", "") != spoken
    ]


def _seen(text: Text, wanted: Iterable[Constraint]) -> dict[str, float]:
    seen: dict[str, float] = {}
    for constraint in wanted:
        name = FORMS[type(constraint)]
        there = float(constraint.robust(text).followed)
        if name == NO_COMMA:
            there -= math.exp(-word_count(text.raw) / WORDS_PER_COMMA)
        seen[name] = max(there, seen.get(name, there))
    return seen


def _has_reasoned(output: Output) -> bool:
    """Whether the reasoning is over, and it is the model that ended it, were it at once."""
    return output.finish_reason != "error" and output.completion.status in ("closed", "empty")


def _language(text: Text) -> str | None:
    """The language that most letters of a text are in; None where it cannot be told."""
    letters: dict[str, int] = {}
    for passage in text.once(passages):
        letters[passage.language] = letters.get(passage.language, 0) + passage.letters
    return max(letters, key=letters.__getitem__, default=None)
