"""`report.csv`: every figure of every evaluation, one a line, for a spreadsheet or a data frame."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from typing import Any

_ESTIMATE = ("value", "low", "high", "stderr", "n")
_GAP = ("value", "low", "high", "gained", "lost", "p_value", "p_holm")
COLUMNS = (
    "evaluation",
    "model",
    "task",
    "metric",
    "rules",
    "runs",
    *_ESTIMATE,
    *(name if name in ("gained", "lost") or name[:2] == "p_" else f"difference_{name}" for name in _GAP),
)

Differences = Mapping[str, Mapping[str, Mapping[str, Any]]]  # task -> key -> difference


def render_csv(evaluations: Mapping[str, Mapping[str, Any]], differences: Mapping[str, Differences]) -> str:
    """The file's content.

    Args:
        evaluations: content of each `results.json`, by the evaluation's name; means over as many runs as
            their `runs` says.
        differences: from the first evaluation, by the name of the other one; those that are not compared have
            none.

    Returns:
        Shares are between 0 and 1, lengths as they are counted; what does not apply is empty.
    """
    text = io.StringIO()
    lines = csv.writer(text, lineterminator="\n")
    lines.writerow(COLUMNS)
    for name, results in evaluations.items():
        for task, estimates in results["estimates"].items():
            gaps = differences.get(name, {}).get(task, {})
            for key, estimate in estimates.items():
                metric, _, rules = key.rpartition(",")
                gap = gaps.get(key, {})
                figures = [estimate.get(column) for column in _ESTIMATE] + [
                    gap.get(column) for column in _GAP
                ]
                runs = results.get("runs", 1)
                lines.writerow([name, results["model_name"], task, metric, rules, runs, *figures])
    return text.getvalue()
