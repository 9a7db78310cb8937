"""Weights between a model and what it was trained into.

Finetuning on few problems shifts what a model knew about others. Half way between the two sets of weights
most of what was learnt is there, and most of what was lost has come back (WiSE-FT, Wortsman et al., arXiv
2109.01903).
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any


def average_with_base(trained: Path, base: str, share: float, **options: Any) -> None:
    """Mix the weights of a trained model's folder, in place, with those of the model that it comes from.

    A LoRA adapter is scaled instead, which is the same thing. The folder changes when all is written.

    Args:
        trained: folder of a finetuned model, or of a LoRA adapter.
        base: folder or hub id of the model before training; not read for an adapter.
        share: of the base's weights, above 0 and below 1.
        options: for `from_pretrained` of the base; its `dtype` holds for both.

    Raises:
        ValueError: an adapter that holds whole modules, which cannot be scaled.
    """
    part = trained.with_name(trained.name + ".part")
    shutil.rmtree(part, ignore_errors=True)
    shutil.copytree(trained, part)
    if (trained / "adapter_config.json").is_file():
        _scale_adapter(part / "adapter_config.json", 1 - share)
    else:
        _mixed(trained, base, share, options).save_pretrained(part)
    shutil.rmtree(trained)
    part.rename(trained)


def _scale_adapter(config_file: Path, factor: float) -> None:
    config = json.loads(config_file.read_text(encoding="utf-8"))
    if config.get("modules_to_save") or config.get("use_dora"):
        raise ValueError(f"{config_file} is no plain LoRA adapter and cannot be scaled; set base_share to 0")
    config["lora_alpha"] *= factor
    config["alpha_pattern"] = {name: a * factor for name, a in (config.get("alpha_pattern") or {}).items()}
    config_file.write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")


def _mixed(trained: Path, base: str, share: float, options: dict[str, Any]) -> Any:
    import torch
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_pretrained(trained, dtype=options.get("dtype"))
    before = AutoModelForCausalLM.from_pretrained(base, **options).state_dict()
    with torch.no_grad():
        for name, weight in model.named_parameters():  # each once, tied ones too
            weight.lerp_(before[name].to(weight), share)
    return model
