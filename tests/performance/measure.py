"""Run a training script and write down what its training took: python measure.py OUT.json SCRIPT [ARGUMENTS]

Measured alike for every script: seconds of `Trainer.train`, processor seconds of the process, steps, tokens
that trl counted, the last loss or reward, and the most memory (of the GPU, or else of the process).
"""

from __future__ import annotations

import json
import resource
import runpy
import sys
import time
from pathlib import Path
from typing import Any


def main() -> None:
    out, script, *arguments = sys.argv[1:]
    sys.argv = [script, *arguments]
    sys.path[0] = str(Path(script).parent)
    measured: dict[str, Any] = {}
    _time_training(measured)
    try:
        runpy.run_path(script, run_name="__main__")
    finally:
        usage = resource.getrusage(resource.RUSAGE_SELF)
        measured["processor_seconds"] = usage.ru_utime + usage.ru_stime
        measured["memory"] = _most_memory(usage.ru_maxrss * 1024)
        Path(out).write_text(json.dumps(measured), encoding="utf-8")


def _time_training(measured: dict[str, Any]) -> None:
    """Let every trainer say how long its training took."""
    import torch
    from transformers import Trainer

    plain = Trainer.train

    def train(self: Any, *arguments: Any, **options: Any) -> Any:
        began, used = time.perf_counter(), time.process_time()
        result = plain(self, *arguments, **options)
        if torch.cuda.is_available():
            torch.cuda.synchronize()
        log = self.state.log_history
        measured.update(
            seconds=time.perf_counter() - began,
            training_processor_seconds=time.process_time() - used,
            steps=self.state.global_step,
            tokens=max((entry.get("num_tokens") or 0 for entry in log), default=0),
            losses=[entry["loss"] for entry in log if entry.get("loss") is not None],
            rewards=[entry["reward"] for entry in log if entry.get("reward") is not None],
        )
        return result

    Trainer.train = train


def _most_memory(resident: int) -> int:
    import torch

    return torch.cuda.max_memory_allocated() if torch.cuda.is_available() else resident


if __name__ == "__main__":
    main()
