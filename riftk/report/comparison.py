"""Compare two evaluations of the same items, pair by pair, and say what that amounts to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from riftk.evaluation import Tally, family, read_results, sample_files
from riftk.rows import read_jsonl
from riftk.statistics import Difference, holm, mean_of_differences, paired_difference

# What two probes are told apart by, see `riftk.evaluation.probing`.
_PROBED = {
    "answer_changed/kept-0,robust": "answers that change without a trace",
    "answer_changed/number-everywhere,robust": "answers that change with a wrong trace",
}


def compare(before_dir: str | Path, after_dir: str | Path) -> dict[str, dict[str, Any]]:
    """Paired differences, after - before, of every figure of every task.

    Returns:
        task -> key ("metric,filter") -> the difference with its interval, the items that changed either way,
        McNemar's p-value and, for rows of a table (per constraint, source or number of constraints), the same
        adjusted by Holm over the table.

    Raises:
        ValueError: the two did not answer the same items under the same rules and sampling limits.
    """
    check_comparable(before_dir, after_dir)
    before, after = tallies(before_dir), tallies(after_dir)
    return {task: differences(before[task], after[task]) for task in before}


def tallies(folder: str | Path) -> dict[str, Tally]:
    """What an evaluation's samples say about each figure and item, by task."""
    configs = read_results(folder)["configs"]
    return {
        task: Tally(read_jsonl(path), configs[task].get("macro", False))
        for task, path in sample_files(folder).items()
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
    lines |= {"IFFR": "iffr,robust", "Standard accuracy": "standard_accuracy,robust"}
    lines["Accuracy"] = "accuracy,robust"
    if target:
        lines["Joint"] = f"{target}_joint,robust"
    lines["Changed without a trace"] = "answer_changed/kept-0,robust"
    lines["Changed by a wrong trace"] = "answer_changed/number-everywhere,robust"
    lines["Length"] = (
        "reasoning_tokens,none" if "reasoning_tokens,none" in estimates else "reasoning_words,none"
    )
    lines["Truncated"] = "truncated,none"
    return {name: key for name, key in lines.items() if key in estimates}


def trade_off(estimates: Mapping[str, Any]) -> tuple[str, str] | None:
    """Keys of the accuracy and of the following that a benchmark trades one for the other; None where it
    does not measure both."""
    following = headline(estimates).get("IFS", "")
    for keys in (("accuracy,robust", following), ("standard_accuracy,robust", "follow_rate,robust")):
        if all(key in estimates for key in keys):
            return keys
    return None


def pareto_front(points: Mapping[str, tuple[float, float]]) -> list[str]:
    """Names of the points that no other one equals in one figure and exceeds in the other, or exceeds in
    both; from the lowest first figure to the highest."""

    def beaten(point: tuple[float, float]) -> bool:
        return any(one != point and one[0] >= point[0] and one[1] >= point[1] for one in points.values())

    return sorted((name for name, point in points.items() if not beaten(point)), key=points.__getitem__)


def keys_between(keys: Iterable[str], start: str, end: str) -> dict[str, str]:
    """Keys that begin with `start` and end with `end`, by what stands between: figures of one constraint each
    ("reasoning_ifs/", ",robust"), or of a part of the items ("accuracy[source=", "],robust")."""
    found = (key for key in keys if key.startswith(start) and key.endswith(end))
    return {key[len(start) : -len(end)]: key for key in found}


def conclusion(differences: Mapping[str, Mapping[str, Any]]) -> str:
    """One sentence: better, worse, a trade, or cannot tell, with all that it rests on.

    Named are following, accuracy over all items and accuracy without an instruction, each with its paired
    interval: what rose, what fell, and what may not have changed at all because its interval holds zero.
    Where something rose and something else fell it is a trade, whose worth the reader has to judge. Of probes
    it tells how far answers depend on the trace, which is neither better nor worse.
    """
    changes: dict[int, list[str]] = {1: [], -1: [], 0: []}
    probed = {key: name for key, name in _PROBED.items() if key in differences}
    for key, name in (probed or _judged(differences)).items():
        changes[_sign(differences[key])].append(f"{name} ({_change(differences[key])})")
    rose, fell, open_ = (_listed(changes[sign]) for sign in (1, -1, 0))
    said = [f"{rose} rose"] * bool(rose) + [f"{fell} fell"] * bool(fell)
    if open_:
        said.append(f"no change is shown in {open_}")
    if not said:
        return "Cannot tell: neither following nor accuracy was measured."
    if probed:
        return f"Dependence on the trace: {'; '.join(said)}."
    verdict = {(True, True): "A trade", (True, False): "Better", (False, True): "Worse"}
    return f"{verdict.get((bool(rose), bool(fell)), 'Cannot tell')}: {'; '.join(said)}."


def _judged(differences: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """The figures that the sentence names: following of either target (that of the headline first, the other
    one where it changed), and accuracy. Without an instruction it is a figure of its own where there are
    items with one."""
    first = headline(differences).get("IFS", "").partition("_")[0]
    named = {f"{first}_ifs,robust": f"{first} IFS"}
    other = "response" if first == "reasoning" else "reasoning"
    if _sign(differences.get(f"{other}_ifs,robust")):
        named[f"{other}_ifs,robust"] = f"{other} IFS"
    named["accuracy,robust"] = "accuracy"
    named["follow_rate,robust"] = "following of non-standard instructions"
    named["standard_accuracy,robust"] = "accuracy under standard instructions"
    if "accuracy_instructed,robust" in differences:
        named["accuracy_plain,robust"] = "accuracy without an instruction"
    return {key: name for key, name in named.items() if key in differences}


def _listed(names: Sequence[str]) -> str:
    """ "a", "a and b", "a, b and c"."""
    return " and ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))


def differences(before: Tally, after: Tally) -> dict[str, dict[str, Any]]:
    """Paired differences of every figure of one task, see `compare`."""
    found = {key: gap.to_dict() for key in before.keys if (gap := difference(before, after, key)) is not None}
    tables: dict[tuple[str, str], list[str]] = {}
    for key in found:
        if (table := family(key)) and found[key]["p_value"] is not None:
            tables.setdefault(table, []).append(key)
    for keys in tables.values():
        adjusted = holm([found[key]["p_value"] for key in keys])
        for key, p_value in zip(keys, adjusted, strict=True):
            found[key]["p_holm"] = p_value
    return found


def difference(before: Tally, after: Tally, key: str) -> Difference | None:
    """Paired difference of one figure over the items that both have it of; None where there are none."""
    if parts := before.macro_parts(key):
        of_parts = [difference(before, after, part) for part in parts]
        return None if None in of_parts else mean_of_differences(of_parts)
    gaps = item_pairs(before, after, key)
    return paired_difference(*zip(*gaps.values(), strict=True)) if gaps else None


def item_pairs(before: Tally, after: Tally, key: str) -> dict[str, tuple[float, float]]:
    """Both values of a figure for each item that has both."""
    first, second = before.by_item(key), after.by_item(key)
    return {item: (value, second[item]) for item, value in first.items() if item in second}


def check_comparable(before_dir: str | Path, after_dir: str | Path) -> None:
    """Raise `ValueError` where two evaluations did not answer the same items under the same rules."""
    before, after, where = read_results(before_dir), read_results(after_dir), f"{before_dir} and {after_dir}"
    if before["configs"].keys() != after["configs"].keys():
        ran = "; ".join(", ".join(results["configs"]) for results in (before, after))
        raise ValueError(f"{where} ran different benchmarks ({ran}) and cannot be compared")
    if before["checker_version"] != after["checker_version"]:
        raise ValueError(f"{where} were scored by different checkers; score one of them again")
    for task, first in before["configs"].items():
        second = after["configs"][task]
        if first["items_sha"] != second["items_sha"]:
            raise ValueError(f"{where} differ in {_of_items(first, second)} of {task} and cannot be compared")
        for setting in ("rules", "samples_per_item"):
            if first[setting] != second[setting]:
                what = setting.replace("_", " ")
                raise ValueError(f"{where} differ in the {what} of {task} and cannot be compared")
        for setting in ("temperature", "top_p", "max_tokens"):
            one, other = first["sampling"][setting], second["sampling"][setting]
            if one != other:
                raise ValueError(
                    f"{where} were sampled with {setting} {one} and {other} and cannot be compared"
                )


def _of_items(first: Mapping[str, Any], second: Mapping[str, Any]) -> str:
    """What makes two sets of items different, as far as it was noted."""
    noted = {"split": "the split", "items": "the number of items", "word_limits": "the word limits"}
    noted |= {"dataset": "the data set", "instructions": "the instructions", "prompts": "the prompts"}
    for setting, what in noted.items():
        if first.get(setting) != second.get(setting):
            return f"{what} ({first.get(setting)} and {second.get(setting)})"
    return "the items or their constraints"


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
