"""Generation with vLLM in this process: one GPU, or several by tensor and data parallelism."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from riftk.engines.adapters import PROBE_TOKENS, no_change
from riftk.engines.base import Generation, Request, Sampling, check_keys, never
from riftk.engines.batching import Prompt, request_seed
from riftk.engines.closed_set import chosen
from riftk.engines.concurrent import Background
from riftk.engines.local import LocalEngine
from riftk.engines.progress import progress

_LISTED = 20  # first tokens that are listed with their log probability; vLLM allows no more by itself
_LORA_RANKS = (8, 16, 32, 64, 128, 256, 320, 512)  # those that vLLM has kernels for


class VLLMEngine(LocalEngine):
    """vLLM's asynchronous engine. It gets token ids from the same tokenizer and chat template as the
    transformers engine, gives token ids back, and is started on first use.

    Each request is seeded by itself, so that what is drawn does not depend on what runs beside it.

    Args:
        model: folder, LoRA folder (passed to vLLM beside its base), hub id, or `pkg://package/path`.
        batch_size: most completions generated at once, on each replica.
        dtype: "float32", "bfloat16" or "float16"; None or "auto" takes the checkpoint's.
        tensor_parallel: GPUs that share one replica of the model.
        data_parallel: replicas that share the requests.
        max_model_len: most tokens of a prompt and its completion; None takes what the model's positions
            reach. Less saves memory.
        gpu_memory: share of a GPU's memory that vLLM may take.
        enforce_eager: no CUDA graphs: starts sooner, runs slower.
        chat_template, chat_template_kwargs, think, revision, trust_remote_code: see `LocalEngine`.

    Raises:
        FileNotFoundError, ValueError: see `LocalEngine`; also where vLLM is not installed.
    """

    name = "vllm"
    batched = False

    def __init__(
        self,
        model: str,
        *,
        batch_size: int = 256,
        dtype: str | None = None,
        tensor_parallel: int = 1,
        data_parallel: int = 1,
        max_model_len: int | None = None,
        gpu_memory: float = 0.9,
        enforce_eager: bool = False,
        chat_template: str | None = None,
        chat_template_kwargs: Mapping[str, Any] | None = None,
        think: str | None = None,
        revision: str | None = None,
        trust_remote_code: bool = False,
    ) -> None:
        if min(batch_size, tensor_parallel, data_parallel) < 1:
            raise ValueError("batch_size, tensor_parallel and data_parallel must be positive")
        super().__init__(
            model,
            dtype=dtype,
            chat_template=chat_template,
            chat_template_kwargs=chat_template_kwargs,
            think=think,
            revision=revision,
            trust_remote_code=trust_remote_code,
        )
        self._context = min(self._context, max_model_len or self._context)
        self._batch_size = batch_size
        self._parallel = {"tensor_parallel_size": tensor_parallel, "data_parallel_size": data_parallel}
        self._settings = {"gpu_memory_utilization": gpu_memory, "enforce_eager": enforce_eager}
        self._replicas = data_parallel
        self._background: Background | None = None
        self._vllm: Any = None
        self._started = 0  # requests handed to vLLM, which wants a new name for each

    def generate(
        self,
        requests: Sequence[Request],
        sampling: Sampling,
        done: frozenset[str] = frozenset(),
        until: Callable[[], bool] = never,
    ) -> Iterator[tuple[str, Generation]]:
        """See `riftk.engines.base.Engine.generate`. The order is the one in which they finish.

        Raises:
            ValueError: two requests share a key.
        """
        check_keys(requests)
        waiting = self._prompts([request for request in requests if request.key not in done], sampling)
        if not waiting:
            return

        async def answer(prompt: Prompt) -> tuple[str, Generation]:
            return prompt.key, await self._complete(prompt, sampling)

        background = self._run()
        limit = self._batch_size * self._replicas
        tokens, began = 0, time.monotonic()
        with progress(f"generating with {self.model}", len(requests), len(requests) - len(waiting)) as step:
            for key, generation in background.each(answer, waiting, limit, until):
                tokens += generation.completion_tokens or 0
                step(1, f"{tokens / (time.monotonic() - began):,.0f} tokens/s")
                yield key, generation

    def describe(self) -> dict[str, str]:
        """Settings that a result depends on, as text."""
        return super().describe() | {
            "dtype": str(self._dtype),
            "max_model_len": str(self._context),
            **{name: str(value) for name, value in self._parallel.items()},
        }

    def close(self) -> None:
        """End vLLM's processes, which gives the memory back."""
        if self._background is not None:
            if self._vllm is not None:
                self._background.run(_shut_down(self._vllm))
            self._background.close()
            self._background = self._vllm = None

    def _run(self) -> Background:
        """The event loop that vLLM lives in; started on first use."""
        if self._background is None:
            try:
                import vllm  # noqa: F401 - said here, before a thread is started
            except ImportError as error:
                raise ValueError(f"vLLM cannot be imported ({error}); pip install 'riftk[vllm]'") from error
            self._background = Background()
            self._vllm = self._background.run(self._start())
        return self._background

    async def _start(self) -> Any:
        from vllm.engine.arg_utils import AsyncEngineArgs
        from vllm.v1.engine.async_llm import AsyncLLM

        adapter = self._path != self._base
        engine = AsyncLLM.from_engine_args(
            AsyncEngineArgs(
                model=self._base,
                tokenizer=self._path if any(Path(self._path).glob("tokenizer*")) else self._base,
                dtype=self._dtype or "auto",
                max_model_len=self._context if self._context < 1 << 30 else None,
                max_num_seqs=self._batch_size,
                generation_config="vllm",  # none of the model's own sampling settings
                enable_lora=adapter,
                **({"max_lora_rank": _lora_rank(self._path)} if adapter else {}),
                **self._parallel,
                **self._settings,
                **self._options,
            )
        )
        if adapter and not await _changes_output(engine, self._adapter()):
            engine.shutdown()
            raise ValueError(no_change(self._path))
        return engine

    def _adapter(self) -> Any:
        """The adapter as vLLM takes it with a request; None where the model is none."""
        from vllm.lora.request import LoRARequest

        return LoRARequest("adapter", 1, self._path) if self._path != self._base else None

    async def _complete(self, prompt: Prompt, sampling: Sampling) -> Generation:
        from vllm import SamplingParams
        from vllm.sampling_params import RequestOutputKind

        room = prompt.room if prompt.limit is None else min(prompt.room, prompt.limit)
        if room < 1:
            return self._no_room(prompt)
        how: dict[str, Any] = {
            "temperature": sampling.temperature,
            "top_p": sampling.top_p if sampling.temperature > 0 else 1.0,
            "seed": request_seed(sampling.seed, prompt.key),
            "stop_token_ids": sorted(self._stops),
        }
        if prompt.labels:
            allowed = sorted(prompt.labels.values())
            how = {"temperature": 0.0, "allowed_token_ids": allowed, "logprobs": _LISTED}
        params = SamplingParams(
            max_tokens=room, detokenize=False, output_kind=RequestOutputKind.FINAL_ONLY, **how
        )
        self._started += 1
        async for output in self._vllm.generate(
            {"prompt_token_ids": prompt.ids}, params, f"{self._started}", lora_request=self._adapter()
        ):
            last = output.outputs[0]
        if prompt.labels:
            return _choice(prompt, last)
        return self._generation(prompt, last.token_ids)


def _choice(prompt: Prompt, output: Any) -> Generation:
    """The label whose token vLLM chose, and what it lists: probabilities before the others were ruled out."""
    label = next(name for name, token in prompt.labels.items() if token == output.token_ids[0])
    [listed] = output.logprobs
    logprobs = {name: listed[token].logprob for name, token in prompt.labels.items() if token in listed}
    return chosen(logprobs, len(prompt.ids), label=label)


async def _changes_output(engine: Any, adapter: Any) -> bool:
    """Whether the first token's log probabilities after a probe are others with the adapter."""
    from vllm import SamplingParams

    params = SamplingParams(max_tokens=1, temperature=0.0, logprobs=_LISTED, detokenize=False)
    seen = []
    for name, request in (("probe", None), ("probe with adapter", adapter)):
        prompt = {"prompt_token_ids": list(range(PROBE_TOKENS))}
        async for output in engine.generate(prompt, params, name, lora_request=request):
            [listed] = output.outputs[0].logprobs
        seen.append({token: one.logprob for token, one in listed.items()})
    return seen[0] != seen[1]


async def _shut_down(engine: Any) -> None:
    engine.shutdown()


def _lora_rank(path: str) -> int:
    """The smallest rank that vLLM is prepared for and an adapter fits into."""
    rank = json.loads((Path(path) / "adapter_config.json").read_text(encoding="utf-8"))["r"]
    return next((size for size in _LORA_RANKS if size >= rank), rank)
