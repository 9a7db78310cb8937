"""Benchmarks: named sets of rows with the rulebook that judges them.

>>> from riftk.benchmarks import load_benchmark  # doctest: +SKIP
>>> load_benchmark("mathif:wait=2", limit=60, data_dir="data").rows[0].item_id
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

from riftk.benchmarks.base import Benchmark, Decoding, stratified, stratified_questions
from riftk.benchmarks.instructions import NONE, PUBLISHED, with_instructions
from riftk.benchmarks.limits import DATASET
from riftk.rows import read_rows

BENCHMARKS = {
    "iffr": "riftk.benchmarks.iffr:load",
    "mathif": "riftk.benchmarks.mathif:load",
    "reasonif": "riftk.benchmarks.reasonif:load",
    "tiny": "riftk.tiny.benchmark:load",
    "tiny-mathif": "riftk.tiny.benchmark:load_mathif",
    "tiny-iffr": "riftk.tiny.benchmark:load_iffr",
    "tiny-several": "riftk.tiny.benchmark:load_several",
    "tiny-cotcontrol": "riftk.tiny.benchmark:load_cotcontrol",
    "ifeval": "riftk.benchmarks.ifeval:load",
    "cotcontrol": "riftk.benchmarks.cotcontrol:load",
    "maths": "riftk.benchmarks.maths:load",
    **{
        name: f"riftk.benchmarks.maths:{name}"
        for name in ("aime24", "aime25", "amc23", "math500", "minerva", "olympiadbench", "gsm8k")
    },
}
UNSUPPORTED = {
    "followbench": "FollowBench is not supported: most of its answers are scored by a judge model, and riftk "
    "counts only what a program can check",
}

__all__ = [
    "BENCHMARKS",
    "Benchmark",
    "Decoding",
    "load_benchmark",
    "stratified",
    "stratified_questions",
    "takes_limits",
]


def load_benchmark(
    name: str,
    split: str = "test",
    limit: int | None = None,
    data_dir: str | Path | None = None,
    limits: Any = None,
    instructions: str = PUBLISHED,
    **options: Any,
) -> Benchmark:
    """Load a benchmark by name, or a file of rows.

    Options of a benchmark may follow its name: `mathif:repeat`, `mathif:wait=2`, `reasonif:response:plain`,
    `rows.jsonl:rules=mathif`, and for every benchmark `:instructions=none`. They are then part of the task's
    name ("mathif-wait-2", "tiny-instructions-none").

    Args:
        name: one of `BENCHMARKS`, `module:function` of one's own, or a JSONL file of rows.
        split: "test", or "dev" for choosing between settings.
        limit: number of items, drawn in proportion over kinds and sources; None takes all.
        data_dir: folder with the benchmark's file, instead of the hub; for benchmarks that read one.
        limits: word limits, for benchmarks whose limits depend on the model; see
            `riftk.benchmarks.limits.read_limits`.
        instructions: how instructions are asked for, where the name does not say it: one of
            `riftk.benchmarks.instructions.MODES`.
        options: of the benchmark, as those behind the name.

    Raises:
        ValueError: unknown name, split or option, a limit below one, or instructions that cannot be asked for
            in that way.
        FileNotFoundError: the data cannot be had; the message says what to do.
    """
    if limit is not None and limit < 1:
        raise ValueError(f"limit must be at least 1, not {limit}")
    base, said = _split_name(name)
    mode = said.pop("instructions", instructions)
    options |= said
    arguments: dict[str, Any] = {"split": split, "limit": limit, **options}
    load, accepted = _loader(base)
    if mode == NONE and limits is None:
        limits = DATASET  # they are asked for nowhere
    if data_dir is not None and "data_dir" in accepted:  # others make their items, or bring them along
        arguments["data_dir"] = data_dir
    if limits is not None and "limits" in accepted:
        arguments["limits"] = limits
    if base.endswith(".jsonl"):
        del arguments["split"]
    unknown = sorted(set(arguments) - set(accepted))
    if unknown:
        raise ValueError(f"benchmark {name!r} takes {', '.join(accepted)}; not {', '.join(unknown)}")
    loaded = with_instructions(load(**arguments), mode)
    parts = [
        part for part in name[len(base) + 1 :].split(":") if part and not part.startswith("instructions=")
    ]
    parts += [f"instructions={mode}"] * (mode != PUBLISHED)
    return replace(loaded, name="-".join([loaded.name, *(re.sub(r"[^\w.]+", "-", part) for part in parts)]))


def takes_limits(name: str) -> bool:
    """Whether a benchmark's word limits depend on the model."""
    base, said = _split_name(name)
    return said.get("instructions") != NONE and "limits" in _loader(base)[1]


def _split_name(name: str) -> tuple[str, dict[str, Any]]:
    """The benchmark's own name and the options behind it: `a:b=2:c-d` gives b = 2 and c_d = True."""
    parts = name.split(":")
    own = 1 if parts[0] in BENCHMARKS or parts[0].endswith(".jsonl") or len(parts) == 1 else 2
    options: dict[str, Any] = {}
    for part in parts[own:]:
        option, equals, value = part.partition("=")
        options[option.replace("-", "_")] = (int(value) if value.isdecimal() else value) if equals else True
    return ":".join(parts[:own]), options


def _loader(base: str) -> tuple[Callable[..., Benchmark], tuple[str, ...]]:
    """What loads a benchmark, and the arguments that it takes."""
    if base.endswith(".jsonl"):
        return lambda **options: _from_file(Path(base), **options), ("limit", "rules")
    module, colon, function = BENCHMARKS.get(base, base).partition(":")
    if base in UNSUPPORTED:
        raise ValueError(UNSUPPORTED[base])
    if not colon:
        known = ", ".join(sorted(BENCHMARKS))
        raise ValueError(f"unknown benchmark {base!r}; there are: {known}, and any JSONL file of rows")
    try:
        load = getattr(import_module(module), function)
    except (ModuleNotFoundError, AttributeError) as error:
        raise ValueError(f"benchmark {base!r}: {error}") from error
    return load, tuple(inspect.signature(load).parameters)


def _from_file(path: Path, limit: int | None, rules: str = "robust") -> Benchmark:
    if not path.is_file():
        raise FileNotFoundError(f"{path} does not exist; give a JSONL file of rows")
    rows = read_rows(path)
    return Benchmark(path.stem, stratified(rows, limit), rules, details={"file": path.name})
