"""What can be asked of a text, and how it is verified: one small class per constraint, one registry.

>>> from riftk.constraints import check
>>> check({"id": "length_constraint_checkers:number_words", "args": {"num_words": 3}}, "one two three").reason
'3 words; the limit is 3, and it takes fewer than that'
"""

from __future__ import annotations

# Importing a module of constraints registers them.
from . import (  # noqa: F401
    case,
    content,
    cotcontrol,
    ending,
    form,
    keywords,
    language,
    length,
    markdown,
    paragraphs,
    punctuation,
    wrapping,
)
from .base import (
    Constraint,
    ConstraintError,
    Verdict,
    broken,
    constraint,
    followed,
    list_constraints,
    parse_constraint,
)
from .checking import CHECKER_VERSION, check, check_all
from .registering import register, register_named
from .text import Text

__all__ = [
    "CHECKER_VERSION",
    "Constraint",
    "ConstraintError",
    "Text",
    "Verdict",
    "broken",
    "check",
    "check_all",
    "constraint",
    "followed",
    "list_constraints",
    "parse_constraint",
    "register",
]

register_named()  # last: what it imports builds on all of the above
