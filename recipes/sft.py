"""Reasoning-oriented supervised finetuning: long correct traces, and what they do to following instructions.

    accelerate launch recipes/sft.py                          # the embedded tiny model, on any machine
    accelerate launch --config_file accelerate_configs/zero3.yaml \
        recipes/sft.py --config recipes/configs/sft/qwen2.5-1.5b.yaml --dataset my_traces.jsonl

Three stages, together or alone (`--stages train eval`), each of which can start from files:
    synth  traces of a teacher, kept where the answer is correct      (or --dataset FILE, also of `messages`)
    train  supervised finetuning on them with trl's SFTTrainer        (or --checkpoint DIR)
    eval   the same benchmark items before and after, and a report

Every option of trl's `SFTConfig` and `ModelConfig` is an option too, in the YAML or on the command line.
`output_dir` is the run folder; started again, a run goes on where it stopped.
Source: MathIF, section 5.2 and Table 7 (left).
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trl import ModelConfig, SFTConfig

from riftk.dry_run import show_dry_run
from riftk.engines.transformers import load_tokenizer
from riftk.runs import RunError, die_with_parent
from riftk.stages import Job, check_model, check_supervised_inputs
from riftk.training import EvaluationArguments, SynthesisArguments, option, parse_recipe

DEFAULT_CONFIG = Path(__file__).parent / "configs" / "sft" / "tiny.yaml"
STAGES = ["synth", "train", "eval"]


@dataclass
class SftArguments(EvaluationArguments, SynthesisArguments):
    """What SFT adds to trl's own arguments."""

    stages: list[str] = option(STAGES, "what to run", choices=STAGES)
    dataset: str | None = option(None, "finished traces (JSONL) instead of synth")
    checkpoint: str | None = option(None, "trained model to evaluate instead of train")
    teacher: str | None = option(None, "model whose traces are sampled; none: the model itself")
    rope_theta: float | None = option(None, "base of the rotary positions, for bases with a short context")
    max_positions: int | None = option(None, "context that goes with rope_theta, in tokens")


def parse(arguments: Sequence[str]) -> tuple[SftArguments, SFTConfig, ModelConfig]:
    """Read a command line, see `riftk.training.parse_recipe`."""
    return parse_recipe(arguments, SftArguments, SFTConfig, DEFAULT_CONFIG)


def main() -> None:
    die_with_parent()
    args, training, model = parse(sys.argv[1:])
    if args.dry_run:
        show_dry_run(args, training, model, check_inputs)
        return
    check_inputs(args, training, model)
    job = Job.start(args, training, model)
    if job.run.is_finished("run"):
        return print(f"{job.run.path} is finished: see {job.run.path}/report.md") if job.is_main else None
    job.evaluate_before()
    job.synthesize(args.teacher)
    if job.wants("train") and not args.checkpoint and not job.run.is_finished("train"):
        job.finetune(loss_on="both", **longer_context(args))
    job.evaluate_after()


def check_inputs(args: SftArguments, training: SFTConfig, model: ModelConfig) -> None:
    """Stop at the first mistake, before anything is sampled, trained or written."""
    check_supervised_inputs(args, training, model)
    if (args.rope_theta is None) != (args.max_positions is None):
        raise ValueError("rope_theta and max_positions extend a short context together; give both or neither")
    if args.teacher and "synth" in args.stages and not args.dataset:
        check_model(args.teacher)
        load_tokenizer(args.teacher)


def longer_context(args: SftArguments) -> dict[str, Any]:
    """What a base with a short context (Qwen2.5-Math: 4096 tokens) is loaded with to learn longer traces."""
    if args.rope_theta is None:
        return {}
    rope = {"rope_type": "default", "rope_theta": args.rope_theta}
    return {"rope_parameters": rope, "max_position_embeddings": args.max_positions}


if __name__ == "__main__":
    try:
        main()
    except (RunError, ValueError, FileNotFoundError) as error:
        sys.exit(f"sft.py: {error}")
