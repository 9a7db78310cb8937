"""Generation with Hugging Face transformers: any causal language model, on CPU or GPU, in this process."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from riftk.completions import THINK_MODES, think_mode
from riftk.completions.split import TAGS
from riftk.engines.base import Generation, Request, Sampling
from riftk.engines.batching import Prompt, batch_seed, plan_batches
from riftk.engines.progress import progress
from riftk.paths import resolve

_CHANNEL_TOKENS = frozenset({"<|channel|>", "<|message|>", "<|start|>", "<|end|>", "<|constrain|>"})
_DTYPES = ("float32", "bfloat16", "float16")
_SAMPLED_BYTES = 1 << 20


class TransformersEngine:
    """Batched generation with `model.generate`. The tokenizer is loaded at once, the weights on first use.

    Args:
        model: folder, LoRA folder (merged into its base), hub id, or `pkg://package/path`.
        batch_size: most completions generated at once.
        batch_tokens: most tokens (prompts and room for completions, padding included) held at once; long
            prompts get smaller batches. What is generated depends on the batches, so the two numbers are
            settings of the run and not adapted to the free memory.
        dtype: "float32", "bfloat16" or "float16"; None is bfloat16 on a GPU and float32 elsewhere (a CPU
            without bf16 units is several times slower with it).
        device: "cpu", "cuda", "cuda:1", "mps"; "auto" spreads a large model over the GPUs; None takes what
            there is.
        chat_template: file with a Jinja template, instead of the tokenizer's own.
        chat_template_kwargs: passed to the template, e.g. {"enable_thinking": True}.
        think: how the model marks its reasoning; None asks `riftk.completions.think_mode`.
        attn_implementation: passed to `from_pretrained`.
        revision: of a hub model.
        trust_remote_code: run code that comes with the model. Off unless asked for.

    Raises:
        FileNotFoundError: no such model, or no safetensors in its folder.
        ValueError: the tokenizer has no chat template and none was given, or an option makes no sense.
    """

    name = "transformers"

    def __init__(
        self,
        model: str,
        *,
        batch_size: int = 64,
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
        if dtype not in (None, *_DTYPES):
            raise ValueError(f"dtype {dtype!r} is none of {', '.join(_DTYPES)}")
        if think not in (None, *THINK_MODES):
            raise ValueError(f"think {think!r} is none of {', '.join(THINK_MODES)}")
        self.model = model
        self._path = resolve(model)
        self._base = _lora_base(self._path) or self._path
        for path in {self._path, self._base}:
            _check_folder(path)
        self._options = {"revision": revision, "trust_remote_code": trust_remote_code}
        self._attn_implementation = attn_implementation
        self._dtype, self._device = dtype, device
        self._batch_size, self._batch_tokens = batch_size, batch_tokens
        self.tokenizer = load_tokenizer(model, chat_template=chat_template, **self._options)
        self._template_kwargs = dict(chat_template_kwargs or {})
        self._chat = _Chat(self.tokenizer, self._template_kwargs)
        self._context = _context(self._base, self._options)
        self.think = think or think_mode(self._chat)
        self._dropped = dropped_ids(self.tokenizer)
        self._stops: frozenset[int] = frozenset()
        self._model: Any = None

    def generate(
        self, requests: Sequence[Request], sampling: Sampling, done: frozenset[str] = frozenset()
    ) -> Iterator[tuple[str, Generation]]:
        """See `riftk.engines.base.Engine.generate`. A batch that an earlier run left half stored is drawn
        again as a whole and only what is missing is yielded.

        Raises:
            ValueError: two requests share a key.
        """
        keys = [request.key for request in requests]
        if len(set(keys)) != len(keys):
            raise ValueError("two requests have the same key; keys must be unique within a run")
        prompts = [
            Prompt(request.key, ids, min(sampling.max_tokens, self._context - len(ids)))
            for request, ids in zip(requests, self._encode(requests), strict=True)
        ]
        batches = plan_batches(prompts, self._batch_size, self._batch_tokens)
        waiting = [
            (place, batch) for place, batch in enumerate(batches) if any(p.key not in done for p in batch)
        ]
        if not waiting:
            return
        left = sum(prompt.key not in done for _, batch in waiting for prompt in batch)
        tokens, began = 0, time.monotonic()
        with progress(f"generating with {self.model}", len(requests), len(requests) - left) as step:
            for place, batch in waiting:
                generations = self._complete(batch, sampling, place)
                missing = [(p.key, g) for p, g in zip(batch, generations, strict=True) if p.key not in done]
                tokens += sum(generation.completion_tokens or 0 for generation in generations)
                step(len(missing), f"{tokens / (time.monotonic() - began):,.0f} tokens/s")
                yield from missing

    def count_tokens(self, text: str) -> int:
        """Number of tokens of a text on its own, without special tokens around it."""
        return len(self.tokenizer(text, add_special_tokens=False).input_ids)

    def describe(self) -> dict[str, str]:
        """Settings that a result depends on, as text; versions of packages are recorded by the evaluation."""
        return {
            "engine": self.name,
            "model": self.model,
            "weights": _fingerprint(self._base)
            + (_fingerprint(self._path) if self._path != self._base else ""),
            "chat_template_sha": hashlib.sha256(str(self.tokenizer.chat_template).encode()).hexdigest(),
            "chat_template_kwargs": json.dumps(self._template_kwargs, sort_keys=True),
            "think": self.think,
            "dtype": str(self._dtype or ("float32" if self._place() in ("cpu", "mps") else "bfloat16")),
            "device": self._place(),
            "batch_size": str(self._batch_size),
            "batch_tokens": str(self._batch_tokens),
            "attn_implementation": str(self._attn_implementation),
            "revision": str(self._options["revision"]),
        }

    def _place(self) -> str:
        import torch

        if self._device:
            return self._device
        if torch.cuda.is_available():
            return "cuda"
        return "mps" if torch.backends.mps.is_available() else "cpu"

    def _load(self) -> Any:
        """The model, in eval mode; loaded on the first call."""
        if self._model is None:
            import torch
            from transformers import AutoModelForCausalLM, GenerationConfig

            place = self._place()
            model = AutoModelForCausalLM.from_pretrained(
                self._base,
                dtype=getattr(torch, self.describe()["dtype"]),
                use_safetensors=True,
                attn_implementation=self._attn_implementation,
                device_map="auto" if place == "auto" else None,
                **self._options,
            )
            if self._base != self._path:
                from peft import PeftModel

                model = PeftModel.from_pretrained(model, self._path).merge_and_unload()
            self._stops = _stop_ids(model, self.tokenizer)
            # What a model's own generation config holds besides (top-k, penalties, a temperature) would
            # change results without being reported.
            model.generation_config = GenerationConfig()
            self._model = (model if place == "auto" else model.to(place)).eval()
        return self._model

    def _encode(self, requests: Sequence[Request]) -> list[list[int]]:
        """Token ids of each rendered prompt; the template writes the special tokens itself."""
        from jinja2 import TemplateError

        texts = []
        for request in requests:
            messages = [dict(message) for message in request.messages]
            try:
                texts.append(
                    self._chat.apply_chat_template(messages, add_generation_prompt=True, tokenize=False)
                )
            except TemplateError as error:
                raise ValueError(f"{request.key}: the chat template refuses the prompt: {error}") from error
        return self.tokenizer(texts, add_special_tokens=False).input_ids if texts else []

    def _complete(self, batch: Sequence[Prompt], sampling: Sampling, place: int) -> list[Generation]:
        """Generate one batch, seeded by its place among all batches."""
        import torch

        width = max(len(prompt.ids) for prompt in batch)
        new_tokens = min(prompt.room for prompt in batch)
        if new_tokens < 1:
            error = f"the prompt fills the model's context of {self._context} tokens"
            return [Generation("", "error", len(prompt.ids), 0, error=error) for prompt in batch]
        model = self._load()
        device = model.get_input_embeddings().weight.device
        pad = self.tokenizer.pad_token_id
        pad = min(self._stops, default=0) if pad is None else pad
        ids = torch.full((len(batch), width), pad, dtype=torch.long)
        mask = torch.zeros_like(ids)
        for row, prompt in enumerate(batch):
            ids[row, width - len(prompt.ids) :] = torch.tensor(prompt.ids)
            mask[row, width - len(prompt.ids) :] = 1
        gpus = list(range(torch.cuda.device_count())) if device.type == "cuda" else []
        with torch.inference_mode(), torch.random.fork_rng(devices=gpus):
            torch.manual_seed(batch_seed(sampling.seed, place))
            try:
                output = model.generate(
                    ids.to(device),
                    attention_mask=mask.to(device),
                    generation_config=_generation_config(sampling, new_tokens, pad, self._stops),
                )
            except torch.cuda.OutOfMemoryError as error:
                raise RuntimeError(
                    f"out of GPU memory with {len(batch)} x ({width} + {new_tokens}) tokens; "
                    f"lower batch_size ({self._batch_size}) or batch_tokens ({self._batch_tokens})"
                ) from error
        return [
            self._generation(prompt, row)
            for prompt, row in zip(batch, output[:, width:].tolist(), strict=True)
        ]

    def _generation(self, prompt: Prompt, row: list[int]) -> Generation:
        end = next((place for place, token in enumerate(row) if token in self._stops), None)
        text = self.tokenizer.decode(
            [token for token in row[:end] if token not in self._dropped],
            skip_special_tokens=False,
            clean_up_tokenization_spaces=False,
        )
        if end is None:
            return Generation(text, "length", len(prompt.ids), len(row))
        return Generation(text, "stop", len(prompt.ids), end + 1)


class _Chat:
    """A tokenizer whose chat template always gets the same further arguments (thinking mode, effort)."""

    def __init__(self, tokenizer: Any, template_kwargs: Mapping[str, Any]) -> None:
        self._tokenizer, self._template_kwargs = tokenizer, template_kwargs

    def __getattr__(self, name: str) -> Any:
        return getattr(self._tokenizer, name)

    def apply_chat_template(self, messages: list[Any], **options: Any) -> Any:
        return self._tokenizer.apply_chat_template(messages, **self._template_kwargs, **options)


def load_tokenizer(model: str, *, chat_template: str | None = None, **options: Any) -> Any:
    """Load the tokenizer of a model, with its chat template or another one.

    Args:
        model: folder, LoRA folder, hub id, or `pkg://package/path`.
        chat_template: file with a Jinja template to use instead of the tokenizer's own.
        options: passed to `AutoTokenizer.from_pretrained`.

    Raises:
        FileNotFoundError: no such model or template file.
        ValueError: the tokenizer has no chat template and none was given.
    """
    from transformers import AutoTokenizer

    path = resolve(model)
    if Path(path).is_dir() and not any(Path(path).glob("tokenizer*")):
        path = _lora_base(path) or path
    try:
        tokenizer = AutoTokenizer.from_pretrained(path, **options)
    except OSError as error:
        raise FileNotFoundError(
            f"{model}: no tokenizer in that folder, or no such model on the hub (offline, gated or misspelt?)"
        ) from error
    if chat_template is not None:
        tokenizer.chat_template = Path(resolve(chat_template)).read_text(encoding="utf-8")
    if not tokenizer.chat_template:
        raise ValueError(f"{model}: the tokenizer has no chat template; give one with --chat-template FILE")
    return tokenizer


def dropped_ids(tokenizer: Any) -> frozenset[int]:
    """Special tokens to leave out of decoded text: all except those that mark reasoning.

    Plain `skip_special_tokens` would drop a `<think>` that a tokenizer registers as special, and turn
    gpt-oss's channels into bare words (verl-project/verl#1724, huggingface/trl#2897).
    """
    special = {
        token: added.content for token, added in tokenizer.added_tokens_decoder.items() if added.special
    }
    channels = _CHANNEL_TOKENS if "<|channel|>" in special.values() else frozenset()
    marks = [mark for pair in TAGS for mark in pair]  # a mark may be a special token with text behind it
    return frozenset(
        token
        for token, text in special.items()
        if text not in channels and not any(text in mark for mark in marks)
    )


def _stop_ids(model: Any, tokenizer: Any) -> frozenset[int]:
    """Every id that ends a completion: all of the generation config (huggingface/trl#7039) and the
    tokenizer's own, which chat fine-tuning often sets without the other."""
    configured = model.generation_config.eos_token_id
    stops = {configured} if isinstance(configured, int) else set(configured or ())
    if tokenizer.eos_token_id is not None:
        stops.add(tokenizer.eos_token_id)
    return frozenset(stops)


def _generation_config(sampling: Sampling, new_tokens: int, pad: int, stops: frozenset[int]) -> Any:
    from transformers import GenerationConfig

    drawn = {"do_sample": True, "temperature": sampling.temperature, "top_p": sampling.top_p, "top_k": 0}
    return GenerationConfig(
        max_new_tokens=new_tokens,
        pad_token_id=pad,
        eos_token_id=sorted(stops) or None,
        **(drawn if sampling.temperature > 0 else {"do_sample": False}),
    )


def _context(path: str, options: Mapping[str, Any]) -> int:
    """Most tokens that a model's positions reach, very many where its configuration names no end."""
    from transformers import AutoConfig

    config = AutoConfig.from_pretrained(path, **options).get_text_config()
    return getattr(config, "max_position_embeddings", None) or 1 << 30


def _lora_base(path: str) -> str | None:
    """The base model that a LoRA folder was trained on, None where the folder is no LoRA."""
    config = Path(path) / "adapter_config.json"
    if not config.is_file():
        return None
    base = json.loads(config.read_text(encoding="utf-8")).get("base_model_name_or_path")
    if not base:
        raise ValueError(f"{config} names no base_model_name_or_path; the adapter cannot be merged")
    try:
        return resolve(base)
    except FileNotFoundError as error:
        raise FileNotFoundError(f"{config}: the base model is gone: {error}") from error


def _check_folder(path: str) -> None:
    """A folder must hold safetensors: pickled weights can run code when they are loaded."""
    folder = Path(path)
    if not folder.is_dir():
        return
    if not (folder / "config.json").is_file() and not (folder / "adapter_config.json").is_file():
        raise FileNotFoundError(
            f"{path} is no model folder: it has neither config.json nor adapter_config.json"
        )
    if not any(folder.glob("*.safetensors")):
        raise FileNotFoundError(f"{path} holds no .safetensors weights")


def _fingerprint(path: str) -> str:
    """Short hash of the weights in a folder (names, sizes, and the first and last MiB of each file), so that
    a folder that was trained again is noticed. Hub ids have their revision instead."""
    folder = Path(path)
    if not folder.is_dir():
        return path
    digest = hashlib.sha256()
    for file in sorted(folder.glob("*.safetensors")):
        size = file.stat().st_size
        digest.update(f"{file.name}:{size}:".encode())
        with file.open("rb") as weights:
            digest.update(weights.read(_SAMPLED_BYTES))
            weights.seek(max(size - _SAMPLED_BYTES, 0))
            digest.update(weights.read(_SAMPLED_BYTES))
    return digest.hexdigest()[:16]
