"""A real HTTP server on loopback that speaks chat completions, well or badly, for tests of the engine."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

FAULTS = ("429", "500", "hang", "cut", "nonsense", "page", "no choices", "no message", "odd finish")
Answer = Mapping[str, Any] | str  # fields of the first choice's message and of the answer, or a fault


def message(content: str | None, finish_reason: str | None = "stop", **fields: Any) -> dict[str, Any]:
    return {"content": content, "finish_reason": finish_reason, **fields}


class ChatServer:
    """Answers each request with `script(body, number)`, as many at once as come.

    Args:
        script: gets the request's JSON and how many came before it; gives `message(...)`, one of `FAULTS`,
            or another refusal, e.g. "401 no such key".
        continues: whether it knows `continue_final_message`.
        hang: seconds that "hang" takes.
    """

    def __init__(
        self,
        script: Callable[[dict[str, Any], int], Answer],
        *,
        continues: bool = False,
        hang: float = 30.0,
        delay: float = 0.0,
    ) -> None:
        self.script, self.continues, self.hang, self.delay = script, continues, hang, delay
        self.bodies: list[dict[str, Any]] = []
        self.keys: set[str | None] = set()
        self.in_flight = self.most_in_flight = 0
        self._lock = threading.Lock()
        self._stopped = threading.Event()
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                with server._lock:
                    number = len(server.bodies)
                    server.bodies.append(body)
                    server.keys.add(self.headers.get("Authorization"))
                    server.in_flight += 1
                    server.most_in_flight = max(server.most_in_flight, server.in_flight)
                try:
                    time.sleep(server.delay)
                    server._answer(self, body, server.script(body, number))
                except ConnectionError:  # the client has given up, or was killed
                    self.close_connection = True
                finally:
                    with server._lock:
                        server.in_flight -= 1

            def log_message(self, *arguments: Any) -> None:
                pass

        self._http = _Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._http.server_port}/v1"

    def __enter__(self) -> ChatServer:
        threading.Thread(target=self._http.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *_: Any) -> None:
        self._stopped.set()
        self._http.shutdown()
        self._http.server_close()

    def _answer(self, handler: BaseHTTPRequestHandler, body: dict[str, Any], answer: Answer) -> None:
        if answer == "hang":
            self._stopped.wait(self.hang)
            handler.close_connection = True
        elif answer == "page":
            _send(handler, 200, b"<html>The service is starting</html>", "text/html")
        elif answer == "nonsense":
            _send(handler, 200, b'{"choices": [{"mess')
        elif answer == "cut":
            _send(handler, 200, json.dumps(self._completion(body, message("four"))).encode(), cut=True)
        elif isinstance(answer, str) and answer[0].isdecimal():
            status, _, said = answer.partition(" ")
            said = f"{said} (you came with {handler.headers.get('Authorization')})"
            _send(handler, int(status), json.dumps({"error": {"message": said}}).encode())
        else:
            _send(handler, 200, json.dumps(self._completion(body, answer)).encode())

    def _completion(self, body: dict[str, Any], answer: Answer) -> dict[str, Any]:
        if answer == "no choices":
            return {"object": "chat.completion", "choices": []}
        if answer == "no message":
            return {"object": "chat.completion", "choices": [{"index": 0, "finish_reason": "stop"}]}
        fields = dict(message("four", None) if answer == "odd finish" else answer)
        usage = fields.pop("usage", {})
        choice = {"index": 0, "finish_reason": fields.pop("finish_reason")}
        if "logprobs" in fields:
            choice["logprobs"] = fields.pop("logprobs")
        choice["message"] = {"role": "assistant", **fields}
        words = sum(len(said["content"].split()) + 4 for said in body["messages"])
        if body.get("continue_final_message") and self.continues:
            words -= 4  # neither an end of turn nor the beginning of another
        counted = {"prompt_tokens": words, "completion_tokens": len((fields["content"] or "").split())}
        return {
            "id": "chatcmpl-0",
            "object": "chat.completion",
            "created": 0,
            "model": body["model"],
            "choices": [choice] * body.get("n", 1),
            "usage": None if usage is None else {**counted, **usage},
        }


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128  # connections that wait to be accepted; five, as usual, are dropped at a burst


def _send(
    handler: BaseHTTPRequestHandler,
    status: int,
    body: bytes,
    kind: str = "application/json",
    cut: bool = False,
) -> None:
    handler.send_response(status)
    handler.send_header("Content-Type", kind)
    handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body[: len(body) // 2] if cut else body)
    if cut:
        handler.close_connection = True
