"""Reward for verl, by `pkg://riftk.rewards.verl` or by the path of this file.

    reward.custom_reward_function.path=pkg://riftk.rewards.verl
    +reward.custom_reward_function.reward_kwargs.think=prefilled

Rows are those of `riftk rows --format verl`: the gold answer in `reward_model.ground_truth`, `constraints`
(JSON) and `answer_type` in `extra_info`. `reward_kwargs` are the fields of `riftk.rewards.Scoring`; what is
not given there is read from the environment (`riftk.rewards.settings`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from riftk.rewards import score_many
from riftk.rewards.settings import read_scoring


def compute_score(
    data_source: Any,
    solution_str: Any,
    ground_truth: Any,
    extra_info: Mapping[str, Any] | None = None,
    *,
    reward_router_address: Any = None,
    reward_model_tokenizer: Any = None,
    **settings: Any,
) -> dict[str, float]:
    """Score one response: `score` is the reward, `acc` verl's name for correctness, the keys never change.

    Args:
        data_source, reward_router_address, reward_model_tokenizer: as verl passes them; not used.
        solution_str: the response, without its prompt.
        ground_truth: gold answer.
        extra_info: `constraints` and `answer_type`; `question` or `prompt`, where it has one, for the guards.
        settings: fields of `riftk.rewards.Scoring`.

    Raises:
        TypeError, ValueError: settings that make no sense. Nothing in a response or a row raises.
    """
    return compute_scores([data_source], [solution_str], [ground_truth], [extra_info], **settings)[0]


def compute_scores(
    data_sources: Sequence[Any],
    solution_strs: Sequence[Any],
    ground_truths: Sequence[Any],
    extra_infos: Sequence[Mapping[str, Any] | None],
    **settings: Any,
) -> list[dict[str, float]]:
    """Score a batch as verl's former reward manager `batch` hands it over; otherwise as `compute_score`."""
    rows = []
    for info, truth in zip(extra_infos, ground_truths, strict=True):
        info = info if isinstance(info, Mapping) else {}
        rows.append({"prompt": info.get("question"), **info, "answer": truth})
    found = score_many(solution_strs, rows, read_scoring(**settings))
    return [{**one.to_floats(), "acc": one.correct or 0.0} for one in found]
