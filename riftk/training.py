"""What the recipes share: arguments from YAML and command line, and supervised rows for the trainer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, fields
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

from riftk.completions import render_reasoning, turn_end_ids
from riftk.paths import resolve
from riftk.rows import Row, RowError, read_jsonl
from riftk.supervision import check_supervision, is_trained, show_supervision, tokenize_row


def option(default: Any, help: str, choices: Sequence[str] | None = None) -> Any:
    """A field of a recipe's arguments: its default, what `--help` says of it, and what it may hold."""
    metadata = {"help": help} if choices is None else {"help": help, "choices": choices}
    if isinstance(default, list):
        return field(default_factory=default.copy, metadata=metadata)
    return field(default=default, metadata=metadata)


def parse_recipe(
    arguments: Sequence[str], recipe: type, trainer: type, default_config: Path
) -> tuple[Any, Any, Any]:
    """Parse a recipe's own arguments, trl's trainer configuration and trl's `ModelConfig`, in this order.

    Args:
        arguments: command line without the program's name. `--config` takes a YAML file (a path, or
            `pkg://riftk.recipes/configs/…` from an installed package); what follows overrides it.
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
    arguments[position] = resolve(arguments[position])
    if not Path(arguments[position]).is_file():
        raise FileNotFoundError(f"--config {arguments[position]}: no such file")
    usage = "%(prog)s [--config FILE.yaml] [--option value ...] (--help lists the options)"
    parser = TrlParser((recipe, trainer, ModelConfig), usage=usage)
    args, training, model = parser.parse_args_and_config(arguments)
    check_choices(args)
    if model.model_name_or_path is None:
        raise ValueError("model_name_or_path is missing; name the model in the YAML or on the command line")
    if training.chat_template_path is not None:
        training.chat_template_path = resolve(training.chat_template_path)
    return args, training, model


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
    """Read a synthesised dataset: `prompt`, `reasoning` and `response` of each row are what is trained on.

    Raises:
        FileNotFoundError: no such file.
        RowError: no rows, a missing column, or a row that cannot be read.
    """
    if not Path(path).is_file():
        raise FileNotFoundError(f"there is no dataset {path}; the stage synth makes one, --dataset names one")
    records = list(read_jsonl(path))
    if not records:
        raise RowError(f"{path} holds no rows")
    for number, record in enumerate(records, 1):
        Row.from_dict(record, where=f"{path}, row {number}")
        for column in ("reasoning", "response"):
            if not isinstance(record.get(column), str):
                raise RowError(f"{path}, row {number}: column {column!r} is missing; found {sorted(record)}")
    return records


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
