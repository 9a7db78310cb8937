"""Starting recipes as a user does."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

RECIPES = Path(__file__).parent.parent / "recipes"
ENVIRONMENT = {"OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}


def launch(*arguments: str | Path, cwd: Path, timeout: int = 400) -> subprocess.CompletedProcess[str]:
    """Run a recipe under `accelerate launch`."""
    command = [sys.executable, "-m", "accelerate.commands.launch", "--quiet", *map(str, arguments)]
    environment = {**os.environ, **ENVIRONMENT}
    return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=timeout)


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
    assert not (cwd / "run" / "eval").exists()
    assert not (cwd / "run" / "data").exists()
    assert not (cwd / "run" / "checkpoints").exists()
    return f"{raised.value}\n{capsys.readouterr().err}"
