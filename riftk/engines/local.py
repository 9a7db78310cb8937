"""What the engines in this process share: a model's tokenizer and chat template, prompts as token ids, and
generated ids as text. Both engines thus ask and read in the same way."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from riftk.completions import THINK_MODES, think_mode
from riftk.completions.split import TAGS
from riftk.engines.base import NO_THINKING, Generation, Request, Sampling
from riftk.engines.batching import Prompt
from riftk.engines.closed_set import label_ids
from riftk.engines.folders import check_folder, fingerprint, lora_base
from riftk.engines.probe import probe_text
from riftk.paths import resolve

_CHANNEL_TOKENS = frozenset({"<|channel|>", "<|message|>", "<|start|>", "<|end|>", "<|constrain|>"})
_DTYPES = ("auto", "float32", "bfloat16", "float16")
_TAIL = 16  # tokens of a prompt that say how its completion begins


class LocalEngine:
    """The part of an engine that needs no weights. The tokenizer is loaded at once.

    Args:
        model: folder, LoRA folder, hub id, or `pkg://package/path`.
        dtype: "float32", "bfloat16" or "float16"; None or "auto" leaves it to the engine.
        chat_template: file with a Jinja template, instead of the tokenizer's own.
        chat_template_kwargs: passed to the template, e.g. {"enable_thinking": True}.
        think: how the model marks its reasoning; None asks `riftk.completions.think_mode`. Where it is given,
            `probe` refuses a model that writes no reasoning.
        revision: of a hub model.
        trust_remote_code: run code that comes with the model. Off unless asked for.

    Raises:
        FileNotFoundError: no such model, or no safetensors in its folder.
        ValueError: the tokenizer has no chat template and none was given, or an option makes no sense.
    """

    name: str
    closed_set = True

    def __init__(
        self,
        model: str,
        *,
        dtype: str | None,
        chat_template: str | None,
        chat_template_kwargs: Mapping[str, Any] | None,
        think: str | None,
        revision: str | None,
        trust_remote_code: bool,
    ) -> None:
        if dtype not in (None, *_DTYPES):
            raise ValueError(f"dtype {dtype!r} is none of {', '.join(_DTYPES)}")
        check_think(think)
        self.model = model
        self._path = resolve(model)
        self._base = lora_base(self._path) or self._path
        for path in {self._path, self._base}:
            check_folder(path)
        self._dtype = None if dtype == "auto" else dtype
        self._options = {"revision": revision, "trust_remote_code": trust_remote_code}
        self.tokenizer = load_tokenizer(model, chat_template=chat_template, **self._options)
        self._template_kwargs = dict(chat_template_kwargs or {})
        self._chat = _Chat(self.tokenizer, self._template_kwargs)
        self._given_think = think
        self.think = think or think_mode(self._chat)
        switched = think_mode(_Chat(self.tokenizer, self._template_kwargs | NO_THINKING))
        self.think_off = switched if think in (None, "prefilled") else think
        self._labels: dict[tuple[tuple[int, ...], tuple[str, ...]], dict[str, int]] = {}
        self._context = _context(self._base, self._options)
        self._stops = _stop_ids(self._base, self._options, self.tokenizer)
        self._dropped = dropped_ids(self.tokenizer)

    def count_tokens(self, text: str) -> int:
        """Number of tokens of a text on its own, without special tokens around it."""
        return len(self.tokenizer(text, add_special_tokens=False).input_ids)

    def probe(self) -> dict[str, str]:
        """See `riftk.engines.base.Engine.probe`."""
        return probe_text(self, self._given_think)

    def describe(self) -> dict[str, str]:
        """Settings that a result depends on, as text; versions of packages are recorded by the evaluation."""
        adapter = fingerprint(self._path) if self._path != self._base else ""
        return {
            "engine": self.name,
            "model": self.model,
            "weights": fingerprint(self._base) + adapter,
            "chat_template_sha": template_sha(self.tokenizer),
            "chat_template_kwargs": json.dumps(self._template_kwargs, sort_keys=True),
            "think": self.think,
            "revision": str(self._options["revision"]),
        }

    def _prompts(self, requests: Sequence[Request], sampling: Sampling) -> list[Prompt]:
        """The requests as token ids, each with the room for its completion, one token for a closed set."""
        prompts = []
        for request, ids in zip(requests, self._encode(requests), strict=True):
            room = min(1 if request.labels else sampling.max_tokens, self._context - len(ids))
            labels = self._label_ids(request, ids) if request.labels else {}
            prompts.append(Prompt(request.key, ids, room, request.max_tokens, labels))
        return prompts

    def _encode(self, requests: Sequence[Request]) -> list[list[int]]:
        """Token ids of each rendered prompt; the template writes the special tokens itself."""
        texts = [self._render(request) for request in requests]
        return self.tokenizer(texts, add_special_tokens=False).input_ids if texts else []

    def _render(self, request: Request) -> str:
        from jinja2 import TemplateError

        messages = [dict(message) for message in request.messages]
        switch = NO_THINKING if request.thinking is False else {}
        try:
            text = self._chat.apply_chat_template(
                messages, add_generation_prompt=True, tokenize=False, **switch
            )
        except TemplateError as error:
            raise ValueError(f"{request.key}: the chat template refuses the prompt: {error}") from error
        return text + request.prefix

    def _label_ids(self, request: Request, ids: Sequence[int]) -> dict[str, int]:
        """Tokens of a request's labels behind its prompt; looked for once for all prompts that end alike."""
        if self.think_off == "channels":
            raise ValueError(
                "the model opens a channel with its first token, which is therefore no answer; take "
                "decode=generate"
            )
        known = (tuple(ids[-_TAIL:]), request.labels)
        if known not in self._labels:
            self._labels[known] = label_ids(self.tokenizer, self._render(request), request.labels)
        return self._labels[known]

    def _generation(self, prompt: Prompt, ids: Sequence[int]) -> Generation:
        """What was generated, up to the first end token and to the request's own limit."""
        ids = list(ids[: prompt.limit])
        end = next((place for place, token in enumerate(ids) if token in self._stops), None)
        text = self.tokenizer.decode(
            [token for token in ids[:end] if token not in self._dropped],
            skip_special_tokens=False,
            clean_up_tokenization_spaces=False,
        )
        if end is None:
            return Generation(text, "length", len(prompt.ids), len(ids))
        return Generation(text, "stop", len(prompt.ids), end + 1)

    def _no_room(self, prompt: Prompt) -> Generation:
        error = f"the prompt fills the model's context of {self._context} tokens"
        return Generation("", "error", len(prompt.ids), 0, error=error)


class _Chat:
    """A tokenizer whose chat template always gets the same further arguments (thinking mode, effort)."""

    def __init__(self, tokenizer: Any, template_kwargs: Mapping[str, Any]) -> None:
        self._tokenizer, self._template_kwargs = tokenizer, template_kwargs

    def __getattr__(self, name: str) -> Any:
        return getattr(self._tokenizer, name)

    def apply_chat_template(self, messages: list[Any], **options: Any) -> Any:
        return self._tokenizer.apply_chat_template(messages, **(self._template_kwargs | options))


def check_think(think: str | None) -> None:
    """Raise `ValueError` where `think` is no think mode."""
    if think not in (None, *THINK_MODES):
        raise ValueError(f"think {think!r} is none of {', '.join(THINK_MODES)}")


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
        path = lora_base(path) or path
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


def template_sha(tokenizer: Any) -> str:
    """Hash of a tokenizer's chat template."""
    return hashlib.sha256(str(tokenizer.chat_template).encode()).hexdigest()


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


def _stop_ids(path: str, options: Mapping[str, Any], tokenizer: Any) -> frozenset[int]:
    """Every id that ends a completion: all of the generation config (huggingface/trl#7039) and the
    tokenizer's own, which chat fine-tuning often sets without the other."""
    from transformers import AutoConfig, GenerationConfig

    try:
        generation = GenerationConfig.from_pretrained(path, revision=options["revision"])
    except OSError:  # the model has none; from_pretrained derives it in the same way
        generation = GenerationConfig.from_model_config(AutoConfig.from_pretrained(path, **options))
    configured = generation.eos_token_id
    stops = {configured} if isinstance(configured, int) else set(configured or ())
    if tokenizer.eos_token_id is not None:
        stops.add(tokenizer.eos_token_id)
    return frozenset(stops)


def _context(path: str, options: Mapping[str, Any]) -> int:
    """Most tokens that a model's positions reach, very many where its configuration names no end."""
    from transformers import AutoConfig

    config = AutoConfig.from_pretrained(path, **options).get_text_config()
    return getattr(config, "max_position_embeddings", None) or 1 << 30
