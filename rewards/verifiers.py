"""Reward for verifiers and prime-rl: functions that a configuration plugs into any taskset.

    [env.taskset.task.rewards.gated]
    fn = "riftk.rewards.verifiers:gated"

    [env.taskset.task.metrics.parts]
    fn = "riftk.rewards.verifiers:parts"

The task's data carry `constraints` (JSON), `answer` and `answer_type`. Settings come from the environment
(`riftk.rewards.settings`), for such functions are given no arguments.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any

from riftk.rewards import Score, score
from riftk.rewards.settings import read_scoring
from riftk.rewards.tasks import COLUMNS

read_scoring()  # a mistake in the environment shows when the function is plugged in, not in every rollout


async def gated(task: Any, trace: Any) -> float:
    """The reward of a trace's last reply."""
    return (await asyncio.to_thread(_score, task, trace)).score or 0.0


async def parts(task: Any, trace: Any) -> dict[str, float]:
    """What the reward is made of, as metrics whose names never change."""
    return (await asyncio.to_thread(_score, task, trace)).to_floats()


def _score(task: Any, trace: Any) -> Score:
    reply = trace.last_reply
    said = (m for m in reversed(trace.assistant_messages) if str(m.content or "").strip() == reply)
    return score(
        reply,
        {name: getattr(task, name, None) for name in COLUMNS},
        read_scoring(),
        prompt=task.prompt_text,
        finish_reason="length" if trace.is_truncated else "stop",
        reasoning_content=getattr(next(said, None), "reasoning_content", None),
    )


async def rubric_reward(
    completion: Any, answer: Any = "", info: Any = None, prompt: Any = None, state: Any = None
) -> float:
    """The same for `vf.Rubric(funcs=[rubric_reward])` of verifiers before 0.4; constraints are in `info`."""
    info = json.loads(info) if isinstance(info, str) else info
    completion = [_plain(message) for message in completion] if isinstance(completion, list) else completion
    row = {**(info if isinstance(info, Mapping) else {}), "answer": answer}
    cut_off = isinstance(state, Mapping) and bool(state.get("is_truncated"))
    found = await asyncio.to_thread(
        score, completion, row, read_scoring(), prompt=prompt, finish_reason="length" if cut_off else "stop"
    )
    return found.score or 0.0


def _plain(message: Any) -> Any:
    """A message as a dict: some releases hand over objects of pydantic."""
    return message.model_dump() if hasattr(message, "model_dump") else message
