"""Bring mathematical notation to one form: typographic signs, digits of other scripts, LaTeX layout."""

from __future__ import annotations

import re
import unicodedata
from functools import partial

_SIGNS = str.maketrans("−﹣－‐‑—×·⋅∙÷∕⁄≈≅≃ˆ﹪٪٬٫", "-----–****///===^%%,.")
_SUPERSCRIPT = re.compile("[⁻⁺]?[⁰¹²³⁴⁵⁶⁷⁸⁹]+")
_SUPERSCRIPT_DIGITS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺", "0123456789-+")
_VULGAR = re.compile("[¼½¾⅐-⅞]")
_NARROW_THOUSANDS = re.compile("(?<=\\d)[\u00a0\u2009\u202f'’](?=\\d{3}(?!\\d))")
_MARKDOWN = re.compile(r"(?<!\w)\*\*|\*\*(?!\w)|(?<!\w)__|__(?!\w)|`+|^\s*\*(?=\w)|(?<=\w)\*[.\s]*$")


def fold_signs(text: str) -> str:
    """ASCII forms of minus signs, operators, superscripts, vulgar fractions, full-width and non-Latin digits.

    En dashes stay (between numbers they mean a range); narrow blanks between thousands become commas.
    """
    if text.isascii():
        return text
    text = _VULGAR.sub(lambda m: f" {unicodedata.normalize('NFKC', m[0])} ", text)
    text = _SUPERSCRIPT.sub(lambda m: "^" + m[0].translate(_SUPERSCRIPT_DIGITS), text)
    text = _NARROW_THOUSANDS.sub(",", text)
    text = unicodedata.normalize("NFKC", text.translate(_SIGNS)).translate(_SIGNS)
    return "".join(str(unicodedata.decimal(c)) if c.isdecimal() and not c.isascii() else c for c in text)


def strip_markdown(text: str) -> str:
    """Text without emphasis marks and back-ticks."""
    return _MARKDOWN.sub("", text)


_WRAPPER = re.compile(
    r"\\(?:text(?:bf|it|rm|sf|tt|normal|up)?|math(?:rm|bf|it|sf|tt|cal|bb|normal)|[mhf]box|boxed|operatorname|boldsymbol"
    r"|emph|underline|bm)\s*\{([^{}]*)\}"
)
_LAYOUT = (
    (re.compile(r",\\!\s*"), ","),
    (re.compile(r"\\!"), ""),
    (re.compile(r"\{,\}"), ","),
    (re.compile(r"(?<=\d)\\[,;: ](?=\d{3}(?!\d))"), ","),
    (
        re.compile(
            r"(?<!\\)\\[,;: >]|~"
            r"|\\(?:q?quad|thinspace|enspace|nobreakspace|hfill|displaystyle|limits)(?![A-Za-z])"
        ),
        " ",
    ),
    (re.compile(r"\\(?:left|right|[bB]igg?[lr]?)(?![A-Za-z])\.?"), ""),
    (re.compile(r"\\(?:d|t|c)frac(?![A-Za-z])"), r"\\frac"),
    (re.compile(r"\\frac\s*(\d)\s*(\d)"), r"\\frac{\1}{\2}"),
    (re.compile(r"\\frac\s*(\d)\s*\{"), r"\\frac{\1}{"),
    (re.compile(r"(\\frac\s*\{[^{}]*\})\s*(\d)"), r"\1{\2}"),
    (re.compile(r"\^\s*\{?\s*\\(?:circ|degree)(?![A-Za-z])\s*\}?|\\degree(?![A-Za-z])|[°º]"), r"\\degree "),
    (re.compile(r"\\([$%#&])"), r"\1"),
    (re.compile(r"\\(?:dots|ldots|cdots)(?![A-Za-z])"), "..."),
    (re.compile(r"(\\(?:begin|end)\{)[bB](?=matrix)"), r"\1p"),
    (re.compile(r"\\([A-Z]{2,})(?![a-z])"), lambda m: "\\" + m[1].lower()),  # of answers in capitals
)


def fold_layout(text: str) -> str:
    """LaTeX without spacing and sizing; one spelling of fractions, thousands, degrees and escapes."""
    text = fold_signs(text)
    if "\\" in text or "{" in text or "~" in text or not text.isascii():
        for pattern, form in _LAYOUT:
            text = pattern.sub(form, text)
    return text


def unwrap_text(text: str) -> str:
    """Text with the contents of \\text{…}, \\mathrm{…} and their like in place of the commands."""
    for _ in range(8):  # from the innermost outwards
        unwrapped = _WRAPPER.sub(r" \1 ", text)
        if unwrapped == text:
            break
        text = unwrapped
    return text


_TIMES = re.compile(r"\\(?:times|cdot|ast)(?![A-Za-z])|(?<=\d)\s*[xX]\s*(?=10\s*\^)|(?<=\d)\s+[xX]\s+(?=\d)")
_DIVIDE = re.compile(r"\\div(?![A-Za-z])")
_EQUALS = re.compile(r"\\(?:approx|simeq|cong|equiv)(?![A-Za-z])")
_PMOD = re.compile(r"\\[pb]?mod(?![A-Za-z])")
_MIXED = re.compile(
    r"(?<![\d./\w])(\d{1,9})\s*(?:\\frac\s*\{(\d{1,9})\}\s*\{(\d{1,9})\}|(?<=\s)(\d{1,9})\s*/\s*(\d{1,9}))(?![\d/])"
)
_FRACTION = re.compile(r"\\frac\s*\{([^{}]*)\}\s*\{([^{}]*)\}")
_EXPONENT = re.compile(r"\^\s*\{([^{}]*)\}")
_UNIT_POWER = re.compile(r"\^\(?-?\d+\)?")
_UNIT_BEFORE = re.compile(r"[\d)}]\s*$")
_REPEATING = re.compile(r"(?<![\d.])(\d{0,30})\.(\d{0,30})\\(?:overline|bar)\s*\{\s*(\d{1,30})\s*\}")
_OHM = re.compile(r"(?<=\d)\s*\\Omega(?![A-Za-z])")
_DELIMITER = re.compile(r"(?<!\\)\\[()\[\]]")
_SPACED_MONEY = re.compile(r"\$\d{1,3}(?: \d{3})+(?!\d)")
_SPACED_THOUSANDS = re.compile(r"(\D*\d{1,3})((?: \d{3})+)((?:\.\d+)?\D*)")


def plain_number(text: str) -> str:
    """Notation for the number parser: infix arithmetic instead of LaTeX, what is no number left as it is."""
    text = _OHM.sub(" ohm ", fold_layout(strip_markdown(text)).replace("\\degree", " degrees "))
    text = _SPACED_MONEY.sub(lambda m: m[0].replace(" ", ""), text).replace("$", " ")
    text = _DELIMITER.sub(" ", text)
    text = _PMOD.sub(" mod ", _EQUALS.sub("=", _DIVIDE.sub("/", _TIMES.sub("*", text))))
    text = _REPEATING.sub(_repeating, _MIXED.sub(_mixed, text))
    for _ in range(8):  # from the innermost braces outwards
        before = text
        text = _WRAPPER.sub(partial(_unwrapped, text), text)
        text = _FRACTION.sub(r"((\1)/(\2))", text)
        text = _EXPONENT.sub(r"^(\1)", text)
        if text == before:
            break
    spaced = _SPACED_THOUSANDS.fullmatch(text)
    return spaced[1] + spaced[2].replace(" ", "") + spaced[3] if spaced else text


def _mixed(match: re.Match[str]) -> str:
    whole, over, under = match[1], match[2] or match[4], match[3] or match[5]
    return f"({whole}+{over}/{under})" if int(over) < int(under) else match[0]


def _repeating(match: re.Match[str]) -> str:
    """0.1\\overline{6} as (16 - 1) / (100 - 10)."""
    whole, fixed, period = match[1] or "0", match[2], match[3]
    over = int(whole + fixed + period) - int(whole + fixed)
    return f"({over}/{10 ** len(fixed + period) - 10 ** len(fixed)})"


def _unwrapped(text: str, match: re.Match[str]) -> str:
    """Content of \\text{…}; words behind a number are its unit, which may be a single letter."""
    content = match[1].strip(" ~")
    digits = any(c.isdigit() for c in _UNIT_POWER.sub("", content))
    is_unit = not digits and _UNIT_BEFORE.search(text, max(0, match.start() - 8), match.start())
    return " units " if content and is_unit and not _LINKS.search(content) else f" {content} "


_LINKS = re.compile(r"\b(?:and|or|to|if|when)\b")
