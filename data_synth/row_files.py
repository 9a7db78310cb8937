"""Training rows without traces: problems with composed constraints, for reinforcement learning and sampling.

>>> from riftk.data_synth.row_files import RowsConfig, make_rows
>>> config = RowsConfig("riftk.tiny.problems:training_problems", num_rows=1, style="reasonif")
>>> [row.item_id for row in make_rows(config)]
['reasonif-0000000']
"""

from __future__ import annotations

import json
import random
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path
from typing import Any

from riftk.constraints import Constraint, ConstraintError
from riftk.constraints.compose import STYLES, compose, id_combinations
from riftk.constraints.published.mathif import description
from riftk.constraints.values import Values
from riftk.prompts import mathif_prompt, reasonif_prompt
from riftk.rows import Row, row_problems, write_jsonl

from .errors import SynthesisError
from .problems import Problem, load_problems

_COUNTS = {"mathif": (1, 2, 3), "reasonif": (1,)}  # of the styles that have a prompt
_REPORT = 10_000  # rows after which progress is shown
_BATCH = 1000  # rows of a Parquet file that are in memory at a time


@dataclass(frozen=True)
class RowsConfig:
    """What a file of rows is made from.

    Args:
        problems, question_column, answer_column, answer_type: see `load_problems`.
        num_rows: number of rows; where there are fewer problems, they come round again.
        style: "mathif" (instructions about the response behind the question) or "reasonif" (one about the
            reasoning before it): prompt, constraints and their combinations.
        counts: numbers of constraints, in equal parts; empty means 1, 2 and 3 for "mathif", 1 for "reasonif".
        target: "reasoning" or "response"; "" is the style's own.
        constraints: ids to draw among; empty means all of the style.
        values: what arguments are drawn from: "held-out", which no published benchmark file asks for, or
            "published", the benchmark's own word list, ranges and phrases.
        paraphrase_share: share of instructions in other words than the published ones.
        plain_share: share of rows without an instruction.
        seed: of every draw; draws depend on it and on the row's place alone.

    Raises:
        SynthesisError, ConstraintError: a value that makes no sense.
    """

    problems: str
    num_rows: int = 1000
    style: str = "mathif"
    counts: tuple[int, ...] = ()
    target: str = ""
    constraints: tuple[str, ...] = ()
    values: str = "held-out"
    paraphrase_share: float = 0.5
    plain_share: float = 0.1
    question_column: str = "question"
    answer_column: str | None = "answer"
    answer_type: str = "math"
    seed: int = 0

    def __post_init__(self) -> None:
        demands = {
            "num_rows": (self.num_rows >= 1, "at least 1"),
            "style": (self.style in _COUNTS, " or ".join(_COUNTS)),
            "target": (self.target in ("", "reasoning", "response"), "reasoning or response"),
            "values": (self.values in ("held-out", "published"), "held-out or published"),
            "paraphrase_share": (0 <= self.paraphrase_share <= 1, "between 0 and 1"),
            "plain_share": (0 <= self.plain_share <= 1, "between 0 and 1"),
        }
        for name, (holds, demand) in demands.items():
            if not holds:
                raise SynthesisError(f"{name} must be {demand}, not {getattr(self, name)!r}")
        if not self.counts:
            object.__setattr__(self, "counts", _COUNTS[self.style])
        for count in self.counts:
            id_combinations(self.style, count, self.constraints)
        if not self.target:
            object.__setattr__(self, "target", STYLES[self.style].target)

    @property
    def pool(self) -> Values:
        """The values that arguments are drawn from."""
        style = STYLES[self.style]
        published = style.published if self.values == "published" else None
        return published or style.held_out


@dataclass
class Tally:
    """What came out: rows, by number of constraints and by id, and what was left out."""

    rows: int = 0
    counts: Counter[int] = field(default_factory=Counter)
    ids: Counter[str] = field(default_factory=Counter)
    against_prompt: int = 0
    left_out: int = 0
    first_left_out: str = ""

    def add(self, row: Row) -> None:
        self.rows += 1
        self.counts[len(row.constraints)] += 1
        self.ids.update(constraint.id for constraint in row.constraints)
        self.against_prompt += any(problem.kind == "prompt" for problem in row_problems(row))

    def __str__(self) -> str:
        lines = [f"{number:>7}  {id}" for id, number in sorted(self.ids.items())]
        shares = (f"{number} with {count or 'no'}" for count, number in sorted(self.counts.items()))
        lines.append(f"{self.rows} rows: {', '.join(shares)} constraints")
        if against := self.against_prompt:
            lines.append(f"{against} rows work against their own prompt (capitals and \\boxed), as in MathIF")
        if self.left_out:
            lines.append(f"{self.left_out} problems left out, the first because {self.first_left_out}")
        return "\n".join(lines)


def make_rows(config: RowsConfig, tally: Tally | None = None) -> Iterator[Row]:
    """Yield rows, one per problem; a problem with which nothing can be asked is left out and counted.

    Raises:
        SynthesisError: see `load_problems`.
    """
    tally = Tally() if tally is None else tally
    problems = load_problems(
        config.problems,
        config.num_rows,
        config.seed,
        config.question_column,
        config.answer_column,
        config.answer_type,
    )
    plain = round(config.plain_share * config.num_rows)
    instructed = (config.counts[place % len(config.counts)] for place in range(config.num_rows - plain))
    counts = bytearray(plain) + bytes(instructed)  # one byte a row
    random.Random(f"counts-{config.seed}").shuffle(counts)
    for number, (problem, count) in enumerate(zip(problems, counts, strict=True)):
        try:
            row = _row(config, number, problem, count)
        except ConstraintError as error:
            tally.left_out += 1
            tally.first_left_out = tally.first_left_out or str(error)
            continue
        tally.add(row)
        if tally.rows % _REPORT == 0:
            print(f"rows: {tally.rows} of {config.num_rows}", file=sys.stderr)
        yield row


def _row(config: RowsConfig, number: int, problem: Problem, count: int) -> Row:
    item_id = f"{config.style}-{number:07d}"

    def draws(purpose: str) -> random.Random:
        return random.Random(f"{config.seed}/{item_id}/{purpose}")

    constraints: tuple[Constraint, ...] = ()
    if count:
        constraints = compose(
            count,
            draws("constraints"),
            style=config.style,
            target=config.target,
            values=config.pool,
            ids=config.constraints,
            question=problem.question,
            prompt=_prompt(config, problem.question, ()),
            answer=problem.answer,
        )
    wording = draws("wording")
    sentences = [_sentence(config, constraint, wording) for constraint in constraints]
    return Row(
        item_id=item_id,
        prompt=({"role": "user", "content": _prompt(config, problem.question, sentences)},),
        answer=problem.answer,
        answer_type=problem.answer_type,
        constraints=constraints,
        source=problem.source,
        rules=config.style,
    )


def _sentence(config: RowsConfig, constraint: Constraint, draws: random.Random) -> str:
    """The published sentence of the style, or a paraphrase."""
    wordings = constraint.instructions()
    published = wordings[0]
    if config.style == "mathif" and constraint.target == "response":
        published = description(constraint)
    paraphrases = [wording for wording in wordings if wording.strip() != published.strip()]
    return draws.choice(paraphrases) if draws.random() < config.paraphrase_share else published


def _prompt(config: RowsConfig, question: str, sentences: Iterable[str]) -> str:
    if config.style == "mathif":
        return mathif_prompt(question, tuple(sentences))
    return reasonif_prompt(question, " ".join(sentences) or None, config.target)


# ------------------------------------------------------------------------------------------------ files


def write_trl(rows: Iterable[Row], path: Path) -> int:
    """Write riftk's own row form as JSONL, which `datasets` and trl's trainers take as it is."""
    return write_jsonl(path, (row.to_dict() for row in rows))


def verl_record(row: Row, index: int, split: str = "train") -> dict[str, Any]:
    """A row in the form of verl's Parquet files; what riftk's reward needs stands in `extra_info`."""
    return {
        "data_source": row.source,
        "prompt": [dict(message) for message in row.prompt],
        "ability": "math" if row.answer_type in ("math", "number") else row.answer_type,
        "reward_model": {"style": "rule", "ground_truth": row.answer},
        "extra_info": {
            "index": index,
            "split": split,
            "item_id": row.item_id,
            "answer_type": row.answer_type,
            "constraints": json.dumps([c.to_dict() for c in row.constraints], ensure_ascii=False),
            "rules": row.rules,
            "question": row.user_text,  # verl gives its reward functions no prompt
        },
    }


def write_verl(rows: Iterable[Row], path: Path) -> int:
    """Write verl's Parquet columns, a batch of rows at a time; the file appears when it is complete."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ModuleNotFoundError as error:
        raise SynthesisError("Parquet needs pyarrow: pip install pyarrow") from error
    text = pa.string()
    columns: Mapping[str, Any] = {
        "data_source": text,
        "prompt": pa.list_(pa.struct({"role": text, "content": text})),
        "ability": text,
        "reward_model": pa.struct({"style": text, "ground_truth": text}),
        "extra_info": pa.struct(
            {"index": pa.int64()}
            | dict.fromkeys(("split", "item_id", "answer_type", "constraints", "rules", "question"), text)
        ),
    }
    schema = pa.schema(list(columns.items()))
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(path.name + ".part")
    records = (verl_record(row, index) for index, row in enumerate(rows))
    count = 0
    with pq.ParquetWriter(part, schema) as writer:
        while batch := list(islice(records, _BATCH)):
            writer.write_table(pa.Table.from_pylist(batch, schema))
            count += len(batch)
    part.replace(path)
    return count


def write_openrlhf(rows: Iterable[Row], path: Path) -> int:
    """Write JSONL for OpenRLHF: messages as `input`, and all that the reward needs as one text, `label`."""
    return write_jsonl(path, map(openrlhf_record, rows))


def openrlhf_record(row: Row) -> dict[str, Any]:
    """A row in the form of OpenRLHF's prompt data, where a label is all that a reward function is given."""
    fields = row.to_dict()
    prompt = fields.pop("prompt")
    return {"input": prompt, "label": json.dumps(fields, ensure_ascii=False)}


FORMATS: dict[str, tuple[str, Callable[[Iterable[Row], Path], int]]] = {
    "trl": (".jsonl", write_trl),
    "verl": (".parquet", write_verl),
    "openrlhf": (".jsonl", write_openrlhf),
}


def write_rows(config: RowsConfig, path: str | Path, format: str = "trl") -> Tally:
    """Make rows and write them to one file, streaming.

    Args:
        config: what to make.
        path: file to write; it appears when it is complete.
        format: "trl" (JSONL of rows), "verl" (Parquet) or "openrlhf" (JSONL).

    Raises:
        SynthesisError: unknown format, a file name of another format, bad problems, or not one row.
    """
    if format not in FORMATS:
        raise SynthesisError(f"format {format!r} is none of {', '.join(FORMATS)}")
    suffix, write = FORMATS[format]
    path = Path(path)
    if path.suffix != suffix:
        raise SynthesisError(f"rows for {format} are a {suffix} file, not {path.name!r}")
    tally = Tally()
    rows = make_rows(config, tally)
    first = next(rows, None)
    if first is None:
        raise SynthesisError(f"not one row could be made: {tally.first_left_out}")
    write(chain((first,), rows), path)
    return tally
