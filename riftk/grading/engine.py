"""What a grading worker runs: the comparison of two answers with the symbolic engine at hand."""

from __future__ import annotations

from riftk.grading.expressions import same_answer
from riftk.grading.mathif import mathif_equal
from riftk.grading.symbolic import equivalent

_COMPARE = {"robust": same_answer, "mathif": mathif_equal}


def compare(rules: str, gold: str, candidate: str) -> bool:
    """Whether two answers are equal by the rules "robust" or "mathif"."""
    return _COMPARE[rules](gold, candidate, equivalent)
