"""Memory of a training on each GPU, by formulas.

Where they come from: shares of ZeRO-2 and ZeRO-3 (Rajbhandari et al. 2020, arXiv 1910.02054, section 3 and
figure 1), activations with and without recomputation (Korthikanti et al. 2022, arXiv 2205.05198, section 4;
fused kernels never store the attention's scores), LoRA (Hu et al. 2021, arXiv 2106.09685, section 4). Logits
are computed in tiles by trl 1.16, so that batch x length x vocabulary never lies in memory
(huggingface/trl#3678). What no formula gives (CUDA's own memory, fragmentation) is left to a margin: a
training fits where it needs at most nine tenths of a GPU.
"""

from __future__ import annotations

from dataclasses import dataclass

from .layouts import Layout
from .shapes import Shape

GIB = 1 << 30
ALL_LINEAR = "all-linear"
MARGIN = 0.9  # of a GPU's memory, for all that is counted here
# trl/kernels/chunked_logprob.py
_TILE_TOKENS, _TILE_VOCAB = 4096, 32768
# DeepSpeed's defaults, in numbers of parameters: both buckets of ZeRO-2; what ZeRO-3 keeps gathered.
_BUCKETS, _GATHERED = 2 * 500_000_000, 1_000_000_000


@dataclass(frozen=True)
class Lora:
    """An adapter: its rank, and the linear layers it is put beside (`(ALL_LINEAR,)` for every one)."""

    rank: int
    targets: tuple[str, ...] = (ALL_LINEAR,)

    def parameters(self, shape: Shape) -> int:
        """`rank x (in + out)` for every matrix: one of `rank x in` and one of `out x rank`.

        Raises:
            ValueError: a target that the model does not have.
        """
        matrices = shape.matrices()
        names = matrices if ALL_LINEAR in self.targets else self.targets
        if missing := [name for name in names if name not in matrices]:
            raise ValueError(f"LoRA target {missing[0]!r} is none of {', '.join(matrices)}, {ALL_LINEAR}")
        return shape.layers * sum(self.rank * sum(matrices[name]) for name in names)


@dataclass(frozen=True)
class Rollouts:
    """What reinforcement learning samples with.

    Args:
        sequences: completions that one process samples for a generation.
        length: tokens of a prompt and its completion, at most.
        engine: "transformers" (`model.generate`), "colocate" (vLLM on the same GPUs) or "server" (vLLM on
            others).
        share: of the GPU, which vLLM takes for itself (`vllm_gpu_memory_utilization`).
        tensor_parallel: GPUs that share one copy of vLLM's weights.
        sleeps: vLLM gives its memory back while weights are updated (`vllm_enable_sleep_mode`).
    """

    sequences: int
    length: int
    engine: str = "transformers"
    share: float = 0.3
    tensor_parallel: int = 1
    sleeps: bool = False


@dataclass(frozen=True)
class Job:
    """A training, as far as memory goes.

    Args:
        shape: of the model.
        width: bytes of a weight as it is loaded: 2 for bfloat16, 4 for float32.
        micro_batch: sequences in one forward pass (`per_device_train_batch_size`).
        length: tokens of the longest one.
        checkpointing: activations are computed again in the backward pass.
        lora: the adapter; None trains all parameters.
        reference: a second copy of the weights for the KL term (`beta` above 0 without LoRA).
        rollouts: None for supervised finetuning.
    """

    shape: Shape
    width: int
    micro_batch: int
    length: int
    checkpointing: bool = True
    lora: Lora | None = None
    reference: bool = False
    rollouts: Rollouts | None = None


def estimate(job: Job, layout: Layout, gpu: int) -> dict[str, int]:
    """Bytes on each GPU at the fullest moment, by what they are for.

    Args:
        job: the training.
        layout: how it is spread over GPUs.
        gpu: bytes of one GPU; vLLM beside the trainer takes a share of it.

    Returns:
        weights, gradients, optimizer, buffers (of the sharding), activations, logits, rollouts. With vLLM in
        sleep mode, `rollouts` is what it needs beyond the gradients, activations and logits, which are not
        there while it is awake.
    """
    need = _states(job, layout)
    need["activations"] = _activations(job)
    need["logits"] = _logits(job)
    need["rollouts"] = _rollouts(job, gpu)
    if job.rollouts and job.rollouts.sleeps:
        asleep = need["gradients"] + need["activations"] + need["logits"]
        need["rollouts"] = max(0, need["rollouts"] - asleep)
    return need


def loses_updates(job: Job, layout: Layout) -> bool:
    """Whether all parameters are trained in 2-byte weights that are the only copy. A step smaller than their
    rounding (1/256 of a weight, at least) is then lost; at a learning rate of 1e-6 nearly all are. ZeRO and
    FSDP keep a copy in 4 bytes; elsewhere `dtype: float32` beside `bf16: true` does."""
    return job.width == 2 and job.lora is None and layout.sharding in ("none", "ddp")


def sequences_at_once(job: Job, gpu: int) -> int:
    """Sequences of full length that vLLM's cache beside the trainer holds; below 1, not even one.

    Its share of the GPU holds weights (over `tensor_parallel` GPUs), about 1 GiB of its own, and the cache.
    """
    rollouts = job.rollouts
    if rollouts is None or rollouts.engine != "colocate":
        raise ValueError("only vLLM beside the trainer has a share of the GPU")
    free = rollouts.share * gpu - job.shape.parameters * job.width / rollouts.tensor_parallel - GIB
    each = job.shape.cache_elements * job.width * rollouts.length / rollouts.tensor_parallel
    return max(0, int(free / each))


def _states(job: Job, layout: Layout) -> dict[str, int]:
    """Weights, gradients and optimizer.

    Bytes for each trained parameter; AdamW keeps two moments:
    - none, ddp: all in the weights' own type, `width` each for weight and gradient, twice for the moments.
    - zero2, zero3 from 2-byte weights: 2 and 2, and 12 for weight and moments in 4 bytes (the paper's K).
    - fsdp: accelerate holds what is trained in 4 bytes: 4, 4 and 8.
    N processes hold an N-th each of what is sharded. A frozen weight takes `width`.
    """
    total, shared = job.shape.parameters, layout.processes
    trained = job.lora.parameters(job.shape) if job.lora else total
    frozen = total if job.lora else 0
    weight, gradient, optimizer = _bytes_per_parameter(job, layout)
    every = {"weights": 1, "gradients": 1, "optimizer": 1}  # by how many processes each is divided
    if layout.sharding in ("zero3", "fsdp"):
        every = dict.fromkeys(every, shared)
    elif layout.sharding == "zero2":
        every |= {"gradients": shared, "optimizer": shared}
    held = frozen * job.width + trained * weight + (total * job.width if job.reference else 0)
    return {
        "weights": held // every["weights"],
        "gradients": trained * gradient // every["gradients"],
        "optimizer": trained * optimizer // every["optimizer"],
        "buffers": _buffers(job, layout, trained * gradient),
    }


def _bytes_per_parameter(job: Job, layout: Layout) -> tuple[int, int, int]:
    """Of a trained parameter: weight, gradient, optimizer."""
    width = 4 if job.lora and layout.sharding != "zero3" else job.width  # peft puts adapters in 4 bytes
    if layout.sharding == "fsdp":
        return 4, 4, 8
    if layout.sharding in ("zero2", "zero3"):
        return width, width, 8 if width == 4 else 12
    return width, width, 2 * width


def _buffers(job: Job, layout: Layout, gradients: int) -> int:
    """What sharding needs beside the shards: ddp copies all gradients into buckets; ZeRO-2 has two buckets;
    ZeRO-3 and FSDP gather weights before they are used."""
    if layout.sharding == "ddp":
        return gradients
    if layout.sharding == "zero2":
        return job.width * min(_BUCKETS, 2 * job.shape.parameters)
    if layout.sharding in ("zero3", "fsdp"):
        return job.width * min(_GATHERED, job.shape.parameters)
    return 0


def _activations(job: Job) -> int:
    """Numbers kept for the backward pass, in the weights' type.

    Of a layer, for a token: both norms with their 4-byte insides (8 x hidden), the residual (hidden), queries
    and the attention's output (2 x heads x head_dim), keys and values, four vectors inside the MLP of each
    active expert. With checkpointing every layer keeps its input alone and one layer is computed again.
    """
    shape, tokens = job.shape, job.micro_batch * job.length
    attention = 2 * shape.head_dim * (shape.heads + shape.kv_heads)
    layer = 9 * shape.hidden + attention + 4 * shape.intermediate * shape.active
    kept = shape.layers * shape.hidden + layer if job.checkpointing else shape.layers * layer
    return tokens * kept * job.width


def _logits(job: Job) -> int:
    """Logits and their gradient in one tile (4-byte numbers), and the 4-byte sum of the output layer's
    gradient where that is trained. `model.generate` has three rows of logits for each completion: as they
    come, sorted, and as probabilities."""
    shape, tokens = job.shape, job.micro_batch * job.length
    tile = 2 * 4 * min(tokens, _TILE_TOKENS) * min(shape.vocab, _TILE_VOCAB)
    head = 0 if job.lora else 4 * shape.vocab * shape.hidden
    sampled = 0
    if job.rollouts and job.rollouts.engine == "transformers":
        sampled = 3 * 4 * job.rollouts.sequences * shape.vocab
    return max(tile + head, sampled)


def _rollouts(job: Job, gpu: int) -> int:
    """vLLM's share of the GPU, or the cache of keys and values of `model.generate`."""
    rollouts = job.rollouts
    if rollouts is None or rollouts.engine == "server":
        return 0
    if rollouts.engine == "colocate":
        return int(rollouts.share * gpu)
    return job.shape.cache_elements * job.width * rollouts.sequences * rollouts.length
