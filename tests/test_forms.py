"""Forms that nothing asked for: over-application, leakage, and the tiny model through a recipe."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from pathlib import Path

import pytest
from scripted import ScriptedEngine

from riftk.benchmarks import Benchmark, load_benchmark
from riftk.constraints import parse_constraint
from riftk.engines import Generation, Sampling
from riftk.evaluation import evaluate, observations, overview, rescore, score_sample
from riftk.evaluation.forms import NO_COMMA, UNASKED, unasked_forms, unasked_name
from riftk.judging import Output
from riftk.report.markdown import render
from riftk.report.write import collect
from riftk.rows import Row, read_jsonl

ROOT = Path(__file__).parent.parent
PROMPT = ({"role": "user", "content": "What is the sum of twelve and thirty? Think about it step by step."},)
PLAIN = Row("plain", PROMPT, "42", "number")
TRACE = (
    "First, we add the twelve and the thirty one after the other, and so we come to a sum of 42, as one sees."
)
ANSWER = "The sum is 42, as you can see."
FRENCH = (
    "D'abord nous additionnons douze et trente, puis nous regardons la somme qui est de quarante-deux. Voilà."
)


def asked(target: str, id: str, **args) -> Row:
    return Row(
        "asked", PROMPT, "42", "number", (parse_constraint({"id": id, "args": args, "target": target}),)
    )


def seen(trace: str, answer: str, row: Row = PLAIN) -> dict[str, set[str]]:
    """The forms that are there, but for commas."""
    found = unasked_forms(row, Output(f"<think>{trace}</think>\n\n{answer}", think="tags"))
    return {
        target: {name for name, value in forms.items() if value == 1 and name != NO_COMMA}
        for target, forms in found.items()
    }


def test_ordinary_texts_have_none():
    assert seen(TRACE, ANSWER) == {"reasoning": set(), "response": set()}
    assert seen(TRACE, "\\boxed{42}") == {"reasoning": set(), "response": set()}
    assert seen(TRACE, "<answer>42</answer>") == {"reasoning": set(), "response": set()}


@pytest.mark.parametrize(
    ("form", "trace", "answer"),
    [
        ("capitals", TRACE.upper(), ANSWER.upper()),
        ("json", json.dumps({"steps": [TRACE]}), f"```json\n{json.dumps({'answer': ANSWER})}\n```"),
        ("quotation", f'"{TRACE}"', f"“{ANSWER}”"),
        ("end_phrase", f"{TRACE} THIS ANALYSIS WAS CREATED BY AI", f"{ANSWER} Any other questions?"),
        ("other_language", FRENCH, FRENCH),
        ("other_language", "我们先把十二和三十相加，然后得到总数四十二，这就是答案，没有别的可能。", FRENCH),
    ],
)
def test_a_form_is_found_in_the_text_that_has_it(form, trace, answer):
    assert seen(trace, ANSWER)["reasoning"] - {"short"} == {form}
    assert seen(trace, ANSWER)["response"] == set()
    assert seen(TRACE, answer) == {"reasoning": set(), "response": {form}}


def test_short_traces_are_a_form_of_the_reasoning_alone():
    assert seen("So it is 42.", ANSWER)["reasoning"] == {"short"}
    assert seen("", ANSWER) == {"reasoning": {"short"}, "response": set()}
    assert "short" not in seen(TRACE, "42")["response"]


def test_commas_are_counted_beyond_chance():
    def commas(text: str) -> float:
        return unasked_forms(PLAIN, Output(f"<think>{TRACE}</think>{text}", think="tags"))["response"][
            NO_COMMA
        ]

    assert commas("word " * 60) == pytest.approx(1 - math.exp(-3))
    assert commas("word " * 60 + ",") == pytest.approx(-math.exp(-3))
    assert commas("The sum is 42.") == pytest.approx(1 - math.exp(-4 / 20))


def test_what_is_missing_or_cut_off_says_nothing():
    assert unasked_forms(PLAIN, Output("<think>never ends", think="tags")) == {}
    cut_off = Output(f"<think>{TRACE}</think>{ANSWER}", think="tags", finish_reason="length")
    assert unasked_forms(PLAIN, cut_off).keys() == {"reasoning"}
    assert unasked_forms(PLAIN, Output("", finish_reason="error", error="no answer")) == {}
    assert unasked_forms(PLAIN, Output(ANSWER, think="none")).keys() == {"response"}


def test_leakage_is_what_was_asked_for_done_in_the_other_text():
    capitals = asked("reasoning", "change_case:english_capital")
    assert seen(TRACE.upper(), ANSWER, capitals) == {"response": set()}
    assert seen(TRACE.upper(), ANSWER.upper(), capitals) == {"response": {"capitals"}}
    phrase = asked("response", "startend:end_checker", end_phrase="So it ends")
    assert seen(f"{TRACE} So it ends", f"{ANSWER} So it ends", phrase) == {"reasoning": {"end_phrase"}}
    assert seen(f"{TRACE} THIS ANALYSIS WAS CREATED BY AI", ANSWER, phrase) == {"reasoning": set()}
    french = asked("reasoning", "language:reasoning_language", language="fr")
    assert seen(FRENCH, FRENCH, french) == {"response": {"other_language"}}
    english = asked("reasoning", "language:reasoning_language", language="en")
    assert seen(TRACE, ANSWER, english) == {}  # an English question is answered in English anyway
    assert (
        seen(TRACE, ANSWER, asked("reasoning", "length_constraint_checkers:number_words", num_words=9)) == {}
    )
    both = Row(
        "both",
        PROMPT,
        "42",
        "number",
        (*capitals.constraints, *asked("response", "punctuation:no_comma").constraints),
    )
    assert seen(TRACE.upper(), ANSWER.upper(), both) == {}


def test_figures_have_intervals_and_stand_in_overview_and_report(tmp_path):
    rows = tuple(
        Row(f"{kind}-{number}", PROMPT, "42", "number", constraints)
        for kind, constraints in (
            ("plain", ()),
            ("asked", asked("reasoning", "punctuation:no_comma").constraints),
        )
        for number in range(4)
    )
    engine = ScriptedEngine(lambda item: f"<think>{TRACE}</think>{ANSWER.upper() if '0' in item else ANSWER}")
    items = Benchmark("small", rows, "reasonif")
    results = evaluate(engine, items, tmp_path / "out", Sampling(temperature=0, max_tokens=64))
    estimates = results["estimates"]["small"]
    response = estimates["over_application_response/capitals,robust"]
    assert (response["value"], response["n"]) == (1 / 4, 4)
    assert 0 < response["low"] < 1 / 4 < response["high"] < 1
    assert estimates["over_application_response,robust"]["value"] == 1 / 4
    assert estimates["over_application_reasoning,robust"]["value"] == 0
    assert estimates["leakage_to_response/no_comma,robust"]["n"] == 4
    assert "leakage_to_response,robust" not in estimates  # commas alone say nothing for sure
    assert results["results"]["small"]["over_application_response,robust"] == 1 / 4
    assert "unasked: response, capitals" in overview(results)
    report = render(collect({"after": tmp_path / "out"}))
    for title in UNASKED.values():
        assert f"## {title}" in report
    assert "| Response, capitals | 25.0 % [" in report
    stored = list(read_jsonl(tmp_path / "out" / "samples_small.jsonl"))
    assert [record["forms"] for record in rescore(tmp_path / "out" / "samples_small.jsonl")] == [
        record["forms"] for record in stored
    ]
    del stored[0]["forms"]  # as in folders of earlier versions
    assert not any(key.startswith(tuple(UNASKED)) for key, _ in observations(stored[0]))


def test_names_of_figures():
    assert unasked_name("over_application_reasoning/no_comma,robust") == "reasoning, no comma beyond chance"
    assert unasked_name("leakage_to_response,robust") == "response, any but commas"


def test_a_model_that_learnt_a_form_instead_of_an_instruction_is_found_out():
    """The plain items of the embedded benchmark, answered by a model that always writes capitals."""
    benchmark = load_benchmark("tiny:instructions=none", limit=16)
    for row in benchmark.rows:
        text = f"<think>{TRACE.upper()}</think>THE SUM IS {row.answer}."
        sample = score_sample(row, Generation(text, "stop"), rulebooks=benchmark.rulebooks, think="tags")
        figures = dict(observations(sample))
        assert figures["over_application_reasoning/capitals,robust"] == 1
        assert figures["over_application_response,robust"] == 1
        assert "reasoning_ifs,robust" not in figures


def test_a_recipe_evaluates_a_benchmark_with_and_without_its_instructions(tmp_path):
    (tmp_path / "mine.yaml").write_text(
        (ROOT / "recipes" / "configs" / "rif" / "tiny.yaml")
        .read_text()
        .replace("benchmarks: [tiny]", "benchmarks: [tiny, tiny:instructions=none]")
    )
    command = [sys.executable, str(ROOT / "recipes" / "rif.py"), "--config", "mine.yaml", "--stages", "eval"]
    command += ["--eval_limit", "6", "--batch_size", "6", "--output_dir", "run"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
    results = json.loads((tmp_path / "run" / "eval" / "before" / "results.json").read_text())
    assert results["configs"]["tiny-instructions-none"]["instructions"] == "none"
    estimates = results["estimates"]
    assert estimates["tiny-instructions-none"]["over_application_reasoning,robust"]["n"] > 0
    assert "reasoning_ifs,robust" in estimates["tiny"]
    assert "reasoning_ifs,robust" not in estimates["tiny-instructions-none"]
