"""What makes a trace unfit for training although it follows its instruction."""

from __future__ import annotations

import re

from riftk.constraints.languages import REASONIF_LANGUAGES, Passage, is_foreign, passages
from riftk.constraints.text import Text, prose, word_count

from .config import SynthConfig
from .errors import Rejected

ANY = "any"
QUESTION = "question"
_ENOUGH_LETTERS = 60  # of a passage whose language is to be trusted
_MOST_FOREIGN = 0.3  # of the letters of a trace

_LANGUAGES = "|".join(REASONIF_LANGUAGES.values())
_RULE_TALK = re.compile(
    rf"""
    \b(?:the|this|that|these|those|your|user['’]?s?|following)\ (?:formatting\ |format\ |reasoning\ )?
        (?:instruction|guideline|formatting\ rule|formatting\ requirement|format\ requirement)s?\b
  | \b(?:to|must|should|will|have\ to|need\ to|let\ me|let['’]s|by)\ (?:follow|obey|adher\w+|compl\w+|stick)
        (?:ing)?\ (?:to\ |with\ )?(?:the|this|that|these|your)
        \ (?:rule|instruction|format|constraint|requirement)
  | \b(?:no|without|avoid(?:ing)?|any|use|using)\ (?:any\ |the\ use\ of\ )?commas\b
  | \b(?:in|use|using|all)\ (?:all\ |only\ )?(?:caps|(?:capital|(?:upper|lower)-?\ ?case)(?:\ letters)?)\b
  | \b(?:in|as|valid|into|use|using)\ (?:valid\ |a\ )?JSON\b
  | \b(?:fewer|less|more)\ than\ \d+\ words\b | \bword\ (?:limit|count)\b
  | \b(?:at\ least|at\ most|under)\ \d+\ words\b
  | \b(?:exact|end|ending|final|closing|required)\ phrase\b
  | \b(?:respond|reason|think|write|answer|reply|writing|thinking|reasoning)
        \ (?:only\ |entirely\ )?in\ (?:{_LANGUAGES})\b
  | \bbullet\ points?\b | \bdouble\ quotation\ marks?\b
  | \b(?:forbidden|required|banned)\ (?:key)?words?\b
    """,
    re.IGNORECASE | re.VERBOSE,
)


def rule_talk(text: str, question: str = "") -> str:
    """The first place where a trace talks about the rule that it is to follow; "" where it does not.

    Published training traces do so in 60 to 99 % of rows, because they were sampled with the instruction.

    Args:
        text: the trace.
        question: the problem; its own words are no such talk.
    """
    asked = question.lower()
    found = (match.group() for match in _RULE_TALK.finditer(text))
    return next((talk for talk in found if talk.lower() not in asked), "")


def check_length(config: SynthConfig, text: str) -> None:
    """Raise `Rejected` where a trace is too short or too long to be one."""
    words = word_count(text)
    fewest, most = config.trace_words
    if not fewest <= words <= most:
        raise Rejected("too short" if words < fewest else "too long", f"{words} words")


def check_language(config: SynthConfig, text: str, question: str) -> None:
    """Raise `Rejected` where much of a sampled trace is in another language than it should be.

    That is the configuration's, or the question's own where it can be told. What cannot be told passes: the
    instruction that asks for a language is verified by its own checker.
    """
    if config.trace_language == ANY:
        return
    code = config.trace_language
    if code == QUESTION:
        asked = _trusted(question)
        if not asked or asked[0].probability < 0.5:
            return
        code = asked[0].language
    trusted = _trusted(text)
    plain = prose(text)
    foreign = [passage for passage in trusted if is_foreign(passage, plain, code)]
    letters = sum(passage.letters for passage in trusted)
    if letters and sum(passage.letters for passage in foreign) > _MOST_FOREIGN * letters:
        first = plain[foreign[0].start : foreign[0].end].split()
        raise Rejected("the trace is in another language", f"{foreign[0].language}: {' '.join(first)[:60]}")


def _trusted(text: str) -> list[Passage]:
    return [passage for passage in Text(text).once(passages) if passage.letters >= _ENOUGH_LETTERS]
