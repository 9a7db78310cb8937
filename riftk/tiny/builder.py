"""Builds the embedded model: tokenizer, chat template, training, and the three checkpoints that ship.

`riftk tiny build` calls `build`. Everything is seeded; a build that was stopped goes on at its last
checkpoint and ends with the weights that an uninterrupted one would have had on the same machine.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from riftk.benchmarks import Benchmark
from riftk.prompts import reasonif_prompt
from riftk.runs import RunFolder, open_run

from .corpus import Example, copying_drills, examples, long_examples, sum_drills
from .problems import NAME_ENDS, NAME_STARTS, names

MAX_TOKENS = 256  # room for the longest text that the model writes
SUMMARISED = {
    "accuracy_plain,robust": "plain accuracy",
    "reasoning_ifs,robust": "reasoning IFS",
    "response_ifs,robust": "response IFS",
}
# ChatML with a think block, as Qwen3 has it: the completion opens the block itself. The last assistant turn
# keeps its reasoning, earlier ones lose it.
CHAT_TEMPLATE = """\
{%- for message in messages -%}
{{ '<|im_start|>' + message.role + '\\n' }}
{%- if message.role == 'assistant' and message.reasoning_content and loop.last -%}
{{ '<think>\\n' + message.reasoning_content + '\\n</think>\\n\\n' }}
{%- endif -%}
{{ message.content + '<|im_end|>\\n' }}
{%- endfor -%}
{%- if add_generation_prompt -%}
{{ '<|im_start|>assistant\\n' }}
{%- endif -%}
"""

# One digit is one token, so that arithmetic goes digit by digit.
_PIECES = r" ?\p{L}+| ?\p{N}| ?[^\s\p{L}\p{N}]+|\n+|\s+"


@dataclass(frozen=True)
class Recipe:
    """What a build depends on; the defaults made the weights that ship.

    Args:
        steps: optimiser steps of the first cycle.
        copying_steps: how many of them, at the beginning, go to copying alone.
        copying_share, sums_share: share of drills among the other texts.
        finishing_steps, finishing_rate, finishing_sums_share: a second cycle on new texts, with more sums:
            after the first one every error that is left is one of arithmetic.
        finishing_further: share of prompts of MathIF and of IFFR among the texts of the second cycle.
        teaching_steps, teaching_rate: the teacher is the base after so many steps more, on long traces.
        batch_size: texts per step; no text is seen twice.
        learning_rate: peak of a cosine schedule.
        seed: of the corpus, the first weights and the order.
        vocabulary: most tokens of the tokenizer.
        width, layers: of the Qwen3 architecture; with four heads the width is a multiple of 8.
        save_steps: steps between checkpoints; the weaker one that ships is one of these.
        weak_accuracy: accuracy on plain development problems that the weaker checkpoint comes closest to.
    """

    steps: int = 5000
    copying_steps: int = 1000
    copying_share: float = 0.04
    sums_share: float = 0.2
    finishing_steps: int = 5000
    finishing_rate: float = 2e-3
    finishing_sums_share: float = 0.25
    finishing_further: float = 0.4
    teaching_steps: int = 1500
    teaching_rate: float = 1e-3
    batch_size: int = 16
    learning_rate: float = 3e-3
    seed: int = 0
    vocabulary: int = 1408
    width: int = 128
    layers: int = 4
    save_steps: int = 250
    weak_accuracy: float = 0.7


def build(out_dir: Path | str, **settings: Any) -> Path:
    """Build the embedded model in a folder: `base`, `teacher`, `weak` and a table of what they can do.

    Started again on the same folder, a build goes on at its last checkpoint.

    Args:
        out_dir: receives `base/`, `teacher/`, `weak/`, all checkpoints, `eval/` and `summary.md`.
        settings: fields of `Recipe`; those left out keep their defaults.

    Returns:
        The folder of the base model.

    Raises:
        ValueError: a width or a number of layers that the architecture cannot have.
        riftk.runs.RunError: the folder belongs to other settings or to a running build.
    """
    recipe = Recipe(**settings)
    if recipe.width < 8 or recipe.width % 8 or recipe.layers < 1:
        raise ValueError(
            f"width must be a multiple of 8 and layers at least 1, not {recipe.width} and {recipe.layers}"
        )
    run = open_run(out_dir, asdict(recipe))
    if not run.is_finished("train"):
        train_base(run, recipe)
    if not run.is_finished("teacher"):
        train_teacher(run, recipe)
    if not run.is_finished("weak"):
        ship(choose_weak(run, recipe), run.path / "weak", half=True)
        run.mark_finished("weak")
    print(summary(run))
    return run.path / "base"


def train_base(run: RunFolder, recipe: Recipe) -> None:
    """Train both cycles, and save the model and its tokenizer in `base/`."""
    from transformers import AutoModelForCausalLM

    mix = mixture(recipe)
    tokenizer = build_tokenizer(mix[:8000], recipe.vocabulary)
    train(build_model(tokenizer, recipe), tokenizer, drilled(mix, tokenizer, recipe), run, recipe)
    finishing = replace(
        recipe,
        steps=recipe.finishing_steps,
        copying_steps=0,
        sums_share=recipe.finishing_sums_share,
        learning_rate=recipe.finishing_rate,
        seed=recipe.seed + 1,
    )
    model = AutoModelForCausalLM.from_pretrained(run.last_checkpoint())
    second = RunFolder(run.path / "finishing", run.lock)
    mix = mixture(finishing, recipe.finishing_further)
    train(model, tokenizer, drilled(mix, tokenizer, finishing), second, finishing)
    ship(Path(second.last_checkpoint()), run.path / "base")
    run.mark_finished("train")


def train_teacher(run: RunFolder, recipe: Recipe) -> None:
    """Train the base on long traces without instructions, and save the result in `teacher/`."""
    from transformers import AutoModelForCausalLM, AutoTokenizer

    teaching = replace(
        recipe,
        steps=recipe.teaching_steps,
        copying_steps=0,
        copying_share=0.0,
        sums_share=recipe.finishing_sums_share,
        learning_rate=recipe.teaching_rate,
        seed=recipe.seed + 2,
    )
    base = run.path / "base"
    tokenizer = AutoTokenizer.from_pretrained(base)
    texts = long_examples(_later(teaching) - sum(_drill_counts(teaching)), teaching.seed)
    third = RunFolder(run.path / "teaching", run.lock)
    rows = drilled(texts, tokenizer, teaching)
    train(AutoModelForCausalLM.from_pretrained(base), tokenizer, rows, third, teaching)
    ship(Path(third.last_checkpoint()), run.path / "teacher", half=True)
    run.mark_finished("teacher")


def mixture(recipe: Recipe, further: float = 0.0) -> list[Example]:
    """The texts of a cycle that are no drills; `further` as of `corpus.examples`."""
    return examples(_later(recipe) - sum(_drill_counts(recipe)), recipe.seed, further)


def drilled(mix: list[Example], tokenizer: Any, recipe: Recipe) -> list[dict[str, list[int]]]:
    """The rows of a cycle in their order: copying alone at first, then the mix and its share of drills."""
    first = recipe.copying_steps * recipe.batch_size
    copies, sums = _drill_counts(recipe)
    drills = copying_drills(first + copies, drill_words(tokenizer), recipe.seed)
    texts = mix + drills[first:] + sum_drills(sums, recipe.seed)
    random.Random(recipe.seed).shuffle(texts)
    return batches(supervise(tokenizer, drills[:first]), recipe) + batches(
        supervise(tokenizer, texts), recipe
    )


def _later(recipe: Recipe) -> int:
    return (recipe.steps - recipe.copying_steps) * recipe.batch_size


def _drill_counts(recipe: Recipe) -> tuple[int, int]:
    """How many texts, after those of the copying steps, are to be copied and how many are sums."""
    return round(_later(recipe) * recipe.copying_share), round(_later(recipe) * recipe.sums_share)


def supervise(tokenizer: Any, texts: Sequence[Example]) -> list[dict[str, list[int]]]:
    """Tokenise texts, the loss on whole completions and not on prompts."""
    from riftk.completions import render_reasoning
    from riftk.supervision import tokenize_row

    return [
        tokenize_row(
            tokenizer,
            [{"role": "user", "content": text.prompt}],
            render_reasoning(tokenizer, text.trace, text.response),
            loss_on="both",
        )
        for text in texts
    ]


def batches(
    rows: Sequence[dict[str, list[int]]], recipe: Recipe, window: int = 50
) -> list[dict[str, list[int]]]:
    """Reorder rows so that batches hold rows of about one length; batches come in random order.

    Args:
        rows: in random order.
        window: batches among which rows are moved.
    """
    rng, size, ordered = random.Random(recipe.seed), recipe.batch_size, []
    for start in range(0, len(rows), window * size):
        near = sorted(rows[start : start + window * size], key=lambda row: len(row["input_ids"]))
        cut = [near[place : place + size] for place in range(0, len(near), size)]
        rng.shuffle(cut)
        ordered += [row for batch in cut for row in batch]
    return ordered


def build_tokenizer(corpus: Sequence[Example], vocabulary: int) -> Any:
    """Train a byte-level BPE tokenizer whose tokens are the words of the corpus, as they are and in capitals.

    The fixed sentences of the prompt are single tokens (they would be a quarter of every prompt), and so are
    the think and answer tags; none of these is "special", so decoding keeps them. Names are cut in halves
    before the training: no name becomes a word of its own, those of the test split least of all.
    """
    from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(_PIECES), behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    special = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary - 16,  # room for the added tokens
        special_tokens=special,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    fixed = _fixed_prompt_pieces()
    tokenizer.train_from_iterator(_tokenizer_texts(corpus, fixed), trainer)
    added = ["<think>", "</think>", "<answer>", "</answer>", *fixed]
    tokenizer.add_tokens([AddedToken(text, special=False, normalized=False) for text in added])
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        eos_token="<|im_end|>",
        pad_token="<|endoftext|>",
        padding_side="left",
        model_max_length=1024,
        clean_up_tokenization_spaces=False,
    )
    fast.chat_template = CHAT_TEMPLATE
    return fast


def drill_words(tokenizer: Any) -> list[str]:
    """The tokens that are words or pieces of words, digits among them, as text."""
    texts = (tokenizer.decode([token]) for token in range(len(tokenizer)))
    return [text for text in texts if text.isascii() and text.strip().isalnum() and not text.isspace()]


def _fixed_prompt_pieces() -> list[str]:
    """What every prompt has around the question and the instruction."""
    pieces: list[str] = []
    for instruction, target in ((None, "reasoning"), ("RULE", "reasoning"), ("RULE", "response")):
        head, *rest = reasonif_prompt("QUESTION", instruction, target).removesuffix("QUESTION").split("RULE")
        pieces += [head, *rest]
    return list(dict.fromkeys(pieces))


def _tokenizer_texts(corpus: Sequence[Example], fixed: Sequence[str]) -> Iterator[str]:
    """What the tokenizer learns from: the corpus without names, its traces and answers in capitals too."""
    people = {name for pronoun in NAME_ENDS for name in names("train", pronoun)}

    def nameless(text: str) -> str:
        return " ".join(word for word in text.split(" ") if word.strip(".,?\n") not in people)

    for text in corpus:
        prompt = text.prompt
        for piece in fixed:
            prompt = prompt.replace(piece, "\n")
        yield nameless(prompt)
        for part in (text.trace, text.response):
            yield from (nameless(part), nameless(part).upper())
    often = len(corpus) // 20
    yield from ["user", "assistant"] * often
    for piece in (*NAME_STARTS, *NAME_ENDS["she"], *NAME_ENDS["he"]):
        for form in (piece, piece.upper()):
            yield from [form, f" {form}"] * often


def build_model(tokenizer: Any, recipe: Recipe) -> Any:
    """A randomly initialised Qwen3 model, with tied embeddings, for the tokenizer."""
    from transformers import GenerationConfig, Qwen3Config, Qwen3ForCausalLM, set_seed

    set_seed(recipe.seed)
    width = recipe.width
    config = Qwen3Config(
        vocab_size=-(-len(tokenizer) // 8) * 8,
        hidden_size=width,
        intermediate_size=3 * width,
        num_hidden_layers=recipe.layers,
        num_attention_heads=4,
        num_key_value_heads=4,
        head_dim=width // 4,
        max_position_embeddings=1024,
        tie_word_embeddings=True,
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    model = Qwen3ForCausalLM(config)
    print(f"{model.num_parameters():,} parameters (width {width}, {recipe.layers} layers)")
    model.generation_config = GenerationConfig(
        eos_token_id=tokenizer.eos_token_id, pad_token_id=tokenizer.pad_token_id
    )
    return model


def train(model: Any, tokenizer: Any, rows: Sequence[dict], run: RunFolder, recipe: Recipe) -> None:
    """Train on the rows, in their order, with trl's SFTTrainer; goes on at the last checkpoint, if any."""
    from datasets import Dataset
    from trl import SFTConfig, SFTTrainer

    arguments = SFTConfig(
        output_dir=str(run.checkpoints),
        max_steps=recipe.steps,
        per_device_train_batch_size=recipe.batch_size,
        learning_rate=recipe.learning_rate,
        lr_scheduler_type="cosine_with_min_lr",
        lr_scheduler_kwargs={"min_lr_rate": 0.02},
        warmup_steps=min(100, recipe.steps // 10),
        weight_decay=0.01,
        adam_beta2=0.98,
        train_sampling_strategy="sequential",
        max_length=None,
        save_steps=recipe.save_steps,
        logging_steps=min(25, recipe.save_steps),
        seed=recipe.seed,
        data_seed=recipe.seed,
        use_cpu=True,  # a GPU would be hardly faster at this size, and its sums differ from run to run
        bf16=False,
        gradient_checkpointing=False,
        report_to=[],
    )
    trainer = SFTTrainer(
        model=model, args=arguments, train_dataset=Dataset.from_list(list(rows)), processing_class=tokenizer
    )
    trainer.train(resume_from_checkpoint=run.last_checkpoint())


def choose_weak(run: RunFolder, recipe: Recipe, problems: int = 200) -> Path:
    """The checkpoint whose accuracy on plain development problems is closest to `recipe.weak_accuracy`."""
    from .benchmark import load

    items = load("dev", plain=problems, instructed=0)
    found = []
    for path in run.checkpoints.glob("checkpoint-*"):
        accuracy = measure(path, items, run.evaluation(path.name))["accuracy_plain,robust"]
        found.append((abs(accuracy - recipe.weak_accuracy), path))
        print(f"{path.name}: accuracy {accuracy:.2f} on {problems} development problems")
    return min(found)[1]


def measure(model: Path, items: Benchmark, out: Path) -> dict[str, Any]:
    """Evaluate a model folder, one sample an item at temperature 1; figures under riftk's metric names."""
    from riftk.engines import Sampling, load_engine
    from riftk.evaluation import evaluate

    engine = load_engine("transformers", model=str(model), batch_size=128)
    return evaluate(engine, items, out, Sampling(max_tokens=MAX_TOKENS))["results"][items.name]


def summary(run: RunFolder) -> str:
    """Evaluate the models on the test items and return a table (also in `summary.md`)."""
    from .benchmark import load

    lines = [
        f"| {' | '.join(('model', *SUMMARISED.values()))} |",
        "|---" * (len(SUMMARISED) + 1) + "|",
    ]
    for name in ("base", "teacher", "weak"):
        figures = measure(run.path / name, load("test"), run.evaluation(name))
        lines.append(f"| {' | '.join((name, *(f'{figures[key]:.3f}' for key in SUMMARISED)))} |")
    table = "\n".join(lines) + "\n"
    (run.path / "summary.md").write_text(table, encoding="utf-8")
    return table


def ship(checkpoint: Path, out: Path, half: bool = False) -> None:
    """Save the model and tokenizer of a checkpoint, without the state of its training.

    Args:
        checkpoint: folder of the trainer's.
        out: folder to write to.
        half: store the weights in half precision, in half the space; they are still loaded as float32.
    """
    from safetensors.torch import load_file, save_file
    from transformers import AutoModelForCausalLM, AutoTokenizer

    model = AutoModelForCausalLM.from_pretrained(checkpoint)
    model.config.use_cache = True  # the trainer turns it off
    model.save_pretrained(out)
    if half:
        weights = {name: tensor.half() for name, tensor in load_file(out / "model.safetensors").items()}
        save_file(weights, out / "model.safetensors", metadata={"format": "pt"})
    tokenizer = AutoTokenizer.from_pretrained(checkpoint)
    for argument in ("is_local", "local_files_only"):  # how it was loaded here is nothing that it is
        tokenizer.init_kwargs.pop(argument, None)
    tokenizer.save_pretrained(out)
