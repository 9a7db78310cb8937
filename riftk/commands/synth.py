"""`riftk synth`, `riftk synth merge` and `riftk synth distill`."""

from __future__ import annotations

import inspect
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import typer

from riftk.commands.options import MODEL, Model, Out, PriceIn, PriceOut, RetryErrors, model_of_a_run
from riftk.engine_options import OpenEngine, json_object, receiving, with_engine

# MathIF's setting (its section 4.1): QwQ-32B on DeepScaleR, traces of at most 8,192 tokens, the correct ones.
DISTILLATION = {
    "problems": "agentica-org/DeepScaleR-Preview-Dataset",
    "num_rows": 40_000,
    "plain_share": 1.0,
    "style": "mathif",
}


def _from_file(ctx: typer.Context, path: Path | None) -> Path | None:
    """Take the options of a YAML file for defaults; what stands on the command line goes before them."""
    if path is None:
        return None
    from riftk.training import read_config

    options = read_config(path)
    known = {parameter.name: parameter for parameter in ctx.command.params}
    if unknown := [name for name in options if name not in known or name == "config_file"]:
        raise ValueError(f"{path}: riftk {ctx.info_name} has no option {unknown[0]!r}")
    ctx.default_map = {
        name: _as_option(value, multiple=getattr(known[name], "multiple", False))
        for name, value in options.items()
    }
    return path


def _as_option(value: Any, multiple: bool) -> Any:
    """A value of a YAML file as it would be written on the command line."""
    if isinstance(value, dict):
        return json.dumps(value)
    if isinstance(value, list):
        return [str(part) for part in value] if multiple else ",".join(map(str, value))
    return [value] if multiple and isinstance(value, str) else value


ConfigFile = Annotated[
    Path | None,
    typer.Option(
        "--config",
        help="YAML file of options; the command line goes before it.",
        callback=_from_file,
        is_eager=True,
    ),
]
MaxTotalTokens = Annotated[
    int | None, typer.Option(help="Stop when the run has used so many tokens, prompts included.")
]
MaxCost = Annotated[float | None, typer.Option(help="Stop when the run has cost so much; needs prices.")]
DryRun = Annotated[bool, typer.Option(help="Show three rows at each stage and the likely cost; ask nothing.")]
ShardOption = Annotated[
    str, typer.Option(help="Part of a run, e.g. 2/8, for an array of jobs; see riftk synth merge.")
]
PushToHub = Annotated[str, typer.Option(help="Upload the dataset, privately, to this repository of the hub.")]


def with_settings(**defaults: Any) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Decorator: give a command an option for every setting of `SynthConfig`; it receives `make_config`.

    Args:
        defaults: other defaults than the configuration's own.
    """
    from riftk.data_synth import SynthConfig

    hints = get_type_hints(SynthConfig)
    fields = SynthConfig.__dataclass_fields__

    def option(name: str) -> inspect.Parameter:
        several = get_origin(hints[name]) is tuple
        default = defaults.get(name, fields[name].default)
        if several:
            shown = default if len(default) < 8 else ()
            default, kind = ",".join(map(str, shown)), str
        else:
            kind = str if hints[name] not in (bool, int, float) else hints[name]
        help = fields[name].metadata["help"]
        return inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            default="" if default is None else default,
            annotation=Annotated[kind, typer.Option(help=help[0].upper() + help[1:])],
        )

    def read(name: str, given: Any) -> Any:
        if get_origin(hints[name]) is not tuple:
            return given
        inner = get_args(hints[name])[0]
        parts = [part.strip() for part in given.split(",") if part.strip()]
        if not parts:
            return fields[name].default
        try:
            return tuple(inner(part) for part in parts)
        except ValueError:
            flag = "--" + name.replace("_", "-")
            raise ValueError(f"{flag} takes numbers, separated by commas, not {given!r}") from None

    def make_config(given: dict[str, Any]) -> SynthConfig:
        return SynthConfig(**{name: read(name, value) for name, value in given.items()})

    settings = [option(name) for name in fields]
    return lambda command: receiving(
        command, "make_config", settings, lambda given: partial(make_config, given)
    )


def with_llm(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of the LLM that rewrites; in their place it receives `open_llm`."""
    _, *taken = inspect.signature(_open_llm, eval_str=True).parameters.values()
    return receiving(command, "open_llm", taken, lambda given: partial(_open_llm, **given))


@contextmanager
def _open_llm(
    model: str,
    *,
    llm_engine: Annotated[
        str, typer.Option(help="openai (any compatible server), vllm, transformers.")
    ] = "openai",
    llm_base_url: Annotated[
        list[str] | None, typer.Option(help="Its server; several by commas, or by repeating it.")
    ] = None,
    llm_api_key_env: Annotated[
        str | None, typer.Option(help="Environment variable with its key (default: OPENAI_API_KEY).")
    ] = None,
    llm_batch_size: Annotated[int | None, typer.Option(help="Rewrites asked for at once.")] = None,
    llm_deadline: Annotated[float | None, typer.Option(help="Seconds for one try of a rewrite.")] = None,
    llm_retries: Annotated[int | None, typer.Option(help="Tries after a failed one.")] = None,
    llm_extra_body: Annotated[str | None, typer.Option(help="Further fields of a request, JSON.")] = None,
) -> Iterator[Any]:
    """Open the LLM that rewrites; none where no model is named."""
    from riftk.engines import load_engine

    if not model:
        yield None
        return
    options = {
        "base_url": [url for urls in llm_base_url or () for url in urls.split(",")],
        "api_key_env": llm_api_key_env,
        "batch_size": llm_batch_size,
        "deadline": llm_deadline,
        "retries": llm_retries,
        "extra_body": json_object("--llm-extra-body", llm_extra_body),
    }
    given = {name: value for name, value in options.items() if value not in (None, [])}
    opened = load_engine(llm_engine, model=model, **given)
    try:
        yield opened
    finally:
        opened.close()


def make(
    *,
    ctx: typer.Context,
    config_file: ConfigFile = None,
    model: Annotated[str, typer.Option(help=f"Samples the traces. {MODEL}", callback=model_of_a_run)] = "",
    out: Annotated[Path | None, typer.Option(help="Run folder; started again, the work goes on.")] = None,
    shard: ShardOption = "",
    dry_run: DryRun = False,
    cache: Annotated[
        Path | None, typer.Option(help="File with the rewriting LLM's answers, shared by runs.")
    ] = None,
    max_total_tokens: MaxTotalTokens = None,
    max_cost: MaxCost = None,
    price_in: PriceIn = None,
    price_out: PriceOut = None,
    llm_price_in: PriceIn = None,
    llm_price_out: PriceOut = None,
    retry_errors: RetryErrors = False,
    push_to_hub: PushToHub = "",
    make_config: Callable[[], Any],
    open_llm: Callable[[str], Any],
    open_engine: OpenEngine,
) -> None:
    """Turn problems into instruction-compliant reasoning: sample, rewrite by rule or LLM, verify, filter."""
    if ctx.invoked_subcommand is not None:
        return
    from riftk.data_synth import Budget, Prices

    if not model or out is None:
        raise ValueError("riftk synth needs --model and --out (or a --config FILE that names them)")
    budget = Budget(
        tokens=max_total_tokens,
        cost=max_cost,
        sampling=Prices(price_in or 0.0, price_out or 0.0),
        rewriting=Prices(llm_price_in or 0.0, llm_price_out or 0.0),
    )
    _run(
        make_config(), out, model, open_engine, open_llm,
        budget=budget, shard=shard, show_only=dry_run, cache=cache, retry_errors=retry_errors,
        push=push_to_hub,
    )  # fmt: skip


def distill(
    *,
    config_file: ConfigFile = None,
    model: Model,
    out: Out,
    shard: ShardOption = "",
    dry_run: DryRun = False,
    max_total_tokens: MaxTotalTokens = None,
    max_cost: MaxCost = None,
    price_in: PriceIn = None,
    price_out: PriceOut = None,
    retry_errors: RetryErrors = False,
    push_to_hub: PushToHub = "",
    make_config: Callable[[], Any],
    open_engine: OpenEngine,
) -> None:
    """Long traces of a teacher, kept where they are correct and end within --max-tokens (MathIF's SFT data).

    Filters, resuming, shards and the dataset are those of riftk synth.
    """
    from riftk.data_synth import Budget, Prices

    prices = Prices(price_in or 0.0, price_out or 0.0)
    _run(
        make_config(), out, model, open_engine, lambda name: _open_llm(""),
        budget=Budget(max_total_tokens, max_cost, prices), shard=shard, show_only=dry_run, cache=None,
        retry_errors=retry_errors, push=push_to_hub,
    )  # fmt: skip


def merge(
    shards: Annotated[list[Path], typer.Argument(help="Run folders of all shards, in any order.")],
    out: Out,
    push_to_hub: PushToHub = "",
) -> None:
    """Put the shards of a run together: the dataset that a single run would have made."""
    from riftk.data_synth import merge as merge_shards

    print(merge_shards(shards, out))
    _push(push_to_hub, out)


def _run(
    config: Any,
    out: Path,
    model: str,
    open_engine: OpenEngine,
    open_llm: Any,
    *,
    budget: Any,
    shard: str,
    show_only: bool,
    cache: Path | None,
    retry_errors: bool,
    push: str,
) -> None:
    from riftk.data_synth import BudgetSpent, Shard, synthesize
    from riftk.data_synth import dry_run as show

    part = Shard.parse(shard) if shard else Shard()
    with (
        open_engine(model) as engine,
        open_llm("" if show_only or not config.uses_llm else config.llm) as llm,
    ):
        if show_only:
            return print(show(config, engine, budget))
        if retry_errors or not (out / "dataset.jsonl").exists():
            engine.probe()
        try:
            result = synthesize(
                config,
                engine,
                out,
                llm=llm,
                shard=part,
                budget=budget,
                cache=cache,
                retry_errors=retry_errors,
            )
        except BudgetSpent as stop:
            return print(f"riftk: {stop}", file=sys.stderr)
    print(result)
    if result.dataset:
        _push(push, out)


def _push(repository: str, folder: Path) -> None:
    from riftk.data_synth import push_to_hub

    if repository:
        print(push_to_hub(folder, repository))


def add_to(app: typer.Typer) -> None:
    """Add the commands to the command line."""
    synth = typer.Typer(
        invoke_without_command=True,
        epilog="Example: riftk synth --model pkg://riftk.tiny/weights/base --problems "
        "riftk.tiny.problems:training_problems --answer-type number --num-rows 200 --out runs/data",
        callback=with_engine(with_llm(with_settings()(make))),
    )
    synth.command(
        epilog="Example: riftk synth distill --model pkg://riftk.tiny/weights/base --problems "
        "riftk.tiny.problems:training_problems --answer-type number --style reasonif --num-rows 100 "
        "--max-tokens 160 --out runs/distilled"
    )(with_engine(with_settings(**DISTILLATION)(distill)))
    synth.command(epilog="Example: riftk synth merge runs/part-1 runs/part-2 --out runs/data")(merge)
    app.add_typer(synth, name="synth")
