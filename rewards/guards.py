"""Guards: text that obeys without saying anything earns nothing.

Each guard is a small pure function from a `Sample` to a reason, or None where it finds nothing wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from riftk.constraints import Constraint
from riftk.judging import Output

from .tasks import Task


@dataclass(frozen=True)
class Sample:
    """A finished completion, and what was asked of it."""

    output: Output
    asked: tuple[Constraint, ...]
    task: Task
    prompt: Any = None


class Degenerate(NamedTuple):
    """The guard that calls a text degenerate, and why."""

    guard: str
    reason: str


GUARDS: dict[str, Callable[[Sample], str | None]] = {}


def find_degenerate(sample: Sample) -> Degenerate | None:
    """The first guard that calls a completion degenerate."""
    for name, guard in GUARDS.items():
        reason = guard(sample)
        if reason is not None:
            return Degenerate(name, reason)
    return None
