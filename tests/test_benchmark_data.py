"""Benchmarks from the hub, a server on loopback in its place: at a revision, changed, gated, incomplete."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from riftk.benchmarks import load_benchmark
from riftk.benchmarks.mathif import DATASET, PARTS, PUBLISHED_SHA
from riftk.rows import read_jsonl

COMMITS = {"main": "a" * 40, "v1": "b" * 40}
CODES = {"gated": (403, "GatedRepo"), "no file": (404, "EntryNotFound"), "gone": (404, "RepoNotFound")}


class Hub:
    """Serves `contents[name]` of one data set as the hub does, or refuses with one of `CODES`."""

    def __init__(self) -> None:
        self.contents: dict[str, bytes] = {}
        self.refuses: str | None = None
        hub = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                hub.answer(self)

            do_HEAD = do_GET

            def log_message(self, *arguments: object) -> None:
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_port}"

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        revision, _, name = handler.path.partition("/resolve/")[2].partition("/")
        status, code, body = 200, None, self.contents.get(name, b"")
        if self.refuses or revision not in {*COMMITS, *COMMITS.values()}:
            status, code = CODES[self.refuses] if self.refuses else (404, "RevisionNotFound")
            body = b""
        handler.send_response(status)
        handler.send_header("Content-Length", str(len(body)))
        handler.send_header("X-Repo-Commit", COMMITS.get(revision, revision))
        handler.send_header("ETag", f'"{name}-{len(body)}"')
        if code:
            handler.send_header("X-Error-Code", code)
        handler.end_headers()
        if handler.command == "GET":
            handler.wfile.write(body)


@pytest.fixture
def hub(monkeypatch, tmp_path) -> Iterator[Hub]:
    served = Hub()
    threading.Thread(target=served.http.serve_forever, args=(0.05,), daemon=True).start()
    for name, value in (
        ("ENDPOINT", served.url),
        ("HUGGINGFACE_CO_URL_TEMPLATE", served.url + "/{repo_id}/resolve/{revision}/{filename}"),
        ("HF_HUB_OFFLINE", False),
        ("HF_HUB_CACHE", str(tmp_path / "cache")),
        ("HF_XET_CACHE", str(tmp_path / "xet")),
    ):
        monkeypatch.setattr(f"huggingface_hub.constants.{name}", value)
    yield served
    served.http.shutdown()
    served.http.server_close()


@pytest.fixture
def parts(benchmark_file) -> dict[str, bytes]:
    """MathIF's fifteen files."""
    records, place, found = list(read_jsonl(benchmark_file("mathif.jsonl"))), 0, {}
    for name in PARTS:
        size = 20 if name.startswith("aime") else 30
        lines = (json.dumps(record) + "\n" for record in records[place : place + size])
        found[name] = "".join(lines).encode()
        place += size
    return found


def test_the_commit_that_was_read_and_the_contents_hash_are_recorded(hub, parts):
    hub.contents = parts
    for name, commit in (("mathif", COMMITS["main"]), ("mathif:revision=v1", COMMITS["v1"])):
        details = load_benchmark(name).details
        assert details["dataset"] == f"{DATASET}@{commit}"
        assert (details["data_sha"], details["data"]) == (PUBLISHED_SHA, "as published")


def test_data_that_has_changed_is_refused_unless_its_revision_is_named(hub, parts):
    hub.contents = {**parts, "aime_triple.jsonl": parts["aime_triple.jsonl"].replace(b"Let", b"Now let")}
    with pytest.raises(ValueError, match=r"MathIF@a{40} is not the data set that was published .*--data-dir"):
        load_benchmark("mathif")
    assert load_benchmark("mathif:revision=v1").details["data"] == "not the published 420 rows"


@pytest.mark.parametrize(
    ("refuses", "said"),
    [
        (
            "gated",
            r"asks for your consent: give it on https://huggingface.co/datasets/TingchenFu/MathIF, log in",
        ),
        ("no file", r"could not be read from the hub .*put mathif.jsonl or its 15 files .* as --data-dir"),
        ("gone", r"could not be read from the hub .*give the folder as --data-dir"),
        (None, r"could not be read from the hub .*give the folder as --data-dir"),  # no such revision
    ],
)
def test_a_refusal_says_what_to_do(hub, refuses, said):
    hub.refuses = refuses
    with pytest.raises(FileNotFoundError, match=said):
        load_benchmark("mathif" if refuses else "mathif:revision=v9")


def test_a_folder_is_asked_for_nothing(hub, parts, tmp_path: Path):
    hub.refuses = "gone"
    for name, content in parts.items():
        (tmp_path / name).write_bytes(content)
    assert load_benchmark("mathif", data_dir=tmp_path).details["data"] == "as published"
