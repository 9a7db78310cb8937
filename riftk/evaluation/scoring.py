"""Score one completion: split it, judge its constraints under every rulebook, grade its answer."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from riftk.constraints import Verdict
from riftk.constraints.text import word_count
from riftk.engines.base import Generation
from riftk.grading import grade
from riftk.judging import Output
from riftk.rows import Row, read_jsonl


def score_sample(
    row: Row,
    generation: Generation,
    *,
    rulebooks: Sequence[str],
    think: str | None,
    doc_id: int = 0,
    sample: int = 0,
    count_tokens: Callable[[str], int | None] | None = None,
) -> dict[str, Any]:
    """Everything that is known about one completion, as it is stored.

    How the constraints are judged is said in `riftk.judging`.

    Args:
        row: the item.
        generation: what the engine delivered for it.
        rulebooks: names of the rules, the published ones first.
        think: think mode of the model, see `riftk.completions.think_mode`.
        doc_id: place of the item in its benchmark.
        sample: number of the completion where an item has several.
        count_tokens: tokens of a text, for the length of the trace.
    """
    output = Output(
        text=generation.text,
        think=think,
        reasoning_content=generation.reasoning_content,
        finish_reason=generation.finish_reason,
        tokens=generation.completion_tokens,
        error=generation.error,
    )
    completion = output.completion
    verdicts = output.judge(row.constraints, rulebooks)
    errored = generation.finish_reason == "error"
    answered = grade(completion.response, row.answer, row.answer_type) if row.answer and not errored else None
    return {
        "doc_id": doc_id,
        "item_id": row.item_id,
        "sample": sample,
        "source": row.source,
        "prompt": [dict(message) for message in row.prompt],
        "answer": row.answer,
        "answer_type": row.answer_type,
        "constraints": [constraint.to_dict() for constraint in row.constraints],
        "think": think,
        "resps": [[generation.text]],
        "reasoning_content": generation.reasoning_content,
        "reasoning": completion.reasoning,
        "response": completion.response,
        "status": completion.status,
        "prefilled": completion.prefilled,
        "blocks": completion.blocks,
        "finish_reason": generation.finish_reason,
        "error": generation.error,
        "prompt_tokens": generation.prompt_tokens,
        "completion_tokens": generation.completion_tokens,
        "reasoning_tokens": count_tokens(completion.reasoning) if count_tokens else None,
        "reasoning_words": word_count(completion.reasoning),
        "verdicts": {rules: [_record(verdict) for verdict in judged] for rules, judged in verdicts.items()},
        "correct": (answered.correct if answered else False) if row.answer else None,
        "extracted": answered.extracted if answered else None,
        "grade_reason": answered.reason if answered else generation.error,
    }


def rescore(samples_path: str | Path, rulebooks: Sequence[str] | None = None) -> Iterator[dict[str, Any]]:
    """Score stored samples again from their raw text, one at a time.

    Args:
        samples_path: a `samples_<task>.jsonl`.
        rulebooks: rules to judge by; None takes those of each stored record.
    """
    for stored in read_jsonl(samples_path):
        [[text]] = stored["resps"]
        generation = Generation(
            text=text,
            finish_reason=stored["finish_reason"],
            prompt_tokens=stored["prompt_tokens"],
            completion_tokens=stored["completion_tokens"],
            reasoning_content=stored["reasoning_content"],
            error=stored["error"],
        )
        fresh = score_sample(
            Row.from_dict({**stored, "constraints": json.dumps(stored["constraints"])}),
            generation,
            rulebooks=rulebooks or list(stored["verdicts"]),
            think=stored["think"],
            doc_id=stored["doc_id"],
            sample=stored["sample"],
        )
        yield {**fresh, "reasoning_tokens": stored["reasoning_tokens"]}


def _record(verdict: Verdict) -> dict[str, Any]:
    return {**asdict(verdict), "spans": [list(span) for span in verdict.spans]}
