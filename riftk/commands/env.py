"""`riftk env`: versions and devices, and whether a recipe's configuration fits."""

from __future__ import annotations

import platform
from pathlib import Path
from typing import Annotated, Any

import typer


def env(
    plan: Annotated[
        str | None, typer.Option(help="Configuration of a recipe (YAML) whose memory to estimate.")
    ] = None,
    gpus: Annotated[
        int | None, typer.Option(help="GPUs of one machine to plan for; those here, or else 8.")
    ] = None,
    gpu_memory: Annotated[
        float | None, typer.Option(help="GiB of one GPU to plan for; that here, or else 80.")
    ] = None,
) -> None:
    """Print versions and devices, and whether this set of versions is one that was tested.

    With --plan: the memory that each GPU needs for weights, gradients, optimizer, activations, logits and
    rollouts, and which of accelerate's configurations to take.
    """
    if plan is not None:
        return _print_plan(plan, gpus, gpu_memory)
    from riftk import __version__
    from riftk.planning import GIB
    from riftk.planning.versions import devices, differences, installed_packages, traps

    print(f"{'riftk':16}{__version__}\n{'python':16}{platform.python_version()}")
    packages = installed_packages()
    for one in packages:
        note = "" if one.in_range else f"   outside of {one.allowed}: not supported"
        print(f"{one.name:16}{one.version or '–'}{note}")
    for name, memory in devices():
        print(f"{'device':16}{name}, {memory / GIB:.1f} GiB")
    different = differences({one.name: one.version for one in packages})
    same = [title for title, found in different.items() if not found]
    if same:
        print(f"This set was tested: {', '.join(same)}.")
    else:
        title, nearest = min(different.items(), key=lambda item: len(item[1]))
        print(f"This set was not tested. Nearest ({title}): {', '.join(nearest)}.")
    for trap in traps(Path.cwd()):
        print(f"Careful: {trap}.")


def _print_plan(config: str, gpus: int | None, gpu_memory: float | None) -> None:
    from riftk.planning import GIB, make_plan, usual_machine
    from riftk.planning.memory import ALL_LINEAR

    if (gpus is not None and gpus < 1) or (gpu_memory is not None and gpu_memory <= 0):
        raise ValueError("--gpus and --gpu-memory must be positive")
    count, size = usual_machine()
    size = int(gpu_memory * GIB) if gpu_memory else size
    options = _options(config)
    adapts = bool(options["use_peft"])
    other = {**options, "use_peft": not adapts, "lora_target_modules": [ALL_LINEAR]}
    print("\n".join(make_plan(options, gpus or count, size).lines()))
    way = "all parameters instead" if adapts else f"LoRA of rank {other['lora_r']} instead (--use_peft)"
    print(f"{way}: {make_plan(other, gpus or count, size).advice()}")


def _options(config: str) -> dict[str, Any]:
    """What a YAML says, over the defaults of trl and of riftk. trl's configurations are not made: on a
    machine without a GPU they refuse bf16."""
    from dataclasses import MISSING, fields

    from trl import GRPOConfig, ModelConfig, SFTConfig

    from riftk.paths import resolve
    from riftk.rl import RewardArguments
    from riftk.training import read_config

    given = read_config(Path(resolve(config)))
    kinds = (GRPOConfig, ModelConfig, RewardArguments) if "rewards" in given else (SFTConfig, ModelConfig)
    defaults = {one.name: one.default for kind in kinds for one in fields(kind) if one.default is not MISSING}
    return {**defaults, **given}
