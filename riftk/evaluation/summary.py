"""Summaries of scored samples: what is counted, and how sure one can be of it.

A figure has a key "metric,filter" as in lm-evaluation-harness; the filter is the rulebook, or "none".

    {target}_ifs,{rules}         share of items whose every instruction about the target is followed
    {target}_ifs/{id},{rules}    the same for one constraint id
    {target}_ifs_closed,{rules}  the same among completions that closed their reasoning and were not cut off
    {target}_joint,{rules}       followed *and* answered correctly
    accuracy,robust              of all items with a gold answer; accuracy_plain, accuracy_instructed
    reasoning_words, reasoning_tokens, completion_tokens,none      means
    truncated, unclosed, no_reasoning, empty, errored,none         shares
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from riftk.statistics import Estimate, estimate

TARGETS = ("reasoning", "response")
FLAGS = ("truncated", "unclosed", "no_reasoning", "empty", "errored")
LENGTHS = ("reasoning_words", "reasoning_tokens", "completion_tokens")


def observations(sample: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """What one sample says about each figure: (key, value); figures it says nothing about are left out."""
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
    for name in LENGTHS:
        if sample[name] is not None and not errored:
            yield f"{name},none", float(sample[name])
    correct = sample["correct"]
    if correct is not None:
        asked = "instructed" if sample["constraints"] else "plain"
        yield "accuracy,robust", float(correct)
        yield f"accuracy_{asked},robust", float(correct)
    closed = sample["status"] == "closed" and not flags["truncated"]
    for rules, verdicts in sample["verdicts"].items():
        for target in TARGETS:
            followed: dict[str, bool] = {}
            for constraint, verdict in zip(sample["constraints"], verdicts, strict=True):
                if constraint["target"] == target:  # an id that occurs twice must be followed twice
                    name = constraint["id"]
                    followed[name] = followed.get(name, True) and verdict["followed"]
            if not followed:
                continue
            everything = all(followed.values())
            yield f"{target}_ifs,{rules}", float(everything)
            if closed:
                yield f"{target}_ifs_closed,{rules}", float(everything)
            if correct is not None:
                yield f"{target}_joint,{rules}", float(everything and correct)
            for name, kept in followed.items():
                yield f"{target}_ifs/{name},{rules}", float(kept)


class Tally:
    """Collects the observations of samples, a few numbers for each; the samples themselves are let go."""

    def __init__(self, samples: Iterable[Mapping[str, Any]] = ()) -> None:
        self.items: dict[str, int] = {}  # item id -> its number
        self.samples = 0
        self._values: dict[str, array] = {}
        self._items: dict[str, array] = {}
        for sample in samples:
            self.add(sample)

    def add(self, sample: Mapping[str, Any]) -> None:
        item = self.items.setdefault(sample["item_id"], len(self.items))
        self.samples += 1
        for key, value in observations(sample):
            if key not in self._values:
                self._values[key], self._items[key] = array("d"), array("l")
            self._values[key].append(value)
            self._items[key].append(item)

    @property
    def keys(self) -> list[str]:
        return sorted(self._values)

    def estimate(self, key: str) -> Estimate:
        """Mean over samples; its interval resamples items where they have several samples."""
        return estimate(self._values[key], self._items[key])

    def total(self, key: str) -> int:
        """Number of samples of which a yes-or-no figure is true."""
        return int(sum(self._values.get(key, ())))

    def by_item(self, key: str) -> dict[str, float]:
        """Mean of each item's samples."""
        names = list(self.items)
        sums: dict[str, float] = {}
        counts: dict[str, int] = {}
        for item, value in zip(self._items.get(key, ()), self._values.get(key, ()), strict=True):
            sums[names[item]] = sums.get(names[item], 0.0) + value
            counts[names[item]] = counts.get(names[item], 0) + 1
        return {name: sums[name] / counts[name] for name in sums}


def summarise(samples: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Estimates and counts over scored samples, which are read once and not kept.

    Returns:
        `estimates`: key -> value, low, high, n, stderr; `counts`: samples, items and each flag.
    """
    tally = Tally(samples)
    return {
        "estimates": {key: tally.estimate(key).to_dict() for key in tally.keys},
        "counts": {
            "samples": tally.samples,
            "items": len(tally.items),
            **{flag: tally.total(f"{flag},none") for flag in FLAGS},
        },
    }
