"""The form of a text: JSON."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from .base import Constraint, Verdict, broken, constraint, followed
from .language import MIN_LETTERS
from .text import Text, letter_count, says_something

MAX_DEPTH = 500  # of nested arrays and objects; parsers differ beyond
MAX_DIGITS = 4300  # of an integer; Python and others refuse longer ones
_FENCE = re.compile(r"(`{3,})[ \t]*(?:json)?", re.IGNORECASE)
_INVISIBLE = "\ufeff\u200b \t\r\n"
_BRACKETS = re.compile(r'"(?:[^"\\]|\\.)*+(?:"|\\?\Z)|[\[\]{}]', re.DOTALL)


@dataclass(frozen=True)
class Parsed:
    """What came of parsing JSON: `value`, or `error` and the offset `valid` up to which it went well."""

    value: Any = None
    error: str = ""
    valid: int = 0


def _integer(digits: str) -> int:
    if len(digits) > MAX_DIGITS:
        raise ValueError(f"an integer of {len(digits)} digits")
    return int(digits)


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _depth(body: str) -> int:
    depth = deepest = 0
    for match in _BRACKETS.finditer(body):
        bracket = match.group()
        if bracket in "[{":
            depth += 1
            deepest = max(deepest, depth)
        elif bracket in "]}":
            depth -= 1
    return deepest


def parse_json(body: str, constants: bool = False, max_depth: int = MAX_DEPTH) -> Parsed:
    """Parse strict JSON without ever raising.

    Args:
        body: text of one JSON value.
        constants: accept NaN and Infinity, as Python's parser does and RFC 8259 does not.
        max_depth: how deeply arrays and objects may be nested.
    """
    if body.count("[") + body.count("{") > max_depth and _depth(body) > max_depth:
        return Parsed(error=f"nested more than {max_depth} deep")
    try:
        hook = None if constants else _no_constant
        return Parsed(json.loads(body, parse_int=_integer, parse_constant=hook), valid=len(body))
    except json.JSONDecodeError as error:
        if not body:
            return Parsed(error="there is nothing to parse")
        unfinished = error.msg.startswith("Unterminated")
        return Parsed(error=error.msg, valid=len(body) if unfinished else error.pos)
    except ValueError as error:
        return Parsed(error=str(error))
    except RecursionError:  # the caller's own stack is deep already
        return Parsed(error="nested too deep")


def json_strings(value: Any) -> list[str]:
    """All that a JSON value says: its strings and numbers, keys included."""
    said, waiting = [], [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, dict):
            said.extend(item)
            waiting.extend(item.values())
        elif isinstance(item, list):
            waiting.extend(item)
        elif item is not None:
            said.append(str(item))
    return said


def has_content(value: Any) -> bool:
    """Whether anything but empty strings, nulls and empty containers is in a JSON value."""
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, dict):
            waiting.extend(item.values())
        elif isinstance(item, list):
            waiting.extend(item)
        elif isinstance(item, str):
            if says_something(item):
                return True
        elif item is not None:
            return True
    return False


def _body(raw: str) -> tuple[int, str, str]:
    """(offset, text, complaint): the JSON of a text, taken out of a balanced fence with or without "json"."""
    text = raw.strip(_INVISIBLE)
    start = raw.find(text)
    fence = _FENCE.match(text)
    if fence is None:
        return start, text, "a closing fence without an opening one" if text.endswith("```") else ""
    inner = text[fence.end() :]
    complaint = ""
    if not inner.endswith(fence.group(1)):
        closed = fence.group(1) in inner
        complaint = "there is text after the code fence" if closed else "the code fence is never closed"
    body = inner.removesuffix(fence.group(1))
    start += fence.end() + len(body) - len(body.lstrip(_INVISIBLE))
    return start, body.strip(_INVISIBLE), complaint


@constraint("detectable_format:json_format")
class JsonFormat(Constraint):
    """The whole text is one JSON object or array that says something, in a code fence or not."""

    wording = (
        "When {acting}, your response should be wrapped in JSON format. "
        "You can use markdown ticks such as ```.",
        "Your entire {text} must be one valid JSON value; a ```json code block around it is fine.",
        "Format your whole {text} as JSON, with nothing before or after it except optional ``` fences.",
        "Write your {text} as a JSON object. Markdown code ticks are allowed.",
        "Everything in your {text} has to be inside valid JSON (you may wrap it in ```).",
        "Give your {text} in JSON format only.",
    )

    def robust(self, text: Text) -> Verdict:
        start, body, complaint = text.once(_body)
        if not body:
            return broken(0.0, f"the {self.target} is empty")
        parsed = parse_json(body)
        opened = body[0] in "[{"
        spans = [(start + parsed.valid, len(text.raw.rstrip()))] if parsed.valid < len(body) else []
        score = 0.9 * parsed.valid / len(body) if opened else 0.0
        if complaint or parsed.error:
            return broken(score, f"not JSON: {complaint or parsed.error}", spans)
        if not opened:
            return broken(0.2, "a bare value; an object or an array is wanted")
        if not has_content(parsed.value):
            return broken(0.2, "valid JSON that says nothing")
        said = json_strings(parsed.value)
        letters = sum(map(letter_count, said))
        if self.target == "reasoning" and letters < MIN_LETTERS:
            return broken(
                0.2, f"{letters} letters in JSON are no reasoning; at least {MIN_LETTERS} are needed"
            )
        if any("\f" in words or "\b" in words for words in said):
            return followed(
                r"valid JSON; beware: \f or \b of a LaTeX command was read as a control character"
            )
        return followed("valid JSON")
