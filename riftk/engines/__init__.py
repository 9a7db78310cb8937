"""Engines generate text: `load_engine("transformers", model=...)`. Every one gives the same record.

>>> from riftk.engines import load_engine  # doctest: +SKIP
>>> engine = load_engine("transformers", model="pkg://riftk.tiny/weights/base")
"""

from __future__ import annotations

from importlib import import_module
from inspect import signature
from typing import Any

from riftk.engines.base import Engine, Generation, Request, Sampling
from riftk.engines.ranks import Ranks

ENGINES = {
    "transformers": "riftk.engines.transformers:TransformersEngine",
    "vllm": "riftk.engines.vllm:VLLMEngine",
    "openai": "riftk.engines.openai:OpenAIEngine",
}

__all__ = ["ENGINES", "Engine", "Generation", "Request", "Sampling", "load_engine"]


def load_engine(kind: str = "transformers", *, model: str, **options: Any) -> Engine:
    """Open an engine on a model. Nothing heavy happens before it is asked for text.

    Args:
        kind: one of `ENGINES`: "transformers" and "vllm" generate in this process, "openai" asks servers.
        model: a folder (a LoRA folder too), a hub id, or `pkg://package/path`; for "openai" the name under
            which the server serves it.
        options: the engine's own, see its class.

    Raises:
        ValueError: unknown kind, an option that it does not have, or one that does not fit the model.
        FileNotFoundError: no such model.
    """
    if kind not in ENGINES:
        raise ValueError(f"unknown engine {kind!r}; there are: {', '.join(sorted(ENGINES))}")
    module, _, name = ENGINES[kind].partition(":")
    engine = getattr(import_module(module), name)
    known = [name for name in signature(engine).parameters if name != "model"]
    if unknown := options.keys() - set(known):
        raise ValueError(
            f"the engine {kind} has no option {', '.join(sorted(unknown))}; it has: {', '.join(known)}"
        )
    if kind != "transformers" and (ranks := Ranks.from_environment()).size > 1:
        raise ValueError(
            f"the engine {kind} runs in one process and a launcher started {ranks.size}; start it without one"
            + (" and give data_parallel" if kind == "vllm" else "")
        )
    return engine(model, **options)
