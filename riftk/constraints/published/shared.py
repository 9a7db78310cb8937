"""Rules that several published evaluators have in common, all of them IFEval's descendants."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from ..base import Span, Verdict, broken, followed
from ..ending import EndChecker, ending_score, last_words
from ..length import relation_holds, relation_score
from ..text import Text

Rule = Callable[[Any, Text], Verdict]  # (constraint, text)
_WORD = re.compile(r"\w+")


def not_blank(rules: Mapping[str, Rule]) -> dict[str, Rule]:
    """The rules with the gate that stands before all of them: a blank text follows nothing."""

    def gated(rule: Rule) -> Rule:
        def judge(constraint: Any, text: Text) -> Verdict:
            if not text.raw.strip():
                return broken(0.0, "the text is empty")
            return rule(constraint, text)

        return judge

    return {id: gated(rule) for id, rule in rules.items()}


def stripped_span(raw: str) -> Span:
    """Span of a text without its outer blanks."""
    return len(raw) - len(raw.lstrip()), len(raw.rstrip())


def word_matches(text: str) -> list[str]:
    r"""Words as `\w+` finds them."""
    return _WORD.findall(text)


def judge_word_matches(text: Text, relation: str, limit: float) -> Verdict:
    r"""Verdict on the number of `\w+` words."""
    count = len(text.once(word_matches))
    if relation == "at least":
        reason = f"{count} words; at least {limit:g} are needed"
    else:
        reason = f"{count} words; the limit is {limit:g}, and it takes fewer than that"
    if relation_holds(count, relation, limit):
        return followed(reason)
    spans = []
    if relation == "less than":
        beyond = (m.start() for number, m in enumerate(_WORD.finditer(text.raw), 1) if number >= limit)
        spans = [(next(beyond, 0), len(text.raw.rstrip()))]
    return broken(relation_score(count, relation, limit), reason, spans)


def judge_end_phrase(constraint: EndChecker, text: Text) -> Verdict:
    """The end of the text without outer quotation marks, compared without regard to case."""
    phrase = constraint.end_phrase.strip().lower()
    said = text.raw.strip().strip('"').lower()
    if said.endswith(phrase):
        return followed(f"ends with {constraint.end_phrase!r}")
    last = last_words(text.raw, len(phrase))
    reason = f"ends with {text.raw[slice(*last)][-60:]!r} instead of {constraint.end_phrase!r}"
    return broken(ending_score(said, phrase), reason, [last])


def judge_commas(text: Text) -> Verdict:
    """Only the ASCII comma is one."""
    count = text.raw.count(",")
    if not count:
        return followed("no comma")
    spans = (match.span() for match in re.finditer(",", text.raw))
    return broken(1 / (1 + count), f"{count} comma{'s' * (count > 1)}", spans)
