"""Commands of the documentation: whether today's programs take them, and running them as a reader would."""

from __future__ import annotations

import ast
import importlib
import os
import re
import shlex
import subprocess
import sys
from argparse import Namespace
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from docs_blocks import ROOT

# Programs of others, whose options are theirs to check.
OTHERS = {"cd", "git", "pip", "python3", "source", "uv", "vllm"}


def commands(code: str) -> list[tuple[dict[str, str], list[str]]]:
    """The commands of a block of bash: what each sets in the environment, and its words."""
    found = []
    for line in code.replace("\\\n", " ").splitlines():
        words = shlex.split(line, comments=True)
        while words:
            end = words.index("&&") if "&&" in words else len(words)
            words, rest = words[:end], words[end + 1 :]
            environment = {}
            words = words[1:] if words[:1] == ["export"] else words
            while words and re.match(r"[A-Z_]+=", words[0]):
                name, _, environment[name] = words.pop(0).partition("=")
            found.append((environment, words))
            words = rest
    return found


def riftk_parameters(arguments: Sequence[str]) -> tuple[str, dict[str, Any]]:
    """A command of riftk and its parameters, as the command line reads them; nothing is started."""
    from typer.main import get_command

    from riftk.cli import _dashes, app

    command, context = get_command(app), None
    names, rest = ["riftk"], [_dashes(argument) for argument in arguments]
    while True:
        context = command.make_context(names[-1], list(rest), parent=context)
        rest = [*context._protected_args, *context.args]
        if not hasattr(command, "resolve_command") or not rest:
            return " ".join(names[1:]), context.params
        name, command, rest = command.resolve_command(context, rest)
        names.append(name)


def launched(words: Sequence[str]) -> Namespace:
    """What `accelerate launch` or `torchrun` starts: its options, `training_script` and its arguments."""
    if words[0] == "accelerate":
        from accelerate.commands.launch import launch_command_parser

        assert words[1] == "launch"
        return launch_command_parser().parse_args(list(words[2:]))
    from torch.distributed.run import get_args_parser

    return get_args_parser().parse_args(list(words[1:]))


def check_recipe(script: str, arguments: Sequence[str]) -> None:
    """Raise unless the script is a recipe that takes the arguments."""
    assert (ROOT / script).is_file(), script
    importlib.import_module(f"riftk.recipes.{Path(script).stem}").parse([*arguments, "--dry_run"])


def check(words: Sequence[str]) -> None:
    """Raise unless the program takes the command, as far as that can be seen without starting it.

    The working directory must be the repository: configurations are read.
    """
    program, *arguments = words
    if program == "riftk":
        riftk_parameters(arguments)
    elif program in ("accelerate", "torchrun"):
        options = launched(words)
        if program == "accelerate" and options.config_file:
            assert (ROOT / options.config_file).is_file(), options.config_file
        if not getattr(options, "module", False):
            check_recipe(options.training_script, options.training_script_args)
        elif options.training_script == "riftk":
            riftk_parameters(options.training_script_args)
    elif program == "sbatch" or program.endswith(".sh"):
        scripts = [place for place, word in enumerate(words) if word.endswith((".sh", ".slurm", ".py"))]
        assert all((ROOT / words[place]).is_file() for place in scripts), words
        if words[scripts[-1]].endswith(".py"):
            check_recipe(words[scripts[-1]], words[scripts[-1] + 1 :])
    elif program == "python" and arguments[0] != "-m":
        assert (ROOT / arguments[0]).exists(), arguments[0]
    elif program == "make":
        targets = re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
        assert {word for word in arguments if "=" not in word} <= set(targets)
    elif program == "pip" or program == "uv":
        for extras in re.findall(r"\[([\w,]+)\]", " ".join(arguments)):
            known = (ROOT / "pyproject.toml").read_text().partition("[project.optional-dependencies]")[2]
            assert all(re.search(rf"^{extra} = \[", known, re.MULTILINE) for extra in extras.split(","))
    else:
        assert program in OTHERS | {"python", "trl"}, f"no test knows the program {program}"


def run(words: Sequence[str], more: Mapping[str, Sequence[str]], patch: pytest.MonkeyPatch) -> None:
    """Run a command in the working directory, in this process where that spares its imports.

    Args:
        words: the command.
        more: arguments that make it small, by the beginnings of commands.
        patch: undoes what is changed for it.
    """
    added = [argument for name, some in more.items() if " ".join(words).startswith(name) for argument in some]
    program, *arguments = [*words, *added]
    if program == "riftk":
        from riftk.cli import main

        patch.setattr(sys, "argv", ["riftk", *arguments])
        _finish(main, judges=arguments[0] == "check")
    elif program == "accelerate":
        options = launched([program, *arguments])
        recipe = importlib.import_module(f"riftk.recipes.{Path(options.training_script).stem}")
        patch.setattr(recipe, "die_with_parent", lambda: None)
        patch.setattr(sys, "argv", [options.training_script, *options.training_script_args])
        _finish(recipe.main)
    else:
        assert program == "python", f"{program} cannot be run: mark the block, `# needs ...`"
        environment = {**os.environ, "PYTHONPATH": os.getcwd()}
        done = subprocess.run([sys.executable, *arguments], env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr[-3000:]


def _finish(main: Any, judges: bool = False) -> None:
    """Call an entry point; exit status 1 of a command that judges says what it found."""
    try:
        main()
        code = 0
    except SystemExit as stop:
        code = stop.code or 0
    assert code == 0 or (judges and code == 1), f"exit status {code}"


def run_python(code: str, name: str, namespace: dict[str, Any]) -> None:
    """Run Python that a reader types; `expression  # value` has to be true for a literal."""
    lines = code.splitlines()
    for statement in ast.parse(code, name).body:
        if not isinstance(statement, ast.Expr):
            exec(compile(ast.Module([statement], []), name, "exec"), namespace)
            continue
        found = eval(compile(ast.Expression(statement.value), name, "eval"), namespace)
        said = lines[statement.end_lineno - 1][statement.end_col_offset :].strip().removeprefix("# ")
        said = said or (lines[statement.end_lineno :] or [""])[0].removeprefix("# ")
        for literal in (said, said.partition(": ")[0]):
            try:
                expected = ast.literal_eval(literal)
            except (SyntaxError, ValueError):
                continue
            assert found == expected, f"{name}: {ast.unparse(statement)} is {found!r}"
            break
