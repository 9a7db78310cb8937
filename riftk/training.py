"""What the recipes share: arguments from YAML and command line, and supervised rows for the trainer."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

from riftk.completions import render_reasoning, split_completion, turn_end_ids
from riftk.engines.base import Sampling
from riftk.paths import final_model, resolve
from riftk.rows import Row, RowError, read_jsonl
from riftk.supervision import check_supervision, is_trained, show_supervision, tokenize_row


def option(default: Any, help: str, choices: Sequence[str] | None = None) -> Any:
    """A field of a recipe's arguments: its default, what `--help` says of it, and what it may hold."""
    metadata = {"help": help} if choices is None else {"help": help, "choices": choices}
    if isinstance(default, list):
        return field(default_factory=default.copy, metadata=metadata)
    return field(default=default, metadata=metadata)


@dataclass
class EvaluationArguments:
    """How a recipe evaluates, before training, after it, and (`eval_steps`) meanwhile; what the result is."""

    benchmarks: list[str] = option(["reasonif"], "run before and after")
    data_dir: str | None = option(None, "folder with benchmark files, where there is no hub")
    limits: str = option(
        "calibrate", "word limits of reasonif: of the model before training, or dataset, or a file of limits"
    )
    eval_split: Literal["dev", "test"] = option("test", "items of the evaluation before and after")
    eval_limit: int | None = option(None, "items per benchmark, stratified")
    eval_temperature: float = option(1.0, "of the evaluation; 0 is greedy")
    eval_top_p: float = option(0.95, "of the evaluation")
    max_new_tokens: int = option(8192, "tokens per generated completion")
    engine: Literal["transformers", "vllm", "openai"] = option("transformers", "what samples and evaluates")
    engine_options: list[str] = option([], "its other options of riftk eval, e.g. tensor-parallel=2")
    batch_size: int = option(16, "completions generated at once")
    dev_limit: int | None = option(None, "development items per benchmark, every eval_steps")
    select_by: Literal["accuracy", "joint", "last"] = option(
        "accuracy", "which checkpoint is the result, by development items (needs eval_steps)"
    )
    base_share: float = option(0.0, "share of the weights before training in the final model (WiSE-FT)")
    dry_run: bool = option(False, "show the configuration, a plan and three examples, and stop")


@dataclass
class ProblemArguments:
    """Where problems come from, and which instructions are drawn for them."""

    problems: str = option("openai/gsm8k", "file, hub id, or module:function")
    question_column: str = option("question", "column of the problem")
    answer_column: str = option("answer", "column of the gold answer; '' where there is none")
    answer_type: Literal["math", "number", "choice", "label"] = option("math", "how answers are graded")
    num_rows: int = option(1000, "problems to make rows from")
    constraints: list[str] = option([], "constraint ids; none: all that a rule can rewrite for")
    num_constraints: list[int] = option([1], "constraints a row, in equal parts: 1, or 1 2 3")
    plain_share: float = option(0.1, "share of rows without an instruction")
    response_share: float = option(0.0, "share of rows with an instruction about the response")
    word_limits: list[int] = option([], "word limits of prompts to sample under; none: the published ones")
    paraphrases: bool = option(True, "draw among all wordings of an instruction, or take the published one")


@dataclass
class SynthesisArguments(ProblemArguments):
    """How traces are sampled and what is kept of them."""

    sample_with_instruction: bool = option(False, "leave the instruction in while sampling (the paper's way)")
    control: Literal["none", "unrewritten", "shuffled", "shortened", "correct"] = option(
        "none", "exchange accepted rows for a control's, as many, see riftk.data_synth.controls"
    )
    require_correct: bool = option(True, "drop traces with a wrong answer")
    close_traces: bool = option(False, "close a trace that the model stopped in, instead of dropping it")
    synth_temperature: float = option(1.0, "of the traces")
    synth_top_p: float = option(0.95, "of the traces")


def parse_recipe(
    arguments: Sequence[str], recipe: type, trainer: type, default_config: Path
) -> tuple[Any, Any, Any]:
    """Parse a recipe's own arguments, trl's trainer configuration and trl's `ModelConfig`, in this order.

    Args:
        arguments: command line without the program's name. `--config` takes a YAML file (a path, or
            `pkg://riftk.recipes/configs/…` from an installed package); what follows overrides it. A file
            that `extends` another one, named relative to it, says only what is different.
        recipe: dataclass of the recipe's own arguments.
        trainer: `SFTConfig`, `GRPOConfig`, …
        default_config: YAML to start from when no `--config` is given.

    Raises:
        ValueError: an unknown option, in the file or on the command line.
        FileNotFoundError: no such config.
    """
    from trl import ModelConfig, TrlParser

    arguments = [
        part
        for argument in arguments
        for part in (argument.split("=", 1) if argument.startswith("--config=") else [argument])
    ]
    if "--config" not in arguments:
        arguments = ["--config", str(default_config), *arguments]
    position = arguments.index("--config") + 1
    if position == len(arguments):
        raise ValueError("--config needs a YAML file")
    config = read_config(Path(resolve(arguments[position])))
    usage = "%(prog)s [--config FILE.yaml] [--option value ...] (--help lists the options)"
    parser = TrlParser((recipe, trainer, ModelConfig), usage=usage)
    os.environ.update({name: str(value) for name, value in config.pop("env", {}).items()})
    unknown = parser.set_defaults_with_config(**config)
    if unknown:
        raise ValueError(f"{arguments[position]}: there is no option {unknown[0].removeprefix('--')!r}")
    del arguments[position - 1 : position + 1]
    arguments += _without_a_gpu(dry_run=config.get("dry_run") or _asks_for_dry_run(arguments))
    args, training, model = parser.parse_args_into_dataclasses(arguments)
    check_choices(args)
    if model.model_name_or_path is None:
        raise ValueError("model_name_or_path is missing; name the model in the YAML or on the command line")
    model.model_name_or_path = final_model(model.model_name_or_path)
    if training.chat_template_path is not None:
        training.chat_template_path = resolve(training.chat_template_path)
    return args, training, model


def _asks_for_dry_run(arguments: Sequence[str]) -> bool:
    return any(argument.replace("-", "_").startswith("__dry_run") for argument in arguments)


def _without_a_gpu(dry_run: bool) -> list[str]:
    """What has to be said on a machine without a GPU: that the launcher's ranks are one world (by default
    accelerate makes each a world of its own, which trains on all rows), and that a dry run of a configuration
    for GPUs is meant."""
    import torch

    if torch.accelerator.is_available():
        return []
    if os.environ.get("ACCELERATE_USE_DEEPSPEED") == "true":
        return ["--ddp_backend", "gloo"]
    if "LOCAL_RANK" in os.environ:
        os.environ["ACCELERATE_USE_CPU"] = "true"
    return ["--use_cpu", "true"] if dry_run else []


def read_config(path: Path) -> dict[str, Any]:
    """Read a YAML file over the one that it `extends`."""
    import yaml

    if not path.is_file():
        raise FileNotFoundError(f"--config {path}: no such file")
    config = yaml.safe_load(path.read_text(encoding="utf-8"))
    if not isinstance(config, dict):
        raise ValueError(f"--config {path} must hold options, one `name: value` a line")
    base = config.pop("extends", None)
    return config if base is None else {**read_config(path.parent / base), **config}


def check_choices(args: Any) -> None:
    """Check fields with `choices` or a `Literal` type: argparse does so for the command line, not for YAML.

    Raises:
        ValueError: a value that is none of them.
    """
    types = get_type_hints(type(args))
    for argument in fields(args):
        choices = argument.metadata.get("choices")
        if get_origin(types[argument.name]) is Literal:
            choices = get_args(types[argument.name])
        value = getattr(args, argument.name)
        values = value if isinstance(value, list) else [value]
        if choices and not set(values) <= set(choices):
            raise ValueError(f"{argument.name} takes {', '.join(choices)}, not {', '.join(map(str, values))}")


def check_sampling(what: str, temperature: float, top_p: float, max_tokens: int) -> None:
    """Raise `ValueError` that says of what the sampling is, where it makes no sense."""
    try:
        Sampling(temperature, top_p, max_tokens)
    except ValueError as error:
        raise ValueError(f"{what}: {error}") from None


def model_init_kwargs(training: Any, model: Any) -> dict[str, Any]:
    """Keyword arguments for `from_pretrained`, from trl's two configurations.

    A `quantization_config` written as a mapping becomes the object that transformers wants: it ignores a
    plain dict for a model that is already quantized, and gpt-oss would stay in MXFP4.
    """
    options = {
        "revision": model.model_revision,
        "attn_implementation": model.attn_implementation,
        "dtype": model.dtype,
        "use_safetensors": True,
        **(training.model_init_kwargs or {}),
    }
    if isinstance(options.get("quantization_config"), dict):
        from transformers.quantizers.auto import AutoQuantizationConfig

        options["quantization_config"] = AutoQuantizationConfig.from_dict(options["quantization_config"])
    return options


def model_tokenizer(training: Any, model: Any) -> Any:
    """The tokenizer of the model to train, with the chat template that the configuration names.

    Raises:
        FileNotFoundError: no such model.
        ValueError: it has no chat template and none was given.
    """
    from riftk.engines.transformers import load_tokenizer

    return load_tokenizer(
        model.model_name_or_path,
        chat_template=training.chat_template_path,
        revision=model.model_revision,
        trust_remote_code=training.trust_remote_code,
    )


def read_dataset(path: str | Path) -> list[dict[str, Any]]:
    """Read rows to finetune on: `prompt`, `reasoning` and `response` of each are what is trained on.

    Args:
        path: JSONL file. Its rows have these columns (`riftk synth` writes them), or `messages`, whose last
            one is the assistant's, with its trace between think tags or under `reasoning_content`.

    Raises:
        FileNotFoundError: no such file.
        RowError: no rows, a missing column, or a row that cannot be read.
    """
    if not Path(path).is_file():
        raise FileNotFoundError(f"there is no dataset {path}; the stage synth makes one, --dataset names one")
    records = [_sft_row(data, f"{path}, row {number}") for number, data in enumerate(read_jsonl(path), 1)]
    if not records:
        raise RowError(f"{path} holds no rows")
    return records


def _sft_row(data: Any, where: str) -> dict[str, Any]:
    """Check one row; `messages` are taken apart."""
    if isinstance(data, Mapping) and "messages" in data and "prompt" not in data:
        *prompt, answer = data["messages"] or [None]
        if not isinstance(answer, Mapping) or answer.get("role") != "assistant":
            raise RowError(f"{where}: messages must end with one of the assistant")
        given = answer.get("reasoning_content") or answer.get("thinking")
        parts = split_completion(answer.get("content"), reasoning_content=given)
        if parts.status != "closed":
            raise RowError(f"{where}: the assistant's message holds no reasoning that is closed")
        data = {"item_id": where, "prompt": prompt, "reasoning": parts.reasoning, "response": parts.response}
    Row.from_dict(data, where=where)
    for column in ("reasoning", "response"):
        if not isinstance(data.get(column), str):
            raise RowError(f"{where}: column {column!r} is missing; found {sorted(data)}")
    return dict(data)


def supervise(
    tokenizer: Any, records: Iterable[Mapping[str, Any]], *, loss_on: str, max_length: int | None
) -> list[dict[str, list[int]]]:
    """Tokenise a dataset for trl's SFTTrainer, with loss on exactly what `loss_on` names.

    The main process shows the counts, and one row with the tokens that carry loss in colour.

    Returns:
        `input_ids` and `labels` of every row that carries loss; see `riftk.supervision`.

    Raises:
        ValueError: the chat template cannot hold a trace, or too many rows are cut off or without loss.
    """
    from accelerate import PartialState

    rows = []
    for record in records:
        message = render_reasoning(tokenizer, record["reasoning"], record["response"])
        rows.append(
            tokenize_row(tokenizer, record["prompt"], message, loss_on=loss_on, max_length=max_length)
        )
    counts, ends = check_supervision(tokenizer, rows), turn_end_ids(tokenizer)
    rows = [row for row in rows if is_trained(row, ends)]
    PartialState().print(f"{counts}\n{show_supervision(tokenizer, rows[0])}")
    return rows
