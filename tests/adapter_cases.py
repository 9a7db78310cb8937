"""Completions that adapters are tested with, and the row they answer."""

from __future__ import annotations

import json

TRACE = "Tom has five apples and buys three more so he has eight apples now."
CLOSED = f"{TRACE}\n</think>\n\nTom has eight apples.\n\n<answer>8</answer>"
GOOD = f"<think>\n{CLOSED}"
BROKEN = GOOD.replace("apples and", "apples, and")
CUT_OFF = "Tom has five and buys three so that is \\boxed{8} I think <answer>8</answer> but let me check"
QUESTION = "Tom has 5 apples and buys 3 more. How many apples does he have? Use no comma while you think."
ROW = {
    "constraints": json.dumps([{"id": "punctuation:no_comma", "args": {}, "target": "reasoning"}]),
    "answer": "8",
    "answer_type": "number",
}
