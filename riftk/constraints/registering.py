"""Constraints of one's own, by the names of the modules that define them."""

from __future__ import annotations

import os
import sys
from importlib import import_module

VARIABLE = "RIFTK_REGISTER"


def register(spec: str) -> None:
    """Import a module that defines constraints; of `module:function` the function is called as well.

    A module in the working directory is found, whichever way Python was started.

    Raises:
        ValueError: no such module or function.
    """
    if "" not in sys.path:
        sys.path.append("")
    module, _, name = spec.partition(":")
    try:
        imported = import_module(module)
        function = getattr(imported, name) if name else None
    except (ModuleNotFoundError, AttributeError) as error:
        raise ValueError(f"{spec}: cannot be imported ({error})") from error
    if function is not None:
        function()


def register_named() -> None:
    """Register what the environment variable `RIFTK_REGISTER` names, separated by commas.

    Every process of a run has it: commands, recipes and the evaluations that they start, workers of trainers.

    Raises:
        ValueError: see `register`.
    """
    for spec in filter(None, map(str.strip, os.environ.get(VARIABLE, "").split(","))):
        try:
            register(spec)
        except ValueError as error:
            raise ValueError(f"{VARIABLE}: {error}") from error
