"""What a grading worker runs: the comparison of two answers with the symbolic engine at hand."""

from __future__ import annotations

from riftk.grading.expressions import same_answer
from riftk.grading.mathif import mathif_equal
from riftk.grading.symbolic import equivalent

_COMPARE = {"robust": same_answer, "mathif": mathif_equal}


def compare(rules: str, gold: str, candidate: str) -> bool:
    """Whether two answers are equal by the rules "robust" or "mathif".

    Raises:
        Exception: the first error of the symbolic engine, where the answers are not equal without what it
            could not compare. The worker reports it, and the grade gives it as its reason.
    """
    faults: list[Exception] = []

    def symbolic(a: str, b: str) -> bool:
        try:
            return equivalent(a, b)
        except Exception as fault:  # sympy raises errors of every kind; other parts may still be equal
            faults.append(fault)
            return False

    equal = _COMPARE[rules](gold, candidate, symbolic)
    if faults and not equal:
        raise faults[0]
    return equal
