"""LoRA adapters: merged into their base, and shown to change what the model says.

An adapter that changes nothing (never trained, saved empty, or for other layers) would be evaluated as its
base without a word: a before and an after that are equal (huggingface/trl#2698, #2856).
"""

from __future__ import annotations

from typing import Any

PROBE_TOKENS = 16  # the first ids of the vocabulary: any text will do


def merge_adapter(model: Any, path: str) -> Any:
    """The model with the adapter in the folder `path` merged into its weights.

    Raises:
        ValueError: no logit of a probe differs with the adapter, or none does any more once it is merged.
    """
    import torch
    from peft import PeftModel

    adapted = PeftModel.from_pretrained(model, path)
    device = model.get_input_embeddings().weight.device
    ids = torch.arange(min(PROBE_TOKENS, model.config.get_text_config().vocab_size), device=device)[None]
    with torch.inference_mode():
        with adapted.disable_adapter():
            before = adapted(input_ids=ids).logits
        if torch.equal(before, adapted(input_ids=ids).logits):
            raise ValueError(no_change(path))
    merged = adapted.merge_and_unload()
    with torch.inference_mode():
        if torch.equal(before, merged(input_ids=ids).logits):
            raise ValueError(
                f"the adapter in {path} is too small for weights in {merged.dtype} and is lost in them; "
                "take --dtype float32, or an engine that serves it beside the base"
            )
    return merged


def no_change(path: str) -> str:
    """What is said of an adapter that has no effect."""
    return f"the adapter in {path} changes no output of its base; was it trained, and for this model?"
