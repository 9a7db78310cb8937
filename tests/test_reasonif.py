"""ReasonIF: forms and variants against the published file, word limits and their calibration, two turns."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from openai_server import ChatServer, message
from scripted import CAPITAL, COMMA, WORDS, ScriptedEngine, row, says

from riftk.benchmarks import Benchmark, load_benchmark, reasonif
from riftk.benchmarks.limits import base_of, effort_of, inherited_limits, read_limits
from riftk.constraints import parse_constraint
from riftk.engines import Generation, Sampling
from riftk.evaluation import evaluate, limits_record, measure_limits, observations, score_sample
from riftk.evaluation.groups import Item, correlations
from riftk.rows import RowError, read_jsonl, write_jsonl

SAMPLING = Sampling(temperature=1.0, top_p=0.95, max_tokens=64, seed=3)
GOLDEN = Path(__file__).parent / "golden"
RECORD = {
    "source": "gsm8k",
    "hf_id": "openai/gsm8k",
    "question": "Tom has 3 apples and eats 1. How many are left?",
    "answer": " 2",
    "constraint_name": ["length_constraint_checkers:number_words"],
    "constraint_args": [{"num_words": 52, "language": None, "end_phrase": None}],
    "prompt": "Think step-by-step, and place only your final answer inside the tags `<answer>` and "
    "`</answer>`. Format your reasoning according to the following rule: **When reasoning, respond with less "
    "than 52 words.**\n\nHere is the question:\n\nTom has 3 apples and eats 1. How many are left?",
}


@pytest.fixture
def folder(tmp_path) -> Path:
    write_jsonl(tmp_path / "reasonif.jsonl", [RECORD])
    return tmp_path


@pytest.fixture
def published(benchmark_file) -> Path:
    return benchmark_file("reasonif.jsonl").parent


def limits_file(folder: Path, **limits: int) -> Path:
    """A file as riftk calibrate writes it."""
    content = {"model": "org/base", "effort": {}, "percentile": 20, "limits": limits}
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "limits.json").write_text(json.dumps(content))
    return folder / "limits.json"


def test_a_question_is_asked_in_three_forms(folder):
    rows = load_benchmark("reasonif", data_dir=folder, limits="dataset").rows
    assert [row.item_id for row in rows] == [
        f"reasonif-000-{form}" for form in ("reasoning", "response", "plain")
    ]
    reasoning, response, plain = rows
    assert reasoning.prompt[0]["content"] == RECORD["prompt"]
    assert reasoning.constraints == (
        parse_constraint({"id": WORDS, "args": {"num_words": 52}, "target": "reasoning"}),
    )
    assert response.constraints[0].target == "response"
    assert "Format your response" in response.prompt[0]["content"]
    assert "respond with less than 52 words" in response.prompt[0]["content"]
    assert "reasoning" not in response.prompt[0]["content"].lower()
    assert plain.constraints == ()
    assert "rule" not in plain.prompt[0]["content"]
    assert {(row.answer, row.answer_type, row.source) for row in rows} == {("2", "number", "gsm8k")}


def test_forms_and_variants_are_chosen_behind_the_name(folder):
    def forms(name: str) -> list[str]:
        rows = load_benchmark(name, data_dir=folder, limits="dataset").rows
        return [row.item_id.rpartition("-")[2] for row in rows]

    assert forms("reasonif:reasoning") == forms("reasonif:reflection") == ["reasoning"]
    assert forms("reasonif:response:plain") == ["response", "plain"]
    tags = load_benchmark("reasonif:explicit-tags", data_dir=folder, limits="dataset")
    assert (tags.name, tags.details["prompts"]) == ("reasonif-explicit-tags", "explicit_tags: reconstructed")
    assert "`<think>` and `</think>`" in tags.rows[0].user_text
    assert load_benchmark("reasonif:reflection", data_dir=folder, limits="dataset").protocol == {
        "reflects": True
    }
    with pytest.raises(ValueError, match="name no other form"):
        forms("reasonif:reflection:response")
    with pytest.raises(ValueError, match=r"takes .*; not temperature"):
        forms("reasonif:temperature=1")
    with pytest.raises(ValueError, match="test split only"):
        load_benchmark("reasonif", data_dir=folder, limits="dataset", split="dev")


def test_both_published_file_formats_are_the_same_data(folder, tmp_path):
    (tmp_path / "json").mkdir()
    unpadded = {**RECORD, "constraint_args": [{"num_words": 52}]}
    (tmp_path / "json" / "reasonIF_dataset.json").write_text(json.dumps([unpadded]))
    one = load_benchmark("reasonif", data_dir=folder, limits="dataset")
    other = load_benchmark("reasonif", data_dir=tmp_path / "json", limits="dataset")
    assert one.rows == other.rows
    assert one.details["data_sha"] == other.details["data_sha"]
    assert one.details["data"] == "not the published 300 rows"


def test_missing_data_says_what_to_do(tmp_path, monkeypatch):
    with pytest.raises(FileNotFoundError, match=r"neither reasonif\.jsonl nor reasonIF_dataset.json"):
        load_benchmark("reasonif", data_dir=tmp_path, limits="dataset")
    write_jsonl(tmp_path / "reasonif.jsonl", [{k: v for k, v in RECORD.items() if k != "answer"}])
    with pytest.raises(RowError, match="row 1: column 'answer' is missing"):
        load_benchmark("reasonif", data_dir=tmp_path, limits="dataset")
    write_jsonl(tmp_path / "reasonif.jsonl", [{**RECORD, "source": "mmlu"}])
    with pytest.raises(RowError, match="unknown source 'mmlu'"):
        load_benchmark("reasonif", data_dir=tmp_path, limits="dataset")


@pytest.mark.slow  # imports datasets
def test_an_unreachable_hub_says_what_to_do(monkeypatch):
    monkeypatch.setattr("datasets.config.HF_HUB_OFFLINE", True)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(FileNotFoundError, match="give its folder as --data-dir"):
        load_benchmark("reasonif", limits="dataset")


def test_limits_are_the_models_or_asked_for(folder, tmp_path):
    with pytest.raises(ValueError, match="measure them with riftk calibrate"):
        load_benchmark("reasonif", data_dir=folder)
    assert load_benchmark("reasonif:plain", data_dir=folder).rows[0].constraints == ()
    asked = load_benchmark("reasonif", data_dir=folder, limits=limits_file(tmp_path / "l", gsm8k=31))
    assert [row.constraints[0].limit for row in asked.rows[:2]] == [31, 31]
    assert "respond with less than 31 words" in asked.rows[0].user_text
    assert asked.details["word_limits"] == (
        "20th percentile of the traces of org/base, no setting of the effort (gsm8k 31)"
    )
    given = load_benchmark("reasonif", data_dir=folder, limits="dataset")
    assert given.details["word_limits"] == "dataset (20th percentile of GPT-OSS-120B)"
    assert asked.items_sha != given.items_sha  # so that results under other limits are never compared
    with pytest.raises(ValueError, match="has no word limit for 'gsm8k', only for arc"):
        load_benchmark("reasonif", data_dir=folder, limits=limits_file(tmp_path / "m", arc=31))
    with pytest.raises(FileNotFoundError, match="no word limits at"):
        read_limits(tmp_path / "nowhere")


def test_a_table_of_models_is_read_by_name(benchmark_file):
    table = benchmark_file("reasonif_word_limits.json")
    assert read_limits(f"{table}:gpt-oss-20b").of("aime") == 1838
    with pytest.raises(ValueError, match="no limits of 'gpt-2'"):
        read_limits(f"{table}:gpt-2")
    with pytest.raises(ValueError, match="FILE:MODEL"):
        read_limits(table)


def test_limits_hold_for_the_effort_they_were_measured_with(tmp_path):
    limits = read_limits(limits_file(tmp_path, gsm8k=31))
    limits.check_effort({"engine": "openai", "extra_body": '{"top_k": 5}'})
    with pytest.raises(ValueError, match="this run has reasoning_effort high; measure again"):
        limits.check_effort({"extra_body": '{"reasoning_effort": "high"}'})
    nested = {"extra_body": '{"chat_template_kwargs": {"enable_thinking": true}}'}
    assert effort_of(nested) == effort_of({"chat_template_kwargs": '{"enable_thinking": true}'})


def test_a_checkpoint_keeps_the_limits_of_its_base(tmp_path):
    run, longer = tmp_path / "run", tmp_path / "longer"
    for folder, base in ((run, "org/base"), (longer, run / "final")):
        (folder / "final").mkdir(parents=True)
        (folder / "config.yaml").write_text(f"model_name_or_path: {base}\n")
    file = limits_file(run / "limits", gsm8k=31)
    assert base_of(run / "final") == ("org/base", run)
    assert inherited_limits(run / "final") == inherited_limits(longer / "final") == file
    assert base_of(run) is base_of("org/base") is inherited_limits("org/base") is None
    adapter = tmp_path / "adapter"
    adapter.mkdir()
    (adapter / "adapter_config.json").write_text('{"base_model_name_or_path": "org/base"}')
    assert base_of(adapter) == ("org/base", None)


def trace(words: int, finish: str = "stop", status: str = "closed", source: str = "amc") -> dict:
    return {"source": source, "finish_reason": finish, "status": status, "reasoning": "word " * words}


def test_limits_are_the_20th_percentile_and_cut_off_traces_stay_in():
    samples = [trace(words) for words in range(10, 101, 10)]
    assert measure_limits(samples)["amc"].limit == 28  # between the 2nd and the 3rd of ten
    cut = [*samples[:7], *(trace(90, "length", "unclosed") for _ in range(3)), trace(0, "error", "empty")]
    found = measure_limits(cut)["amc"]
    assert (found.limit, found.n, found.censored, found.errored) == (28, 10, 3, 1)
    assert found.low is None or found.low <= 28 <= found.high
    with pytest.raises(ValueError, match=r"amc: 1 of 11 traces were cut off, .* give more --max-tokens"):
        measure_limits([*samples, trace(5, "length", "unclosed")])
    with pytest.raises(ValueError, match="does the model reason"):
        measure_limits([trace(0, status="none")] * 5)
    with pytest.raises(ValueError, match="every request failed"):
        measure_limits([trace(0, "error", "empty")])


def test_calibration_goes_into_the_prompts_of_the_next_evaluation(folder, tmp_path):
    plain = load_benchmark("reasonif:plain", data_dir=folder)
    engine = ScriptedEngine(lambda item: says("one two three four five six seven"))
    results = evaluate(engine, plain, tmp_path / "run", SAMPLING, samples_per_item=2)
    measured = measure_limits(read_jsonl(tmp_path / "run" / "samples_reasonif-plain.jsonl"))
    (tmp_path / "run" / "limits.json").write_text(json.dumps(limits_record(measured, results)))
    asked = load_benchmark("reasonif:reasoning", data_dir=folder, limits=tmp_path / "run")
    assert "less than 7 words" in asked.rows[0].user_text
    assert "traces of scripted" in asked.details["word_limits"]


def test_a_second_turn_is_asked_where_the_first_did_not_follow(tmp_path):
    rows = tuple(row(f"c{n}", (COMMA, "reasoning")) for n in range(4))
    seen: list = []

    class Engine(ScriptedEngine):
        def generate(self, requests, sampling, *rest):
            seen.extend(requests)
            second = bool(requests) and len(requests[0].messages) > 1
            follows = {"c0", "c1", "c2"} if second else {"c0"}
            self.script = lambda item: says() if item in follows else says("four, five", "10")
            return super().generate(requests, sampling, *rest)

    engine = Engine(str)
    results = evaluate(engine, Benchmark("turns", rows, "reasonif", reflects=True), tmp_path, SAMPLING)
    figures = results["results"]["turns"]
    assert figures["reasoning_ifs_first_turn,reasonif"] == 0.25
    assert figures["reasoning_ifs,reasonif"] == figures["second_turn,none"] == 0.75
    gain = results["paired"]["turns"]["reasoning_ifs_reflection,reasonif"]
    assert (gain["value"], gain["gained"], gain["lost"]) == (0.5, 2, 0)
    second = [request for request in seen if len(request.messages) > 1]
    assert [request.key for request in second] == ["c1#0", "c2#0", "c3#0"]
    original, response, told = (message["content"] for message in second[0].messages)
    assert original == "Question c1"
    assert response == "THE ANSWER IS <answer>10</answer>"
    assert told.startswith("Your previous output in the reasoning trace did not follow the instructions.")
    assert "four, five" in told
    samples = list(read_jsonl(tmp_path / "samples_turns.jsonl"))
    assert [(s["item_id"], s["turn"]) for s in samples] == [("c0", 1), ("c1", 2), ("c2", 2), ("c3", 2)]
    # Tokens of both turns are counted, and started again nothing is asked.
    assert results["usage"]["turns"]["prompt_tokens"] == 7 * 5
    engine.asked.clear()
    again = evaluate(engine, Benchmark("turns", rows, "reasonif", reflects=True), tmp_path, SAMPLING)
    assert again == results
    assert engine.asked == []


def test_answers_are_graded_as_the_published_extraction_reads_them_and_robustly():
    for case in read_jsonl(GOLDEN / "reasonif_answers.jsonl"):
        asked = row("x", answer=case["gold"])
        asked = type(asked)(**{**vars(asked), "answer_type": case["answer_type"]})
        generation = Generation(f"<think>so it is</think>{case['response']}", "stop")
        sample = score_sample(asked, generation, rulebooks=("reasonif", "robust"), think="tags")
        if case["official"] is not None:
            published = sample["published_grades"]["reasonif"]["correct"]
            assert published is case["official"]["correct"], case["case"]
        assert sample["correct"] is case["robust"], case["case"]


def test_answer_tags_are_stripped_from_a_response_in_capitals():
    sample = score_sample(
        row("x", (CAPITAL, "response")),
        Generation("<think>hm</think>THE RESULT OF THIS SUM IS <answer>NINE</answer>", "stop"),
        rulebooks=("reasonif", "robust"),
        think="tags",
    )
    assert dict(observations(sample))["response_ifs,reasonif"] == 1.0


def test_correlation_over_sources_and_with_the_length_held_fixed():
    means = {"a": (0.2, 0.1, 900), "b": (0.5, 0.3, 400), "c": (0.6, 0.2, 300), "d": (0.9, 0.6, 100)}
    names, kinds, values = (
        [],
        [],
        {"reasoning_ifs,robust": {}, "accuracy,robust": {}, "reasoning_tokens,none": {}},
    )
    for source, (accuracy, followed, length) in means.items():
        for number in range(10):
            names.append(name := f"{source}{number}")
            kinds.append(Item(source, 1, frozenset({"reasoning"})))
            values["accuracy,robust"][name] = float(number < 10 * accuracy)
            values["reasoning_ifs,robust"][name] = float(number < 10 * followed)
            values["reasoning_tokens,none"][name] = length
    found = correlations(kinds, names, lambda key: values.get(key, {}))["reasoning,robust"]
    assert found["pearson"]["value"] == pytest.approx(
        np.corrcoef([0.2, 0.5, 0.6, 0.9], [0.1, 0.3, 0.2, 0.6])[0, 1]
    )
    assert found["pearson"]["low"] < found["pearson"]["value"] <= found["pearson"]["high"]
    assert found["partial"]["value"] is not None
    assert found["sources"]["a"] == {"accuracy": 0.2, "followed": 0.1, "length": 900.0, "items": 10}


def test_published_prompts_byte_for_byte(published):
    records = list(read_jsonl(published / "reasonif.jsonl"))
    benchmark = load_benchmark("reasonif:reasoning", data_dir=published, limits="dataset")
    assert len(benchmark.rows) == len(records) == 300
    for asked, record in zip(benchmark.rows, records, strict=True):
        assert asked.prompt == ({"role": "user", "content": record["prompt"]},)
        # Template and published sentence alone give the same prompt: limits can be changed by rebuilding it.
        instruction = asked.constraints[0].instruction()
        assert reasonif.reasonif_prompt(record["question"], instruction) == record["prompt"]
    assert benchmark.details["data"] == "as published"


def test_published_rows_have_the_papers_counts(published):
    rows = load_benchmark("reasonif", data_dir=published, limits="dataset").rows
    assert len(rows) == 900
    reasoning = [row for row in rows if row.item_id.endswith("-reasoning")]
    # Tables 1 and 4 of the paper (the total of Table 4 is misprinted).
    assert Counter(row.source for row in reasoning) == {
        "gsm8k": 53,
        "amc": 54,
        "aime": 61,
        "gpqa": 73,
        "arc": 59,
    }
    assert Counter(row.constraints[0].id.rpartition(":")[2] for row in reasoning) == {
        "reasoning_language": 52, "number_words": 53, "end_checker": 49, "json_format": 47,
        "english_capital": 43, "no_comma": 56,
    }  # fmt: skip
    assert {row.answer_type for row in rows if row.source in ("arc", "gpqa")} == {"choice"}
    assert {row.answer_type for row in rows if row.source in ("gsm8k", "amc", "aime")} == {"number"}


def test_every_published_gold_is_graded_correct(published):
    from riftk.grading import grade

    for asked in load_benchmark("reasonif:reasoning", data_dir=published, limits="dataset").rows:
        gold, kind = asked.answer, asked.answer_type
        said = gold if kind == "choice" else str(int(gold))
        assert grade(f"<answer>{said}</answer>", gold, kind).correct, asked.item_id
        assert not grade("<answer>-99</answer>", gold, kind).correct


def test_sixty_of_the_published_rows_hold_every_kind(published):
    rows = load_benchmark("reasonif", data_dir=published, limit=60, limits="dataset").rows
    assert len(rows) == 60
    assert Counter(row.item_id.rpartition("-")[2] for row in rows) == {
        "reasoning": 20, "response": 20, "plain": 20
    }  # fmt: skip
    assert len({row.constraints[0].id for row in rows if row.constraints}) == 6
    assert {row.source for row in rows} == {"gsm8k", "amc", "aime", "gpqa", "arc"}


def test_the_commands_calibrate_and_evaluate_on_a_server(folder, tmp_path):
    def riftk(server: ChatServer, command: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        call = [sys.executable, "-m", "riftk", command, "--engine", "openai", "--base-url", server.url]
        call += ["--model", "m", "--think", "tags", "--data-dir", str(folder), *arguments]
        environment = {**os.environ, "OPENAI_API_KEY": "sk-x"}
        return subprocess.run(call, env=environment, capture_output=True, text=True, check=False)

    with ChatServer(lambda body, number: message(says("one two three four five six seven"))) as server:
        limits, out = str(tmp_path / "limits"), str(tmp_path / "out")
        measured = riftk(server, "calibrate", "--out", limits, "--samples", "2")
        assert measured.returncode == 0, measured.stderr
        assert "gsm8k: less than 7 words" in measured.stdout
        asked = ("--benchmarks", "reasonif:reasoning", "--out", out)
        refused = riftk(server, "eval", *asked)
        assert (refused.returncode, refused.stderr.count("\n")) == (2, 1)
        assert "measure them with riftk calibrate" in refused.stderr
        done = riftk(server, "eval", *asked, "--limits", limits)
        assert done.returncode == 0, done.stderr
        assert "less than 7 words" in server.bodies[-1]["messages"][0]["content"]
    results = json.loads((tmp_path / "out" / "results.json").read_text())
    assert results["configs"]["reasonif-reasoning"]["word_limits"].startswith(
        "20th percentile of the traces of m"
    )
