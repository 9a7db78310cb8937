"""Small real tokenizers for tests: byte-level BPE trained on the spot, with the chat template of a family."""

from __future__ import annotations

import functools
from importlib.util import find_spec
from pathlib import Path

OWN = {
    path.stem: path.read_text(encoding="utf-8")
    for path in (Path(__file__).parent / "templates").glob("*.jinja")
}
SPECIAL = [
    "<|im_start|>", "<|im_end|>", "<|endoftext|>", "</s>", "<eos>", "<|eot_id|>", "<end_of_turn>", "<turn|>",
    "<｜begin▁of▁sentence｜>", "<｜User｜>", "<｜Assistant｜>", "<｜end▁of▁sentence｜>",
    "<|END_OF_TURN_TOKEN|>", "<|start|>", "<|channel|>", "<|message|>", "<|end|>", "<|return|>", "<|eom|>",
    "<|eot|>", "<end_of_utterance>",
]  # fmt: skip
# Of trl's templates: they delete the trace, never end the turn, close the block in the prompt, or take
# content in parts only.
KEEP_NO_TRACE = [
    "deepseek_r1_distill", "deepseekv3", "deepseekv3_training", "glm4moe", "glm4moe_training",
    "qwen3_5_nothink", "qwen3_5_nothink_training", "idefics3", "idefics3_training", "llava_next",
    "llava_next_training", "smolvlm", "smolvlm_training",
]  # fmt: skip
_TEXT = (
    "Sentinel question of riftk. Sentinel trace of riftk. Sentinel answer of riftk. user assistant system "
    "analysis commentary final. We add three apples to four pears, so there are seven. The answer is 7."
)


def trl_templates() -> dict[str, str]:
    """Chat templates that trl ships, by name; empty without trl."""
    spec = find_spec("trl")
    if spec is None or not spec.submodule_search_locations:
        return {}
    folder = Path(next(iter(spec.submodule_search_locations))) / "chat_templates"
    return {path.stem: path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.jinja"))}


@functools.cache
def toy_tokenizer(template: str | None, eos: str = "<|im_end|>"):
    """A fast tokenizer with this chat template (its source)."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    core = Tokenizer(models.BPE())
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    core.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=600, initial_alphabet=alphabet, show_progress=False)
    core.train_from_iterator([_TEXT], trainer)
    core.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in SPECIAL])
    core.add_tokens([AddedToken(token, normalized=False) for token in ("<think>", "</think>")])
    return PreTrainedTokenizerFast(
        tokenizer_object=core,
        bos_token="<｜begin▁of▁sentence｜>",
        eos_token=eos,
        pad_token="<|endoftext|>",
        chat_template=template,
    )
