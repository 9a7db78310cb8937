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
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import NamedTuple

from riftk.constraints.language import MIN_LETTERS
from riftk.constraints.length import NumberWords, ResponseWords
from riftk.constraints.text import all_letters, beyond_ascii, letter_count, prose_letters, sentences
from riftk.grading import parse_number

from .hidden import hidden as hidden_in
from .lexicon import FILLER, NUMBER_WORDS
from .parts import hollow, stuffing
from .sample import EXAMINED_CHARS, Sample, content, demanded_phrases, language_of, tokens, tokens_in_turn
from .wording import gibberish

Guard = Callable[[Sample], str | None]


class Degenerate(NamedTuple):
    """The guard that calls a text degenerate, and why."""

    guard: str
    reason: str


# -------------------------------------------------------------------------------- what a trace holds

_SUM = re.compile(r"\d[\d.,]*[^\w\n]{0,12}[-+*/×÷·−^][^\n=]{0,40}=[^\n=]{0,24}\d")
_CLOSED_ALREADY = re.compile(r"</think>[ \t]{0,9}\n", re.IGNORECASE)
_MOSTLY_FILLER = 0.88
_COLLAPSED = 0.1  # of the characters that the untrained model writes
_LETTERS_OF_WORD = 4
_NUMBERED = frozenset(("step", "part", "point", "stage", "phase", "line", "thought", "idea", "check"))


def blocks(sample: Sample) -> str | None:
    """Several think blocks, of which the rules may read one and the reader another (open-r1#359)."""
    found = sample.output.completion.blocks
    if found > 1 and sample.output.think != "channels":
        return f"{found} think blocks"
    if _CLOSED_ALREADY.search(sample.trace):  # at the end of a line; inside of one a trace mentions its tag
        return "a think block that is closed twice"
    return None


def vacuous(sample: Sample) -> str | None:
    """A trace without words or calculation: empty, dots, the demanded phrase alone, an empty JSON object."""
    if not sample.thinks:
        return None
    letters = prose_letters(sample.said[:EXAMINED_CHARS])
    if letters < MIN_LETTERS < len(sample.said):
        letters = prose_letters(sample.said)
    if letters >= MIN_LETTERS or (letter_count(sample.said) and _SUM.search(sample.said)):
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
    """A trace that only talks about thinking and answering, counts, or names nothing but the answer."""
    if sample.thinks and not _has_content(sample.said, sample):
        return "the trace says nothing but that there is an answer"
    if sample.thinks and len(sample.said) < EXAMINED_CHARS and _only_counts(tokens(sample.said)):
        return "the trace counts"
    if len(sample.response) > 200 and not _has_content(sample.response, sample):
        return "the response is filler"
    for name, text in (("trace", sample.said), ("response", sample.response)):
        words = tokens(text[:EXAMINED_CHARS])
        if len(words) >= _LONG and sum(word in FILLER for word in words) > _MOSTLY_FILLER * len(words):
            return f"the {name} is mostly filler"
    return None


def _has_content(text: str, sample: Sample) -> bool:
    """Whether two different words or numbers are neither filler nor of the instructions nor the answer."""
    answer, stated = sample.task.answer, sample.answer_value
    found: set[str] = set()
    before, next_number, calculates = "", 1, _SUM.search(text[:EXAMINED_CHARS]) is not None
    for token in tokens_in_turn(text):
        counts = not calculates and token == str(next_number)
        numbering = token.isdecimal() and (before in _NUMBERED or counts)
        next_number += numbering
        before = token
        if numbering or token in FILLER or token in found or token in sample.instruction_words:
            continue
        if len(token) == 1 and token.isascii() and token.isalpha():
            continue
        if token[0].isdigit() and (token == answer.strip() or parse_number(token).value == stated):
            continue
        found.add(token)
        if len(found) > 1:
            return True
    return False


def _only_counts(found: Sequence[str]) -> bool:
    """Whether most of a text is numbers one after the other, in digits or English words."""
    values = [NUMBER_WORDS.get(token, token) for token in found]
    steps = sum(
        one.isdecimal() and other.isdecimal() and len(other) < 7 and int(other) == int(one) + 1
        for one, other in pairwise(values)
    )
    return steps > 5 and 2 * steps > len(found)


# ------------------------------------------------------------------------------------------- loops

_FEW_TOKENS = 12  # texts with fewer cannot loop
_DISTINCT = {3: 0.45, 4: 0.45}  # least share of different n-grams in a short and a long text
_LONG = 40  # tokens
_COMPRESSED = 0.13  # of the bytes; honest prose keeps 0.28 to 0.45 of a long text
_INCOMPRESSIBLE = 0.25  # a text that keeps more does not repeat itself ...
_SHORT_INCOMPRESSIBLE = 0.4  # ... nor does a shorter one that keeps as much as this
_LONG_BYTES = 600
_LONGER_BYTES = 3000
_NUMBER = re.compile(r"\d+")
_VALUE = re.compile(r"(?<![A-Za-z_\d])\d+")  # no name's: not the 3 of x3
_ALONE = re.compile(r"(?<!\w)\d+(?!\w)")


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
        if share > (_INCOMPRESSIBLE if len(data) > _LONGER_BYTES else _SHORT_INCOMPRESSIBLE):
            return None
    found = tokens(text)
    thrice = zip(found, found[1:], found[2:], strict=False)
    again = sum(one == two == three and one.isalpha() for one, two, three in thrice)
    if len(found) < 2 * _FEW_TOKENS and again and 3 * (again + 2) > len(found):
        return "one word again and again"
    if len(found) < _FEW_TOKENS:
        return None
    if sum(one == other and one.isalpha() for one, other in pairwise(found)) > 0.4 * len(found):
        return "each word again and again"
    size = 4 if len(found) >= _LONG else 3
    share = _distinct(found, size)
    if share < _DISTINCT[size]:
        return f"{share:.0%} of its sequences of {size} words differ"
    if len(found) >= _LONG and _counts_up(found):  # "Step 1: I think. Step 2: I think."
        share = _distinct([_NUMBER.sub("0", token) for token in found], size)
        if share < 0.3:
            return f"but for its numbers {share:.0%} of its sequences of {size} words differ"
    words = list(filter(None, (_NUMBER.sub("", token) for token in found)))
    if len(words) >= 2 * _FEW_TOKENS and not _calculates(text):  # "Ann has 5 pens. Ann has 9 pens."
        share = _distinct(words, 3)
        if share < 0.35:
            return f"without its numbers {share:.0%} of its sequences of 3 words differ"
    return None


def _calculates(text: str) -> bool:
    """Whether a text holds a sum in signs, or sentences of three numbers each: 5 and 8 more make 13."""
    return _SUM.search(text) is not None or len(_ALONE.findall(text)) >= 2.5 * len(sentences(text))


def _counts_up(found: Sequence[str]) -> bool:
    """Whether the numbers of a text number its sentences, and are not those of a calculation."""
    values = [int(token) for token in found if token.isdecimal() and len(token) < 7]
    steps = sum(after == before + 1 for before, after in pairwise(values))
    return steps > 3 and steps >= 0.8 * (len(values) - 1)


def _distinct(found: Sequence[str], size: int) -> float:
    grams = list(zip(*(found[start:] for start in range(size)), strict=False))
    return len(set(grams)) / len(grams)


# --------------------------------------------------------------------------------- what it is about

_SURE = 0.4
_SHORT_ECHO = 40  # letters; of a longer echo neither filler nor the answer behind it is anything new
_FEW_WORDS = 15  # a trace with fewer needs one word of the prompt, others two


def echo(sample: Sample) -> str | None:
    """A trace that repeats the prompt and adds next to nothing."""
    if not sample.thinks or not sample.question or len(sample.trace) > 3 * len(sample.question):
        return None
    asked = "".join(tokens(sample.question))
    words = tokens(sample.said)
    said = "".join(words)
    size = 8 if said.isascii() else 5
    known = {asked[start : start + size] for start in range(len(asked) - size + 1)}
    covered = bytearray(len(said))
    for start in range(len(said) - size + 1):
        if said[start : start + size] in known:
            covered[start : start + size] = b"\1" * size
    new = start = 0
    all_count = len(said) < _SHORT_ECHO or _SUM.search(sample.said) is not None
    for word in words:
        if all_count or (word not in FILLER and word != sample.task.answer):
            new += covered.count(0, start, start + len(word))
        start += len(word)
    if len(said) >= MIN_LETTERS and new < max(6, 0.05 * len(said)):
        return f"the trace repeats the prompt: {new} of its {len(said)} letters are new"
    return None


def irrelevant(sample: Sample) -> str | None:
    """A trace that names no number and hardly a word of the prompt, in the language of the prompt."""
    asked = sample.prompt_content if sample.thinks and sample.question else frozenset()
    if len(asked) < 3:
        return None
    said = content(sample.said[: 4 * EXAMINED_CHARS])
    needed = 1 if len(said) < _FEW_WORDS else 2
    unrelated = len(asked & said) < needed and not _leads_to_answer(sample)
    if unrelated and not _other_language(sample):
        return "the trace has nothing to do with the prompt"
    return _no_calculation(sample)


def _leads_to_answer(sample: Sample) -> bool:
    """Whether the trace names the answer and two other numbers, and does not just number its sentences."""
    if _counts_up(tokens(sample.said)):
        return False
    answer = sample.answer_value
    said = set(_numbers(sample.said[: 4 * EXAMINED_CHARS]))
    return answer is not None and str(abs(answer)) in said and len(said) > 2


def _no_calculation(sample: Sample) -> str | None:
    """What a trace lacks of a calculation where question and answer are numbers: any number, one of the
    question, or one that the question does not have. Numbers are digits and English words."""
    answer = sample.answer_value if _NUMBER.search(sample.task.answer) else None
    asked = Counter(_numbers(sample.question)) - Counter(_numbers(sample.instructions))
    if answer is None or not asked or len(sample.said) > EXAMINED_CHARS:
        return None
    said = {*_numbers(sample.said), *(["1"] if answer == 1 and "one" in tokens(sample.said) else ())}
    if not said:
        in_its_script = not _other_language(sample) and (
            2 * all_letters(beyond_ascii(sample.said)) > len(sample.said)
        )
        spelt_out = in_its_script or sample.asked_language not in ("", sample.prompt_language)
        return None if spelt_out else "the trace names no number"
    if answer.denominator > 1 or _other_language(sample):
        return None
    if len(asked) > 1 and asked.keys().isdisjoint(said) and not _leads_to_answer(sample):
        return "the trace names no number of the question"
    if said <= asked.keys() and str(abs(answer)) not in asked:
        return "the trace names no number that the question does not have"
    return None


def _numbers(text: str) -> list[str]:
    """The whole numbers of a text, and the parts of others, without leading zeros."""
    found = [NUMBER_WORDS[token] for token in tokens(text) if NUMBER_WORDS.get(token) and token != "one"]
    return found + [str(int(digits)) for digits in _VALUE.findall(text.replace(",", "")) if len(digits) < 20]


def _other_language(sample: Sample) -> bool:
    """Whether the trace is, or shall be, in another language than the prompt: they share no words."""
    if sample.asked_language:
        return sample.asked_language != sample.prompt_language
    said, probability = language_of(sample.said)
    return said != sample.prompt_language and probability >= _SURE


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
    return hidden_in(sample.trace) or hidden_in(sample.response) or hidden_in(_json_values(sample))


def _json_values(sample: Sample) -> str:
    """Of a trace in JSON the values, without its escapes; "" of others."""
    return sample.said if sample.trace[:1] in ("{", "[", "`") else ""


_TURN = re.compile(
    r"<\|(?:im_start|im_end|im_sep|endoftext|endofprompt|eot|eom|eot_id|eom_id|start_header_id|end_of_text"
    r"|start|message|channel|end|return|user|assistant|system|eos|bos|pad|sep)\|>"
    r"|<｜[^｜\n]{1,40}｜>|</s>|<(?:eos|bos|pad)>|<(?:end|start)_of_\w{1,20}>|\[(?:/?INST|EOS|BOS|USER)\]",
    re.IGNORECASE,
)
_NEW_TURN = re.compile(
    r"\n[ \t#*]{0,8}(?i:user|human|assistant|question|problem)(?:[ \t]\d{1,3})?\*{0,2}[ \t]{0,2}:\s"
    r"|\n#{2,4}[ \t](?i:instruction|input|response)s?:\s"
    r"|\nQ\d{0,2}:\s[^\n]{1,400}\nA\d{0,2}:\s"
)
_ANSWER = re.compile(r"<answer>([^<]{0,400})</answer>", re.IGNORECASE)
_SERIES = re.compile(r"(?!\d{1,3}(?:[ ,]\d{3})+\Z)-?[\d.]+(?:(?:\s*[,;|]\s*|\s+(?:or|and)\s+|\s+)-?[\d.]+)+")
_AFTER_ANSWER = 160  # letters
_BOXED = re.compile(r"\\boxed\{([^{}\n]{0,200})\}")
_STATED = re.compile(
    r"^[ \t#*>]{0,8}(?:final )?answer[ \t*]{0,4}(?:is|[:=])[ \t*]{0,4}([^\n]{1,200})$", re.I | re.M
)
_HEDGED = re.compile(
    r"\d[^\n\d]{0,20}\bor (?:maybe|perhaps|possibly|it (?:may|might|could) be)\b[^\n\d]{0,20}\d",
    re.IGNORECASE,
)
_BETWEEN = 12  # characters between two answers that are offered at once
_HEDGE = re.compile(
    r"\b(?:or|maybe|perhaps|possibly|alternatively|might|could)\b(?![^\n]{0,120}[.!?]\s)", re.IGNORECASE
)
_MANY_BOXES = 3


def after_end(sample: Sample) -> str | None:
    """Text behind the end of the turn, or much of it behind the answer."""
    raw = sample.output.completion.response
    if any(map(_turn_ends, (raw, sample.trace, _json_values(sample)))):
        return "the text goes on after the end of the turn"
    tail = raw[raw.rfind("</answer>") :] if "</answer>" in raw else ""
    for constraint in sample.asked:
        for phrase in demanded_phrases(constraint):
            tail = tail.replace(phrase, "")
    if letter_count(tail[:10_000]) > _AFTER_ANSWER:
        return "the text goes on after the answer"
    return None


def _turn_ends(text: str) -> bool:
    marked = any(sign in text for sign in ("<|", "<｜", "</", "s>", "d>", "_of_", "INST]", "OS]", "USER]"))
    return (marked and _TURN.search(text) is not None) or _NEW_TURN.search(text) is not None


def several_answers(sample: Sample) -> str | None:
    """Different answers, each in tags of its own."""
    answers = {
        " ".join(answer.split()).lower() for answer in _ANSWER.findall(sample.output.completion.response)
    }
    answers -= {"", "and", "..."}
    if len(answers) > 1:
        return f"{len(answers)} different answers"
    boxes = list(_BOXED.finditer(sample.response))
    answers.update(box[1].strip() for box in boxes[-1:])
    if sample.task.answer_type == "number" and any(map(_SERIES.fullmatch, answers)):
        return "several numbers as the answer"
    if sample.task.answer_type == "number" and _HEDGED.search(sample.response):
        return "two numbers, of which one may be the answer"
    if len({box[1].strip() for box in boxes}) > _MANY_BOXES:
        return "several boxed answers"
    for one, other in pairwise(boxes):
        between = sample.response[one.end() : other.start()]
        if one[1].strip() != other[1].strip() and (len(between) < _BETWEEN or _HEDGE.search(between[-200:])):
            return f"two boxed answers: {one[1]!r} and {other[1]!r}"
    stated = {parse_number(match[1]).value for match in _STATED.finditer(sample.response)} - {None}
    if len(stated) > 1:
        return f"{len(stated)} different answers"
    return None


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
        stuffing,
        hollow,
        loop,
        moved,
        echo,
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
