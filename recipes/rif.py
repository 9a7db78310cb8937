"""Reasoning Instruction Finetuning (RIF): from the traces of a base model to a before/after report.

    accelerate launch recipes/rif.py                          # the embedded tiny model, on any machine
    accelerate launch --config_file accelerate_configs/single_gpu.yaml \
        recipes/rif.py --config recipes/configs/rif/qwen3-8b-lora.yaml --num_rows 1000

Three stages, together or alone (`--stages train eval`), each of which can start from files:
    synth  traces of the base model, rewritten until they follow an instruction   (or --dataset FILE)
    train  supervised finetuning on them with trl's SFTTrainer                    (or --checkpoint DIR)
    eval   the same benchmark items before and after, and a report

Every option of trl's `SFTConfig` and `ModelConfig` is an option too, in the YAML or on the command line.
`output_dir` is the run folder; started again, a run goes on where it stopped.
Source: ReasonIF, section 4.2, RQ4; leaving the instruction out while sampling follows METR's replication.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from trl import ModelConfig, SFTConfig

from riftk.dry_run import show_dry_run
from riftk.runs import RunError, die_with_parent
from riftk.stages import Job, check_supervised_inputs
from riftk.training import EvaluationArguments, SynthesisArguments, option, parse_recipe

DEFAULT_CONFIG = Path(__file__).parent / "configs" / "rif" / "tiny.yaml"
STAGES = ["synth", "train", "eval"]
check_inputs = check_supervised_inputs  # RIF asks for nothing more


@dataclass
class RifArguments(EvaluationArguments, SynthesisArguments):
    """What RIF adds to trl's own arguments."""

    stages: list[str] = option(STAGES, "what to run", choices=STAGES)
    dataset: str | None = option(None, "finished dataset (JSONL) instead of synth")
    checkpoint: str | None = option(None, "trained model to evaluate instead of train")
    loss_on: Literal["reasoning", "response", "both"] = option("both", "what is trained")


def parse(arguments: Sequence[str]) -> tuple[RifArguments, SFTConfig, ModelConfig]:
    """Read a command line, see `riftk.training.parse_recipe`."""
    return parse_recipe(arguments, RifArguments, SFTConfig, DEFAULT_CONFIG)


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
    job.synthesize()
    if job.wants("train") and not args.checkpoint and not job.run.is_finished("train"):
        job.finetune(loss_on=args.loss_on)
    job.evaluate_after()


if __name__ == "__main__":
    try:
        main()
    except (RunError, ValueError, FileNotFoundError) as error:
        sys.exit(f"rif.py: {error}")
