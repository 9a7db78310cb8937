"""What the recipes share before a trainer exists: arguments from YAML and command line, checked early."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from riftk.paths import resolve


def parse_recipe(arguments: Sequence[str], recipe: type, trainer: type, default_config: Path) -> tuple[Any, Any, Any]:
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

    arguments = list(arguments)
    if "--config" not in arguments:
        arguments = ["--config", str(default_config), *arguments]
    position = arguments.index("--config") + 1
    if position == len(arguments):
        raise ValueError("--config needs a YAML file")
    arguments[position] = resolve(arguments[position])
    if not Path(arguments[position]).is_file():
        raise FileNotFoundError(f"--config {arguments[position]}: no such file")
    args, training, model = TrlParser((recipe, trainer, ModelConfig)).parse_args_and_config(arguments)
    if model.model_name_or_path is None:
        raise ValueError("model_name_or_path is missing; name the model in the YAML or on the command line")
    if training.chat_template_path is not None:
        training.chat_template_path = resolve(training.chat_template_path)
    return args, training, model


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
