"""What a text begins with, and what encloses it."""

from __future__ import annotations

import re
import unicodedata

from .base import Constraint, Verdict, broken, constraint, followed
from .language import vacuous
from .text import Text, says_something

# MathIF puts this sentence behind the question without a blank; repeating it too is no fault.
MATHIF_BASE_INSTRUCTION = "Let's think step by step and output the final answer within \\boxed{}."
_QUOTE = re.compile(r'(?<!\\)"')


def one_line(text: str) -> str:
    """Composed characters (NFC), and one blank for every run of white space."""
    return " ".join(unicodedata.normalize("NFC", text).split())


def common_prefix(one: str, other: str) -> int:
    """Number of characters with which two texts begin alike."""
    differing = (at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b)
    return next(differing, min(len(one), len(other)))


@constraint("combination:repeat_prompt")
class RepeatPrompt(Constraint):
    """The text repeats the request word for word, then goes on with something of its own."""

    published_response = (
        "First repeat the request word for word without change, then give your answer "
        "(1. do not say any words or characters before repeating the request; "
        "2. the request you need to repeat does not include this sentence)"
    )
    wording = (
        "When {acting}, first repeat the request word for word, without saying anything before it; "
        "this sentence is not part of the request.",
        "Begin your {text} with an exact copy of the request (without this sentence), then go on.",
        "Your {text} must start by repeating the request verbatim; do not repeat this instruction.",
        "Copy the request word for word at the very beginning of your {text}, leaving out this sentence.",
        "Before anything else, your {text} has to restate the request without any change, "
        "except for this sentence.",
    )

    prompt_to_repeat: str

    def validate(self) -> None:
        valid = isinstance(self.prompt_to_repeat, str) and bool(self.prompt_to_repeat.strip())
        self.require(valid, "prompt_to_repeat", "the request")

    def robust(self, text: Text) -> Verdict:
        if (empty := vacuous(text, self.target)) is not None:
            return empty
        said, request = text.once(one_line), one_line(self.prompt_to_repeat)
        if not said.startswith(request):
            common = common_prefix(said, request)
            wanted, found = request[common : common + 30], said[common : common + 30]
            return broken(
                0.9 * common / len(request), f"instead of {wanted!r} the text goes on with {found!r}"
            )
        rest = said[len(request) :]
        if rest and not rest.startswith((" ", MATHIF_BASE_INSTRUCTION)):
            return broken(0.9, f"the request is continued with {rest[:20]!r}")
        if not says_something(rest.removeprefix(MATHIF_BASE_INSTRUCTION)):
            return broken(0.9, "nothing follows the request")
        return followed("repeats the request, then goes on")


def closes_early(inner: str) -> int:
    """Offset at which the opening quotation mark before `inner` is closed within it, or -1.

    A mark with a blank before it opens a quotation inside, one with a blank behind it closes one.
    """
    depth = 1
    for match in _QUOTE.finditer(inner):
        at = match.start()
        before, after = inner[at - 1 : at], inner[at + 1 : at + 2]
        if (not before or before.isspace()) and after and not after.isspace():
            depth += 1
        elif before and not before.isspace() and (not after or not after.isalnum()):
            depth -= 1
            if not depth:
                return at
    return -1


@constraint("startend:quotation")
class Quotation(Constraint):
    """The whole text is one quotation in double quotation marks, straight or typographic."""

    published_response = "Wrap your entire response with double quotation marks. "
    wording = (
        "When {acting}, wrap everything you write in double quotation marks.",
        "Put your whole {text} between double quotation marks.",
        'Your {text} has to begin and to end with a double quotation mark (").',
        "Enclose the entire {text} in double quotes.",
        "Write your complete {text} inside one pair of double quotation marks.",
    )

    def robust(self, text: Text) -> Verdict:
        if (empty := vacuous(text, self.target)) is not None:
            return empty
        said = text.raw.strip()
        start = text.raw.find(said)
        opened, closed = said[0] in '"“', said[-1] in '"”' and len(said) > 1
        if not opened or not closed or (said[0] == "“") != (said[-1] == "”"):
            missing = "is no matching pair" if opened and closed else "is one missing"
            return broken(0.4 * (opened + closed), f"of the quotation marks around the text there {missing}")
        inner = said[1:-1]
        if not says_something(inner):
            return broken(0.2, "there is nothing between the quotation marks")
        early = inner.find("”") if said[0] == "“" and "“" not in inner else closes_early(inner)
        if early >= 0:
            at = start + 1 + early
            return broken(0.8, "the quotation is closed before the end of the text", [(at, at + 1)])
        return followed("wrapped in quotation marks")
