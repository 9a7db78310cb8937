"""The `riftk` command. Each subcommand imports what it needs, so that `riftk --help` is quick."""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from riftk.commands import evaluation, synth
from riftk.commands.compare import compare
from riftk.commands.env import env
from riftk.commands.options import (
    ChatTemplate,
    Model,
    Out,
    Revision,
    Seed,
    TrustRemoteCode,
)
from riftk.commands.probe import probe
from riftk.commands.report import report
from riftk.engine_options import with_engine

if TYPE_CHECKING:
    from riftk.auditing import Judged

app = typer.Typer(
    name="riftk",
    help="Measure, train and compare how well reasoning models obey instructions.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)
tiny_app = typer.Typer(help="The embedded tiny reasoning model.", no_args_is_help=True)
app.add_typer(tiny_app, name="tiny")


@contextmanager
def _ending_quietly_with_the_reader() -> Iterator[None]:
    """Let `riftk check … | head` end as other tools do when nobody reads on. Afterwards a broken pipe is an
    error again: in a process that goes on, a server or client that hangs up must not end it."""
    if not hasattr(signal, "SIGPIPE"):
        yield
        return
    former = signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    try:
        yield
    finally:
        if sys.stdout is not None:  # closed
            sys.stdout.flush()
        signal.signal(signal.SIGPIPE, former)


@app.command(epilog='Example: riftk check "No commas here." --constraint punctuation:no_comma')
@_ending_quietly_with_the_reader()
def check(
    text: Annotated[
        str | None, typer.Argument(help="Text to judge; without it, --input or JSONL on standard input.")
    ] = None,
    constraint: Annotated[
        list[str] | None, typer.Option(help='Constraint id, or {"id": …, "args": {…}}; may be repeated.')
    ] = None,
    rules: Annotated[
        str, typer.Option(help="Rulebooks, comma-separated: robust, reasonif, mathif, …; both.")
    ] = "robust",
    think: Annotated[
        str | None, typer.Option(help="How a `completion` marks its trace: tags, prefilled, channels, none.")
    ] = None,
    target: Annotated[
        str | None, typer.Option(help="What constraints are about that do not say it: reasoning, response.")
    ] = None,
    input: Annotated[Path | None, typer.Option(help="JSONL or Parquet file to judge.")] = None,
    out: Annotated[Path | None, typer.Option(help="File for the rows with their verdicts (JSONL).")] = None,
    text_column: Annotated[str | None, typer.Option(help="Text that is judged as it is.")] = None,
    completion_column: Annotated[
        str | None, typer.Option(help="All that was generated: text or messages.")
    ] = None,
    reasoning_column: Annotated[str | None, typer.Option(help="Reasoning, already split off.")] = None,
    response_column: Annotated[str | None, typer.Option(help="Response, already split off.")] = None,
    constraints_column: Annotated[str | None, typer.Option(help="Constraints as riftk writes them.")] = None,
    finish_reason_column: Annotated[str | None, typer.Option(help="stop, length or error.")] = None,
    skip_bad_rows: Annotated[bool, typer.Option(help="Count and report bad rows, and go on.")] = False,
    show: Annotated[int, typer.Option(help="Print the first so many failures, marked in the text.")] = 0,
    summary: Annotated[bool, typer.Option(help="Print an audit of the whole file.")] = False,
    summary_json: Annotated[Path | None, typer.Option(help="File for the audit's figures.")] = None,
    register: Annotated[
        list[str] | None,
        typer.Option(help="Module with constraints of your own, or module:function; may be repeated."),
    ] = None,
) -> None:
    """Judge a text or a file, with the reason for each verdict. Exit status 1: something is not followed.

    Columns are recognised by their usual names (riftk's own rows and samples, MathIF, ReasonIF, IFEval,
    chat messages, …); the options name others. Rows with their verdicts go to --out, or else to standard
    output unless --show or --summary is asked for. "both" judges by the published rules of each row's
    benchmark and by the robust ones.
    """
    from riftk import auditing
    from riftk.constraints import Text, parse_constraint

    for module in register or []:
        auditing.register(module)
    books = auditing.known_rules(rules)
    aim = {} if target is None else {"target": target}
    asked = tuple(parse_constraint({**aim, **s}) for s in auditing.constraint_specs(constraint or []))
    if text is not None:
        if input or out or show or summary or summary_json:
            raise ValueError("--input, --out, --show and --summary go with a file, not with a text")
        if not asked:
            file = (
                " (a file is given as --input)" if Path(text[:255]).suffix in (".jsonl", ".parquet") else ""
            )
            raise ValueError(f"nothing to check; give at least one --constraint{file}")
        from riftk.auditing.display import console, show_verdicts

        judged = auditing.judge(auditing.Case(Text(text), asked), books)
        show_verdicts(judged, console())
        raise typer.Exit(0 if all(one.verdict.followed for one in judged) else 1)

    if input is None and (sys.stdin is None or sys.stdin.isatty()):  # None: closed
        raise ValueError("nothing to check; give a text, --input FILE, or JSONL on standard input")
    columns = auditing.Columns(
        text=text_column,
        completion=completion_column,
        reasoning=reasoning_column,
        response=response_column,
        constraints=constraints_column,
        finish_reason=finish_reason_column,
    )
    report = show or summary
    audit = auditing.check_file(
        input,
        auditing.Reader(columns, asked, target, think),
        books,
        out=out,
        to_stdout=not report and summary_json is None,
        failure=_first_failures(show) if show else None,
        skip_bad_rows=skip_bad_rows,
    )
    if summary_json is not None:
        summary_json.parent.mkdir(parents=True, exist_ok=True)
        figures = json.dumps(audit.to_dict(), ensure_ascii=False, indent=1)
        summary_json.write_text(figures + "\n", encoding="utf-8", errors="backslashreplace")
    if summary:
        from riftk.auditing.display import console, show_audit

        show_audit(audit.to_dict(), console())
    raise typer.Exit(0 if audit.followed else 1)


synth.add_to(app)


@app.command(
    epilog="Example: riftk export runs/rif-tiny/data/dataset.jsonl --model pkg://riftk.tiny/weights/base "
    "--out runs/sft.jsonl"
)
def export(
    dataset: Annotated[Path, typer.Argument(help="Dataset of `riftk synth` or of a recipe (dataset.jsonl).")],
    model: Model,
    out: Annotated[Path, typer.Option(help="File to write: .jsonl or .parquet.")],
    chat_template: ChatTemplate = None,
    revision: Revision = None,
    trust_remote_code: TrustRemoteCode = False,
) -> None:
    """Write a dataset as trl's prompt-completion rows, each trace where the model's template keeps it."""
    from riftk.data_synth import export_dataset
    from riftk.engines.transformers import load_tokenizer
    from riftk.training import read_dataset

    records = read_dataset(dataset)
    tokenizer = load_tokenizer(
        model, chat_template=chat_template, revision=revision, trust_remote_code=trust_remote_code
    )
    print(f"{export_dataset(records, tokenizer, out)} rows in {out}")


@app.command(
    epilog="Example: riftk rows --problems riftk.tiny.problems:training_problems --answer-type number "
    "--num-rows 100 --style mathif --num-constraints 1,2 --out runs/rows.jsonl"
)
def rows(
    problems: Annotated[str, typer.Option(help="JSONL, JSON or Parquet file, hub id, or module:function.")],
    out: Annotated[Path, typer.Option(help="File to write: .jsonl, or .parquet for verl.")],
    format: Annotated[str, typer.Option(help="trl or openrlhf (JSONL), or verl (Parquet).")] = "trl",
    style: Annotated[
        str, typer.Option(help="mathif (about the response) or reasonif (about the reasoning).")
    ] = "mathif",
    num_constraints: Annotated[
        str, typer.Option(help="Constraints per row, in equal parts: 1, or 1,2,3 (default: the style's).")
    ] = "",
    constraints: Annotated[
        str, typer.Option(help="Constraint ids to draw among, comma-separated; none: all of the style.")
    ] = "",
    target: Annotated[
        str, typer.Option(help="reasoning or response, instead of the style's own target.")
    ] = "",
    values: Annotated[
        str, typer.Option(help="Arguments: held-out (in no benchmark's file) or published (the benchmark's).")
    ] = "held-out",
    paraphrase_share: Annotated[
        float, typer.Option(help="Share of instructions in other words than the published ones.")
    ] = 0.5,
    plain_share: Annotated[float, typer.Option(help="Share of rows without an instruction.")] = 0.1,
    num_rows: Annotated[int, typer.Option(help="Rows; fewer problems come round again.")] = 1000,
    question_column: Annotated[str, typer.Option(help="Column of the problem.")] = "question",
    answer_column: Annotated[
        str, typer.Option(help="Column of the gold answer; '' where there is none.")
    ] = "answer",
    answer_type: Annotated[str, typer.Option(help="math, number, choice or label.")] = "math",
    seed: Seed = 0,
) -> None:
    """Make training rows of problems: prompts that ask for one to three constraints that go together."""
    from riftk.data_synth.row_files import RowsConfig, write_rows

    counts = list(filter(None, num_constraints.split(",")))
    if not all(count.strip().isdecimal() for count in counts):
        raise ValueError(f"--num-constraints takes numbers such as 1,2,3, not {num_constraints!r}")
    config = RowsConfig(
        problems=problems,
        num_rows=num_rows,
        style=style,
        counts=tuple(map(int, counts)),
        target=target,
        constraints=tuple(filter(None, constraints.split(","))),
        values=values,
        paraphrase_share=paraphrase_share,
        plain_share=plain_share,
        question_column=question_column,
        answer_column=answer_column or None,
        answer_type=answer_type,
        seed=seed,
    )
    print(write_rows(config, out, format))
    print(f"written to {out}")


app.command(
    "eval",
    epilog="Example: riftk eval --model pkg://riftk.tiny/weights/base --benchmarks tiny --temperature 0 "
    "--max-tokens 160 --limit 100 --out runs/eval-tiny",
)(with_engine(evaluation.evaluate))
app.command(
    epilog="Example: riftk calibrate --model Qwen/Qwen3-8B --engine vllm --out runs/limits-qwen3-8b",
)(with_engine(evaluation.calibrate))

app.command(
    epilog="Example: riftk probe runs/rif-tiny/eval/after --model runs/rif-tiny/final --out runs/probe-after",
)(with_engine(probe))

app.command(epilog="Example: riftk env --plan pkg://riftk.recipes/configs/sft/qwen2.5-7b.yaml")(env)


app.command(
    epilog="Example: riftk report runs/rif-tiny; or several: riftk report runs/rif-tiny/eval/before "
    "runs/rif-tiny runs/cold-rl-tiny --out runs/compared"
)(report)
app.command(
    epilog="Example: riftk compare recipes/configs/compare/tiny.yaml --dry-run; or runs that exist: "
    "riftk compare --collect base=runs/rif-tiny/eval/before --collect rif=runs/rif-tiny --out runs/compared"
)(compare)


@app.command(epilog="Example: riftk stress --reward riftk.rewards:GatedReward --think tags")
def stress(
    reward: Annotated[
        str, typer.Option(help="Reward with trl's signature, package.module:name; a class is made one.")
    ] = "riftk.rewards:GatedReward",
    threshold: Annotated[
        float, typer.Option(help="Share of the maximum that a visible exploit may earn.")
    ] = 0.1,
    think: Annotated[
        str, typer.Option(help="Who opens the think block: the model (tags), or prefilled.")
    ] = "tags",
    problems: Annotated[int, typer.Option(help="Problems that each class of exploits is made of.")] = 2,
    plain: Annotated[bool, typer.Option(help="Hand over texts instead of messages.")] = False,
    seed: Seed = 0,
) -> None:
    """Show what known exploits earn from a reward; exit status 1 when one earns too much.

    Honest completions set the maximum. Classes that no rule can tell from reasoning are reported apart.
    """
    sys.path.insert(0, "")  # a reward beside the reader's script, as trl's own command finds it
    from riftk.rewards.stress import load_reward, print_report
    from riftk.rewards.stress import stress as run

    if think not in ("tags", "prefilled"):
        raise ValueError(f"--think takes tags or prefilled, not {think!r}")
    found = run(
        load_reward(reward, think),
        think=think,
        threshold=threshold,
        problems=problems,
        seed=seed,
        plain=plain,
    )
    print_report(found)
    raise typer.Exit(1 if found.paid else 0)


@tiny_app.command("build", epilog="Example: riftk tiny build --width 64 --out runs/tiny-0.3M")
def tiny_build(
    out: Out,
    width: Annotated[int, typer.Option(help="Of the hidden states, a multiple of 8.")] = 128,
    layers: Annotated[int, typer.Option(help="Transformer layers.")] = 4,
    seed: Seed = 0,
) -> None:
    """Train the embedded model from nothing (minutes to an hour on two cores), or one of another size.

    With four layers, width 64 gives 0.3 M parameters, 128 (the one that ships) 1 M and 320 6 M.
    """
    from riftk.tiny.builder import build

    build(out, width=width, layers=layers, seed=seed)


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
    if not argument.startswith("--") or " " in argument.partition("=")[0]:  # a value, such as --launcher's
        return argument
    name, equals, value = argument.partition("=")
    return name.replace("_", "-") + equals + value


def _first_failures(count: int) -> Callable[[str, Judged], None]:
    from riftk.auditing.display import console, show_failure

    out, left = console(), iter(range(count))

    def show(where: str, judged: Judged) -> None:
        if next(left, None) is not None:
            show_failure(where, judged, out)

    return show


if __name__ == "__main__":
    main()
