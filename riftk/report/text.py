"""Pieces of a report in Markdown, in which nothing that a model wrote takes effect."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

LENGTHS = ("reasoning_tokens,none", "reasoning_words,none", "completion_tokens,none")


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table; the first column is to the left, figures are to the right."""
    lines = ["| " + " | ".join(header) + " |", "|---|" + "--:|" * (len(header) - 1)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def fenced(text: str) -> str:
    """A text that a model wrote, where no HTML and no Markdown in it takes effect: the fence is longer than
    any run of backticks inside."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}text\n{text}\n{fence}"


def inline(text: str) -> str:
    """A text in a line or a table cell, with every character that Markdown or HTML could act on escaped."""
    text = re.sub(r"\s+", " ", text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"([\\`*_\[\]|~#])", r"\\\1", text)


def estimate_cell(estimate: Mapping[str, Any] | None, key: str) -> str:
    """A figure with its interval: a length, or a share in percent; empty where there is none."""
    if not estimate or estimate["value"] is None:
        return ""
    scale, unit = (1, "") if key in LENGTHS else (100, " %")
    value = f"{scale * estimate['value']:.1f}{unit}"
    if estimate["low"] is None:
        return value
    return f"{value} [{scale * estimate['low']:.1f}, {scale * estimate['high']:.1f}]"


def sizes_cell(figures: Iterable[Mapping[str, Any] | None]) -> str:
    """How many observations stand behind the figures of a row: one number where they agree."""
    return " / ".join(dict.fromkeys(str(one["n"]) for one in figures if one))


def difference_cell(gap: Mapping[str, Any] | None, key: str) -> str:
    """A difference with its interval, in the figure's own unit or in points."""
    if not gap or gap["value"] is None:
        return ""
    scale = 1 if key in LENGTHS else 100
    value = f"{scale * gap['value']:+.1f}"
    if gap["low"] is None:
        return value
    return f"{value} [{scale * gap['low']:+.1f}, {scale * gap['high']:+.1f}]"
