"""The SFT recipe, run for real: `accelerate launch`, the embedded model, two steps of training."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from launching import MISTAKES, RECIPES, launch, mistake, write_bad_models

from riftk.training import parse_recipe, read_dataset

RECIPE = RECIPES / "sft.py"
SMALL = ["--num_rows", "16", "--max_steps", "2", "--eval_limit", "12", "--batch_size", "16"]


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("sft")
    longer = ["--rope_theta", "20000", "--max_positions", "2048"]
    finished = launch(RECIPE, *SMALL, *longer, "--output_dir", "run", cwd=folder)
    assert finished.returncode == 0, finished.stderr[-3000:]
    assert "report.md" in finished.stdout
    return folder / "run"


def test_rows_are_correct_traces_of_the_teacher_without_instructions(run):
    rows = [json.loads(line) for line in (run / "data" / "dataset.jsonl").open()]
    assert rows
    assert all(row["constraints"] == "[]" and row["reasoning"] and row["response"] for row in rows)
    assert all("weights/base" in json.dumps(row["synth"]) for row in rows)


def test_the_longer_context_is_part_of_the_trained_model(run):
    config = json.loads((run / "final" / "config.json").read_text())
    assert config["rope_parameters"]["rope_theta"] == 20000.0
    assert config["max_position_embeddings"] == 2048


def test_before_and_after_are_compared(run):
    results = json.loads((run / "results.json").read_text())
    assert results["differences"]["tiny"]["accuracy,robust"]["n"] == 12
    assert (run / "report.md").exists()


def messages(**answer) -> dict:
    return {"messages": [{"role": "user", "content": "5 + 3?"}, {"role": "assistant", **answer}]}


def test_messages_are_read_as_rows(tmp_path):
    path = tmp_path / "data.jsonl"
    rows = [
        messages(content="<think>\nfive plus three\n</think>\n\n8"),
        messages(content="8", reasoning_content="five plus three"),
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    for row in read_dataset(path):
        assert (row["reasoning"], row["response"]) == ("five plus three", "8")
        assert row["prompt"] == [{"role": "user", "content": "5 + 3?"}]


def test_a_configuration_extends_another(tmp_path):
    from trl import SFTConfig

    from riftk.recipes.sft import SftArguments

    (tmp_path / "base.yaml").write_text(
        "model_name_or_path: m\nbf16: false\nnum_rows: 5\noutput_dir: a\nlearning_rate: 0.5\n"
    )
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "mine.yaml").write_text("extends: ../base.yaml\nnum_rows: 7\n")
    arguments = ["--config", str(tmp_path / "more" / "mine.yaml"), "--output_dir", "b"]
    args, training, model = parse_recipe(arguments, SftArguments, SFTConfig, tmp_path / "base.yaml")
    assert (args.num_rows, training.learning_rate, training.output_dir) == (7, 0.5, "b")
    assert model.model_name_or_path == "m"


@pytest.mark.parametrize(
    "config", sorted((RECIPE.parent / "configs" / "sft").glob("*.yaml")), ids=lambda c: c.stem
)
def test_every_configuration_can_be_read(config):
    from trl import SFTConfig

    from riftk.recipes.sft import SftArguments

    arguments = ["--config", str(config), "--bf16", "false", "--use_cpu", "true"]
    args, training, _ = parse_recipe(arguments, SftArguments, SFTConfig, config)
    assert args.plain_share == 1.0
    assert (training.adam_beta1, training.adam_beta2, training.weight_decay) == (0.9, 0.95, 0.01)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        *MISTAKES,
        (["--synth_temperature", "-1"], "temperature must be 0 (greedy) or more"),
        (["--synth_top_p", "1.5"], "top_p must be above 0 and at most 1"),
        (["--problems", "no_such.module:problems"], "no_such.module:problems"),
        (["--chat_template_path", "no_trace.jinja"], "keeps and supervises a trace in no form"),
        (["--stages", "train", "eval"], "there is no dataset"),
        (["--rope_theta", "20000"], "give both or neither"),
        (["--teacher", "no_weights"], "no_weights holds no .safetensors weights"),
        (["--teacher", "./no/such/teacher"], "./no/such/teacher does not exist"),
        (["--dataset", "open.jsonl"], "row 1: the assistant's message holds no reasoning that is closed"),
        (["--dataset", "question.jsonl"], "row 1: messages must end with one of the assistant"),
        (["--config", "unknown.yaml"], "there is no option 'num_row'"),
        (["--eval_steps", "0.5"], "0.5 is no whole number"),
    ],
)
def test_bad_input_is_refused_before_anything_starts(arguments, sentence, tmp_path, monkeypatch, capsys):
    (tmp_path / "open.jsonl").write_text(json.dumps(messages(content="<think>five")) + "\n")
    (tmp_path / "question.jsonl").write_text('{"messages": [{"role": "user", "content": "5 + 3?"}]}\n')
    (tmp_path / "unknown.yaml").write_text("model_name_or_path: m\nbf16: false\nnum_row: 5\n")
    write_bad_models(tmp_path)
    assert sentence in mistake("sft", arguments, tmp_path, monkeypatch, capsys)


def test_a_mistake_ends_the_process_with_one_sentence(tmp_path):
    finished = subprocess.run(
        [sys.executable, str(RECIPE), "--model_name_or_path", "./no/such/model"],
        cwd=tmp_path, capture_output=True, text=True, timeout=400,
    )  # fmt: skip
    assert finished.returncode != 0
    assert finished.stderr.splitlines()[-1].startswith("sft.py: ./no/such/model does not exist")
    assert "Traceback" not in finished.stderr
    assert not list(tmp_path.iterdir())
