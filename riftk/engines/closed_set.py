"""Closed-set decoding: the answer is the label that the first token favours (IFFR, section 4.3).

The logits of the first token are compared for the labels' tokens alone and nothing is generated: the answer
can be neither wordy nor invalid. How much of the probability lay on the labels at all is kept beside it,
because a model that would have written something else is made to choose as well.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from riftk.completions.templates import opens_trace
from riftk.engines.base import Generation

_BLANKS = " \t\nĠ▁"  # in front of a word, also as byte-level BPE and sentencepiece write it
_INSTEAD = "; take decode=generate"


def label_ids(tokenizer: Any, prompt: str, labels: Sequence[str]) -> dict[str, int]:
    """The token of each label behind a rendered prompt.

    A label is looked for as the model would write it first: without a blank behind white space or a special
    token, with one behind a word; and where that is not one token each, the other way.

    Args:
        tokenizer: of the model.
        prompt: the rendered prompt, up to where the model starts to write.
        labels: what can be chosen.

    Raises:
        ValueError: the prompt opens a trace, or a label is no single token of its own behind this prompt.
    """
    if opens_trace(prompt):
        raise ValueError(f"the prompt opens the reasoning, so the first token is no answer{_INSTEAD}")

    def encode(text: str) -> list[int]:
        return list(tokenizer(text, add_special_tokens=False).input_ids)

    before = encode(prompt)
    bare = prompt[-1:].isspace() or (bool(before) and before[-1] in tokenizer.added_tokens_decoder)
    for blank in ("", " ") if bare else (" ", ""):
        behind = {label: encode(prompt + blank + label) for label in labels}
        ids = {label: found[-1] for label, found in behind.items()}
        single = all(found == [*before, ids[label]] for label, found in behind.items())
        if single and len(set(ids.values())) == len(ids):
            return ids
    raise ValueError(
        f"a closed set needs each of {', '.join(labels)} to be one token of its own behind the prompt, and "
        f"this tokenizer has no such tokens{_INSTEAD}"
    )


def chosen(
    logprobs: Mapping[str, float], prompt_tokens: int | None, *, label: str | None = None
) -> Generation:
    """The record of a choice.

    Args:
        logprobs: log probability of each label that is known; a label that is missing has less than all
            others.
        prompt_tokens: tokens of the prompt.
        label: the choice, where the engine made it; None takes the likeliest label, the first of equals.
    """
    label = label or max(logprobs, key=lambda name: logprobs[name])
    return Generation(label, "stop", prompt_tokens, 1, label_logprobs=dict(logprobs))


def first_token_logprobs(model: Any, ids: Any, mask: Any) -> Any:
    """Log probabilities of the token behind each prompt, by one forward pass.

    Args:
        model: a causal language model of transformers.
        ids: token ids, padded on the left, shape (prompts, tokens).
        mask: 1 for tokens and 0 for padding, shape (prompts, tokens).

    Returns:
        float32, shape (prompts, vocabulary).
    """
    takes = inspect.signature(model.forward).parameters
    extra: dict[str, Any] = {}
    if "logits_to_keep" in takes:
        extra["logits_to_keep"] = 1  # not those of the whole prompt, which are most of the memory
    if "position_ids" in takes:
        extra["position_ids"] = (mask.cumsum(-1) - 1).clamp(min=0)
    if "use_cache" in takes:
        extra["use_cache"] = False
    logits = model(input_ids=ids, attention_mask=mask, **extra).logits[:, -1]
    return logits.float().log_softmax(-1)


def listed_labels(listed: Iterable[tuple[str, float]], labels: Sequence[str]) -> dict[str, float]:
    """Log probabilities of the labels among the first tokens that a server lists, the best form of each.

    Args:
        listed: tokens as text, with their log probabilities.
        labels: what can be chosen.
    """
    found: dict[str, float] = {}
    for token, logprob in listed:
        label = token.strip(_BLANKS)
        if label in labels and logprob > found.get(label, float("-inf")):
            found[label] = logprob
    return {label: found[label] for label in labels if label in found}
