"""What one evaluation compares within itself: forms of the same questions, turns, sources."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from riftk.constraints.base import TARGETS
from riftk.report.comparison import keys_between
from riftk.report.text import difference_cell, estimate_cell, inline, table
from riftk.report.turns import turn_rows
from riftk.report.views import View

Sides = Mapping[str, Mapping[str, Any]]  # content of each `results.json`, by the heading of its column


def connections(sides: Sides, task: str, of_task: str) -> list[str]:
    """What instructions cost, what a second turn gains, how following and accuracy go together."""
    lines = []
    for name, results in sides.items():
        for key, gap in results.get("paired", {}).get(task, {}).items():
            metric, _, rules = key.rpartition(",")
            if "[" in metric or "/" in metric:  # in tables of their own
                continue
            relative = f", relative {_relative(gap)}" if gap.get("relative") is not None else ""
            lines.append(
                f"- {name}, {metric.replace('_', ' ')}, rules `{rules}`: "
                f"{difference_cell(gap, key)} points{relative} (n = {gap['n']})"
            )
        for key, found in results.get("correlations", {}).get(task, {}).items():
            target, _, rules = key.partition(",")
            told = ", ".join(
                f"{label} {_correlation(found[which])}"
                for which, label in (("pearson", "r ="), ("partial", "at equal length"))
            )
            lines.append(f"- {name}, {target} IFS and accuracy over sources, rules `{rules}`: {told}")
    *_, last = sides.values()
    if ceilings := last["configs"][task].get("ceilings"):
        most = ", ".join(f"{name} {100 * value:.2f} %" for name, value in ceilings.items())
        lines.append(f"- some rows hold instructions that no text can follow together; the most is {most}")
    return [f"## Costs and connections{of_task}", "\n".join(lines)] if lines else []


def cost_table(sides: Sides, task: str) -> str | None:
    """What instructions cost by source, in points and as a share of the accuracy without (MathIF, Figure 5);
    None where the questions were not asked in both forms."""
    rows = []
    *_, last = sides.values()
    for target in TARGETS:
        for rules in last["configs"][task]["rules"]:
            start, end = f"accuracy_cost_{target}[source=", f"],{rules}"
            found = keys_between(last["paired"][task], start, end)
            for source, key in found.items():
                gaps = [results["paired"][task].get(key) for results in sides.values()]
                cells = [cell for gap in gaps for cell in (difference_cell(gap, key), _relative(gap))]
                rows.append([f"{inline(source)} ({target}, `{rules}`)", *cells, str(gaps[-1]["n"])])
    if not rows:
        return None
    header = [cell for name in sides for cell in (f"{name}, points", f"{name}, relative")]
    return table(["", *header, "n"], rows)


def turn_tables(sides: Sides, task: str) -> list[str]:
    """One turn and two, over all and by instruction, pair by pair (ReasonIF, Figures 6 and 10)."""
    parts = []
    for name, results in sides.items():
        view = View.of(results, task)
        rows = [
            [
                inline(label),
                *(estimate_cell(view.estimates[key], key) for key in pair),
                difference_cell(view.paired.get(pair[0].replace("_first_turn", "_reflection")), pair[0]),
                str(view.estimates[pair[0]]["n"]),
            ]
            for label, pair in turn_rows(view).items()
        ]
        if rows:
            parts.append(f"By the published rules ({name}):")
            parts.append(table(["", "one turn", "two turns", "difference", "n"], rows))
    return parts


def _relative(gap: Mapping[str, Any] | None) -> str:
    """A relative change in percent with its interval."""
    if not gap or gap["relative"] is None:
        return ""
    value = f"{100 * gap['relative']:+.1f} %"
    if gap["relative_low"] is None:
        return value
    return f"{value} [{100 * gap['relative_low']:+.1f}, {100 * gap['relative_high']:+.1f}]"


def _correlation(found: Mapping[str, Any]) -> str:
    if found["value"] is None:
        return "undefined"
    if found["low"] is None:
        return f"{found['value']:+.2f}"
    return f"{found['value']:+.2f} [{found['low']:+.2f}, {found['high']:+.2f}]"
