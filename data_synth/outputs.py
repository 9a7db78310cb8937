"""A dataset's other forms: Parquet, rows for finetuning by template family, rows without traces for RL."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from riftk.files import replacing
from riftk.rows import read_jsonl, write_jsonl

from .config import SynthConfig
from .errors import SynthesisError
from .families import FAMILIES

PARQUET = "dataset.parquet"
RL = "rl.jsonl"
_BATCH = 1000  # rows in memory at a time
_TRACE = ("reasoning", "response", "synth")


def write_outputs(config: SynthConfig, rows: Path, out: Path) -> None:
    """Write all forms of the rows of a JSONL file into a folder; each file appears when it is complete."""
    write_parquet(rows, out / PARQUET)
    write_jsonl(out / RL, map(rl_row, read_jsonl(rows)))
    for family in config.sft:
        made = (sft_row(family, row) for row in read_jsonl(rows))
        write_jsonl(out / "sft" / f"{family}.jsonl", made)


def rl_row(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row without its trace, as trl's GRPO and riftk's rewards take it (`riftk.rows.Row`)."""
    return {name: value for name, value in row.items() if name not in _TRACE}


def sft_row(family: str, row: Mapping[str, Any]) -> dict[str, Any]:
    """A row with its trace in the assistant's message of `completion`, as a family of templates keeps it."""
    message = FAMILIES[family](row["reasoning"], row["response"])
    return {**rl_row(row), "completion": [message], "synth": row["synth"]}


def write_parquet(rows: Path, path: Path) -> None:
    """Write the rows as Parquet, a batch at a time. Without pyarrow it is left out, and that is said.

    Arrow reads the JSON itself: from Python's lists it would make arrays with pandas imported, for a second.
    """
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
        from pyarrow.json import ParseOptions, ReadOptions, read_json
    except ModuleNotFoundError:
        print(f"synth: no {path.name}, which needs pyarrow (pip install pyarrow)", file=sys.stderr)
        return
    text, count = pa.string(), pa.int64()
    synth = dict.fromkeys(("model", "rewriter", "llm", "shape", "trace_sha256", "control"), text)
    synth |= {"llm_tries": count, "attempts": count, "instructions": pa.list_(count)}
    columns = dict.fromkeys(("item_id", "answer", "answer_type", "constraints", "source", "rules"), text)
    columns |= dict.fromkeys(("reasoning", "response"), text)
    columns |= {
        "prompt": pa.list_(pa.struct({"role": text, "content": text})),
        "synth": pa.struct(list(synth.items())),
    }
    schema = pa.schema(list(columns.items()))
    parse = ParseOptions(explicit_schema=schema, unexpected_field_behavior="error")
    with open(rows, "rb") as lines, replacing(path) as part, pq.ParquetWriter(part, schema) as writer:
        while batch := b"".join(islice(lines, _BATCH)):
            whole = ReadOptions(use_threads=False, block_size=len(batch))
            writer.write_table(read_json(pa.BufferReader(batch), whole, parse))


def push_to_hub(folder: Path, repository: str, private: bool = True) -> str:
    """Upload a finished dataset: card, JSONL, Parquet and the rows for other trainers.

    Args:
        folder: run folder of a finished synthesis, or of a merge.
        repository: "organisation/name" on the hub; made if it is missing.
        private: whether nobody else sees it.

    Returns:
        Where it is.

    Raises:
        SynthesisError: not finished, not logged in, or no network.
    """
    from huggingface_hub import HfApi
    from huggingface_hub.errors import HfHubHTTPError

    if not (folder / "dataset.jsonl").exists():
        raise SynthesisError(f"{folder} holds no finished dataset; let riftk synth finish first")
    patterns = ["README.md", "dataset.*", RL, "sft/*", "yields.json"]
    try:
        api = HfApi()
        api.create_repo(repository, repo_type="dataset", private=private, exist_ok=True)
        api.upload_folder(
            repo_id=repository, repo_type="dataset", folder_path=folder, allow_patterns=patterns
        )
    except (OSError, HfHubHTTPError, ValueError) as error:
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise SynthesisError(
            f"the dataset is in {folder}, but could not be pushed to {repository} ({reason}); log in with "
            "`hf auth login` and run the same command again"
        ) from error
    return f"https://huggingface.co/datasets/{repository}"
