"""Find the answer in a response: answer tags, boxes, "####", "the answer is", else the last number.

Everything here is linear in the length of the response: markers are found in one pass, and what is read at
each is bounded by `MAX_CHARS`.
"""

from __future__ import annotations

import re
from collections import deque

from riftk.grading.choices import choice, label
from riftk.grading.numbers import MAX_CHARS, parse_number, written

ANSWER_TYPES = ("math", "number", "choice", "label")

_TAG = re.compile(r"<(/?)answer>", re.IGNORECASE)
# Between the tags where a response repeats the prompt: "inside the tags `<answer>` and `</answer>`".
_ECHO = re.compile(r"(?:and|or|…|(?:only )?(?:the |your )?(?:final )?answer(?: here)?)?", re.IGNORECASE)
_BOX = re.compile(r"\\(?:boxed|fbox)(?![a-z])\s*", re.IGNORECASE)
_BARE = re.compile(r"[^\s$]{1,80}")
_HASHES = re.compile(r"####[^\S\n]*(\S[^\n]*)")
_STATED = re.compile(
    r"\banswers?\b(?:[^\S\n]+[\w()$\\]++){0,6}?[^\S\n]*[*_]*[^\S\n]*"
    r"(?:\b(?:is|are|was|equals|(?:should|must|will|would|can only)[^\S\n]+be)\b|[:=])",
    re.IGNORECASE,
)
_LEADING = re.compile(r"(?:[\s:*_`\"“'‘]|\$+(?!\d)|\\[(\[])*")
_SENTENCE_END = re.compile(r"\n|[.!?]+[\"”'’*_)\]]*(?=\s|$)")
_STATED_END = re.compile(rf"{_SENTENCE_END.pattern}|\\[)\]]")
_MATH = re.compile(r"\$([^$\n]{1,400})\$|\\\((.{1,400}?)\\\)|\\\[(.{1,400}?)\\\]")
_REFUSAL = re.compile(
    r"\b(?:I|we)(?: (?:am|are|was|were)|['’](?:m|re))? (?:can(?:no|['’])t|can not|could(?: not|n['’]t)|unable"
    r"|not sure|do(?: not|n['’]t) know|g[ia]ve up|have no idea)\b"
    r"|\b(?:can(?:no|['’])t|could(?: not|n['’]t)|unable to|not able to|failed to) (?:be )?"
    r"(?:solved?|determined?|answer(?:ed)?|find (?:the|an|any) (?:answer|solution))\b",
    re.IGNORECASE,
)
_HEADING = re.compile(r"(?:step|case|part|section|method|example|problem|question|option)\b", re.IGNORECASE)
_TRIES = 8  # markers looked at from the end
_MAX_RESPONSE = 400_000  # characters read from the end of a response, which is more than models are given


def extract_answer(
    response: str, answer_type: str = "math", *, letters: str = "ABCD", labels: tuple[str, ...] = ()
) -> str | None:
    """The answer that a response gives, None where it gives none.

    The last complete pair of answer tags wins, echoes of the prompt aside; inside it, or without it in the
    whole response, the last box, the last "####" line, the last "the answer is". Without any of these the
    last number of the response counts ("math", "number"), unless it says that it gives up.

    Args:
        response: visible response (without the trace).
        answer_type: "math" and "number" return the text of the answer, "choice" a capital letter, "label" a
            word.
        letters: options of a choice.
        labels: possible labels; by default those of sentiment, yes/no and true/false questions.

    Raises:
        ValueError: unknown `answer_type`.
    """
    if answer_type not in ANSWER_TYPES:
        raise ValueError(f"answer_type must be one of {', '.join(ANSWER_TYPES)}, not {answer_type!r}")
    response = response[-_MAX_RESPONSE:]
    tagged = _tagged(response)
    scope = response if tagged is None else tagged
    marked = boxed(scope)
    if marked is None and answer_type in ("math", "number"):
        marked = _after_hashes(scope) or _stated(scope)
    found = scope if marked is None else marked
    if answer_type == "choice":
        return choice(found, letters)
    if answer_type == "label":
        return label(found, labels)
    if marked is None and tagged is None:
        return _last_number(response)
    return _trimmed(found)


def has_complete_answer_tag(response: str) -> bool:
    """Whether an answer stands between `<answer>` and `</answer>`; echoes of the prompt do not count."""
    return bool(_pairs(response))


def strip_answer_tags(response: str) -> str:
    """The response without the tags around its answer: what a constraint on the response is judged on.

    The tags are asked for by the prompt, so a rule about the response (capitals, JSON, an end phrase) must
    not fail because of them.
    """
    return _TAG.sub("", response).strip()


def answer_tags(response: str) -> list[tuple[int, int]]:
    """Offsets of the tags that `strip_answer_tags` takes out of a response."""
    return [tag.span() for tag in _TAG.finditer(response)]


def _pairs(text: str) -> list[tuple[int, int]]:
    """Spans between complete pairs of answer tags, without echoes."""
    found = []
    opening: re.Match[str] | None = None
    for mark in _TAG.finditer(text):
        if not mark[1]:
            opening = mark
        elif opening is not None:
            inside = text[opening.end() : min(mark.start(), opening.end() + 80)]
            if not _quoted(text, opening) and not _ECHO.fullmatch(inside.strip(" \t\r\n`'\"*.[]{}")):
                found.append((opening.end(), mark.start()))
            opening = None
    return found


def _quoted(text: str, tag: re.Match[str]) -> bool:
    return text[tag.end() : tag.end() + 1] == "`"


def _tagged(text: str) -> str | None:
    pairs = _pairs(text)
    if pairs:
        start, end = pairs[-1]
        return text[start:end]
    last = deque(_TAG.finditer(text), maxlen=1)
    if last and not last[0][1] and not _quoted(text, last[0]):  # cut off inside the tag
        return text[last[0].end() :].strip() or None
    return None


def boxed(text: str) -> str | None:
    """Content of the last complete `\\boxed{…}` (or `\\fbox`, in any letter case), None without one."""
    for mark in list(_BOX.finditer(text))[: -_TRIES - 1 : -1]:
        if text[mark.end() : mark.end() + 1] == "{":
            inside = _in_braces(text, mark.end())
        else:
            bare = _BARE.match(text, mark.end()) if text[mark.end() - 1].isspace() else None  # "\\boxed 62"
            inside = bare and bare[0]
        if inside and inside.strip():
            return inside
    return None


def _in_braces(text: str, start: int) -> str | None:
    depth = 0
    skip = False
    for index in range(start, min(len(text), start + MAX_CHARS)):
        if skip:
            skip = False
        elif text[index] == "\\":
            skip = True
        elif text[index] == "{":
            depth += 1
        elif text[index] == "}":
            depth -= 1
            if depth == 0:
                return text[start + 1 : index]
    return None


def _after_hashes(text: str) -> str | None:
    if "####" not in text:
        return None
    for line in [m[1] for m in _HASHES.finditer(text)][: -_TRIES - 1 : -1]:
        # a heading has no number, or one that counts steps, or is a sentence
        if len(line) <= 60 and not _HEADING.match(line) and ("\\" in line or any(map(str.isdigit, line))):
            return line
    return None


def _stated(text: str) -> str | None:
    """What stands behind the last "answer is" that an answer follows."""
    for mark in list(_STATED.finditer(text))[: -_TRIES - 1 : -1]:
        start = _LEADING.match(text, mark.end()).end()
        end = _STATED_END.search(text, start, start + MAX_CHARS)
        found = text[start : end.start() if end else start + MAX_CHARS].strip()
        if found and (any(map(str.isdigit, found)) or "\\" in found or len(found.split()) <= 4):
            return found
    return None


def _last_number(text: str) -> str | None:
    tail = text[-MAX_CHARS:]
    if _REFUSAL.search(tail[-300:]):
        return None
    sentences = [part.strip() for part in _SENTENCE_END.split(tail)]
    for sentence in reversed(list(filter(_may_answer, sentences))):
        number = parse_number(sentence)
        if number.value is not None:
            return written(number)
        math = [m[m.lastindex] for m in _MATH.finditer(sentence)]
        return math[-1].rpartition("=")[2].strip() if math else None
    number = parse_number(tail.strip())  # in words
    return written(number) or None


def _may_answer(sentence: str) -> bool:
    return any(map(str.isdigit, sentence)) or "$" in sentence or bool(_MATH.search(sentence))


def _trimmed(text: str) -> str | None:
    text = text.strip().strip('*_`"“”').strip().removesuffix(".")
    if text.count("$") % 2:  # one of a pair was cut off
        text = text.removesuffix("$")
    return text.strip() or None
