"""The ways in which synthesis says no: to a row, to a run, and for the time being."""

from __future__ import annotations

ENGINE_FAILED = "the engine failed"  # the reason of what is asked again by the next start


class Rejected(Exception):
    """A row that is dropped; the run goes on.

    Args:
        reason: short and the same for all rows of its kind ("comma inside code"): it is counted.
        detail: what it was in this row ("`f(a, b)`"); kept beside the row, not counted.
    """

    def __init__(self, reason: str, detail: str = ""):
        super().__init__(f"{reason}: {detail}" if detail else reason)
        self.reason = reason
        self.detail = detail


class SynthesisError(ValueError):
    """A run that cannot start or go on; the message is one sentence that says what to do."""


class BudgetSpent(Exception):
    """The run stops because its budget is spent; what was paid for is stored, and a higher one goes on."""
