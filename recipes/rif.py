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
Source: ReasonIF, section 5; leaving the instruction out while sampling follows METR's replication.
"""

import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from accelerate import PartialState
from datasets import Dataset
from trl import ModelConfig, SFTConfig, SFTTrainer, get_peft_config

from riftk.benchmarks import load_benchmark
from riftk.data_synth import SynthConfig, make_seeds
from riftk.engines.transformers import load_tokenizer
from riftk.paths import resolve
from riftk.report import write_report
from riftk.runs import RunError, RunFolder, die_with_parent, open_run, riftk
from riftk.training import model_init_kwargs, model_tokenizer, option, parse_recipe, read_dataset, supervise

DEFAULT_CONFIG = Path(__file__).parent / "configs" / "rif" / "tiny.yaml"
STAGES = ["synth", "train", "eval"]


@dataclass
class RifArguments:
    """What RIF adds to trl's own arguments."""

    stages: list[str] = option(STAGES, "what to run", choices=STAGES)
    dataset: str | None = option(None, "finished dataset (JSONL) instead of synth")
    checkpoint: str | None = option(None, "trained model to evaluate instead of train")
    problems: str = option("openai/gsm8k", "file, hub id, or module:function")
    question_column: str = option("question", "column of the problem")
    answer_column: str = option("answer", "column of the gold answer; '' where there is none")
    answer_type: Literal["math", "number", "choice", "label"] = option("math", "how answers are graded")
    num_rows: int = option(1000, "problems to make rows from")
    constraints: list[str] = option([], "constraint ids; none: all that a rule can rewrite for")
    plain_share: float = option(0.1, "share of rows without an instruction")
    sample_with_instruction: bool = option(False, "leave the instruction in while sampling (the paper's way)")
    require_correct: bool = option(True, "drop traces with a wrong answer")
    close_traces: bool = option(False, "close a trace that the model stopped in, instead of dropping it")
    synth_temperature: float = option(1.0, "of the traces")
    loss_on: Literal["reasoning", "response", "both"] = option("both", "what is trained")
    benchmarks: list[str] = option(["reasonif"], "run before and after")
    data_dir: str | None = option(None, "folder with benchmark files, where there is no hub")
    eval_split: Literal["dev", "test"] = option("test", "items of the evaluation")
    eval_limit: int | None = option(None, "items per benchmark, stratified")
    eval_temperature: float = option(1.0, "of the evaluation; 0 is greedy")
    top_p: float = option(0.95, "of synthesis and evaluation")
    max_new_tokens: int = option(8192, "tokens per generated completion")
    batch_size: int = option(16, "completions generated at once")


def main() -> None:
    die_with_parent()
    args, training, model = parse_recipe(sys.argv[1:], RifArguments, SFTConfig, DEFAULT_CONFIG)
    check_inputs(args, training, model)
    state = PartialState()
    config = {**asdict(args), **training.to_dict(), **asdict(model)}
    run = open_run(training.output_dir, config, hold=state.is_main_process)
    if run.is_finished("run"):
        return state.print(f"{run.path} is finished: see {run.path}/report.md")
    if state.is_main_process and "eval" in args.stages:
        evaluate(model.model_name_or_path, run.evaluation("before"), args, training, model)
    if state.is_main_process and "synth" in args.stages and not args.dataset:
        options = synth_options(args) | generation_options(args, training, model, args.synth_temperature)
        riftk("synth", model=model.model_name_or_path, out=run.data, **options)
    state.wait_for_everyone()
    if "train" in args.stages and not args.checkpoint and not run.is_finished("train"):
        train(run, args, training, model)
        state.wait_for_everyone()
    if state.is_main_process and "eval" in args.stages:
        trained = args.checkpoint or (run.is_finished("train") and run.final)
        if trained:
            evaluate(trained, run.evaluation("after"), args, training, model)
        report = write_report(run.path)
        print(report.read_text(encoding="utf-8").partition("\n![")[0], report, sep="\n")
        if trained:
            run.mark_finished("run")


def check_inputs(args: RifArguments, training: SFTConfig, model: ModelConfig) -> None:
    """Stop at the first mistake, before anything is sampled, trained or written."""
    model_tokenizer(training, model)
    if args.checkpoint:
        load_tokenizer(args.checkpoint)
    if "synth" in args.stages and not args.dataset:
        make_seeds(SynthConfig(**synth_options(args)))  # reads the problems
    elif "train" in args.stages and not args.checkpoint:
        read_dataset(args.dataset or Path(training.output_dir, "data", "dataset.jsonl"))
    for name in args.benchmarks if "eval" in args.stages else ():
        load_benchmark(name, split=args.eval_split, limit=args.eval_limit, data_dir=args.data_dir)


def train(run: RunFolder, args: RifArguments, training: SFTConfig, model: ModelConfig) -> None:
    """Finetune with trl, the loss on exactly the tokens that `loss_on` names; one row is shown."""
    tokenizer = model_tokenizer(training, model)
    dataset = read_dataset(args.dataset or run.data / "dataset.jsonl")
    rows = supervise(tokenizer, dataset, loss_on=args.loss_on, max_length=training.max_length)
    training.output_dir = str(run.checkpoints)
    training.model_init_kwargs = model_init_kwargs(training, model)
    trainer = SFTTrainer(
        model=resolve(model.model_name_or_path),
        args=training,
        train_dataset=Dataset.from_list(rows),
        processing_class=tokenizer,
        peft_config=get_peft_config(model),
    )
    trainer.train(resume_from_checkpoint=run.last_checkpoint())
    trainer.save_model(str(run.final))
    run.mark_finished("train")


def evaluate(name: str | Path, out: Path, args: RifArguments, training, model) -> None:
    """Evaluate in a process of its own, never inside the trainer's process group."""
    items = {"split": args.eval_split, "limit": args.eval_limit, "data_dir": args.data_dir}
    options = items | generation_options(args, training, model, args.eval_temperature)
    riftk("eval", model=name, out=out, benchmarks=args.benchmarks, **options)


def synth_options(args: RifArguments) -> dict:
    """The arguments that `riftk synth` takes under the same names."""
    return {name: value for name, value in vars(args).items() if name in SynthConfig.__dataclass_fields__}


def generation_options(args: RifArguments, training, model, temperature: float) -> dict:
    limits = {"top_p": args.top_p, "max_tokens": args.max_new_tokens, "batch_size": args.batch_size}
    code = {"revision": model.model_revision, "trust_remote_code": training.trust_remote_code}
    code |= {"chat_template": training.chat_template_path}
    return {"temperature": temperature, "seed": training.seed, **limits, **code}


if __name__ == "__main__":
    try:
        main()
    except (RunError, ValueError, FileNotFoundError) as error:
        sys.exit(f"rif.py: {error}")
