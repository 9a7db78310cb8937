"""Reasoning Instruction Finetuning (RIF): from the traces of a base model to a before/after report.

    accelerate launch recipes/rif.py                                  # the embedded tiny model, on any machine
    accelerate launch --config_file accelerate_configs/single_gpu.yaml \
        recipes/rif.py --config recipes/configs/rif/qwen3-8b-lora.yaml --num_rows 1000

Three stages, together or alone (`--stages train eval`), each of which can start from files:

    synth  traces of the base model, rewritten until they follow an instruction   (--dataset FILE instead)
    train  supervised finetuning on them with trl's SFTTrainer                    (--checkpoint DIR instead)
    eval   the same benchmark items before and after, and a report

Every option of trl's `SFTConfig` and `ModelConfig` is an option here too, in the YAML or on the command
line. `--output_dir` is the run folder; started again, the run goes on where it stopped.
Source: ReasonIF (Kwon et al. 2025), section 5; sampling without the instruction follows METR's replication.
"""

import sys
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Literal

from riftk.constraints import parse_constraint
from riftk.paths import resolve
from riftk.runs import RunError, RunFolder, die_with_parent, open_run, riftk

DEFAULT_CONFIG = Path(__file__).parent / "configs" / "rif" / "tiny.yaml"
STAGES = ("synth", "train", "eval")


@dataclass
class RifArguments:
    """What RIF adds to trl's own arguments."""

    stages: list[str] = field(default_factory=lambda: list(STAGES), metadata={"help": "synth, train, eval"})
    dataset: str | None = field(default=None, metadata={"help": "finished dataset (JSONL) instead of synth"})
    checkpoint: str | None = field(default=None, metadata={"help": "trained model to evaluate instead of train"})
    problems: str = field(default="openai/gsm8k", metadata={"help": "file, hub id, or module:function"})
    question_column: str = field(default="question", metadata={"help": "column of the problem"})
    answer_column: str = field(default="answer", metadata={"help": "column of the gold answer; '' for none"})
    answer_type: Literal["math", "number", "choice", "label"] = field(default="math")
    num_rows: int = field(default=1000, metadata={"help": "problems to make rows from"})
    constraints: list[str] = field(default_factory=list, metadata={"help": "constraint ids; none: all by rule"})
    plain_share: float = field(default=0.1, metadata={"help": "share of rows without an instruction"})
    sample_with_instruction: bool = field(default=False, metadata={"help": "leave it in (the paper's way)"})
    max_new_tokens: int = field(default=8192, metadata={"help": "tokens per generated completion"})
    temperature: float = field(default=1.0, metadata={"help": "of synthesis and evaluation"})
    top_p: float = field(default=0.95, metadata={"help": "of synthesis and evaluation"})
    batch_size: int = field(default=16, metadata={"help": "completions generated at once"})
    loss_on: Literal["reasoning", "response", "both"] = field(default="both")
    benchmarks: list[str] = field(default_factory=lambda: ["reasonif"])
    data_dir: str | None = field(default=None, metadata={"help": "folder with benchmark files, for no hub"})
    eval_split: Literal["dev", "test"] = field(default="test", metadata={"help": "items of the evaluation"})
    eval_limit: int | None = field(default=None, metadata={"help": "items per benchmark, stratified"})


def main() -> None:
    from accelerate import PartialState
    from trl import ModelConfig, SFTConfig, TrlParser

    from riftk.report import write_report

    die_with_parent()
    try:
        parser = TrlParser((RifArguments, SFTConfig, ModelConfig))
        args, training, model = parser.parse_args_and_config(with_config(sys.argv[1:]))
        check_arguments(args, training, model)
        state = PartialState()
        config = {**asdict(args), **training.to_dict(), **asdict(model)}
        run = open_run(training.output_dir, config, hold=state.is_main_process)
        if run.is_finished("run"):
            return state.print(f"{run.path} is finished: {run.path / 'report.md'}; for a new run give --output_dir")
        if state.is_main_process and "eval" in args.stages:
            evaluate(run.evaluation("before"), model.model_name_or_path, args, training)
        if state.is_main_process and "synth" in args.stages and not args.dataset:
            synthesize(run.data, model.model_name_or_path, args, training)
        state.wait_for_everyone()
        if "train" in args.stages and not args.checkpoint and not run.is_finished("train"):
            train(run, args, training, model)
            state.wait_for_everyone()
        if state.is_main_process and "eval" in args.stages:
            evaluate(run.evaluation("after"), args.checkpoint or str(run.final), args, training)
            print(write_report(run.path))
            run.mark_finished("run")
    except (RunError, ValueError, FileNotFoundError) as error:
        sys.exit(f"rif.py: {error}")


def synthesize(out: Path, base: str, args: RifArguments, training) -> None:
    """Sample traces from the model that will be trained, rewrite them, keep what both rulebooks accept."""
    riftk(
        "synth",
        model=base,
        out=out,
        problems=args.problems,
        question_column=args.question_column,
        answer_column=args.answer_column,
        answer_type=args.answer_type,
        num_rows=args.num_rows,
        constraint=args.constraints,
        plain_share=args.plain_share,
        sample_with_instruction=args.sample_with_instruction,
        **generation(args, training),
    )


def train(run: RunFolder, args: RifArguments, training, model) -> None:
    """Finetune on the dataset with trl, the loss on exactly the tokens that `loss_on` names."""
    from datasets import Dataset
    from transformers import AutoTokenizer
    from transformers.trainer_utils import get_last_checkpoint
    from trl import SFTTrainer, get_peft_config

    from riftk.rows import read_jsonl
    from riftk.supervision import show_supervision, supervise

    tokenizer = AutoTokenizer.from_pretrained(resolve(model.model_name_or_path))
