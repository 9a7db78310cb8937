"""IFFR's figures: what a standard and a non-standard instruction make of the same question.

    standard_accuracy,{rules}     answers to the standard instruction that are the gold answer
    nonstandard_accuracy,{rules}  answers to the non-standard instruction that are it all the same
    iffr,{rules}                  of the questions that are solved under the standard instruction, those whose
                                  non-standard answer is the gold answer all the same
    follow_rate,{rules}           non-standard answers that do as they were told: another valid option, the
                                  opposite label, twice the number
    follow_rate_solved,{rules}    the same of the questions that are solved
    invalid_standard, invalid_nonstandard,{rules}    answers in which nothing valid was found
    label_mass,none               closed set: how much of the first token's probability lay on the labels

Each comes for every wording, "iffr/1,{rules}" to "iffr/3,{rules}", with Wilson's interval over questions;
without a number it is the mean over the wordings, with an interval from a bootstrap over questions. The
paper's "±" is the sample standard deviation of the wordings: `variants` in the results. An IFFR of no solved
question is None; published rules give 0 for choices, as their notebook does. Robust rules leave out numbers
whose gold answer is zero where only the non-standard answer is looked at: twice zero is zero.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from statistics import stdev
from typing import Any

import numpy as np

from riftk.grading import parse_number, same_number
from riftk.grading.iffr import iffr_correct
from riftk.statistics import NOTHING, Estimate, mean_of_ratios

VARIANTS = (1, 2, 3)
FIGURES = {
    "standard_accuracy": "standard accuracy",
    "nonstandard_accuracy": "non-standard accuracy",
    "iffr": "IFFR",
    "follow_rate": "followed",
    "follow_rate_solved": "followed, of those solved",
    "invalid_standard": "invalid, standard",
    "invalid_nonstandard": "invalid, non-standard",
}
_ITEM = re.compile(r"(?P<question>iffr-\w+-\d+)-(?P<condition>standard|nonstandard)-(?P<variant>[123])")

Totals = Callable[[str], tuple[np.ndarray, np.ndarray, np.ndarray]]  # sums, counts, items with any


@dataclass(frozen=True)
class Asked:
    """Which question an item asks, under which instruction, in which wording."""

    question: str
    condition: str
    variant: int


def iffr_item(item_id: str) -> Asked | None:
    """What an item of IFFR asks; None for an item of another benchmark."""
    found = _ITEM.fullmatch(item_id)
    return Asked(found["question"], found["condition"], int(found["variant"])) if found else None


def question(item_id: str) -> str:
    """What is drawn together where items are resampled: the question of an item of IFFR, else the item."""
    found = iffr_item(item_id)
    return found.question if found else item_id


@dataclass(frozen=True)
class Reading:
    """One answer as a rulebook reads it.

    Args:
        valid: whether it is an answer at all.
        correct: whether it is the gold answer.
        kept: the same, None where a gold answer of zero tells nothing about a non-standard instruction.
        followed: whether it is what the non-standard instruction asks for.
    """

    valid: bool
    correct: bool
    kept: bool | None
    followed: bool


def readings(sample: Mapping[str, Any]) -> dict[str, Reading]:
    """How each rulebook reads the answer of a scored sample."""
    published = sample["published_grades"]
    return {rules: _published(sample, grade) for rules, grade in published.items()} | {
        "robust": _robust(sample)
    }


def _published(sample: Mapping[str, Any], grade: Mapping[str, Any]) -> Reading:
    found, gold, kind = grade["extracted"], sample["answer"], sample["answer_type"]
    valid, correct = found is not None, grade["correct"]
    followed = iffr_correct(found, gold, kind, times=2) if kind == "number" else valid and not correct
    return Reading(valid, correct, correct, followed)


def _robust(sample: Mapping[str, Any]) -> Reading:
    found, correct = sample["extracted"], bool(sample["correct"])
    if sample["answer_type"] != "number":
        valid = found is not None
        return Reading(valid, correct, correct, valid and not correct)
    given, gold = parse_number(found or ""), parse_number(sample["answer"])
    doubled = replace(gold, value=None if gold.value is None else 2 * gold.value)
    kept = correct if gold.value else None
    return Reading(given.value is not None, correct, kept, same_number(doubled, given))


class Pairs:
    """Brings the two answers to a question in one wording together, and says what they tell.

    Held are only answers whose other half has not come yet.
    """

    def __init__(self) -> None:
        self.kinds: set[str] = set()  # answer types that were seen
        self._waiting: dict[tuple[str, int, int], dict[str, dict[str, Reading]]] = {}

    def observations(self, sample: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
        """(key, value) of every figure that a sample, or the pair that it completes, says something about."""
        item = iffr_item(sample["item_id"])
        if item is None:
            return
        self.kinds.add(sample["answer_type"])
        found = readings(sample)
        if sample.get("label_logprobs"):
            yield "label_mass,none", sum(math.exp(value) for value in sample["label_logprobs"].values())
        for rules, reading in found.items():
            yield from _both(_of_one(item.condition, reading), item.variant, rules)
        place = (item.question, item.variant, sample["sample"])
        pair = self._waiting.setdefault(place, {})
        pair[item.condition] = found
        if len(pair) == 2:
            del self._waiting[place]
            for rules, standard in pair["standard"].items():
                other = pair["nonstandard"].get(rules)
                if standard.correct and other is not None:
                    yield from _both(_of_the_solved(other), item.variant, rules)


def _of_one(condition: str, reading: Reading) -> Iterator[tuple[str, float]]:
    yield f"invalid_{condition}", float(not reading.valid)
    if condition == "standard":
        yield "standard_accuracy", float(reading.correct)
        return
    yield "follow_rate", float(reading.followed)
    if reading.kept is not None:
        yield "nonstandard_accuracy", float(reading.kept)


def _of_the_solved(reading: Reading) -> Iterator[tuple[str, float]]:
    yield "follow_rate_solved", float(reading.followed)
    if reading.kept is not None:
        yield "iffr", float(reading.kept)


def _both(seen: Iterable[tuple[str, float]], variant: int, rules: str) -> Iterator[tuple[str, float]]:
    """Each figure for its wording and for all of them."""
    for metric, value in seen:
        yield f"{metric},{rules}", value
        yield f"{metric}/{variant},{rules}", value


def iffr_estimates(
    keys: Iterable[str], totals: Totals, questions: int, kinds: set[str]
) -> dict[str, Estimate]:
    """Means over the wordings, and what is left of figures of solved questions where none is solved.

    Args:
        keys: of all figures that there are.
        totals: sums and counts by question, see `riftk.evaluation.summary.Tally`.
        questions: how many there are.
        kinds: answer types, see `Pairs`.
    """
    rulebooks = [key.partition(",")[2] for key in keys if key.startswith("standard_accuracy,")]
    found: dict[str, Estimate] = {}
    for metric, rules in ((metric, rules) for metric in FIGURES for rules in rulebooks):
        sums, counts = np.zeros((2, questions, len(VARIANTS)))
        for column, variant in enumerate(VARIANTS):
            one, many, places = totals(f"{metric}/{variant},{rules}")
            sums[places, column], counts[places, column] = one, many
        empty = 0.0 if metric == "iffr" and rules == "iffr" and kinds == {"choice"} else None
        for column, variant in enumerate(VARIANTS):
            if not counts[:, column].any():
                found[f"{metric}/{variant},{rules}"] = replace(NOTHING, value=empty)
        found[f"{metric},{rules}"] = mean_of_ratios(sums, counts, empty=empty)
    return found


def variants(estimates: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Mean and sample standard deviation over the wordings, as the paper's tables have them.

    Returns:
        "metric,rules" -> `mean`, `sd`, the `values` of the wordings and their denominators `n`; mean and sd
        are None where a value is.
    """
    found = {}
    for key in estimates:
        metric, _, rules = key.partition(",")
        of_wordings = [estimates.get(f"{metric}/{variant},{rules}") for variant in VARIANTS]
        if metric in FIGURES and None not in of_wordings:
            values = [one["value"] for one in of_wordings]
            whole = None not in values
            found[key] = {
                "mean": sum(values) / len(values) if whole else None,
                "sd": stdev(values) if whole else None,
                "values": values,
                "n": [one["n"] for one in of_wordings],
            }
    return found


def table(results: Mapping[str, Any], task: str) -> tuple[list[str], list[list[str]]]:
    """IFFR's figures of one task as a table of texts: its header and its rows; no rows for other tasks."""
    found, estimates = results.get("variants", {}).get(task, {}), results["estimates"][task]
    config = results["configs"][task]
    header = ["", "rules", "mean ± sd", "95 % interval", "wordings", "n", "chance"]
    rows = []
    for metric, name in FIGURES.items():
        for rules in config["rules"]:
            if one := found.get(f"{metric},{rules}"):
                chance = config.get("chance", {}).get(metric)
                whole = estimates[f"{metric},{rules}"]
                spread = "none" if one["mean"] is None else f"{_percent(one['mean'])} ± {_percent(one['sd'])}"
                rows.append([
                    name, rules, spread, _interval(whole), ", ".join(map(_percent, one["values"])),
                    ", ".join(map(str, one["n"])), "" if chance is None else f"{100 * chance:g}",
                ])  # fmt: skip
    if mass := estimates.get("label_mass,none"):
        rows.append(
            [
                "probability on the labels",
                "",
                _percent(mass["value"]),
                _interval(mass),
                "",
                str(mass["n"]),
                "",
            ]
        )
    return header, rows


def _percent(value: float | None) -> str:
    return "none" if value is None else f"{100 * value:.2f}"


def _interval(estimate: Mapping[str, Any]) -> str:
    return "" if estimate["low"] is None else f"{100 * estimate['low']:.1f} to {100 * estimate['high']:.1f}"
