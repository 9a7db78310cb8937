"""A few samples to look at: one that got better, one that got worse, one that is still wrong."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from riftk.evaluation import observations
from riftk.report.marks import shorten
from riftk.rows import read_jsonl

SHOWN = 3
LONGEST = 1200  # characters of a text that are shown
_KEPT = ("finish_reason", "status", "error", "correct", "extracted", "grade_reason", "verdicts")


def examples(files: Mapping[str, Path], key: str | None) -> list[dict[str, Any]]:
    """Up to three items with what each evaluation of them says, of different constraints where there are.

    Args:
        files: samples file by evaluation, e.g. {"before": ..., "after": ...}; the last one decides.
        key: figure of following that picks the items ("reasoning_ifs,robust"); None goes by accuracy.
    """
    scores = [_scores(path, key or "accuracy,robust") for path in files.values()]
    first, last = scores[0], scores[-1]
    asked = {item: constraints for item, (_, constraints) in last.items() if item in first}
    kinds: list[tuple[str, Callable[[float, float], bool]]] = [
        ("got better", lambda old, new: old < new),
        ("got worse", lambda old, new: old > new),
        ("not followed" if key else "wrong", lambda old, new: old == new == 0),
        ("followed" if key else "correct", lambda old, new: old == new == 1),
    ]
    chosen: dict[str, str] = {}
    for _ in range(SHOWN):  # a second one of a kind only where another kind is missing
        for kind, fits in kinds:
            fitting = [i for i in asked if i not in chosen and fits(first[i][0], last[i][0])]
            shown = {asked[item] for item in chosen}
            item = next((i for i in fitting if asked[i] not in shown), next(iter(fitting), None))
            if item is not None and len(chosen) < SHOWN:
                chosen[item] = kind
    found = {when: _samples(path, set(chosen)) for when, path in files.items()}
    records = next(iter(found.values()))
    return [
        {
            "item_id": item,
            "kind": kind,
            "prompt": clip(_prompt(records[item])),
            "answer": records[item]["answer"],
            "constraints": records[item]["constraints"],
            **{when: _shown(samples[item]) for when, samples in found.items()},
        }
        for item, kind in chosen.items()
    ]


def clip(text: str) -> str:
    """The beginning and the end of a long text, which are what an instruction is mostly about."""
    return shorten(text, LONGEST)[0]


def _scores(path: Path, key: str) -> dict[str, tuple[float, tuple[str, ...]]]:
    """What the first sample of each item says about a figure, and which constraints it had."""
    scores = {}
    for sample in read_jsonl(path):
        value = dict(observations(sample)).get(key)
        if value is not None and sample["sample"] == 0:
            scores[sample["item_id"]] = (value, tuple(c["id"] for c in sample["constraints"]))
    return scores


def _samples(path: Path, items: set[str]) -> dict[str, dict[str, Any]]:
    """The first sample of each of these items."""
    return {
        sample["item_id"]: sample
        for sample in read_jsonl(path)
        if sample["item_id"] in items and sample["sample"] == 0
    }


def _prompt(sample: Mapping[str, Any]) -> str:
    return "\n\n".join(message["content"] for message in sample["prompt"])


def _shown(sample: Mapping[str, Any]) -> dict[str, Any]:
    verdicts = {
        rules: [{"followed": verdict["followed"], "reason": clip(verdict["reason"])} for verdict in judged]
        for rules, judged in sample["verdicts"].items()
    }
    texts = {part: clip(sample[part]) for part in ("reasoning", "response")}
    return {**texts, **{name: sample[name] for name in _KEPT}, "verdicts": verdicts}
