"""MathIF: 420 problems with one, two or three constraints on the response (arXiv 2505.14810).

Every problem is asked in two forms: with its constraints, and plain, which is what the cost of following is
measured against (Table 3, "w/o const."). Both prompts are the published ones, byte for byte.

    mathif              both forms
    mathif:constrained  only with constraints
    mathif:plain        only without
    mathif:repeat       the constraints again at the end of the trace (Table 6), constrained items
    mathif:wait=N       "Wait" in the place of the trace's end, N times (Figure 7), constrained items

Four rows ask for what no text can do (repeat a request that has commas, use no comma), which is why HAcc and
SAcc cannot be above 99.05 % and 99.52 %; `Benchmark.ceilings` says so in every result.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from riftk.benchmarks import Benchmark, stratified_questions
from riftk.benchmarks.data import check_columns, check_hub, fingerprint, from_folder, from_hub
from riftk.constraints import ConstraintError
from riftk.constraints.published.mathif import description
from riftk.prompts import mathif_prompt
from riftk.rows import Row, RowError, collect_rows, paired_constraints, read_jsonl

DATASET = "TingchenFu/MathIF"
FILES = ("mathif.jsonl",)
PARTS = tuple(
    f"{source}_{number}.jsonl"
    for source in ("gsm8k", "math500", "minerva", "olympiad", "aime")
    for number in ("single", "double", "triple")
)
PUBLISHED_SHA = "ad1370cfb478d7b4fef9ca2ee765199a6f2bbf913001e6f869264ee30dc5adc8"
# sha256 of all user messages, joined by "\x1e", in the order of `PARTS`.
PROMPTS_SHA = {
    "constrained": "2c4923de11f0f775e83fedf3b58b43110068ebb5a44a2b8b7638c44f3c5a4f63",
    "plain": "7e4c01e2f39921263535fe60f4bab93e43a98d3b5656e7de6911858c37e41706",
}
_COLUMNS = ("source", "id", "question", "answer", "constraint_desc", "constraint_name", "constraint_args")

# The last part of a source's name in the file, and what the paper calls it.
_SOURCES = {
    "gsm8k": "gsm8k",
    "MATH-500": "math500",
    "simplerl-minerva-math": "minerva",
    "simplerl-OlympiadBench": "olympiad",
    "aime": "aime",
}
_NUMBERS = ("gsm8k", "aime")  # sources whose answers are all numbers


def load(
    split: str = "test",
    limit: int | None = None,
    data_dir: str | Path | None = None,
    constrained: bool = False,
    plain: bool = False,
    repeat: bool = False,
    wait: int = 0,
    revision: str | None = None,
) -> Benchmark:
    """Load MathIF's items.

    Args:
        split: "test"; there is no other.
        limit: number of rows, over both forms, in proportion over constraints and sources.
        data_dir: folder that holds `FILES` or all `PARTS`; None reads the hub.
        constrained, plain: which forms; neither chooses both, with `repeat` or `wait` the constrained one.
        repeat: repeat the constraints at the end of the trace.
        wait: how often the trace is prolonged by "Wait".
        revision: commit of the hub's data set; without one the content must be the published one.

    Raises:
        ValueError: unknown split, a negative `wait`, or hub data that has changed.
        FileNotFoundError: no such files, or the hub cannot be read.
        RowError: a row that is not MathIF's.
    """
    if split != "test":
        raise ValueError(f"MathIF has a test split only, not {split!r}; choose settings on other items")
    if wait is True or not isinstance(wait, int) or wait < 0:
        raise ValueError(
            f"wait counts the times that the trace is prolonged, e.g. mathif:wait=2; not {wait!r}"
        )
    if not (constrained or plain):
        constrained, plain = True, not (repeat or wait)
    records, origin = _records(data_dir, revision)
    sha = fingerprint(records, _COLUMNS[:-1])
    if data_dir is None:
        check_hub(sha, PUBLISHED_SHA, origin, revision)
    rows = collect_rows(_numbered(records), _row, origin)
    questions = [
        [row for row, wanted in ((asked, constrained), (_plain(asked, record), plain)) if wanted]
        for asked, record in zip(rows, records, strict=True)
    ]
    details = {
        "dataset": origin,
        "data_sha": sha,
        "data": "as published" if sha == PUBLISHED_SHA else "not the published 420 rows",
        "prompts": "published",
    }
    if wait or repeat:
        details["prompts"] += (
            '; how "Wait" and the repeated constraints are joined is not printed: reconstructed'
        )
    chosen = stratified_questions(questions, limit)
    return Benchmark(
        "mathif", chosen, "mathif", details=details, waits=wait, repeat=repeat, sentence=description
    )


def prompts_sha(rows: list[Row]) -> str:
    """Hash of user messages in their order; see `PROMPTS_SHA`."""
    return sha256("\x1e".join(row.user_text for row in rows).encode()).hexdigest()


def _records(data_dir: str | Path | None, revision: str | None) -> tuple[list[dict[str, Any]], str]:
    if data_dir is not None:
        records, origin = from_folder(Path(data_dir), FILES, PARTS)
    else:
        advice = (
            f"offline, put {FILES[0]} or its {len(PARTS)} files ({PARTS[0]}, …) into a folder, and give the "
            "folder as --data-dir"
        )
        records, origin = from_hub(DATASET, PARTS, revision, advice)
    check_columns(records, _COLUMNS, origin)
    return records, origin


def _plain(asked: Row, record: Mapping[str, Any]) -> Row:
    """The same problem without its constraints."""
    content = mathif_prompt(record["question"])
    return replace(
        asked,
        item_id=f"{asked.item_id}-plain",
        prompt=({"role": "user", "content": content},),
        constraints=(),
    )


def _numbered(records: Iterable[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    return ({**record, "place": place} for place, record in enumerate(records))


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
    return collect_rows(_numbered(read_jsonl(path)), _row, path, skip_bad)


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
