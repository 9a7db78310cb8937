"""The published answer extraction of ReasonIF, verdict for verdict.

The paper's code extracts an answer and never compares it: the comparison here is the documented one, with
the gold answer brought to the form of the extraction (its golds begin with a blank in GSM8K, and with zeros
in AIME).
"""

from __future__ import annotations

import re

_NUMBER = re.compile(r"[+-]?\d*\.?\d+")
_MARKER = re.compile("answer:", re.IGNORECASE)


def reasonif_extract(response: str, answer_type: str) -> str:
    """What the published extraction takes for the answer: the last number, or the first of the letters A to
    D.

    It looks between the first `<answer>` and the next `</answer>`, else behind the first "answer:", else at
    the whole response; where it finds nothing it returns that text as it is.
    """
    text = _content(response)
    if answer_type == "choice":
        letter = re.search("[ABCD]", text)
        return letter[0] if letter else text
    numbers = _NUMBER.findall(text)
    return _integer(numbers[-1]) if numbers else text


def reasonif_correct(value: str, gold: str, answer_type: str) -> bool:
    """Equality with the gold answer in canonical form."""
    return value == (gold.strip() if answer_type == "choice" else _integer(gold.strip()))


def _content(response: str) -> str:
    if "<answer>" in response and "</answer>" in response:
        return response.split("<answer>", 1)[1].split("</answer>", 1)[0].strip()
    marker = _MARKER.search(response)
    return response[marker.end() :].strip() if marker else response.strip()


def _integer(text: str) -> str:
    """The text as int() writes it, where it is one; digits beyond int()'s limit stay as they are."""
    return str(int(text)) if re.fullmatch(r"[+-]?\d{1,4000}", text) else text
