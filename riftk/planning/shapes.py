"""Shapes of models: what memory is computed from. Those that riftk has configurations for are in a table, so
that a plan needs neither the hub nor the weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from riftk.paths import resolve


@dataclass(frozen=True)
class Shape:
    """A decoder-only model.

    Args:
        parameters: all of them; embeddings that serve as the output too are counted once.
        layers, hidden, intermediate: number of layers; width of the residual stream, and inside the MLP (of
            one expert).
        heads, kv_heads, head_dim: of the attention.
        vocab: rows of the output layer.
        experts, active: experts in a layer and those that a token goes through; 1 is an ordinary MLP.
    """

    parameters: int
    layers: int
    hidden: int
    intermediate: int
    heads: int
    kv_heads: int
    head_dim: int
    vocab: int
    experts: int = 1
    active: int = 1

    @property
    def cache_elements(self) -> int:
        """Numbers that a token leaves in the cache of keys and values."""
        return 2 * self.layers * self.kv_heads * self.head_dim

    def matrices(self) -> dict[str, tuple[int, int]]:
        """Width in and out of the linear layers of one layer, by the name of their module. Fused experts, as
        gpt-oss has them, are no linear layers and take no LoRA."""
        queries, keys = self.heads * self.head_dim, self.kv_heads * self.head_dim
        found = {
            "q_proj": (self.hidden, queries),
            "k_proj": (self.hidden, keys),
            "v_proj": (self.hidden, keys),
            "o_proj": (queries, self.hidden),
        }
        if self.experts == 1:
            found |= {
                "gate_proj": (self.hidden, self.intermediate),
                "up_proj": (self.hidden, self.intermediate),
                "down_proj": (self.intermediate, self.hidden),
            }
        return found


_QWEN_1_5B = (28, 1536, 8960, 12, 2, 128, 151936)
_QWEN_7B = (28, 3584, 18944, 28, 4, 128, 152064)

# Parameters: layers, hidden, intermediate, heads, kv_heads, head_dim, vocab of each model's config.json.
SHAPES = {
    "Qwen/Qwen2.5-0.5B": Shape(494_032_768, 24, 896, 4864, 14, 2, 64, 151936),
    "Qwen/Qwen2.5-1.5B": Shape(1_543_714_304, *_QWEN_1_5B),
    "Qwen/Qwen2.5-7B": Shape(7_615_616_512, *_QWEN_7B),
    "Qwen/Qwen2.5-Math-1.5B": Shape(1_543_714_304, *_QWEN_1_5B),
    "Qwen/Qwen2.5-Math-7B": Shape(7_615_616_512, *_QWEN_7B),
    "deepseek-ai/DeepSeek-R1-Distill-Qwen-1.5B": Shape(1_777_088_000, *_QWEN_1_5B),  # output layer of its own
    "Qwen/Qwen3-4B": Shape(4_022_468_096, 36, 2560, 9728, 32, 8, 128, 151936),
    "Qwen/Qwen3-8B": Shape(8_190_735_360, 36, 4096, 12288, 32, 8, 128, 151936),
    "Qwen/QwQ-32B": Shape(32_763_876_352, 64, 5120, 27648, 40, 8, 128, 152064),
    "openai/gpt-oss-20b": Shape(20_914_757_184, 24, 2880, 2880, 64, 8, 64, 201088, experts=32, active=4),
    "HuggingFaceTB/SmolLM2-135M-Instruct": Shape(134_515_008, 30, 576, 1536, 9, 3, 64, 49152),
}


def shape_of(model: str, **options: Any) -> Shape:
    """The shape of a model: from the table, or else counted on the model built without weights.

    Args:
        model: folder, hub id, or `pkg://package/path`.
        options: for `AutoConfig.from_pretrained`, e.g. `revision` and `trust_remote_code`.

    Raises:
        FileNotFoundError: a model that is not in the table and whose configuration cannot be read.
    """
    if model in SHAPES:
        return SHAPES[model]
    from transformers import AutoConfig

    try:
        config = AutoConfig.from_pretrained(resolve(model), **options)
    except OSError as error:
        raise FileNotFoundError(
            f"{model} is not in riftk's table of shapes, and its configuration cannot be read (offline, "
            f"gated or misspelt?); the table has {', '.join(SHAPES)}"
        ) from error
    return shape_of_config(config, trust_remote_code=bool(options.get("trust_remote_code")))


def shape_of_config(config: Any, trust_remote_code: bool = False) -> Shape:
    """The shape of a transformers configuration; parameters are counted on the model without weights."""
    import torch
    from transformers import AutoModelForCausalLM

    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(config, trust_remote_code=trust_remote_code)
    text = config.get_text_config()
    head_dim = getattr(text, "head_dim", None) or text.hidden_size // text.num_attention_heads
    return Shape(
        parameters=sum(parameter.numel() for parameter in model.parameters()),
        layers=text.num_hidden_layers,
        hidden=text.hidden_size,
        intermediate=getattr(text, "moe_intermediate_size", None) or text.intermediate_size,
        heads=text.num_attention_heads,
        kv_heads=getattr(text, "num_key_value_heads", None) or text.num_attention_heads,
        head_dim=head_dim,
        vocab=text.vocab_size,
        experts=getattr(text, "num_local_experts", None) or getattr(text, "num_experts", None) or 1,
        active=getattr(text, "num_experts_per_tok", None) or 1,
    )
