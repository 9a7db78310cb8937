"""Which checkpoint of a run is its result: the curve over development items, and the rule.

The rule: the checkpoint with the highest score on development items, the earlier one of equals. The score is
accuracy, or joint (correct *and* followed), averaged over the benchmarks; test items are never looked at.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from riftk.evaluation import read_results

DEV = "dev"
SELECT_BY = ("accuracy", "joint", "last")


@dataclass(frozen=True)
class Point:
    """One checkpoint of a run on development items.

    Args:
        step: optimizer steps taken; 0 is the model before training.
        estimates: of each task, as in `results.json`: task -> key -> value with its interval.
    """

    step: int
    estimates: Mapping[str, Mapping[str, Mapping[str, Any]]]

    def score(self, by: str) -> float:
        """Mean over tasks of the accuracy, or of joint where a task has instructions (about the reasoning, or
        else the response)."""
        return sum(_score(estimates, by) for estimates in self.estimates.values()) / len(self.estimates)


def point_folder(run: Path, step: int) -> Path:
    """Where the evaluation of one checkpoint lies."""
    return run / "eval" / DEV / f"step-{step:06d}"


def read_curve(run: str | Path) -> list[Point]:
    """The finished evaluations on development items of a run folder, by step."""
    finished = sorted((Path(run) / "eval" / DEV).glob("step-*/results.json"))
    return [
        Point(int(path.parent.name.removeprefix("step-")), read_results(path.parent)["estimates"])
        for path in finished
    ]


def choose(curve: Sequence[Point], by: str) -> Point | None:
    """The point that the rule picks among trained checkpoints; None where there are none.

    Args:
        curve: points by step.
        by: "accuracy", "joint", or "last" for the last checkpoint whatever its score.
    """
    trained = [point for point in curve if point.step > 0]
    if not trained:
        return None
    return trained[-1] if by == "last" else max(trained, key=lambda point: (point.score(by), -point.step))


def _score(estimates: Mapping[str, Mapping[str, Any]], by: str) -> float:
    keys = ["accuracy,robust"]
    if by == "joint":
        keys = ["reasoning_joint,robust", "response_joint,robust", *keys]
    return next((estimates[key]["value"] for key in keys if key in estimates), 0.0)
