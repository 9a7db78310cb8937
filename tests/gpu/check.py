"""What check.sh runs: python check.py OUT. Each part is a process of its own; a line of figures for each.

1. RIF of the embedded tiny model, complete: traces, training, the evaluation before and after.
2. Cold RL of the tiny model, with its preflight.
3. A random model of the shape of Qwen2.5-0.5B: supervised finetuning and GRPO, each by the recipe and by a
   plain trl script on the same rows and settings; then `riftk eval`.

Exit status 1: a part failed, the recipe did other work than the plain script, or nothing was learned in 1.
"""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

ROOT = Path(__file__).parents[2]
RECIPES, PERFORMANCE = ROOT / "recipes", ROOT / "tests" / "performance"
GIB = 1 << 30
LIMIT = 480  # seconds in all, on a GPU
GPU = torch.cuda.is_available()


@dataclass(frozen=True)
class Scale:
    """How much is done: on a GPU, or on a CPU."""

    name: str
    dtype: str = "bfloat16"
    layers: int = 24
    hidden: int = 896
    intermediate: int = 4864
    heads: int = 14
    kv_heads: int = 2
    vocab: int = 151936
    batch: int = 16
    words: int = 300  # of a trace to finetune on
    sft_steps: int = 20
    rl_steps: int = 4
    completion: int = 192
    tiny_rows: int = 400
    tiny_items: int = 200
    tiny_steps: int = 100

    def arguments(self) -> list[str]:
        """Options of a recipe that depend on the machine."""
        return ["--bf16", str(GPU).lower(), "--dtype", self.dtype]


CPU = Scale(
    "CPU", "float32", layers=2, hidden=128, intermediate=384, heads=4, kv_heads=2, vocab=4000, batch=4,
    words=40, sft_steps=6, rl_steps=2, completion=24, tiny_rows=40, tiny_items=16, tiny_steps=4,
)  # fmt: skip


def main() -> int:
    scale = Scale(torch.cuda.get_device_name()) if GPU else CPU
    out, began = Path(sys.argv[1]), time.monotonic()
    print(f"{scale.name}, torch {torch.__version__}, {scale.dtype}", flush=True)
    failed = 0
    for part in (tiny_rif, tiny_cold_rl, sft_against_trl, grpo_against_trl, evaluation, server):
        if GPU and time.monotonic() - began > LIMIT - 60:
            print(f"{part.__name__}: left out, the time is up", flush=True)
            failed = 1
            continue
        failed |= attempt(part, scale, out)
    print(f"{time.monotonic() - began:.0f} s in all: {'FAILED' if failed else 'good'}", flush=True)
    return failed


def attempt(part: Callable[[Scale, Path], str], scale: Scale, out: Path) -> int:
    """Run one part and print its figures; 1 where it failed."""
    began = time.monotonic()
    try:
        print(f"{part.__name__}: {part(scale, out)} [{time.monotonic() - began:.0f} s]", flush=True)
    except (Failed, subprocess.TimeoutExpired) as error:
        print(f"{part.__name__}: FAILED: {error}", flush=True)
        return 1
    return 0


class Failed(Exception):
    """A part that did not do what it should; the message says why."""


def tiny_rif(scale: Scale, out: Path) -> str:
    arguments = [
        "--num_rows", scale.tiny_rows, "--eval_limit", scale.tiny_items, *scale.arguments(),
        "--output_dir", "rif-tiny",
    ]  # fmt: skip
    measured = recipe("rif", out, *arguments)
    results = json.loads((out / "rif-tiny" / "results.json").read_text())["differences"]["tiny"]
    change = results["reasoning_ifs,robust"]["value"]
    if GPU and change <= 0.2:
        raise Failed(f"reasoning IFS changed by {change:+.2f}: the model has not learned")
    return f"reasoning IFS {change:+.2f}, {speed(measured)}"


def tiny_cold_rl(scale: Scale, out: Path) -> str:
    arguments = [
        "--max_steps", scale.tiny_steps // 4 or 1, "--num_rows", 256, "--eval_steps", 0, "--stages", "train",
        "--per_device_train_batch_size", 64 if GPU else 16, *scale.arguments(),
        "--output_dir", "rl-tiny",
    ]  # fmt: skip
    measured = recipe("cold_rl", out, *arguments)
    first, last = measured["rewards"][0], measured["rewards"][-1]
    return f"reward {first:.2f} -> {last:.2f}, {speed(measured)}"


def sft_against_trl(scale: Scale, out: Path) -> str:
    model, rows = half_a_billion(scale, out), write_rows(scale, out)
    arguments = [
        "--stages", "train", "--dataset", rows, "--model_name_or_path", model, "--output_dir", "sft-half",
        "--max_steps", scale.sft_steps, "--save_strategy", "no", "--max_length", 4096,
        "--per_device_train_batch_size", scale.batch, "--learning_rate", 1e-5, *scale.arguments(),
        "--gradient_checkpointing", "true", "--logging_steps", 1,
    ]  # fmt: skip
    return compared(recipe("sft", out, *arguments), plain("sft-half", rows, out))


def grpo_against_trl(scale: Scale, out: Path) -> str:
    model, rows = half_a_billion(scale, out), write_rows(scale, out)
    arguments = [
        "--stages", "train", "--dataset", rows, "--model_name_or_path", model, "--output_dir", "rl-half",
        "--max_steps", scale.rl_steps, "--save_strategy", "no", "--skip_preflight", "--eval_steps", 0,
        "--per_device_train_batch_size", 4 * scale.batch, "--num_generations", 4, "--plain_share", 1,
        "--max_completion_length", scale.completion, "--learning_rate", 1e-6, *scale.arguments(),
        "--gradient_checkpointing", "true", "--logging_steps", 1, "--rollout_steps", 0,
    ]  # fmt: skip
    return compared(recipe("cold_rl", out, *arguments), plain("rl-half", rows, out))


def evaluation(scale: Scale, out: Path) -> str:
    model = half_a_billion(scale, out)
    count = scale.tiny_items
    said = run(
        [
            "-m", "riftk", "eval", "--model", model, "--benchmarks", "tiny", "--limit", count, "--dtype",
            scale.dtype, "--max-tokens", scale.completion, "--batch-size", count, "--out", "eval-half",
        ],
        out / "eval-half.log",
    )  # fmt: skip
    rates = re.findall(r"([\d,]+) tokens/s", said)
    return f"{count} samples of {scale.completion} tokens at {rates[-1] if rates else '?'} tokens/s"


def server(scale: Scale, out: Path) -> str:
    """Rollouts by a vLLM server, whose weights arrive by NCCL: needs vLLM and two GPUs."""
    from importlib.util import find_spec

    if find_spec("vllm") is None or torch.cuda.device_count() < 2:
        return "left out: needs vLLM and two GPUs"
    command = ["bash", str(RECIPES / "cluster" / "vllm_node.sh"), str(half_a_billion(scale, out))]
    environment = {**os.environ, "GPUS": "1", "CUDA_VISIBLE_DEVICES": "1", "PORT": "8100"}
    with open(out / "server.log", "wb") as log:
        serving = subprocess.Popen(
            [*command, "--max-model-len", "2048"], env=environment, stdout=log, stderr=log
        )
        try:
            _wait_for("http://127.0.0.1:8100/health", serving)
            measured = recipe(
                "cold_rl", out, "--stages", "train", "--dataset", write_rows(scale, out), "--skip_preflight",
                "--model_name_or_path", half_a_billion(scale, out), "--output_dir", "rl-server",
                "--max_steps", 2, "--eval_steps", 0, "--use_vllm", "true", "--vllm_mode", "server",
                "--vllm_server_port", 8100, *scale.arguments(),
            )  # fmt: skip
        finally:
            serving.terminate()
            serving.wait()
    return speed(measured)


def _wait_for(url: str, process: subprocess.Popen[bytes], seconds: int = 150) -> None:
    from urllib.error import URLError
    from urllib.request import urlopen

    for _ in range(seconds):
        if process.poll() is not None:
            break
        try:
            with urlopen(url):
                return
        except (URLError, ConnectionError):
            time.sleep(1)
    raise Failed("the vLLM server did not start: see server.log")


def recipe(name: str, out: Path, *arguments: Any) -> dict[str, Any]:
    """Run a recipe in the folder `out`, and read what its training took."""
    return _measured(out / f"{arguments[-1]}-{name}.json", RECIPES / f"{name}.py", *arguments)


def plain(folder: str, rows: Path, out: Path) -> dict[str, Any]:
    """The same training as that of a recipe's run folder, by trl alone."""
    script = PERFORMANCE / "plain.py"
    return _measured(out / f"{folder}-plain.json", script, f"{folder}/config.yaml", rows, f"{folder}-plain")


def _measured(figures: Path, script: Path, *arguments: Any) -> dict[str, Any]:
    run([PERFORMANCE / "measure.py", figures, script, *arguments], figures.with_suffix(".log"))
    return json.loads(figures.read_text())


def run(command: list[Any], log: Path) -> str:
    """Run Python with these arguments to the end; what it printed, which is kept in `log` too."""
    finished = subprocess.run(
        [sys.executable, *map(str, command)], cwd=log.parent, timeout=300 if GPU else None, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    log.write_text(finished.stdout)
    if finished.returncode:
        raise Failed(f"exit status {finished.returncode}: {finished.stdout[-1500:]}")
    return finished.stdout


def compared(ours: dict[str, Any], theirs: dict[str, Any]) -> str:
    """Figures of the recipe beside those of the plain script."""
    if ours["steps"] != theirs["steps"] or abs(ours["tokens"] / theirs["tokens"] - 1) > 0.02:
        raise Failed(f"not the same work: {ours} and {theirs}")
    return f"{speed(ours)}; plain trl {speed(theirs)}: ratio {ours['seconds'] / theirs['seconds']:.3f}"


def speed(measured: dict[str, Any]) -> str:
    rate = measured["tokens"] / measured["seconds"]
    return f"{rate:,.0f} tokens/s, {measured['memory'] / GIB:.1f} GiB at most"


def half_a_billion(scale: Scale, out: Path) -> Path:
    """A random model of the shape of Qwen2.5-0.5B (on a CPU a small one) with the tiny model's tokenizer."""
    folder = out / "half"
    if not folder.is_dir():
        from transformers import AutoTokenizer, Qwen2Config, Qwen2ForCausalLM

        torch.manual_seed(0)
        tokenizer = AutoTokenizer.from_pretrained(ROOT / "riftk/tiny/weights/base")
        config = Qwen2Config(
            vocab_size=scale.vocab, hidden_size=scale.hidden, intermediate_size=scale.intermediate,
            num_hidden_layers=scale.layers, num_attention_heads=scale.heads,
            num_key_value_heads=scale.kv_heads, max_position_embeddings=4096, tie_word_embeddings=True,
            eos_token_id=tokenizer.eos_token_id, pad_token_id=tokenizer.pad_token_id,
        )  # fmt: skip
        Qwen2ForCausalLM(config).to(getattr(torch, scale.dtype)).save_pretrained(folder)
        tokenizer.save_pretrained(folder)
    return folder


def write_rows(scale: Scale, out: Path) -> Path:
    """Rows with traces of a fixed number of words, for finetuning and for rewards."""
    path = out / "rows.jsonl"
    if not path.is_file():
        drawn = random.Random(0)
        words = ["we", "add", "take", "away", "apples", "pears", "three", "four", "seven", "so", "is"]
        with path.open("w") as file:
            for number in range(scale.batch * scale.sft_steps):
                row = {
                    "item_id": str(number),
                    "prompt": [{"role": "user", "content": f"What is {number} + 5?"}],
                    "reasoning": " ".join(drawn.choices(words, k=scale.words)),
                    "response": f"It is {number + 5}.",
                    "answer": str(number + 5),
                    "answer_type": "number",
                    "constraints": "[]",
                }
                file.write(json.dumps(row) + "\n")
    return path


if __name__ == "__main__":
    sys.exit(main())
