"""Instruction-following rewards, callable as trl reward functions.

    from riftk.rewards import CorrectnessReward, InstructionReward

    rewards = [CorrectnessReward(think="tags"), InstructionReward("reasoning", think="tags")]
    GRPOTrainer(..., reward_funcs=rewards)

Rows carry `constraints` (a JSON string, see `riftk.rows.Row`), `answer` and `answer_type`. Nothing here
imports torch or touches the network.
"""

from .functions import CorrectnessReward, FormatReward, GatedReward, InstructionReward

__all__ = ["CorrectnessReward", "FormatReward", "GatedReward", "InstructionReward"]
