"""What an LLM is asked when it rewrites a trace, one prompt per constraint, and how its answer is read.

The limit that it is told lies below the one that is asked for, because models overshoot; a refused answer is
told the verdict's own reason. Prompts are riftk's own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from riftk.completions import split_completion
from riftk.constraints import Constraint
from riftk.constraints.languages import REASONIF_LANGUAGES
from riftk.constraints.text import letter_count

from .errors import Rejected
from .filters import rule_talk
from .rewriters import EXISTENCE, FORBIDDEN, FREQUENCY, LANGUAGE, WORDS
from .sampling import has_answer_tag
from .survival import figures, require_survival
from .verification import judge

TARGET = 0.85  # of the words that are allowed: what a request says
_LENGTHS = 0.4, 2.5  # of a translation, in letters, compared with the original
_OPENINGS = re.compile(
    r"\A\W*(?:sure|certainly|of course|here(?:['’]s| is| are)|okay, here|below is"
    r"|the (?:rewritten|translated|shortened)"
    r"|(?:the )?(?:rewritten|translated|shortened|revised|original|new) (?:text|version|trace)|translation)\b"
    r"[^\n]{0,120}",
    re.IGNORECASE,
)

_KEEP = (
    "Keep every number, formula, unit, tuple and piece of code exactly as it is written, with the "
    "digits 0-9, and keep the order of the steps. Add no step and solve nothing anew. Do not mention this "
    "task. Give the new text alone, without a word before or after it."
)


def _language(args: Mapping[str, Any]) -> str:
    name = REASONIF_LANGUAGES[args["language"]]
    return (
        f"Translate the notes below into {name}: all of them, from the first sentence to the last, as "
        f"somebody who thinks in {name} would write them down. {_KEEP}"
    )


def _words(args: Mapping[str, Any]) -> str:
    limit = max(int(TARGET * (args["num_words"] - 1)), 1)
    return (
        f"Shorten the notes below to at most {limit} words. Keep the computations that the result rests on, "
        "and the conclusion with the result; leave out repetitions, doubts and asides. Change no number and "
        "no formula, and add none. Do not mention this task. Give the new text alone, without a word before "
        "or after it."
    )


def _existence(args: Mapping[str, Any]) -> str:
    words = ", ".join(f'"{word}"' for word in args["keywords"])
    return (
        f"Rewrite the notes below so that each of these words occurs in them: {words}. Change as little as "
        f"possible; let the words come where they make sense. {_KEEP}"
    )


def _frequency(args: Mapping[str, Any]) -> str:
    wanted = f"{args['relation']} {args['frequency']} times"
    return (
        f'Rewrite the notes below so that the word "{args["keyword"]}" occurs in them {wanted}. Change as '
        f"little as possible, and keep the sense. {_KEEP}"
    )


def _forbidden(args: Mapping[str, Any]) -> str:
    words = ", ".join(f'"{word}"' for word in args["forbidden_words"])
    return (
        f"Rewrite the notes below without any of these words, in capital or small letters: {words}. Put "
        f"other words in their place, and change as little as possible. {_KEEP}"
    )


PROMPTS: dict[str, Callable[[Mapping[str, Any]], str]] = {
    LANGUAGE: _language,
    WORDS: _words,
    EXISTENCE: _existence,
    FREQUENCY: _frequency,
    FORBIDDEN: _forbidden,
}


@dataclass(frozen=True)
class Exchange:
    """One rewrite by an LLM: what is asked, and what became of it so far.

    Args:
        constraint: the rule that the text has to follow, arguments known; a word limit is what it leaves
            for this trace, without the words that later rewriters will add.
        text: the trace as it is.
        answer: what the response says, "" where that is not known.
        refused: (answer, what was wrong with it) of the last try; empty at the first.
        tries: requests so far.
    """

    constraint: Constraint
    text: str
    answer: str
    refused: tuple[str, str] | tuple[()] = ()
    tries: int = 0

    @property
    def messages(self) -> tuple[dict[str, str], ...]:
        """The conversation to send."""
        asked = PROMPTS[self.constraint.id](self.constraint.args)
        first = {"role": "user", "content": f"{asked}\n\n{self.text}"}
        if not self.refused:
            return (first,)
        said, wrong = self.refused
        again = f"That cannot be used: {wrong}. Write the whole text once more, so that this is put right."
        return first, {"role": "assistant", "content": said}, {"role": "user", "content": again}

    def read(self, said: str) -> str:
        """The rewritten trace in an answer.

        Raises:
            Rejected: it does not follow, has lost or added something, or is no text alone.
        """
        text = split_completion(said).response.strip() or said.strip()
        if not text:
            raise Rejected("nothing was written")
        if has_answer_tag(text):
            raise Rejected("answer tag in the trace")
        if opening := _OPENINGS.match(text):
            raise Rejected("words before the text itself", opening.group()[:80])
        for one in judge([self.constraint], text, ""):
            if not one.verdict.followed:
                raise Rejected(f"not followed under {one.rules} rules", one.verdict.reason)
        id = self.constraint.id
        require_survival(self.text, text, translated=id == LANGUAGE, shorter=id == WORDS)
        result = figures(self.answer)[-1:] if id == WORDS else []
        if result and result[0] in figures(self.text) and result[0] not in figures(text):
            raise Rejected("the result is lost", result[0])
        if id == LANGUAGE:
            low, high = (share * letter_count(self.text) for share in _LENGTHS)
            if not low <= letter_count(text) <= high:
                raise Rejected("a translation of another length", f"{letter_count(text)} letters")
        if (talk := rule_talk(text)) and not rule_talk(self.text):
            raise Rejected("talk about the rule", talk)
        return text

    def follows_already(self) -> bool:
        """Whether nothing needs to be asked."""
        return all(one.verdict.followed for one in judge([self.constraint], self.text, ""))
