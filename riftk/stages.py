"""The stages that the recipes share: what happens before and after the training that is each recipe's own."""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from riftk.averaging import average_with_base
from riftk.benchmarks import load_benchmark, takes_limits
from riftk.benchmarks.limits import DATASET, FILE, base_of, inherited_limits
from riftk.data_synth import SynthConfig, make_seeds
from riftk.engines.folders import check_folder, lora_base
from riftk.engines.transformers import load_tokenizer
from riftk.evaluation import read_results
from riftk.paths import resolve
from riftk.report import write_report
from riftk.report.tracking import track, tracked
from riftk.report.training import training_log
from riftk.runs import RunFolder, free_memory, open_run, riftk
from riftk.selection import Point, choose, point_folder, read_curve
from riftk.supervision import check_template
from riftk.training import (
    EvaluationArguments,
    ProblemArguments,
    check_sampling,
    model_init_kwargs,
    model_tokenizer,
    read_dataset,
    supervise,
)

CALIBRATE = "calibrate"  # `limits` of a recipe: measure them
# What a checkpoint holds besides the model: only for going on with the training.
_TRAINER_STATE = (
    "optimizer*", "scheduler.pt", "scaler.pt", "rng_state*", "trainer_state.json", "training_args.bin",
    "entropy_ctrl_state.json", "global_step*", "latest", "zero_to_fp32.py",
)  # fmt: skip


@dataclass(frozen=True)
class Job:
    """One start of a recipe, the same on every rank: its run folder and its three configurations.

    Args:
        run: the folder.
        args: the recipe's own arguments, `EvaluationArguments` among them.
        training: trl's configuration of the trainer.
        model: trl's `ModelConfig`.
    """

    run: RunFolder
    args: Any
    training: Any
    model: Any

    @classmethod
    def start(cls, args: EvaluationArguments, training: Any, model: Any) -> Job:
        """Open the run folder. Raises `RunError` where it belongs to another configuration or process."""
        config = {**asdict(args), **training.to_dict(), **asdict(model)}
        state = _state()
        kind = str(state.distributed_type).rpartition(".")[2]
        state.print(f"world size {state.num_processes} ({kind}), the first process on {state.device}")
        run = open_run(training.output_dir, config, hold=state.is_main_process)
        # One name and one folder, so that a run that is started again is one run for its trackers.
        training.run_name = training.run_name or run.path.resolve().name
        os.environ.setdefault("TENSORBOARD_LOGGING_DIR", str(run.path / "tensorboard"))
        return cls(run, args, training, model)

    @property
    def is_main(self) -> bool:
        return _state().is_main_process

    def wait(self) -> None:
        """Wait until every rank is here."""
        _state().wait_for_everyone()

    def wants(self, stage: str) -> bool:
        return stage in self.args.stages

    def evaluate_before(self) -> None:
        """Evaluate the model as it is before training."""
        if self.is_main and self.wants("eval"):
            self.evaluate(self.model.model_name_or_path, self.run.evaluation("before"))
        self.wait()

    def evaluate_after(self) -> None:
        """Evaluate the trained model, write the report and print its first lines."""
        free_memory()  # on every rank: each one's GPU takes part
        if not (self.is_main and self.wants("eval")):
            return
        trained = self.args.checkpoint or (self.run.is_finished("train") and self.run.final)
        if trained:
            self.evaluate(trained, self.run.evaluation("after"))
        report = write_report(self.run.path)
        for when, step in (("before", 0), ("after", self._final_step())):
            self._track(when, step, self.run.evaluation(when))
        print(report.read_text(encoding="utf-8").partition("\n![")[0], report, sep="\n")
        if trained:
            self.run.mark_finished("run")

    def evaluate_step(self, step: int) -> None:
        """Evaluate a checkpoint on development items, for the curve; step 0 is the model before training."""
        model = self.run.checkpoint(step) if step else self.model.model_name_or_path
        folder = point_folder(self.run.path, step)
        self.evaluate(model, folder, split="dev", limit=self.args.dev_limit)
        self._track("dev", step, folder)

    def _chosen(self) -> Point | None:
        """The checkpoint that the rule picks; None where no checkpoints were evaluated."""
        return choose(read_curve(self.run.path), self.args.select_by) if self.training.eval_steps else None

    def _final_step(self) -> int:
        """Optimizer steps that the final model has taken."""
        log, chosen = training_log(self.run.path), self._chosen()
        return chosen.step if chosen else log[-1]["step"] if log else 0

    def _track(self, when: str, step: int, folder: Path) -> None:
        if (folder / "results.json").is_file():
            track(self.training, step, tracked(read_results(folder), when))

    def evaluate(self, model: str | Path, out: Path, **items: Any) -> None:
        """Evaluate in a process of its own, never inside the trainer's process group."""
        args = self.args
        items = {"split": args.eval_split, "limit": args.eval_limit, "data_dir": args.data_dir, **items}
        items["limits"] = self.word_limits()
        options = generation_options(self, args.eval_temperature, args.eval_top_p)
        riftk("eval", model=model, out=out, benchmarks=args.benchmarks, **items, **options)

    def word_limits(self) -> str | None:
        """ReasonIF's word limits for every evaluation of the run: those of the model before training, which
        are measured once, or were when that model was trained. None where no benchmark has any."""
        args, model = self.args, str(self.model.model_name_or_path)
        if not any(map(takes_limits, args.benchmarks)):
            return None
        if args.limits != CALIBRATE:
            return args.limits
        if inherited := inherited_limits(model):
            return str(inherited)
        while found := base_of(model):
            model = found[0]
        folder = self.run.path / "limits"
        if not (folder / FILE).is_file():
            options = generation_options(self, args.eval_temperature, args.eval_top_p)
            riftk(
                "calibrate", model=model, out=folder, limit=args.eval_limit, data_dir=args.data_dir, **options
            )
        return str(folder)

    def synthesize(self, teacher: str | None = None) -> None:
        """Sample traces of `teacher` (None: of the model to train), and keep those that comply."""
        if self.is_main and self.wants("synth") and not self.args.dataset:
            options = synth_options(self.args)
            options |= generation_options(self, self.args.synth_temperature, self.args.synth_top_p)
            if teacher:
                options |= {"revision": None, "chat_template": None}
            riftk("synth", model=teacher or self.model.model_name_or_path, out=self.run.data, **options)
        self.wait()

    def finetune(self, *, loss_on: str, **model_options: Any) -> None:
        """Finetune with trl's SFTTrainer, the loss on exactly the tokens that `loss_on` names.

        Args:
            loss_on: "reasoning", "response" or "both".
            model_options: for `from_pretrained`, besides what the configurations say.
        """
        from datasets import Dataset
        from trl import SFTTrainer, get_peft_config

        tokenizer = model_tokenizer(self.training, self.model)
        dataset = read_dataset(self.args.dataset or self.run.data / "dataset.jsonl")
        rows = supervise(tokenizer, dataset, loss_on=loss_on, max_length=self.training.max_length)
        self.prepare_training(**model_options)
        trainer = SFTTrainer(
            model=resolve(self.model.model_name_or_path),
            args=self.training,
            train_dataset=Dataset.from_list(rows),
            processing_class=tokenizer,
            peft_config=get_peft_config(self.model),
            callbacks=self.callbacks(),
        )
        self.run_training(trainer)

    def prepare_training(self, **model_options: Any) -> None:
        """Point the trainer's configuration into the run folder; every evaluated step is a checkpoint."""
        self.training.output_dir = str(self.run.checkpoints)
        self.training.model_init_kwargs = model_init_kwargs(self.training, self.model) | model_options
        if self.training.eval_steps:
            self.training.save_strategy = "steps"
            self.training.save_steps = int(self.training.eval_steps)

    def callbacks(self) -> list[Any]:
        """Callbacks that every recipe's trainer has, in their order: the curve, where `eval_steps` asks for
        one, and no step after the last."""
        from riftk.monitoring import CheckpointEvaluation, NoFurtherStep

        curve = [CheckpointEvaluation(self)] if self.training.eval_steps else []
        return [*curve, NoFurtherStep()]

    def run_training(self, trainer: Any) -> None:
        """Train, from the newest checkpoint on. Make `final/` from the checkpoint that the rule picks, or
        from the last state of the trainer, and mix it with the model before training where a share is asked
        for (see `riftk.averaging`).

        Args:
            trainer: with the `callbacks` of this job as its last ones.
        """
        from riftk.monitoring import AlreadyTrained

        with suppress(AlreadyTrained):
            trainer.train(resume_from_checkpoint=self.run.last_checkpoint())
        trainer.save_state()  # its whole log, also where the newest checkpoint is not kept
        chosen = self._chosen()
        if chosen is None or chosen.step == trainer.state.global_step:
            trainer.save_model(str(self.run.final))
        elif self.is_main:
            _copy_model(self.run.checkpoint(chosen.step), self.run.final)
        self.wait()
        if self.is_main and self.args.base_share:
            base, options = resolve(self.model.model_name_or_path), self.training.model_init_kwargs
            average_with_base(self.run.final, base, self.args.base_share, **options)
        self.wait()
        self.run.mark_finished("train")


def check_shared_inputs(args: EvaluationArguments, training: Any, model: Any) -> Any:
    """Stop at the first mistake in what all recipes share, before anything is sampled, trained or written.

    Returns:
        the tokenizer of the model to train, for further checks.

    Raises:
        ValueError, FileNotFoundError: the message is one sentence for the user.
    """
    code = {"revision": model.model_revision, "trust_remote_code": training.trust_remote_code}
    check_model(model.model_name_or_path, **code)
    template = training.chat_template_path
    if template is not None and not Path(template).is_file():
        raise FileNotFoundError(f"chat_template_path: there is no file {template}")
    tokenizer = model_tokenizer(training, model)
    if wrong := [option for option in args.engine_options if "=" not in option]:
        raise ValueError(f"engine_options takes name=value, not {wrong[0]!r}")
    if args.batch_size < 1:
        raise ValueError(f"batch_size must be at least 1, not {args.batch_size}")
    check_sampling("evaluation", args.eval_temperature, args.eval_top_p, args.max_new_tokens)
    if not 0 <= args.base_share < 1:
        raise ValueError(f"base_share must be at least 0 and below 1, not {args.base_share}")
    if args.checkpoint:
        check_model(args.checkpoint)
        load_tokenizer(args.checkpoint)
    splits = {args.eval_split: args.eval_limit} if "eval" in args.stages else {}
    if training.eval_steps:
        if training.eval_steps != int(training.eval_steps):
            raise ValueError(f"eval_steps counts optimizer steps; {training.eval_steps} is no whole number")
        splits["dev"] = args.dev_limit
    for split, limit in splits.items():
        for name in args.benchmarks:
            limits = DATASET if args.limits == CALIBRATE else args.limits  # measured later, on this model
            load_benchmark(name, split=split, limit=limit, data_dir=args.data_dir, limits=limits)
    return tokenizer


def check_supervised_inputs(args: Any, training: Any, model: Any) -> None:
    """The checks of recipes that finetune on traces: those that all share, the traces or where they shall
    come from, and whether the chat template can hold them.

    Raises:
        ValueError, FileNotFoundError: the message is one sentence for the user.
    """
    tokenizer = check_shared_inputs(args, training, model)
    trains = "train" in args.stages and not args.checkpoint
    if "synth" in args.stages and not args.dataset:
        sampling = {"temperature": args.synth_temperature, "top_p": args.synth_top_p}
        config = SynthConfig(**synth_options(args), **sampling, max_tokens=args.max_new_tokens)
        make_seeds(config)  # reads the problems
    elif trains:
        read_dataset(args.dataset or Path(training.output_dir, "data", "dataset.jsonl"))
    if trains:
        check_template(tokenizer)


def check_model(name: str, **code: Any) -> None:
    """Make sure that a model can be read, without its weights.

    Args:
        name: as `riftk.paths.resolve` takes it.
        code: `revision` and `trust_remote_code`, as `from_pretrained` takes them.

    Raises:
        ValueError, FileNotFoundError: no such model, no weights in its folder, or no readable configuration.
    """
    from transformers import AutoConfig

    path = resolve(name)
    for folder in {path, lora_base(path) or path}:
        check_folder(folder)
    try:
        AutoConfig.from_pretrained(lora_base(path) or path, **code)
    except OSError as error:  # what transformers makes of a file that it cannot read
        raise ValueError(
            f"the configuration of {name} cannot be read: {str(error).splitlines()[0]}"
        ) from error


def synth_options(args: ProblemArguments) -> dict[str, Any]:
    """The arguments that `SynthConfig` and `riftk synth` take under the same names."""
    return {name: value for name, value in vars(args).items() if name in SynthConfig.__dataclass_fields__}


def generation_options(job: Job, temperature: float, top_p: float) -> dict[str, Any]:
    """How `riftk synth` and `riftk eval` generate: on the engine that the configuration names."""
    sampling = {"temperature": temperature, "top_p": top_p, "max_tokens": job.args.max_new_tokens}
    return sampling | {"seed": job.training.seed} | engine_options(job)


def engine_options(job: Job) -> dict[str, Any]:
    """The engine that the configuration names, with its options of the command line."""
    args, training, model = job.args, job.training, job.model
    options = {"engine": args.engine, "batch_size": args.batch_size}
    if args.engine != "openai":  # a server has its model already
        options |= {
            "dtype": model.dtype,
            "revision": model.model_revision,
            "trust_remote_code": training.trust_remote_code,
            "chat_template": training.chat_template_path,
        }
    if args.engine == "transformers":
        options["attn_implementation"] = model.attn_implementation
    return options | dict(option.split("=", 1) for option in args.engine_options)


def _copy_model(checkpoint: Path, final: Path) -> None:
    """Copy a checkpoint's model without the trainer's state; `final` appears only when it is complete."""
    part = final.with_name(final.name + ".part")
    shutil.rmtree(part, ignore_errors=True)
    shutil.copytree(checkpoint, part, ignore=shutil.ignore_patterns(*_TRAINER_STATE))
    shutil.rmtree(final, ignore_errors=True)
    part.replace(final)


def _state() -> Any:
    from accelerate import PartialState

    return PartialState()
