"""MathIF's rows: 420 problems with one, two or three constraints on the response (arXiv 2505.14810)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from riftk.constraints import ConstraintError
from riftk.constraints.published.mathif import description
from riftk.prompts import mathif_prompt
from riftk.rows import Row, RowError, collect_rows, paired_constraints, read_jsonl

# The last part of a source's name in the file, and what the paper calls it.
_SOURCES = {
    "gsm8k": "gsm8k",
    "MATH-500": "math500",
    "simplerl-minerva-math": "minerva",
    "simplerl-OlympiadBench": "olympiad",
    "aime": "aime",
}
_NUMBERS = ("gsm8k", "aime")  # sources whose answers are all numbers


def read_mathif_rows(path: str | Path, skip_bad: bool = False) -> list[Row]:
    """Read a file of MathIF, with its own columns or with those of IFEval (`instruction_id_list`, `kwargs`).

    Official ids repeat (390 of 420 differ), so a row's `item_id` begins with its place in the file. The same
    constraint may occur twice in a row. A `prompt` in the file is taken as it is; without one, the prompt is
    the published one, of `question` and `constraint_desc`.

    Args:
        path: JSONL file.
        skip_bad: see `riftk.rows.read_rows`.

    Raises:
        RowError: see `riftk.rows.read_rows`; also a description that disagrees with the arguments.
    """
    numbered = ({**record, "place": place} for place, record in enumerate(read_jsonl(path)))
    return collect_rows(numbered, _row, path, skip_bad)


def _row(record: Mapping[str, Any], where: str) -> Row:
    official = record.get("id", record.get("key", ""))
    content, question = record.get("prompt"), record.get("question")
    source = str(record.get("source") or "").rpartition("/")[2]
    try:
        if content is None and not isinstance(question, str):
            raise RowError("there is neither a question nor a prompt")
        constraints = paired_constraints(
            record.get("constraint_name", record.get("instruction_id_list")),
            record.get("constraint_args", record.get("kwargs")),
            "response",
        )
        if content is None:
            sentences = record.get("constraint_desc") or [description(c) for c in constraints]
            content = mathif_prompt(question, sentences)
        return Row(
            item_id=f"mathif-{record['place']:03d}-{official}",
            prompt=({"role": "user", "content": content},),
            answer="" if record.get("answer") is None else str(record["answer"]),
            answer_type="number" if source in _NUMBERS else "math",
            constraints=constraints,
            source=_SOURCES.get(source, source),
        )
    except (ConstraintError, RowError) as error:
        raise RowError(f"{where} ({official}): {error}") from error
