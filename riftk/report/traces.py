"""The samples of one or several evaluations, as the trace viewer of `report.html` reads them.

What the list and the filters need stands in one index; texts stand in parts of it, which a browser reads when
they are looked at. Both are plain data (JSON).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from riftk.judging import Output
from riftk.report.marks import place, shorten, utf16
from riftk.rows import read_jsonl
from riftk.spreading import spread

PART = 100  # samples whose texts stand together
MARKS = 300  # marked places of a text for one verdict
QUOTES, QUOTED = 4, 80  # places that cannot be marked are quoted: how many, and characters of each
SNIPPET = 110  # characters of a question in the list

Record = Mapping[str, Any]  # a line of `samples_<task>.jsonl`
Key = tuple[str, str, int, str]  # task, item id, sample, and what was asked


@dataclass(frozen=True)
class Limits:
    """How much of the samples a page holds; what is left out is said on it.

    Args:
        samples: most samples, evenly spread over those that there are.
        characters: most characters of all texts together.
        text: most characters of one text, its beginning and its end.
    """

    samples: int = 5_000
    characters: int = 30_000_000
    text: int = 20_000


LIMITS = Limits()


def collect_traces(evaluations: Mapping[str, Mapping[str, Path]], limits: Limits) -> dict[str, Any]:
    """The data of the viewer.

    Args:
        evaluations: samples file by task, for each evaluation by its name, in order.
        limits: how much of it.

    Returns:
        `index`: names and, for each sample, what can be filtered. `parts`: the texts, `PART` samples each.
    """
    sizes = _sizes(evaluations, limits.text)
    keys = list(sizes)
    places = spread(len(keys), _fitting(list(sizes.values()), limits))
    found: dict[Key, dict[str, Record]] = {keys[place]: {} for place in places}
    for name, key, record in _records(evaluations):
        if key in found:
            found[key][name] = record
    names = list(evaluations)
    constraints = _Numbers()
    sources, tasks = _Numbers(), _Numbers()
    lines, texts = [], []
    for (task, item, sample, _), sides in found.items():
        first = next(iter(sides.values()))
        numbers = [constraints[f"{c['id']} ({c['target']})"] for c in first["constraints"]]
        lines.append(
            {
                "item": item,
                "sample": sample,
                "task": tasks[task],
                "source": sources[first["source"]],
                "constraints": numbers,
                "question": _snippet(first),
                "sides": [_outcome(sides.get(name)) for name in names],
            }
        )
        texts.append(_texts(first, [sides.get(name) for name in names], limits.text))
    index = {
        "evaluations": names,
        "tasks": list(tasks),
        "sources": list(sources),
        "constraints": list(constraints),
        "samples": lines,
        "left_out": len(sizes) - len(found),
        "longest": limits.text,
        "part": PART,
    }
    return {"index": index, "parts": [texts[start : start + PART] for start in range(0, len(texts), PART)]}


class _Numbers(dict[str, int]):
    """Numbers for names, in the order in which they come up."""

    def __missing__(self, name: str) -> int:
        return self.setdefault(name, len(self))


def _records(evaluations: Mapping[str, Mapping[str, Path]]) -> Iterator[tuple[str, Key, Record]]:
    for name, files in evaluations.items():
        for task, path in files.items():
            for record in read_jsonl(path):
                yield name, _key(task, record), record


def _key(task: str, record: Record) -> Key:
    """Samples with one key are shown side by side: the same question, asked in the same words."""
    asked = json.dumps([record["prompt"], record["constraints"]], sort_keys=True)
    digest = sha256(asked.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return task, record["item_id"], record["sample"], digest


def _sizes(evaluations: Mapping[str, Mapping[str, Path]], longest: int) -> dict[Key, int]:
    """Characters of each sample's prompt, and of its texts over all evaluations."""
    sizes: dict[Key, int] = {}
    for _, key, record in _records(evaluations):
        texts = [record["reasoning"], record["response"]]
        if key not in sizes:
            texts += [message["content"] for message in record["prompt"]]
        sizes[key] = sizes.get(key, 0) + sum(min(len(text), longest) for text in texts)
    return sizes


def _fitting(sizes: Sequence[int], limits: Limits) -> int:
    """How many samples a page holds, if those that are left out are as long as those that stay."""
    share = min(1.0, limits.characters / max(sum(sizes), 1))
    return min(limits.samples, int(share * len(sizes)))


def _snippet(record: Record) -> str:
    """Something to tell a sample by: the last paragraph of the prompt, which is mostly the question."""
    paragraphs = [part for part in record["prompt"][-1]["content"].split("\n\n") if part.strip()]
    return " ".join(paragraphs[-1].split())[:SNIPPET] if paragraphs else ""


def _outcome(record: Record | None) -> dict[str, Any] | None:
    """What filters ask of one completion: each instruction followed (robust rules), answer correct, state."""
    if record is None:
        return None
    finish, status = record["finish_reason"], record["status"]
    states = {
        "error": finish == "error",
        "cut off": finish == "length",
        "never closed": status == "unclosed",
        "no reasoning": status in ("none", "empty") and finish != "error",
    }
    return {
        "followed": [verdict["followed"] for verdict in record["verdicts"]["robust"]],
        "correct": record["correct"],
        "states": [state for state, there in states.items() if there],
    }


def _texts(first: Record, sides: Sequence[Record | None], longest: int) -> dict[str, Any]:
    return {
        "prompt": [
            {"role": message["role"], "content": shorten(message["content"], longest)[0]}
            for message in first["prompt"]
        ],
        "answer": first["answer"],
        "sides": [side and _side(side, longest) for side in sides],
    }


def _side(record: Record, longest: int) -> dict[str, Any]:
    """One completion: its texts, its verdicts, and where in the texts the offending places are."""
    output = Output(record["resps"][0][0], record["think"], record["reasoning_content"])
    shown = {target: record[target] for target in ("reasoning", "response")}
    verdicts: list[dict[str, Any]] = []
    for rules, judged in record["verdicts"].items():
        for constraint, verdict in zip(record["constraints"], judged, strict=True):
            target = constraint["target"]
            told = {
                "constraint": constraint["id"],
                "target": target,
                "followed": verdict["followed"],
                "reason": shorten(verdict["reason"], 600)[0],
            }
            if verdict["spans"]:
                told |= _places(verdict["spans"], output.judged_text(target, rules), shown[target], longest)
            same = next((one for one in verdicts if told.items() <= one.items()), None)
            if same and rules not in same["rules"]:
                same["rules"].append(rules)
            else:
                verdicts.append({**told, "rules": [rules]})
    return {
        **{target: shorten(text, longest)[0] for target, text in shown.items()},
        "verdicts": verdicts,
        "correct": record["correct"],
        "extracted": record["extracted"],
        "grade": record["grade_reason"],
        "status": record["status"],
        "finish": record["finish_reason"],
        "error": record["error"],
        "tokens": record["reasoning_tokens"],
        "words": record["reasoning_words"],
    }


def _places(spans: Sequence[Sequence[int]], judged: str, shown: str, longest: int) -> dict[str, Any]:
    placed = place(spans, judged, shown)
    if placed is None:
        quotes = [judged[start:end][:QUOTED] for start, end in spans[:QUOTES]]
        return {"quotes": quotes}
    text, left = shorten(shown, longest, placed)
    return {
        "marks": [list(span) for span in utf16(left[:MARKS], text)],
        "unmarked": max(0, len(left) - MARKS),
    }
