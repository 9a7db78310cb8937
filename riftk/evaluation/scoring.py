"""Score one completion: split it, judge its constraints under every rulebook, grade its answer."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from riftk.completions import Completion, split_completion
from riftk.constraints import Constraint, Text, check_all
from riftk.constraints.published import judged_text
from riftk.constraints.text import word_count
from riftk.engines.base import Generation
from riftk.grading import grade, strip_answer_tags
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

    Under robust rules a trace that is cut off, missing or empty is not followed, and neither is an
    instruction about a response that was cut off. Published rules judge what they cut out of the raw text
    themselves. Answer tags are stripped from a response before it is judged, under every rulebook: they are
    lower case, so that capitals could never be followed.

    Args:
        row: the item.
        generation: what the engine delivered for it.
        rulebooks: names of the rules, the published ones first.
        think: think mode of the model, see `riftk.completions.think_mode`.
        doc_id: place of the item in its benchmark.
        sample: number of the completion where an item has several.
        count_tokens: tokens of a text, for the length of the trace.
    """
    completion = split_completion(
        generation.text, think=think, reasoning_content=generation.reasoning_content
    )
    verdicts = _verdicts(row.constraints, generation, completion, rulebooks)
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
        "verdicts": verdicts,
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


def _verdicts(
    constraints: Sequence[Constraint],
    generation: Generation,
    completion: Completion,
    rulebooks: Sequence[str],
) -> dict[str, list[dict[str, Any]]]:
    """Verdicts under each rulebook, in the order of the constraints."""
    analysed: dict[str, Text] = {}  # the rulebooks often judge the same text
    verdicts: dict[str, list[dict[str, Any]]] = {}
    for rules in rulebooks:
        judged: list[dict[str, Any]] = [{}] * len(constraints)
        for target in {constraint.target for constraint in constraints}:
            places = [place for place, constraint in enumerate(constraints) if constraint.target == target]
            fault = _fault(generation, completion, target) if rules == "robust" else None
            if fault is not None:
                for place in places:
                    judged[place] = {"followed": False, "score": 0.0, "reason": fault, "spans": []}
                continue
            text = _judged_text(generation, completion, rules, target)
            shared = analysed.setdefault(text, Text(text))
            asked = [constraints[place] for place in places]
            for place, verdict in zip(places, check_all(asked, shared, rules), strict=True):
                judged[place] = {
                    "followed": verdict.followed,
                    "score": verdict.score,
                    "reason": verdict.reason,
                    "spans": [list(span) for span in verdict.spans],
                }
        verdicts[rules] = judged
    return verdicts


def _fault(generation: Generation, completion: Completion, target: str) -> str | None:
    """Why there is nothing to judge, under robust rules; None where there is."""
    if generation.finish_reason == "error":
        return f"no completion: {generation.error}"
    cut_off = generation.finish_reason == "length"
    after = f" after {generation.completion_tokens} tokens" if generation.completion_tokens else ""
    if completion.status == "unclosed":
        return f"the reasoning was cut off{after}" if cut_off else "the reasoning was never closed"
    if target == "reasoning":
        return {"none": "there is no reasoning", "empty": "the reasoning is empty"}.get(completion.status)
    if cut_off:
        return f"the response was cut off{after}"
    return None if completion.response else "there is no response"


def _judged_text(generation: Generation, completion: Completion, rules: str, target: str) -> str:
    """The text that a rulebook judges. Spans of verdicts are offsets into it."""
    if rules == "robust":
        text = completion.reasoning if target == "reasoning" else completion.response
    else:
        raw = generation.text
        if generation.reasoning_content is not None:  # the published cut looks for tags
            raw = f"<think>{generation.reasoning_content}</think>{raw}"
        text = judged_text(rules, raw, target)
    return strip_answer_tags(text) if target == "response" else text
