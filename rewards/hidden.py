"""Characters and markup that a checker reads and a person does not see, or the other way round."""

from __future__ import annotations

import re

from riftk.constraints.text import UNSPACED, beyond_ascii

_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_CONTROL_BYTES = bytes(code for code in range(128) if _CONTROL.match(chr(code)))
# Invisible between any two characters; U+200B sets word borders in Thai, Khmer, Lao and Burmese.
_UNSEEN = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180e\u2060-\u2064\u206a-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb"
    "\U0001d173-\U0001d17a\U000e0000-\U000e007f"
)
_INVISIBLE = re.compile(f"[{_UNSEEN}]")
_ZERO_WIDTH_SPACE = re.compile("\u200b")
_JOINER = re.compile("(?<=[A-Za-z0-9\u0400-\u04ff])[\u200c\u200d]|[\u200c\u200d](?=[A-Za-z0-9\u0400-\u04ff])")
_OVERRIDE = re.compile("[\u202d\u202e]")
_DIRECTION = re.compile("[\u200e\u200f\u202a-\u202c\u2066-\u2069]")
_RIGHT_TO_LEFT = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")
_UNSPACED = re.compile(f"[{UNSPACED}]")
_VARIANT = re.compile("(?<=[^\\W\\d_])[\ufe00-\ufe0f]")
_STACKED = re.compile("[\u0300-\u036f]{4}")
_OVERLAID = re.compile("[\u0335-\u0338\u0326]")  # strokes over a letter, a comma below
_MANY = 4

# Letters of other alphabets that look like Latin ones, inside or instead of a Latin word.
_CYRILLIC_TWINS = "аеорсухіјѕԁһқԛԝАВЕКМНОРСТУХІЈЅ"
_GREEK_TWINS = "οΑΒΕΖΗΙΚΜΝΟΡΤΥΧ"
_TWIN_IN_WORD = re.compile(
    f"[A-Za-z][{_CYRILLIC_TWINS}]|[{_CYRILLIC_TWINS}][A-Za-z]|[a-z][{_GREEK_TWINS}][a-z]"
)
# Phonetic letters, Cyrillic, Armenian, Cherokee and Roman numerals; no language that can be asked for writes
# words with such letters and Latin ones.
_ODD = (
    "\u0250-\u02af\u0400-\u04ff\u0531-\u0587\u13a0-\u13f5\u1d00-\u1d7f\u2160-\u217f\u2c60-\u2c7f\ua7ae"
    "\ua730\ua731"
)
_ODD_IN_WORD = re.compile(f"[A-Za-z][{_ODD}]|[{_ODD}][A-Za-z]|[\u1d00-\u1d7f]{{2}}")
_TWIN_WORD = re.compile(rf"(?<!\w)[{_CYRILLIC_TWINS}]{{2,}}(?!\w)")
_CYRILLIC = re.compile("[\u0400-\u04ff]")
_STYLES = "\uff21-\uff3a\uff41-\uff5a\U0001d400-\U0001d7cb\U0001f130-\U0001f189Ⓐ-ⓩ"
_STYLED = re.compile(f"[{_STYLES}]{{3}}")
_COMMAS = "‚¸⸲⸴⸳ꓹˏˎ⹁𐩸︐ʽ"
_COMMA_TWINS = re.compile(rf"(?<=\w)[{_COMMAS}](?=\s)")
_LATIN = re.compile("[A-Za-z]")
# Whatever the patterns look for; a text without any of it hides nothing.
_SUSPECT = re.compile(
    f"[{_UNSEEN}\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufe00-\ufe0f\u0300-\u036f"
    f"{_CYRILLIC_TWINS}{_GREEK_TWINS}{_STYLES}{_COMMAS}{_ODD}\u2800]"
)

_MARKUP = re.compile(
    r"<!--|\\[hv]?phantom\b|display\s{0,3}:\s{0,3}none|visibility\s{0,3}:\s{0,3}hidden|font-size\s{0,3}:\s{0,3}0"
    r"|\\textcolor\s{0,3}\{white\}|\\color\s{0,3}\{white\}|color\s{0,3}[:=]\s{0,3}[\"']?(?:white|transparent)"
    r"|<(?:span|div|p)\s{1,3}hidden|\\iffalse\b|\\begin\{comment\}|\[//\]:\s{0,3}#|^\[comment\]:|\]:\s{0,3}#\s{0,3}\("
    r"|(?<!\w)!?\[\]\([^)\n]{40}|!\[[^\]\n]{60}|&(?:#44|#x2c|comma);|color\s{0,3}[:=\]{]{0,2}\s{0,3}[\"']?#f{3}"
    r"|^[ \t]{0,9}%[ \t]{0,9}[A-Za-z\\]",
    re.IGNORECASE | re.MULTILINE,
)
_SIGNS = (
    "<!--", "phantom", "isplay", "isibility", "font", "color", "hidden", "iffalse", "{comment}", "[comment]",
    "]: ", "](", "&#", "&comma;", "%",
)  # fmt: skip


def hidden(text: str) -> str | None:
    """What a text hides from its reader, None where nothing.

    Joiners and direction marks that a script needs pass: zero-width spaces in Thai, joiners in Persian and
    Hindi and in emoji, direction marks beside Arabic or Hebrew letters.
    """
    lower = text.lower()
    if any(sign in lower for sign in _SIGNS) and (match := _MARKUP.search(text)) is not None:
        return f"hidden markup: {match[0]!r}"
    ascii_ = text.encode("ascii", "ignore")
    if len(ascii_.translate(None, _CONTROL_BYTES)) < len(ascii_):
        return f"an invisible character: U+{ord(_CONTROL.findall(text)[0]):04X}"
    if not _SUSPECT.search("".join(set(beyond_ascii(text)))):
        return None
    if (match := _INVISIBLE.search(text, 1 if text.startswith("\ufeff") else 0)) is not None:
        return f"an invisible character: U+{ord(match[0]):04X}"
    if _OVERRIDE.search(text) or (_DIRECTION.search(text) and not _RIGHT_TO_LEFT.search(text)):
        return "marks that turn the direction of the text"
    if (_ZERO_WIDTH_SPACE.search(text) and not _UNSPACED.search(text)) or _JOINER.search(text):
        return "invisible characters inside words"
    if _VARIANT.search(text) or _STACKED.search(text) or len(_OVERLAID.findall(text)) >= _MANY:
        return "marks that change letters"
    return _twins(text)


def _twins(text: str) -> str | None:
    """Letters and commas that only look like what they stand for."""
    if (match := _TWIN_IN_WORD.search(text)) is not None:
        return f"letters of two alphabets in one word: {match[0]!r}"
    if (match := _ODD_IN_WORD.search(text)) is not None:
        return f"letters of other alphabets in Latin words: {match[0]!r}"
    if "\u2800" in text:
        return "characters that look like blanks"
    if (match := _STYLED.search(text)) is not None:
        return f"symbols in place of letters: {match[0]!r}"
    if (match := _COMMA_TWINS.search(text)) is not None:
        return f"another character in place of a comma: U+{ord(match[0]):04X}"
    match = _TWIN_WORD.search(text)
    if match is not None and len(_CYRILLIC.findall(text)) * 10 < len(_LATIN.findall(text)):
        return f"a word in look-alike letters: {match[0]!r}"
    return None
