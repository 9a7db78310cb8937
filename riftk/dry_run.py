"""What a recipe would do, without doing it (`--dry_run`): the resolved configuration, the memory that it
needs, and three examples with the tokens that carry loss.

Where the hub is out of reach, a tokenizer and problems that come with riftk stand in for the real ones, and
the output says so.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from riftk.completions import generation_prompt, render_reasoning
from riftk.data_synth import SynthConfig, make_seeds
from riftk.data_synth.seeds import make_prompt
from riftk.engines.transformers import load_tokenizer
from riftk.planning import make_plan, usual_machine
from riftk.rl import RewardArguments, read_rl_rows
from riftk.spreading import spread
from riftk.stages import synth_options
from riftk.supervision import IGNORED, show_supervision, tokenize_row
from riftk.training import model_tokenizer, read_dataset

EXAMPLES = 3
TRACE, RESPONSE = "Here stands the trace.", "Here stands the response."
_TOKENIZER = "pkg://riftk.tiny/weights/base"
_PROBLEMS = {
    "problems": "riftk.tiny.problems:training_problems",
    "question_column": "question",
    "answer_column": "answer",
    "answer_type": "number",
}
_MARK = re.compile("<[|｜][^<>|｜]{1,40}[|｜]>")
_FILES = (".jsonl", ".json", ".parquet")


def show_dry_run(args: Any, training: Any, model: Any, check: Callable[[Any, Any, Any], Any]) -> list[str]:
    """Print all of it on the main process.

    Args:
        args: the recipe's own arguments.
        training, model: trl's configurations.
        check: the recipe's check of its inputs; done where nothing had to stand in.

    Returns:
        what was out of reach, or that all inputs are good, in sentences that were printed too.

    Raises:
        ValueError, FileNotFoundError: a mistake in what can be read here.
    """
    from accelerate import PartialState

    state = PartialState()
    if not state.is_main_process:
        return []
    print(f"# configuration\n{configuration(args, training, model)}\n# plan\n{plan(args, training, model)}")
    update = training.per_device_train_batch_size * training.gradient_accumulation_steps
    print(f"{update} sequences an update on each process, {update * state.num_processes} on those here")
    tokenizer, missing = _tokenizer(training, model)
    rows, missing_rows = _rows(args, training)
    for number, row in enumerate(rows, 1):
        print(f"\n# example {number}\n{show_supervision(tokenizer, _tokens(tokenizer, row, args, training))}")
    found = [
        f"{name} is out of reach; what comes with riftk stands in for it in the examples"
        for name in filter(None, (missing, missing_rows))
    ]
    if not found:
        check(args, training, model)
        found = ["all inputs were read and are good"]
    print(*found, "dry run: nothing was sampled, trained or written", sep="\n")
    return found


def configuration(args: Any, training: Any, model: Any) -> str:
    """The recipe's own arguments, and what is different from trl's defaults, as YAML."""
    import yaml

    usual = type(training)(output_dir=training.output_dir, use_cpu=True, bf16=False).to_dict()
    set_here = {
        name: value
        for name, value in training.to_dict().items()
        if value != usual.get(name) and isinstance(value, str | int | float | bool | list | dict)
    }
    chosen = {one.name: getattr(model, one.name) for one in fields(model)}
    of_model = {name: value for name, value in chosen.items() if value != getattr(type(model)(), name)}
    shown = {"output_dir": training.output_dir, **of_model, **vars(args), **set_here}
    return yaml.safe_dump(shown, sort_keys=False, allow_unicode=True)


def plan(args: Any, training: Any, model: Any) -> str:
    """The memory on each GPU, here or on eight of 80 GiB; a sentence where the model's shape is not known."""
    options = {**vars(model), **vars(args), **training.to_dict()}
    try:
        return "\n".join(make_plan(options, *usual_machine()).lines())
    except FileNotFoundError as error:
        return f"no estimate: {error}"


def _tokenizer(training: Any, model: Any) -> tuple[Any, str | None]:
    """The model's tokenizer, or one that stands in for it and the name of what is out of reach."""
    name = model.model_name_or_path
    try:
        return model_tokenizer(training, model), None
    except FileNotFoundError:
        if not _on_hub(name):
            raise
    tokenizer = load_tokenizer(_TOKENIZER, chat_template=training.chat_template_path)
    marks = sorted(set(_MARK.findall(tokenizer.chat_template)))  # of the real tokenizer: ends of turns, roles
    tokenizer.add_special_tokens({"additional_special_tokens": marks})
    return tokenizer, f"the model {name}"


def _rows(args: Any, training: Any) -> tuple[list[dict[str, Any]], str | None]:
    """A few rows to train on, and the name of their source where it is out of reach."""
    dataset = args.dataset or Path(training.output_dir, "data", "dataset.jsonl")
    samples = isinstance(args, RewardArguments)
    if args.dataset or (not samples and Path(dataset).is_file()):
        rows = read_rl_rows(args, training.seed) if samples else read_dataset(dataset)
        return [rows[place] for place in spread(len(rows), EXAMPLES)], None
    few = replace(args, num_rows=EXAMPLES)
    make = read_rl_rows if samples else _traced_rows
    try:
        return list(make(few, training.seed)), None
    except (ValueError, FileNotFoundError):
        if not _on_hub(args.problems):
            raise
    return list(make(replace(few, **_PROBLEMS), training.seed)), f"the data set {args.problems}"


def _traced_rows(args: Any, seed: int) -> Iterator[dict[str, Any]]:
    """Rows as synthesis makes them, with a sentence where trace and response will be."""
    config = SynthConfig(**{**synth_options(args), "sample_with_instruction": True}, seed=seed)
    for one in make_seeds(config):
        message = {"role": "user", "content": make_prompt(config, one, one.constraints())[0]}
        yield {"prompt": [message], "reasoning": TRACE, "response": RESPONSE}


def _tokens(tokenizer: Any, row: dict[str, Any], args: Any, training: Any) -> dict[str, list[int]]:
    """A row as the trainer gets it; for reinforcement learning, with a completion that is all trained."""
    if not isinstance(args, RewardArguments):
        message = render_reasoning(tokenizer, row["reasoning"], row["response"])
        options = {"loss_on": getattr(args, "loss_on", "both"), "max_length": training.max_length}
        return tokenize_row(tokenizer, row["prompt"], message, **options)
    prompt, completion = (
        tokenizer(text, add_special_tokens=False)["input_ids"]
        for text in (generation_prompt(tokenizer, row["prompt"]), "Here stands what the model samples.")
    )
    return {"input_ids": prompt + completion, "labels": [IGNORED] * len(prompt) + completion}


def _on_hub(name: str) -> bool:
    """Whether a name that cannot be read here may be one of the hub's."""
    local = name.startswith(("pkg://", ".", "/", "~")) or Path(name).suffix in _FILES or Path(name).exists()
    return "/" in name and not local
