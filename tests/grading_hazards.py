"""Functions for grading workers: comparisons that hang or crash on request, and a look inside a worker."""

from __future__ import annotations

import os
import signal
import sys
import time

from riftk.grading.expressions import same_answer


def compare(rules: str, gold: str, candidate: str) -> bool:
    """`same_answer` with a light engine; answers that contain a hazard set it off."""
    if "hang" in candidate:
        while True:
            time.sleep(0.01)
    if "spin" in candidate:
        return bool(9 ** (9**9))  # inside one C call, where no Python code can stop it
    if "crash" in candidate:
        os.kill(os.getpid(), signal.SIGSEGV)
    if "exit" in candidate:
        os._exit(0)
    if "raise" in candidate:
        raise MemoryError("on request")
    if "print" in candidate:
        print("a line for nobody")
        os.write(1, b"another\n")
    return same_answer(gold, candidate, lambda a, b: sorted(a) == sorted(b))


def pid() -> int:
    return os.getpid()


def heavy_modules() -> list[str]:
    """Heavy modules that a worker with the real engine has loaded."""
    import riftk.grading.engine

    assert riftk.grading.engine.compare("robust", "x+1", "1+x")
    return sorted({"torch", "transformers", "trl", "numpy"} & sys.modules.keys())
