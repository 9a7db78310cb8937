"""Checking texts against constraints, under a rulebook."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from .base import Constraint, ConstraintError, Verdict, parse_constraint
from .published import RULEBOOKS
from .text import Text

CHECKER_VERSION = "2"  # raised whenever a verdict changes; written into every result


def check_all(
    specs: Iterable[Mapping[str, Any] | Constraint], text: str | Text, rules: str = "robust"
) -> list[Verdict]:
    """Judge one text by several constraints; verdicts come in the order of `specs`.

    The analysis of the text (visible text, language, words) is made once for all of them. Pass a `Text` to
    share it over several calls, for instance over two rulebooks.

    Args:
        specs: constraints, or their mappings as in a row.
        text: reasoning or response, as the constraints' target says.
        rules: "robust", or a published rulebook: "mathif", "reasonif", "reasonif-80" (language from the first
            80 characters), "ifeval", "ifeval-loose", "cotcontrol".

    Raises:
        ConstraintError: an unknown id, argument or rulebook, or an id that a published rulebook lacks.
    """
    constraints = [parse_constraint(spec) for spec in specs]
    shared = text if isinstance(text, Text) else Text(text)
    if rules == "robust":
        return [constraint.robust(shared) for constraint in constraints]
    rulebook = RULEBOOKS.get(rules)
    if rulebook is None:
        raise ConstraintError(f"unknown rules {rules!r}; there are {', '.join(('robust', *RULEBOOKS))}")
    for constraint in constraints:
        if constraint.id not in rulebook:
            raise ConstraintError(f"{constraint.id} is not in the rules {rules!r}; use rules='robust'")
    return [rulebook[constraint.id](constraint, shared) for constraint in constraints]


def check(spec: Mapping[str, Any] | Constraint, text: str | Text, rules: str = "robust") -> Verdict:
    """Judge one text by one constraint.

    >>> check({"id": "punctuation:no_comma", "args": {}}, "First, add them.").reason
    '1 comma'

    Arguments and errors are those of `check_all`.
    """
    return check_all([spec], text, rules)[0]
