"""Rewards for reinforcement learning on instructions, callable as trl reward functions.

    from riftk.rewards import FormatReward, GatedReward

    rewards = [GatedReward(think="prefilled"), FormatReward(think="prefilled")]
    GRPOTrainer(..., reward_funcs=rewards)

Rows carry `constraints` (a JSON string, see `riftk.rows.Row`), `answer` and `answer_type`. For other
trainers, `score` judges one completion and `Score.to_floats` gives the result under a fixed set of keys.
Nothing here imports torch or touches the network.
"""

from .core import Score, Scoring, score, score_many
from .functions import CorrectnessReward, FormatReward, GatedReward, InstructionReward, LengthReward

__all__ = [
    "CorrectnessReward",
    "FormatReward",
    "GatedReward",
    "InstructionReward",
    "LengthReward",
    "Score",
    "Scoring",
    "score",
    "score_many",
]
