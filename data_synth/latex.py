r"""Read LaTeX mathematics and write it as capitals that are still a formula: `\frac{a}{b}` -> `A/B`.

Only what is known is converted: a command that is not in these tables rejects the row. Letters that differ
by case alone ("n" and "N") would become one symbol; `Symbols` notices.

    >>> capital_formula(r"\frac{1}{2}x^{n+1} \le \sqrt{\pi}", Symbols())
    '(1/2)X^(N+1) ≤ √(PI)'
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from .errors import Rejected
from .latex_tables import (
    ACCENTS,
    ALPHABETS,
    BINOMIALS,
    BLANKS,
    DROPPED,
    ENVIRONMENTS,
    FRACTIONS,
    FUNCTIONS,
    GREEK,
    GREEK_LETTERS,
    NEGATED,
    OPERATORS,
    SIGNS,
    VARIANTS,
    WORDS,
    WRAPPERS,
)

_DEEPEST = 40  # groups inside groups
_DIGITS = re.compile(r"\d+(?:\.\d+|(?:\{,(?:\\!)?\}|,\\!|,)\d{3}(?!\d))*")
_COMMAND = re.compile(r"[A-Za-z]+|.|\Z", re.DOTALL)
_ROW_SPACING = re.compile(r"\[-?[\d.]+ ?(?:pt|ex|em|cm|mm|in)\]")
_BRACED = re.compile(r"\{([^{}]*)\}")
_ONE_LETTER = re.compile(r"\{?\s*([A-Za-z])\s*\}?")
_DEGREE = re.compile(r"\s*\[(\w+)\]")


@dataclass
class Symbols:
    """The letters of one text, by what they become; two kinds that become one reject the text."""

    seen: dict[str, set[str]] = field(default_factory=dict)

    def capital(self, symbol: str, capital: str | None = None) -> str:
        """Note a symbol and return its capital form."""
        capital = capital or symbol.upper()
        forms = self.seen.setdefault(capital, set())
        forms.add(symbol)
        if len(forms) > 1:
            raise Rejected("symbols that differ by case only", " and ".join(sorted(forms)))
        return capital


def capital_formula(latex: str, symbols: Symbols) -> str:
    r"""Write the inside of a formula in capitals.

    Raises:
        Rejected: unknown command or environment, unbalanced braces, symbols that differ by case only.
    """
    return _Reader(latex, symbols).everything()


def capital_command(text: str, at: int, symbols: Symbols) -> tuple[str, int]:
    r"""Convert the command that starts at `text[at]` (a backslash) in prose; return it and where it ends."""
    reader = _Reader(text, symbols, at)
    piece = reader.item()
    return piece.text, reader.at


@dataclass(frozen=True)
class _Piece:
    """Output of one item: a `word` is kept apart from letters beside it, a `fraction` may need brackets."""

    text: str
    word: bool = False
    fraction: bool = False


class _Reader:
    """Recursive descent over LaTeX. Methods read from `at` on and leave it behind what they read."""

    def __init__(self, latex: str, symbols: Symbols, at: int = 0):
        self.latex, self.symbols, self.at, self.depth = latex, symbols, at, 0

    def everything(self) -> str:
        text = self.sequence()
        if self.at < len(self.latex):
            raise self.unbalanced()
        return text.strip()

    def unbalanced(self) -> Rejected:
        return Rejected("unbalanced braces in LaTeX", self.latex[:80])

    def peek(self) -> str:
        return self.latex[self.at : self.at + 1]

    def take(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        match = pattern.match(self.latex, self.at)
        if match:
            self.at = match.end()
        return match

    def sequence(self, *stops: str) -> str:
        """Read items until one of `stops`, a closing brace or the end, which is left unread."""
        self.depth += 1
        if self.depth > _DEEPEST:
            raise Rejected("LaTeX nested too deep", self.latex[:80])
        pieces: list[_Piece] = []
        while self.at < len(self.latex) and self.peek() != "}" and not self.latex.startswith(stops, self.at):
            pieces.append(self.item())
        self.depth -= 1
        return _join(pieces)

    def item(self) -> _Piece:
        """Read a command, a group, a script, a number or one character."""
        char = self.peek()
        if char.isdecimal():
            digits = self.take(_DIGITS)
            return _Piece(re.sub(r"\\!|[{}]", "", digits.group() if digits else char))
        self.at += 1
        if char == "\\":
            return self.command()
        if char == "{":
            group = self.sequence()
            if self.peek() != "}":
                raise self.unbalanced()
            self.at += 1
            return _Piece(group, fraction="/" in group)
        if char in "^_":
            return self.script(char)
        if char.isspace() or char == "~":
            return _Piece(" ")
        if char in GREEK_LETTERS:
            return self.greek(GREEK_LETTERS[char])
        return _Piece(self.symbols.capital(char) if char.isalpha() else char)

    def greek(self, name: str) -> _Piece:
        return _Piece(self.symbols.capital(f"\\{name}", name.upper()), word=True)

    def argument(self) -> str:
        """Read the argument of a command: a group, a command or one character."""
        while self.peek().isspace():
            self.at += 1
        if not self.peek() or self.peek() == "}":
            raise Rejected(
                "LaTeX command without its argument", self.latex[max(0, self.at - 20) : self.at + 20]
            )
        if self.peek().isdecimal():  # \frac12 takes one digit each
            self.at += 1
            return self.latex[self.at - 1]
        self.depth += 1
        if self.depth > _DEEPEST:
            raise Rejected("LaTeX nested too deep", self.latex[:80])
        text = self.item().text.strip()
        self.depth -= 1
        return text

    def words(self) -> str:
        """Read a braced argument as plain words."""
        braced = self.take(_BRACED)
        if not braced:
            raise Rejected(
                "LaTeX command without its argument", self.latex[max(0, self.at - 20) : self.at + 20]
            )
        if "\\" in braced[1] or "$" in braced[1]:
            raise Rejected("LaTeX inside words", braced[1][:80])
        return braced[1].upper()

    def script(self, mark: str) -> _Piece:
        argument = self.argument()
        if mark == "^" and argument in ("∘", "°", "'", "''"):
            return _Piece(argument.replace("∘", "°"))
        return _Piece(mark + _bracketed(argument), word=True)

    def command(self) -> _Piece:
        """Read a command whose backslash has been read."""
        match = self.take(_COMMAND)
        name = match.group() if match else ""
        if name in BLANKS:
            return _Piece(" ")
        if name in DROPPED:
            if name in ("left", "right") and self.peek() == ".":
                self.at += 1
            return _Piece("")
        if name in SIGNS:
            return _Piece(SIGNS[name])
        if name == "\\" and not _ROW_SPACING.match(self.latex, self.at):
            return _Piece("\n")
        name = VARIANTS.get(name, name)
        if name.lower() in GREEK:
            return self.greek(name)
        if name in FUNCTIONS:
            return _Piece("MOD" if name == "bmod" else name.upper(), word=True)
        if name == "begin":
            return self.environment()
        return self.with_arguments(name)

    def with_arguments(self, name: str) -> _Piece:
        if name in FRACTIONS:
            return _Piece(f"{_bracketed(self.argument())}/{_bracketed(self.argument())}", fraction=True)
        if name in BINOMIALS:
            return _Piece(f"({self.argument()} CHOOSE {self.argument()})")
        if name == "sqrt":
            degree = self.take(_DEGREE)
            if degree:
                return _Piece(f"ROOT_{degree[1].upper()}({self.argument()})", word=True)
            return _Piece(f"√({self.argument()})")
        if name in ("pmod", "pod"):
            return _Piece(f"(MOD {self.argument()})")
        if name == "tag":
            return _Piece(f" ({self.argument()})")
        if name in ACCENTS:
            return _Piece(f"{name.upper()}({self.argument()})", word=True)
        if name in WORDS:
            return _Piece(self.words(), word=True)
        if name in ALPHABETS:
            letter = self.take(_ONE_LETTER)
            if letter:
                return _Piece(self.symbols.capital(f"\\{name}{{{letter[1]}}}", letter[1].upper()))
            return _Piece(self.argument(), word=True)
        if name in WRAPPERS:
            return _Piece(self.argument(), word=True)
        if name == "not":
            negated = NEGATED.get(self.argument())
            if negated:
                return _Piece(negated)
        raise Rejected("unknown LaTeX command", f"\\{name}")

    def environment(self) -> _Piece:
        braced = self.take(_BRACED)
        name = braced[1] if braced else ""
        if name.removesuffix("*") not in ENVIRONMENTS:
            raise Rejected("unknown LaTeX environment", name)
        if name == "array":
            self.take(_BRACED)  # the layout of its columns
        opening, between_cells, between_rows, closing = ENVIRONMENTS[name.removesuffix("*")]
        end, row_end = f"\\end{{{name}}}", "\\\\"
        rows: list[list[str]] = [[]]
        while not self.latex.startswith(end, self.at):
            if not self.peek() or self.peek() == "}":
                raise self.unbalanced()
            rows[-1].append(self.sequence("&", row_end, end).strip())
            if self.latex.startswith(row_end, self.at):
                self.at += len(row_end)
                rows.append([])
            elif self.peek() == "&":
                self.at += 1
        self.at += len(end)
        written = [between_cells.join(row) for row in rows]
        return _Piece(opening + between_rows.join(row for row in written if row) + closing, word=True)


def _bracketed(text: str) -> str:
    """Put round brackets around anything but one number, one letter or name, one sign, or what has them."""
    simple = re.fullmatch(r"\w+|\d+\.\d+|[^\w\s]|\([^()]*\)", text)
    return text if simple else f"({text})"


def _join(pieces: list[_Piece]) -> str:
    """Join pieces: words apart from their neighbours, and brackets around a fraction that has neighbours."""
    out = ""
    for place, piece in enumerate(pieces):
        text = piece.text
        if piece.fraction:
            before = out.rstrip()[-1:]
            after = next((p.text.lstrip()[0] for p in pieces[place + 1 :] if p.text.strip()), "")
            if before.isdigit() and re.fullmatch(r"\d+/\d+", text):  # a mixed number: 3 1/2
                out = out.rstrip() + " "
            elif not OPERATORS.issuperset(before + after):
                text = f"({text})"
        apart = piece.word or (place > 0 and pieces[place - 1].word)
        if apart and out[-1:].isalnum() and text[:1].isalnum():
            out += " "
        out += text[1:] if out.endswith(" ") and text.startswith(" ") else text
    return out
