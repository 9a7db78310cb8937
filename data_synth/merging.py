"""Shards of a run put together: their outcomes filtered against each other, and one dataset of them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from riftk.runs import FINISHED, open_run

from .config import SynthConfig
from .errors import SynthesisError
from .finishing import DATASET, finish_dataset
from .pipeline import SynthResult
from .shards import SHARD_DONE, Shard, Window, windows_of


def merge(shards: Sequence[str | Path], out: str | Path) -> SynthResult:
    """Make the dataset of all shards of a run. It is the one that a single run would have made.

    Args:
        shards: the shards' run folders, in any order; all of them, each finished.
        out: folder to write to.

    Raises:
        SynthesisError: a shard is missing, twice there or unfinished, or one is of another run.
        RunError: the folder belongs to another run.
    """
    folders = _sorted([Path(shard) for shard in shards])
    settings = _settings(folders[0])
    config = SynthConfig.from_dict(settings)
    run = open_run(out, {**settings, "shard": f"{len(folders)} merged"})
    assert run.lock is not None
    with run.lock:

        def windows() -> Iterator[Window]:
            parts = [
                windows_of(config, folder, Shard(number, len(folders)))
                for number, folder in enumerate(folders, 1)
            ]
            turn = 0
            while (window := next(parts[turn % len(parts)], None)) is not None:
                yield window
                turn += 1

        usage = _added([json.loads((folder / "usage.json").read_text()) for folder in folders])
        rows, yields = finish_dataset(config, windows, run.path, usage)
    return SynthResult(run.path / DATASET, rows, yields, usage=usage)


def _settings(folder: Path) -> dict[str, Any]:
    """The configuration of a shard. Raises `SynthesisError` where the folder is none, or not finished."""
    import yaml

    path = folder / "config.yaml"
    settings = yaml.safe_load(path.read_text(encoding="utf-8")) if path.is_file() else {}
    if "shard" not in settings:
        raise SynthesisError(f"{folder} is no shard of a run (riftk synth --shard 1/8 …)")
    if not (folder / f".{SHARD_DONE}.{FINISHED}").exists():
        raise SynthesisError(
            f"{folder} is not finished; run its riftk synth again, with --shard {settings['shard']}"
        )
    return settings


def _sorted(folders: Sequence[Path]) -> list[Path]:
    """The shards in their order. Raises `SynthesisError` unless each part of one run is there once."""
    if not folders:
        raise SynthesisError("name the folders of all shards")
    found: dict[int, Path] = {}
    common: dict[str, Any] | None = None
    for folder in folders:
        settings = _settings(folder)
        shard = Shard.parse(settings.pop("shard"))
        common = common or {**settings, "of": shard.of}
        if {**settings, "of": shard.of} != common:
            raise SynthesisError(f"{folder} was made with another configuration than {folders[0]}")
        if shard.number in found:
            raise SynthesisError(f"{folder} and {found[shard.number]} are both shard {shard}")
        found[shard.number] = folder
    of = common["of"] if common else 0
    if missing := sorted(set(range(1, of + 1)) - found.keys()):
        raise SynthesisError(f"of {of} shards these are missing: {', '.join(map(str, missing))}")
    return [found[number] for number in sorted(found)]


def _added(usages: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The usage of all shards together."""
    total: dict[str, Any] = {"cost": sum(usage["cost"] for usage in usages)}
    for role in ("sampling", "rewriting"):
        total[role] = {name: sum(usage[role][name] for usage in usages) for name in usages[0][role]}
    return total
