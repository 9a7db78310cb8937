"""Settings of adapters: arguments where a trainer passes them, else the environment."""

from __future__ import annotations

import os
from dataclasses import fields
from functools import lru_cache
from typing import Any

from riftk.constraints.published import RULEBOOKS
from riftk.rewards.core import Scoring

_SWITCH = {"1": True, "true": True, "0": False, "false": False}


def read_scoring(**given: Any) -> Scoring:
    """A `Scoring` from arguments; what is not given is read from `RIFTK_THINK`, `RIFTK_TARGET` and so on.

    Unlike that of `Scoring`, the default of `think` is "tags", which pays nothing for a completion without a
    closing marker, whoever wrote the opening one: most trainers hand over completions without their prompts.
    A model that does not reason needs "none", one whose decoder strips gpt-oss's channels "channels".

    Raises:
        TypeError: an argument that is no setting.
        ValueError: a value that makes no sense.
    """
    names = [field.name for field in fields(Scoring)]
    if unknown := sorted(given.keys() - names):
        raise TypeError(f"{', '.join(unknown)}: no setting of a reward; there are {', '.join(names)}")
    found = {"think": "tags"}
    for name in names:
        value = given.get(name)
        if value is None:
            value = os.environ.get(f"RIFTK_{name.upper()}") or None
        if value is not None:
            found[name] = value
    return _checked(**found)


@lru_cache
def _checked(**values: Any) -> Scoring:
    guards = values.get("guards", True)
    if isinstance(guards, str):
        if guards.lower() not in _SWITCH:
            raise ValueError(f"guards must be one of {', '.join(_SWITCH)}, not {guards!r}")
        values["guards"] = _SWITCH[guards.lower()]
    rules = values.get("rules", "both")
    if rules not in ("both", "robust", *RULEBOOKS):
        raise ValueError(f"rules must be one of both, robust, {', '.join(RULEBOOKS)}, not {rules!r}")
    return Scoring(**values)
