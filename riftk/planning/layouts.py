"""How a training is spread over GPUs: read from a configuration of `accelerate launch`."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

Sharding = Literal["none", "ddp", "zero2", "zero3", "fsdp"]
# From the simplest on: of those that fit, the first is the fastest.
SHIPPED = ("single_gpu", "ddp", "zero2", "zero3", "fsdp2", "multi_node")


@dataclass(frozen=True)
class Layout:
    """A name, what is sharded over the processes, how many there are and on how many machines."""

    name: str
    sharding: Sharding
    processes: int
    machines: int = 1

    def on(self, gpus: int) -> Layout:
        """The same with `gpus` GPUs on each machine; one process stays one."""
        return self if self.sharding == "none" else replace(self, processes=gpus * self.machines)


def read_layout(path: str | Path) -> Layout:
    """Read a configuration file of accelerate.

    Raises:
        FileNotFoundError: no such file.
        ValueError: a way of distributing that is not known here.
    """
    import yaml

    path = Path(path)
    config: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    kind = str(config.get("distributed_type", "NO"))
    processes, machines = int(config.get("num_processes", 1)), int(config.get("num_machines", 1))
    if kind == "NO":
        return Layout(path.stem, "none", 1)
    if kind == "DEEPSPEED":
        stage = int(config.get("deepspeed_config", {}).get("zero_stage", 2))
        known: dict[int, Sharding] = {0: "ddp", 2: "zero2", 3: "zero3"}
        if stage in known:
            return Layout(path.stem, known[stage], processes, machines)
    if kind == "FSDP":
        return Layout(path.stem, "fsdp", processes, machines)
    if kind.startswith("MULTI_"):
        return Layout(path.stem, "ddp", processes, machines)
    raise ValueError(f"{path}: {kind} is a way of distributing that riftk has no formula for")


def current_layout() -> Layout:
    """How the launcher of this process spreads a training."""
    from accelerate import PartialState

    state = PartialState()
    kind, processes = str(state.distributed_type).rpartition(".")[2], state.num_processes
    if kind == "DEEPSPEED":
        sharding = "zero3" if os.environ.get("ACCELERATE_DEEPSPEED_ZERO_STAGE") == "3" else "zero2"
        return Layout("here", sharding, processes)
    return Layout("here", "fsdp" if kind == "FSDP" else "ddp" if processes > 1 else "none", processes)


def shipped_layouts() -> list[Layout]:
    """Those that come with riftk, from the simplest on; the CPU's is left out."""
    folder = Path(str(files("riftk.accelerate_configs")))
    return [read_layout(folder / f"{name}.yaml") for name in SHIPPED]
