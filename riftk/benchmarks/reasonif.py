"""ReasonIF: 300 questions, each with one instruction about how to reason (arXiv 2510.15211).

Every question is asked in up to three forms: with its instruction about the reasoning (the published prompt,
byte for byte), with the same instruction about the response, and plain.

    reasonif                 all three forms
    reasonif:reasoning       only those named: reasoning, response, plain
    reasonif:reflection      a second turn for what was not followed in the first (section 4, RQ3), reasoning
    reasonif:explicit-tags   a prompt that defines the trace by its tags (Appendix C.2), reasoning

The paper describes the prompts of the last two, of the response and of the calibration, and does not print
them; riftk's are reconstructed (see `riftk.prompts`), and the results say so.

A word limit is the 20th percentile of what *the evaluated model* writes, by source. Those in the data set are
GPT-OSS-120B's; they are used only when asked for (`limits="dataset"`). See `riftk.benchmarks.limits`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from riftk.benchmarks import Benchmark, stratified_questions
from riftk.benchmarks.data import (
    check_columns,
    check_hub,
    fingerprint,
    from_folder,
    from_hub_table,
    without_padding,
)
from riftk.benchmarks.limits import WordLimits, read_limits
from riftk.constraints import Constraint, parse_constraint
from riftk.prompts import reasonif_explicit_prompt, reasonif_prompt
from riftk.rows import Row, RowError

DATASET = "ykwon-hf/reasonIF"  # named by the authors' repository, github.com/ykwon0407/reasonIF
FILES = ("reasonif.jsonl", "reasonIF_dataset.json")
PUBLISHED_SHA = "7d55f221d0a88c46d524572ce9733cc8a37c5708aedf24d3190838903a3062be"
FORMS = ("reasoning", "response", "plain")
_COLUMNS = ("source", "question", "answer", "prompt", "constraint_name")
_ANSWER_TYPES = {"gsm8k": "number", "amc": "number", "aime": "number", "arc": "choice", "gpqa": "choice"}
_WORDS = "length_constraint_checkers:number_words"
_PROMPTS = {
    "reasoning": "published",
    "response": "reconstructed",
    "plain": "reconstructed (as others who calibrate have it)",
    "explicit_tags": "reconstructed",
    "reflection": "published first turn, reconstructed second",
}


def load(
    split: str = "test",
    limit: int | None = None,
    data_dir: str | Path | None = None,
    limits: str | Path | WordLimits | None = None,
    reasoning: bool = False,
    response: bool = False,
    plain: bool = False,
    reflection: bool = False,
    explicit_tags: bool = False,
    revision: str | None = None,
) -> Benchmark:
    """Load ReasonIF's items.

    Args:
        split: "test"; there is no other.
        limit: number of rows, over all forms, in proportion over constraints and sources.
        data_dir: folder that holds one of `FILES`; None reads the hub.
        limits: word limits, see `riftk.benchmarks.limits.read_limits`; needed with instructions.
        reasoning, response, plain: which forms; none chooses all three, or with `reflection` and
            `explicit_tags` the one about the reasoning.
        reflection: ask a second time where the first trace does not follow.
        explicit_tags: the prompt that defines the trace by its tags.
        revision: commit of the hub's data set; without one the content must be the published one.

    Raises:
        ValueError: unknown split, no limits, or hub data that has changed.
        FileNotFoundError: no such file, or the hub cannot be read.
        RowError: a row that is not ReasonIF's.
    """
    if split != "test":
        raise ValueError(f"ReasonIF has a test split only, not {split!r}; choose settings on other items")
    named = (reasoning, response, plain)
    if not any(named):
        named = (True, False, False) if reflection or explicit_tags else (True, True, True)
    forms = [form for form, wanted in zip(FORMS, named, strict=True) if wanted]
    if (reflection or explicit_tags) and forms != ["reasoning"]:
        raise ValueError("reflection and explicit-tags are about the reasoning; name no other form with them")
    instructed = forms != ["plain"]
    if limits is None and instructed:
        raise ValueError(
            "ReasonIF's word limits depend on the model: measure them with riftk calibrate and give --limits "
            "FOLDER (of the base, for a trained model), or say --limits dataset for those of GPT-OSS-120B"
        )
    chosen_limits = read_limits(limits) if limits is not None else None
    records, origin = _records(data_dir, revision)
    sha = fingerprint(records, _COLUMNS)
    if data_dir is None:
        check_hub(sha, PUBLISHED_SHA, origin, revision)
    questions = [
        _rows(record, f"reasonif-{number:03d}", forms, chosen_limits, explicit_tags)
        for number, record in enumerate(records)
    ]
    variant = [name for name, on in (("explicit_tags", explicit_tags), ("reflection", reflection)) if on]
    details: dict[str, Any] = {
        "dataset": origin,
        "data_sha": sha,
        "data": "as published" if sha == PUBLISHED_SHA else "not the published 300 rows",
        "prompts": "; ".join(f"{name}: {_PROMPTS[name]}" for name in variant or forms),
    }
    if instructed:
        details["word_limits"] = str(chosen_limits or "dataset (20th percentile of GPT-OSS-120B)")
    rows = stratified_questions(questions, limit)
    return Benchmark("reasonif", rows, rules="reasonif", details=details, reflects=reflection)


def _rows(
    record: Mapping[str, Any], item: str, forms: list[str], limits: WordLimits | None, explicit_tags: bool
) -> list[Row]:
    source = record["source"]
    if source not in _ANSWER_TYPES:
        raise RowError(f"{item}: unknown source {source!r}; ReasonIF has {', '.join(_ANSWER_TYPES)}")

    def row(form: str) -> Row:
        constraints = () if form == "plain" else _constraints(record, form, limits)
        instruction = " ".join(constraint.instruction() for constraint in constraints)
        if form == "reasoning" and not explicit_tags and limits is None:
            content = record["prompt"]
        elif form == "plain":
            content = reasonif_prompt(record["question"])
        elif explicit_tags:
            content = reasonif_explicit_prompt(record["question"], instruction)
        else:
            content = reasonif_prompt(record["question"], instruction, form)
        return Row(
            item_id=f"{item}-{form}",
            prompt=({"role": "user", "content": content},),
            answer=record["answer"].strip(),
            answer_type=_ANSWER_TYPES[source],
            constraints=constraints,
            source=source,
        )

    return [row(form) for form in forms]


def _constraints(record: Mapping[str, Any], target: str, limits: WordLimits | None) -> tuple[Constraint, ...]:
    """The constraints of a record, with the word limit of the model in the place of the data set's."""
    asked = []
    for name, given in zip(record["constraint_name"], record["constraint_args"], strict=True):
        args = without_padding(given)
        if name == _WORDS and limits is not None:
            args["num_words"] = limits.of(record["source"])
        asked.append(parse_constraint({"id": name, "args": args, "target": target}))
    return tuple(asked)


def _records(data_dir: str | Path | None, revision: str | None) -> tuple[list[dict[str, Any]], str]:
    if data_dir is None:
        advice = (
            f"offline, take {FILES[1]} from the data folder of github.com/ykwon0407/reasonIF and give its "
            "folder as --data-dir"
        )
        records, origin = from_hub_table(DATASET, None, "train", revision, advice)
    else:
        records, origin = from_folder(Path(data_dir), FILES)
    check_columns(records, (*_COLUMNS, "constraint_args"), origin)
    return records, origin
