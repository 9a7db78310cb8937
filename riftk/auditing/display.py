"""Verdicts and audits for people: tables, and texts in which the offending places are marked."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from .audit import Judged

CONTEXT = 60  # characters shown on each side of a marked place
PLACES = 8  # marked places shown of a text
_ENDS = "⟦⟧"  # around a marked place where there are no colours
_MARK = "bold white on red"
_LONGEST_MARK = 240  # characters
_WIDTH_OF_A_FILE = 160  # columns where standard output is no terminal
_FLAWS = {
    "unsatisfiable": "that no text can follow",
    "prompt": "that their own prompt works against",
    "answer": "whose answer cannot be written",
    "disagreement": "whose prompt asks for something else than their arguments",
}
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")  # a text must not move the cursor

Span = tuple[int, int]


def console() -> Console:
    """Standard output, wide where it goes to a file."""
    wide = not sys.stdout.isatty() and "COLUMNS" not in os.environ
    return Console(width=_WIDTH_OF_A_FILE if wide else None, highlight=False)


def show_verdicts(judged: Sequence[Judged], out: Console) -> None:
    """A table of verdicts, and below it the texts of those that are not followed."""
    table = Table("constraint", "target", "rules", "followed", "score", "reason")
    for one in judged:
        followed = Text("yes", "green") if one.verdict.followed else Text("no", "red")
        cells = map(_plain, (one.constraint.id, one.constraint.target, one.rules))
        table.add_row(*cells, followed, f"{one.verdict.score:.2f}", _plain(one.verdict.reason))
    out.print(table)
    shown: set[tuple[str, tuple[Span, ...]]] = set()
    for one in judged:
        if one.verdict.spans and (one.text, one.verdict.spans) not in shown:
            shown.add((one.text, one.verdict.spans))
            out.print(Text(f"{one.constraint.id}, {one.rules}:", "bold"))
            out.print(marked(one.text, one.verdict.spans, ends=out.color_system is None))


def show_failure(where: str, one: Judged, out: Console) -> None:
    """One verdict of a file: the row, the reason and the text."""
    out.print(Text.assemble((where, "bold"), f": {one.constraint.id} ({one.constraint.target}, {one.rules})"))
    out.print(Text("  ").append_text(_plain(one.verdict.reason)))
    out.print(marked(one.text, one.verdict.spans, ends=out.color_system is None))
    out.print()


def marked(text: str, spans: Iterable[Span], ends: bool = False) -> Text:
    """The marked places of a text with what surrounds them, and … for what is left out.

    Args:
        text: what was judged.
        spans: (start, end) offsets of the offending places.
        ends: put ⟦ and ⟧ around them, where colours cannot show them.
    """
    readable = _CONTROL.sub("�", text)  # as long as the text, so that offsets hold
    merged = _merged(spans)
    if not merged:
        return _clipped(readable, 0, len(readable), 4 * CONTEXT, "")
    shown, result = merged[:PLACES], Text()
    windows = _merged(((s - CONTEXT, e + CONTEXT) for s, e in shown))
    opening, closing = _ENDS if ends else ("", "")
    for left, right in windows:
        left, right = max(left, 0), min(right, len(readable))
        result.append(" … " if left > 0 else "")
        at = left
        for start, end in shown:
            if left <= start and end <= right:
                result.append(readable[at:start]).append(opening)
                result.append_text(_clipped(readable, start, end, _LONGEST_MARK, _MARK)).append(closing)
                at = end
        result.append(readable[at:right])
    result.append(" …" if windows[-1][1] < len(readable) else "")
    if len(merged) > PLACES:
        result.append(f"\n({len(merged) - PLACES} more places)", "dim")
    return result


def show_audit(audit: Mapping[str, Any], out: Console) -> None:
    """The figures of `Audit.to_dict` as tables."""
    table = Table("target", "constraint", "rules", "n", "followed", "share", "95 % interval", "mean score")
    for cell in audit["constraints"]:
        share = cell["share"]
        table.add_row(
            cell["target"],
            cell["id"],
            cell["rules"],
            str(cell["n"]),
            str(cell["followed"]),
            _percent(share["value"]),
            f"{_percent(share['low'])} to {_percent(share['high'])}",
            f"{cell['mean_score']:.3f}",
        )
    out.print(table)
    for rules, share in audit["rows_followed"].items():
        broken = 1 - share["value"]
        out.print(
            f"{rules}: {_percent(broken)} of {share['n']} rows fail their own rules "
            f"(95 % interval {_percent(1 - share['high'])} to {_percent(1 - share['low'])})"
        )
    _show_reasons(audit["constraints"], out)
    _show_agreement(audit["agreement"], out)
    for flaw in audit["flaws"]:
        places = ", ".join(filter(None, flaw["first"]))
        out.print(_plain(f"{flaw['rows']} rows {_FLAWS[flaw['kind']]}: {flaw['reason']} (first: {places})"))
    counts = [f"{audit['rows']} rows", f"{audit['unconstrained']} without a constraint"]
    counts += [f"{audit['skipped']} skipped"]
    counts += [f"reasoning {status}: {n}" for status, n in audit["statuses"].items()]
    out.print(", ".join(counts))


def _show_reasons(cells: Sequence[Mapping[str, Any]], out: Console) -> None:
    table = Table("target", "constraint", "rules", "n", "why not")
    for cell in cells:
        for reason in cell["reasons"][:3]:
            names = (cell["target"], cell["id"], cell["rules"])
            table.add_row(*names, str(reason["n"]), _plain(reason["reason"]))
    if table.row_count:
        out.print(table)


def _show_agreement(pairs: Sequence[Mapping[str, Any]], out: Console) -> None:
    table = Table("target", "constraint", "rules", "n", "agree", "only the first follows", "only the second")
    for pair in pairs:
        counts = (str(pair[name]) for name in ("n", "agree", "only_first", "only_second"))
        table.add_row(pair["target"], pair["id"], " and ".join(pair["rules"]), *counts)
    if table.row_count:
        out.print(table)


def _plain(text: str) -> Text:
    return Text(_CONTROL.sub("�", text))


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _merged(spans: Iterable[Span]) -> list[Span]:
    """Spans in order, those that touch made one; empty ones left out."""
    merged: list[Span] = []
    for start, end in sorted(span for span in spans if span[0] < span[1]):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def _clipped(text: str, start: int, end: int, longest: int, style: str) -> Text:
    """A stretch of a text, its middle left out where it is long."""
    if end - start <= longest:
        return Text(text[start:end], style)
    half = longest // 2
    return Text.assemble((text[start : start + half], style), " … ", (text[end - half : end], style))
