"""Score completions: split them, judge their constraints under every rulebook, grade their answers."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

from riftk.constraints import Verdict
from riftk.constraints.text import word_count
from riftk.engines.base import Generation
from riftk.evaluation.forms import unasked_forms
from riftk.evaluation.iffr import iffr_item
from riftk.grading import Grade, grade_many
from riftk.judging import Output
from riftk.rows import Row, read_jsonl

T = TypeVar("T")
BATCH = 256  # stored samples that are graded together
# Published graders, and the kinds of answers that they know.
PUBLISHED_GRADERS = {
    "mathif": ("math", "number"),
    "reasonif": ("math", "number", "choice"),
    "iffr": ("number", "choice", "label"),
}


@dataclass(frozen=True)
class Case:
    """One completion to score.

    Args:
        row: the item.
        generation: what the engine delivered for it.
        doc_id: place of the item in its benchmark.
        sample: number of the completion where an item has several.
        think: think mode of the model, see `riftk.completions.think_mode`.
        rulebooks: names of the rules, the published ones first.
    """

    row: Row
    generation: Generation
    doc_id: int
    sample: int
    think: str | None
    rulebooks: Sequence[str]

    @property
    def errored(self) -> bool:
        return self.generation.finish_reason == "error"


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
    """Everything that is known about one completion, as it is stored; see `Case` and `score_all`."""
    [scored] = score_all([Case(row, generation, doc_id, sample, think, rulebooks)], count_tokens)
    return scored


def score_all(
    cases: Sequence[Case], count_tokens: Callable[[str], int | None] | None = None
) -> list[dict[str, Any]]:
    """Score completions; their answers are compared at the same time.

    How constraints are judged is said in `riftk.judging`. Answers are graded by robust rules in the response,
    and by the published grader (MathIF, ReasonIF, IFFR) in the text that the published evaluator cuts out.

    Args:
        cases: the completions.
        count_tokens: tokens of a text, for the length of the traces.
    """
    outputs = [_output(case) for case in cases]
    grades: list[dict[str, Grade]] = [{} for _ in cases]
    for rules in ("robust", *PUBLISHED_GRADERS):
        asked = [place for place, case in enumerate(cases) if rules in _graders(case) and not case.errored]
        texts = [_read(outputs[place], rules) for place in asked]
        golds = [cases[place].row.answer for place in asked]
        kinds = [cases[place].row.answer_type for place in asked]
        for place, found in zip(asked, grade_many(texts, golds, kinds, rules), strict=True):
            grades[place][rules] = found
    scored = zip(cases, outputs, grades, strict=True)
    return [_record(case, output, found, count_tokens) for case, output, found in scored]


def rescore(samples_path: str | Path, rulebooks: Sequence[str] | None = None) -> Iterator[dict[str, Any]]:
    """Score stored samples again from their raw text, a batch at a time.

    Args:
        samples_path: a `samples_<task>.jsonl`.
        rulebooks: rules to judge by; None takes those of each stored record.
    """
    for stored in batched(read_jsonl(samples_path)):
        cases = [stored_case(record, rulebooks or list(record["verdicts"])) for record in stored]
        for record, fresh in zip(stored, score_all(cases), strict=True):
            kept = {
                name: record[name]
                for name in ("reasoning_tokens", "turn", "first_turn", "probe")
                if name in record
            }
            yield {**fresh, **kept}


def stored_case(record: Mapping[str, Any], rulebooks: Sequence[str], row: Row | None = None) -> Case:
    """A record of `samples_<task>.jsonl` as a case again.

    Args:
        record: the record.
        rulebooks: rules to judge by.
        row: the item, instead of the one that the record holds.
    """
    [[text]] = record["resps"]
    generation = Generation(
        text=text,
        finish_reason=record["finish_reason"],
        prompt_tokens=record["prompt_tokens"],
        completion_tokens=record["completion_tokens"],
        reasoning_content=record["reasoning_content"],
        error=record["error"],
        label_logprobs=record.get("label_logprobs"),
    )
    row = row or Row.from_dict({**record, "constraints": json.dumps(record["constraints"])})
    return Case(row, generation, record["doc_id"], record["sample"], record["think"], rulebooks)


def _output(case: Case) -> Output:
    generation = case.generation
    return Output(
        text=generation.text,
        think=case.think,
        reasoning_content=generation.reasoning_content,
        finish_reason=generation.finish_reason,
        tokens=generation.completion_tokens,
        error=generation.error,
    )


def _read(output: Output, rules: str) -> str:
    """The text in which a grader looks for the answer."""
    if rules == "robust":
        return output.completion.response
    if rules == "iffr":  # its notebooks read everything that was generated
        return output.text
    return output.published_cut(rules, "response")


def _graders(case: Case) -> list[str]:
    """The rules by which the answer of a case is graded, if it has one."""
    if not case.row.answer:
        return []
    kind = case.row.answer_type
    return ["robust", *(r for r in case.rulebooks if kind in PUBLISHED_GRADERS.get(r, ()))]


def _record(
    case: Case, output: Output, grades: Mapping[str, Grade], count_tokens: Callable[[str], int | None] | None
) -> dict[str, Any]:
    row, generation, completion = case.row, case.generation, output.completion
    # A request that failed has no answer, which is wrong under all rules.
    found = {r: grades.get(r) or Grade(False, None, str(generation.error)) for r in _graders(case)}
    answered = found.pop("robust", None)
    verdicts = output.judge(row.constraints, case.rulebooks)
    return {
        "doc_id": case.doc_id,
        "item_id": row.item_id,
        "sample": case.sample,
        "source": row.source,
        "prompt": [dict(message) for message in row.prompt],
        "answer": row.answer,
        "answer_type": row.answer_type,
        "constraints": [constraint.to_dict() for constraint in row.constraints],
        "think": case.think,
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
        "verdicts": {rules: [_verdict(verdict) for verdict in judged] for rules, judged in verdicts.items()},
        # An answer of one letter is not written in capitals.
        "forms": {} if iffr_item(row.item_id) else unasked_forms(row, output),
        **({"label_logprobs": generation.label_logprobs} if generation.label_logprobs is not None else {}),
        "correct": answered.correct if answered else None,
        "extracted": answered.extracted if answered else None,
        "grade_reason": answered.reason if answered else generation.error,
        "published_grades": {rules: asdict(grade) for rules, grade in found.items()},
    }


def _verdict(verdict: Verdict) -> dict[str, Any]:
    return {**asdict(verdict), "spans": [list(span) for span in verdict.spans]}


def batched(items: Iterable[T], size: int = BATCH) -> Iterator[list[T]]:
    """Lists of up to `size` items (itertools has it from Python 3.12 on)."""
    rest = iter(items)
    while batch := list(islice(rest, size)):
        yield batch
