"""Sentences that ask for constraints, found again in a prompt and compared with the arguments of its row.

Published rows contradict themselves now and then: the prompt asks for 336 words and the arguments say 400
(google-research/google-research#3361). Whoever trains on such a row pays for disobedience.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any, NamedTuple

from .base import TARGETS, Constraint
from .published import RULEBOOKS, ifeval, mathif
from .wrapping import RepeatPrompt, one_line

_DESCRIPTIONS = {"mathif": mathif.description, "ifeval": ifeval.description}
_EXACT = ("end_phrase", "sentence", "section_spliter", "postscript_marker")  # the rest in any case
_RELATION = "(?:less|fewer|more|no more|no less|no fewer) than|at least|at most|exactly|around|about"
# Which of the two relations of constraints it is, and what is added to the number for it.
_MEANING = {
    "less than": ("less than", 0),
    "fewer than": ("less than", 0),
    "at most": ("less than", 1),
    "no more than": ("less than", 1),
    "at least": ("at least", 0),
    "no less than": ("at least", 0),
    "no fewer than": ("at least", 0),
    "more than": ("at least", 1),
}
_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")


class _Sentence(NamedTuple):
    """A sentence with its arguments left open: groups of the pattern are the arguments `names`."""

    pattern: re.Pattern[str]
    names: tuple[str, ...]


_SENTENCES: dict[type[Constraint], tuple[_Sentence, ...]] = {}


def disagreements(constraints: Sequence[Constraint], prompt: str) -> list[str]:
    """Where a prompt asks for something else than the constraints that it comes with.

    Known sentences (riftk's wordings, MathIF's and IFEval's) are compared; a prompt that asks in words of its
    own is not. Other values are no contradiction where the right ones stand in the prompt as well, because a
    question may talk like that.

    Returns:
        One sentence for each id whose arguments are not those of the prompt.
    """
    found = []
    for constraint in constraints:
        if isinstance(constraint, RepeatPrompt):
            request = constraint.prompt_to_repeat
            if one_line(request) not in one_line(prompt):
                found.append(f"{constraint.id}: the request to repeat is not in the prompt: {request[:60]!r}")
    for id in dict.fromkeys(constraint.id for constraint in constraints):
        alike = [constraint for constraint in constraints if constraint.id == id]
        said = [(m, names) for pattern, names in _sentences(alike[0]) for m in pattern.finditer(prompt)]
        right = [[m for m, names in said if _agrees(constraint, names, m)] for constraint in alike]
        unasked = [constraint for constraint, matches in zip(alike, right, strict=True) if not matches]
        explained = [match.span() for matches in right for match in matches]
        astray = [
            m.group()
            for m, _ in said
            if all(m.end() <= start or m.start() >= end for start, end in explained)
        ]
        if unasked and astray:
            found.append(f"{id}: the prompt says {astray[0][:200]!r}, and args say {unasked[0].args}")
    return found


def _sentences(constraint: Constraint) -> tuple[_Sentence, ...]:
    """The sentences that ask for constraints of this class, as far as they name arguments."""
    cls = type(constraint)
    if cls not in _SENTENCES:
        has_arguments = any(field.name != "target" for field in fields(constraint))
        templates = dict.fromkeys(_templates(constraint)) if has_arguments else ()
        values = constraint.wording_values()
        _SENTENCES[cls] = tuple(_compiled(text.strip(), values) for text in templates if "\0" in text)
    return _SENTENCES[cls]


def _templates(constraint: Constraint) -> list[str]:
    """All sentences for a constraint, with \\0name\\0 in place of its values."""
    marks = {name: f"\0{name}\0" for name in constraint.wording_values()}
    open_form = copy.copy(constraint)
    object.__setattr__(open_form, "wording_values", marks.copy)
    sentences = [sentence for target in TARGETS for sentence in open_form.instructions(target)]
    for rules, describe in _DESCRIPTIONS.items():
        if constraint.id in RULEBOOKS[rules]:
            sentences.append(describe(open_form))
    return sentences


def _compiled(template: str, values: dict[str, Any]) -> _Sentence:
    literals, names = template.split("\0")[::2], template.split("\0")[1::2]
    pattern = re.escape(literals[0])
    for name, literal in zip(names, literals[1:], strict=True):
        if isinstance(values[name], int):
            group = r"\d[\d,]*"
        elif name.endswith("relation"):
            group = _RELATION
        else:  # what ends the sentence is compared with its beginning
            group = "[^\n]{1,300}?" if literal else "[^\n]{1,300}"
        pattern += f"({group}){re.escape(literal)}"
    return _Sentence(re.compile(pattern), tuple(names))


def _agrees(constraint: Constraint, names: Sequence[str], match: re.Match[str]) -> bool:
    """Whether a sentence says what the arguments of a constraint say."""
    values, beyond = constraint.wording_values(), 0
    for name, said in zip(names, match.groups(), strict=True):
        if name.endswith("relation"):
            relation, beyond = _MEANING.get(said, ("", 0))
            if relation != values[name]:
                return False
    for group, (name, said) in enumerate(zip(names, match.groups(), strict=True), 1):
        if isinstance(values[name], int):
            if int(said.replace(",", "")) + beyond != values[name]:
                return False
        elif not name.endswith("relation"):
            argument, ends = getattr(constraint, name, None), match.end(group) == match.end()
            if not (_lists(said, argument) if isinstance(argument, tuple) else _is(name, values, said, ends)):
                return False
    return True


def _lists(said: str, words: tuple[str, ...]) -> bool:
    """Whether a text lists these words, in whatever order and punctuation."""
    wanted = sorted(_WORD.findall(" ".join(words).lower()))
    listed = sorted(_WORD.findall(said.lower()))
    return wanted in (listed, [word for word in listed if word != "and"])


def _is(name: str, values: Mapping[str, Any], said: str, ends: bool) -> bool:
    """Whether a text is the value of an argument, or, where it `ends` the sentence, begins with it."""
    said, wanted = one_line(said), one_line(str(values[name]))
    if name not in _EXACT:
        said, wanted = said.lower(), wanted.lower()
    return said == wanted or (ends and said.startswith(wanted) and not said[len(wanted)].isalnum())
