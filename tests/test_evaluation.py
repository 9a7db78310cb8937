"""Evaluation: what is counted, under which rules, and that a killed run loses and repeats nothing."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import tracemalloc
from dataclasses import replace
from pathlib import Path

import pytest
import random_model
import torch
from scripted import CAPITAL, COMMA, WORDS, ScriptedEngine, benchmark, row, says

from riftk.benchmarks import Benchmark
from riftk.constraints import parse_constraint
from riftk.engines import Generation, Sampling, load_engine
from riftk.evaluation import (
    evaluate,
    observations,
    overview,
    refresh,
    rescore,
    sample_files,
    score_sample,
    summarise,
)
from riftk.rows import Row, read_jsonl, write_jsonl
from riftk.statistics import proportion

BOTH = ("reasonif", "robust")
GOLDEN = Path(__file__).parent / "golden" / "reasonif_checks.jsonl"
SAMPLING = Sampling(temperature=1.0, top_p=0.95, max_tokens=64, seed=3)


def score(text: str, *constraints: tuple[str, str], finish: str = "stop", **options) -> dict:
    args = options.pop("args", {})
    generation = Generation(text, finish, 5, 40, **options)
    return score_sample(row("x", *constraints, **args), generation, rulebooks=BOTH, think="tags")


def verdicts(sample: dict) -> dict[str, list[bool]]:
    return {rules: [v["followed"] for v in judged] for rules, judged in sample["verdicts"].items()}


def test_a_record_holds_everything_that_was_found():
    sample = score(says(), (COMMA, "reasoning"), (CAPITAL, "response"))
    assert sample["resps"] == [[says()]]
    assert sample["reasoning"] == "four and five together make nine"
    assert sample["response"] == "THE ANSWER IS <answer>9</answer>"
    assert (sample["status"], sample["finish_reason"]) == ("closed", "stop")
    assert (sample["correct"], sample["extracted"]) == (True, "9")
    assert sample["reasoning_words"] == 6
    assert [c["id"] for c in sample["constraints"]] == [COMMA, CAPITAL]
    assert json.loads(json.dumps(sample)) == sample


def test_answer_tags_do_not_count_as_small_letters():
    text = "<think>add them up and see</think>THE ANSWER TO THIS QUESTION IS <answer>NINE APPLES</answer>"
    assert verdicts(score(text, (CAPITAL, "response"))) == {"reasonif": [True], "robust": [True]}


def test_each_constraint_is_judged_on_its_own_target_in_its_own_place():
    text = "<think>FOUR, AND FIVE TOGETHER MAKE NINE</think>the answer is nine apples as one can see"
    sample = score(
        text, (COMMA, "response"), (CAPITAL, "reasoning"), (COMMA, "reasoning"), (CAPITAL, "response")
    )
    assert verdicts(sample) == {rules: [True, True, False, False] for rules in BOTH}


@pytest.mark.parametrize(
    ("text", "finish", "reason", "published"),
    [
        ("<think>\nfour and five together make", "length", "the reasoning was cut off after 40 tokens", True),
        ("<think>\nfour and five together make", "stop", "the reasoning was never closed", True),
        ("four and five together make nine", "stop", "there is no reasoning", True),
        ("<think>\n</think>\n\nfour and five together make nine", "stop", "the reasoning is empty", False),
        ("", "stop", "the reasoning is empty", False),
    ],
)
def test_a_trace_that_is_not_there_is_not_followed_under_robust_rules(text, finish, reason, published):
    sample = score(text, (COMMA, "reasoning"), finish=finish)
    [verdict] = sample["verdicts"]["robust"]
    assert not verdict["followed"]
    assert verdict["reason"] == reason
    seen = dict(observations(sample))
    assert seen["reasoning_ifs,robust"] == 0.0  # and it stays in the denominator
    assert "reasoning_ifs_closed,robust" not in seen
    # The published evaluator takes an output without both tags for the trace, and finds no comma in it.
    assert sample["verdicts"]["reasonif"][0]["followed"] is published


def test_a_response_that_was_cut_off_is_not_followed_but_its_trace_may_be():
    text = "<think>four and five together make nine</think>THE ANSWER TO THIS QUES"
    sample = score(text, (COMMA, "reasoning"), (CAPITAL, "response"), finish="length")
    assert verdicts(sample)["robust"] == [True, False]
    assert sample["verdicts"]["robust"][1]["reason"] == "the response was cut off after 40 tokens"
    seen = dict(observations(sample))
    assert seen["truncated,none"] == 1
    assert seen["unclosed,none"] == 0


def test_an_error_is_counted_and_never_followed_or_correct():
    sample = score("", (COMMA, "reasoning"), finish="error", error="server answered 500")
    assert verdicts(sample) == {"reasonif": [False], "robust": [False]}
    assert sample["correct"] is False
    seen = dict(observations(sample))
    assert (seen["errored,none"], seen["empty,none"], seen["accuracy,robust"]) == (1, 0, 0)
    assert "reasoning_words,none" not in seen


def test_a_trace_that_comes_as_a_field_is_cut_like_one_in_tags():
    args = {"num_words": 4}
    sample = score(
        "the answer is <answer>9</answer>", (WORDS, "reasoning"), args=args, reasoning_content="just nine"
    )
    assert (sample["reasoning"], sample["response"]) == ("just nine", "the answer is <answer>9</answer>")
    assert verdicts(sample)["reasonif"] == [True]


def test_the_published_cut_is_the_published_one():
    # Two blocks: the published evaluator judges the first of them, riftk all of the reasoning.
    text = "<think>four and five together make nine</think>, or <think>ten, rather</think>nine"
    assert verdicts(score(text, (COMMA, "reasoning"))) == {"reasonif": [True], "robust": [False]}


def test_stored_outputs_are_scored_as_the_published_evaluator_scores_them():
    checked = 0
    for case in read_jsonl(GOLDEN):
        if case["official"] not in (True, False):
            continue  # a configuration error: no row can carry it
        constraint = {"id": case["constraint"], "args": case["args"] or {}, "target": "reasoning"}
        generation = Generation(f"<think>\n{case['text']}\n</think>\n\n1", "stop")
        asked = Row("x", (), "1", "number", (parse_constraint(constraint),))
        sample = score_sample(asked, generation, rulebooks=BOTH, think="tags")
        assert sample["verdicts"]["reasonif"][0]["followed"] is case["official"], case["case"]
        checked += 1
    assert checked >= 99


def test_an_item_follows_when_all_its_constraints_do():
    text = "<think>four and five together make nine so that is it</think>nine"
    sample = score(text, (COMMA, "reasoning"), (CAPITAL, "reasoning"))
    seen = dict(observations(sample))
    assert seen["reasoning_ifs,robust"] == 0
    assert seen[f"reasoning_ifs/{COMMA},robust"] == 1
    assert seen[f"reasoning_ifs/{CAPITAL},robust"] == 0
    assert seen["reasoning_joint,robust"] == 0
    assert seen["accuracy_instructed,robust"] == seen["accuracy,robust"] == 1
    assert "accuracy_plain,robust" not in seen
    assert "response_ifs,robust" not in seen


def test_items_without_a_gold_answer_have_no_accuracy():
    bare = row("x", (COMMA, "reasoning"), answer="")
    sample = score_sample(bare, Generation(says(), "stop"), rulebooks=BOTH, think="tags")
    assert sample["correct"] is None
    assert not any("accuracy" in key or "joint" in key for key, _ in observations(sample))


def half_right(item: str) -> str:
    """Odd items: commas and a wrong answer."""
    return says() if int(item[1:]) % 2 == 0 else says("four, and five, make ten or so", "10")


def test_results_have_the_shape_that_readers_of_lm_eval_know(tmp_path):
    results = evaluate(ScriptedEngine(half_right), benchmark(), tmp_path, SAMPLING)
    assert json.loads((tmp_path / "results.json").read_text()) == results
    figures = results["results"]["small"]
    assert figures["reasoning_ifs,reasonif"] == figures["reasoning_ifs,robust"] == 0.5
    assert figures["accuracy,robust"] == figures["accuracy_plain,robust"] == 0.5
    assert figures["reasoning_joint,robust"] == 0.5
    assert figures["response_ifs,robust"] == 1.0
    assert figures[f"reasoning_ifs/{COMMA},robust"] == 0.5
    assert figures["accuracy_stderr,robust"] == pytest.approx((0.25 / 17) ** 0.5)
    assert figures["truncated,none"] == 0
    assert results["estimates"]["small"]["reasoning_ifs,robust"] == proportion(3, 6).to_dict()
    assert results["counts"]["small"] == {
        "samples": 18, "items": 18, "truncated": 0, "unclosed": 0, "no_reasoning": 0, "empty": 0, "errored": 0
    }  # fmt: skip
    assert results["n-samples"]["small"] == {"original": 18, "effective": 18}
    assert results["configs"]["small"]["rules"] == ["reasonif", "robust"]
    assert results["configs"]["small"]["sampling"]["top_p"] == 0.95
    assert "answer_tags" in results["configs"]["small"]
    for key in (
        "versions",
        "date",
        "git_hash",
        "chat_template_sha",
        "checker_version",
        "packages",
        "model_name",
    ):
        assert key in results
    assert results["smallest_difference"]["small"]["accuracy,robust"] > 0.3


def test_started_again_it_asks_for_what_is_missing_only(tmp_path):
    whole = evaluate(ScriptedEngine(half_right), benchmark(), tmp_path / "a", SAMPLING)

    def dies(item: str) -> str:
        if item == "c3":
            raise KeyboardInterrupt
        return half_right(item)

    out = tmp_path / "b"
    with pytest.raises(KeyboardInterrupt):
        evaluate(ScriptedEngine(dies), benchmark(), out, SAMPLING)
    path = out / "samples_small.jsonl"
    assert len(path.read_text().splitlines()) == 9
    with pytest.raises(ValueError, match="holds 9 of 18 samples; run the same command again"):
        refresh(out)
    with path.open("a") as file:  # a line that a kill has cut off
        file.write('{"doc_id": 9, "item_id": "c3", "promp')
    engine = ScriptedEngine(half_right)
    results = evaluate(engine, benchmark(), out, SAMPLING)
    assert engine.asked == [f"c{n}#0" for n in (3, 4, 5)] + [f"r{n}#0" for n in range(6)]
    assert {**results, "date": 0} == {**whole, "date": 0}
    assert path.read_bytes() == (tmp_path / "a" / "samples_small.jsonl").read_bytes()
    # A finished folder: nothing is generated, and the results are the same, dates included.
    engine = ScriptedEngine(half_right)
    assert evaluate(engine, benchmark(), out, SAMPLING) == results
    assert engine.asked == []


def test_a_folder_belongs_to_one_configuration(tmp_path):
    evaluate(ScriptedEngine(half_right), benchmark(), tmp_path, SAMPLING)
    hotter = Sampling(temperature=0.5, top_p=0.95, max_tokens=64, seed=3)
    with pytest.raises(
        ValueError, match=r"sampling.temperature: 1.0 -> 0.5\); give another folder, or delete it"
    ):
        evaluate(ScriptedEngine(half_right), benchmark(), tmp_path, hotter)
    with pytest.raises(ValueError, match=r"engine.model: 'scripted' -> 'other'"):
        evaluate(ScriptedEngine(half_right, "other"), benchmark(), tmp_path, SAMPLING)
    with pytest.raises(ValueError, match="items_sha"):
        evaluate(ScriptedEngine(half_right), benchmark(plain=5), tmp_path, SAMPLING)
    with pytest.raises(ValueError, match="same name"):
        evaluate(ScriptedEngine(half_right), [benchmark(), benchmark()], tmp_path / "other", SAMPLING)
    with pytest.raises(FileNotFoundError, match="no evaluation folder"):
        refresh(tmp_path / "nothing")


@pytest.mark.parametrize(("cut", "told"), [(2, False), (3, True)])
def test_the_overview_says_when_the_limit_cut_off_much(tmp_path, cut, told):
    def script(item: str) -> Generation:
        reason = "length" if item in [f"p{number}" for number in range(cut)] else "stop"
        return Generation(says(), reason, 5, 64)

    items = benchmark(plain=20, instructed=0)
    shown = overview(evaluate(ScriptedEngine(script), items, tmp_path, SAMPLING))
    assert (f"mind that {cut} of 20 completions were cut off at max_tokens 64" in shown) == told


def test_greedily_a_seed_decides_nothing(tmp_path):
    greedy, sampled = (replace(SAMPLING, temperature=temperature) for temperature in (0.0, 1.0))
    for name, sampling in {"greedy": greedy, "sampled": sampled}.items():
        evaluate(ScriptedEngine(lambda item: says()), benchmark(), tmp_path / name, sampling)
    evaluate(ScriptedEngine(lambda item: says()), benchmark(), tmp_path / "greedy", replace(greedy, seed=4))
    with pytest.raises(ValueError, match=r"sampling\.seed: 3 -> 4"):
        evaluate(
            ScriptedEngine(lambda item: says()), benchmark(), tmp_path / "sampled", replace(sampled, seed=4)
        )


def test_two_processes_do_not_write_one_folder(tmp_path):
    def nested(item: str) -> str:
        evaluate(ScriptedEngine(half_right), benchmark(), tmp_path, SAMPLING)
        return says()

    with pytest.raises(ValueError, match="another process is writing"):
        evaluate(ScriptedEngine(nested), benchmark(), tmp_path, SAMPLING)


def test_any_text_survives_the_file(tmp_path):
    odd = "<think>lone \ud800 surrogate \u2028 and \x00 and \r\n \x85 ends</think>数 <answer>9</answer>"
    evaluate(ScriptedEngine(lambda item: odd), benchmark(plain=2, instructed=1), tmp_path, SAMPLING)
    samples = list(read_jsonl(tmp_path / "samples_small.jsonl"))
    assert len(samples) == 4
    assert {sample["resps"][0][0] for sample in samples} == {odd}
    assert "数" in (tmp_path / "samples_small.jsonl").read_text(encoding="utf-8")


def test_several_samples_per_item_widen_the_interval(tmp_path):
    several = evaluate(ScriptedEngine(half_right), benchmark(), tmp_path, SAMPLING, samples_per_item=4)
    got = several["estimates"]["small"]["accuracy,robust"]
    assert several["counts"]["small"] | {"samples": 72, "items": 18} == several["counts"]["small"]
    assert (got["value"], got["n"]) == (0.5, 72)
    assert got["high"] - got["low"] > 0.4  # that of 18 independent items, not of 72
    assert several["smallest_difference"]["small"]["accuracy,robust"] > 0.3


def test_stored_outputs_are_scored_again_from_their_raw_text(tmp_path):
    evaluate(ScriptedEngine(half_right), benchmark(), tmp_path, SAMPLING)
    path = sample_files(tmp_path)["small"]
    stored = list(read_jsonl(path))
    assert list(rescore(path)) == stored
    spoiled = [
        {**s, "verdicts": {rules: [] for rules in BOTH}, "correct": None, "reasoning": "", "status": "none"}
        for s in stored
    ]
    write_jsonl(path, spoiled)
    assert list(rescore(path)) == stored
    assert [s["verdicts"].keys() for s in rescore(path, ["robust"])] == [{"robust": 0}.keys()] * 18


def test_samples_are_summarised_in_little_memory():
    sample = score(says(), (COMMA, "reasoning"))

    def stream(n: int):
        for number in range(n):
            yield {**sample, "item_id": f"item-{number}", "correct": number % 2 == 0}

    tracemalloc.start()
    summary = summarise(stream(10_000))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert summary["counts"]["samples"] == 10_000
    assert summary["estimates"]["accuracy,robust"]["value"] == 0.5
    assert peak < 80e6  # a few numbers per sample, and the draws of the bootstrap


DIES = """
import os, signal, sys, time
from pathlib import Path
from scripted import benchmark
from riftk.engines import Sampling, load_engine
from riftk.evaluation import evaluate
engine = load_engine(model=sys.argv[1], batch_size=4, device="cpu")
generate = engine.generate

def killed(*arguments):
    for number, generated in enumerate(generate(*arguments)):
        if number == 6:  # in the middle of a batch, the samples before it are stored
            while (Path(sys.argv[2]) / "samples_small.jsonl").read_bytes().count(b"\\n") < 6:
                time.sleep(0.01)
            os.kill(os.getpid(), signal.SIGKILL)
        yield generated

engine.generate = killed
evaluate(engine, benchmark(plain=8, instructed=4), sys.argv[2], Sampling(1.0, 0.95, 60, seed=1))
"""


def test_killed_while_generating_and_started_again_it_is_the_same_run(tmp_path):
    model = random_model.build(tmp_path / "model")
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(Path(__file__).parent)}
    command = [sys.executable, "-c", DIES, str(model), str(tmp_path / "killed")]
    killed = subprocess.run(command, env=environment, stderr=subprocess.DEVNULL, check=False)
    assert killed.returncode == -signal.SIGKILL
    assert sorted(file.name for file in (tmp_path / "killed").iterdir()) == [
        "config.json",
        "samples_small.jsonl",
    ]

    torch.set_num_threads(1)
    engine = load_engine(model=str(model), batch_size=4, device="cpu")
    results, samples = {}, {}
    for run, kept in (("whole", 0), ("killed", 6)):
        path = tmp_path / run / "samples_small.jsonl"
        assert (len(path.read_text().splitlines()) if path.exists() else 0) == kept
        items = benchmark(plain=8, instructed=4)
        results[run] = evaluate(engine, items, tmp_path / run, Sampling(1.0, 0.95, 60, seed=1))
        samples[run] = path.read_bytes()
    assert samples["killed"] == samples["whole"]
    when = {"date": 0, "git_hash": None}
    assert {**results["killed"], **when} == {**results["whole"], **when}


def test_what_was_generated_is_stored_also_when_generation_ends_badly(tmp_path):
    def dies(item: str) -> str:
        if item == "r5":
            raise RuntimeError("out of memory")
        return half_right(item)

    with pytest.raises(RuntimeError, match="out of memory"):
        evaluate(ScriptedEngine(dies), benchmark(), tmp_path, SAMPLING)
    assert len(list(read_jsonl(tmp_path / "samples_small.jsonl"))) == 17


def test_scoring_goes_on_beside_generation(tmp_path):
    def waits(item: str) -> str:
        """The second sample comes once the first is stored: it never would if one waited for the other."""
        path = tmp_path / "samples_small.jsonl"
        while item == "p1" and not path.read_bytes():
            time.sleep(0.01)
        return says()

    evaluate(ScriptedEngine(waits), benchmark(2, 1), tmp_path, SAMPLING)


def test_a_failure_of_scoring_stops_the_run(tmp_path):
    class Engine(ScriptedEngine):
        def count_tokens(self, text: str) -> int:
            raise OSError("no tokenizer")

    engine = Engine(half_right)
    with pytest.raises(OSError, match="no tokenizer"):
        evaluate(engine, benchmark(400, 400), tmp_path, SAMPLING)
    assert len(engine.asked) < 1200


def test_a_benchmark_without_instructions_has_accuracy_only(tmp_path):
    plain = Benchmark("plain", tuple(row(f"p{n}") for n in range(4)))
    results = evaluate(ScriptedEngine(half_right), plain, tmp_path, SAMPLING)
    assert results["results"]["plain"]["accuracy,robust"] == 0.5
    assert not any("ifs" in key for key in results["results"]["plain"])
