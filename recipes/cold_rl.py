"""Reinforcement learning with verifiable rewards (GRPO): for the answer, and for following instructions.

    accelerate launch recipes/cold_rl.py                      # the embedded tiny model, on any machine
    accelerate launch recipes/cold_rl.py --config recipes/configs/cold_rl/tiny-gated.yaml
    accelerate launch --config_file accelerate_configs/zero3.yaml \
        recipes/cold_rl.py --config recipes/configs/cold_rl/qwen2.5-1.5b.yaml

Two stages, together or alone (`--stages eval`):
    train  trl's GRPOTrainer on problems, or on the rows of --dataset FILE    (or --checkpoint DIR)
    eval   the same benchmark items before and after, and a report

What is paid is named in `rewards`, with `reward_weights`. Before training a few prompts are sampled, and a
run that could not learn stops with advice (`--skip_preflight`). A run that starts from another run's folder
(`--model_name_or_path runs/sft-tiny`) takes its final model: SFT+RL.

Every option of trl's `GRPOConfig` and `ModelConfig` is an option too, in the YAML or on the command line.
`output_dir` is the run folder; started again, a run goes on where it stopped.
Source: MathIF, sections 5.2 and 5.3, Tables 4, 5 and 7 (right).
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from datasets import Dataset
from trl import GRPOConfig, GRPOTrainer, ModelConfig, get_peft_config

from riftk.completions import think_mode, turn_end_ids
from riftk.dry_run import show_dry_run
from riftk.monitoring import RolloutMonitor
from riftk.paths import resolve
from riftk.preflight import preflight, usual_trace
from riftk.rl import (
    RewardArguments,
    check_rewards,
    check_rollouts,
    fitting,
    make_rewards,
    read_rl_rows,
    with_reference,
)
from riftk.runs import RunError, die_with_parent
from riftk.stages import Job, check_shared_inputs
from riftk.training import EvaluationArguments, model_tokenizer, option, parse_recipe

DEFAULT_CONFIG = Path(__file__).parent / "configs" / "cold_rl" / "tiny.yaml"
STAGES = ["train", "eval"]


@dataclass
class ColdRlArguments(EvaluationArguments, RewardArguments):
    """What cold RL adds to trl's own arguments."""

    stages: list[str] = option(STAGES, "what to run", choices=STAGES)
    checkpoint: str | None = option(None, "trained model to evaluate instead of train")
    rollout_steps: int = option(10, "steps between tables of rollouts; 0: none")
    skip_preflight: bool = option(False, "train without looking at a few samples first")
    preflight_prompts: int = option(16, "prompts to sample before training")


@dataclass
class RlConfig(GRPOConfig):
    """trl's configuration with a chat template, as its `SFTConfig` has one."""

    chat_template_path: str | None = option(None, "chat template file, instead of the tokenizer's own")


def parse(arguments: Sequence[str]) -> tuple[ColdRlArguments, RlConfig, ModelConfig]:
    """Read a command line, see `riftk.training.parse_recipe`."""
    return parse_recipe(arguments, ColdRlArguments, RlConfig, DEFAULT_CONFIG)


def main() -> None:
    die_with_parent()
    args, training, model = parse(sys.argv[1:])
    if args.dry_run:
        show_dry_run(args, training, model, check_inputs)
        return
    rows, dropped = check_inputs(args, training, model)
    job = Job.start(args, training, model)
    if job.run.is_finished("run"):
        return print(f"{job.run.path} is finished: see {job.run.path}/report.md") if job.is_main else None
    wants_training = bool(rows) and not job.run.is_finished("train")
    if wants_training:
        rows = prepare(job, rows, dropped)
    job.evaluate_before()
    if wants_training:
        train(job, rows)
    job.evaluate_after()


def check_inputs(
    args: ColdRlArguments, training: RlConfig, model: ModelConfig
) -> tuple[list[dict[str, Any]], int]:
    """Stop at the first mistake, before anything is sampled, trained or written.

    Returns:
        the rows to train on, none where nothing is trained, and how many were left out for their length.
    """
    tokenizer = check_shared_inputs(args, training, model)
    if "train" not in args.stages or args.checkpoint:
        return [], 0
    check_rollouts(training)
    rows = read_rl_rows(args, training.seed)
    check_rewards(args, training, rows)
    kept = fitting(tokenizer, rows, args.max_prompt_length)
    return kept, len(rows) - len(kept)


def prepare(job: Job, rows: list[dict[str, Any]], dropped: int) -> list[dict[str, Any]]:
    """Look at a few samples before the training, and note how long traces usually are."""
    args, tokenizer = job.args, model_tokenizer(job.training, job.model)
    if job.is_main:
        every = len(rows) + dropped
        print(f"{len(rows)} of {every} rows have prompts of at most {args.max_prompt_length} tokens")
        if not args.skip_preflight and job.run.last_checkpoint() is None:
            preflight(job, rows, rewards_of(job, tokenizer), tokenizer, dropped=dropped)
    job.wait()
    return with_reference(rows, usual_trace(job.run.path))


def rewards_of(job: Job, tokenizer: Any) -> list[Any]:
    return make_rewards(job.args, think_mode(tokenizer), turn_end_ids(tokenizer))


def train(job: Job, rows: list[dict[str, Any]]) -> None:
    """Train with trl's GRPOTrainer; the monitor shows rollouts and raises alarms."""
    tokenizer = model_tokenizer(job.training, job.model)
    monitor = RolloutMonitor(job.run.path, think_mode(tokenizer), job.args.rollout_steps)
    job.prepare_training()
    trainer = GRPOTrainer(
        model=resolve(job.model.model_name_or_path),  # a name: with beta > 0 trl loads the reference from it
        args=job.training,
        reward_funcs=monitor.watch(rewards_of(job, tokenizer)),
        train_dataset=Dataset.from_list(rows),
        processing_class=tokenizer,
        peft_config=get_peft_config(job.model),
        callbacks=[monitor, *job.callbacks()],
    )
    job.run_training(trainer)


if __name__ == "__main__":
    try:
        main()
    except (RunError, ValueError, FileNotFoundError) as error:
        sys.exit(f"cold_rl.py: {error}")
