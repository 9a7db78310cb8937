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


def reasonif_explicit_prompt(question: str, instruction: str) -> str:
    """User message of ReasonIF's sensitivity analysis (Appendix C.2), which defines the trace by its tags.

    *Reconstructed*: the paper says what it does and does not print it.
    """
    return (
        f"{ANSWER_TAGS} Your reasoning is everything between the tags `<think>` and `</think>`. Format the "
        f"text between these two tags according to the following rule: **{instruction}**"
        f"\n\nHere is the question:\n\n{question}"
    )


def reasonif_reflection(previous_reasoning: str) -> str:
    """User message of ReasonIF's second turn (section 4, RQ3), behind the first prompt and response.

    The first sentence is the paper's, as is that the previous reasoning is quoted; the rest is
    *reconstructed*, because the paper does not print it.

    Args:
        previous_reasoning: the trace that did not follow.
    """
    return (
        "Your previous output in the reasoning trace did not follow the instructions. This was your "
        f"reasoning:\n\n{previous_reasoning}\n\nRespond to the original question again, and this time "
        "follow its rule in your reasoning."
    )


def mathif_prompt(question: str, instructions: Sequence[str] = ()) -> str:
    """User message of MathIF: no blank before its own sentence, and none before the instructions (its code).

    Args:
        question: problem statement.
        instructions: sentences that ask for the constraints, in order.
    """
    return f"{question}{MATHIF_BASE_INSTRUCTION}{' '.join(instructions)}"


def maths_prompt(question: str) -> str:
    """User message of the maths suite: the sentence that reasoning models are published with.

    DeepSeek-R1's and Qwen3's model cards ask for it in evaluations of maths.
    """
    return f"{question}\nPlease reason step by step, and put your final answer within \\boxed{{}}."
