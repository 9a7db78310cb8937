"""Benchmarks: named sets of rows with the rulebook that judges them.

>>> from riftk.benchmarks import load_benchmark  # doctest: +SKIP
>>> load_benchmark("reasonif", limit=60, data_dir="data").rows[0].item_id
"""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

from riftk.rows import Row, read_rows

BENCHMARKS = {
    "reasonif": "riftk.benchmarks.reasonif:load",
    "tiny": "riftk.tiny.benchmark:load",
}

__all__ = ["BENCHMARKS", "Benchmark", "load_benchmark", "stratified"]


@dataclass(frozen=True)
class Benchmark:
    """Items to evaluate and how they are judged.

    Args:
        name: task name in results and in `samples_<name>.jsonl`.
        rows: the items, ids unique.
        rules: the benchmark's published rulebook; "robust" where it has none.
        split: which items: "test" or "dev".
        version: raised when rows or prompts change.
        details: where the rows come from (data set, revision, checksum, limits), for the results.
    """

    name: str
    rows: tuple[Row, ...]
    rules: str = "robust"
    split: str = "test"
    version: str = "1"
    details: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if len({row.item_id for row in self.rows}) != len(self.rows):
            raise ValueError(f"benchmark {self.name}: item ids are not unique")
        if not self.rows:
            raise ValueError(f"benchmark {self.name} has no items")

    @property
    def rulebooks(self) -> tuple[str, ...]:
        """The rulebooks of a report: the published rules first, robust beside them."""
        return (self.rules,) if self.rules == "robust" else (self.rules, "robust")

    @property
    def items_sha(self) -> str:
        """Hash of the rows in their order: two runs with one hash answered the same questions under the
        same constraints and limits."""
        digest = hashlib.sha256()
        for row in self.rows:
            digest.update(json.dumps(row.to_dict(), sort_keys=True, ensure_ascii=False).encode())
        return digest.hexdigest()


def load_benchmark(
    name: str,
    split: str = "test",
    limit: int | None = None,
    data_dir: str | Path | None = None,
    **options: Any,
) -> Benchmark:
    """Load a benchmark by name, or a file of rows.

    Args:
        name: one of `BENCHMARKS`, `module:function` of one's own, or a JSONL file of rows.
        split: "test", or "dev" for choosing between settings.
        limit: number of items, drawn in proportion over kinds and sources; None takes all.
        data_dir: folder with the benchmark's file, instead of the hub; for benchmarks that read one.
        options: of the benchmark, e.g. `targets` and `plain` of ReasonIF.

    Raises:
        ValueError: unknown name, split or option, or a limit below one.
        FileNotFoundError: the data cannot be had; the message says what to do.
    """
    if limit is not None and limit < 1:
        raise ValueError(f"limit must be at least 1, not {limit}")
    if name.endswith(".jsonl"):
        return _from_file(Path(name), limit, **options)
    target = BENCHMARKS.get(name, name)
    module, colon, function = target.partition(":")
    if not colon:
        known = ", ".join(sorted(BENCHMARKS))
        raise ValueError(f"unknown benchmark {name!r}; there are: {known}, and any JSONL file of rows")
    try:
        load = getattr(import_module(module), function)
    except (ModuleNotFoundError, AttributeError) as error:
        raise ValueError(f"benchmark {name!r}: {error}") from error
    arguments = {"split": split, "limit": limit, **options}
    accepted = inspect.signature(load).parameters
    if data_dir is not None and "data_dir" in accepted:  # others make their items, or bring them along
        arguments["data_dir"] = data_dir
    unknown = sorted(set(arguments) - set(accepted))
    if unknown:
        raise ValueError(f"benchmark {name!r} takes {', '.join(accepted)}; not {', '.join(unknown)}")
    return load(**arguments)


def stratified(rows: Sequence[Row], limit: int | None) -> tuple[Row, ...]:
    """At most `limit` rows, in proportion over targets, constraint ids and sources; in the given order.

    A systematic sample: the rows are sorted by kind, and within a kind by a hash of their id (so that the
    order of the file does not matter), and taken at equal distances. The choice is the same every time.
    """
    if limit is None or limit >= len(rows):
        return tuple(rows)

    def kind(place: int) -> tuple[str, ...]:
        row = rows[place]
        asked = [f"{c.target} {c.id}" for c in row.constraints]
        return (*asked, "|", row.source, hashlib.sha256(row.item_id.encode()).hexdigest())

    order = sorted(range(len(rows)), key=kind)
    chosen = sorted(order[(2 * draw + 1) * len(rows) // (2 * limit)] for draw in range(limit))
    return tuple(rows[place] for place in chosen)


def _from_file(path: Path, limit: int | None, rules: str = "robust") -> Benchmark:
    if not path.is_file():
        raise FileNotFoundError(f"{path} does not exist; give a JSONL file of rows")
    rows = read_rows(path)
    return Benchmark(path.stem, stratified(rows, limit), rules, details={"file": path.name})
