"""Pictures: made on a canvas of their own, without a display, and saved as PNG and as SVG."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from textwrap import wrap
from typing import Any

# Okabe and Ito's palette, told apart under all common kinds of colour blindness; the shapes differ as well.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00")
MARKERS = ("o", "D", "s", "^", "v", "P", "X")
GREY, LIGHT = "#666666", "#DDDDDD"


def new_figure(width: float, height: float) -> Any:
    """An empty matplotlib figure, in inches."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), dpi=150, layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def plain(axis: Any, grid: str = "both") -> None:
    """Light grid lines, and no frame above and to the right."""
    axis.grid(axis=grid, color=LIGHT, linewidth=0.6)
    axis.set_axisbelow(True)
    axis.spines[["top", "right"]].set_visible(False)


def error_bars(estimates: Sequence[Mapping[str, Any]]) -> list[list[float]]:
    """Lengths of error bars below and above, in per cent, shape (2, n); none where there is no interval."""
    known = [(one["value"], one["low"], one["high"]) for one in estimates]
    below = [0.0 if low is None else 100 * max(value - low, 0.0) for value, low, _ in known]
    above = [0.0 if high is None else 100 * max(high - value, 0.0) for value, _, high in known]
    return [below, above]


def draw_estimates(
    axis: Any,
    points: Sequence[tuple[float, Mapping[str, Any]]],
    number: int,
    *,
    label: str | None = None,
    line: str = "none",
    across: bool = False,
) -> None:
    """Shares in per cent with their intervals, in the colour and shape of a number.

    Args:
        axis: the panel.
        points: places on the other axis, and what stands there; none keeps the name in the legend.
        number: which colour and shape, from 0; behind the last the first comes again.
        label: name in the legend.
        line: style of the line that joins them.
        across: whether shares go along the horizontal axis.
    """
    places, estimates = [place for place, _ in points], [one for _, one in points]
    values, bars = [100 * one["value"] for one in estimates], error_bars(estimates)
    placed = {"x": values, "y": places, "xerr": bars} if across else {"x": places, "y": values, "yerr": bars}
    axis.errorbar(
        **placed, color=COLOURS[number % len(COLOURS)], marker=MARKERS[number % len(MARKERS)],
        linestyle=line, markersize=5, capsize=2, linewidth=1.2, label=label,
    )  # fmt: skip


def headed(figure: Any, text: str) -> None:
    """The title of a picture, in as many lines as its width needs."""
    wide = int(12 * figure.get_figwidth())
    figure.suptitle("\n".join(wrap(text, wide)), fontsize=11, parse_math=False)


def titled(axis: Any, text: str) -> None:
    """The title of a panel, in which a dollar sign is one."""
    axis.set_title(text, fontsize=10, parse_math=False)


def named_legend(figure: Any, axis: Any, place: str, columns: int = 1) -> None:
    """A legend beside the panels with each name of one of them once; none for a single name."""
    found = dict(zip(*reversed(axis.get_legend_handles_labels()), strict=True))
    if len(found) < 2:
        return
    legend = figure.legend(found.values(), found.keys(), loc=place, ncols=columns, frameon=False, fontsize=9)
    for text in legend.get_texts():
        text.set_parse_math(False)


def save(figure: Any, path: Path) -> None:
    """Write a figure as PNG to `path` and as SVG beside it, the same bytes whenever it is made.

    The SVG holds its text as text: it can be read out, searched, and takes the colours of a page.
    """
    from matplotlib import rc_context

    figure.savefig(path, metadata={"Software": None})
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": path.stem}):
        figure.savefig(path.with_suffix(".svg"), metadata={"Date": None, "Creator": None})
