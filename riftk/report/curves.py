"""The way of a run: its checkpoints on development items, which one was taken, and the alarms."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from riftk.report.figures import COLOURS, GREY, MARKERS, new_figure, plain, save, titled
from riftk.rows import read_jsonl
from riftk.selection import choose, read_curve

# What a curve shows, by key: name and, in the picture, colour and marker.
FIGURES = {
    "accuracy,robust": ("Accuracy", COLOURS[0], MARKERS[0]),
    "reasoning_ifs,robust": ("Reasoning IFS", COLOURS[1], MARKERS[1]),
    "response_ifs,robust": ("Response IFS", COLOURS[2], MARKERS[2]),
    "reasoning_joint,robust": ("Reasoning joint", COLOURS[3], MARKERS[3]),
    "response_joint,robust": ("Response joint", COLOURS[4], MARKERS[4]),
    "reasoning_words,none": ("Words of the reasoning", None, None),
}


def collect_way(run: Path) -> dict[str, Any] | None:
    """Curve, chosen checkpoint and alarms of a run folder; None where a run left neither."""
    points, alarms = read_curve(run), run / "alarms.jsonl"
    sounded = list(read_jsonl(alarms)) if alarms.is_file() else []
    if not points and not sounded:
        return None
    by = _select_by(run)
    chosen = choose(points, by)
    curve = [
        {
            "step": point.step,
            "estimates": {
                task: {key: estimates[key] for key in FIGURES if key in estimates}
                for task, estimates in point.estimates.items()
            },
        }
        for point in points
    ]
    return {"select_by": by, "chosen": chosen and chosen.step, "curve": curve, "alarms": sounded}


def plot_way(way: Mapping[str, Any], task: str, path: Path) -> None:
    """Draw the curve of one task to a PNG and an SVG: shares by step, the chosen checkpoint marked."""
    figure = new_figure(7.0, 3.6)
    axis = figure.subplots()
    for key, (name, colour, marker) in FIGURES.items():
        found = [(p["step"], p["estimates"][task][key]) for p in way["curve"] if key in p["estimates"][task]]
        if colour is None or not found:
            continue
        steps = [step for step, _ in found]
        axis.plot(steps, [100 * e["value"] for _, e in found], color=colour, marker=marker, label=name)
        low = [100 * (e["value"] if e["low"] is None else e["low"]) for _, e in found]
        high = [100 * (e["value"] if e["high"] is None else e["high"]) for _, e in found]
        axis.fill_between(steps, low, high, color=colour, alpha=0.12, linewidth=0)
    if way["chosen"] is not None:
        axis.axvline(way["chosen"], color=GREY, linestyle="--", linewidth=1.0, label="taken")
    axis.set(ylim=(-3, 103), xlabel="optimizer steps", ylabel="% (95 % interval)")
    titled(axis, f"{task}: development items")
    plain(axis)
    figure.legend(loc="outside right center", frameon=False)
    save(figure, path)


def _select_by(run: Path) -> str:
    import yaml

    file = run / "config.yaml"
    config = yaml.safe_load(file.read_text(encoding="utf-8")) if file.is_file() else {}
    return config.get("select_by", "accuracy")
