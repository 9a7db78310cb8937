"""Generation with Hugging Face transformers: any causal language model, on CPU or GPU, in this process."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any

from riftk.engines.adapters import merge_adapter
from riftk.engines.base import Generation, Request, Sampling, check_keys, never
from riftk.engines.batching import Prompt, batch_seed, plan_batches
from riftk.engines.closed_set import chosen, first_token_logprobs
from riftk.engines.local import LocalEngine, dropped_ids, load_tokenizer
from riftk.engines.progress import progress
from riftk.engines.ranks import Ranks

__all__ = ["TransformersEngine", "dropped_ids", "load_tokenizer"]


class TransformersEngine(LocalEngine):
    """Batched generation with `model.generate`. The weights are loaded on first use.

    Under a launcher (torchrun, `accelerate launch`) rank 0 generates as in a single process, and shares the
    batches with the others, which must call `follow`. The rows are those of a single process.

    Args:
        model: folder, LoRA folder (merged into its base), hub id, or `pkg://package/path`.
        batch_size: most completions generated at once.
        batch_tokens: most tokens (prompts and room for completions, padding included) held at once; long
            prompts get smaller batches. What is generated depends on the batches, so the two numbers are
            settings of the run and not adapted to the free memory.
        dtype: "float32", "bfloat16" or "float16"; None or "auto" is bfloat16 on a GPU and float32 elsewhere
            (a CPU without bf16 units is several times slower with it).
        device: "cpu", "cuda", "cuda:1", "mps"; "auto" spreads a large model over the GPUs; None takes what
            there is.
        attn_implementation: passed to `from_pretrained`.
        chat_template, chat_template_kwargs, think, revision, trust_remote_code: see `LocalEngine`.

    Raises:
        FileNotFoundError, ValueError: see `LocalEngine`.
    """

    name = "transformers"
    batched = True

    def __init__(
        self,
        model: str,
        *,
        batch_size: int = 16,
        batch_tokens: int = 1 << 18,
        dtype: str | None = None,
        device: str | None = None,
        chat_template: str | None = None,
        chat_template_kwargs: Mapping[str, Any] | None = None,
        think: str | None = None,
        attn_implementation: str | None = None,
        revision: str | None = None,
        trust_remote_code: bool = False,
    ) -> None:
        if batch_size < 1 or batch_tokens < 1:
            raise ValueError(f"batch_size ({batch_size}) and batch_tokens ({batch_tokens}) must be positive")
        super().__init__(
            model,
            dtype=dtype,
            chat_template=chat_template,
            chat_template_kwargs=chat_template_kwargs,
            think=think,
            revision=revision,
            trust_remote_code=trust_remote_code,
        )
        self.ranks = Ranks.from_environment()
        self._device = device
        self._attn_implementation = attn_implementation
        self._batch_size, self._batch_tokens = batch_size, batch_tokens
        self._model: Any = None

    def generate(
        self,
        requests: Sequence[Request],
        sampling: Sampling,
        done: frozenset[str] = frozenset(),
        until: Callable[[], bool] = never,
    ) -> Iterator[tuple[str, Generation]]:
        """See `riftk.engines.base.Engine.generate`. A batch that an earlier run left half stored is drawn
        again as a whole and only what is missing is yielded.

        Raises:
            ValueError: two requests share a key.
        """
        check_keys(requests)
        batches = self._batches(requests, sampling)
        places = [place for place, batch in enumerate(batches) if any(p.key not in done for p in batch)]
        if not places:
            return
        left = sum(prompt.key not in done for place in places for prompt in batches[place])
        job = {
            "requests": [asdict(request) for request in requests],
            "sampling": asdict(sampling),
            "places": places,
        }
        tokens, began = 0, time.monotonic()
        with progress(f"generating with {self.model}", len(requests), len(requests) - left) as step:
            for number, records in self.ranks.lead(
                job, len(places), self._worker(batches, places, sampling), until
            ):
                batch = batches[places[number]]
                drawn = [Generation(**record) for record in records]
                missing = [(p.key, g) for p, g in zip(batch, drawn, strict=True) if p.key not in done]
                tokens += sum(generation.completion_tokens or 0 for generation in drawn)
                step(len(missing), f"{tokens / (time.monotonic() - began):,.0f} tokens/s")
                yield from missing

    def follow(self) -> None:
        """On ranks other than 0: work for rank 0 until it closes its engine."""

        def worker(job: Any) -> Callable[[int], Any]:
            requests = [Request(**request) for request in job["requests"]]
            sampling = Sampling(**job["sampling"])
            return self._worker(self._batches(requests, sampling), job["places"], sampling)

        self.ranks.follow(worker)

    def describe(self) -> dict[str, str]:
        """Settings that a result depends on, as text; versions of packages are recorded by the evaluation."""
        return super().describe() | {
            "dtype": self._dtype_name(),
            "device": self._place(),
            "batch_size": str(self._batch_size),
            "batch_tokens": str(self._batch_tokens),
            "attn_implementation": str(self._attn_implementation),
        }

    def close(self) -> None:
        """Let the other ranks go and give the model's memory back."""
        self._model = None
        self.ranks.close()

    def _batches(self, requests: Sequence[Request], sampling: Sampling) -> list[list[Prompt]]:
        """Batches of prompts to complete, and behind them batches of closed sets."""
        prompts = self._prompts(requests, sampling)
        kinds = [prompt for prompt in prompts if not prompt.labels], [p for p in prompts if p.labels]
        return [batch for kind in kinds for batch in plan_batches(kind, self._batch_size, self._batch_tokens)]

    def _worker(
        self, batches: Sequence[Sequence[Prompt]], places: Sequence[int], sampling: Sampling
    ) -> Callable[[int], Any]:
        """What does piece `number`: the batch at `places[number]`, as records that cross a process."""

        def draw(number: int) -> list[dict[str, Any]]:
            place = places[number]
            batch = batches[place]
            drawn = self._choose(batch) if batch[0].labels else self._complete(batch, sampling, place)
            return [asdict(generation) for generation in drawn]

        return draw

    def _dtype_name(self) -> str:
        return self._dtype or ("float32" if self._place() in ("cpu", "mps") else "bfloat16")

    def _place(self) -> str:
        import torch

        if self._device:
            return self._device
        if torch.cuda.is_available():
            return "cuda" if self.ranks.size == 1 else f"cuda:{self.ranks.local_rank}"
        return "mps" if torch.backends.mps.is_available() else "cpu"

    def _load(self) -> Any:
        """The model, in eval mode; loaded on the first call."""
        if self._model is None:
            import torch
            from transformers import AutoModelForCausalLM, GenerationConfig

            place = self._place()
            model = AutoModelForCausalLM.from_pretrained(
                self._base,
                dtype=getattr(torch, self._dtype_name()),
                use_safetensors=True,
                attn_implementation=self._attn_implementation,
                device_map="auto" if place == "auto" else None,
                **self._options,
            )
            model = model if place == "auto" else model.to(place)
            if self._base != self._path:
                model = merge_adapter(model, self._path)
            # What a model's own generation config holds besides its end tokens (top-k, penalties, a
            # temperature) would change results without being reported.
            model.generation_config = GenerationConfig()
            self._model = model.eval()
        return self._model

    def _complete(self, batch: Sequence[Prompt], sampling: Sampling, place: int) -> list[Generation]:
        """Generate one batch, seeded by its place among all batches."""
        import torch

        room = min(prompt.room for prompt in batch)
        new_tokens = min(room, max(room if prompt.limit is None else prompt.limit for prompt in batch))
        if new_tokens < 1:
            return [self._no_room(prompt) for prompt in batch]
        model = self._load()
        ids, mask = self._padded(batch)
        gpus = list(range(torch.cuda.device_count())) if ids.device.type == "cuda" else []
        with self._memory(ids, new_tokens), torch.inference_mode(), torch.random.fork_rng(devices=gpus):
            torch.manual_seed(batch_seed(sampling.seed, place))
            output = model.generate(
                ids,
                attention_mask=mask,
                generation_config=_generation_config(sampling, new_tokens, self._pad, self._stops),
            )
        return [
            self._generation(prompt, row)
            for prompt, row in zip(batch, output[:, ids.shape[1] :].tolist(), strict=True)
        ]

    def _choose(self, batch: Sequence[Prompt]) -> list[Generation]:
        """Choose among each prompt's labels, with one forward pass for the batch."""
        import torch

        if batch[0].room < 1:  # a prompt that does not fit stands alone
            return [self._no_room(prompt) for prompt in batch]
        model = self._load()
        ids, mask = self._padded(batch)
        with self._memory(ids, 0), torch.inference_mode():
            logprobs = first_token_logprobs(model, ids, mask).cpu()
        return [
            chosen({label: float(row[token]) for label, token in prompt.labels.items()}, len(prompt.ids))
            for prompt, row in zip(batch, logprobs, strict=True)
        ]

    @property
    def _pad(self) -> int:
        pad = self.tokenizer.pad_token_id
        return min(self._stops, default=0) if pad is None else pad

    def _padded(self, batch: Sequence[Prompt]) -> tuple[Any, Any]:
        """Token ids and attention mask on the model's device, padded on the left: (prompts, tokens)."""
        import torch

        width = max(len(prompt.ids) for prompt in batch)
        ids = torch.full((len(batch), width), self._pad, dtype=torch.long)
        mask = torch.zeros_like(ids)
        for row, prompt in enumerate(batch):
            ids[row, width - len(prompt.ids) :] = torch.tensor(prompt.ids)
            mask[row, width - len(prompt.ids) :] = 1
        device = self._load().get_input_embeddings().weight.device
        return ids.to(device), mask.to(device)

    @contextmanager
    def _memory(self, ids: Any, new_tokens: int) -> Iterator[None]:
        """Say what to do where a batch does not fit into the GPU's memory."""
        import torch

        try:
            yield
        except torch.cuda.OutOfMemoryError as error:
            raise RuntimeError(
                f"out of GPU memory with {ids.shape[0]} x ({ids.shape[1]} + {new_tokens}) tokens; "
                f"lower batch_size ({self._batch_size}) or batch_tokens ({self._batch_tokens})"
            ) from error


def _generation_config(sampling: Sampling, new_tokens: int, pad: int, stops: frozenset[int]) -> Any:
    from transformers import GenerationConfig

    drawn = {"do_sample": True, "temperature": sampling.temperature, "top_p": sampling.top_p, "top_k": 0}
    return GenerationConfig(
        max_new_tokens=new_tokens,
        pad_token_id=pad,
        eos_token_id=sorted(stops) or None,
        **(drawn if sampling.temperature > 0 else {"do_sample": False}),
    )
