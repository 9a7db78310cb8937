"""Engines generate text: `load_engine("transformers", model=...)`. Every one gives the same record.

>>> from riftk.engines import load_engine  # doctest: +SKIP
>>> engine = load_engine("transformers", model="pkg://riftk.tiny/weights/base")
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from riftk.engines.base import Engine, Generation, Request, Sampling

ENGINES = {"transformers": "riftk.engines.transformers:TransformersEngine"}

__all__ = ["ENGINES", "Engine", "Generation", "Request", "Sampling", "load_engine"]


def load_engine(kind: str = "transformers", *, model: str, **options: Any) -> Engine:
    """Open an engine on a model.

    Args:
        kind: one of `ENGINES`.
        model: a folder (a LoRA folder too), a hub id, or `pkg://package/path`.
        options: the engine's own, see its class.

    Raises:
        ValueError: unknown kind, or options that do not fit the model.
        FileNotFoundError: no such model.
    """
    if kind not in ENGINES:
        raise ValueError(f"unknown engine {kind!r}; there are: {', '.join(sorted(ENGINES))}")
    module, _, name = ENGINES[kind].partition(":")
    return getattr(import_module(module), name)(model, **options)
