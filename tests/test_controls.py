"""Controls of synthesis: the rows of a normal run, with what was rewritten exchanged."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import mean

import pytest
from synth_server import problem
from test_synth import ScriptedEngine, records_of, rows_of

from riftk.completions import split_completion
from riftk.constraints.text import word_count
from riftk.data_synth import Shard, SynthConfig, SynthesisError, dry_run, merge, synthesize
from riftk.data_synth.config import CONTROLS
from riftk.data_synth.controls import DESCRIPTIONS, shortened
from riftk.data_synth.rewriters import CAPITALS
from riftk.rows import Row, read_jsonl, write_jsonl


def made(folder: Path, control: str, **changes) -> Path:
    """A finished run, the same but for its control; some problems come twice, with and without a rule."""
    problems = folder / "problems.jsonl"
    write_jsonl(problems, map(problem, range(90)))
    settings = {"num_rows": 160, "seed": 5, "window": 64, "plain_share": 0.15, "response_share": 0.1}
    config = SynthConfig(str(problems), control=control, **{**settings, **changes})
    synthesize(config, ScriptedEngine(), folder / control)
    return folder / control


@pytest.fixture(scope="module")
def runs(tmp_path_factory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("controls")
    return {control: made(folder, control) for control in ("none", *CONTROLS)}


def about_reasoning(row: dict) -> bool:
    return '"reasoning"' in row["constraints"]


def pairs(runs, control: str) -> list[tuple[dict, dict, str]]:
    """Rewritten rows, those of the control in their place, and the traces as they were sampled."""
    texts = {r["key"].partition("/")[0]: r["generation"]["text"] for r in records_of(runs["none"], "traces")}
    rows = zip(rows_of(runs["none"]), rows_of(runs[control]), strict=True)
    return [
        (one, other, split_completion(texts[one["item_id"]], think="tags").reasoning)
        for one, other in rows
        if about_reasoning(one)
    ]


@pytest.mark.parametrize("control", CONTROLS)
def test_a_control_has_the_rows_of_the_normal_run_and_says_what_it_is(runs, control):
    normal, rows = rows_of(runs["none"]), rows_of(runs[control])
    same = ("item_id", "answer", "answer_type", "source", "response")
    assert [[row[name] for name in same] for row in rows] == [[row[name] for name in same] for row in normal]
    for one, other in zip(normal, rows, strict=True):
        Row.from_dict(other)
        assert other["synth"]["control"] == (control if about_reasoning(one) else "none")
        assert one["synth"]["control"] == "none"
        if not about_reasoning(one):
            assert other == one, "rows without an instruction, or about the response, are as they were"
    assert any("(response)" in kind for kind in json.loads((runs["none"] / "yields.json").read_text()))
    card = (runs[control] / "README.md").read_text(encoding="utf-8")
    assert "not verified to follow" in card
    assert DESCRIPTIONS[control] in card
    assert f"`{control}`" in card
    assert "follow their instruction under its published rules" not in card
    yields = json.loads((runs[control] / "yields.json").read_text())
    kept = {kind: counted["kept"] for kind, counted in yields.items()}
    assert sum(kept.values()) == len(rows)
    assert f"{CAPITALS} (control: {control})" in kept
    assert "plain" in kept
    assert (runs[control] / "dataset.parquet").exists()
    assert len(list(read_jsonl(runs[control] / "sft" / "tags.jsonl"))) == len(rows)


def test_unrewritten_rows_have_the_instruction_and_the_sampled_trace(runs):
    for one, other, sampled in pairs(runs, "unrewritten"):
        assert other["prompt"] == one["prompt"]
        assert other["constraints"] == one["constraints"]
        assert other["reasoning"] == sampled
        assert other["synth"]["rewriter"] == "none"


def test_correct_rows_ask_for_nothing(runs):
    for _, other, sampled in pairs(runs, "correct"):
        assert other["constraints"] == "[]"
        assert other["synth"]["instructions"] == []
        assert "rule" not in other["prompt"][0]["content"]
        assert other["prompt"][0]["content"].startswith("Think step-by-step")
        assert other["reasoning"] == sampled


def test_shuffled_rows_have_the_instructions_of_others(runs):
    found = pairs(runs, "shuffled")
    assert sorted(one["constraints"] for one, _, _ in found) == sorted(o["constraints"] for _, o, _ in found)
    for one, other, _ in found:
        assert other["reasoning"] == one["reasoning"]
        before, after = (Row.from_dict(row).constraints[0] for row in (one, other))
        assert before.id != after.id
        content = other["prompt"][0]["content"]
        assert after.instructions()[other["synth"]["instructions"][0]] in content
        assert (
            content.partition("question:\n\n")[2] == one["prompt"][0]["content"].partition("question:\n\n")[2]
        )


def test_shortened_rows_have_the_lengths_of_a_normal_run_elsewhere(runs):
    found = pairs(runs, "shortened")
    for one, other, sampled in found:
        assert other["prompt"] == one["prompt"]
        kept = other["reasoning"].split()
        words = iter(sampled.split())
        assert all(word in words for word in kept), "words of the sampled trace, in their order"
        assert one["answer"] in other["reasoning"] or one["answer"] not in sampled

    def shorter(row: int) -> float:
        return mean(word_count(pair[row]["reasoning"]) < word_count(pair[2]) for pair in found)

    assert 0.1 < shorter(1) < 0.4
    assert shorter(1) == pytest.approx(shorter(0), abs=0.1)
    card = (runs["shortened"] / "README.md").read_text(encoding="utf-8")
    assert f"Mean words of the {len(found):,} traces that were exchanged" in card


def test_a_trace_is_shortened_by_whole_sentences_and_keeps_what_the_answer_rests_on():
    trace = "Let me think about this. 3 boxes of 4 are 3 * 4 = 12. Nice. With 5 more, 12 + 5 = 17. So 17."
    given = {"answer": "17", "question": "3 boxes of 4, and 5 more?"}
    assert shortened(trace, 1.2, **given) == trace
    assert shortened(trace, 0.01, **given) == "3 boxes of 4 are 3 * 4 = 12. With 5 more, 12 + 5 = 17. So 17."


def test_shards_of_a_control_give_the_same_rows(runs, tmp_path):
    config = SynthConfig(
        str(runs["none"].parent / "problems.jsonl"), control="shuffled", num_rows=160, seed=5, window=64,
        plain_share=0.15, response_share=0.1,
    )  # fmt: skip
    parts = [tmp_path / "one", tmp_path / "two"]
    for number, part in enumerate(parts, 1):
        synthesize(config, ScriptedEngine(), part, shard=Shard(number, 2))
    merge(parts, tmp_path / "merged")
    assert rows_of(tmp_path / "merged") == rows_of(runs["shuffled"])


def test_a_control_that_makes_no_sense_is_refused(runs):
    with pytest.raises(SynthesisError, match="control must be one of none, unrewritten"):
        SynthConfig("some.jsonl", control="shufled")
    with pytest.raises(SynthesisError, match="name two or more"):
        SynthConfig("some.jsonl", control="shuffled", constraints=(CAPITALS,))


def test_a_dry_run_says_that_rows_are_exchanged(runs):
    config = SynthConfig(str(runs["none"].parent / "problems.jsonl"), control="correct")
    assert f"those of a control: {DESCRIPTIONS['correct']}" in dry_run(config, ScriptedEngine())
