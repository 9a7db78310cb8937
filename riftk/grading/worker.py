"""A grading worker: a process of its own that compares answers until its pipe closes.

`riftk.grading.pool` starts it as a fresh interpreter. Requests and replies are JSON, one a line, so nothing
is pickled and no module of the caller is imported.
"""

from __future__ import annotations

import contextlib
import json
import os
import pkgutil
import resource
import signal

_MEMORY = 4 << 30  # bytes of address space; what grows beyond is a MemoryError here and not on the node
_FAULT_CHARS = 200


def main(function: str, seconds: str) -> None:
    """Answer requests until stdin closes.

    Args:
        function: "module:name" of a function of JSON values that returns one.
        seconds: after this time within one request the kernel ends the process: a worker that is stuck inside
            a C function, and whose parent is gone, still dies.
    """
    requests, replies = os.fdopen(os.dup(0), "rb"), os.dup(1)
    os.dup2(2, 1)  # what libraries print must not reach the pipe
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, whose death closes the pipe
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGALRM})
    _limit_memory()
    call = pkgutil.resolve_name(function)
    _send(replies, "ready")
    nowhere = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nowhere, descriptor)
    for line in requests:
        signal.setitimer(signal.ITIMER_REAL, float(seconds))
        try:
            reply = {"value": call(*json.loads(line))}
        except Exception as fault:  # a library's, of any kind: the pool logs it, and goes on
            reply = {"fault": f"{type(fault).__name__}: {fault}"[:_FAULT_CHARS]}
        signal.setitimer(signal.ITIMER_REAL, 0)
        _send(replies, reply)


def _send(descriptor: int, value: object) -> None:
    os.write(descriptor, json.dumps(value).encode() + b"\n")


def _limit_memory() -> None:
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    limit = _MEMORY if hard == resource.RLIM_INFINITY else min(_MEMORY, hard)
    with contextlib.suppress(ValueError, OSError):  # not every system has this limit
        resource.setrlimit(resource.RLIMIT_AS, (limit, hard))
