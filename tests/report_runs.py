"""Run folders for tests of reports: real evaluations by an engine that says what a test gives it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import yaml
from scripted import ScriptedEngine, benchmark, says

from riftk.benchmarks import Benchmark
from riftk.engines import Generation, Sampling
from riftk.evaluation import evaluate

SAMPLING = Sampling(1.0, 0.95, 64, seed=3)
ITEMS = benchmark(plain=4, instructed=4)
KEEPS = says()
BREAKS = says("four, and five, make nine", "9")
WRONG = says("four and five make ten", "10")

Script = Callable[[str], str | Generation]


def before(item: str) -> str:
    """Follows in one of four, is wrong in one of four without an instruction."""
    if item[0] == "c":
        return KEEPS if item == "c0" else BREAKS
    return WRONG if item == "p0" else KEEPS


def after(item: str) -> str | Generation:
    """Follows in three of four, the other of which followed before; one is cut off."""
    if item == "p1":
        return Generation("<think>\nfour and five", "length", 5, 64)
    return BREAKS if item == "c0" else KEEPS


def make_evaluation(
    folder: Path, script: Script = after, items: Benchmark = ITEMS, model: str = "model"
) -> Path:
    """An evaluation folder."""
    evaluate(ScriptedEngine(script, model), items, folder, SAMPLING)
    return folder


def make_run(
    folder: Path, scripts: Mapping[str, Script] | None = None, items: Benchmark = ITEMS, **config: Any
) -> Path:
    """The folder of a run that trained: configuration, evaluations, a checkpoint's log, a final model."""
    for when, script in (scripts or {"before": before, "after": after}).items():
        make_evaluation(folder / "eval" / when, script, items, f"model-{when}")
    settings = {"model_name_or_path": "org/base", "loss_on": "both", "problems": "org/problems", "seed": 0}
    (folder / "config.yaml").write_text(yaml.safe_dump(settings | config))
    (folder / "final").mkdir()
    log = [{"step": step, "loss": 1 / step, "learning_rate": 1e-3} for step in (5, 10, 15)]
    state = folder / "checkpoints" / "checkpoint-15" / "trainer_state.json"
    state.parent.mkdir(parents=True)
    state.write_text(json.dumps({"global_step": 15, "log_history": log}))
    return folder
