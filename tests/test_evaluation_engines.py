"""`riftk eval` on a real server: killed and started again, out of tokens, with errors, and before it."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from openai_server import FAULTS, ChatServer, message
from scripted import ScriptedEngine, benchmark, row, says

from riftk.benchmarks import Benchmark
from riftk.engines import Generation, Sampling, load_engine
from riftk.evaluation import TokensSpent, check_errors, configuration, evaluate, preview
from riftk.rows import read_jsonl, write_jsonl

SAMPLING = Sampling(temperature=1.0, top_p=0.95, max_tokens=64, seed=3)


def answered(body: dict[str, Any], number: int):
    """A completion that depends on the prompt and the seed only, like a draw."""
    said = "four and five" if body.get("seed", 0) % 3 else "four, and five"
    return message(says(said, "9" if body.get("seed", 0) % 2 else "10"))


def item(body: dict[str, Any]) -> str:
    return body["messages"][0]["content"].removeprefix("Question ")


def asked_items(server: ChatServer) -> set[str]:
    return {item(body) for body in server.bodies}


def riftk_eval(server: ChatServer, rows: Path, out: Path, *arguments: str) -> subprocess.Popen:
    command = [sys.executable, "-m", "riftk.cli", "eval", "--engine", "openai", "--model", "m"]
    command += ["--base-url", server.url, "--benchmarks", str(rows), "--out", str(out)]
    environment = {**os.environ, "OPENAI_API_KEY": "sk-very-secret"}
    return subprocess.Popen(
        [*command, "--retries", "1", *arguments],
        env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


@pytest.fixture
def rows(tmp_path) -> Path:
    """A file of 40 rows, the benchmark's name is "items"."""
    write_jsonl(tmp_path / "items.jsonl", (each.to_dict() for each in benchmark(20, 10).rows))
    return tmp_path / "items.jsonl"


def lines(path: Path) -> int:
    return len(path.read_bytes().splitlines()) if path.exists() else 0


def test_killed_at_random_and_started_again_it_asks_for_no_stored_sample(rows, tmp_path):
    with ChatServer(answered) as quick:
        whole = riftk_eval(quick, rows, tmp_path / "whole")
        assert whole.wait() == 0, whole.stderr.read()
    out, moments = tmp_path / "killed", random.Random(5)
    samples, stored = out / "samples_items.jsonl", set()
    for least in (0, 6, 18):
        with ChatServer(answered, delay=0.4) as server:
            killed = riftk_eval(server, rows, out, "--batch-size", "4")
            while not server.bodies or lines(samples) < max(least, len(stored) + 1):
                time.sleep(0.01)
            time.sleep(moments.uniform(0, 0.3))
            killed.send_signal(signal.SIGKILL)
            killed.wait()
            assert not asked_items(server) & stored
        stored = {sample["item_id"] for sample in read_jsonl(samples)}
        assert least <= len(stored) < 40
    with ChatServer(answered) as server:
        again = riftk_eval(server, rows, out)
        assert again.wait() == 0, again.stderr.read()
        assert len(server.bodies) == len(asked_items(server)) == 40 - len(stored)
        assert not asked_items(server) & stored
    results = [json.loads((folder / "results.json").read_text()) for folder in (tmp_path / "whole", out)]
    for result in results:
        del result["date"], result["git_hash"], result["engine"]["base_url"], result["engine"]["concurrency"]
    assert results[0] == results[1]
    assert samples.read_bytes() == (tmp_path / "whole" / "samples_items.jsonl").read_bytes()
    for file in out.iterdir():
        assert "secret" not in file.read_text()


def test_every_fault_is_tried_again_counted_and_asked_for_by_the_next_start(rows, tmp_path):
    failing = dict(zip(("p0", "p1", "c1", "c2", "c3", "r1", "r2", "r3", "r4"), FAULTS, strict=True))
    out = tmp_path / "out"

    def ill(body: dict[str, Any], number: int):
        return failing.get(item(body)) or answered(body, number)

    with ChatServer(ill) as server:
        failed = riftk_eval(server, rows, out, "--deadline", "4")
        _, said = failed.communicate()
        assert failed.returncode == 2
        assert "9 of 40 samples are errors, more than 5%" in said
        asked = Counter(item(body) for body in server.bodies)
        assert {name: asked[name] for name in failing} == dict.fromkeys(failing, 2)  # --retries 1
        before = len(server.bodies)
        lenient = riftk_eval(server, rows, out, "--no-retry-errors", "--max-error-share", "0.3")
        assert lenient.wait() == 0
        assert len(server.bodies) == before
    results = json.loads((out / "results.json").read_text())
    assert results["counts"]["items"]["errored"] == results["outcomes"]["items"]["errored"] == 9
    denominators = {"accuracy": 40, "reasoning_ifs": 10, "response_ifs": 10}
    for metric, n in denominators.items():  # nothing is dropped
        assert results["estimates"]["items"][f"{metric},robust"]["n"] == n
    errored = [sample for sample in read_jsonl(out / "samples_items.jsonl") if sample["error"]]
    assert {sample["item_id"] for sample in errored} == set(failing)
    for sample in errored:  # nothing is followed or right
        assert not any(verdict["followed"] for judged in sample["verdicts"].values() for verdict in judged)
        assert (sample["correct"], sample["resps"]) == (False, [[""]])
    with ChatServer(answered) as server:
        again = riftk_eval(server, rows, out)
        _, said = again.communicate()
        assert again.returncode == 0, said
        assert "samples_items.jsonl: 9 samples are made again" in said
        assert Counter(item(body) for body in server.bodies) == dict.fromkeys(failing, 1)
    results = json.loads((out / "results.json").read_text())
    assert results["counts"]["items"] | {"errored": 0, "samples": 40} == results["counts"]["items"]


def test_a_dry_run_asks_nothing_and_writes_nothing(rows, tmp_path):
    with ChatServer(answered) as server:
        dry = riftk_eval(
            server, rows, tmp_path / "out", "--dry-run", "--price-in", "2", "--price-out", "10",
            "--max-tokens", "1000",
        )  # fmt: skip
        printed, said = dry.communicate()
        assert dry.returncode == 0, said
        assert server.bodies == []
    assert not (tmp_path / "out").exists()
    assert "[user] Question p7" in printed
    assert "requests: 40\n" in printed
    assert "completion tokens: at most 40,000" in printed
    assert "cost: at most 0.40" in printed


def test_expected_reasoning_that_does_not_come_stops_the_run_before_it_begins(rows, tmp_path):
    with ChatServer(lambda body, number: message("nine")) as server:
        refused = riftk_eval(server, rows, tmp_path / "out", "--think", "tags")
        _, said = refused.communicate()
        assert refused.returncode == 2
        assert "without any reasoning" in said
        assert "Traceback" not in said
        assert len(server.bodies) == 1
    assert not (tmp_path / "out").exists()


def test_the_probe_is_recorded_and_made_once(tmp_path):
    with ChatServer(answered) as server:
        engine = load_engine("openai", model="m", base_url=server.url)
        try:
            results = evaluate(engine, benchmark(2, 1), tmp_path, SAMPLING)
            assert len(server.bodies) == 5
            assert evaluate(engine, benchmark(2, 1), tmp_path, SAMPLING) == results
            assert len(server.bodies) == 5
        finally:
            engine.close()
    assert results["probe"]["reasoning"] == "text"
    assert results["probe"]["usage"] == "reported"
    assert results["engine"]["base_url"] == server.url


def test_tokens_that_are_spent_stop_a_run_that_then_goes_on(tmp_path):
    whole = evaluate(ScriptedEngine(_scripted), benchmark(), tmp_path / "whole", SAMPLING)
    budget = 7 * (5 + len(says().split()))  # of seven samples with their prompts
    for _ in range(2):
        engine = ScriptedEngine(_scripted)
        with pytest.raises(TokensSpent, match=f"{budget:,} tokens are spent"):
            evaluate(engine, benchmark(), tmp_path / "out", SAMPLING, max_total_tokens=budget)
        assert len(engine.asked) == 7
        assert not (tmp_path / "out" / "results.json").exists()
    results = evaluate(
        ScriptedEngine(_scripted), benchmark(), tmp_path / "out", SAMPLING, max_total_tokens=budget
    )
    assert {**results, "date": 0} == {**whole, "date": 0}


def _scripted(item: str) -> str:
    return says()


def test_tokens_cannot_be_kept_to_where_none_are_counted(tmp_path):
    blind = ScriptedEngine(lambda item: Generation(says(), "stop"))
    with pytest.raises(ValueError, match="reports no token counts"):
        evaluate(blind, benchmark(), tmp_path, SAMPLING, max_total_tokens=100)
    failing = ScriptedEngine(lambda item: Generation("", "error", error="gone"))
    results = evaluate(failing, benchmark(), tmp_path / "failing", SAMPLING, max_total_tokens=100)
    with pytest.raises(ValueError, match="18 of 18 samples are errors"):
        check_errors(results, 0.05)
    check_errors(results, 1.0)


class Shuffled(ScriptedEngine):
    """Finishes the last request first."""

    def generate(self, requests, *arguments):
        return super().generate(list(reversed(requests)), *arguments)


def test_a_complete_file_does_not_tell_in_which_order_work_was_done(tmp_path):
    script = lambda item: says(answer="9" if item < "p3" else "8")  # noqa: E731
    for name, engine in (("a", ScriptedEngine(script)), ("b", Shuffled(script))):
        evaluate(engine, benchmark(), tmp_path / name, SAMPLING, samples_per_item=3)
    first, second = (tmp_path / name / "samples_small.jsonl" for name in "ab")
    assert first.read_bytes() == second.read_bytes()
    assert [(s["doc_id"], s["sample"]) for s in read_jsonl(first)][:4] == [(0, 0), (0, 1), (0, 2), (1, 0)]


def test_a_preview_counts_prompts_and_the_most_tokens():
    engine = ScriptedEngine(says)
    seen = preview(engine, [benchmark(2, 1)], SAMPLING, samples_per_item=3, price_in=1, price_out=2)
    assert len(seen.requests) == 12
    assert (seen.prompt_tokens, seen.counted, seen.completion_tokens) == (24, True, 12 * 64)
    assert seen.cost == pytest.approx((24 + 2 * 12 * 64) / 1e6)
    assert engine.asked == []
    bare = Benchmark("bare", (row("p0"),))
    assert preview(engine, [bare], SAMPLING).cost is None


def test_the_commit_is_riftks_own_or_none(tmp_path, monkeypatch):
    def git(*arguments: str) -> None:
        identity = ["-c", "user.name=n", "-c", "user.email=e@example.org"]
        subprocess.run(["git", "-C", tmp_path, *identity, *arguments], check=True, capture_output=True)

    module = tmp_path / "riftk" / "evaluation" / "configuration.py"
    module.parent.mkdir(parents=True)
    module.write_text("x = 1\n")
    monkeypatch.setattr(configuration, "__file__", str(module))
    assert configuration._git_hash() is None
    git("init", "-q")
    git("add", ".")
    git("commit", "-q", "-m", "one")
    clean = configuration._git_hash()
    assert clean
    assert "dirty" not in clean
    module.write_text("x = 2\n")
    assert configuration._git_hash() == f"{clean}-dirty"
    installed = tmp_path / "venv" / "site-packages" / "riftk" / "evaluation" / "configuration.py"
    installed.parent.mkdir(parents=True)
    installed.write_text("x = 1\n")
    monkeypatch.setattr(configuration, "__file__", str(installed))
    assert configuration._git_hash() is None
