"""A dataset for other trainers: the traces where one chat template keeps them.

Rows of a dataset hold `reasoning` and `response` apart, so that they serve every model. trl's trainers, and
those that read its formats, take `prompt` and `completion`, and what becomes of a trace in them depends on
the chat template. So these rows belong to one tokenizer.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from riftk.completions import render_reasoning
from riftk.rows import write_jsonl
from riftk.supervision import check_template

from .errors import SynthesisError


def to_prompt_completion(tokenizer: Any, record: Mapping[str, Any]) -> dict[str, Any]:
    """A row of a dataset with `completion` instead of `reasoning` and `response`.

    `prompt` and `completion` are lists of messages, trl's conversational prompt-completion format; the other
    columns stay.

    Raises:
        ValueError: the chat template keeps a trace in no form.
    """
    columns = {name: value for name, value in record.items() if name not in ("reasoning", "response")}
    message = render_reasoning(tokenizer, record["reasoning"], record["response"])
    return {**columns, "completion": [message]}


def export_dataset(records: Iterable[Mapping[str, Any]], tokenizer: Any, out: str | Path) -> int:
    """Write a dataset as prompt-completion rows for one tokenizer; return how many.

    Args:
        records: rows with `prompt`, `reasoning` and `response`, as synthesis writes them.
        tokenizer: of the model to train, with its chat template.
        out: file to write, `.jsonl` or `.parquet`.

    Raises:
        SynthesisError: another kind of file.
        ValueError: the chat template keeps a trace in no form.
    """
    out = Path(out)
    if out.suffix not in (".jsonl", ".parquet"):
        raise SynthesisError(f"{out}: rows are written as .jsonl or .parquet")
    check_template(tokenizer)
    rows = (to_prompt_completion(tokenizer, record) for record in records)
    if out.suffix == ".jsonl":
        return write_jsonl(out, rows)
    from datasets import Dataset

    table = Dataset.from_list(list(rows))
    out.parent.mkdir(parents=True, exist_ok=True)
    table.to_parquet(str(out))
    return len(table)
