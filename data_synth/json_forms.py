r"""Put a trace into JSON, in several shapes so that a model does not learn one key, and read it back.

>>> text = "We have 3.\nSo 3 + 4 = 7."
>>> to_json(text, "steps")
'{"steps": ["We have 3.", "So 3 + 4 = 7."]}'
>>> from_json(to_json(text, "list", fenced=True), split_steps(text)[1]) == text
True
"""

from __future__ import annotations

import json
from typing import Any

from .segments import pieces

SHAPES = ("object", "steps", "list", "parts")
SEPARATORS = {"paragraphs": "\n\n", "lines": "\n", "sentences": " "}
_FENCE = "```json\n", "\n```"


def split_steps(text: str) -> tuple[list[str], str]:
    """The steps of a trace, and by what they are parted: "paragraphs", "lines" or "sentences".

    Joined by that separator they give the text back; where no separator does, the text is one step.
    """
    for name, separator in SEPARATORS.items():
        steps = [piece.rstrip() for piece in pieces(text)] if separator == " " else text.split(separator)
        if len(steps) > 1 and all(step.strip() for step in steps) and separator.join(steps) == text:
            return steps, name
    return [text], "sentences"


def to_json(text: str, shape: str, fenced: bool = False, indent: int | None = None) -> str:
    """Wrap `text` without loss.

    Args:
        text: the trace.
        shape: "object" (one string), "steps" (a list of strings), "list" (a list of objects) or "parts" (the
            reasoning and its conclusion). A trace of one step is an object whatever is asked.
        fenced: with Markdown ticks around it.
        indent: of the JSON text; None for one line.
    """
    steps, parted_by = split_steps(text)
    value: Any = {"reasoning": text}
    if len(steps) > 1:
        if shape == "steps":
            value = {"steps": steps}
        elif shape == "list":
            value = [{"step": number, "thought": step} for number, step in enumerate(steps, 1)]
        elif shape == "parts":
            value = {"reasoning": SEPARATORS[parted_by].join(steps[:-1]), "conclusion": steps[-1]}
    body = json.dumps(value, ensure_ascii=False, indent=indent)
    return body.join(_FENCE) if fenced else body


def from_json(text: str, parted_by: str) -> str:
    """The trace that `to_json` wrapped; `parted_by` is what `split_steps` said of it."""
    value = json.loads(text.removeprefix(_FENCE[0]).removesuffix(_FENCE[1]))
    if isinstance(value, list):
        steps = [item["thought"] for item in value]
    else:
        steps = value.get("steps") or list(value.values())
    return SEPARATORS[parted_by].join(steps)
