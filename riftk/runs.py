"""The run folder of a recipe, and the child processes a recipe starts.

    runs/<name>/{config.yaml, data/, eval/before/, checkpoints/, final/, eval/after/, results.json, report.md}

A folder belongs to one configuration. Started again, a run goes on where it stopped; a finished one says
so, and another configuration in an old folder is refused, because half of it would be of the other kind.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from riftk.files import write_text

FINISHED = "finished"
# What a launcher (torchrun, accelerate, DeepSpeed) tells its own ranks and a child must not inherit.
_LAUNCHER_VARIABLES = {
    "RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "GROUP_RANK", "ROLE_RANK", "ROLE_WORLD_SIZE",
    "MASTER_ADDR", "MASTER_PORT", "CROSS_RANK", "CROSS_SIZE",
}  # fmt: skip
_LAUNCHER_PREFIXES = (
    "ACCELERATE_",
    "FSDP_",
    "TORCHELASTIC_",
    "DS_CONFIG",
    "DEEPSPEED_",
    "PARALLELISM_CONFIG_",
)
# Which stages to run, where from, and what is shown, may change from one start to the next.
_NOT_PART_OF_THE_CONFIG = {
    "stages", "resume_from_checkpoint", "local_rank", "logging_dir", "skip_preflight", "rollout_steps",
    "dry_run",
}  # fmt: skip


_CHILD = "RIFTK_CHILD"
# torchrun that dies with the process which started it.
_LAUNCHER = (
    "from riftk.runs import die_with_parent; die_with_parent(); "
    "from torch.distributed.run import main; main()"
)


class RunError(RuntimeError):
    """A run that cannot go on; the message is one sentence for the user."""


def is_child() -> bool:
    """Whether `riftk(...)` started this process."""
    return _CHILD in os.environ


def die_with_parent() -> None:
    """Ask the kernel to kill this process when its parent dies (Linux; elsewhere nothing happens).

    A killed launcher would otherwise leave workers behind that go on writing into the run folder.
    """
    if sys.platform == "linux":
        pr_set_pdeathsig = 1
        ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGKILL)


@dataclass(frozen=True)
class RunFolder:
    """Paths and state of one run. Open it with `open_run`; only the main rank holds the `lock`."""

    path: Path
    lock: IO[str] | None

    @property
    def data(self) -> Path:
        return self.path / "data"

    @property
    def checkpoints(self) -> Path:
        return self.path / "checkpoints"

    @property
    def final(self) -> Path:
        return self.path / "final"

    def evaluation(self, when: str) -> Path:
        """Folder of the evaluation "before" or "after" training."""
        return self.path / "eval" / when

    def checkpoint(self, step: int) -> Path:
        """Where the trainer writes the checkpoint of a step."""
        return self.checkpoints / f"checkpoint-{step}"

    def last_checkpoint(self) -> str | None:
        """The newest complete checkpoint of the trainer, which writes `trainer_state.json` last."""
        complete = [state.parent for state in self.checkpoints.glob("checkpoint-*/trainer_state.json")]
        newest = max(complete, key=lambda folder: int(folder.name.split("-")[1]), default=None)
        return str(newest) if newest else None

    def forget(self) -> None:
        """Let another configuration have the folder, because nothing of this one was made."""
        (self.path / "config.yaml").unlink(missing_ok=True)

    def is_finished(self, stage: str) -> bool:
        return (self.path / f".{stage}.{FINISHED}").exists()

    def mark_finished(self, stage: str) -> None:
        """Note that a stage is complete; only the rank that holds the folder writes."""
        if self.lock is None:
            return
        (self.path / f".{stage}.{FINISHED}").touch()


def open_run(path: str | Path, config: Mapping[str, Any], hold: bool = True) -> RunFolder:
    """Open or create a run folder for one configuration, and hold it for this process.

    Args:
        path: the folder.
        hold: whether this process writes the folder; False on ranks other than the main one.
        config: resolved configuration (plain values); written to `config.yaml`, which `--config` reads back.

    Raises:
        RunError: another configuration made the folder, or another process is using it.
    """
    import yaml

    path = Path(path)
    if not hold:
        return RunFolder(path, None)
    path.mkdir(parents=True, exist_ok=True)
    lock = open(path / ".lock", "w")  # noqa: SIM115 - held until the process ends
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise RunError(f"another process is using {path}; wait for it, or choose another folder") from None
    kept = yaml.safe_load(yaml.safe_dump(_plain(config)))
    file = path / "config.yaml"
    if file.exists():
        before = yaml.safe_load(file.read_text(encoding="utf-8"))
        changed = sorted(
            key
            for key in (before.keys() | kept.keys()) - _NOT_PART_OF_THE_CONFIG
            if before.get(key) != kept.get(key)
        )
        if changed:
            changes = ", ".join(f"{key}: {before.get(key)!r} -> {kept.get(key)!r}" for key in changed[:4])
            raise RunError(
                f"{path} was made with another configuration ({changes}); "
                "choose another folder, or delete this one"
            )
    write_text(file, yaml.safe_dump(kept, allow_unicode=True))
    return RunFolder(path, lock)


def riftk(command: str, **options: Any) -> None:
    """Run `riftk COMMAND --option value …` as a process of its own, outside the launcher's process group.

    Raises:
        RunError: the command failed; what it said is on stderr already.
    """
    shared = options.get("engine", "transformers") == "transformers"
    run_module(
        ["riftk.cli", command, *flags(options)], f"riftk {command}", ranks=local_ranks() if shared else 1
    )


def local_ranks() -> int:
    """Processes that the launcher started on this machine; each has a GPU of its own where there are any."""
    return int(os.environ.get("LOCAL_WORLD_SIZE", "1"))


def flags(options: Mapping[str, Any]) -> list[str]:
    """Options as a command line; those that are None are left out, lists are joined by commas."""
    arguments = []
    for name, value in options.items():
        flag = "--" + name.replace("_", "-")
        if isinstance(value, bool):
            arguments.append(flag if value else flag.replace("--", "--no-", 1))
        elif isinstance(value, list | tuple):
            arguments += [flag, ",".join(map(str, value))]
        elif value is not None:
            arguments += [flag, str(value)]
    return arguments


def run_module(arguments: Sequence[str], name: str, ranks: int = 1) -> None:
    """Run `python -m MODULE …` as a process of its own, outside the launcher's process group.

    Generation never runs inside a trainer's process group: under ZeRO-3 every weight would be a shard, and
    the trainer's memory would still be taken.

    Args:
        arguments: the module, and what it is given.
        name: what an error calls it.
        ranks: how many of it, under a launcher of their own.

    Raises:
        RunError: it failed; what it said is on stderr already.
    """
    environment = {
        name: value
        for name, value in os.environ.items()
        if name not in _LAUNCHER_VARIABLES and not name.startswith(_LAUNCHER_PREFIXES)
    }
    sys.stdout.flush()
    command = [sys.executable, "-m", *arguments]
    if ranks > 1:
        command[1:1] = ["-c", _LAUNCHER, "--standalone", "--nproc_per_node", str(ranks)]
    finished = subprocess.run(command, env={**environment, _CHILD: "1"}, check=False)
    if finished.returncode:
        raise RunError(f"{name} stopped with exit status {finished.returncode} (see above)")


def free_memory() -> None:
    """Give back GPU memory that this process holds and does not use: the one that evaluates needs it."""
    import gc

    import torch

    gc.collect()
    if torch.cuda.is_initialized():
        torch.cuda.empty_cache()


def _plain(value: Any) -> Any:
    """Reduce a configuration to what YAML holds, without secrets."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items() if not str(key).endswith("_token")}
    if isinstance(value, list | tuple | set):
        return [_plain(item) for item in value]
    return value if isinstance(value, str | int | float | bool | None) else str(value)
