"""Run folders for tests of reports: real evaluations by an engine that says what a test gives it."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml
from scripted import CAPITAL, COMMA, ScriptedEngine, benchmark, row, says

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
    folder: Path, script: Script = after, items: Benchmark | Sequence[Benchmark] = ITEMS, model: str = "model"
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


SOURCES = ("gsm8k", "minerva", "aime")


def forms(per_source: int = 6) -> Benchmark:
    """Questions of three sources, each without an instruction, with one about the reasoning, and with one or
    two about the response."""
    rows = []
    for source in SOURCES:
        for number in range(per_source):
            question = f"{source}{number}"
            about_response = [(CAPITAL, "response"), (COMMA, "response")][: 1 + number % 2]
            of_question = (
                row(f"{question}-plain"),
                row(f"{question}-reasoning", (COMMA, "reasoning")),
                row(f"{question}-response", *about_response),
            )
            rows += [replace(one, source=source) for one in of_question]
    return Benchmark("forms", tuple(rows), "reasonif")


def of_skill(skill: float) -> Script:
    """A model that solves, and follows, a share of the items that falls from source to source, and solves
    fewer where there is an instruction; traces are of different lengths."""

    def script(item: str) -> str:
        question, _, form = item.partition("-")
        chance = random.Random(item)
        able = skill - 0.2 * next(n for n, source in enumerate(SOURCES) if question.startswith(source))
        right = chance.random() < able * (1.0 if form == "plain" else 0.8)
        follows = chance.random() < able
        trace = " ".join(["nine"] * chance.randrange(5, 60))
        trace += "" if follows else ", so"
        answer = f"<answer>{'9' if right else '8'}</answer>"
        return f"<think>\n{trace}\n</think>\n\n{'IT IS' if follows else 'Well, it is'} {answer}"

    return script
