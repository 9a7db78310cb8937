"""`riftk env`: versions, devices, and plans whose figures are worked out by hand."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
from pathlib import Path

import pytest

from riftk.planning import (
    GIB,
    SHAPES,
    Job,
    Layout,
    Lora,
    Rollouts,
    Shape,
    estimate,
    make_plan,
    read_layout,
    shape_of,
    shipped_layouts,
)
from riftk.planning.memory import sequences_at_once
from riftk.planning.shapes import shape_of_config
from riftk.planning.versions import TESTED, Installed, differences, traps

ROOT = Path(__file__).parent.parent
GPU = 80 * GIB
ONE, DDP = Layout("single_gpu", "none", 1), Layout("ddp", "ddp", 8)
ZERO2, ZERO3, FSDP = Layout("zero2", "zero2", 8), Layout("zero3", "zero3", 8), Layout("fsdp2", "fsdp", 8)
# 1,000 parameters, 2 layers of width 8, an MLP of width 16, 2 heads over 1 of keys and values of width 4.
SMALL = Shape(1000, 2, 8, 16, 2, 1, 4, 100)


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "riftk", "env", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=300)


# shapes


def config_of(name: str):
    """The transformers configuration that a shape in the table was taken from."""
    from transformers import GptOssConfig, LlamaConfig, Qwen2Config, Qwen3Config

    shape = SHAPES[name]
    common = {
        "num_hidden_layers": shape.layers,
        "hidden_size": shape.hidden,
        "intermediate_size": shape.intermediate,
        "num_attention_heads": shape.heads,
        "num_key_value_heads": shape.kv_heads,
        "head_dim": shape.head_dim,
        "vocab_size": shape.vocab,
    }
    tied = shape.parameters < 5e9 and "R1-Distill" not in name
    if "gpt-oss" in name:
        return GptOssConfig(**common, num_local_experts=32, num_experts_per_tok=4, tie_word_embeddings=False)
    if "SmolLM2" in name:
        return LlamaConfig(**common, tie_word_embeddings=True)
    return (Qwen3Config if "Qwen3" in name else Qwen2Config)(**common, tie_word_embeddings=tied)


@pytest.mark.parametrize("name", SHAPES)
def test_the_table_counts_what_transformers_builds(name):
    assert shape_of_config(config_of(name)) == SHAPES[name]


def test_parameters_of_a_model_by_hand():
    """Qwen2.5-1.5B: embeddings 151936 x 1536, which serve as the output too; each of 28 layers: queries and
    output 1536 x 1536, keys and values 1536 x 256, biases 1536 + 2 x 256, MLP 3 x 1536 x 8960, 2 norms."""
    layer = 2 * 1536 * 1536 + 2 * 1536 * 256 + 1536 + 2 * 256 + 3 * 1536 * 8960 + 2 * 1536
    assert SHAPES["Qwen/Qwen2.5-1.5B"].parameters == 151936 * 1536 + 28 * layer + 1536


def test_a_model_outside_the_table_is_counted_and_one_out_of_reach_is_named():
    from safetensors import safe_open

    from riftk.paths import resolve

    name = "pkg://riftk.tiny/weights/base"
    with safe_open(resolve(f"{name}/model.safetensors"), "np") as weights:
        stored = sum(weights.get_tensor(key).size for key in weights.keys())  # noqa: SIM118 - no mapping
    assert shape_of(name).parameters == stored
    with pytest.raises(FileNotFoundError, match="not in riftk's table of shapes"):
        shape_of("nobody/no-such-model")


# memory


def test_states_of_all_parameters_by_hand():
    job = Job(SMALL, width=2, micro_batch=1, length=10)

    def states(layout):
        need = estimate(job, layout, GPU)
        return [need[part] for part in ("weights", "gradients", "optimizer", "buffers")]

    assert states(ONE) == [2000, 2000, 4000, 0]
    assert states(DDP) == [2000, 2000, 4000, 2000]  # the gradients again, in buckets
    assert states(ZERO2) == [2000, 250, 1500, 4000]  # 2, 2/8 and 12/8 bytes; two full buckets
    assert states(ZERO3) == [250, 250, 1500, 2000]
    assert states(FSDP) == [500, 500, 1000, 2000]  # 4, 4 and 8 bytes, over 8


def test_weights_gradients_and_optimizer_of_the_zero_paper():
    """Figure 1 of arXiv 1910.02054: 7.5 B parameters on 64 GPUs take 16.6 GB with stage 2 and 1.9 with 3."""
    shape = dataclasses.replace(SMALL, parameters=7_500_000_000)
    job = Job(shape, width=2, micro_batch=1, length=1)
    for sharding, gigabytes in (("zero2", 16.6), ("zero3", 1.9)):
        need = estimate(job, Layout("", sharding, 64), GPU)
        states = sum(need[part] for part in ("weights", "gradients", "optimizer"))
        assert states / 1e9 == pytest.approx(gigabytes, abs=0.05)


def test_states_of_an_adapter_by_hand():
    lora = Lora(rank=3, targets=("q_proj", "down_proj"))
    parameters = 2 * 3 * ((8 + 8) + (16 + 8))  # 2 layers, rank 3, in + out
    assert lora.parameters(SMALL) == parameters == 240
    need = estimate(Job(SMALL, width=2, micro_batch=1, length=10, lora=lora), ONE, GPU)
    assert need["weights"] == 2000 + 4 * 240
    assert (need["gradients"], need["optimizer"]) == (4 * 240, 8 * 240)
    with pytest.raises(ValueError, match="'query' is none of q_proj"):
        Lora(1, ("query",)).parameters(SMALL)


def test_an_adapters_parameters_are_those_of_peft():
    from peft import LoraConfig, get_peft_model
    from transformers import AutoModelForCausalLM

    from riftk.paths import resolve

    name = "pkg://riftk.tiny/weights/base"
    for targets in (("all-linear",), ("q_proj", "up_proj")):
        model = AutoModelForCausalLM.from_pretrained(resolve(name))
        named = "all-linear" if targets == ("all-linear",) else list(targets)
        adapted = get_peft_model(model, LoraConfig(r=8, target_modules=named, task_type="CAUSAL_LM"))
        trained = [parameter for parameter in adapted.parameters() if parameter.requires_grad]
        assert Lora(8, targets).parameters(shape_of(name)) == sum(one.numel() for one in trained)


def test_weights_gradients_and_optimizer_are_those_of_a_real_model():
    import torch
    from transformers import AutoModelForCausalLM

    from riftk.paths import resolve

    name = "pkg://riftk.tiny/weights/base"
    model = AutoModelForCausalLM.from_pretrained(resolve(name), dtype=torch.float32)
    optimizer = torch.optim.AdamW(model.parameters(), foreach=False)
    model(input_ids=torch.arange(10)[None]).logits.sum().backward()
    optimizer.step()
    moments = [
        value
        for state in optimizer.state.values()
        for key, value in state.items()
        if key in ("exp_avg", "exp_avg_sq")
    ]
    need = estimate(Job(shape_of(name), width=4, micro_batch=1, length=10), ONE, GPU)
    assert need["weights"] == sum(one.nbytes for one in model.parameters())
    assert need["gradients"] == sum(one.grad.nbytes for one in model.parameters())
    assert need["optimizer"] == sum(one.nbytes for one in moments)


def test_activations_and_logits_by_hand():
    job = Job(SMALL, width=2, micro_batch=3, length=10, checkpointing=False)
    layer = 9 * 8 + 2 * 4 * (2 + 1) + 4 * 16  # for a token
    assert estimate(job, ONE, GPU)["activations"] == 2 * 30 * 2 * layer
    again = dataclasses.replace(job, checkpointing=True)
    assert estimate(again, ONE, GPU)["activations"] == 2 * 30 * (2 * 8 + layer)
    tiles, head = 2 * 4 * 30 * 100, 4 * 100 * 8
    assert estimate(job, ONE, GPU)["logits"] == tiles + head
    sampled = dataclasses.replace(job, rollouts=Rollouts(1000, 10))
    assert estimate(sampled, ONE, GPU)["logits"] == 3 * 4 * 1000 * 100


def test_rollouts_by_hand_and_as_a_real_cache():
    import torch
    from transformers import AutoModelForCausalLM

    from riftk.paths import resolve

    job = Job(SMALL, width=2, micro_batch=1, length=10, rollouts=Rollouts(5, 10))
    assert estimate(job, ONE, GPU)["rollouts"] == 2 * 2 * 1 * 4 * 2 * 5 * 10
    colocate = dataclasses.replace(job, rollouts=Rollouts(5, 10, "colocate", share=0.25))
    assert estimate(colocate, ONE, GPU)["rollouts"] == GPU // 4
    asleep = dataclasses.replace(colocate, rollouts=Rollouts(5, 10, "colocate", share=0.25, sleeps=True))
    need = estimate(asleep, ONE, GPU)
    assert need["rollouts"] == GPU // 4 - need["gradients"] - need["activations"] - need["logits"]
    server = dataclasses.replace(job, rollouts=Rollouts(5, 10, "server"))
    assert estimate(server, ONE, GPU)["rollouts"] == 0
    free = 0.25 * GPU - 2000 - GIB
    assert sequences_at_once(colocate, GPU) == int(free / (2 * 2 * 1 * 4 * 2 * 10))

    name = "pkg://riftk.tiny/weights/base"
    model = AutoModelForCausalLM.from_pretrained(resolve(name), dtype=torch.float32)
    cache = model(input_ids=torch.ones(3, 12, dtype=torch.long), use_cache=True).past_key_values
    stored = sum(layer.keys.nbytes + layer.values.nbytes for layer in cache.layers)
    assert shape_of(name).cache_elements * 4 * 3 * 12 == stored


# plans

SFT = {
    "model_name_or_path": "Qwen/Qwen2.5-7B", "dtype": "bfloat16", "per_device_train_batch_size": 1,
    "max_length": 8192, "gradient_checkpointing": True,
}  # fmt: skip


def test_the_simplest_layout_that_fits_is_taken():
    plan = make_plan(SFT, gpus=8, gpu=GPU)
    assert plan.best.name == "zero2"
    assert [plan.fits(layout) for layout in plan.needs] == [True, False, True, True, True, True]
    small = make_plan({**SFT, "dtype": "float32", "model_name_or_path": "Qwen/Qwen2.5-1.5B"}, 8, GPU)
    assert small.best.name == "ddp"
    assert "accelerate_configs/ddp.yaml (--num_processes 8)" in small.lines()[-1]
    one = make_plan({**SFT, "dtype": "float32", "model_name_or_path": "Qwen/Qwen2.5-1.5B"}, 1, GPU)
    assert one.best.name == "single_gpu"
    assert make_plan({**SFT, "model_name_or_path": "Qwen/QwQ-32B"}, 8, GPU).best.name == "multi_node"


def test_two_byte_weights_without_a_copy_are_not_advised():
    plan = make_plan(SFT, gpus=1, gpu=GPU)
    assert plan.fits(ONE)
    assert "rounds small updates away" in "\n".join(plan.lines())
    assert plan.best.name == "multi_node"
    lora = {"use_peft": True, "lora_r": 16, "lora_target_modules": None}
    assert make_plan({**SFT, **lora}, gpus=1, gpu=GPU).best.name == "single_gpu"


def test_what_fits_nowhere_gets_advice():
    plan = make_plan({**SFT, "model_name_or_path": "Qwen/QwQ-32B"}, gpus=2, gpu=24 * GIB)
    assert plan.best is None
    assert "nothing fits in 24 GiB; lower per_device_train_batch_size" in plan.advice()
    rl = {
        **SFT, "max_prompt_length": 1024, "max_completion_length": 7168, "steps_per_generation": 4,
        "use_vllm": True, "vllm_mode": "colocate", "vllm_gpu_memory_utilization": 0.15,
    }  # fmt: skip
    assert "raise vllm_gpu_memory_utilization" in make_plan(rl, 8, GPU).advice()
    assert make_plan({**rl, "vllm_gpu_memory_utilization": 0.4}, 8, GPU).best.name == "zero2"
    assert make_plan({**rl, "vllm_mode": "server"}, 8, GPU).job.rollouts.engine == "server"


def test_shipped_layouts_and_one_that_is_unknown(tmp_path):
    assert [(one.name, one.sharding, one.processes, one.machines) for one in shipped_layouts()] == [
        ("single_gpu", "none", 1, 1), ("ddp", "ddp", 8, 1), ("zero2", "zero2", 8, 1),
        ("zero3", "zero3", 8, 1), ("fsdp2", "fsdp", 8, 1), ("multi_node", "zero3", 16, 2),
    ]  # fmt: skip
    (tmp_path / "tpu.yaml").write_text("distributed_type: XLA\n")
    with pytest.raises(ValueError, match="XLA is a way of distributing"):
        read_layout(tmp_path / "tpu.yaml")


# the command


def test_a_set_of_versions_is_compared_with_those_that_were_tested():
    here = dict(TESTED["training"])
    assert differences({**here, "torch": "2.13.0+cpu"})["training"] == []
    assert differences({**here, "trl": "1.15.0"})["training"] == ["trl 1.15.0 (tested: 1.16.0)"]
    assert differences({**here, "vllm": None})["training with DeepSpeed"] == [
        "deepspeed missing (tested: 0.19.8)"
    ]
    assert Installed("trl", "1.16.3", ">=1.16,<1.17").in_range
    assert not Installed("trl", "1.17.0", ">=1.16,<1.17").in_range
    assert Installed("vllm", None, ">=0.22").in_range


def test_a_folder_that_hides_a_library_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    assert list(traps(tmp_path)) == []
    (tmp_path / "vllm").mkdir()
    assert "the folder vllm/ here hides the library vllm" in next(traps(tmp_path))


def test_versions_and_devices_are_printed():
    finished = run()
    assert finished.returncode == 0, finished.stderr
    for word in ("riftk", "python", "torch", "trl", "device", "GiB", "tested"):
        assert word in finished.stdout


def test_a_plan_needs_neither_gpu_nor_hub():
    finished = run("--plan", "pkg://riftk.recipes/configs/cold_rl/qwen2.5-7b.yaml", "--gpus", "8")
    assert finished.returncode == 0, finished.stderr
    assert "7.62 B parameters in bfloat16, all parameters" in finished.stdout
    assert "take accelerate_configs/zero3.yaml (--num_processes 8)" in finished.stdout
    assert "LoRA of rank 16 instead (--use_peft): of 80 GiB: take" in finished.stdout


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--plan", "no.yaml"], "no.yaml"),
        (["--plan", "no.yaml", "--gpus", "0"], "--gpus and --gpu-memory must be positive"),
    ],
)
def test_a_mistake_is_one_sentence(arguments, sentence):
    finished = run(*arguments)
    assert finished.returncode == 2
    assert sentence in finished.stderr.splitlines()[-1]
    assert "Traceback" not in finished.stderr
