"""The columns of a comparison: MathIF's Table 4, extended by what its question needs, and who leads in each.

Columns are figures of a task. Which of them there are depends on what the task asks: hard and soft accuracy
(HAcc, SAcc) where instructions are MathIF's, IFS of reasoning and response elsewhere, IFFR where instructions
ask for another answer; over-application, accuracy, joint, length and truncation wherever they were measured.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from riftk.constraints.base import TARGETS
from riftk.report.sides import Side, side_difference

BEST, LEADS = "best", "leads"
RULE = (
    "**Bold**: the best of its column; the 95 % interval of its paired difference from every other row "
    "leaves out zero. *Italics*: no row is that; these are the highest (of IFFR, over-application and "
    "truncation the lowest) and those whose difference from it is not shown. Nothing is marked where this"
    " would be every row, nor in lengths, of which neither is better."
)
# What names of columns mean, by a part of them.
WORDS = {
    "IFS": "IFS: share of items whose instructions are all followed.",
    "HAcc": "HAcc, hard accuracy: the same in MathIF's words; SAcc, soft accuracy: share of instructions "
    "that are followed.",
    "IFFR": "IFFR: of the questions that are solved under the usual instruction, share that gets the usual "
    "answer all the same where another one is asked for.",
    "Over-application": "Over-application: share of items with a form that nothing asked for.",
    "Joint": "Joint: share of items that are right and followed.",
}
FOLLOWING, ABILITY = "following", "ability"


@dataclass(frozen=True)
class Column:
    """A figure of a task.

    Args:
        task: of which task.
        name: what a table calls it.
        key: "metric,filter".
        group: `FOLLOWING` or `ABILITY`, the table that it stands in.
        better: 1 where more is better, -1 where less is, 0 where neither is.
    """

    task: str
    name: str
    key: str
    group: str
    better: int


def columns(results: Mapping[str, Any], rules: str | None = "robust") -> list[Column]:
    """The columns of all tasks.

    Args:
        results: content of a `results.json`.
        rules: the rulebook; None for the published rules of each task, where there are any.
    """
    found = []
    for task, estimates in results["estimates"].items():
        published = results["configs"][task]["rules"][0]
        book = rules or published
        if book != "robust" or rules == "robust":
            found += [one for one in _of_task(task, published, book) if one.key in estimates]
    return found


def _of_task(task: str, published: str, book: str) -> Iterator[Column]:
    def column(name: str, key: str, group: str, better: int) -> Column:
        return Column(task, name, key, group, better)

    if published == "mathif":
        yield column("HAcc", f"response_ifs,{book}", FOLLOWING, 1)
        yield column("SAcc", f"response_sacc,{book}", FOLLOWING, 1)
    yield column("Reasoning IFS", f"reasoning_ifs,{book}", FOLLOWING, 1)
    if published != "mathif":
        yield column("Response IFS", f"response_ifs,{book}", FOLLOWING, 1)
    yield column("IFFR", f"iffr,{book}", FOLLOWING, -1)
    yield column("Followed", f"follow_rate,{book}", FOLLOWING, 1)
    for target in TARGETS:
        unasked = f"over_application_{target},{book}"  # robust rules alone have it
        yield column(f"Over-application, {target}", unasked, FOLLOWING, -1)
    yield column("Accuracy", f"accuracy,{book}", ABILITY, 1)
    yield column("Accuracy, mean of the sets", f"accuracy_macro,{book}", ABILITY, 1)
    yield column("Standard accuracy", f"standard_accuracy,{book}", ABILITY, 1)
    for target in TARGETS:
        yield column(f"Joint, {target}", f"{target}_joint,{book}", ABILITY, 1)
    if book == "robust":
        yield column("Length of the reasoning, tokens", "reasoning_tokens,none", ABILITY, 0)
        yield column("Truncated", "truncated,none", ABILITY, -1)


def explanation(found: Iterable[Column]) -> str:
    """What the names of columns mean."""
    names = {column.name for column in found}
    return " ".join(said for word, said in WORDS.items() if any(word in name for name in names))


def leaders(sides: Mapping[str, Side], estimates: Mapping[str, Any], column: Column) -> dict[str, str]:
    """Who is marked in a column, see `RULE`.

    Args:
        sides: what is compared, by name.
        estimates: the column's figure of each, by name.
        column: which.
    """
    values = {name: one["value"] for name, one in estimates.items() if one and one["value"] is not None}
    if not column.better or len(values) < 2:
        return {}
    top = max(values, key=lambda name: column.better * values[name])
    close = [name for name in values if name != top and not _beats(sides[top], sides[name], column)]
    if not close:
        return {top: BEST}
    return {} if len(close) + 1 == len(values) else dict.fromkeys((top, *close), LEADS)


def _beats(one: Side, other: Side, column: Column) -> bool:
    gap = side_difference(other, one, column.task, column.key)
    if gap is None or gap.low is None or gap.high is None:
        return False
    return gap.low > 0 if column.better > 0 else gap.high < 0
