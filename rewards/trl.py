"""Rewards for trl's command line, which takes dotted names and no arguments.

    RIFTK_THINK=prefilled trl grpo --reward_funcs riftk.rewards.trl.gated_reward ...

Settings come from the environment (`riftk.rewards.settings`). In a script of your own, make the rewards of
`riftk.rewards` yourself: GRPO, RLOO and async GRPO call them as they are.
"""

from __future__ import annotations

from dataclasses import asdict

from riftk.rewards import CorrectnessReward, FormatReward, GatedReward, InstructionReward
from riftk.rewards.settings import read_scoring

_settings = asdict(read_scoring())

gated_reward = GatedReward(**_settings)
correctness_reward = CorrectnessReward(think=_settings["think"])
format_reward = FormatReward(think=_settings["think"])
instruction_reward = InstructionReward(
    **{name: value for name, value in _settings.items() if name != "formula"}
)
