"""`riftk eval` and `riftk calibrate`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from riftk.commands.options import (
    MODEL,
    DataDir,
    DryRun,
    Limit,
    MaxErrorShare,
    MaxTokens,
    MaxTotalTokens,
    Model,
    Out,
    PriceIn,
    PriceOut,
    RetryErrors,
    Seed,
    Temperature,
    TopP,
    model_of_a_run,
)
from riftk.engine_options import OpenEngine


def evaluate(
    *,
    benchmarks: Annotated[
        str,
        typer.Option(
            help="Comma-separated, options behind colons: tiny; mathif[:constrained|:plain|:repeat|:wait=N]; "
            "reasonif[:reasoning|:response|:plain|:reflection|:explicit-tags]; "
            "iffr:set=SET[:decode=generate][:prompts=notebook]; ifeval; cotcontrol; maths, "
            "aime24, aime25, amc23, math500, minerva, olympiadbench, gsm8k; FILE.jsonl[:rules=mathif]."
        ),
    ] = "",
    out: Out,
    model: Annotated[str | None, typer.Option(help=MODEL, callback=model_of_a_run)] = None,
    from_samples: Annotated[
        Path | None,
        typer.Option(
            help="Score stored outputs instead of a model: samples_*.jsonl, or JSONL with an output and its "
            "item_id, prompt or index (or in the order of the items)."
        ),
    ] = None,
    limits: Annotated[
        str | None,
        typer.Option(help="ReasonIF's word limits: a folder of riftk calibrate, FILE:MODEL, or dataset."),
    ] = None,
    instructions: Annotated[
        str,
        typer.Option(
            help="How they are asked for: published, paraphrased, system (message), or none, which counts "
            "forms that come unasked. Also for one benchmark: tiny:instructions=none."
        ),
    ] = "published",
    split: Annotated[str, typer.Option(help="Items: test, or dev for choosing between settings.")] = "test",
    limit: Limit = None,
    data_dir: DataDir = None,
    samples: Annotated[int, typer.Option(help="Completions per item, for avg@n and pass@k.")] = 1,
    pass_at: Annotated[
        str, typer.Option(help="k of pass@k, comma-separated; none: powers of two up to --samples.")
    ] = "",
    temperature: Temperature = 1.0,
    top_p: TopP = 0.95,
    max_tokens: MaxTokens = 16384,
    seed: Seed = 0,
    max_total_tokens: MaxTotalTokens = None,
    max_error_share: MaxErrorShare = 0.05,
    retry_errors: RetryErrors = True,
    dry_run: DryRun = False,
    price_in: PriceIn = None,
    price_out: PriceOut = None,
    open_engine: OpenEngine,
) -> None:
    """Run benchmarks on a model: published rules first, robust beside them, with intervals."""
    from riftk.benchmarks import load_benchmark
    from riftk.benchmarks.limits import inherited_limits, read_limits
    from riftk.engines.base import Sampling
    from riftk.evaluation import TokensSpent, check_errors, overview, preview, score_stored
    from riftk.evaluation import evaluate as run

    if (model is None) == (from_samples is None):
        raise ValueError("give a --model, or --from-samples with outputs that are there already")
    at = tuple(int(k) for k in pass_at.split(",") if k)
    wanted = limits or (model and inherited_limits(model))
    word_limits = read_limits(wanted) if wanted else None
    chosen = [
        load_benchmark(
            name,
            split=split,
            limit=limit,
            data_dir=data_dir,
            limits=word_limits or wanted,
            instructions=instructions,
        )
        for name in filter(None, benchmarks.split(","))
    ]
    if from_samples is not None:
        think = open_engine.keywords["think"]
        results = score_stored(from_samples, chosen, out, think=think, pass_at=at)
        print(overview(results))
        return check_errors(results, max_error_share)
    if not chosen:
        raise ValueError("name --benchmarks, e.g. --benchmarks mathif,reasonif")
    sampling = Sampling(temperature, top_p, max_tokens, seed)
    with open_engine(model) as engine:
        if word_limits is not None:
            word_limits.check_effort(engine.describe())
        if dry_run:
            return print(
                preview(
                    engine,
                    chosen,
                    sampling,
                    samples_per_item=samples,
                    price_in=price_in,
                    price_out=price_out,
                )
            )
        try:
            results = run(
                engine,
                chosen,
                out,
                sampling,
                samples_per_item=samples,
                pass_at=at,
                max_total_tokens=max_total_tokens,
                retry_errors=retry_errors,
            )
        except TokensSpent as stop:
            return print(f"riftk: {stop}", file=sys.stderr)
    print(overview(results))
    check_errors(results, max_error_share)


def calibrate(
    *,
    model: Model,
    out: Out,
    benchmark: Annotated[
        str, typer.Option(help="Questions without instructions: reasonif:plain, or a JSONL file of rows.")
    ] = "reasonif:plain",
    data_dir: DataDir = None,
    limit: Limit = None,
    samples: Annotated[int, typer.Option(help="Completions per question.")] = 1,
    temperature: Temperature = 1.0,
    top_p: TopP = 0.95,
    max_tokens: MaxTokens = 16384,
    seed: Seed = 0,
    max_total_tokens: MaxTotalTokens = None,
    max_error_share: MaxErrorShare = 0.05,
    retry_errors: RetryErrors = True,
    open_engine: OpenEngine,
) -> None:
    """Measure ReasonIF's word limits for a model: the 20th percentile of its traces' words, by source.

    OUT/limits.json goes to `riftk eval --limits OUT`, for this model and for all that is trained from it. A
    reasoning effort (--extra-body, --chat-template-kwargs) needs limits of its own.
    """
    from riftk.benchmarks import load_benchmark
    from riftk.benchmarks.limits import FILE, base_of
    from riftk.engines.base import Sampling
    from riftk.evaluation import (
        TokensSpent,
        check_errors,
        limits_record,
        measure_limits,
        sample_files,
    )
    from riftk.evaluation import evaluate as run
    from riftk.rows import read_jsonl

    if found := base_of(model):
        raise ValueError(
            f"{model} was trained from {found[0]} and keeps its limits; calibrate that model instead, and "
            "give both evaluations the same --limits"
        )
    chosen = load_benchmark(benchmark, limit=limit, data_dir=data_dir)
    if any(row.constraints for row in chosen.rows):
        raise ValueError(f"{benchmark} has instructions; limits are measured on questions without any")
    with open_engine(model) as engine:
        try:
            results = run(
                engine,
                chosen,
                out,
                Sampling(temperature, top_p, max_tokens, seed),
                samples_per_item=samples,
                max_total_tokens=max_total_tokens,
                retry_errors=retry_errors,
            )
        except TokensSpent as stop:
            return print(f"riftk: {stop}", file=sys.stderr)
    check_errors(results, max_error_share)
    measured = measure_limits(read_jsonl(sample_files(out)[chosen.name]))
    text = json.dumps(limits_record(measured, results), ensure_ascii=False, indent=1)
    (out / FILE).write_text(text + "\n", encoding="utf-8")
    for source, one in measured.items():
        told = f"less than {one.limit} words [{one.low}, {one.high}]"
        print(f"{source}: {told}, n {one.n}, cut off {one.censored}")
    print(out / FILE)
