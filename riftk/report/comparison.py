"""Compare two evaluations of the same items, pair by pair, and say what that amounts to."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from riftk.evaluation import Tally, family, read_results, sample_files
from riftk.rows import read_jsonl
from riftk.statistics import holm, paired_difference

# Accuracy that may be lost without the result counting as worse (two points), when following has improved.
TOLERATED_LOSS = 0.02


def compare(before_dir: str | Path, after_dir: str | Path) -> dict[str, dict[str, Any]]:
    """Paired differences, after - before, of every figure of every task.

    Returns:
        task -> key ("metric,filter") -> the difference with its interval, the items that changed either way,
        McNemar's p-value and, for rows of a table (per constraint, source or number of constraints), the same
        adjusted by Holm over the table.

    Raises:
        ValueError: the two did not answer the same items under the same rules and sampling limits.
    """
    before, after = read_results(before_dir), read_results(after_dir)
    _check_comparable(before, after, f"{before_dir} and {after_dir}")
    first_files, second_files = sample_files(before_dir), sample_files(after_dir)
    return {
        task: _differences(Tally(read_jsonl(first_files[task])), Tally(read_jsonl(second_files[task])))
        for task in first_files
    }


def headline(estimates: Mapping[str, Any]) -> dict[str, str]:
    """The keys of the five lines a report opens with: what was asked for, where it was asked for.

    Following and joint are those of the reasoning, or of the response where nothing was asked of the
    reasoning; both are left out for a benchmark without instructions.
    """
    lines = {}
    target = next((t for t in ("reasoning", "response") if f"{t}_ifs,robust" in estimates), None)
    if target:
        lines["IFS"] = f"{target}_ifs,robust"
    lines["Accuracy"] = "accuracy,robust"
    if target:
        lines["Joint"] = f"{target}_joint,robust"
    lines["Length"] = (
        "reasoning_tokens,none" if "reasoning_tokens,none" in estimates else "reasoning_words,none"
    )
    lines["Truncated"] = "truncated,none"
    return {name: key for name, key in lines.items() if key in estimates}


def conclusion(differences: Mapping[str, Mapping[str, Any]]) -> str:
    """One sentence: better, worse, or cannot tell.

    Decided by the paired intervals of following and accuracy. Worse: following fell, or accuracy fell by more
    than `TOLERATED_LOSS`. Better: following or accuracy rose and neither fell that much. An interval that
    holds zero shows nothing. Where instructions about the other part of a completion are followed less, the
    sentence says so.
    """
    lines = headline(differences)
    following = differences.get(lines.get("IFS", ""))
    accuracy = differences.get(lines.get("Accuracy", ""))
    said = []
    if following:
        said.append(f"{lines['IFS'].partition('_')[0]} IFS {_change(following)}")
    if accuracy:
        said.append(f"accuracy {_change(accuracy)}")
    changes = " and ".join(said) + _loss_of_the_other(differences, lines.get("IFS", ""))
    lost = _sign(accuracy) < 0 and accuracy["value"] < -TOLERATED_LOSS
    if _sign(following) < 0 or lost:
        bought = " (following was bought with accuracy)" if lost and _sign(following) > 0 else ""
        return f"Worse: {changes}{bought}."
    if _sign(following) > 0 or _sign(accuracy) > 0:
        return f"Better: {changes}."
    if not said:
        return "Cannot tell: neither following nor accuracy was measured."
    why = "the loss is within two points" if _sign(accuracy) < 0 else "what changed is within chance"
    return f"Cannot tell: {changes}; {why}."


def _loss_of_the_other(differences: Mapping[str, Mapping[str, Any]], key: str) -> str:
    """What the sentence adds when following fell in the target that the headline is not about."""
    target, rest = key.partition("_")[::2]
    other = "response" if target == "reasoning" else "reasoning"
    gap = differences.get(f"{other}_{rest}")
    return f", but {other} IFS {_change(gap)}" if _sign(gap) < 0 else ""


def _differences(before: Tally, after: Tally) -> dict[str, dict[str, Any]]:
    differences = {}
    for key in before.keys:
        first, second = before.by_item(key), after.by_item(key)
        items = [item for item in first if item in second]
        if items:
            gap = paired_difference([first[i] for i in items], [second[i] for i in items])
            differences[key] = gap.to_dict()
    tables: dict[tuple[str, str], list[str]] = {}
    for key in differences:
        if (table := family(key)) and differences[key]["p_value"] is not None:
            tables.setdefault(table, []).append(key)
    for keys in tables.values():
        adjusted = holm([differences[key]["p_value"] for key in keys])
        for key, p_value in zip(keys, adjusted, strict=True):
            differences[key]["p_holm"] = p_value
    return differences


def _check_comparable(before: Mapping[str, Any], after: Mapping[str, Any], where: str) -> None:
    if before["configs"].keys() != after["configs"].keys():
        ran = "; ".join(", ".join(results["configs"]) for results in (before, after))
        raise ValueError(f"{where} ran different benchmarks ({ran}) and cannot be compared")
    if before["checker_version"] != after["checker_version"]:
        raise ValueError(f"{where} were scored by different checkers; score one of them again")
    for task, first in before["configs"].items():
        second = after["configs"][task]
        for setting in ("items_sha", "rules", "samples_per_item"):
            if first[setting] != second[setting]:
                what = "items, constraints or limits" if setting == "items_sha" else setting.replace("_", " ")
                raise ValueError(f"{where} differ in the {what} of {task} and cannot be compared")
        for setting in ("temperature", "top_p", "max_tokens"):
            one, other = first["sampling"][setting], second["sampling"][setting]
            if one != other:
                raise ValueError(
                    f"{where} were sampled with {setting} {one} and {other} and cannot be compared"
                )


def _sign(difference: Mapping[str, Any] | None) -> int:
    """1 or -1 where the interval lies on one side of zero, else 0."""
    if difference is None or difference["low"] is None:
        return 0
    return (difference["low"] > 0) - (difference["high"] < 0)


def _change(difference: Mapping[str, Any]) -> str:
    value = f"{100 * difference['value']:+.1f}"
    if difference["low"] is None:
        return f"{value} points"
    return f"{value} points [{100 * difference['low']:+.1f}, {100 * difference['high']:+.1f}]"
