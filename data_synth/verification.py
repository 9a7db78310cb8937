"""Verify a rewritten row with the checker that will judge the model trained on it."""

from __future__ import annotations

from riftk.completions import split_completion
from riftk.constraints import Constraint, Text, check
from riftk.grading import has_complete_answer_tag, strip_answer_tags

from .config import SynthConfig
from .errors import Rejected
from .sampling import check_answer, has_answer_tag
from .seeds import Seed

RULES = ("reasonif", "robust")


def verify(
    config: SynthConfig, seed: Seed, constraints: tuple[Constraint, ...], reasoning: str, response: str
) -> None:
    """Make sure that a row is what it claims to be.

    Trace and response have to follow their constraints under ReasonIF's published rules and under robust
    ones. The trace has to be free of answer tags and survive being written into a completion; the response
    has to be complete and, with a gold answer, correct.

    Raises:
        Rejected: with the reason.
    """
    texts = {"reasoning": Text(reasoning), "response": Text(strip_answer_tags(response))}
    for rules in RULES:
        for constraint in constraints:
            verdict = check(constraint, texts[constraint.target], rules)
            if not verdict.followed:
                raise Rejected(f"not followed under {rules} rules", f"{constraint.id}: {verdict.reason}")
    if has_answer_tag(reasoning):
        raise Rejected("answer tag in the trace")
    if not has_complete_answer_tag(response):
        raise Rejected("no complete answer tag", response[-80:])
    check_answer(config, seed, response)
    parts = split_completion(f"<think>\n{reasoning}\n</think>\n\n{response}", think="tags")
    if (parts.reasoning.strip(), parts.response.strip()) != (reasoning.strip(), response.strip()):
        raise Rejected("a marker of reasoning inside the text")
