"""Starting recipes as a user does."""

from __future__ import annotations

import importlib
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from toy_tokenizers import trl_templates

from riftk.paths import resolve

RECIPES = Path(__file__).parent.parent / "recipes"
ENVIRONMENT = {"OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
# Arguments that every recipe must refuse, and what it says; `write_bad_models` makes the folders.
MISTAKES = [
    (["--eval_temperature", "-1"], "evaluation: temperature must be 0 (greedy) or more, not -1.0"),
    (["--eval_top_p", "0"], "evaluation: top_p must be above 0 and at most 1, not 0.0"),
    (["--max_new_tokens", "0"], "max_tokens must be at least 1, not 0"),
    (["--batch_size", "0"], "batch_size must be at least 1"),
    (["--engine_options", "tensor-parallel"], "engine_options takes name=value"),
    (["--benchmarks", "no_such_benchmark"], "no_such_benchmark"),
    (["--benchmarks", "mathif", "--data_dir", "nowhere"], "nowhere"),
    (["--eval_limit", "0"], "limit"),
    (["--checkpoint", "./no/checkpoint"], "./no/checkpoint does not exist"),
    (["--checkpoint", "no_weights"], "no_weights holds no .safetensors weights"),
    (["--model_name_or_path", "./no/such/model"], "./no/such/model does not exist"),
    (["--model_name_or_path", "no_weights"], "no_weights holds no .safetensors weights"),
    (["--model_name_or_path", "no_config"], "no_config is no model folder"),
    (["--model_name_or_path", "broken"], "the configuration of broken cannot be read"),
    (["--model_name_or_path", "no_template"], "chat template"),
    (["--chat_template_path", "nowhere.jinja"], "there is no file nowhere.jinja"),
]


def launch(*arguments: str | Path, cwd: Path, timeout: int = 400) -> subprocess.CompletedProcess[str]:
    """Run a recipe under `accelerate launch`."""
    command = [sys.executable, "-m", "accelerate.commands.launch", "--quiet", *map(str, arguments)]
    environment = {**os.environ, **ENVIRONMENT}
    return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=timeout)


def write_bad_models(folder: Path) -> None:
    """Write the model folders that `MISTAKES` names, and a chat template that holds no trace."""
    for name, spoiled in {
        "no_weights": "model.safetensors",
        "no_config": "config.json",
        "no_template": "chat_template.jinja",
        "broken": None,
    }.items():
        shutil.copytree(resolve("pkg://riftk.tiny/weights/base"), folder / name)
        if spoiled:
            (folder / name / spoiled).unlink()
    (folder / "broken" / "config.json").write_text("{")
    (folder / "no_trace.jinja").write_text(trl_templates()["deepseek_r1_distill"], encoding="utf-8")


def mistake(name: str, arguments: Sequence[str], cwd: Path, monkeypatch, capsys) -> str:
    """What a recipe says to these arguments, which it must refuse before it starts anything.

    It runs in this process, because importing trl takes longest; how a mistake ends the process is tested
    once for each recipe.
    """
    recipe = importlib.import_module(f"riftk.recipes.{name}")
    monkeypatch.setattr(recipe, "die_with_parent", lambda: None)
    monkeypatch.setattr(sys, "argv", [f"{name}.py", "--output_dir", "run", *arguments])
    monkeypatch.chdir(cwd)
    with pytest.raises((RuntimeError, ValueError, FileNotFoundError, SystemExit)) as raised:
        recipe.main()
    assert not (cwd / "run").exists()
    return f"{raised.value}\n{capsys.readouterr().err}"
