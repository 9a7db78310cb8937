"""IFFR in miniature: the same problem under three usual instructions and under three that want its double.

Prompts are IFFR's (its section 4.4 and Table 2, through `riftk.benchmarks.iffr_prompts`); unlike there the
model may think, because it cannot do two lines of arithmetic in its head.
"""

from __future__ import annotations

from riftk.benchmarks.iffr_prompts import paper_prompt

from .problems import LARGEST_RESULT, Problem, Step


def doubling(problem: Problem) -> Step:
    """The line of arithmetic that is asked for besides."""
    answer = int(problem.answer)
    return Step(answer, "+", answer)


def can_be_doubled(problem: Problem) -> bool:
    """Whether the double is a number that the model knows."""
    return doubling(problem).result <= LARGEST_RESULT


def prompt(problem: Problem, condition: str, variant: int) -> str:
    """User message; arguments as of `riftk.benchmarks.iffr_prompts.paper_prompt`."""
    return paper_prompt("maths", {"question": problem.question}, condition, variant)
