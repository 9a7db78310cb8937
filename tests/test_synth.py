"""The synthesis pipeline: what is kept and why, the same after every interruption, clear about mistakes."""

from __future__ import annotations

import hashlib
import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from synth_server import SolvingEngine, pens, problem, trace_of

from riftk.constraints import ConstraintError, check_all, parse_constraint
from riftk.data_synth import (
    Problem,
    Rejected,
    SynthConfig,
    SynthesisError,
    load_problems,
    synthesize,
    yield_table,
)
from riftk.data_synth.rewriters import (
    CAPITALS,
    END,
    JSON,
    LANGUAGE,
    NO_COMMA,
    REASONIF_BY_RULE,
    REWRITERS,
    WORDS,
)
from riftk.data_synth.sampling import Trace, accept
from riftk.data_synth.seeds import Seed
from riftk.engines.base import Generation, Request, never
from riftk.grading import grade
from riftk.rows import Row, read_jsonl, read_rows, write_jsonl
from riftk.runs import RunError

TINY = Path(__file__).parent.parent / "riftk" / "tiny" / "weights" / "base"


def some_problems(n: int, seed: int) -> list[dict[str, str]]:
    """A problem source for `module:function`."""
    return [problem(number + seed) for number in range(n)]


class ScriptedEngine(SolvingEngine):
    """Solves `problem` and makes every mistake now and then."""

    def __init__(self, delay: float = 0.0, faults: bool = True):
        self.delay, self.faults = delay, faults
        self.prompts: list[str] = []

    def describe(self) -> dict[str, str]:
        return {**super().describe(), "faults": str(self.faults)}

    def complete(self, request: Request, draws: random.Random) -> Generation:
        asked = request.messages[0]["content"]
        time.sleep(self.delay)
        self.prompts.append(asked)
        a, b, c = pens(asked)
        trace = trace_of(asked, draws)
        answer = str(a + b - c)
        fault = draws.randrange(25) if self.faults else 99
        if fault == 0:
            return Generation("", "error", error="connection reset")
        if fault == 1:
            return Generation(f"<think>\n{trace}", "length")
        if fault == 2:
            return Generation(f"<think>\n{trace}", "stop")
        if fault == 3:
            trace += f" <answer>{answer}</answer>"
        if fault == 4:
            answer = str(a + b + c)
        if fault == 5:
            trace += " In code this is `sum(a, b)`."
        response = f"Anna has {answer} pens." + ("" if fault == 6 else f" <answer>{answer}</answer>")
        return Generation(f"<think>\n{trace}\n</think>\n\n{response}", "stop")


@pytest.fixture
def problems(tmp_path) -> str:
    path = tmp_path / "problems.jsonl"
    write_jsonl(path, map(problem, range(60)))
    return str(path)


def config_for(problems: str, **changes) -> SynthConfig:
    return SynthConfig(**{"problems": problems, "num_rows": 90, "seed": 5, "window": 32, **changes})


def rows_of(folder: Path) -> list[dict]:
    return list(read_jsonl(folder / "dataset.jsonl"))


def records_of(folder: Path, stage: str) -> list[dict]:
    return [record for path in sorted((folder / stage).glob("*.jsonl")) for record in read_jsonl(path)]


# ----------------------------------------------------------------------------------- what is kept


def test_every_row_follows_under_both_rulebooks_and_keeps_its_answer(problems, tmp_path):
    result = synthesize(config_for(problems, plain_share=0.2), ScriptedEngine(), tmp_path / "out")
    rows = rows_of(tmp_path / "out")
    assert len(rows) == result.rows > 50
    assert len(read_rows(result.dataset)) == len(rows), "the rows are valid and their ids unique"
    asked = set()
    for data in rows:
        row = Row.from_dict(data)
        for rules in ("reasonif", "robust"):
            for constraint, verdict in zip(
                row.constraints, check_all(row.constraints, data["reasoning"], rules), strict=True
            ):
                assert verdict.followed, (constraint.id, rules, verdict.reason)
        assert grade(data["response"], row.answer, row.answer_type).correct
        assert "<answer>" not in data["reasoning"]
        prompt = row.prompt[0]["content"]
        assert ("Format your reasoning" in prompt) == bool(row.constraints)
        if row.constraints:
            wordings = row.constraints[0].instructions("reasoning")
            assert wordings[data["synth"]["instructions"][0]] in prompt
            assert row.constraints[0].target == "reasoning"
            asked.add(row.constraints[0].id)
    assert asked == set(REASONIF_BY_RULE)


def test_provenance_names_model_rewriter_and_trace(problems, tmp_path):
    synthesize(config_for(problems), ScriptedEngine(), tmp_path / "out")
    traces = {
        record["key"].split("/")[0]: record["generation"]["text"]
        for record in records_of(tmp_path / "out", "traces")
    }
    for row in rows_of(tmp_path / "out"):
        made = row["synth"]
        trace = traces[row["item_id"]].split("<think>\n")[1].split("\n</think>")[0]
        assert made["trace_sha256"] == hashlib.sha256(trace.encode()).hexdigest()
        assert made["model"] == "scripted-model"
        assert made["attempts"] == 1
        ids = [constraint["id"] for constraint in json.loads(row["constraints"])]
        assert made["rewriter"] == (REWRITERS[ids[0]].name if ids else "none")
        assert bool(made["shape"]) == (ids == [JSON])


def test_the_yield_table_accounts_for_every_seed(problems, tmp_path):
    config = config_for(problems, num_rows=300, plain_share=0.25, attempts=2)
    result = synthesize(config, ScriptedEngine(), tmp_path / "out")
    yields = result.yields
    assert sum(y.seeds for y in yields.values()) == 300
    assert yields["plain"].seeds == 75
    assert {y.seeds for name, y in yields.items() if name != "plain"} == {45}
    for counted in yields.values():
        assert counted.attempts == counted.kept + counted.reasons.total()
        assert counted.kept <= counted.seeds <= counted.attempts
    reasons = sum((y.reasons for y in yields.values()), start=type(yields["plain"].reasons)())
    for expected in (
        "sample: the engine failed",
        "sample: cut off at max_tokens",
        "sample: the trace is not closed",
        "sample: answer tag in the trace",
        "sample: wrong answer",
        "sample: no complete answer tag",
        "rewrite: comma inside code",
        "rewrite: code",
    ):
        assert reasons[expected], expected
    stored = json.loads((tmp_path / "out" / "yields.json").read_text())
    assert stored == {name: counted.to_dict() for name, counted in yields.items()}
    table = yield_table(yields)
    assert str(result).startswith(table)
    assert f"| all | 300 | {result.rows} |" in table


def test_a_second_attempt_replaces_a_rejected_trace(problems, tmp_path):
    once = synthesize(config_for(problems), ScriptedEngine(), tmp_path / "once")
    twice = synthesize(config_for(problems, attempts=3), ScriptedEngine(), tmp_path / "twice")
    assert once.rows < twice.rows
    assert {row["synth"]["attempts"] for row in rows_of(tmp_path / "twice")} >= {1, 2}


def test_instructions_are_left_out_while_sampling_unless_asked_for(problems, tmp_path):
    engine = ScriptedEngine()
    synthesize(config_for(problems), engine, tmp_path / "out")
    assert not any("Format your reasoning" in prompt for prompt in engine.prompts)

    engine = ScriptedEngine(faults=False)
    config = config_for(problems, sample_with_instruction=True, plain_share=0, word_limits=(40, 45))
    synthesize(config, engine, tmp_path / "in")
    assert all("Format your reasoning" in prompt for prompt in engine.prompts)
    for row in rows_of(tmp_path / "in"):
        assert row["prompt"][0]["content"] in engine.prompts, "sampled under the prompt it is trained on"
        for constraint in json.loads(row["constraints"]):
            if constraint["id"] == WORDS:
                assert constraint["args"]["num_words"] in (40, 45)


def test_arguments_and_wordings_vary_and_can_be_pinned(problems, tmp_path):
    config = config_for(problems, constraints=(END, WORDS), num_rows=120, plain_share=0)
    synthesize(config, ScriptedEngine(faults=False), tmp_path / "varied")
    rows = rows_of(tmp_path / "varied")
    args = [json.loads(row["constraints"])[0]["args"] for row in rows]
    assert len({a["end_phrase"] for a in args if "end_phrase" in a}) > 20
    assert len({a["num_words"] for a in args if "num_words" in a}) > 3
    assert len({tuple(row["synth"]["instructions"]) for row in rows}) >= 5

    pinned = config_for(problems, constraints=(END,), paraphrases=False, end_phrases=("Here it ends",))
    synthesize(pinned, ScriptedEngine(), tmp_path / "pinned")
    for row in rows_of(tmp_path / "pinned"):
        if row["constraints"] != "[]":
            assert row["synth"]["instructions"] == [0]
            assert row["reasoning"].endswith("\nHere it ends")


def test_wrong_answers_and_open_traces_can_be_kept_on_purpose(problems, tmp_path):
    strict = synthesize(config_for(problems), ScriptedEngine(), tmp_path / "strict")
    lenient = synthesize(
        config_for(problems, require_correct=False, close_traces=True), ScriptedEngine(), tmp_path / "lenient"
    )
    reasons = sum((y.reasons for y in lenient.yields.values()), start=type(lenient.yields["plain"].reasons)())
    assert lenient.rows > strict.rows
    assert not reasons["sample: wrong answer"]
    assert not reasons["sample: the trace is not closed"]
    closed = {row["item_id"]: row for row in rows_of(tmp_path / "lenient")}
    for record in records_of(tmp_path / "lenient", "traces"):
        generation, row = record["generation"], closed.get(record["key"].split("/")[0])
        if row and "</think>" not in generation["text"] and generation["finish_reason"] == "stop":
            assert re.fullmatch(r"<answer>\d+</answer>", row["response"])
            assert grade(row["response"], row["answer"], row["answer_type"]).correct
            break
    else:
        pytest.fail("no trace that stopped open was closed")


def test_an_open_trace_is_closed_before_its_answer_tag():
    config = SynthConfig("unused.jsonl", close_traces=True)
    seed = Seed("item", Problem("How many?", "7", "number", "test"))
    generation = Generation("<think>We add 3 and 4. That is 7. <answer>7</answer>", "stop")
    trace = accept(config, seed, generation, think="tags")
    assert trace == Trace("We add 3 and 4. That is 7.", "<answer>7</answer>", "7")
    for text, reason in (
        ("<think>No idea.", "no answer in it"),
        ("<think><answer>7</answer>", "empty trace"),
    ):
        with pytest.raises(Rejected, match=reason):
            accept(config, seed, Generation(text, "stop"), think="tags")


# ------------------------------------------------------------------------- interrupted and resumed


def test_the_dataset_depends_on_the_configuration_alone(problems, tmp_path):
    config = config_for(problems)
    one, two, other = (tmp_path / name for name in ("one", "two", "other"))
    synthesize(config, ScriptedEngine(), one)
    synthesize(config, ScriptedEngine(), two)
    synthesize(config_for(problems, seed=6), ScriptedEngine(), other)
    assert (one / "dataset.jsonl").read_bytes() == (two / "dataset.jsonl").read_bytes()
    assert (one / "dataset.jsonl").read_bytes() != (other / "dataset.jsonl").read_bytes()


def lines_in(folder: Path) -> int:
    return sum(path.read_bytes().count(b"\n") for path in folder.glob("*.jsonl"))


def test_killed_at_any_moment_it_goes_on_to_the_same_dataset(problems, tmp_path):
    config = config_for(problems, num_rows=120, attempts=2)
    synthesize(config, ScriptedEngine(), tmp_path / "whole")
    command = [sys.executable, __file__, problems, str(tmp_path / "killed")]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    traces, kills, draws = tmp_path / "killed" / "traces", 0, random.Random(1)
    for goal in (1, 30, 70, 110):
        process = subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL)
        while process.poll() is None and lines_in(traces) < goal:
            time.sleep(0.01)
        time.sleep(draws.random() * 0.05)
        process.send_signal(signal.SIGKILL)
        kills += process.wait() == -signal.SIGKILL
    assert kills >= 3
    assert not (tmp_path / "killed" / "dataset.jsonl").exists()
    subprocess.run(command, env=environment, check=True, stderr=subprocess.DEVNULL, timeout=60)
    for name in ("dataset.jsonl", "yields.json"):
        assert (tmp_path / "killed" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()
    keys = [
        record["key"]
        for record in records_of(tmp_path / "killed", "traces")
        if record["generation"]["finish_reason"] != "error"
    ]
    assert len(set(keys)) == len(keys), "nothing is sampled twice"


def test_a_file_cut_at_any_byte_is_completed(problems, tmp_path):
    config = config_for(problems, num_rows=40, window=16, attempts=2)
    out = tmp_path / "out"
    synthesize(config, ScriptedEngine(), out)
    dataset = (out / "dataset.jsonl").read_bytes()
    parts = sorted([*out.glob("traces/*.jsonl"), *out.glob("rewritten/*.jsonl")])
    whole = {path: path.read_bytes() for path in parts}
    draws = random.Random(0)
    for _ in range(12):
        path = draws.choice(parts)
        cut = draws.randrange(len(whole[path]))
        (out / "dataset.jsonl").unlink()
        path.write_bytes(whole[path][:cut])
        engine = ScriptedEngine()
        synthesize(config, engine, out)
        assert (out / "dataset.jsonl").read_bytes() == dataset
        lost = whole[path].count(b"\n") - whole[path][:cut].count(b"\n")
        failed = sum(path.read_bytes().count(b'"finish_reason": "error"') for path in out.glob("traces/*"))
        assert len(engine.prompts) <= failed + (lost if path.parent.name == "traces" else 0)
        for part, content in whole.items():
            part.write_bytes(content)


def test_a_finished_run_says_so_and_is_left_alone(problems, tmp_path):
    config = config_for(problems)
    first = synthesize(config, ScriptedEngine(), tmp_path / "out")
    engine = ScriptedEngine()
    again = synthesize(config, engine, tmp_path / "out")
    assert again.was_finished
    assert not first.was_finished
    assert not engine.prompts
    assert again.yields == first.yields
    assert "already finished" in str(again)


def test_another_configuration_in_an_old_folder_stops(problems, tmp_path):
    synthesize(config_for(problems), ScriptedEngine(), tmp_path / "out")
    with pytest.raises(RunError, match=r"temperature: 1.0 -> 0.5"):
        synthesize(config_for(problems, temperature=0.5), ScriptedEngine(), tmp_path / "out")
    with pytest.raises(RunError, match="faults"):
        synthesize(config_for(problems), ScriptedEngine(faults=False), tmp_path / "out")


def test_two_processes_do_not_share_a_folder(problems, tmp_path):
    class Nosy(ScriptedEngine):
        def generate(self, requests, sampling, done=frozenset(), until=never):
            with pytest.raises(RunError, match="another process"):
                synthesize(config_for(problems), ScriptedEngine(), tmp_path / "out")
            yield from super().generate(requests, sampling, done, until)

    assert synthesize(config_for(problems), Nosy(), tmp_path / "out").rows


def test_what_a_server_failed_at_is_asked_again(problems, tmp_path):
    class Failing(ScriptedEngine):
        def complete(self, request, draws):
            if int(request.key[-1]) < 3:
                return Generation("", "error", error="no answer within 5 s")
            return super().complete(request, draws)

    config, out = config_for(problems), tmp_path / "out"
    whole = synthesize(config, ScriptedEngine(faults=False), tmp_path / "whole")
    engine = Failing(faults=False)
    partly = synthesize(config, engine, out)
    assert (
        "30" in yield_table(partly.yields).split("sample: the engine failed (")[0] or partly.rows < whole.rows
    )
    assert synthesize(config, ScriptedEngine(faults=False), out).was_finished
    again = ScriptedEngine(faults=False)
    mended = synthesize(config, again, out, retry_errors=True)
    assert len(again.prompts) == 27
    assert mended.yields == whole.yields
    assert (out / "dataset.jsonl").read_bytes() == (tmp_path / "whole" / "dataset.jsonl").read_bytes()


# ---------------------------------------------------------------------------------------- mistakes


@pytest.mark.parametrize(
    ("changes", "error", "sentence"),
    [
        (
            {"constraints": ("punctuation:no_commas",)},
            ConstraintError,
            "unknown constraint id 'punctuation:no_commas'",
        ),
        ({"constraints": (LANGUAGE,)}, SynthesisError, "needs an LLM"),
        ({"constraints": (NO_COMMA, NO_COMMA)}, SynthesisError, "twice"),
        ({"plain_share": 1.5}, SynthesisError, "plain_share must be between 0 and 1"),
        ({"num_rows": 0}, SynthesisError, "num_rows must be at least 1"),
        ({"answer_type": "essay"}, SynthesisError, "answer_type must be one of math"),
        ({"word_share": (0.9, 0.5)}, SynthesisError, "word_share"),
        ({"temperature": -1}, SynthesisError, "temperature"),
    ],
)
def test_a_senseless_configuration_is_one_sentence(changes, error, sentence):
    with pytest.raises(error, match=re.escape(sentence)):
        SynthConfig("problems.jsonl", **changes)


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("absent.jsonl", None, "no such file"),
        ("empty.jsonl", "", "holds no problems"),
        ("empty.json", "[]", "holds no problems"),
        (
            "columns.jsonl",
            '{"problem": "2 + 2?", "answer": "4"}',
            "no column 'question'; there are answer, problem",
        ),
        (
            "gold.jsonl",
            '{"question": "2 + 2?", "solution": "4"}',
            "no column 'answer'; there are question, solution",
        ),
        ("blank.jsonl", '{"question": " ", "answer": "4"}', "record 1: column 'question' must hold the text"),
        ("none.jsonl", '{"question": "2 + 2?", "answer": null}', "record 1: column 'answer' is empty"),
        ("broken.jsonl", '{"question": ', "record 1: not JSON"),
        ("list.jsonl", "[1, 2]", "expected an object with columns, found list"),
        ("object.json", '{"question": "2 + 2?"}', "expected a list of objects, found dict"),
        ("notes.txt", "2 + 2?", "problems come as .jsonl, .json, .parquet"),
    ],
)
def test_bad_problem_files_are_one_sentence(tmp_path, name, content, sentence):
    path = tmp_path / name
    if content is not None:
        path.write_text(content)
    with pytest.raises(SynthesisError, match=re.escape(sentence)):
        list(load_problems(str(path), 3, seed=0))


@pytest.mark.parametrize(
    ("spec", "sentence"),
    [
        ("no_such_module:problems", "no such function"),
        ("json:no_such_function", "no such function"),
        ("nobody/no-such-data", "could not be loaded from the hub"),
    ],
)
def test_sources_that_are_not_there_are_one_sentence(spec, sentence, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(SynthesisError, match=sentence):
        list(load_problems(spec, 3, seed=0))


def test_a_run_that_keeps_nothing_says_why(problems, tmp_path):
    class Silent(ScriptedEngine):
        def complete(self, request, draws):
            return Generation("No idea.", "stop")

    with pytest.raises(SynthesisError, match=r"not one row was kept of 90 seeds: sample: .* \(90\)"):
        synthesize(config_for(problems), Silent(), tmp_path / "out")
    assert (tmp_path / "out" / "yields.json").exists()
    assert not (tmp_path / "out" / "dataset.jsonl").exists()


# ---------------------------------------------------------------------------------------- problems


def test_problems_come_from_every_kind_of_source(tmp_path, problems, monkeypatch):
    datasets = pytest.importorskip("datasets")
    records = [problem(number) for number in range(60)]
    (tmp_path / "problems.json").write_text(json.dumps(records))
    datasets.Dataset.from_list(records).to_parquet(str(tmp_path / "problems.parquet"))
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    wanted = {record["question"] for record in records}
    for spec in (
        problems,
        str(tmp_path / "problems.json"),
        str(tmp_path / "problems.parquet"),
        "test_synth:some_problems",
    ):
        loaded = list(load_problems(spec, 60, seed=0))
        assert {p.question for p in loaded} == wanted
        assert all("####" in p.answer for p in loaded)


def test_problems_are_shuffled_by_seed_and_come_round_again(problems):
    first, second = ([p.question for p in load_problems(problems, 60, seed)] for seed in (0, 1))
    assert first != second
    assert sorted(first) == sorted(second)
    more = [p.question for p in load_problems(problems, 130, 0)]
    assert more[:60] == more[60:120] == first


def test_records_say_how_they_are_graded_and_gold_is_optional(tmp_path):
    path = tmp_path / "mixed.jsonl"
    write_jsonl(path, [{"q": "Which?", "answer_type": "choice", "source": "quiz"}, {"q": "How many?"}])
    loaded = sorted(load_problems(str(path), 2, 0, "q", None, "number"), key=lambda p: p.question)
    assert [(p.answer_type, p.source, p.answer) for p in loaded] == [
        ("number", "mixed", ""),
        ("choice", "quiz", ""),
    ]


def test_importing_the_package_is_light():
    code = (
        "import sys, riftk.data_synth; from riftk.data_synth import SynthConfig; "
        "print([m for m in ('torch', 'transformers', 'datasets', 'trl', 'openai') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


# -------------------------------------------------------------------------------- the embedded model


@pytest.mark.skipif(not TINY.exists(), reason=f"no weights in {TINY}")
def test_the_embedded_model_gives_rows_of_every_kind(tmp_path):
    from riftk.engines import load_engine

    config = SynthConfig(
        "riftk.tiny.problems:training_problems",
        num_rows=60,
        answer_type="number",
        plain_share=0.2,
        max_tokens=200,
    )
    engine = load_engine("transformers", model=str(TINY), batch_size=60)
    result = synthesize(config, engine, tmp_path / "out")
    assert set(result.yields) == {*REASONIF_BY_RULE, "plain"}
    assert result.rows >= 30
    for id in (CAPITALS, NO_COMMA, JSON, END):
        assert result.yields[id].kept, id


def main() -> None:
    """Run for the kill test: `python test_synth.py PROBLEMS OUT`."""
    config = config_for(sys.argv[1], num_rows=120, attempts=2)
    synthesize(config, ScriptedEngine(delay=0.005), sys.argv[2])


if __name__ == "__main__":
    main()


def test_rows_about_the_response_are_kept_as_they_are_where_the_model_obeyed(problems, tmp_path):
    config = config_for(problems, response_share=0.5, plain_share=0.25, constraints=(NO_COMMA, CAPITALS))
    engine = ScriptedEngine(faults=False)
    result = synthesize(config, engine, tmp_path / "out")
    rows = rows_of(tmp_path / "out")
    about = [row for row in rows if '"target": "response"' in row["constraints"]]
    asks = [
        wording
        for id in config.constraints
        for wording in parse_constraint({"id": id}).instructions("response")
    ]
    # The scripted answers have no comma and are never in capitals.
    assert {json.loads(row["constraints"])[0]["id"] for row in about} == {NO_COMMA}
    assert all("," in row["reasoning"] and row["synth"]["rewriter"] == "none" for row in about)
    assert {row["rules"] for row in rows} == {"reasonif"}
    assert all(any(ask in row["prompt"][0]["content"] for ask in asks) for row in about)
    assert sum(any(ask in prompt for ask in asks) for prompt in engine.prompts) == 45
    assert result.yields[f"{CAPITALS} (response)"].kept == 0
    assert result.yields[f"{NO_COMMA} (response)"].kept == len(about) > 15


def test_shares_that_leave_no_room_are_refused(problems):
    with pytest.raises(SynthesisError, match="response_share must be"):
        config_for(problems, plain_share=0.6, response_share=0.5)
