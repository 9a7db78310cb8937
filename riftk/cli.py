"""The `riftk` command. Each subcommand imports what it needs, so that `riftk --help` is quick."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

app = typer.Typer(
    name="riftk",
    help="Measure, train and compare how well reasoning models obey instructions.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)
tiny_app = typer.Typer(help="The embedded tiny reasoning model.", no_args_is_help=True)
app.add_typer(tiny_app, name="tiny")

Model = Annotated[str, typer.Option(help="Folder (LoRA folders are merged), hub id, or pkg://package/path.")]
Out = Annotated[
    Path, typer.Option(help="Folder to write to; started again, the work goes on where it stopped.")
]
ChatTemplate = Annotated[str | None, typer.Option(help="Chat template file, instead of the tokenizer's own.")]
Temperature = Annotated[float, typer.Option(help="0 is greedy.")]
TopP = Annotated[float, typer.Option(help="Nucleus sampling.")]
MaxTokens = Annotated[int, typer.Option(help="Most tokens per completion.")]
Seed = Annotated[int, typer.Option(help="Seed of sampling and of every draw.")]
Revision = Annotated[str | None, typer.Option(help="Revision of a hub model.")]
TrustRemoteCode = Annotated[bool, typer.Option(help="Run code that comes with the model.")]
BatchSize = Annotated[int, typer.Option(help="Completions generated at once.")]


@app.command(epilog='Example: riftk check "No commas here." --constraint punctuation:no_comma')
def check(
    text: Annotated[
        str | None, typer.Argument(help="Text to judge; without it, JSONL on standard input.")
    ] = None,
    constraint: Annotated[
        list[str] | None, typer.Option(help='Constraint id, or {"id": …, "args": {…}}; may be repeated.')
    ] = None,
    rules: Annotated[str, typer.Option(help="Rulebooks, comma-separated: robust, reasonif, …")] = "robust",
    think: Annotated[
        str | None, typer.Option(help="How a `completion` marks its trace: tags, prefilled, channels, none.")
    ] = None,
) -> None:
    """Judge a text, or JSONL from standard input, with the reason for each verdict.

    Lines are objects with `text` (judged as it is) or `completion` (split first; each constraint's `target`
    says which part is judged) and, unless --constraint is given, `constraints`. The exit status is 1 when
    something is not followed.
    """
    from riftk.constraints import parse_constraint

    asked = [parse_constraint(_spec(value)) for value in constraint or []]
    books = rules.split(",")
    followed = True
    if text is not None:
        if not asked:
            raise ValueError("nothing to check; give at least one --constraint")
        verdicts = _judge({"text": text}, asked, books, think)
        _show(verdicts)
        followed = all(verdict["followed"] for verdict in verdicts)
    else:
        for number, line in enumerate(sys.stdin, 1):
            if not line.strip():
                continue
            try:
                record = _json_object(line)
                verdicts = _judge(record, asked or _constraints(record), books, think)
            except ValueError as error:
                raise ValueError(f"line {number}: {error}") from error
            followed = followed and all(verdict["followed"] for verdict in verdicts)
            print(json.dumps({**record, "verdicts": verdicts}, ensure_ascii=False))
    raise typer.Exit(0 if followed else 1)


@app.command(
    epilog="Example: riftk synth --model pkg://riftk.tiny/weights/base "
    "--problems riftk.tiny.problems:training_problems --answer-type number --num-rows 200 --out runs/data"
)
def synth(
    model: Model,
    problems: Annotated[str, typer.Option(help="JSONL, JSON or Parquet file, hub id, or module:function.")],
    out: Out,
    question_column: Annotated[str, typer.Option(help="Column of the problem.")] = "question",
    answer_column: Annotated[
        str, typer.Option(help="Column of the gold answer; '' where there is none.")
    ] = "answer",
    answer_type: Annotated[str, typer.Option(help="math, number, choice or label.")] = "math",
    num_rows: Annotated[int, typer.Option(help="Problems to make rows from.")] = 1000,
    constraints: Annotated[
        str, typer.Option(help="Constraint ids, comma-separated; none: all by rule.")
    ] = "",
    plain_share: Annotated[float, typer.Option(help="Share of rows without an instruction.")] = 0.1,
    response_share: Annotated[
        float, typer.Option(help="Share of rows about the response, kept where the model obeys already.")
    ] = 0.0,
    sample_with_instruction: Annotated[
        bool, typer.Option(help="Leave the instruction in while sampling (ReasonIF's way).")
    ] = False,
    require_correct: Annotated[bool, typer.Option(help="Drop traces with a wrong answer.")] = True,
    close_traces: Annotated[
        bool, typer.Option(help="Close a trace that the model stopped in, instead of dropping it.")
    ] = False,
    temperature: Temperature = 1.0,
    top_p: TopP = 0.95,
    max_tokens: MaxTokens = 8192,
    seed: Seed = 0,
    batch_size: BatchSize = 16,
    chat_template: ChatTemplate = None,
    revision: Revision = None,
    trust_remote_code: TrustRemoteCode = False,
) -> None:
    """Turn problems into instruction-compliant reasoning: sample, rewrite by rule, verify, keep."""
    from riftk.data_synth import SynthConfig, synthesize
    from riftk.engines import load_engine

    config = SynthConfig(
        problems=problems,
        question_column=question_column,
        answer_column=answer_column or None,
        answer_type=answer_type,
        num_rows=num_rows,
        constraints=tuple(filter(None, constraints.split(","))),
        plain_share=plain_share,
        response_share=response_share,
        sample_with_instruction=sample_with_instruction,
        require_correct=require_correct,
        close_traces=close_traces,
        temperature=temperature,
        top_p=top_p,
        max_tokens=max_tokens,
        seed=seed,
    )
    engine = load_engine(
        "transformers",
        model=model,
        batch_size=batch_size,
        chat_template=chat_template,
        revision=revision,
        trust_remote_code=trust_remote_code,
    )
    print(synthesize(config, engine, out))


@app.command(
    "eval",
    epilog="Example: riftk eval --model pkg://riftk.tiny/weights/base --benchmarks tiny --temperature 0 "
    "--max-tokens 160 --limit 100 --out runs/eval-tiny",
)
def evaluate(
    model: Model,
    benchmarks: Annotated[str, typer.Option(help="Comma-separated: tiny, reasonif.")],
    out: Out,
    split: Annotated[str, typer.Option(help="Items: test, or dev for choosing between settings.")] = "test",
    limit: Annotated[int | None, typer.Option(help="Items per benchmark, stratified.")] = None,
    data_dir: Annotated[
        Path | None, typer.Option(help="Folder with the benchmark's file; else the hub.")
    ] = None,
    temperature: Temperature = 1.0,
    top_p: TopP = 0.95,
    max_tokens: MaxTokens = 16384,
    seed: Seed = 0,
    batch_size: BatchSize = 16,
    chat_template: ChatTemplate = None,
    revision: Revision = None,
    trust_remote_code: TrustRemoteCode = False,
) -> None:
    """Run benchmarks on a model: published rules first, robust beside them, with intervals."""
    from riftk.benchmarks import load_benchmark
    from riftk.engines import load_engine
    from riftk.engines.base import Sampling
    from riftk.evaluation import evaluate as run

    chosen = [
        load_benchmark(name, split=split, limit=limit, data_dir=data_dir) for name in benchmarks.split(",")
    ]
    engine = load_engine(
        "transformers",
        model=model,
        batch_size=batch_size,
        chat_template=chat_template,
        revision=revision,
        trust_remote_code=trust_remote_code,
    )
    run(engine, chosen, out, Sampling(temperature, top_p, max_tokens, seed))


@app.command(epilog="Example: riftk report runs/rif-tiny")
def report(
    run: Annotated[Path, typer.Argument(help="Run folder of a recipe, with its eval/ folders.")],
) -> None:
    """Write results.json, report.md and its plots again from the evaluations in a run folder."""
    from riftk.report import write_report

    print(write_report(run))


@tiny_app.command("build", epilog="Example: riftk tiny build --out runs/tiny")
def tiny_build(out: Out, seed: Seed = 0) -> None:
    """Train the embedded model from nothing (minutes to an hour on two cores)."""
    from riftk.tiny.builder import build

    build(out, seed=seed)


def main() -> None:
    """Entry point. Options take dashes or underscores; a mistake is one sentence and exit status 2."""
    from riftk.runs import RunError, die_with_parent, is_child

    if is_child():
        die_with_parent()
    sys.argv[1:] = [_dashes(argument) for argument in sys.argv[1:]]
    try:
        app()
    except (ValueError, FileNotFoundError, RunError) as error:
        print(f"riftk: {error}", file=sys.stderr)
        sys.exit(2)


def _dashes(argument: str) -> str:
    if not argument.startswith("--"):
        return argument
    name, equals, value = argument.partition("=")
    return name.replace("_", "-") + equals + value


def _spec(value: str) -> dict[str, Any]:
    return _json_object(value) if value.lstrip().startswith("{") else {"id": value}


def _json_object(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"not JSON ({error})") from None
    if not isinstance(value, dict):
        raise ValueError(f"expected a JSON object, found {type(value).__name__}")
    return value


def _constraints(record: dict[str, Any]) -> list[Any]:
    from riftk.constraints import parse_constraint

    specs = record.get("constraints")
    try:
        specs = json.loads(specs) if isinstance(specs, str) else specs
    except json.JSONDecodeError as error:
        raise ValueError(f"column `constraints` is not JSON ({error})") from None
    if not isinstance(specs, list) or not specs:
        raise ValueError("no list of `constraints`, and no --constraint given")
    return [parse_constraint(spec) for spec in specs]


def _judge(record: dict, constraints: list, rules: list[str], think: str | None) -> list[dict[str, Any]]:
    from riftk.completions import split_completion
    from riftk.constraints import check as check_one
    from riftk.grading import strip_answer_tags

    if isinstance(record.get("text"), str):
        texts = dict.fromkeys(("reasoning", "response"), record["text"])
    elif isinstance(record.get("completion"), str):
        parts = split_completion(record["completion"], think=think)
        texts = {"reasoning": parts.reasoning, "response": strip_answer_tags(parts.response)}
    else:
        raise ValueError(f"no text in a column `text` or `completion`; found {', '.join(sorted(record))}")
    verdicts = []
    for constraint in constraints:
        for rulebook in rules:
            verdict = check_one(constraint, texts[constraint.target], rules=rulebook)
            verdicts.append(
                {
                    "id": constraint.id,
                    "target": constraint.target,
                    "rules": rulebook,
                    "followed": verdict.followed,
                    "score": round(verdict.score, 4),
                    "reason": verdict.reason,
                    "spans": verdict.spans,
                }
            )
    return verdicts


def _show(verdicts: list[dict[str, Any]]) -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    table = Table("constraint", "rules", "followed", "score", "reason")
    for verdict in verdicts:
        followed = "[green]yes[/]" if verdict["followed"] else "[red]no[/]"
        cells = (escape(verdict["id"]), escape(verdict["rules"]), followed, f"{verdict['score']:.2f}")
        table.add_row(*cells, escape(verdict["reason"]))
    Console().print(table)


if __name__ == "__main__":
    main()
