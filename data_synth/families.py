"""How a trace stands in an assistant's message, by family of chat templates.

`riftk export` asks a tokenizer's own template which form survives; these are for those who know their family.
"""

from __future__ import annotations

from collections.abc import Callable

Message = dict[str, str]


def _tags(reasoning: str, response: str) -> Message:
    return {"role": "assistant", "content": f"<think>\n{reasoning}\n</think>\n\n{response}"}


def _prefilled(reasoning: str, response: str) -> Message:
    return {"role": "assistant", "content": f"{reasoning}\n</think>\n\n{response}"}


def _reasoning_content(reasoning: str, response: str) -> Message:
    return {"role": "assistant", "reasoning_content": reasoning, "content": response}


def _thinking(reasoning: str, response: str) -> Message:
    return {"role": "assistant", "thinking": reasoning, "content": response}


FAMILIES: dict[str, Callable[[str, str], Message]] = {
    "tags": _tags,  # templates that keep the content as it is, the model writes both tags: Qwen2.5, Llama
    "prefilled": _prefilled,  # the prompt ends with <think>: DeepSeek-R1-Distill with a template for training
    "reasoning_content": _reasoning_content,  # Qwen3 and relatives
    "thinking": _thinking,  # gpt-oss
}
