"""Synthesis: problems in, reasoning that follows its instructions out, verified by the checker that judges.

>>> from riftk.data_synth import SynthConfig
>>> SynthConfig("problems.jsonl", num_rows=100, constraints=("punctuation:no_comma",)).plain_share
0.1

`synthesize(config, engine, out_dir)` does the work; `riftk synth` is the command for it. Rows without traces,
for reinforcement learning, are made by `write_rows` and `riftk rows`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .config import SynthConfig
    from .errors import BudgetSpent, Rejected, SynthesisError
    from .export import export_dataset, to_prompt_completion
    from .merging import merge
    from .outputs import push_to_hub
    from .pipeline import SynthResult, synthesize
    from .preview import dry_run
    from .problems import Problem, load_problems
    from .registry import REWRITERS, Draw, Material, Place, Rewrite, rewriter
    from .row_files import RowsConfig, make_rows, write_rows
    from .seeds import make_seeds
    from .shards import Shard
    from .spending import Budget, Prices
    from .verification import verify
    from .yields import Yield, yield_table

_MODULES = {
    "SynthConfig": "config",
    "Rejected": "errors",
    "SynthesisError": "errors",
    "BudgetSpent": "errors",
    "dry_run": "preview",
    "export_dataset": "export",
    "to_prompt_completion": "export",
    "merge": "merging",
    "push_to_hub": "outputs",
    "SynthResult": "pipeline",
    "synthesize": "pipeline",
    "Problem": "problems",
    "load_problems": "problems",
    "REWRITERS": "registry",
    "Draw": "registry",
    "Material": "registry",
    "Place": "registry",
    "Rewrite": "registry",
    "rewriter": "registry",
    "RowsConfig": "row_files",
    "make_rows": "row_files",
    "write_rows": "row_files",
    "make_seeds": "seeds",
    "Shard": "shards",
    "Budget": "spending",
    "Prices": "spending",
    "verify": "verification",
    "Yield": "yields",
    "yield_table": "yields",
}
__all__ = [
    "REWRITERS",
    "Budget",
    "BudgetSpent",
    "Draw",
    "Material",
    "Place",
    "Prices",
    "Problem",
    "Rejected",
    "Rewrite",
    "RowsConfig",
    "Shard",
    "SynthConfig",
    "SynthResult",
    "SynthesisError",
    "Yield",
    "dry_run",
    "export_dataset",
    "load_problems",
    "make_rows",
    "make_seeds",
    "merge",
    "push_to_hub",
    "rewriter",
    "synthesize",
    "to_prompt_completion",
    "verify",
    "write_rows",
    "yield_table",
]


def __getattr__(name: str) -> Any:
    """Import a public name on first use: `import riftk.data_synth` alone costs nothing."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_MODULES[name]}", __name__), name)
