"""Constraints of a reader's own: a module that `RIFTK_REGISTER` names is known in every process."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from riftk.constraints import register

RULE = """
from riftk.constraints import Constraint, broken, constraint, followed


@constraint("mine:no_digits")
class NoDigits(Constraint):
    wording = ("Your {text} must not contain a digit.",)

    def robust(self, text):
        found = any(map(str.isdigit, text.raw))
        return broken(0.0, "there is a digit") if found else followed("no digit")
"""
CHECK = "from riftk.constraints import check; print(check({'id': 'mine:no_digits'}, 'two and 3').reason)"


@pytest.fixture
def python(tmp_path):
    """Runs Python in a folder that holds `my_rules.py`."""
    (tmp_path / "my_rules.py").write_text(RULE)

    def run(*arguments: str, named: str = "my_rules") -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, *arguments], cwd=tmp_path, env={**os.environ, "RIFTK_REGISTER": named},
            capture_output=True, text=True,
        )  # fmt: skip

    return run


@pytest.mark.parametrize("first", ["", "import my_rules; "])
def test_a_named_module_is_registered_whoever_imports_it_first(python, first):
    done = python("-c", first + CHECK)
    assert done.stdout == "there is a digit\n", done.stderr


def test_the_command_finds_a_module_beside_its_data(python):
    # As a console script starts: without the working directory on the path.
    done = python("-P", "-m", "riftk", "check", "two and 3", "--constraint", "mine:no_digits")
    assert done.returncode == 1
    assert "there is a digit" in done.stdout


def test_a_module_that_is_not_there_is_one_sentence(python):
    done = python("-m", "riftk", "--help", named="my_rule")
    assert done.returncode == 2
    assert done.stderr == "riftk: RIFTK_REGISTER: my_rule: cannot be imported (No module named 'my_rule')\n"


def test_what_cannot_be_registered():
    with pytest.raises(ValueError, match="no_such_module"):
        register("no_such_module:function")
    with pytest.raises(ValueError, match="no_such_function"):
        register("riftk.constraints:no_such_function")
    register("riftk.constraints:list_constraints")
