"""Guards: text that obeys without saying anything earns nothing.

Instructions about a trace are followed best by a trace that holds nothing, and a policy finds that out:
empty and one-line traces, filler around an answer that was worked out silently, loops, reasoning moved into
the response. Each guard is a small pure function from a `Sample` to a reason, or None where it finds nothing
wrong; all are linear in the text. Of texts longer than `sample.EXAMINED` characters they read both ends.

They are relative: to what was asked (a limit of ten words allows nine), to the prompt where the trainer
passes it, and to what the untrained model writes where the row says so (`reference_length`). No guard needs
blanks between words, so that they hold for Chinese, Japanese and Thai too. What no rule can see, fluent prose
that has nothing to do with the answer beside it, `riftk stress` reports apart.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import NamedTuple

from riftk.constraints import Constraint
from riftk.constraints.keywords import KeywordFrequency, KeywordsExistence, keyword_spans
from riftk.constraints.language import MIN_LETTERS, ReasoningLanguage, ResponseLanguage
from riftk.constraints.languages import identify
from riftk.constraints.length import NumberWords, ResponseWords
from riftk.constraints.markdown import MultipleSections, NumberBullets, NumberHighlights
from riftk.constraints.text import HAN, HANGUL, KANA, UNSPACED, letter_count, prose, sentences
from riftk.grading import parse_number

from .hidden import hidden as hidden_in
from .lexicon import FILLER, JOINING, NUMBER_WORDS
from .sample import Sample, content, demanded_phrases, tokens, tokens_in_turn

Guard = Callable[[Sample], str | None]


class Degenerate(NamedTuple):
    """The guard that calls a text degenerate, and why."""

    guard: str
    reason: str


# -------------------------------------------------------------------------------- what a trace holds

_SUM = re.compile(r"\d[\d.,]*[^\w\n]{0,12}[-+*/×÷·−^][^\n=]{0,40}=[^\n=]{0,24}\d")
_COLLAPSED = 0.1  # of the characters that the untrained model writes
_LETTERS_OF_WORD = 4


def blocks(sample: Sample) -> str | None:
    """Several think blocks, of which the rules may read one and the reader another (open-r1#359)."""
    found = sample.output.completion.blocks
    if found > 1 and sample.output.think != "channels":
        return f"{found} think blocks"
    return None


def vacuous(sample: Sample) -> str | None:
    """A trace without words or calculation: empty, dots, the demanded phrase alone, an empty JSON object."""
    if not sample.thinks:
        return None
    letters = letter_count(sample.said[:_IDENTIFIED])
    if letters < MIN_LETTERS < len(sample.said):
        letters = letter_count(sample.said)
    if letters >= MIN_LETTERS or (letters and _SUM.search(sample.said)):
        return None
    return f"a trace of {letters} letters without a calculation"


def collapsed(sample: Sample) -> str | None:
    """A trace that is a small part of what the untrained model writes, where no word limit asks for that."""
    usual = sample.task.reference_length
    if usual is None or not sample.thinks:
        return None
    for constraint in sample.asked:
        if isinstance(constraint, NumberWords | ResponseWords) and constraint.target == "reasoning":
            usual = min(usual, constraint.limit * _LETTERS_OF_WORD)
    if len(sample.trace) < _COLLAPSED * usual:
        return f"a trace of {len(sample.trace)} characters; {usual:.0f} are usual"
    return None


def filler(sample: Sample) -> str | None:
    """A trace that only talks about thinking and answering, or names nothing but the answer."""
    if sample.thinks and not _has_content(sample.said, sample):
        return "the trace says nothing but that there is an answer"
    if len(sample.response) > 200 and not _has_content(sample.response, sample):
        return "the response is filler"
    return None


def _has_content(text: str, sample: Sample) -> bool:
    """Whether two different words or numbers are neither filler nor of the instructions nor the answer."""
    answer = sample.task.answer
    stated = parse_number(answer).value if answer else None
    found: set[str] = set()
    for token in tokens_in_turn(text):
        if token in FILLER or token in found or token in sample.instruction_words:
            continue
        if len(token) == 1 and token.isascii() and token.isalpha():
            continue
        if token[0].isdigit() and (token == answer.strip() or parse_number(token).value == stated):
            continue
        found.add(token)
        if len(found) > 1:
            return True
    return False


# ------------------------------------------------------------------------------------------- loops

_FEW_TOKENS = 12  # texts with fewer cannot loop
_DISTINCT = {3: 0.45, 4: 0.45}  # least share of different n-grams in a short and a long text
_LONG = 40  # tokens
_COMPRESSED = 0.13  # of the bytes; honest prose keeps 0.28 to 0.45 of a long text
_INCOMPRESSIBLE = 0.25  # a long text that keeps more does not repeat itself
_LONG_BYTES = 600
_NUMBER = re.compile(r"\d+")


def loop(sample: Sample) -> str | None:
    """The same again and again: few different word sequences, or a text that compresses to nearly nothing."""
    for name, text in (("trace", sample.said), ("response", sample.response)):
        reason = _loops(text)
        if reason is not None:
            return f"the {name} repeats itself: {reason}"
    return None


def _loops(text: str) -> str | None:
    data = text.encode("utf-8", "replace")
    if len(data) >= _LONG_BYTES:
        share = len(zlib.compress(data, 1)) / len(data)
        if share < _COMPRESSED:
            return f"it compresses to {share:.0%}"
        if share > _INCOMPRESSIBLE:
            return None
    found = tokens(text)
    if len(found) < _FEW_TOKENS:
        return None
    size = 4 if len(found) >= _LONG else 3
    share = _distinct(found, size)
    if share < _DISTINCT[size]:
        return f"{share:.0%} of its sequences of {size} words differ"
    if len(found) >= _LONG and _counts_up(found):  # "Step 1: I think. Step 2: I think."
        share = _distinct([_NUMBER.sub("0", token) for token in found], size)
        if share < 0.3:
            return f"but for its numbers {share:.0%} of its sequences of {size} words differ"
    return None


def _counts_up(found: Sequence[str]) -> bool:
    """Whether the numbers of a text number its sentences, and are not those of a calculation."""
    values = [int(token) for token in found if token.isdecimal() and len(token) < 7]
    steps = sum(after == before + 1 for before, after in pairwise(values))
    return steps > 3 and steps >= 0.8 * (len(values) - 1)


def _distinct(found: Sequence[str], size: int) -> float:
    grams = list(zip(*(found[start:] for start in range(size)), strict=False))
    return len(set(grams)) / len(grams)


# --------------------------------------------------------------------------------- what it is about

_ENOUGH_WORDS = 25
_FEWEST_JOINING = 0.08
_SURELY_JOINED = 0.25  # English prose, whose language need not be identified
_WORD = re.compile(r"[^\W\d_]{2,}")
_LONG_WORD = 24
_DENSE = re.compile(f"[{HAN}{KANA}{HANGUL}{UNSPACED}]")
_UNKNOWN_LANGUAGE = 0.15
_IDENTIFIED = 1000  # characters
_SURE = 0.4
_FEW_WORDS = 15  # a trace with fewer needs one word of the prompt, others two


def gibberish(sample: Sample) -> str | None:
    """Random letters, lists of words that no sentence joins, words without blanks between them."""
    if not sample.thinks:
        return None
    words = _WORD.findall(prose(sample.said[:_IDENTIFIED]))
    letters = sum(map(len, words))
    glued = sum(len(word) for word in words if len(word) > _LONG_WORD and not _DENSE.search(word))
    tokens_ = re.findall(r"\S{25,}", sample.said[:_IDENTIFIED])
    glued += sum(len(t) for t in tokens_ if t.count("_") + t.count("-") + t.count(".") > 3 and "/" not in t)
    if glued > 0.3 * max(letters, 1):
        return "words without blanks between them"
    if len(words) < _ENOUGH_WORDS:
        return None
    joining = sum(word in JOINING for word in map(str.lower, words)) / len(words)
    if joining > _SURELY_JOINED:
        return None
    language, probability = identify(" ".join(words).lower())[0]
    if probability < _UNKNOWN_LANGUAGE:
        return "the trace is in no language"
    if language == "la":
        return "placeholder text"
    if language == "en" and joining < _FEWEST_JOINING:
        return "a list of words that nothing joins"
    return None


def echo(sample: Sample) -> str | None:
    """A trace that repeats the prompt and adds next to nothing."""
    if not sample.thinks or not sample.question or len(sample.trace) > 3 * len(sample.question):
        return None
    asked = _letters(sample.question)
    said = _letters(sample.said)
    size = 8 if said.isascii() else 5
    known = {asked[start : start + size] for start in range(len(asked) - size + 1)}
    covered = bytearray(len(said))
    for start in range(len(said) - size + 1):
        if said[start : start + size] in known:
            covered[start : start + size] = b"\1" * size
    new = len(said) - sum(covered)
    if len(said) >= MIN_LETTERS and new < max(6, 0.05 * len(said)):
        return f"the trace repeats the prompt: {new} of its {len(said)} letters are new"
    return None


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text.casefold()))


def irrelevant(sample: Sample) -> str | None:
    """A trace that names no number and hardly a word of the prompt, in the language of the prompt."""
    asked = sample.prompt_content if sample.thinks and sample.question else frozenset()
    if len(asked) < 3:
        return None
    said = content(sample.said[: 4 * _IDENTIFIED])
    needed = 1 if len(said) < _FEW_WORDS else 2
    unrelated = len(asked & said) < needed
    if (unrelated or _leaves_numbers_out(sample, asked)) and not _other_language(sample):
        return "the trace has nothing to do with the prompt" if unrelated else "the trace names no number"
    return None


def _leaves_numbers_out(sample: Sample, asked: frozenset[str]) -> bool:
    """Whether the trace has no number, in digits or English words, where question and answer have some."""
    if not _NUMBER.search(sample.task.answer) or not any(token[0].isdigit() for token in asked):
        return False
    return not _NUMBER.search(sample.said) and NUMBER_WORDS.keys().isdisjoint(tokens(sample.said))


def _other_language(sample: Sample) -> bool:
    """Whether the trace is, or shall be, in another language than the prompt: they share no words."""
    asked, _ = _language(sample.question)
    for one in sample.asked:
        if isinstance(one, ReasoningLanguage | ResponseLanguage) and one.target == "reasoning":
            return one.language != asked
    said, probability = _language(sample.said)
    return said != asked and probability >= _SURE


def _language(text: str) -> tuple[str, float]:
    return identify(" ".join(text[:_IDENTIFIED].lower().split()))[0]


_LONG_RESPONSE = 400  # letters


def moved(sample: Sample) -> str | None:
    """Reasoning in the response instead of in the trace, where an instruction is about the trace."""
    if not any(constraint.target == "reasoning" for constraint in sample.asked):
        return None
    response = letter_count(sample.response) if len(sample.response) > _LONG_RESPONSE / 2 else 0
    if response <= _LONG_RESPONSE:
        return None
    trace = letter_count(sample.said)
    return f"{response} letters of response on {trace} of trace" if response > 3 * trace else None


# ------------------------------------------------------------------------------------ what is hidden


def hidden(sample: Sample) -> str | None:
    """Characters or markup that a reader does not see, letters that look like others."""
    return hidden_in(sample.trace) or hidden_in(sample.response)


_TURN = re.compile(
    r"<\|(?:im_start|im_end|endoftext|eot_id|start_header_id|end_of_text|end|return|user|assistant|eos)\|>"
    r"|<｜[^｜\n]{1,40}｜>|</s>|<end_of_turn>|<start_of_turn>|\[/?INST\]",
    re.IGNORECASE,
)
_NEW_TURN = re.compile(r"\n[ \t]{0,3}(?i:user|human|assistant|question|problem)[ \t]{0,2}:\s")
_ANSWER = re.compile(r"<answer>([^<]{0,400})</answer>", re.IGNORECASE)
_SERIES = re.compile(r"(?!\d{1,3}(?:[ ,]\d{3})+\Z)-?[\d.]+(?:(?:\s*[,;|]\s*|\s+(?:or|and)\s+|\s+)-?[\d.]+)+")
_AFTER_ANSWER = 160  # letters


def after_end(sample: Sample) -> str | None:
    """Text behind the end of the turn, or much of it behind the answer."""
    raw = sample.output.completion.response
    if _turn_ends(raw) or _turn_ends(sample.trace):
        return "the text goes on after the end of the turn"
    tail = raw[raw.rfind("</answer>") :] if "</answer>" in raw else ""
    for constraint in sample.asked:
        for phrase in demanded_phrases(constraint):
            tail = tail.replace(phrase, "")
    if letter_count(tail[:10_000]) > _AFTER_ANSWER:
        return "the text goes on after the answer"
    return None


def _turn_ends(text: str) -> bool:
    marked = any(sign in text for sign in ("<|", "<｜", "</", "_turn>", "INST]"))
    return (marked and _TURN.search(text) is not None) or _NEW_TURN.search(text) is not None


def several_answers(sample: Sample) -> str | None:
    """Different answers, each in tags of its own."""
    answers = {
        " ".join(answer.split()).lower() for answer in _ANSWER.findall(sample.output.completion.response)
    }
    answers -= {"", "and", "..."}
    if len(answers) > 1:
        return f"{len(answers)} different answers"
    if sample.task.answer_type == "number" and any(map(_SERIES.fullmatch, answers)):
        return "several numbers as the answer"
    return None


# ---------------------------------------------------------------------- asked-for parts without a text

_LISTING = re.compile(r"key\s?words?|required words?|word list", re.IGNORECASE)
_ITEM = re.compile(r"^[ \t]*[*+-][ \t]+(.*)$", re.MULTILINE)
_HIGHLIGHT = re.compile(r"\*+([^*\n]{1,200})\*+")
_RUN = 3


def stuffing(sample: Sample) -> str | None:
    """Keywords in a heap instead of in sentences."""
    for constraint in sample.asked:
        words = _keywords(constraint)
        text = sample.trace if constraint.target == "reasoning" else sample.response
        if words and (reason := _heaped(text, words)) is not None:
            return reason
    return None


def _keywords(constraint: Constraint) -> tuple[str, ...]:
    if isinstance(constraint, KeywordsExistence):
        return tuple(constraint.keywords)
    if isinstance(constraint, KeywordFrequency) and constraint.relation != "less than":
        return (constraint.keyword,)
    return ()


def _heaped(text: str, keywords: Sequence[str]) -> str | None:
    """Whether the sentences that hold the keywords hold little else, or one keyword stands in a row."""
    wanted = dict.fromkeys(keyword.strip().lower() for keyword in keywords)
    found = tokens(text)
    for keyword in wanted:
        if found.count(keyword) >= _RUN and (keyword,) * _RUN in zip(
            found, found[1:], found[2:], strict=False
        ):
            return f"{keyword!r} {_RUN} times in a row"
    occurrences = others = 0
    for start, end in sentences(text):
        sentence = text[start:end]
        hits = sum(len(keyword_spans(sentence, keyword)) for keyword in wanted)
        if hits:
            occurrences += hits
            others += 0 if _LISTING.search(sentence) else max(len(tokens(sentence)) - hits, 0)
    if occurrences and others < 0.6 * occurrences:
        return "the keywords stand in a heap"
    return None


def hollow(sample: Sample) -> str | None:
    """Bullets, highlights or sections that hold nothing, or all the same."""
    for constraint in sample.asked:
        text = sample.trace if constraint.target == "reasoning" else sample.response
        match constraint:
            case NumberBullets():
                parts = _ITEM.findall(text)
            case NumberHighlights():
                parts = [part for part in _HIGHLIGHT.findall(text) if part.strip()]
            case MultipleSections():
                parts = re.split(rf"{re.escape(constraint.section_spliter.strip())}\s{{0,3}}\d+", text)[1:]
            case _:
                continue
        if len(parts) > 1 and _empty(parts):
            return f"the parts that {constraint.id} asks for hold nothing"
    return None


def _empty(parts: Sequence[str]) -> bool:
    said = [tokens(part) for part in parts]
    empty = sum(
        not any(token[0].isdigit() or len(token) > 1 or not token.isascii() for token in one) for one in said
    )
    return 2 * empty > len(parts) or len({tuple(one) for one in said}) == 1


GUARDS: dict[str, Guard] = {
    guard.__name__: guard
    for guard in (
        blocks,
        vacuous,
        collapsed,
        filler,
        hidden,
        after_end,
        several_answers,
        loop,
        moved,
        echo,
        stuffing,
        hollow,
        gibberish,
        irrelevant,
    )
}


def find_degenerate(sample: Sample) -> Degenerate | None:
    """The first guard that calls a completion degenerate, None where none does."""
    for name, guard in GUARDS.items():
        reason = guard(sample)
        if reason is not None:
            return Degenerate(name, reason)
    return None
