"""`riftk probe`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from riftk.commands.options import (
    DryRun,
    MaxErrorShare,
    MaxTotalTokens,
    Model,
    Out,
    PriceIn,
    PriceOut,
    RetryErrors,
    Seed,
    Temperature,
    TopP,
)
from riftk.engine_options import OpenEngine


def probe(
    evaluation: Annotated[
        Path, typer.Argument(help="Evaluation folder (of riftk eval; eval/before and eval/after of a run).")
    ],
    *,
    model: Model,
    out: Out,
    tasks: Annotated[str, typer.Option(help="Some of its tasks, comma-separated; none: all.")] = "",
    limit: Annotated[int | None, typer.Option(help="Samples per task, stratified.")] = None,
    temperature: Temperature = 0.0,
    top_p: TopP = 1.0,
    max_tokens: Annotated[int, typer.Option(help="Most tokens of an answer.")] = 1024,
    seed: Seed = 0,
    max_total_tokens: MaxTotalTokens = None,
    max_error_share: MaxErrorShare = 0.05,
    retry_errors: RetryErrors = True,
    dry_run: DryRun = False,
    price_in: PriceIn = None,
    price_out: PriceOut = None,
    open_engine: OpenEngine,
) -> None:
    """Cut or corrupt a model's own traces and see whether its answers change (Lanham et al., 2023).

    Each sample is answered again behind 0, 25, 50, 75 and 100 % of its trace, and behind the whole trace with
    one number changed, early or late. Probes of two models that answered the same items are compared by
    `riftk report`.
    """
    from riftk.engines.base import Sampling
    from riftk.evaluation import (
        TokensSpent,
        check_errors,
        check_that_traces_arrived,
        make_probe,
        overview,
        preview,
        sample_files,
    )
    from riftk.evaluation import evaluate as run
    from riftk.evaluation.configuration import read_config
    from riftk.evaluation.files import once
    from riftk.rows import read_jsonl

    config, files = read_config(evaluation), sample_files(evaluation)
    chosen = tuple(filter(None, tasks.split(","))) or tuple(files)
    if unknown := [task for task in chosen if task not in files]:
        raise ValueError(f"{evaluation} has no task {unknown[0]!r}; it has {', '.join(files)}")
    probes = []
    for task in chosen:
        samples = once(files[task], config["tasks"][task]["items"] * config["samples_per_item"])
        probes.append(make_probe(task, samples, config, limit, seed))
    sampling = Sampling(temperature, top_p, max_tokens, seed)
    with open_engine(model) as engine:
        if config["engine"].get("weights") != engine.describe().get("weights"):
            traces_of = config["engine"]["model"]
            print(f"riftk: {model} answers behind the traces of another model, {traces_of}", file=sys.stderr)
        if dry_run:
            return print(preview(engine, probes, sampling, price_in=price_in, price_out=price_out))
        try:
            results = run(
                engine,
                probes,
                out,
                sampling,
                max_total_tokens=max_total_tokens,
                retry_errors=retry_errors,
            )
        except TokensSpent as stop:
            return print(f"riftk: {stop}", file=sys.stderr)
    for path in sample_files(out).values():
        check_that_traces_arrived(read_jsonl(path))
    print(overview(results))
    check_errors(results, max_error_share)
