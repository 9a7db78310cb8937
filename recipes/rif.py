"""Reasoning Instruction Finetuning (RIF): from the traces of a base model to a before/after report.

    accelerate launch recipes/rif.py                                  # the embedded tiny model, on any machine
    accelerate launch --config_file accelerate_configs/single_gpu.yaml \
        recipes/rif.py --config recipes/configs/rif/qwen3-8b-lora.yaml --num_rows 1000

Three stages, together or alone (`--stages train eval`), each of which can start from files:

    synth  traces of the base model, rewritten until they follow an instruction   (or --dataset FILE)
    train  supervised finetuning on them with trl's SFTTrainer                    (or --checkpoint DIR)
    eval   the same benchmark items before and after, and a report

Every option of trl's `SFTConfig` and `ModelConfig` is an option here too, in the YAML or on the command
line. `output_dir` is the run folder; started again, a run goes on where it stopped.
Source: ReasonIF, section 5; leaving the instruction out while sampling follows METR's replication.
"""

import sys
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Literal

from riftk.paths import resolve
from riftk.runs import RunError, RunFolder, die_with_parent, open_run, riftk

DEFAULT_CONFIG = Path(__file__).parent / "configs" / "rif" / "tiny.yaml"


@dataclass
class RifArguments:
    """What RIF adds to trl's own arguments."""

    stages: list[Literal["synth", "train", "eval"]] = field(default_factory=lambda: ["synth", "train", "eval"])
    dataset: str | None = field(default=None, metadata={"help": "finished dataset (JSONL) instead of synth"})
    checkpoint: str | None = field(default=None, metadata={"help": "trained model to evaluate instead of train"})

    problems: str = field(default="openai/gsm8k", metadata={"help": "file, hub id, or module:function"})
    question_column: str = field(default="question", metadata={"help": "column of the problem"})
    answer_column: str = field(default="answer", metadata={"help": "column of the gold answer; '' for none"})
    answer_type: Literal["math", "number", "choice", "label"] = "math"
    num_rows: int = field(default=1000, metadata={"help": "problems to make rows from"})
    constraints: list[str] = field(default_factory=list, metadata={"help": "ids; none: all by rule"})
    plain_share: float = field(default=0.1, metadata={"help": "share of rows without an instruction"})
    sample_with_instruction: bool = field(default=False, metadata={"help": "leave it in (the paper's way)"})
    synth_temperature: float = 1.0

    loss_on: Literal["reasoning", "response", "both"] = field(default="both", metadata={"help": "trained part"})

    benchmarks: list[str] = field(default_factory=lambda: ["reasonif"], metadata={"help": "run before and after"})
    data_dir: str | None = field(default=None, metadata={"help": "folder with benchmark files, for no hub"})
    eval_split: Literal["dev", "test"] = field(default="test", metadata={"help": "items of the evaluation"})
    eval_limit: int | None = field(default=None, metadata={"help": "items per benchmark, stratified"})
    eval_temperature: float = 1.0

    top_p: float = field(default=0.95, metadata={"help": "of synthesis and evaluation"})
    max_new_tokens: int = field(default=8192, metadata={"help": "tokens per generated completion"})
    batch_size: int = field(default=16, metadata={"help": "completions generated at once"})


def main() -> None:
    from accelerate import PartialState
    from trl import ModelConfig, SFTConfig, TrlParser

    from riftk.report import write_report

    die_with_parent()
    parser = TrlParser((RifArguments, SFTConfig, ModelConfig))
    args, training, model = parser.parse_args_and_config(with_config(sys.argv[1:]))
    state = PartialState()
    check_arguments(args, training, model)
    run = open_run(
        training.output_dir,
        {**asdict(args), **training.to_dict(), **asdict(model)},
        hold=state.is_main_process,
    )
    if run.is_finished("run"):
        state.print(f"{run.path} is finished: see {run.path}/report.md, or give another --output_dir")
        return
    if state.is_main_process and "eval" in args.stages:
        evaluate(model.model_name_or_path, run.evaluation("before"), args, training)
    if state.is_main_process and "synth" in args.stages and not args.dataset:
        synthesize(run.data, args, training, model)
    state.wait_for_everyone()
    if "train" in args.stages and not args.checkpoint and not run.is_finished("train"):
        train(run, args, training, model)
        state.wait_for_everyone()
    if state.is_main_process and "eval" in args.stages:
        evaluate(args.checkpoint or run.final, run.evaluation("after"), args, training)
        print(write_report(run.path))
        run.mark_finished("run")


def synthesize(out: Path, args: RifArguments, training, model) -> None:
    """Sample traces from the model that will be trained, rewrite them, keep what both rulebooks accept."""
    names = ("problems", "question_column", "answer_column", "answer_type", "num_rows", "constraints")
    options = {name: getattr(args, name) for name in (*names, "plain_share", "sample_with_instruction")}
    sampling = generation(args, training, args.synth_temperature)
    riftk("synth", model=model.model_name_or_path, out=out, **options, **sampling)


def train(run: RunFolder, args: RifArguments, training, model) -> None:
    """Finetune with trl, the loss on exactly the tokens that `loss_on` names; one row is shown."""
    from datasets import Dataset
    from transformers.trainer_utils import get_last_checkpoint
    from trl import SFTTrainer, get_peft_config

    from riftk.rows import read_jsonl
    from riftk.supervision import load_tokenizer, show_supervision, supervise

    tokenizer = load_tokenizer(model.model_name_or_path, training.chat_template_path)
    records = read_jsonl(args.dataset or run.data / "dataset.jsonl")
    rows = supervise(tokenizer, records, loss_on=args.loss_on, max_length=training.max_length)
    training.output_dir = str(run.checkpoints)
    training.model_init_kwargs = model_init_kwargs(training, model)
    trainer = SFTTrainer(
        model=resolve(model.model_name_or_path),
        args=training,
        train_dataset=Dataset.from_list(rows),
        processing_class=tokenizer,
        peft_config=get_peft_config(model),
    )
    trainer.accelerator.print(show_supervision(tokenizer, rows[0]))
    trainer.train(resume_from_checkpoint=get_last_checkpoint(run.checkpoints) if run.checkpoints.exists() else None)
    trainer.save_model(str(run.final))
    if trainer.accelerator.is_main_process:
        run.mark_finished("train")


def evaluate(name: str | Path, out: Path, args: RifArguments, training) -> None:
    """Evaluate in a process of its own, never inside the trainer's process group."""
    options = {"split": args.eval_split, "limit": args.eval_limit, "data_dir": args.data_dir}
    sampling = generation(args, training, args.eval_temperature)
    riftk("eval", model=name, out=out, benchmarks=args.benchmarks, **options, **sampling)


def generation(args: RifArguments, training, temperature: float) -> dict:
    return {
        "temperature": temperature,
        "top_p": args.top_p,
        "max_tokens": args.max_new_tokens,
        "batch_size": args.batch_size,
        "seed": training.seed,
        "chat_template": training.chat_template_path,
    }


if __name__ == "__main__":
    try:
        main()
    except (RunError, ValueError, FileNotFoundError) as error:
        sys.exit(f"rif.py: {error}")
