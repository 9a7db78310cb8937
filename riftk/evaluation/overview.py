"""The figures of an evaluation in a few lines of text, published rules first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from riftk.evaluation.forms import UNASKED, unasked_name
from riftk.evaluation.iffr import table
from riftk.evaluation.probing import figure_rows

# What benchmarks call their figures, by their published rules.
_OWN_NAMES = {
    "mathif": {"response_ifs": "HAcc", "response_sacc": "SAcc"},
    "ifeval": {"response_ifs": "prompt level", "response_instructions": "instruction level"},
}
_NAMES = {
    "reasoning_ifs": "reasoning IFS",
    "response_ifs": "response IFS",
    "response_sacc": "response SAcc",
    "response_instructions": "response, of all instructions",
    "accuracy_macro": "accuracy, mean over sets",
    "accuracy_instructed": "accuracy, with instructions",
    "accuracy_plain": "accuracy, without",
    "reasoning_joint": "joint, reasoning",
    "response_joint": "joint, response",
}
_LENGTHS = {"reasoning_tokens,none": "mean reasoning tokens", "reasoning_words,none": "words"}
_MUCH = 0.1  # share of completions that were cut off, from which on figures are more about the limit
_COUNTS = ("samples", "truncated", "unclosed", "no_reasoning", "errored")


def overview(results: Mapping[str, Any]) -> str:
    """One block of lines per task: each figure under each rulebook, with its interval, and the counts.

    Args:
        results: content of a `results.json`.
    """
    return "\n\n".join(_task(results, task) for task in results["estimates"])


def _task(results: Mapping[str, Any], task: str) -> str:
    config, estimates = results["configs"][task], results["estimates"][task]
    names = _NAMES | _OWN_NAMES.get(config["rules"][0], {})
    lines = [f"{task}: {results['model_name']}, avg@{config['samples_per_item']}"]
    for metric, name in names.items():
        for rules in config["rules"]:
            found = estimates.get(f"{metric},{rules}")
            if found and not (metric == "response_sacc" and "mathif" not in config["rules"]):
                lines.append(f"  {name:<28}{rules:<13}{_share(found)}  n {found['n']}")
    for key, found in estimates.items():
        if key.startswith("pass@"):
            metric, _, rules = key.partition(",")
            lines.append(f"  {metric:<28}{rules:<13}{_share(found)}  n {found['n']}")
    for key, found in estimates.items():
        if key.startswith(tuple(UNASKED)) and (found["value"] > 0 or "/" not in key):
            kind = "unasked" if key.startswith("over") else "leaked"
            lines.append(f"  {f'{kind}: {unasked_name(key)}':<41}{_share(found)}  n {found['n']}")
    for title, rows in figure_rows(estimates).items():
        for told, key in rows:
            found = estimates[key]
            lines.append(f"  {f'{title.lower()}: {told}':<90}{_share(found)}  n {found['n']}")
    lines += [_of_wordings(row) for row in table(results, task)[1]]
    for key, gap in results["paired"][task].items():
        metric, _, rules = key.partition(",")
        if rules == config["rules"][0]:
            lines.append(f"  {metric.replace('_', ' '):<28}{rules:<13}{_points(gap)}")
    for name, found in results["correlations"][task].items():
        value, (target, _, rules) = found["pearson"]["value"], name.partition(",")
        if value is not None and rules == config["rules"][0]:
            lines.append(f"  {f'IFS and accuracy, r ({target})':<28}{rules:<13}{value:+.2f}")
    return "\n".join([*lines, *_beside(results, task)])


def _beside(results: Mapping[str, Any], task: str) -> list[str]:
    """What stands beside every score: ceilings, counts, lengths, how it was obtained, what it can show."""
    config, counts, estimates = (results[name][task] for name in ("configs", "counts", "estimates"))
    lines = []
    if ceilings := config.get("ceilings"):
        most = ", ".join(f"{name} {100 * value:.2f} %" for name, value in ceilings.items())
        lines.append(f"no text can reach more than {most}")
    lines.append(", ".join(f"{name.replace('_', ' ')} {counts[name]}" for name in _COUNTS))
    for key, name in _LENGTHS.items():
        if (found := estimates.get(key)) and found["low"] is not None:
            lines[-1] += f", {name} {found['value']:.1f} [{found['low']:.1f}, {found['high']:.1f}]"
    sampling = config["sampling"]
    if counts["truncated"] > _MUCH * counts["samples"]:
        lines.append(
            f"mind that {counts['truncated']} of {counts['samples']} completions were cut off at max_tokens "
            f"{sampling['max_tokens']}: what they had left to say is in no figure"
        )
    lines.append(", ".join(f"{name} {value}" for name, value in sampling.items() if value is not None))
    lines[-1] += f"; checker {results['checker_version']}, items {config['items_sha'][:12]}"
    if limits := config.get("word_limits"):
        lines.append(f"word limits: {limits}")
    gaps = results["smallest_difference"][task].items()
    if shown := [f"{key.partition(',')[0]} {100 * gap:.1f}" for key, gap in gaps if gap is not None]:
        lines.append(
            "a comparison shows (80 % power, if half of the outcomes change) differences in points from: "
            + ", ".join(shown)
        )
    return [f"  {line}" for line in lines]


def _of_wordings(row: Sequence[str]) -> str:
    name, rules, spread, interval, wordings, n, chance = row
    told = f"  {name:<28}{rules:<13}{spread}" + " %" * (spread != "none")
    for note, text in (("95 %: ", interval), ("wordings: ", wordings), ("n: ", n), ("chance: ", chance)):
        told += f"  {note}{text}" * bool(text)
    return told


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
