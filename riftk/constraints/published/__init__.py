"""The published evaluators' rulebooks: by name, which rule judges an id, and which text it judges."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from ..base import Constraint, ConstraintError
from . import cotcontrol, ifeval, mathif, reasonif
from .shared import Rule

RULEBOOKS: dict[str, Mapping[str, Rule]] = {
    "reasonif": reasonif.RULES,
    "reasonif-80": reasonif.RULES_80,
    "mathif": mathif.RULES,
    "ifeval": ifeval.RULES,
    "ifeval-loose": ifeval.RULES_LOOSE,
    "cotcontrol": cotcontrol.RULES,
}
_CUTS: dict[str, Callable[[str, str], str]] = {
    "reasonif": reasonif.judged_text,
    "reasonif-80": reasonif.judged_text,
    "mathif": mathif.judged_text,
    "ifeval": ifeval.judged_text,
    "ifeval-loose": ifeval.judged_text,
    "cotcontrol": cotcontrol.judged_text,
}
# Whose evaluator a constraint comes from, where several have its id; MathIF and IFEval never judge a trace.
_PUBLISHED_BY = {
    "reasoning": ("reasonif", "cotcontrol"),
    "response": ("mathif", "ifeval", "cotcontrol"),
}


def add_rulebook(
    name: str,
    rules: Mapping[str, Rule],
    cut: Callable[[str, str], str],
    targets: Iterable[str] = (),
) -> None:
    """Add another evaluator's rulebook.

    Args:
        name: what `rules=` calls it.
        rules: rule of each id.
        cut: the text that is judged, of a raw output and a target; see `judged_text`.
        targets: targets for which `published_rules` may choose it, after those that are there already.
    """
    RULEBOOKS[name] = rules
    _CUTS[name] = cut
    for target in targets:
        if name not in _PUBLISHED_BY[target]:
            _PUBLISHED_BY[target] += (name,)


def published_rules(constraint: Constraint, own: str = "") -> str | None:
    """The published rulebook that a benchmark would judge a constraint by; None where there is none.

    That of the row's own benchmark, else ReasonIF's for a constraint on the reasoning, else MathIF's,
    IFEval's or CoTControl's: the first that has the id.

    Args:
        constraint: on the reasoning or on the response.
        own: rulebook of the benchmark in whose words the prompt asks; "" where that is not known.
    """
    books = (own, *_PUBLISHED_BY[constraint.target]) if own else _PUBLISHED_BY[constraint.target]
    return next((rules for rules in books if constraint.id in RULEBOOKS[rules]), None)


def judged_text(rules: str, raw_output: str, target: str) -> str:
    """The text of a raw output that a published evaluator judges, cut as it cuts.

    Args:
        rules: name of a published rulebook.
        raw_output: everything that the model generated.
        target: "reasoning" or "response".

    Raises:
        ConstraintError: no such rulebook, or one that never judges this target.
    """
    if rules not in _CUTS:
        raise ConstraintError(f"no published rules {rules!r}; there are {', '.join(_CUTS)}")
    if target not in ("reasoning", "response"):
        raise ConstraintError(f"target {target!r} is neither 'reasoning' nor 'response'")
    return _CUTS[rules](raw_output, target)
