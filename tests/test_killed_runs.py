"""A recipe's run that is killed and started again ends as one that was left alone.

The whole process group is killed (`kill -9`), as a batch system or a lost machine does: once at a checkpoint
of the training and once within the last evaluation.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from launching import ENVIRONMENT, RECIPES
from safetensors.numpy import load_file

SILENT = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
SHARED = [
    "--eval_limit", "12", "--batch_size", "4", "--logging_steps", "1", "--output_dir", "run",
]  # fmt: skip
RUNS = {
    "rif": ["--num_rows", "24", "--max_steps", "6", "--save_steps", "2"],
    "sft": ["--num_rows", "24", "--max_steps", "6", "--save_steps", "2"],
    "cold_rl": [
        "--num_rows", "64", "--max_steps", "5", "--per_device_train_batch_size", "8",
        "--num_generations", "4", "--preflight_prompts", "12", "--rollout_steps", "1",
        "--eval_steps", "2", "--dev_limit", "6",
    ],
}  # fmt: skip


def start(recipe: str, cwd: Path, **streams: Any) -> subprocess.Popen[str]:
    """Start a recipe as the leader of a process group of its own."""
    command = [sys.executable, str(RECIPES / f"{recipe}.py"), *RUNS[recipe], *SHARED]
    environment = {**os.environ, **ENVIRONMENT}
    return subprocess.Popen(command, cwd=cwd, env=environment, text=True, start_new_session=True, **streams)


def finish(recipe: str, cwd: Path) -> None:
    """Run a recipe to its end."""
    process = start(recipe, cwd, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    said = process.communicate(timeout=3000)[1]
    assert process.returncode == 0, said[-3000:]


def kill_when(reached: Callable[[], bool], recipe: str, cwd: Path) -> None:
    """Start a recipe, and kill it and all that it started once `reached` holds."""
    process = start(recipe, cwd, **SILENT)
    while not reached():
        assert process.poll() is None, "it ended before it could be killed"
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def newest_state(run: Path) -> dict[str, Any]:
    """The trainer's state in the newest checkpoint."""
    states = run.glob("checkpoints/checkpoint-*/trainer_state.json")
    return json.loads(max(states, key=lambda path: int(path.parent.name.split("-")[1])).read_text())


def curve(run: Path) -> Iterator[tuple[int, float]]:
    """The loss at each step."""
    for entry in newest_state(run)["log_history"]:
        if "loss" in entry:
            yield entry["step"], entry["loss"]


def without_times(value: Any) -> Any:
    """Results without dates, the state of the checkout and the weights, which are compared by themselves."""
    left_out = ("date", "git_hash", "weights")
    if isinstance(value, dict):
        return {key: without_times(one) for key, one in value.items() if key not in left_out}
    return [without_times(one) for one in value] if isinstance(value, list) else value


def check_alike(recipe: str, run: Path, wanted: Path) -> None:
    """Compare two run folders: curve, weights, results."""
    assert dict(curve(run)) == pytest.approx(dict(curve(wanted)), abs=1e-4)
    weights, others = (load_file(folder / "final" / "model.safetensors") for folder in (run, wanted))
    assert weights.keys() == others.keys()
    assert max(abs(weights[name] - others[name]).max() for name in others) < 1e-4
    for name in ("results.json", "eval/before/results.json", "eval/after/results.json"):
        one, other = (json.loads((folder / name).read_text()) for folder in (run, wanted))
        assert without_times(one) == without_times(other)
    if recipe == "cold_rl":
        tables = [(folder / "rollouts.jsonl").read_text().splitlines() for folder in (run, wanted)]
        steps, others = ([json.loads(line)["step"] for line in table] for table in tables)
        assert steps == others


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("recipe", RUNS)
def test_a_run_that_is_killed_ends_as_one_that_is_left_alone(recipe, tmp_path):
    alone, killed = tmp_path / "alone", tmp_path / "killed"
    alone.mkdir()
    killed.mkdir()
    finish(recipe, alone)

    run = killed / "run"
    kill_when(lambda: any(run.glob("checkpoints/*/trainer_state.json")), recipe, killed)
    assert not (run / "final").exists()
    samples = run / "eval" / "after" / "samples_tiny.jsonl"
    kill_when(lambda: samples.is_file() and samples.stat().st_size > 0, recipe, killed)
    assert not (run / "eval" / "after" / "results.json").exists()
    finish(recipe, killed)
    check_alike(recipe, run, alone / "run")

    # As if it had been killed between its last checkpoint and its end: no step more is taken.
    for name in (".run.finished", ".train.finished", "results.json"):
        (run / name).unlink()
    for name in ("final", "eval/after"):
        shutil.rmtree(run / name)
    finish(recipe, killed)
    check_alike(recipe, run, alone / "run")
