"""Datasets for other trainers: rows that plain trl trains on, the trace within the labels."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from toy_tokenizers import toy_tokenizer, trl_templates

from riftk.data_synth import SynthesisError, export_dataset, to_prompt_completion
from riftk.rows import Row, write_jsonl

MODEL = "pkg://riftk.tiny/weights/base"


def record(number: int) -> dict:
    row = Row(
        item_id=f"item-{number}",
        prompt=({"role": "user", "content": f"Anna has {number} pens and gets 4 more. How many are there?"},),
        answer=str(number + 4),
        answer_type="number",
    )
    provenance = {"model": "scripted", "instruction": None, "attempts": 1}
    parts = {"reasoning": f"{number} + 4 = {number + 4}", "response": f"<answer>{number + 4}</answer>"}
    return {**row.to_dict(), **parts, "synth": provenance}


@pytest.mark.parametrize("suffix", ["jsonl", "parquet"])
def test_plain_trl_trains_on_the_trace(suffix, tmp_path):
    from datasets import load_dataset
    from trl import SFTConfig, SFTTrainer

    from riftk.engines.transformers import load_tokenizer
    from riftk.paths import resolve

    file = tmp_path / f"sft.{suffix}"
    assert export_dataset(map(record, range(8)), load_tokenizer(MODEL), file) == 8
    rows = load_dataset(suffix.replace("jsonl", "json"), data_files=str(file), split="train")
    training = SFTConfig(
        output_dir=str(tmp_path / "out"), max_steps=2, per_device_train_batch_size=2, bf16=False,
        use_cpu=True, gradient_checkpointing=False, report_to="none", save_strategy="no", disable_tqdm=True,
    )  # fmt: skip
    trainer = SFTTrainer(model=resolve(MODEL), args=training, train_dataset=rows)
    assert trainer.train().global_step == 2
    labels = next(iter(trainer.get_train_dataloader()))["labels"][0].tolist()
    trained = trainer.processing_class.decode([label for label in labels if label != -100])
    assert "+ 4 = " in trained
    assert "</think>" in trained
    assert "<answer>" in trained
    assert "pens" not in trained


def test_the_command_keeps_the_other_columns(tmp_path):
    write_jsonl(tmp_path / "dataset.jsonl", map(record, range(3)))
    arguments = ["export", "dataset.jsonl", "--model", MODEL, "--out", "new/sft.jsonl"]
    finished = subprocess.run(
        [sys.executable, "-m", "riftk.cli", *arguments], cwd=tmp_path, capture_output=True, text=True
    )
    assert finished.stdout == "3 rows in new/sft.jsonl\n", finished.stderr
    first = json.loads((tmp_path / "new" / "sft.jsonl").read_text(encoding="utf-8").splitlines()[0])
    assert first.keys() == {*Row.from_dict(record(0)).to_dict(), "synth", "completion"}


def test_the_trace_stands_where_each_template_keeps_it():
    for name in ("qwen3", "gptoss"):
        message = to_prompt_completion(toy_tokenizer(trl_templates()[name]), record(3))["completion"][0]
        assert message["role"] == "assistant"
        assert "3 + 4 = 7" in "".join(message.values())


def test_a_template_without_a_trace_and_another_kind_of_file_are_refused(tmp_path):
    keeps_none = toy_tokenizer(trl_templates()["deepseek_r1_distill"])
    with pytest.raises(ValueError, match="keeps and supervises a trace in no form"):
        export_dataset([record(1)], keeps_none, tmp_path / "sft.jsonl")
    with pytest.raises(SynthesisError, match=r"\.jsonl or \.parquet"):
        export_dataset([record(1)], keeps_none, tmp_path / "sft.csv")
    assert not list(tmp_path.iterdir())
