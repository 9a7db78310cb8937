"""Figures of evaluations for the trackers that a run reports to (trl's `report_to`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from riftk.report.comparison import headline


def tracked(results: Mapping[str, Any], when: str) -> dict[str, float]:
    """What a tracker is told of an evaluation: the figures that a report opens with, under every rulebook.

    Args:
        results: content of a `results.json`.
        when: "before", "after", or "dev" for development items.

    Returns:
        `eval_{when}/{task}/{metric}/{rules}` -> value; trackers show them under `eval/`.
    """
    told = {}
    for task, estimates in results["estimates"].items():
        for key in headline(estimates).values():
            metric = key.rpartition(",")[0]
            for rules in (*results["configs"][task]["rules"], "none"):
                if (found := estimates.get(f"{metric},{rules}")) and found["value"] is not None:
                    told[f"eval_{when}/{task}/{metric}/{rules}"] = float(found["value"])
    return told


def track(training: Any, step: int, figures: Mapping[str, float]) -> None:
    """Tell figures to every tracker that `report_to` names, through transformers' own integrations.

    They join the run that a trainer of this process has opened, or open it.

    Args:
        training: the trainer's configuration.
        step: optimizer steps that the evaluated model has taken.
        figures: see `tracked`.
    """
    from transformers import TrainerControl, TrainerState
    from transformers.integrations import get_reporting_integration_callbacks

    for tracker in get_reporting_integration_callbacks(training.report_to):
        state = TrainerState(global_step=step)
        tracker().on_log(training, state, TrainerControl(), logs=dict(figures), model=None)
