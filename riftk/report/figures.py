"""Pictures: made on a canvas of their own, without a display, and saved as PNG and as SVG."""

from __future__ import annotations

from pathlib import Path
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


def save(figure: Any, path: Path) -> None:
    """Write a figure as PNG to `path` and as SVG beside it, the same bytes whenever it is made.

    The SVG holds its text as text: it can be read out, searched, and takes the colours of a page.
    """
    from matplotlib import rc_context

    figure.savefig(path, metadata={"Software": None})
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": path.stem}):
        figure.savefig(path.with_suffix(".svg"), metadata={"Date": None, "Creator": None})
