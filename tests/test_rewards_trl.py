"""The rewards in a real GRPO training of the embedded model: two steps, and what is logged."""

from __future__ import annotations

import math

import pytest

pytest.importorskip("trl")


def test_two_steps_of_grpo_log_the_same_keys_in_each(tmp_path):
    from datasets import Dataset
    from transformers import AutoTokenizer
    from trl import GRPOConfig, GRPOTrainer

    from riftk.constraints import parse_constraint
    from riftk.paths import resolve
    from riftk.prompts import reasonif_prompt
    from riftk.rewards import CorrectnessReward, FormatReward, GatedReward, InstructionReward
    from riftk.rows import Row
    from riftk.tiny.problems import generate_problems

    asked = parse_constraint({"id": "punctuation:no_comma", "target": "reasoning"})
    rows = [
        Row(
            item_id=str(number),
            prompt=(
                {
                    "role": "user",
                    "content": reasonif_prompt(problem.question, asked.instruction("reasoning")),
                },
            ),
            answer=problem.answer,
            answer_type="number",
            constraints=(asked,),
        ).to_dict()
        for number, problem in enumerate(generate_problems("train", 8, seed=0))
    ]
    rewards = [
        GatedReward(think="tags"),
        InstructionReward(think="tags", credit="graded"),
        CorrectnessReward(think="tags"),
        FormatReward(think="tags"),
    ]
    dataset = Dataset.from_list(rows)
    assert [reward.check_dataset(dataset) for reward in rewards] == [8, 8, 8, 8]
    model = resolve("pkg://riftk.tiny/weights/weak")
    config = GRPOConfig(
        output_dir=str(tmp_path),
        per_device_train_batch_size=4,
        num_generations=2,
        max_completion_length=40,
        max_steps=2,
        logging_steps=1,
        log_completions=True,
        num_completions_to_print=0,
        bf16=False,
        use_cpu=True,
        gradient_checkpointing=False,
        save_strategy="no",
        report_to=[],
    )
    trainer = GRPOTrainer(
        model=model,
        args=config,
        reward_funcs=rewards,
        train_dataset=dataset,
        processing_class=AutoTokenizer.from_pretrained(model),
    )
    trainer.train()
    logs = [entry for entry in trainer.state.log_history if "reward" in entry]
    assert len(logs) == 2
    keys = [
        {key for key in entry if key.startswith(tuple(reward.__name__ for reward in rewards))}
        for entry in logs
    ]
    assert keys[0] == keys[1]
    name = rewards[0].__name__
    assert {f"{name}/{key}" for key in ("earned", "correct", "followed", "degenerate", "unclosed")} <= keys[0]
    assert {f"{name}/guard/vacuous", f"{name}/asked/punctuation", f"{name}/followed/punctuation"} <= keys[0]
    assert all(math.isfinite(entry[key]) for entry in logs for key in keys[0])
    assert logs[0][f"{name}/asked/punctuation"] == 1.0
    assert {f"rewards/{reward.__name__}/mean" for reward in rewards} <= set(logs[0])
