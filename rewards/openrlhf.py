"""Reward for OpenRLHF, by the path of this file or over HTTP.

    RIFTK_THINK=prefilled python -m openrlhf.cli.train_ppo_ray --reward.remote_url .../rewards/openrlhf.py ...
    python -m riftk.rewards.openrlhf --port 5000 --think prefilled      # --reward.remote_url http://HOST:5000

A label is a row as JSON (`answer`, `answer_type`, `constraints`; `riftk rows --format openrlhf` writes it),
or the gold answer alone. Settings come from the environment (`riftk.rewards.settings`).
"""

from __future__ import annotations

import argparse
import contextlib
import json
import signal
from collections.abc import Sequence
from dataclasses import fields
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from riftk.completions.templates import opens_trace
from riftk.rewards import Scoring, score
from riftk.rewards.completions import warn_once
from riftk.rewards.settings import read_scoring

_TAIL = 200  # characters of a prompt by whose end it is found where its beginning was cut off
_MAX_BODY = 256 * 2**20  # bytes

read_scoring()  # OpenRLHF swallows what a reward raises: a mistake in the environment has to show on loading


def reward_func(
    queries: Sequence[Any], prompts: Sequence[Any], labels: Sequence[Any], **_: Any
) -> dict[str, Any]:
    """Score responses: rewards, scores for dynamic filtering, and every part in `extra_logs`, as tensors."""
    import torch

    found = rewards_of(queries, prompts, labels)
    logs = {name: torch.tensor(values) for name, values in found["extra_logs"].items()}
    return {name: torch.tensor(found[name]) for name in ("rewards", "scores")} | {"extra_logs": logs}


def rewards_of(
    queries: Sequence[Any], prompts: Sequence[Any], labels: Sequence[Any], **settings: Any
) -> dict[str, Any]:
    """What `reward_func` gives, in lists.

    Args:
        queries: prompt and response in one text, decoded with special tokens.
        prompts: the rendered prompts; one that ends with an opening tag says that `think` is "prefilled".
        labels: rows as JSON, or gold answers.
        settings: fields of `riftk.rewards.Scoring`.
    """
    parts = [_parts(*one, settings) for one in zip(queries, prompts, labels, strict=True)]
    logs = {name: [one[name] for one in parts] for name in parts[0]} if parts else {}
    rewards = logs.get("score", [])
    # Dynamic filtering wants scores in [0, 1]; the formula "if-rlvr" pays from -0.5 to 2.
    return {"rewards": rewards, "scores": [min(max(one, 0.0), 1.0) for one in rewards], "extra_logs": logs}


def _parts(query: Any, prompt: Any, label: Any, settings: dict[str, Any]) -> dict[str, float]:
    if isinstance(prompt, str) and opens_trace(prompt):
        settings = {**settings, "think": "prefilled"}
    found = score(_response(query, prompt), _row(label), read_scoring(**settings), prompt=prompt)
    return found.to_floats()


def _response(query: Any, prompt: Any) -> Any:
    """What follows the prompt; nothing where the prompt is not found, so that it is not taken for a response.

    OpenRLHF cuts long prompts from the left, so that a query can begin in the middle of its prompt.
    """
    if not isinstance(query, str) or not isinstance(prompt, str):
        return query
    if query.startswith(prompt):
        return query[len(prompt) :]
    before, found, response = query.partition(prompt[-_TAIL:])
    if found and prompt[:-_TAIL].endswith(before):
        return response
    warn_once("openrlhf prompt", "a query does not begin with its prompt: it earns nothing")
    return ""


def _row(label: Any) -> dict[str, Any]:
    try:
        row = json.loads(label)
    except (TypeError, ValueError, RecursionError):
        row = None
    return row if isinstance(row, dict) else {"answer": label}


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self._send(200, {"status": "ok"})

    def do_POST(self) -> None:
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal() or int(length) > _MAX_BODY:
            self.close_connection = True  # the body stays unread
            return self._send(413, {"error": f"a body of at most {_MAX_BODY} bytes, with Content-Length"})
        try:
            asked = json.loads(self.rfile.read(int(length)))
            batch = [list(asked[name]) for name in ("query", "prompts", "labels")]
            found = rewards_of(*batch, **self.server.settings)  # type: ignore[attr-defined]
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            return self._send(400, {"error": f"query, prompts, labels: lists of one length; {error!r}"})
        self._send(200, found)

    def _send(self, status: int, answer: dict[str, Any]) -> None:
        body = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """No line for every request of a training run."""


def main() -> None:
    """Serve rewards over HTTP until interrupted: POST {"query": [...], "prompts": [...], "labels": [...]}."""
    parser = argparse.ArgumentParser(prog="python -m riftk.rewards.openrlhf", description=main.__doc__)
    parser.add_argument("--host", default="127.0.0.1", help="0.0.0.0 for other machines")
    parser.add_argument("--port", type=int, default=5000, help="0: a free one")
    names = [field.name for field in fields(Scoring)]
    for name in names:
        parser.add_argument(f"--{name}", help=f"of riftk.rewards.Scoring; else $RIFTK_{name.upper()}")
    given = vars(parser.parse_args())
    settings = {name: given[name] for name in names}
    try:
        scoring = read_scoring(**settings)
    except ValueError as error:
        parser.error(str(error))
    with ThreadingHTTPServer((given["host"], given["port"]), _Handler) as server:
        server.settings = settings  # type: ignore[attr-defined]
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        print(f"rewards at http://{given['host']}:{server.server_port}, {scoring}", flush=True)
        with contextlib.suppress(KeyboardInterrupt):
            server.serve_forever()


if __name__ == "__main__":
    main()
