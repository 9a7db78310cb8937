"""Model folders: the base of a LoRA folder, what a folder must hold, and whether it is still the same."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from riftk.paths import resolve

_SAMPLED_BYTES = 1 << 20


def lora_base(path: str) -> str | None:
    """The base model that a LoRA folder was trained on, None where the folder is no LoRA.

    Raises:
        ValueError: the adapter names no base.
        FileNotFoundError: the base is gone.
    """
    config = Path(path) / "adapter_config.json"
    if not config.is_file():
        return None
    base = json.loads(config.read_text(encoding="utf-8")).get("base_model_name_or_path")
    if not base:
        raise ValueError(f"{config} names no base_model_name_or_path; the adapter cannot be merged")
    try:
        return resolve(base)
    except FileNotFoundError as error:
        raise FileNotFoundError(f"{config}: the base model is gone: {error}") from error


def check_folder(path: str) -> None:
    """A folder must hold safetensors: pickled weights can run code when they are loaded.

    Raises:
        FileNotFoundError: it is no model folder, or holds no safetensors. Hub ids are not looked at.
    """
    folder = Path(path)
    if not folder.is_dir():
        return
    if not (folder / "config.json").is_file() and not (folder / "adapter_config.json").is_file():
        raise FileNotFoundError(
            f"{path} is no model folder: it has neither config.json nor adapter_config.json"
        )
    if not any(folder.glob("*.safetensors")):
        raise FileNotFoundError(f"{path} holds no .safetensors weights")


def fingerprint(path: str) -> str:
    """Short hash of the weights in a folder (names, sizes, and the first and last MiB of each file), so that
    a folder that was trained again is noticed. Hub ids have their revision instead."""
    folder = Path(path)
    if not folder.is_dir():
        return path
    digest = hashlib.sha256()
    for file in sorted(folder.glob("*.safetensors")):
        size = file.stat().st_size
        digest.update(f"{file.name}:{size}:".encode())
        with file.open("rb") as weights:
            digest.update(weights.read(_SAMPLED_BYTES))
            weights.seek(max(size - _SAMPLED_BYTES, 0))
            digest.update(weights.read(_SAMPLED_BYTES))
    return digest.hexdigest()[:16]
