"""An evaluation that is killed at any moment and started again loses nothing and asks for nothing twice."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.parametrize(("turns", "least"), [(1, 15), (2, 25)])
def test_every_moment_of_an_evaluation_can_be_its_last(tmp_path, turns, least):
    command = [sys.executable, str(Path(__file__).parent / "every_moment.py"), str(tmp_path), str(turns)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout.split()[-1]) > least
