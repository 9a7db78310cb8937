r"""Write a text in capitals and leave its mathematics valid.

`str.upper` alone makes `\FRAC` of `\frac`, one symbol of n and N, and megawatts of milliwatts. Here formulas
are read and written anew (`riftk.data_synth.latex`), and a text in which case carries meaning is rejected.

    >>> in_capitals(r"Half of $x^2$ is $\frac{x^2}{2}$.")
    'HALF OF X^2 IS (X^2)/2.'
"""

from __future__ import annotations

import re

from .errors import Rejected
from .latex import GREEK_LETTERS, Symbols, capital_command, capital_formula
from .segments import segments
from .survival import require_same_figures

# Units whose capitals mean something else: milli and mega, bits and bytes, molar and metre.
_UNIT = re.compile(
    r"(?<![A-Za-z\\])(?:m(?:W|V|A|Hz|J|eV|Pa|N|F|H|K|T|M|Ω|ohm)|MeV|[np]M|[µμ][A-Za-zΩ]+|[kMGT]i?b(?:ps|/s|it/s)?)"
    r"(?![A-Za-z])"
)
# Elements whose capitals read as two others (Co is cobalt, CO carbon monoxide); alone they may be words.
_AMBIGUOUS_ELEMENT = re.compile(
    r"(?:Bi|Cf|Cn|Co|Cs|Cu|Hf|Ho|In|Nb|Ni|No|Np|Os|Pb|Po|Pu|Sb|Sc|Si|Sn|Yb)(?![a-z])"
)
_COMPOUND = re.compile(r"(?<![A-Za-z])[A-Z][A-Za-z\d()]{1,40}")
_ELEMENTS = re.compile(r"(?:[A-Z][a-z]?\d*|[()]\d*)+")
_LABEL = re.compile(r"^[ \t(]*[A-Z][.):](?=\s)|\b[A-Z]\.(?=\s[A-Z])", re.MULTILINE)
_LETTER = re.compile(r"(?<![A-Za-z'’\\])[A-Za-z](?![A-Za-z'’])")
_BESIDE_OPERATOR = re.compile(r"[=+*/^<>(_]\s*\Z"), re.compile(r"\s*[=+*/^<>)_]")
_SPECIAL = re.compile(rf"\\|[{''.join(GREEK_LETTERS)}]")
_DIGITS_APART = re.compile(r"(\\[dtc]?frac\s*\d|[\^_]\s*\d)(?=\d)")


def in_capitals(text: str) -> str:
    """Return `text` in capitals, formulas as plain text ("X^2", "(A+B)/2", "√(PI)").

    Raises:
        Rejected: code, an unknown LaTeX command, symbols or units that differ by case only.
    """
    unit = _UNIT.search(text)
    if unit:
        raise Rejected("a unit in which case matters", unit.group())
    symbols, out = Symbols(), ""
    for part in segments(text):
        if part.kind == "code":
            raise Rejected("code", part.text[:80])
        if part.kind == "prose":
            out += _prose(part.text, symbols)
            continue
        formula = capital_formula(part.body, symbols)
        apart = not part.text.startswith(("$", "\\(")) or part.text.startswith("$$")
        before = " " if apart and out[-1:].isalnum() else ""
        after = " " if apart and text[part.end : part.end + 1].isalnum() else ""
        out += before + formula + after
    small = next((char for char in out if char.islower()), None)
    if small:
        raise Rejected("a letter without a capital form", small)
    require_same_figures(_DIGITS_APART.sub(r"\1 ", text), out)
    return out


def _prose(text: str, symbols: Symbols) -> str:
    for compound in _COMPOUND.findall(text):
        several = sum(map(str.isupper, compound)) > 1 or any(map(str.isdigit, compound))
        if several and _ELEMENTS.fullmatch(compound) and _AMBIGUOUS_ELEMENT.search(compound):
            raise Rejected("a chemical formula in which case matters", compound)
    note_symbols_of_prose(text, symbols)
    out, done = [], 0
    while match := _SPECIAL.search(text, done):
        out.append(text[done : match.start()].upper())
        if match.group() == "\\":
            piece, done = capital_command(text, match.start(), symbols)
        else:
            name = GREEK_LETTERS[match.group()]
            piece, done = symbols.capital(f"\\{name}", name.upper()), match.end()
        before, after = (out[-1] or " ")[-1], text[done : done + 1]
        spaced = len(piece) > 1 and piece[0].isalpha()
        out.append((" " if spaced and before.isalnum() else "") + piece)
        if spaced and after.isalnum():
            out.append(" ")
    out.append(text[done:].upper())
    return "".join(out)


def note_symbols_of_prose(text: str, symbols: Symbols) -> None:
    """Note the single letters of prose that stand for quantities; labels, initials, "a" and "I" do not."""
    labels = {place for match in _LABEL.finditer(text) for place in range(*match.span())}
    for match in _LETTER.finditer(text):
        letter = match.group()
        if match.start() in labels:
            continue
        if letter in "aAiI":
            before, after = _BESIDE_OPERATOR
            if not (before.search(text[: match.start()][-3:]) or after.match(text[match.end() :][:3])):
                continue
        symbols.capital(letter)
