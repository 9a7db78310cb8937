r"""ReasonIF's own rewriting, for comparison: what 100 % of the rows of its training set are reproduced by.

Capitals by `str.upper`, commas deleted, the phrase appended, the text as one JSON string; language and word
limit by an LLM, then cut off after the first N words (one too many for "less than N"). Nothing is verified
there, and nothing here.
"""

from __future__ import annotations

import json

from riftk.constraints.published.shared import word_matches

from .errors import Rejected
from .registry import Material, Rewrite
from .rewriters import CAPITALS, END, JSON, NO_COMMA, WORDS


def rewrite_as_published(id: str, material: Material) -> Rewrite:
    """Rewrite a trace as the published set was (ReasonIF, section 4.2, RQ4, and its rows).

    Raises:
        Rejected: a constraint that it does not have.
    """
    text, args = material.reasoning, dict(material.args)
    if id == CAPITALS:
        return Rewrite(text.upper(), args)
    if id == NO_COMMA:
        return Rewrite(text.replace(",", ""), args)
    if id == END:
        return Rewrite(f"{text}\n{args['end_phrase']}", args)
    if id == JSON:
        return Rewrite(f"```json\n{json.dumps({'reasoning': text}, indent=4)}\n```", args)
    if id == WORDS:
        return Rewrite(first_words(text, int(args["num_words"])), args)
    raise Rejected("not one of ReasonIF's constraints", id)


def first_words(text: str, count: int) -> str:
    """The text where it has no more than `count` words, else these, joined by blanks."""
    words = word_matches(text)
    return text if len(words) <= count else " ".join(words[:count])
