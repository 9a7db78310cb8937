"""`riftk report`: reports from run folders alone."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from riftk.commands.options import MaxCharacters, MaxSamples


def report(
    runs: Annotated[
        list[Path],
        typer.Argument(help="Run folders of recipes, or folders of riftk eval; several are compared."),
    ],
    out: Annotated[Path | None, typer.Option(help="Folder of the comparison of several runs.")] = None,
    side_by_side: Annotated[
        bool,
        typer.Option("--side-by-side", help="Show runs that cannot be compared too, without differences."),
    ] = False,
    max_samples: MaxSamples = 5_000,
    max_characters: MaxCharacters = 30_000_000,
) -> None:
    """Write report.md, report.html, report.csv and pictures again from stored samples.

    Of several runs the first is what the others are compared with. A run folder stands for its final model;
    name runs/NAME/eval/before for the model before training. Runs that did not answer the same items under
    the same limits and rules are refused.
    """
    from riftk.report import Limits, write_comparison, write_report

    limits = Limits(samples=max_samples, characters=max_characters)
    if len(runs) == 1:
        if out is not None or side_by_side:
            raise ValueError("--out and --side-by-side go with several runs; one run has its report in it")
        return print(write_report(runs[0], limits))
    if out is None:
        raise ValueError("several runs are compared in a folder of their own; name it with --out")
    print(write_comparison(runs, out, side_by_side=side_by_side, limits=limits))
