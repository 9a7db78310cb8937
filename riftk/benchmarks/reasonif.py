"""ReasonIF: 300 questions, each with one instruction about how to reason (arXiv 2510.15211).

Every question is asked in up to three forms: with its instruction about the reasoning (the published prompt,
byte for byte), with the same instruction about the response, and plain. The paper describes the prompts of
the last two and does not print them; riftk's are reconstructed (see `riftk.prompts`).

Word limits are the ones in the data set: the 20th percentile, per source, of what GPT-OSS-120B writes
(Appendix A). They are short for most other models, which `details["word_limits"]` says in every result.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from riftk.benchmarks import Benchmark, stratified
from riftk.constraints import Constraint, parse_constraint
from riftk.prompts import reasonif_prompt
from riftk.rows import Row, RowError, read_jsonl

DATASET = "ykwon-hf/reasonIF"  # named by the authors' repository, github.com/ykwon0407/reasonIF
FILES = ("reasonif.jsonl", "reasonIF_dataset.json")
PUBLISHED_SHA = "7d55f221d0a88c46d524572ce9733cc8a37c5708aedf24d3190838903a3062be"
TARGETS = ("reasoning", "response")
_ANSWER_TYPES = {"gsm8k": "number", "amc": "number", "aime": "number", "arc": "choice", "gpqa": "choice"}


def load(
    split: str = "test",
    limit: int | None = None,
    data_dir: str | Path | None = None,
    targets: str | Sequence[str] = TARGETS,
    plain: bool = True,
    revision: str | None = None,
) -> Benchmark:
    """Load ReasonIF's items.

    Args:
        split: "test"; there is no other.
        limit: number of rows, over all forms, in proportion over forms, constraints and sources.
        data_dir: folder that holds one of `FILES`; None reads the hub.
        targets: what the instructions are about: "reasoning", "response", or both.
        plain: ask every question without an instruction too.
        revision: commit of the hub's data set.

    Raises:
        ValueError: unknown split or target.
        FileNotFoundError: no such file, or the hub cannot be reached.
        RowError: a row that is not ReasonIF's.
    """
    targets = tuple(targets.split(",")) if isinstance(targets, str) else tuple(targets)
    if split != "test":
        raise ValueError(f"ReasonIF has a test split only, not {split!r}; choose settings on other items")
    if unknown := sorted(set(targets) - set(TARGETS)):
        raise ValueError(f"ReasonIF's targets are {' and '.join(TARGETS)}, not {', '.join(unknown)}")
    records, origin = _from_folder(Path(data_dir)) if data_dir is not None else _from_hub(revision)
    rows = [
        row
        for number, record in enumerate(records)
        for row in _rows(record, f"reasonif-{number:03d}", targets, plain)
    ]
    sha = fingerprint(records)
    details = {
        "dataset": origin,
        "data_sha": sha,
        "data": "as published" if sha == PUBLISHED_SHA else "not the published 300 rows",
        "word_limits": "dataset (20th percentile of GPT-OSS-120B)",
        "prompts": "published for the reasoning; reconstructed for the response and without instruction",
    }
    return Benchmark("reasonif", stratified(rows, limit), rules="reasonif", details=details)


def fingerprint(records: Iterable[Mapping[str, Any]]) -> str:
    """Hash of what the records ask, whatever file format they come from."""
    digest = hashlib.sha256()
    for record in records:
        asked = [record[key] for key in ("source", "question", "answer", "prompt", "constraint_name")]
        asked.append([_without_padding(args) for args in record["constraint_args"]])
        digest.update(json.dumps(asked, ensure_ascii=False, sort_keys=True).encode())
    return digest.hexdigest()


def _rows(record: Mapping[str, Any], item: str, targets: Sequence[str], plain: bool) -> list[Row]:
    source = record["source"]
    if source not in _ANSWER_TYPES:
        raise RowError(f"{item}: unknown source {source!r}; ReasonIF has {', '.join(_ANSWER_TYPES)}")

    def row(form: str, content: str, constraints: tuple[Constraint, ...]) -> Row:
        return Row(
            item_id=f"{item}-{form}",
            prompt=({"role": "user", "content": content},),
            answer=record["answer"].strip(),
            answer_type=_ANSWER_TYPES[source],
            constraints=constraints,
            source=source,
        )

    rows = []
    for target in targets:
        constraints = tuple(
            parse_constraint({"id": name, "args": _without_padding(args), "target": target})
            for name, args in zip(record["constraint_name"], record["constraint_args"], strict=True)
        )
        if target == "reasoning":
            content = record["prompt"]
        else:
            instruction = " ".join(constraint.instruction() for constraint in constraints)
            content = reasonif_prompt(record["question"], instruction, target)
        rows.append(row(target, content, constraints))
    if plain:
        rows.append(row("plain", reasonif_prompt(record["question"]), ()))
    return rows


def _without_padding(args: Mapping[str, Any] | None) -> dict[str, Any]:
    """Arrow pads a list of dicts with None for the keys of the others (huggingface/datasets#7617)."""
    return {key: value for key, value in (args or {}).items() if value is not None}


def _from_folder(folder: Path) -> tuple[list[dict[str, Any]], str]:
    for name in FILES:
        path = folder / name
        if path.is_file():
            records = (
                list(read_jsonl(path)) if path.suffix == ".jsonl" else json.loads(path.read_text("utf-8"))
            )
            return _checked(records, str(path)), f"file {name}"
    raise FileNotFoundError(f"{folder} holds neither {' nor '.join(FILES)} of ReasonIF")


def _from_hub(revision: str | None) -> tuple[list[dict[str, Any]], str]:
    from datasets import load_dataset

    try:
        data = load_dataset(DATASET, split="train", revision=revision)
    except OSError as error:  # offline, gated, no such revision
        raise FileNotFoundError(
            f"ReasonIF could not be read from the hub ({DATASET}: {error}); offline, take {FILES[1]} from "
            "the data folder of github.com/ykwon0407/reasonIF and give its folder as --data-dir"
        ) from error
    return _checked(list(data), DATASET), f"{DATASET}@{revision or 'main'}"


def _checked(records: list[dict[str, Any]], where: str) -> list[dict[str, Any]]:
    needed = ("source", "question", "answer", "constraint_name", "constraint_args", "prompt")
    for number, record in enumerate(records):
        missing = [key for key in needed if key not in record]
        if missing:
            raise RowError(f"{where}, row {number + 1}: column {missing[0]!r} is missing")
    return records
