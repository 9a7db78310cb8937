"""The RIF recipe, run for real: `accelerate launch`, the embedded model, two steps of training."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from toy_tokenizers import trl_templates

from riftk.paths import resolve
from riftk.recipes import rif

ROOT = Path(__file__).parent.parent
RECIPE = str(ROOT / "recipes" / "rif.py")
SMALL = ["--num_rows", "24", "--max_steps", "2", "--eval_limit", "24", "--batch_size", "24"]


def launch(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "accelerate.commands.launch", "--quiet", *arguments]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
    return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=400)


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("rif")
    finished = launch(RECIPE, *SMALL, "--output_dir", str(folder / "run"), cwd=folder)
    assert finished.returncode == 0, finished.stderr[-3000:]
    assert "report.md" in finished.stdout
    return folder / "run"


def test_the_run_folder_holds_what_the_report_needs(run):
    for name in ("config.yaml", "data/dataset.jsonl", "final/model.safetensors", "results.json", "report.md"):
        assert (run / name).exists(), name
    for when in ("before", "after"):
        assert (run / "eval" / when / "results.json").exists()
        assert list((run / "eval" / when).glob("samples_*.jsonl"))
    dataset = [json.loads(line) for line in (run / "data" / "dataset.jsonl").open()]
    assert dataset
    assert all(row["reasoning"] and row["response"] for row in dataset)


def test_before_and_after_answer_the_same_items(run):
    items = [
        [json.loads(line)["item_id"] for line in sorted((run / "eval" / when / "samples_tiny.jsonl").open())]
        for when in ("before", "after")
    ]
    assert sorted(items[0]) == sorted(items[1])
    assert len(set(items[0])) == len(items[0]) == 24


def test_a_finished_run_says_so_and_another_configuration_stops(run):
    again = launch(RECIPE, *SMALL, "--output_dir", str(run), cwd=run.parent)
    assert again.returncode == 0
    assert "is finished" in again.stdout
    changed = launch(RECIPE, *SMALL, "--output_dir", str(run), "--learning_rate", "1e-5", cwd=run.parent)
    assert changed.returncode != 0
    assert "learning_rate: 0.001 -> 1e-05" in changed.stderr


def test_a_mistake_under_the_launcher_is_no_stack_of_calls(tmp_path):
    finished = launch(RECIPE, "--model_name_or_path", "./no/such/model", cwd=tmp_path)
    assert finished.returncode != 0
    assert "./no/such/model does not exist" in finished.stderr
    assert "Traceback" not in finished.stderr
    assert not list(tmp_path.iterdir())


def test_training_starts_from_a_dataset_file_and_from_the_installed_module(run, tmp_path):
    finished = launch(
        "-m", "riftk.recipes.rif", *SMALL, "--stages", "train", "--loss_on", "reasoning",
        "--dataset", str(run / "data" / "dataset.jsonl"), "--output_dir", str(tmp_path / "run"),
        cwd=tmp_path,
    )  # fmt: skip
    assert finished.returncode == 0, finished.stderr[-3000:]
    assert (tmp_path / "run" / "final" / "model.safetensors").exists()
    assert not (tmp_path / "run" / "eval").exists()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--constraints", "punctuation:no_commas"], "punctuation:no_commas"),
        (["--constraints", "language:reasoning_language"], "LLM"),
        (["--model_name_or_path", "./no/such/model"], "./no/such/model does not exist"),
        (["--learning_rate", "abc"], "invalid float value: 'abc'"),
        (["--no_such_flag", "1"], "no_such_flag"),
        (["--config", "no.yaml"], "no.yaml"),
        (["--dataset", "empty.jsonl"], "empty.jsonl holds no rows"),
        (["--dataset", "string.jsonl"], "row 1 (a): prompt must be a list of messages"),
        (["--stages", "train", "eval"], "there is no dataset"),
        (["--stages", "cook"], "cook"),
        (["--checkpoint", "./no/checkpoint"], "./no/checkpoint does not exist"),
        (["--config=literal.yaml"], "loss_on takes reasoning, response, both, not thoughts"),
        (["--dataset", "columns.jsonl"], "'reasoning'"),
        (["--model_name_or_path", "no_template"], "chat template"),
        (["--benchmarks", "no_such_benchmark"], "no_such_benchmark"),
        (["--synth_temperature", "-1"], "temperature must be 0 (greedy) or more"),
        (["--synth_top_p", "1.5"], "top_p must be above 0 and at most 1"),
        (["--max_new_tokens", "0"], "max_tokens must be at least 1"),
        (["--chat_template_path", "no_trace.jinja"], "keeps and supervises a trace in no form"),
    ],
)
def test_bad_input_is_one_sentence_before_anything_starts(arguments, sentence, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("empty.jsonl").touch()
    Path("columns.jsonl").write_text(
        '{"item_id": "a", "prompt": [{"role": "user", "content": "How many?"}]}\n'
    )
    Path("string.jsonl").write_text('{"item_id": "a", "prompt": "How many?"}\n')
    Path("literal.yaml").write_text("model_name_or_path: m\nbf16: false\nloss_on: thoughts\n")
    Path("no_trace.jinja").write_text(trl_templates()["deepseek_r1_distill"], encoding="utf-8")
    shutil.copytree(resolve("pkg://riftk.tiny/weights/base"), "no_template")
    Path("no_template", "chat_template.jinja").unlink()
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises((SystemExit, ValueError, FileNotFoundError)) as stopped:
        rif.check_inputs(*rif.parse(arguments))
    said = capsys.readouterr().err if stopped.type is SystemExit else str(stopped.value)
    assert sentence in said.strip().splitlines()[-1]
    assert sorted(tmp_path.rglob("*")) == before
