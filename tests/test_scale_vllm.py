"""Rollouts and evaluation with vLLM, run for real on the CPU or a GPU: python -m pytest -m vllm"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from launching import ENVIRONMENT, RECIPES

from riftk.paths import resolve

TINY = "pkg://riftk.tiny/weights/base"
SMALL = [
    "--num_rows", "64", "--per_device_train_batch_size", "16", "--num_generations", "4", "--max_steps", "6",
    "--logging_steps", "1", "--rollout_steps", "0", "--save_steps", "6", "--skip_preflight",
    "--use_vllm", "true", "--vllm_mode", "colocate", "--vllm_max_model_length", "512",
    "--learning_rate", "1e-3",
]  # fmt: skip
# On a CPU vLLM packs its weights for oneDNN, and takes no new ones after that: torch's own product is taken.
START = """
import runpy, sys
import vllm._custom_ops
vllm._custom_ops._supports_onednn = False
{}
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""
# A trainer whose weights never reach vLLM.
NO_SYNC = """
from trl.generation.vllm_generation import VLLMGeneration
VLLMGeneration.sync_weights = lambda self: None
"""


def recipe(*arguments: str, cwd: Path, before: str = "") -> str:
    """Run the RL recipe to the end, `before` it some Python; what was printed."""
    (cwd / "start.py").write_text(START.format(before))
    environment = {**os.environ, **ENVIRONMENT, "VLLM_CPU_KVCACHE_SPACE": "1"}
    command = [
        sys.executable,
        "start.py",
        str(RECIPES / "cold_rl.py"),
        *SMALL,
        *arguments,
        "--output_dir",
        "run",
    ]
    finished = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=2800)
    assert finished.returncode == 0, finished.stderr[-4000:]
    return finished.stdout


def history(folder: Path) -> list[dict]:
    state = folder / "run" / "checkpoints" / "checkpoint-6" / "trainer_state.json"
    return json.loads(state.read_text())["log_history"]


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Path:
    pytest.importorskip("vllm")
    folder = tmp_path_factory.mktemp("vllm")
    engine = ["--engine", "vllm", "--engine_options", "max-model-len=512"]
    recipe(*engine, "--eval_limit", "12", cwd=folder)
    return folder


@pytest.mark.vllm
@pytest.mark.slow
def test_cold_rl_with_colocated_vllm_takes_real_steps_and_is_evaluated_by_vllm(run):
    log = [entry for entry in history(run) if "reward" in entry]
    assert len(log) == 6
    assert any(entry["grad_norm"] > 0 for entry in log)
    assert any(0 < entry["reward"] < 1 for entry in log)
    before = Path(resolve("pkg://riftk.tiny/weights/weak")) / "model.safetensors"
    assert (run / "run/final/model.safetensors").read_bytes() != before.read_bytes()
    after = json.loads((run / "run/eval/after/results.json").read_text())
    assert after["engine"]["engine"] == "vllm"


@pytest.mark.vllm
@pytest.mark.slow
def test_weights_that_reach_vllm_sound_no_alarm(run):
    differences = [
        entry["sampling/sampling_logp_difference/mean"]
        for entry in history(run)
        if "sampling/sampling_logp_difference/mean" in entry
    ]
    print(differences)
    assert len(differences) == 6
    assert max(differences) < 0.05
    assert "stale weights" not in (run / "run" / "alarms.jsonl").read_text()


@pytest.mark.vllm
@pytest.mark.slow
def test_weights_that_never_reach_vllm_are_noticed(tmp_path):
    pytest.importorskip("vllm")
    said = recipe("--stages", "train", cwd=tmp_path, before=NO_SYNC)
    print([entry.get("sampling/sampling_logp_difference/mean") for entry in history(tmp_path)])
    assert "stale weights" in said
    assert "stale weights" in (tmp_path / "run" / "alarms.jsonl").read_text()


def adapter(folder: Path, **options) -> Path:
    """A LoRA of the tiny model; as PEFT makes it by itself, it changes nothing."""
    from peft import LoraConfig, get_peft_model
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_pretrained(resolve(TINY))
    config = LoraConfig(r=4, target_modules=["q_proj", "v_proj"], **options)
    get_peft_model(model, config).save_pretrained(folder)
    return folder


ASKED = {"max_tokens": 4, "temperature": 0.0, "top_p": 1.0}


def generate(engine) -> None:
    from riftk.engines import Request, Sampling

    dict(engine.generate([Request("a", ({"role": "user", "content": "5 + 3?"},))], Sampling(**ASKED)))


def test_an_adapter_that_changes_nothing_is_refused_by_transformers(tmp_path):
    from riftk.engines import load_engine

    generate(load_engine(model=str(adapter(tmp_path / "random", init_lora_weights=False)), device="cpu"))
    with pytest.raises(ValueError, match="changes no output of its base"):
        generate(load_engine(model=str(adapter(tmp_path / "zero")), device="cpu"))


@pytest.mark.vllm
@pytest.mark.slow
def test_an_adapter_that_changes_nothing_is_refused_by_vllm(tmp_path, monkeypatch):
    pytest.importorskip("vllm")
    from riftk.engines import load_engine

    monkeypatch.setenv("VLLM_CPU_KVCACHE_SPACE", "1")
    settings = {"max_model_len": 512, "dtype": "float32", "enforce_eager": True, "batch_size": 4}
    engine = load_engine("vllm", model=str(adapter(tmp_path)), **settings)
    with pytest.raises(ValueError, match="changes no output of its base"):
        generate(engine)
    engine.close()
