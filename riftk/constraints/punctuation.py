"""Punctuation."""

from __future__ import annotations

import re

from .base import Constraint, Verdict, broken, constraint, followed
from .language import vacuous
from .text import Span, Text, formula_spans, says_something

# Commas of all scripts. U+201A is a quotation mark and no comma.
COMMAS = (
    ",\u055d\u060c\u07f8\u1363\u1802\u1808\u2e32\u2e34\u2e41\u2e49\u2e4c"
    "\u3001\ua60d\ua6f5\ufe10\ufe11\ufe50\ufe51\uff0c\uff64"
)
_COMMA = re.compile(f"[{COMMAS}]")


def comma_spans(text: str) -> list[Span]:
    r"""Spans of commas. `\,` is a thin space in formulas, and inside a token such as `x\,dx`."""
    found = [match.span() for match in _COMMA.finditer(text)]
    if not found or "\\," not in text:
        return found
    formulas = iter((*formula_spans(text), (len(text), len(text))))
    start, end = next(formulas)
    commas = []
    for span in found:
        while span[0] >= end and end < len(text):
            start, end = next(formulas)
        thin = text[span[0] - 1 : span[1]] == "\\,"
        glued = not text[span[1] : span[1] + 1].isspace() and span[1] < len(text)
        if not (thin and (start <= span[0] < end or glued)):
            commas.append(span)
    return commas


@constraint("punctuation:no_comma")
class NoComma(Constraint):
    """No comma, of whatever script; thin spaces of LaTeX are none."""

    wording = (
        "When {acting}, refrain from the use of any commas.",
        "Do not use a single comma in your {text}.",
        "Your {text} must be free of commas.",
        "Write the whole {text} without commas.",
        "Commas are not allowed anywhere in your {text}.",
        "Avoid commas entirely: none may appear in your {text}.",
    )

    def robust(self, text: Text) -> Verdict:
        if (empty := vacuous(text, self.target)) is not None:
            return empty
        if not text.once(says_something):
            return broken(0.0, "there is neither a word nor a number in it")
        commas = text.once(comma_spans)
        if commas:
            return broken(1 / (1 + len(commas)), f"{len(commas)} comma{'s' * (len(commas) > 1)}", commas)
        return followed("no comma")
