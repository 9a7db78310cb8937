"""Whether a recipe's configuration fits, and with which of accelerate's configurations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .layouts import Layout, shipped_layouts
from .memory import GIB, MARGIN, Job, Lora, Rollouts, estimate, loses_updates, sequences_at_once
from .shapes import shape_of


@dataclass(frozen=True)
class Plan:
    """What a training needs, for each layout.

    Args:
        model: its name.
        job: the training.
        gpu: bytes of one GPU.
        needs: bytes by what they are for, of each layout.
    """

    model: str
    job: Job
    gpu: int
    needs: Mapping[Layout, Mapping[str, int]]

    def fits(self, layout: Layout) -> bool:
        """Whether it needs at most nine tenths of a GPU, and vLLM's share holds a sequence."""
        holds = not self.has_share or sequences_at_once(self.job, self.gpu) >= 1
        return holds and sum(self.needs[layout].values()) <= MARGIN * self.gpu

    @property
    def has_share(self) -> bool:
        """Whether vLLM takes a share of the trainer's GPUs."""
        return self.job.rollouts is not None and self.job.rollouts.engine == "colocate"

    @property
    def best(self) -> Layout | None:
        """The simplest layout that fits, loses no small updates and uses every GPU of a machine; None where
        there is none."""
        fitting = [
            layout for layout in self.needs if self.fits(layout) and not loses_updates(self.job, layout)
        ]
        most = max((layout.processes for layout in fitting if layout.machines == 1), default=0)
        return next((layout for layout in fitting if layout.processes >= most), None)

    def lines(self) -> list[str]:
        """The plan as text: a table in GiB, and what to take."""
        job, shape = self.job, self.job.shape
        trained = f"LoRA of rank {job.lora.rank}" if job.lora else "all parameters"
        kind = "float32" if job.width == 4 else "bfloat16"
        lines = [
            f"{self.model}: {shape.parameters / 1e9:.2f} B parameters in {kind}, {trained}; "
            f"{job.micro_batch} x {job.length} tokens at a time"
        ]
        parts = list(next(iter(self.needs.values())))
        lines.append(f"{'GiB on each GPU':18}" + "".join(f"{part:>12}" for part in [*parts, "together"]))
        for layout, need in self.needs.items():
            figures = "".join(f"{value / GIB:12.1f}" for value in [*need.values(), sum(need.values())])
            fits = "fits" if self.fits(layout) else "too much"
            if self.fits(layout) and loses_updates(job, layout):
                fits = "fits, but rounds small updates away"
            lines.append(f"{f'{layout.name} x {layout.processes}':18}{figures}  {fits}")
        if self.has_share:
            count = sequences_at_once(job, self.gpu)
            lines.append(f"vLLM's share of {job.rollouts.share:g} holds {count} sequences of full length")
        return [*lines, self.advice()]

    def advice(self) -> str:
        """One sentence on which configuration of accelerate to take, or on what to change."""
        if self.best:
            return (
                f"of {self.gpu / GIB:.0f} GiB: take accelerate_configs/{self.best.name}.yaml "
                f"(--num_processes {self.best.processes})"
            )
        if self.has_share and sequences_at_once(self.job, self.gpu) < 1:
            return (
                "vLLM's share of the GPU does not hold its weights and one sequence; raise "
                "vllm_gpu_memory_utilization or vllm_tensor_parallel_size, or take vllm_mode: server"
            )
        if any(map(self.fits, self.needs)):
            return (
                "what fits trains 2-byte weights without a 4-byte copy, and rounds small updates away: add "
                "--dtype float32 (bf16: true still computes in 2 bytes), or take use_peft or more GPUs"
            )
        return (
            f"nothing fits in {self.gpu / GIB:.0f} GiB; lower per_device_train_batch_size or the lengths, "
            "take use_peft, more GPUs, or vllm_mode: server"
        )


def make_plan(options: Mapping[str, Any], gpus: int, gpu: int) -> Plan:
    """Plan a recipe.

    Args:
        options: the resolved configuration, by trl's names.
        gpus: GPUs of one machine.
        gpu: bytes of one GPU.

    Raises:
        FileNotFoundError: a model whose shape cannot be found.
        ValueError: a LoRA target that the model does not have.
    """
    job = job_of(options)
    layouts = [layout.on(gpus) for layout in shipped_layouts()]
    needs = {
        layout: estimate(job, layout, gpu)
        for layout in layouts
        if layout.sharding == "none" or layout.processes > 1
    }
    return Plan(str(options["model_name_or_path"]), job, gpu, needs)


def usual_machine() -> tuple[int, int]:
    """Number of GPUs here and bytes of one; where there is none, eight of 80 GiB."""
    import torch

    if torch.cuda.is_available():
        return torch.cuda.device_count(), torch.cuda.get_device_properties(0).total_memory
    return 8, 80 * GIB


def job_of(options: Mapping[str, Any]) -> Job:
    """The training that a configuration describes.

    Raises:
        FileNotFoundError: a model whose shape cannot be found.
    """
    code = {"revision": options.get("model_revision"), "trust_remote_code": options.get("trust_remote_code")}
    shape = shape_of(str(options["model_name_or_path"]), **{k: v for k, v in code.items() if v})
    lora = None
    if options.get("use_peft"):
        targets = options.get("lora_target_modules") or ("q_proj", "v_proj")
        lora = Lora(options["lora_r"], (targets,) if isinstance(targets, str) else tuple(targets))
    batch = options["per_device_train_batch_size"]
    rollouts, length = None, options.get("max_length")
    if "max_completion_length" in options:
        length = options["max_prompt_length"] + options["max_completion_length"]
        rollouts = _rollouts(options, batch, length)
    return Job(
        shape=shape,
        width=2 if str(options.get("dtype")) in ("bfloat16", "float16") else 4,
        micro_batch=batch,
        length=length or 1024,
        checkpointing=bool(options.get("gradient_checkpointing")),
        lora=lora,
        reference=rollouts is not None and lora is None and bool(options.get("beta")),
        rollouts=rollouts,
    )


def _rollouts(options: Mapping[str, Any], batch: int, length: int) -> Rollouts:
    steps = options.get("steps_per_generation") or options.get("gradient_accumulation_steps") or 1
    return Rollouts(
        sequences=batch * steps,
        length=length,
        engine=options["vllm_mode"] if options.get("use_vllm") else "transformers",
        share=options.get("vllm_gpu_memory_utilization") or 0.3,
        tensor_parallel=options.get("vllm_tensor_parallel_size") or 1,
        sleeps=bool(options.get("vllm_enable_sleep_mode")),
    )
