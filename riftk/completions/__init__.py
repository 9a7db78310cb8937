"""Completions: split what a model generated into reasoning and response, and put reasoning back for training.

`split_completion` reads a completion in any of the shapes in which one can arrive. `think_mode` says what a
tokenizer's chat template leads a model to write. `render_reasoning` finds, by trial with a sentinel, the
message form in which a template keeps a trace and supervises it.
"""

from __future__ import annotations

from riftk.completions.split import TAGS, THINK_MODES, Completion, response_start, split_completion
from riftk.completions.templates import (
    generation_prompt,
    opens_trace,
    render_reasoning,
    think_mode,
    turn_end_ids,
    turn_tail,
)

__all__ = [
    "TAGS",
    "THINK_MODES",
    "Completion",
    "generation_prompt",
    "opens_trace",
    "render_reasoning",
    "response_start",
    "split_completion",
    "think_mode",
    "turn_end_ids",
    "turn_tail",
]
