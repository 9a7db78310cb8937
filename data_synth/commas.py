r"""Take the commas out of a text and leave its mathematics whole.

Deleting every comma, as the published training set does, turns `(1,2)` into `(12)`, `x=1,2` into `x=12` and
`\,dx` into `\dx`. Here a comma has four fates: it goes from thousands (1,200 -> 1200), becomes a semicolon
between values (tuples, sets, arguments, lists), is dropped between words, or, in code and where a reader
could not tell which of these it is, the text is rejected.

    >>> without_commas("So f(2,3) = 1,200, and $x, y$, as we know, are 1, 2.")
    'So f(2;3) = 1200 and $x; y$ as we know are 1; 2.'
"""

from __future__ import annotations

import re

from .errors import Rejected
from .segments import Segment, segments
from .survival import DIGIT_SEPARATOR, IS_THOUSANDS, holds_values, require_same_but_separators

_COMMA = re.compile("[,，、،﹐﹑､⸲⸴]")
_THIN_SPACE = re.compile(r"(?<!\\)((?:\\\\)*)\\,")
_CLUSTER = re.compile(rf"\d+(?:{DIGIT_SEPARATOR}\d+)+")
_ENDS_FORMULA = re.compile(r"\s*(?:\\[\])]|\$|\\end\{|$)")
_OPENS_LIST = re.compile(r"[(\[{,;]\Z|[(\[{]\s+\Z")
_CLOSES_LIST = re.compile(r",|\s*(?:\\?[)\]}]|\\right\b)")
_VALUE_BEFORE = re.compile(r"(?:[\d%°²³!$]|\\\)|(?<![^\W_]|['’])[A-HJ-Za-z]|[\dA-Za-z][)\]}])[*\"'”’]*\s*\Z")
_VALUE_AFTER = re.compile(r"\s*(?:[-+−±]?[$€£]?[(\[{]?[-+−]?\d|\$|\\\(|[B-HJ-Zb-z](?![^\W_]|['’]))")
_DAY = re.compile(r"\b(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*\.? \d{1,2}(?:st|nd|rd|th)?\Z")
_YEAR = re.compile(r" \d{4}\b")
_NEXT_WORD = re.compile(r"[\s\"'“”‘’(*]*([^\W\d_]+)")
_LONGEST_BRACKET = 300
# After a value and before one of these words a sentence goes on without its comma: "it is 12 so we add".
_CONNECTIVES = re.compile(
    r"(?:and|or|but|so|which|where|while|whereas|then|hence|thus|therefore|since|because|as|for|if|when|with|giving"
    r"|making|leaving|that|who|whose|not|is|are|respectively|plus|minus|than|to|of|in|on|at|by|from)",
    re.IGNORECASE,
)


def without_commas(text: str) -> str:
    """Return `text` without a comma of any script.

    Raises:
        Rejected: a comma inside code, or one that cannot be read safely ("(2,300)": a pair or thousands?).
    """
    joined = "".join(_join_digits(part) for part in segments(text))
    listed = _commas_in_lists(joined)
    out: list[str] = []
    for part in segments(joined):
        done = part.start
        for match in _COMMA.finditer(joined, part.start, part.end):
            if part.kind == "code":
                raise Rejected("comma inside code", part.text[:80])
            out += [joined[done : match.start()], _instead(joined, match.start(), part, listed)]
            done = match.end()
        out.append(joined[done : part.end])
    result = "".join(out)
    require_same_but_separators(text, result)
    return result


def _join_digits(part: Segment) -> str:
    """Rewrite commas between digits: thousands are joined, anything else is a list of values."""
    if part.kind == "code":
        return part.text
    text = _THIN_SPACE.sub(r"\1\\;", part.text)

    def join(match: re.Match[str]) -> str:
        cluster = match.group()
        before, after = text[max(0, match.start() - 20) : match.start()], text[match.end() : match.end() + 20]
        if before[-1:] in (".", "_") or not IS_THOUSANDS.fullmatch(cluster):
            values = re.split(DIGIT_SEPARATOR, cluster)
            if any(value.startswith("0") and len(value) > 1 for value in values[1:]):
                raise Rejected("digits in unusual groups", cluster)
            return ";".join(values)
        opened, closed = bool(_OPENS_LIST.search(before)), bool(_CLOSES_LIST.match(after))
        in_list = (
            opened or closed if part.kind == "formula" else opened and (closed or not after[:1].isspace())
        )
        if not re.search(r"[{\\]", cluster) and (in_list or before[-1:].isalpha()):
            raise Rejected("a list or thousands", cluster)
        return re.sub(r"\D", "", cluster)

    return _CLUSTER.sub(join, text)


def _commas_in_lists(text: str) -> set[int]:
    """Places of commas whose innermost bracket holds values, not a sentence: "(x, 2)", not "(so, yes)"."""
    found: set[int] = set()
    open_: list[tuple[int, list[int]]] = []
    for match in re.finditer(rf"[()\[\]{{}}]|{_COMMA.pattern}", text):
        char, at = match.group(), match.start()
        if char in "([{":
            open_.append((at, []))
        elif open_ and char in ")]}":
            start, commas = open_.pop()
            short = commas and at - start <= _LONGEST_BRACKET
            if short and holds_values(text[start + 1 : at]):
                found.update(commas)
        elif open_:
            open_[-1][1].append(at)
    return found


def _instead(text: str, at: int, part: Segment, listed: set[int]) -> str:
    """What stands in place of the comma at `text[at]`: ";", " " or nothing."""
    before, after = text[max(0, at - 20) : at], text[at + 1 : at + 40]
    if part.kind == "formula":
        ends = _ENDS_FORMULA.match(text[at + 1 : part.end])
        return "" if ends and not _VALUE_AFTER.match(text[part.end : part.end + 20]) else ";"
    if at in listed:
        return ";"
    blanks = after[: len(after) - len(after.lstrip())]
    if "\n" in blanks or not after.strip():
        return ""  # the line ends here
    if text[at] != "," and before[-1:].isdigit() and after[0].isdigit():
        raise Rejected("a list or thousands", before[-4:] + text[at : at + 5])
    if _DAY.search(before) and _YEAR.match(after):
        return ""
    left, right = bool(_VALUE_BEFORE.search(before)), bool(_VALUE_AFTER.match(after))
    word = _NEXT_WORD.match(after)
    if left and (right or (word and not _CONNECTIVES.fullmatch(word[1]))):
        return ";"
    if blanks or after[0] in ".,;:!?)]}\"'”’»*" or not before or before[-1].isspace():
        return ""
    return ";" if left or right else " "
