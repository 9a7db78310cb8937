"""What trainers hand over as a completion, read as text."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

logger = logging.getLogger("riftk.rewards")

_REASONING_KEYS = ("reasoning_content", "reasoning", "thinking")  # vLLM, newer vLLM, gpt-oss
_warned: set[str] = set()


def warn_once(kind: str, message: str, *, exc_info: bool = False) -> None:
    """Log a warning, once per kind and process: a mistake in a thousand rows is one line."""
    if kind not in _warned:
        _warned.add(kind)
        logger.warning("%s (said once)", message, exc_info=exc_info)


def read_completion(completion: Any) -> tuple[str, str | None]:
    """(text, reasoning) of a completion as trainers hand it over; never raises.

    A completion is a string, a message, or a list of messages of which the last one of the assistant counts;
    content may be a list of parts. `reasoning` is None unless a message carries the trace in a field of its
    own. What holds no text at all (None, tool calls, bytes) is "", with a warning.
    """
    message = completion
    if isinstance(completion, list | tuple):
        said = [m for m in completion if not isinstance(m, Mapping) or m.get("role") in (None, "assistant")]
        message = said[-1] if said else None
    reasoning = None
    if isinstance(message, Mapping):
        reasoning = next((_text(message[key]) for key in _REASONING_KEYS if message.get(key)), None)
        message = message.get("content")
    text = _text(message)
    if text is None:
        kind = type(message).__name__
        warn_once(f"completion {kind}", f"a completion without text ({kind}) earns nothing")
    return text or "", reasoning


def _text(content: Any) -> str | None:
    """The text of a message's content, a string or a list of parts; None where there is none."""
    if isinstance(content, list | tuple):
        parts = [part.get("text") if isinstance(part, Mapping) else part for part in content]
        content = "".join(part for part in parts if isinstance(part, str))
    if not isinstance(content, str):
        return None
    # A decoder that cuts a character in two leaves half a surrogate pair, which no library can encode.
    return content if content.isascii() else content.encode("utf-8", "replace").decode("utf-8")
