"""Starting recipes as a user does."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ENVIRONMENT = {"OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}


def launch(*arguments: str | Path, cwd: Path, timeout: int = 400) -> subprocess.CompletedProcess[str]:
    """Run a recipe under `accelerate launch`."""
    command = [sys.executable, "-m", "accelerate.commands.launch", "--quiet", *map(str, arguments)]
    environment = {**os.environ, **ENVIRONMENT}
    return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=timeout)


def stops(recipe: Path, arguments: Sequence[str], sentence: str, cwd: Path) -> None:
    """A recipe given these arguments ends with one sentence and has started nothing."""
    finished = subprocess.run(
        [sys.executable, str(recipe), "--output_dir", "run", *arguments],
        cwd=cwd, env={**os.environ, **ENVIRONMENT}, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert finished.returncode != 0
    assert sentence in finished.stderr.strip().splitlines()[-1]
    assert not (cwd / "run" / "eval").exists()
    assert not (cwd / "run" / "data").exists()
