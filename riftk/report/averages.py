"""Means over several models that answered the same items (MathIF, Figure 2)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from riftk.constraints.base import TARGETS
from riftk.evaluation import Tally
from riftk.report.text import estimate_cell, inline, table
from riftk.report.views import View
from riftk.statistics import mean

_METRICS = {f"{target}_{kind}": (target, kind) for target in TARGETS for kind in ("ifs", "sacc")}
_KEY = re.compile(rf"(?:{'|'.join(_METRICS)}|accuracy)[,/\[].*")


def mean_view(views: Mapping[str, View], tallies: Sequence[Tally]) -> View:
    """Following and accuracy averaged over models, each counting as much as another: over all items, by
    constraint, by source and by number of instructions.

    Intervals resample items, whose values are averaged over the models first: other items could have been
    asked; the models are those that they are.

    Args:
        views: the task of each evaluation.
        tallies: what its samples say, in the same order.
    """
    first = next(iter(views.values()))
    books = (f",{first.published}", ",robust")
    keys = [key for key in tallies[0].keys if _KEY.fullmatch(key) and key.endswith(books)]
    estimates = {key: one for key in keys if (one := _mean(tallies, key)) is not None}
    return View(estimates, rules=first.rules)


def mean_table(view: View, number: int) -> str | None:
    """Its figures by source, published rules; None where there is one source only."""
    columns = {}
    for metric, (target, kind) in _METRICS.items():
        found = view.by(metric, "source")
        if found and not (kind == "sacc" and found == view.by(f"{target}_ifs", "source")):
            columns[f"{view.name(kind)} ({target})"] = found
    if found := view.by("accuracy", "source"):
        columns["Accuracy"] = found
    sources = list(dict.fromkeys(source for found in columns.values() for source in found))
    rows = [[inline(s), *(estimate_cell(found.get(s), "") for found in columns.values())] for s in sources]
    return table([f"mean of {number}", *columns], rows) if rows else None


def _mean(tallies: Sequence[Tally], key: str) -> dict[str, Any] | None:
    """One figure, over the items that all have; None where there are none."""
    of_each = [tally.by_item(key) for tally in tallies]
    items = [item for item in of_each[0] if all(item in one for one in of_each)]
    if not items:
        return None
    return mean([sum(one[item] for one in of_each) / len(of_each) for item in items]).to_dict()
