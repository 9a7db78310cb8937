"""Prompt templates, each with its source."""

from __future__ import annotations

from collections.abc import Sequence

from riftk.constraints.wrapping import MATHIF_BASE_INSTRUCTION

ANSWER_TAGS = (
    "Think step-by-step, and place only your final answer inside the tags `<answer>` and `</answer>`."
)


def reasonif_prompt(question: str, instruction: str | None = None, target: str = "reasoning") -> str:
    """User message of ReasonIF.

    With an instruction on the reasoning this is the paper's main prompt, word for word (ReasonIF, Appendix
    B.1). Without one it is the prompt of the word-limit calibration, and for the response it is
    *reconstructed*: the paper describes these two and does not print them.

    Args:
        question: problem statement.
        instruction: sentence that asks for the constraint (`Constraint.instruction`); None asks for nothing.
        target: "reasoning" or "response", what the instruction is about.
    """
    if instruction is None:
        return f"{ANSWER_TAGS}\n\nHere is the question:\n\n{question}"
    subject = {"reasoning": "reasoning", "response": "response"}[target]
    return (
        f"{ANSWER_TAGS} Format your {subject} according to the following rule: **{instruction}**"
        f"\n\nHere is the question:\n\n{question}"
    )


def mathif_prompt(question: str, instructions: Sequence[str] = ()) -> str:
    """User message of MathIF: no blank before its own sentence, and none before the instructions (its code).

    Args:
        question: problem statement.
        instructions: sentences that ask for the constraints, in order.
    """
    return f"{question}{MATHIF_BASE_INSTRUCTION}{' '.join(instructions)}"
