"""Preflight: a few rollouts before a training, and a stop with advice where nothing could be learned.

What makes reinforcement learning fail is mostly visible in the first samples: completions that are cut off
and earn nothing (huggingface/trl#6263), groups whose rewards are all alike (huggingface/trl#3452), think
markers that never reach the reward (huggingface/trl#6966), prompts that are too long, too little memory
(huggingface/trl#3678). The samples come from the very model, prompts and rewards of the training, in a
process of its own and before the trainer is built: on the engine that the configuration names, transformers
or vllm. A server is not asked: its weights are its own, and the trainer samples from those on disk.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from riftk.completions import split_completion, think_mode
from riftk.engine_options import OpenEngine, with_engine
from riftk.engines.base import Request, Sampling
from riftk.planning import GIB, current_layout, estimate, job_of
from riftk.planning.versions import devices
from riftk.rows import read_jsonl, write_jsonl
from riftk.runs import RunError, die_with_parent, flags, run_module
from riftk.spreading import spread
from riftk.stages import engine_options

MAX_TRUNCATED = 0.3  # share of completions
MAX_LONG_PROMPTS = 0.05  # share of rows
MAX_UNMARKED = 0.5  # share of the finished completions without the marker that is expected of them


def preflight(
    job: Any, rows: Sequence[Mapping[str, Any]], rewards: Sequence[Any], tokenizer: Any, *, dropped: int
) -> None:
    """Sample a few prompts and stop a run that could not learn.

    The samples are kept in `preflight/samples.jsonl` of the run folder, with what they earned.

    Args:
        job: the `riftk.stages.Job` of the run; its training is a `GRPOConfig`.
        rows: the rows to train on.
        rewards: the reward functions.
        tokenizer: of the model.
        dropped: rows that were left out because their prompts are too long.

    Raises:
        RunError: something would go wrong; the message says what to change.
    """
    args, training = job.args, job.training
    found = [
        check_prompts(dropped, len(rows) + dropped, args.max_prompt_length),
        check_memory(job),
    ]
    if not any(found):
        groups = _sampled(job, rows)
        for group in groups:
            for sample in group:  # what trl will hand over to the rewards
                ids = tokenizer(sample["raw"], add_special_tokens=False)["input_ids"]
                sample["text"] = tokenizer.decode(ids, skip_special_tokens=True)
        earned = earnings(groups, rewards, training.reward_weights, tokenizer.eos_token_id)
        write_jsonl(
            job.run.path / "preflight" / "samples.jsonl",
            (
                {**sample, "earned": value}
                for group, values in zip(groups, earned, strict=True)
                for sample, value in zip(group, values, strict=True)
            ),
        )
        samples = [sample for group in groups for sample in group]
        found += [
            check_truncation(samples, training.max_completion_length),
            check_think(samples, think_mode(tokenizer)),
            check_groups(earned),
        ]
    advice = [one for one in found if one]
    if advice:
        job.run.forget()  # other settings may take the folder
        raise RunError(f"preflight: {'; '.join(advice)} (--skip_preflight trains all the same)")


def usual_trace(run: Path) -> float | None:
    """Mean length of the traces that the preflight saw finished, in characters; None without any."""
    file = run / "preflight" / "samples.jsonl"
    samples = list(read_jsonl(file)) if file.is_file() else []
    traces = [split_completion(s["text"]).reasoning for s in samples if s["finish_reason"] == "stop"]
    lengths = [len(trace) for trace in traces if trace]
    return sum(lengths) / len(lengths) if lengths else None


def check_prompts(dropped: int, total: int, limit: int) -> str | None:
    """Prompts longer than planned: trl no longer cuts them, so their rows are left out."""
    if dropped <= MAX_LONG_PROMPTS * total:
        return None
    return (
        f"{dropped} of {total} prompts are longer than max_prompt_length ({limit} tokens) and would be left "
        "out; raise it"
    )


def check_truncation(samples: Sequence[Mapping[str, Any]], limit: int) -> str | None:
    """Too many completions that are cut off, and so earn nothing whatever is in them."""
    cut = sum(sample["finish_reason"] == "length" for sample in samples)
    if cut <= MAX_TRUNCATED * len(samples):
        return None
    return (
        f"{cut} of {len(samples)} completions are cut off at {limit} tokens and would earn nothing; raise "
        "max_completion_length, or take a model that writes less"
    )


def check_think(samples: Sequence[Mapping[str, Any]], think: str) -> str | None:
    """Think markers that the rewards would not see, or not where they expect them."""
    finished = [sample for sample in samples if sample["finish_reason"] == "stop"]
    lost = sum(_marked(sample["raw"]) and not _marked(sample["text"]) for sample in finished)
    if lost:
        return (
            f"in {lost} of {len(finished)} completions the decoder strips the think markers as special "
            "tokens before a reward sees them; take a tokenizer that has them as ordinary tokens"
        )
    marked = sum(_marked(sample["text"]) for sample in finished)
    if think == "none" and marked > MAX_UNMARKED * len(finished):
        return (
            f"{marked} of {len(finished)} completions close a think block that the chat template does not "
            "announce; name the template that the model was trained with (--chat_template_path)"
        )
    if think != "none" and finished and len(finished) - marked > MAX_UNMARKED * len(finished):
        return (
            f"{len(finished) - marked} of {len(finished)} finished completions close no think block, which "
            f"the chat template leads to expect (think mode {think!r}), and would earn nothing; name the "
            "template that the model was trained with (--chat_template_path), or finetune it first"
        )
    return None


def check_groups(earned: Sequence[Sequence[float]]) -> str | None:
    """Groups whose completions all earn the same: no gradient comes from them."""
    if any(max(group) - min(group) > 1e-6 for group in earned):
        return None
    values = [value for group in earned for value in group]
    if max(values) <= 0:
        what, advice = (
            "nothing",
            "take easier problems or a better model, or finetune it first; check the answers",
        )
    else:
        what, advice = f"{values[0]:g} or the like", "take harder problems or a reward that tells them apart"
    return (
        f"in all {len(earned)} groups every completion earns the same ({what}), so nothing would be learned; "
        f"{advice} (see preflight/samples.jsonl)"
    )


def check_memory(job: Any) -> str | None:
    """Weights, optimizer, rollouts and logits that cannot fit, even by a low estimate."""
    needed = memory_needed(job)
    there = _memory()
    if sum(needed.values()) <= there:
        return None
    parts = ", ".join(f"{name} {size / GIB:.1f}" for name, size in needed.items() if size)
    return (
        f"one process needs at least {sum(needed.values()) / GIB:.1f} GiB of {there / GIB:.1f} ({parts}); "
        "lower per_device_train_batch_size x steps_per_generation, use vLLM, shard over more GPUs, or LoRA"
    )


def memory_needed(job: Any) -> dict[str, int]:
    """A low estimate of what one process holds at its fullest, in bytes by part: `riftk.planning.memory`
    without activations and the buffers of sharding, which that estimates from above."""
    options = {**vars(job.model), **vars(job.args), **vars(job.training)}
    needed = estimate(job_of(options), current_layout(), _memory())
    return {part: size for part, size in needed.items() if part not in ("activations", "buffers")}


def earnings(
    groups: Sequence[Sequence[Mapping[str, Any]]],
    rewards: Sequence[Any],
    weights: Sequence[float] | None,
    end: int,
) -> list[list[float]]:
    """The weighted sum of the rewards of each completion, called as trl calls them."""
    samples = [sample for group in groups for sample in group]
    columns = {name: [s["row"].get(name) for s in samples] for name in samples[0]["row"] if name != "prompt"}
    totals = [0.0] * len(samples)
    for reward, weight in zip(rewards, weights or [1.0] * len(rewards), strict=True):
        values = reward(
            prompts=[sample["row"]["prompt"] for sample in samples],
            completions=[[{"role": "assistant", "content": sample["text"]}] for sample in samples],
            # Only how many there are and whether the last one ends the completion is known.
            completion_ids=[
                [-1] * (s["tokens"] - 1) + [end if s["finish_reason"] == "stop" else -1] for s in samples
            ],
            **columns,
        )
        totals = [total + weight * (value or 0.0) for total, value in zip(totals, values, strict=True)]
    ends = iter(totals)
    return [[next(ends) for _ in group] for group in groups]


def _marked(text: str) -> bool:
    return split_completion(text, think=None).blocks > 0


def _memory() -> int:
    """Bytes of the first GPU, or of the machine."""
    return devices()[0][1]


def _sampled(job: Any, rows: Sequence[Mapping[str, Any]]) -> list[list[dict[str, Any]]]:
    """Groups of samples of evenly spread rows, drawn as the trainer would draw them."""
    args, training, model = job.args, job.training, job.model
    size = training.num_generations
    chosen = [rows[place] for place in spread(len(rows), args.preflight_prompts)]
    folder = job.run.path / "preflight"
    folder.mkdir(exist_ok=True)
    order = {
        "rows": chosen,
        "group": size,
        "sampling": [training.temperature, training.top_p, training.max_completion_length, training.seed],
    }
    (folder / "order.json").write_text(json.dumps(order), encoding="utf-8")
    engine = sampling_engine(job)
    print(f"preflight: {len(chosen)} prompts, {size} completions each, by {engine['engine']}")
    command = ["riftk.preflight", str(folder), model.model_name_or_path, *flags(engine)]
    run_module(command, "the sampling of the preflight")
    samples = list(read_jsonl(folder / "drawn.jsonl"))
    return [samples[start : start + size] for start in range(0, len(samples), size)]


def sampling_engine(job: Any) -> dict[str, Any]:
    """The engine that samples, with its options; transformers in place of a server."""
    if job.args.engine == "openai":
        args = replace(job.args, engine="transformers", engine_options=[])
        job = replace(job, args=args)
    return engine_options(job)


@with_engine
def draw(
    open_engine: OpenEngine,
    folder: Annotated[Path, typer.Argument(help="Folder with order.json.")],
    model: Annotated[str, typer.Argument(help="Folder, hub id or pkg://package/path.")],
) -> None:
    """Draw the samples that `order.json` asks for, into `drawn.jsonl`."""
    order = json.loads((folder / "order.json").read_text(encoding="utf-8"))
    keys = [(row, number) for row in range(len(order["rows"])) for number in range(order["group"])]
    requests = [Request(f"{row}#{number}", order["rows"][row]["prompt"]) for row, number in keys]
    with open_engine(model) as engine:
        drawn = dict(engine.generate(requests, Sampling(*order["sampling"])))
    write_jsonl(
        folder / "drawn.jsonl",
        (
            {
                "row": order["rows"][row],
                "raw": drawn[f"{row}#{number}"].text,
                "finish_reason": drawn[f"{row}#{number}"].finish_reason,
                "tokens": drawn[f"{row}#{number}"].completion_tokens,
            }
            for row, number in keys
        ),
    )


if __name__ == "__main__":
    die_with_parent()
    try:
        typer.run(draw)
    except (ValueError, FileNotFoundError) as error:
        sys.exit(f"preflight: {error}")
