"""What the trainer logged: read from a run folder, and drawn."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from riftk.report.figures import COLOURS, new_figure, plain, save, titled

Log = Sequence[Mapping[str, Any]]  # transformers' `log_history`

# A panel's title, and the keys that are drawn in it where the trainer logged them.
_PANELS: dict[str, tuple[str, ...]] = {
    "loss": ("loss",),
    "reward": ("reward",),
    "tokens of a completion": ("completions/mean_length",),
    "words of a trace": ("watch/trace_words",),
    "followed": ("watch/robust", "watch/published"),
    "groups alike": ("frac_reward_zero_std",),
    "entropy": ("entropy",),
    "token accuracy": ("mean_token_accuracy",),
    "gradient norm": ("grad_norm",),
    "KL": ("kl",),
    "learning rate": ("learning_rate",),
}
_ACROSS = 3


def training_log(run: Path) -> list[dict[str, Any]]:
    """The trainer's log: that at the end, or of the newest checkpoint; empty where there is none."""
    states = [
        json.loads(path.read_text(encoding="utf-8"))
        for path in (run / "checkpoints").rglob("trainer_state.json")
    ]
    logs = [state["log_history"] for state in states]
    return max(logs, key=len, default=[])


def plot_training(log: Log, path: Path) -> bool:
    """Draw what was logged at two steps or more to a PNG and an SVG. Returns False where nothing was."""
    panels = {title: _lines(log, keys) for title, keys in (_PANELS | _rewards(log)).items()}
    panels = {title: lines for title, lines in panels.items() if lines}
    if not panels:
        return False
    down = -(-len(panels) // _ACROSS)
    figure = new_figure(9.6, 2.3 * down)
    axes = figure.subplots(down, _ACROSS, squeeze=False).ravel()
    for axis, (title, lines) in zip(axes, panels.items(), strict=False):
        for colour, (key, points) in zip(COLOURS, lines.items(), strict=False):
            axis.plot(*zip(*points, strict=True), color=colour, linewidth=1.4, label=_short(key))
        titled(axis, title)
        axis.tick_params(labelsize=8)
        plain(axis)
        if len(lines) > 1:
            axis.legend(frameon=False, fontsize=8)
    for axis in axes[len(panels) :]:
        axis.set_axis_off()
    figure.supxlabel("optimizer steps", fontsize=9)
    save(figure, path)
    return True


def _rewards(log: Log) -> dict[str, tuple[str, ...]]:
    """A panel for the rewards, where there are several."""
    keys = [key for key in log[-1] if key.startswith("rewards/") and key.endswith("/mean")]
    return {"reward": tuple(keys)} if len(keys) > 1 else {}


def _lines(log: Log, keys: Sequence[str]) -> dict[str, list[tuple[int, float]]]:
    lines = {
        key: [(entry["step"], entry[key]) for entry in log if isinstance(entry.get(key), int | float)]
        for key in keys
    }
    return {key: points for key, points in lines.items() if len(points) > 1}


def _short(key: str) -> str:
    return key.removeprefix("rewards/").removeprefix("watch/").removesuffix("/mean").replace("_", " ")
