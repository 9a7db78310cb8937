"""Synthesis with an LLM behind a real server, one that fails: nothing lost, asked twice or told of a key."""

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

import pytest
from openai_server import ChatServer
from synth_server import FAULTS, Solver, french, problem
from test_synth import records_of

from riftk.constraints import parse_constraint
from riftk.data_synth import Budget, BudgetSpent, Prices, Rejected, SynthConfig, synthesize
from riftk.data_synth.llm_prompts import Exchange
from riftk.data_synth.rewriters import EXISTENCE, FORBIDDEN, FREQUENCY, LANGUAGE, NO_COMMA, WORDS
from riftk.data_synth.verification import judge
from riftk.engines.openai import OpenAIEngine
from riftk.rows import Row, read_jsonl, write_jsonl

BY_LLM = (LANGUAGE, EXISTENCE, FREQUENCY, FORBIDDEN, WORDS)
NAME = "TEST_KEY_OF_SYNTH"


@pytest.fixture(scope="module")
def problems(tmp_path_factory) -> str:
    path = tmp_path_factory.mktemp("problems") / "problems.jsonl"
    write_jsonl(path, map(problem, range(400)))
    return str(path)


def config_for(problems: str, **changes) -> SynthConfig:
    settings = {
        "num_rows": 80,
        "constraints": BY_LLM,
        "llm": "rewriter",
        "llm_words": True,
        "languages": ("fr", "en"),
        "window": 40,
        "seed": 3,
    }
    return SynthConfig(**{"problems": problems, **settings, **changes})


def engine_for(url: str, model: str = "sampler", **options) -> OpenAIEngine:
    settings = {"base_url": url, "batch_size": 16, "deadline": 1.0, "retries": 12, "backoff": 0.02}
    return OpenAIEngine(model, **{**settings, "think": "tags", "api_key_env": NAME, **options})


def run(config: SynthConfig, url: str, out: Path, **options):
    engine, llm = engine_for(url), engine_for(url, config.llm, think=None)
    try:
        return synthesize(config, engine, out, llm=llm, **options)
    finally:
        engine.close()
        llm.close()


# ----------------------------------------------------------------------------------- what is asked


def exchange(id: str, text: str, **args) -> Exchange:
    return Exchange(parse_constraint({"id": id, "args": args, "target": "reasoning"}), text, "12")


TRACE = "First, Anna has 10 pens, and 5 more make 10 + 5 = 15. She gives 3 away, so 12 are left in the end."


def test_a_word_limit_is_asked_for_below_itself_and_counted_in_words():
    asked = exchange(WORDS, TRACE, num_words=40).messages[0]["content"]
    assert "at most 33 words" in asked


def test_a_refused_answer_is_told_the_verdicts_own_reason():
    one = exchange(LANGUAGE, TRACE, language="fr")
    with pytest.raises(Rejected) as refused:
        one.read(TRACE)
    wrong = f"{refused.value.reason} ({refused.value.detail})"
    assert "identified as en" in wrong
    again = Exchange(one.constraint, TRACE, "12", refused=(TRACE, wrong), tries=1)
    assert [said["role"] for said in again.messages] == ["user", "assistant", "user"]
    assert wrong in again.messages[2]["content"]


@pytest.mark.parametrize(
    ("id", "args", "said", "reason"),
    [
        (
            FORBIDDEN,
            {"forbidden_words": ["first"]},
            TRACE.replace("First, ", "Now ").replace("3", "4"),
            "number",
        ),
        (
            FORBIDDEN,
            {"forbidden_words": ["first"]},
            f"Sure, here it is: {TRACE[7:]}",
            "words before the text",
        ),
        (WORDS, {"num_words": 90}, f'The original text is: "{TRACE}"', "words before the text"),
        (FORBIDDEN, {"forbidden_words": ["first"]}, "<answer>12</answer>", "answer tag"),
        (EXISTENCE, {"keywords": ["half"]}, f"{TRACE} Half of 24 is it.", "a number is new"),
        (WORDS, {"num_words": 12}, "Anna has 10 + 5 pens and gives some away.", "the result is lost"),
        (WORDS, {"num_words": 12}, TRACE, "not followed"),
        (EXISTENCE, {"keywords": ["half"]}, f"{TRACE} I use half, as the instruction says.", "talk about"),
    ],
)
def test_answers_that_change_more_than_they_should_are_refused(id, args, said, reason):
    with pytest.raises(Rejected) as refused:
        exchange(id, TRACE, **args).read(said)
    assert reason in str(refused.value)


def test_an_answer_behind_a_trace_of_its_own_is_found():
    text = TRACE.replace("First, ", "Now ")
    asked = exchange(FORBIDDEN, TRACE, forbidden_words=["first"])
    assert asked.read(f"<think>I leave it out.</think>\n{text}") == text


# ------------------------------------------------------------------------------------ the whole way


@pytest.mark.server
def test_an_llm_rewrites_what_no_rule_can_and_is_told_what_was_wrong(problems, tmp_path):
    with ChatServer(Solver()) as server:
        result = run(config_for(problems, num_constraints=(1, 2)), server.url, tmp_path / "out")
    rows = list(read_jsonl(result.dataset))
    tries = Counter(row["synth"]["llm_tries"] for row in rows)
    assert tries.keys() >= {1, 2}, "some at once, some after a refusal"
    asked = set()
    for data in rows:
        row = Row.from_dict(data)
        assert all(
            one.verdict.followed for one in judge(row.constraints, data["reasoning"], data["response"])
        )
        asked.update(constraint.id for constraint in row.constraints)
        if data["synth"]["llm_tries"]:
            assert data["synth"]["llm"] == "rewriter"
    assert asked == set(BY_LLM)
    kinds = [kind for kind in result.yields if " + " in kind]
    assert any(result.yields[kind].kept for kind in kinds)
    assert result.usage["rewriting"]["completion_tokens"] > 0


@pytest.mark.server
def test_a_failing_server_loses_nothing_and_is_asked_nothing_twice(problems, tmp_path, monkeypatch, capfd):
    monkeypatch.setenv(NAME, "sk-secret-of-the-test")
    solver = Solver(FAULTS)
    config = config_for(problems, attempts=2)
    with ChatServer(solver, hang=2.0) as server:
        result = run(config, server.url, tmp_path / "out")
        assert server.keys == {"Bearer sk-secret-of-the-test"}
    seeds = {record["item_id"] for record in read_jsonl(tmp_path / "out" / "seeds.jsonl")}
    outcomes = records_of(tmp_path / "out", "rewritten")
    assert {outcome["key"].partition("/")[0] for outcome in outcomes} == seeds
    assert len({outcome["key"] for outcome in outcomes}) == len(outcomes)
    kept = [outcome["key"].partition("/")[0] for outcome in outcomes if outcome["row"] is not None]
    assert len(set(kept)) == len(kept) == result.rows
    assert all(outcome["reason"] for outcome in outcomes if outcome["row"] is None)
    assert not any(outcome["reason"] == "the engine failed" for outcome in outcomes)
    # A question that hung was answered too late and is asked again; no other is answered twice.
    assert set(solver.answered.values()) == {1}
    said = capfd.readouterr()
    files = [path for path in (tmp_path / "out").rglob("*") if path.is_file()]
    assert not any(b"sk-secret" in path.read_bytes() for path in files)
    assert "sk-secret" not in said.out + said.err
    with ChatServer(Solver()) as server:
        run(config, server.url, tmp_path / "calm")
    for name in ("dataset.jsonl", "yields.json", "rl.jsonl"):
        assert (tmp_path / "out" / name).read_bytes() == (tmp_path / "calm" / name).read_bytes()


@pytest.mark.server
@pytest.mark.slow
def test_killed_ten_times_it_makes_the_same_dataset(problems, tmp_path):
    solver = Solver(FAULTS)
    with ChatServer(solver, hang=2.0, delay=0.05) as server:
        command = [sys.executable, __file__, server.url, problems, str(tmp_path / "killed")]
        kills, draws, rewritten = 0, random.Random(2), tmp_path / "killed" / "traces"
        while kills < 10:
            process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
            started = len(server.bodies)
            while process.poll() is None and len(server.bodies) < started + 1:
                time.sleep(0.01)
            time.sleep(draws.random() * 0.6)
            process.send_signal(signal.SIGKILL)
            assert process.wait() == -signal.SIGKILL, "it finished before it could be killed"
            kills += 1
        assert rewritten.exists()
        subprocess.run(command, check=True, stderr=subprocess.DEVNULL, timeout=300)
    with ChatServer(Solver()) as server:
        run(killed_config(problems), server.url, tmp_path / "whole")
    for name in ("dataset.jsonl", "yields.json"):
        assert (tmp_path / "killed" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


def killed_config(problems: str) -> SynthConfig:
    return config_for(problems, num_rows=400, attempts=2, window=64)


# ------------------------------------------------------------------------------------ cache and budget


@pytest.mark.server
def test_a_cache_serves_other_runs_for_nothing(problems, tmp_path):
    cache = tmp_path / "answers.sqlite"
    with ChatServer(Solver()) as server:
        first = run(config_for(problems), server.url, tmp_path / "first", cache=cache)
        asked = len(server.bodies)
        # Another filter is another run; what the LLM is asked is the same.
        second = run(config_for(problems, balance=1.5), server.url, tmp_path / "second", cache=cache)
        assert len(server.bodies) - asked == second.usage["sampling"]["requests"]
    assert first.usage["rewriting"]["from_cache"] == 0
    assert second.usage["rewriting"]["requests"] == 0
    assert second.usage["rewriting"]["from_cache"] == first.usage["rewriting"]["requests"] > 0


@pytest.mark.server
def test_a_budget_stops_the_run_and_a_higher_one_goes_on(problems, tmp_path):
    config = config_for(problems)
    with ChatServer(Solver()) as server:
        whole = run(config, server.url, tmp_path / "whole")
        prices = {"sampling": Prices(1.0, 2.0), "rewriting": Prices(3.0, 4.0)}
        with pytest.raises(BudgetSpent, match="the budget is spent"):
            run(config, server.url, tmp_path / "out", budget=Budget(tokens=4000))
        asked = len(server.bodies)
        with pytest.raises(BudgetSpent):
            run(config, server.url, tmp_path / "out", budget=Budget(tokens=4000))
        assert len(server.bodies) == asked, "what was stored counts"
        cost = Budget(**prices)
        done = run(config, server.url, tmp_path / "out", budget=cost)
    assert (tmp_path / "out" / "dataset.jsonl").read_bytes() == whole.dataset.read_bytes()
    used = done.usage
    wanted = sum(
        (used[role]["prompt_tokens"] * p.prompt + used[role]["completion_tokens"] * p.completion) / 1e6
        for role, p in prices.items()
    )
    assert used["cost"] == pytest.approx(wanted, abs=1e-6)
    with pytest.raises(ValueError, match="needs prices"):
        Budget(cost=1.0)


def test_a_configuration_that_needs_an_llm_says_so(problems, tmp_path):
    config = config_for(problems)
    with pytest.raises(ValueError, match="rewrites with rewriter"):
        synthesize(config, engine_for("http://127.0.0.1:9/v1"), tmp_path / "out")
    with pytest.raises(ValueError, match="llm_words needs an LLM"):
        SynthConfig(problems, constraints=(WORDS, NO_COMMA), llm_words=True)


def test_the_scripted_translation_is_french():
    notes = (
        "Okay. First, Anna has 10 pens, and 5 more make 10 + 5 = 15. Next, she gives 3 away, which leaves "
        "15 - 3 = 12. So, in the end, Anna has 12 pens."
    )
    assert exchange(LANGUAGE, notes, language="fr").read(french(notes)) == french(notes)


if __name__ == "__main__":  # for the test that kills it
    run(killed_config(sys.argv[2]), sys.argv[1], Path(sys.argv[3]))
    print(json.dumps({"done": os.getpid()}))
