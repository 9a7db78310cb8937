r"""Write a text in small letters and leave its mathematics valid.

Formulas stay LaTeX: their letters become small ones unless two symbols would become one, and a command that
is written with a capital (\Delta, \Rightarrow) rejects the text, but for arrows that have another name.

    >>> in_lowercase(r"So $X = \frac{1}{2}$. Then X is SMALL.")
    'so $x = \\frac{1}{2}$. then x is small.'
"""

from __future__ import annotations

import re

from .capitals import note_symbols_of_prose
from .errors import Rejected
from .latex import Symbols
from .segments import segments
from .survival import require_same_figures

# Units whose small letters mean something else: mega and milli, bytes and bits, kelvin and a thousand.
_UNIT = re.compile(
    r"(?<![A-Za-z\\])(?:M(?:W|V|A|Hz|J|eV|Pa|N|F|H|K|T|Ω|ohm|g|m|s|L|l|mol)|[kKMGT]i?[Bb](?:ps|/s|it/s)?"
    r"|(?<=\d)[KTG]|(?<=\d )[KTG])(?![A-Za-z])"
)
_WORDS_IN_FORMULA = re.compile(r"\\(?:text[a-z]*|mbox|operatorname|mathrm|begin|end)\*?\s?\{[^{}]*\}")
_COMMAND = re.compile(r"\\(?:[A-Za-z]+|.)", re.DOTALL)
_RENAMED = {
    r"\Rightarrow": r"\implies",
    r"\Longrightarrow": r"\implies",
    r"\Leftrightarrow": r"\iff",
    r"\Longleftrightarrow": r"\iff",
    r"\Pr": r"\operatorname{pr}",
}
_SHORT_NAME = re.compile(r"(?<![A-Za-z])[A-Z]{2,3}(?![A-Za-z])")  # AB, a line; ABC, a triangle


def in_lowercase(text: str) -> str:
    """Return `text` in small letters.

    Raises:
        Rejected: code, a LaTeX command with capitals, symbols or units that differ by case only.
    """
    if unit := _UNIT.search(text):
        raise Rejected("a unit in which case matters", unit.group())
    symbols, out = Symbols(), []
    for part in segments(text):
        if part.kind == "code":
            raise Rejected("code", part.text[:80])
        if part.kind == "prose":
            note_symbols_of_prose(part.text, symbols)
            names = "".join(_SHORT_NAME.findall(part.text))
        else:
            names = _COMMAND.sub("", _WORDS_IN_FORMULA.sub("", part.text))
        for letter in filter(str.isalpha, names):
            symbols.capital(letter)
        out.append(_small(part.text))
    result = "".join(out)
    if capital := next((char for char in result if char.isupper()), None):
        raise Rejected("a letter without a small form", capital)
    require_same_figures(text, result)
    return result


def _small(text: str) -> str:
    """A stretch in small letters, its LaTeX commands as they are."""
    out, done = [], 0
    for match in _COMMAND.finditer(text):
        command = _RENAMED.get(match.group(), match.group())
        if command != command.lower():
            raise Rejected("a LaTeX command with capitals", command)
        out += [text[done : match.start()].lower(), command]
        done = match.end()
    return "".join([*out, text[done:].lower()])
