"""A few samples to look at: one that got better, one that got worse, one that is still wrong."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from riftk.evaluation import Tally
from riftk.rows import read_jsonl

LONGEST = 1200  # characters of a text that are shown
_KEPT = ("finish_reason", "status", "error", "correct", "extracted", "grade_reason", "verdicts")


def examples(files: Mapping[str, Path], key: str | None) -> list[dict[str, Any]]:
    """Up to three items with what each evaluation of them says.

    Args:
        files: samples file by evaluation, e.g. {"before": ..., "after": ...}; the last one decides.
        key: figure of following that picks the items ("reasoning_ifs,robust"); None goes by accuracy.
    """
    tallies = [Tally(read_jsonl(path)) for path in files.values()]
    scores = [tally.by_item(key or "accuracy,robust") for tally in tallies]
    first, last = scores[0], scores[-1]
    paired = len(scores) > 1
    kinds: list[tuple[str, Callable[[str], bool]]] = [
        ("got better", lambda item: paired and first[item] < last[item]),
        ("got worse", lambda item: paired and first[item] > last[item]),
        ("not followed" if key else "wrong", lambda item: last[item] < 1 and first[item] < 1),
        ("followed" if key else "correct", lambda item: last[item] == 1 and first[item] == 1),
    ]
    chosen: dict[str, str] = {}
    for _ in range(2):  # a second one of a kind only where others are missing
        for kind, fits in kinds:
            item = next((i for i in last if i in first and i not in chosen and fits(i)), None)
            if item is not None and len(chosen) < 3:
                chosen[item] = kind
    found = {when: _samples(path, set(chosen)) for when, path in files.items()}
    return [
        {
            "item_id": item,
            "kind": kind,
            "prompt": clip(_prompt(next(iter(found.values()))[item])),
            "answer": next(iter(found.values()))[item]["answer"],
            "constraints": next(iter(found.values()))[item]["constraints"],
            **{when: _shown(samples[item]) for when, samples in found.items()},
        }
        for item, kind in chosen.items()
    ]


def clip(text: str) -> str:
    """The beginning and the end of a long text, which are what an instruction is mostly about."""
    if len(text) <= LONGEST:
        return text
    head, tail = 2 * LONGEST // 3, LONGEST // 3
    return f"{text[:head]}\n[… {len(text) - LONGEST} characters left out …]\n{text[-tail:]}"


def _samples(path: Path, items: set[str]) -> dict[str, dict[str, Any]]:
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
