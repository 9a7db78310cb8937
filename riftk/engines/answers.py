"""What an OpenAI-compatible server answered, as a `Generation`, or why it is none."""

from __future__ import annotations

from typing import Any

from riftk.engines.base import Generation

# Servers do not agree on the words (OpenAI; TGI; Anthropic's and llama.cpp's compatible endpoints).
_FINISH_REASONS = {
    "stop": "stop",
    "eos": "stop",
    "eos_token": "stop",
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_calls": "stop",
    "function_call": "stop",
    "length": "length",
    "max_tokens": "length",
    "max_length": "length",
}


class BadAnswer(Exception):
    """An answer with status 200 that is no completion. The message is one sentence."""


def read_answer(answer: Any) -> Generation:
    """Read a chat completion with one choice, as the `openai` client delivers it: it does not check.

    The trace is taken from `reasoning` or from `reasoning_content`, an older name of the same field.

    Raises:
        BadAnswer: nonsense, no choices, no message, or a finish reason that is none.
    """
    choices = getattr(answer, "choices", None)
    if not isinstance(choices, list):
        raise BadAnswer(f"the server answered with what is no chat completion: {str(answer)[:120]!r}")
    if not choices:
        raise BadAnswer("the server answered without choices")
    message = getattr(choices[0], "message", None)
    text = getattr(message, "content", None)
    reasoning = getattr(message, "reasoning", None) or getattr(message, "reasoning_content", None)
    if message is None or not isinstance(text, str | None) or not isinstance(reasoning, str | None):
        raise BadAnswer("the server answered without a message of text")
    reason = getattr(choices[0], "finish_reason", None)
    if reason == "content_filter":
        return _with_usage(answer, "", "error", error="the server's content filter stopped the completion")
    if not isinstance(reason, str) or reason not in _FINISH_REASONS:
        raise BadAnswer(f"the server gave the finish reason {reason!r}")
    return _with_usage(answer, text or "", _FINISH_REASONS[reason], reasoning_content=reasoning or None)


def _with_usage(answer: Any, text: str, finish_reason: str, **fields: Any) -> Generation:
    usage = getattr(answer, "usage", None)
    counts = [getattr(usage, name, None) for name in ("prompt_tokens", "completion_tokens")]
    prompt, completion = (count if isinstance(count, int) else None for count in counts)
    return Generation(text, finish_reason, prompt, completion, **fields)
