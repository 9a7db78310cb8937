"""What a user of trl writes without riftk, for the same training: python plain.py CONFIG.yaml ROWS.jsonl OUT

The configuration is that of a recipe's run; of it trl's own settings are taken. With `rewards` in it, it is
reinforcement learning for right answers, else supervised finetuning on prompts and completions.
"""

from __future__ import annotations

import json
import sys
from dataclasses import fields
from pathlib import Path
from typing import Any

import yaml
from datasets import Dataset
from transformers import AutoTokenizer
from trl import GRPOConfig, GRPOTrainer, SFTConfig, SFTTrainer


def main() -> None:
    config_file, rows_file, out = sys.argv[1:]
    config = yaml.safe_load(Path(config_file).read_text(encoding="utf-8"))
    rows = [json.loads(line) for line in Path(rows_file).read_text(encoding="utf-8").splitlines()]
    model = config["model_name_or_path"]
    tokenizer = AutoTokenizer.from_pretrained(model)
    if "rewards" in config:
        trainer = GRPOTrainer(
            model=model,
            args=_settings(GRPOConfig, config, out),
            reward_funcs=correctness,
            train_dataset=Dataset.from_list(rows),
            processing_class=tokenizer,
        )
    else:
        trainer = SFTTrainer(
            model=model,
            args=_settings(SFTConfig, config, out),
            train_dataset=Dataset.from_list([_conversation(row) for row in rows]),
            processing_class=tokenizer,
        )
    trainer.train()
    trainer.save_model(f"{out}/final")


def _conversation(row: dict[str, Any]) -> dict[str, Any]:
    content = f"<think>\n{row['reasoning']}\n</think>\n\n{row['response']}"
    return {"prompt": row["prompt"], "completion": [{"role": "assistant", "content": content}]}


def correctness(completions: list[Any], answer: list[str], **columns: Any) -> list[float]:
    """1 for a completion that holds the answer. riftk grades instead; on the work here both pay the same."""
    from riftk.rewards import CorrectnessReward

    return CorrectnessReward(think="tags")(completions=completions, answer=answer, **columns)


def _settings(kind: type, config: dict[str, Any], out: str) -> Any:
    names = {one.name for one in fields(kind)} - {"output_dir", "report_to", "deepspeed"}
    names -= {"generation_batch_size"}  # trl works it out from steps_per_generation
    given = {name: config[name] for name in names & config.keys() if config[name] is not None}
    dtype = {"dtype": config.get("dtype") or "auto"}
    return kind(output_dir=out, report_to=[], **{**given, "model_init_kwargs": dtype})


if __name__ == "__main__":
    main()
