"""The same training on one process and on several: losses, rows, and what reaches the trainer.

python -m pytest tests/test_scale.py -m slow          # two processes on the CPU, gloo
python -m pytest tests/test_scale.py -m deepspeed     # ZeRO-2 and ZeRO-3, where DeepSpeed is installed
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from launching import ENVIRONMENT, RECIPES
from solutions import write_solutions
from toy_tokenizers import OWN, toy_tokenizer

LAUNCHES = RECIPES.parent / "accelerate_configs"
STEPS, BATCH = 10, 16
ACCELERATE = [sys.executable, "-m", "accelerate.commands.launch"]
PATH = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])  # ninja too, for DeepSpeed
TORCHRUN = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2"]


def run(command: list[str], cwd: Path, **environment: str) -> str:
    """Run to the end; what was printed."""
    finished = subprocess.run(
        [str(part) for part in command], cwd=cwd, capture_output=True, text=True, timeout=1500,
        env={**os.environ, **ENVIRONMENT, "PATH": PATH, **environment},
    )  # fmt: skip
    assert finished.returncode == 0, finished.stderr[-3000:]
    return finished.stdout


@pytest.fixture(scope="module")
def rows(tmp_path_factory) -> Path:
    return write_solutions(tmp_path_factory.mktemp("rows") / "rows.jsonl", STEPS * BATCH)


def training(rows: Path, processes: int) -> list[str]:
    return [
        RECIPES / "sft.py", "--stages", "train", "--dataset", rows, "--output_dir", "run",
        "--max_steps", STEPS, "--save_steps", STEPS, "--logging_steps", "1",
        "--per_device_train_batch_size", BATCH // processes,
    ]  # fmt: skip


def losses(folder: Path) -> list[float]:
    state = json.loads((folder / f"run/checkpoints/checkpoint-{STEPS}/trainer_state.json").read_text())
    found = [entry["loss"] for entry in state["log_history"] if "loss" in entry]
    assert len(found) == STEPS
    return found


@pytest.fixture(scope="module")
def one_process(rows, tmp_path_factory) -> list[float]:
    folder = tmp_path_factory.mktemp("one")
    said = run([*ACCELERATE, "--config_file", LAUNCHES / "cpu.yaml", *training(rows, 1)], folder)
    assert "world size 1 (NO)" in said
    return losses(folder)


@pytest.mark.slow
def test_two_processes_on_the_cpu_have_the_losses_of_one(rows, one_process, tmp_path):
    said = run([*TORCHRUN, *training(rows, 2)], tmp_path)
    assert "world size 2 (MULTI_CPU)" in said
    print(one_process, losses(tmp_path))
    assert losses(tmp_path) == pytest.approx(one_process, abs=1e-3)


@pytest.mark.slow
def test_accelerate_starts_two_processes_on_the_cpu_with_ddp(rows, tmp_path):
    launch = [*ACCELERATE, "--config_file", LAUNCHES / "ddp.yaml", "--num_processes", "2"]
    command = [*launch, "--mixed_precision", "no", *training(rows, 2), "--max_steps", "2"]
    assert "world size 2 (MULTI_CPU)" in run(command, tmp_path)


@pytest.mark.slow
@pytest.mark.deepspeed
@pytest.mark.parametrize("stage", ["zero2", "zero3"])
def test_deepspeed_on_two_processes_has_the_losses_of_one(stage, rows, one_process, tmp_path):
    pytest.importorskip("deepspeed")
    launch = [*ACCELERATE, "--config_file", LAUNCHES / f"{stage}.yaml", "--num_processes", "2"]
    command = [*launch, "--mixed_precision", "no", *training(rows, 2)]
    said = run(command, tmp_path, DS_ACCELERATOR="cpu")
    assert "world size 2 (DEEPSPEED)" in said
    print(one_process, losses(tmp_path))
    assert losses(tmp_path) == pytest.approx(one_process, abs=1e-3)
    assert (tmp_path / "run" / "final" / "model.safetensors").is_file()


@pytest.mark.slow
def test_two_processes_sample_and_evaluate_what_one_does(tmp_path):
    """The recipe's synthesis and evaluation are shared by the ranks of its launcher."""
    arguments = ["--stages", "synth", "eval", "--num_rows", "24", "--eval_limit", "24", "--batch_size", "4"]
    seen = {}
    for name, launcher in (("one", [sys.executable]), ("two", TORCHRUN)):
        (tmp_path / name).mkdir()
        run([*launcher, RECIPES / "rif.py", *arguments, "--output_dir", "run"], tmp_path / name)
        folder = tmp_path / name / "run"
        samples = [json.loads(line) for line in (folder / "eval/before/samples_tiny.jsonl").open()]
        dataset = [json.loads(line) for line in (folder / "data/dataset.jsonl").open()]
        ids = [row["item_id"] for row in dataset]
        assert len(set(ids)) == len(ids) > 0
        seen[name] = (
            sorted((one["item_id"], one["sample"], json.dumps(one["resps"])) for one in samples),
            sorted((row["item_id"], row["reasoning"], row["response"]) for row in dataset),
        )
        assert len(seen[name][0]) == len(set(seen[name][0])) == 24
    assert seen["one"] == seen["two"]


FAMILIES = ("chatml", "think_tags", "prefilled", "keeps_trace", "opens_itself", "channels")


@pytest.mark.parametrize("family", FAMILIES)
def test_the_trace_reaches_the_loss_of_the_trainer(family, tmp_path):
    """What trl's trainer makes of the rows: every label of a batch, decoded."""
    from datasets import Dataset
    from transformers import Qwen3Config, Qwen3ForCausalLM
    from trl import SFTConfig, SFTTrainer

    from riftk.training import supervise

    tokenizer = toy_tokenizer(OWN[family])
    traces = ["We add three apples to four pears.", "So there are seven."]
    answers = ["The answer is 7.", "Seven."]
    records = [
        {"prompt": [{"role": "user", "content": "How many?"}], "reasoning": trace, "response": answer}
        for trace, answer in zip(traces, answers, strict=True)
    ]
    shape = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 1}
    model = Qwen3ForCausalLM(Qwen3Config(vocab_size=len(tokenizer), num_key_value_heads=1, **shape))
    for loss_on, wanted in (
        ("both", (True, True)),
        ("reasoning", (True, False)),
        ("response", (False, True)),
    ):
        trainer = SFTTrainer(
            model=model,
            args=SFTConfig(
                str(tmp_path), use_cpu=True, bf16=False, gradient_checkpointing=False, report_to=[],
                per_device_train_batch_size=2,
            ),
            train_dataset=Dataset.from_list(supervise(tokenizer, records, loss_on=loss_on, max_length=200)),
            processing_class=tokenizer,
        )  # fmt: skip
        [batch] = trainer.get_train_dataloader()
        for labels in batch["labels"].tolist():
            text = tokenizer.decode([label for label in labels if label != -100])
            place = next(
                number for number, trace in enumerate(traces) if (trace in text) or answers[number] in text
            )
            assert (traces[place] in text, answers[place] in text) == wanted, text
            assert re.search(r"(<\|im_end\|>|<\|return\|>|<｜end▁of▁sentence｜>)$", text), text
            assert "How many?" not in text


# Scripts for clusters

CLUSTER = RECIPES / "cluster"


def nodes(arguments: list, cwd: Path, **environment: str) -> list[tuple[int, str]]:
    """Start the script for several machines twice on this one: exit status and output of both."""
    started = [
        subprocess.Popen(
            ["bash", CLUSTER / "multi_node.sh", *map(str, arguments)], cwd=cwd, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            env={
                **os.environ, **ENVIRONMENT, "PATH": PATH, "HEAD": "127.0.0.1", "GPUS": "1",
                "SLURM_NNODES": "2", "SLURM_NODEID": str(rank), **environment,
            },
        )
        for rank in range(2)
    ]  # fmt: skip
    said = [one.communicate(timeout=1500)[0] for one in started]
    return [(one.returncode, text) for one, text in zip(started, said, strict=True)]


@pytest.mark.slow
def test_two_machines_are_one_training(rows, one_process, tmp_path):
    finished = nodes(training(rows, 2), tmp_path, LAUNCHER="torchrun", PORT="29571")
    assert [status for status, _ in finished] == [0, 0], finished
    assert "world size 2 (MULTI_CPU)" in finished[0][1]
    assert losses(tmp_path) == pytest.approx(one_process, abs=1e-3)


@pytest.mark.slow
@pytest.mark.deepspeed
def test_two_machines_with_the_shipped_configuration(rows, one_process, tmp_path):
    pytest.importorskip("deepspeed")
    config = (
        (LAUNCHES / "multi_node.yaml").read_text().replace("mixed_precision: bf16", "mixed_precision: 'no'")
    )
    (tmp_path / "multi_node.yaml").write_text(config)
    settings = {"ACCELERATE_CONFIG": str(tmp_path / "multi_node.yaml"), "DS_ACCELERATOR": "cpu"}
    finished = nodes(training(rows, 2), tmp_path, PORT="29572", **settings)
    assert [status for status, _ in finished] == [0, 0], finished
    assert "world size 2 (DEEPSPEED)" in finished[0][1]
    assert losses(tmp_path) == pytest.approx(one_process, abs=1e-3)


def printed(**environment: str) -> list[str]:
    """The command of the vLLM machine, word by word."""
    command = ["bash", CLUSTER / "vllm_node.sh", "Qwen/Qwen2.5-7B", "--max-model-len", "4096"]
    environment = {**os.environ, "PRINT": "1", "GPUS": "2", **environment}
    finished = subprocess.run(command, check=True, text=True, capture_output=True, env=environment)
    return finished.stdout.splitlines()


def test_the_vllm_server_is_started_as_trl_wants_it():
    import trl.scripts.vllm_serve as source

    command = printed(PORT="8001")
    assert command[:3] == ["vllm", "serve", "Qwen/Qwen2.5-7B"]
    assert command[command.index("--port") + 1] == "8001"
    assert command[-2:] == ["--max-model-len", "4096"]
    imposed = source.build_command.__doc__.partition("imposed by TRL")[2].partition("Args:")[0]
    flags = re.findall(r"`(--[a-z-]+)", imposed)
    assert len(flags) >= 4
    assert set(flags) <= set(command)
    wanted = source.build_command(source.ScriptArguments(model="m"))
    for flag in ("--weight-transfer-config", "--logprobs-mode", "--max-logprobs"):
        assert command[command.index(flag) + 1] == wanted[wanted.index(flag) + 1]


@pytest.mark.vllm
def test_vllm_knows_every_option_of_its_server():
    pytest.importorskip("vllm")
    from vllm.entrypoints.launchers.cli_args import make_arg_parser
    from vllm.utils.argparse_utils import FlexibleArgumentParser

    parsed = make_arg_parser(FlexibleArgumentParser()).parse_args(["--model", *printed()[2:]])
    assert (parsed.tensor_parallel_size, parsed.max_logprobs, parsed.max_model_len) == (2, -1, 4096)


@pytest.mark.parametrize("script", sorted(CLUSTER.iterdir()), ids=lambda script: script.name)
def test_scripts_are_bash_and_say_how_to_start_them(script):
    subprocess.run(["bash", "-n", script], check=True)
    assert f"recipes/cluster/{script.name}" in script.read_text()
