"""Summaries of scored samples: what is counted, and how sure one can be of it.

A figure has a key "metric,filter" as in lm-evaluation-harness; the filter is the rulebook, or "none".

    {target}_ifs,{rules}         share of items whose every instruction about the target is followed
                                 (MathIF's HAcc)
    {target}_sacc,{rules}        mean share of the instructions about the target that are followed (SAcc)
    {target}_instructions,{rules}    share of all instructions that are followed (IFEval's instruction level)
    {target}_ifs/{id},{rules}    the first for one constraint id
    {target}_ifs_closed,{rules}  the first among completions that closed their reasoning and were not cut off
    {target}_joint,{rules}       followed *and* answered correctly
    {target}_{correct|wrong}_{followed|unfollowed},{rules}   the four quadrants (MathIF, Figure 4)
    {target}_ifs_first_turn,{rules}, accuracy_first_turn,{rules}, second_turn,none    of a conversation with a
                                 reflection; the first of them also for one constraint id
    accuracy,{rules}             of all items with a gold answer; accuracy_plain, accuracy_instructed,
                                 accuracy_completed (neither cut off nor an error)
    accuracy_macro,{rules}       mean of the sources' accuracies, for benchmarks that are averaged so
    pass@k,{rules}               where items have several samples
    over_application_{target}/{form},robust      texts with a form that nothing asked for; without /{form} any
    leakage_to_{target}/{form},robust            the same where the form was asked for in the other text only;
                                                 see `riftk.evaluation.forms`
    answer_changed/{condition}, answer_accuracy/…, answer_taken_over/…, answer_went_on/…,robust  of a probe,
                                                 see `riftk.evaluation.probing`
    standard_accuracy, nonstandard_accuracy, iffr, follow_rate, …  of IFFR, see `riftk.evaluation.iffr`
    reasoning_words, reasoning_tokens, completion_tokens,none      means
    truncated, unclosed, no_reasoning, empty, errored,none         shares

Figures of following and accuracy come also for parts of the items, "metric[part=value],filter": by `source`,
by number of `constraints`, and by `cot_bin`, six bins of equal size by the length of the trace (MathIF,
Figure 6).
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from riftk.constraints.base import TARGETS
from riftk.evaluation.forms import form_observations
from riftk.evaluation.groups import Item, LengthBins, correlations, paired_forms
from riftk.evaluation.iffr import Pairs, iffr_estimates, iffr_item, question, variants
from riftk.evaluation.probing import probe_observations
from riftk.statistics import Estimate, estimate_of_totals, mean_of_estimates, paired_difference, pass_at_k

FLAGS = ("truncated", "unclosed", "no_reasoning", "empty", "errored")
LENGTHS = ("reasoning_words", "reasoning_tokens", "completion_tokens")
QUADRANTS = ("correct_followed", "correct_unfollowed", "wrong_followed", "wrong_unfollowed")
PARTS = ("source", "constraints")
# Figures that are also given for parts of the items.
_DIVIDED = re.compile(r"((reasoning|response)_(ifs|sacc|joint)|accuracy(_plain|_instructed)?),.+")
_PART = re.compile(r"(?P<metric>[^[]+)\[(?P<part>\w+)=(?P<value>.*)\],(?P<rules>[^,]+)")


def observations(sample: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """What one sample says about each figure: (key, value), several times where it is about each instruction;
    figures it says nothing about are left out."""
    errored = sample["finish_reason"] == "error"
    flags = {
        "truncated": sample["finish_reason"] == "length",
        "unclosed": sample["status"] == "unclosed",
        "no_reasoning": sample["status"] == "none",
        "empty": sample["status"] == "empty" and not errored,
        "errored": errored,
    }
    for name in FLAGS:
        yield f"{name},none", float(flags[name])
    if "probe" in sample:  # its trace is not as the model wrote it
        yield from probe_observations(sample)
        return
    for name in LENGTHS:
        if sample[name] is not None and not errored:
            yield f"{name},none", float(sample[name])
    if iffr_item(sample["item_id"]):  # what it says about IFFR is said together with its other half
        return
    correct = _correct(sample)
    asked = "instructed" if sample["constraints"] else "plain"
    for rules, right in correct.items():
        yield f"accuracy,{rules}", float(right)
        yield f"accuracy_{asked},{rules}", float(right)
        if not (errored or flags["truncated"]):
            yield f"accuracy_completed,{rules}", float(right)
    if "first_turn" in sample:
        yield "second_turn,none", float(sample["turn"] == 2)
        for rules, right in _correct(sample["first_turn"]).items():
            yield f"accuracy_first_turn,{rules}", float(right)
    for rules in sample["verdicts"]:
        for target in TARGETS:
            yield from _following(sample, rules, target, correct.get(rules, correct.get("robust")))
    yield from form_observations(sample)


def _following(
    sample: Mapping[str, Any], rules: str, target: str, right: bool | None
) -> Iterator[tuple[str, float]]:
    """What a sample says about the instructions on a target; nothing where there are none.

    Args:
        sample: the record.
        rules: by which rulebook.
        target: "reasoning" or "response".
        right: whether the answer is right; None without a gold answer.
    """
    judged = _of_target(sample, sample["verdicts"][rules], target)
    if not judged:
        return
    everything = all(kept for _, kept in judged)
    yield f"{target}_ifs,{rules}", float(everything)
    yield f"{target}_sacc,{rules}", sum(kept for _, kept in judged) / len(judged)
    if "ifeval" in sample["verdicts"]:
        for _, kept in judged:
            yield f"{target}_instructions,{rules}", float(kept)
    if sample["status"] == "closed" and sample["finish_reason"] != "length":
        yield f"{target}_ifs_closed,{rules}", float(everything)
    if "first_turn" in sample:
        before = _of_target(sample, sample["first_turn"]["verdicts"][rules], target)
        yield f"{target}_ifs_first_turn,{rules}", float(all(kept for _, kept in before))
        for name, kept in _by_id(before).items():
            yield f"{target}_ifs_first_turn/{name},{rules}", float(kept)
    if right is not None:
        yield f"{target}_joint,{rules}", float(everything and right)
        here = f"{'correct' if right else 'wrong'}_{'followed' if everything else 'unfollowed'}"
        for quadrant in QUADRANTS:
            yield f"{target}_{quadrant},{rules}", float(quadrant == here)
    for name, kept in _by_id(judged).items():
        yield f"{target}_ifs/{name},{rules}", float(kept)


class Tally:
    """Collects the observations of samples: sums for each item, which do not grow with the samples.

    Args:
        samples: records of `samples_<task>.jsonl`.
        macro: whether the accuracy is averaged over sources too, each counting as much as another.
    """

    def __init__(self, samples: Iterable[Mapping[str, Any]] = (), macro: bool = False) -> None:
        self.macro = macro
        self.items: dict[str, int] = {}  # item id -> its number
        self.kinds: list[Item] = []
        self.samples = 0
        self.outcomes = dict.fromkeys(("correct", "wrong", "truncated", "errored"), 0)
        self.bins = LengthBins()
        self.pairs = Pairs()
        self._labels: dict[str, list[str]] = {part: [] for part in PARTS}
        self._sums: dict[str, array[float]] = {}
        self._counts: dict[str, array[int]] = {}
        for sample in samples:
            self.add(sample)

    def add(self, sample: Mapping[str, Any]) -> None:
        name = sample["probe"]["item_id"] if "probe" in sample else question(sample["item_id"])
        item = self.items.setdefault(name, len(self.items))
        if item == len(self.kinds):
            self.kinds.append(Item.of(sample))
            for part, labels in self._labels.items():
                labels.append(self.kinds[item].part(part))
        self.samples += 1
        seen = [*observations(sample), *self.pairs.observations(sample)]
        for key, value in seen:
            sums = self._sums.setdefault(key, array("d"))
            counts = self._counts.setdefault(key, array("l"))
            missing = item + 1 - len(sums)
            if missing > 0:
                sums.extend([0.0] * missing)
                counts.extend([0] * missing)
            sums[item] += value
            counts[item] += 1
        if (outcome := _outcome(sample)) is not None:
            self.outcomes[outcome] += 1
        self.bins.add(item, dict(seen))

    @property
    def keys(self) -> list[str]:
        """Keys of all figures, those of parts of the items and means over sources included (but not those of
        bins, which are not the same in two evaluations)."""
        keys = sorted(self._sums)
        divided = [key for key in keys if _DIVIDED.fullmatch(key)]
        means = [key.replace("accuracy,", "accuracy_macro,") for key in keys if key.startswith("accuracy,")]
        for part, labels in self._labels.items():
            values = sorted(set(labels) - {""})
            if len(values) > 1:
                candidates = [_part(key, part, value) for key in divided for value in values]
                keys += [key for key in candidates if self._totals(key)[0].size]
        return keys + means * self.macro

    def macro_parts(self, key: str) -> list[str]:
        """Keys of the figures that a mean over sources is made of; none for any other figure."""
        metric, _, rules = key.partition(",")
        sources = sorted(set(self._labels["source"])) if metric == "accuracy_macro" else ()
        return [_part(f"accuracy,{rules}", "source", name) for name in sources]

    def estimate(self, key: str) -> Estimate:
        """Mean over samples; its interval resamples items where they have several samples."""
        if parts := self.macro_parts(key):
            return mean_of_estimates([self.estimate(part) for part in parts])
        sums, counts, _ = self._totals(key)
        return estimate_of_totals(sums, counts)

    def estimates(self, pass_at: Iterable[int] = ()) -> dict[str, Estimate]:
        """Every figure.

        Args:
            pass_at: k of pass@k; none takes the powers of two that every item has samples for.

        Raises:
            ValueError: pass@k of more samples than an item has.
        """
        found = {key: self.estimate(key) for key in self.keys}
        found |= self.bins.estimates()
        for key in [key for key in self._sums if key.startswith("accuracy,")]:
            sums, counts, _ = self._totals(key)
            most = int(counts.min())
            wanted = tuple(pass_at) or tuple(2**i for i in range(most.bit_length()) if most > 1)
            for k in wanted:
                found[f"pass@{k},{key.partition(',')[2]}"] = pass_at_k(
                    sums.astype(int).tolist(), counts.astype(int).tolist(), k
                )
        return found | iffr_estimates(list(found), self._totals, len(self.items), self.pairs.kinds)

    def total(self, key: str) -> int:
        """Number of samples of which a yes-or-no figure is true."""
        return int(sum(self._sums.get(key, ())))

    def by_item(self, key: str) -> dict[str, float]:
        """Mean of each item's samples."""
        sums, counts, places = self._totals(key)
        names = list(self.items)
        means = zip(places.tolist(), (sums / counts).tolist(), strict=True)
        return {names[place]: value for place, value in means}

    def _totals(self, key: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Sum and number of the observations of each item that has any, and the items' numbers."""
        found = _PART.fullmatch(key)
        base = f"{found['metric']},{found['rules']}" if found else key
        sums = np.asarray(self._sums.get(base, ()), dtype=float)
        counts = np.asarray(self._counts.get(base, ()), dtype=float)
        here = counts > 0
        if found:  # of bins, which are none of an item's labels, there is nothing
            labels = self._labels.get(found["part"], [""] * len(sums))
            here &= np.asarray(labels[: len(sums)]) == found["value"]
        places = np.flatnonzero(here)
        return sums[places], counts[places], places


def summarise(
    samples: Iterable[Mapping[str, Any]], pass_at: Iterable[int] = (), macro: bool = False
) -> dict[str, Any]:
    """Estimates and counts over scored samples, which are read once and not kept.

    Args:
        samples: records of `samples_<task>.jsonl`.
        pass_at: see `Tally.estimates`.
        macro: see `Tally`.

    Returns:
        `estimates`: key -> value, low, high, n, stderr. `counts`: samples, items and each flag. `outcomes`:
        every sample with a gold answer once, as correct, wrong, truncated (and not correct) or errored.
        `paired`: differences between forms of the same questions, see `riftk.evaluation.groups`.
        `correlations`: following and accuracy over sources. `cot_bins`: edges of the bins. `variants`: mean
        and standard deviation over the wordings of IFFR.
    """
    tally = Tally(samples, macro)
    estimates = {key: found.to_dict() for key, found in tally.estimates(pass_at).items()}
    return {
        "estimates": estimates,
        "counts": {
            "samples": tally.samples,
            "items": len(tally.items),
            **{flag: tally.total(f"{flag},none") for flag in FLAGS},
        },
        "outcomes": tally.outcomes,
        "paired": _paired(tally),
        "correlations": correlations(tally.kinds, list(tally.items), tally.by_item),
        "cot_bins": tally.bins.edges(),
        "variants": variants(estimates),
    }


def family(key: str) -> tuple[str, str] | None:
    """The table that a figure is a row of, for the correction of its tests: figures per constraint id, or per
    part of the items; None for a figure of its own."""
    metric, _, rules = key.rpartition(",")
    if found := _PART.fullmatch(key):
        return f"{found['metric']}[{found['part']}]", rules
    return (metric.partition("/")[0], rules) if "/" in metric else None


def _paired(tally: Tally) -> dict[str, Any]:
    found = paired_forms(tally.kinds, list(tally.items), tally.by_item)
    for key in tally.keys:
        if "_first_turn" in key:
            first, last = tally.by_item(key), tally.by_item(key.replace("_first_turn", ""))
            gain = paired_difference(list(first.values()), [last[item] for item in first])
            found[key.replace("_first_turn", "_reflection")] = gain.to_dict()
    return found


def _part(key: str, part: str, value: str) -> str:
    metric, _, rules = key.partition(",")
    return f"{metric}[{part}={value}],{rules}"


def _of_target(
    sample: Mapping[str, Any], verdicts: Iterable[Mapping[str, Any]], target: str
) -> list[tuple[str, bool]]:
    """(id, followed) of the constraints on a target, in their places."""
    pairs = zip(sample["constraints"], verdicts, strict=True)
    return [(c["id"], verdict["followed"]) for c, verdict in pairs if c["target"] == target]


def _by_id(judged: Iterable[tuple[str, bool]]) -> dict[str, bool]:
    """Whether each constraint id is followed wherever it occurs: one that occurs twice counts once."""
    followed: dict[str, bool] = {}
    for name, kept in judged:
        followed[name] = followed.get(name, True) and kept
    return followed


def _correct(sample: Mapping[str, Any]) -> dict[str, bool]:
    """Whether the answer is right, by the rules that it was graded by; empty without a gold answer."""
    if sample["correct"] is None:
        return {}
    published = sample.get("published_grades", {})
    return {rules: grade["correct"] for rules, grade in published.items()} | {"robust": sample["correct"]}


def _outcome(sample: Mapping[str, Any]) -> str | None:
    item = iffr_item(sample["item_id"])
    if sample["correct"] is None or "probe" in sample or (item and item.condition == "nonstandard"):
        return None
    if sample["finish_reason"] == "error":
        return "errored"
    if sample["correct"]:
        return "correct"
    return "truncated" if sample["finish_reason"] == "length" else "wrong"
