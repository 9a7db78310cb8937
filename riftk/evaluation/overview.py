"""The figures of an evaluation in a few lines of text, published rules first."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from riftk.evaluation.forms import UNASKED, unasked_name

_MATHIF = {"response_ifs": "HAcc", "response_sacc": "SAcc"}
_NAMES = {
    "reasoning_ifs": "reasoning IFS",
    "response_ifs": "response IFS",
    "response_sacc": "response SAcc",
    "accuracy_instructed": "accuracy, with instructions",
    "accuracy_plain": "accuracy, without",
    "reasoning_joint": "joint, reasoning",
    "response_joint": "joint, response",
}
_COUNTS = ("samples", "truncated", "unclosed", "no_reasoning", "errored")


def overview(results: Mapping[str, Any]) -> str:
    """One block of lines per task: each figure under each rulebook, with its interval, and the counts.

    Args:
        results: content of a `results.json`.
    """
    return "\n\n".join(_task(results, task) for task in results["estimates"])


def _task(results: Mapping[str, Any], task: str) -> str:
    config, estimates = results["configs"][task], results["estimates"][task]
    names = _NAMES | (_MATHIF if config["rules"][0] == "mathif" else {})
    lines = [f"{task}: {results['model_name']}, {config['samples_per_item']} sample(s) per item"]
    for metric, name in names.items():
        for rules in config["rules"]:
            found = estimates.get(f"{metric},{rules}")
            if found and not (metric == "response_sacc" and "mathif" not in config["rules"]):
                lines.append(f"  {name:<28}{rules:<10}{_share(found)}  n {found['n']}")
    for key, found in estimates.items():
        if key.startswith("pass@"):
            metric, _, rules = key.partition(",")
            lines.append(f"  {metric:<28}{rules:<10}{_share(found)}  n {found['n']}")
    for key, found in estimates.items():
        if key.startswith(tuple(UNASKED)) and found["value"]:
            kind = "unasked" if key.startswith("over") else "leaked"
            lines.append(f"  {f'{kind}: {unasked_name(key)}':<40}{_share(found)}  n {found['n']}")
    for key, gap in results["paired"][task].items():
        metric, _, rules = key.partition(",")
        if rules == config["rules"][0]:
            lines.append(f"  {metric.replace('_', ' '):<28}{rules:<10}{_points(gap)}")
    for name, found in results["correlations"][task].items():
        value, (target, _, rules) = found["pearson"]["value"], name.partition(",")
        if value is not None and rules == config["rules"][0]:
            lines.append(f"  {f'IFS and accuracy, r ({target})':<28}{rules:<10}{value:+.2f}")
    if ceilings := config.get("ceilings"):
        most = ", ".join(f"{name} {100 * value:.2f} %" for name, value in ceilings.items())
        lines.append(f"  no text can reach more than {most}")
    counts = results["counts"][task]
    lines.append("  " + ", ".join(f"{name.replace('_', ' ')} {counts[name]}" for name in _COUNTS))
    return "\n".join(lines)


def _share(found: Mapping[str, Any]) -> str:
    if found["low"] is None:
        return f"{100 * found['value']:6.2f} %"
    return f"{100 * found['value']:6.2f} % [{100 * found['low']:.1f}, {100 * found['high']:.1f}]"


def _points(gap: Mapping[str, Any]) -> str:
    told = f"{100 * gap['value']:+6.2f} points"
    if gap["low"] is not None:
        told += f" [{100 * gap['low']:+.1f}, {100 * gap['high']:+.1f}]"
    if gap.get("relative") is not None:
        told += f", relative {100 * gap['relative']:+.1f} %"
    return told
