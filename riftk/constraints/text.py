"""Text analysis: what of a text is prose, its words, letters and sentences. The one place for such rules.

Functions take a plain `str` and are linear in its length. Those that take something away put blanks in its
place, so that offsets into their result are offsets into the text.
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import NamedTuple, TypeVar

_LATEST = 4  # texts of which is remembered what other analyses start from

T = TypeVar("T")
Span = tuple[int, int]


class Text:
    """A text together with what has been found out about it, each analysis made once.

    `text.once(words)` is `words(text.raw)`, computed at the first call and shared by all constraints.
    """

    __slots__ = ("_known", "raw")

    def __init__(self, raw: str):
        self.raw = raw
        self._known: dict[Callable[[str], object], object] = {}

    def once(self, analyse: Callable[[str], T]) -> T:
        """Return `analyse(raw)`. Two threads may both compute it; they find the same."""
        if analyse not in self._known:
            self._known[analyse] = analyse(self.raw)
        return self._known[analyse]  # type: ignore[return-value]


# ---------------------------------------------------------------------------------------- letters

HAN = "\u3005\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af"
KANA = "\u3041-\u309f\u30a1-\u30ff\u31f0-\u31ff\uff66-\uff9f"
HANGUL = "\u1100-\u11ff\u3131-\u318e\uac00-\ud7af"
UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao, Burmese, Khmer: no blanks between words

_DENSE = re.compile(f"[{HAN}{KANA}{HANGUL}]")
_LETTERS = re.compile(r"[^\W\d_]+")
_ASCII = bytes(range(128))
_ASCII_LETTERS = string.ascii_letters.encode()


def letter_runs(text: str) -> Iterator[re.Match[str]]:
    """Runs of letters, of any script."""
    return _LETTERS.finditer(text)


def ascii_letter_count(text: str) -> int:
    """Number of letters from a to z, small and capital."""
    data = text.encode("ascii", "ignore")
    return len(data) - len(data.translate(None, _ASCII_LETTERS))


def beyond_ascii(text: str) -> str:
    """The characters of a text that are not ASCII: mostly few, so that slow looks at each are cheap."""
    if text.isascii():
        return ""
    return text.encode("utf-8", "surrogatepass").translate(None, _ASCII).decode("utf-8", "surrogatepass")


def all_letters(text: str) -> int:
    """Number of letters, of any script, each counted once."""
    return ascii_letter_count(text) + sum(map(str.isalpha, beyond_ascii(text)))


def letter_count(text: str) -> int:
    """Number of letters; a Chinese, Japanese or Korean one says as much as two and counts twice."""
    others = beyond_ascii(text)
    return ascii_letter_count(text) + sum(map(str.isalpha, others)) + len(_DENSE.findall(others))


# ------------------------------------------------------------------------------------------ words

_ALNUM = re.compile(r"[^\W_]")
_TOKEN = re.compile(r"\S+")
_ONE_WORD_EACH = re.compile(f"[{HAN}{KANA}]")
_UNSPACED = re.compile(f"[{UNSPACED}]")
_LONGEST_WORD = 24  # alphanumerics; longer tokens are several words without the blanks
_UNSPACED_WORD = 5  # letters of an average word in scripts that set no blanks


def words_in_token(token: str) -> int:
    """Words in a token without blanks: each Chinese or Japanese character is one, "don't" and "3.14" are one.

    A token of more than 24 letters and digits counts once per 24: leaving out the blanks gains nothing.
    """
    if token.isascii() and len(token) <= _LONGEST_WORD:
        return 1 if token.isalnum() or _ALNUM.search(token) else 0
    characters = len(_ONE_WORD_EACH.findall(token))
    unspaced = len(list(filter(str.isalnum, _UNSPACED.findall(token))))
    rest = sum(map(str.isalnum, token)) - characters - unspaced
    return characters - (-unspaced // _UNSPACED_WORD) - (-max(rest, 0) // _LONGEST_WORD)


def word_tokens(text: str) -> Iterator[tuple[int, int, int]]:
    """Yield (start, end, words) for each token between blanks that holds a word; tags are no words."""
    for match in _TOKEN.finditer(without_tags(text)):
        count = words_in_token(match.group())
        if count:
            yield match.start(), match.end(), count


def word_count(text: str) -> int:
    """Number of words as a reader counts them; see `words_in_token`."""
    return sum(map(words_in_token, without_tags(text).split()))


def words(text: str) -> list[str]:
    """The tokens between blanks that hold a word."""
    plain = without_tags(text)
    return [plain[start:end] for start, end, _ in word_tokens(text)]


_NUMBER = re.compile(r"(?<![\w.])-?\d+(?:,\d{3})*(?:\.\d+)?(?!\w)")


def numbers(text: str) -> list[str]:
    """Numbers in the order of the text, thousands separators taken out: "1,200 of 3.5" -> 1200, 3.5."""
    return [number.replace(",", "") for number in _NUMBER.findall(text)]


# -------------------------------------------------------------------------------------- sentences

_END = ".!?…:。．！？：؟।॥"
_SENTENCE = re.compile(rf"[^{_END}\n]++(?:(?<=\d)[.:](?=\d)[^{_END}\n]++)*+[{_END}]*+[\"'”’»)\]]*+")


def sentences(text: str) -> list[Span]:
    """Spans of sentences, lines and what precedes a colon, outer blanks left out. "3.14" is not split."""
    found = []
    for match in _SENTENCE.finditer(text):
        piece = match.group()
        start = match.start() + len(piece) - len(piece.lstrip())
        end = match.end() - (len(piece) - len(piece.rstrip()))
        if start < end:
            found.append((start, end))
    return found


# ----------------------------------------------------------------------------- markup and formulas

_TAG = re.compile(r"</?[A-Za-z][\w-]{0,40}(?: [^<>\n]{0,200})?/?>|<\|[\w ]{1,40}\|>")
_URL = re.compile(r"\b(?:https?://|www\.)[^\s<>\"]{1,2000}")
_CONTROL = re.compile(r"\\(?:begin|end) ?\{[A-Za-z]{1,20}\*?\}|\\[A-Za-z]+\*?")
_TEXT_COMMAND = re.compile(r"\\(?:text(?:bf|it|rm|sf|tt|sc|normal)?|mbox|textup)\{([^{}$]{0,2000})\}")
_FORMULA_ENVIRONMENT = re.compile(
    r"equation|align(?:ed|at)?|gather(?:ed)?|multline|eqnarray|(?:display)?math|split|cases|array"
    r"|(?:small|[pbvVB])?matrix"
)
_OPENER = re.compile(r"\\begin ?\{([A-Za-z]{1,20})(\*?)\}|\\.|`+|\$\$?", re.DOTALL)
_CLOSERS = {"\\(": "\\)", "\\[": "\\]", "$$": "$$", "```": "```"}


class Region(NamedTuple):
    """A stretch of a text that is no prose: `kind` is "code" or "formula", delimiters included."""

    kind: str
    start: int
    end: int


def blank(text: str, spans: list[Span]) -> str:
    """Put blanks in place of spans (in order, not overlapping), keeping line ends and so all offsets."""
    if not spans:
        return text
    parts, done = [], 0
    for start, end in spans:
        parts.append(text[done:start])
        hidden = text[start:end]
        parts.append(re.sub(r"[^\n]", " ", hidden) if "\n" in hidden else " " * (end - start))
        done = end
    parts.append(text[done:])
    return "".join(parts)


def _blank_matches(pattern: re.Pattern[str], text: str) -> str:
    return blank(text, [match.span() for match in pattern.finditer(text)])


def without_tags(text: str) -> str:
    """Markup such as `<think>`, `</b>`, `<|end|>` blanked out."""
    return _blank_matches(_TAG, text) if "<" in text else text


def without_commands(text: str) -> str:
    r"""LaTeX control words and environment names (`\frac`, `\begin{align}`) blanked out, arguments kept."""
    return _blank_matches(_CONTROL, text) if "\\" in text else text


def _inline_end(text: str, opener: str, start: int) -> int:
    """End of the inline code or formula whose content starts at `start`, or -1 where it is none."""
    close = text.find(opener, start)
    while opener == "$" and close > 0 and text[close - 1] == "\\":
        close = text.find(opener, close + 1)
    if close < 0 or close == start or text.find("\n", start, close) >= 0:
        return -1
    if opener == "$" and (
        text[start].isspace() or text[close - 1].isspace() or text[close + 1 : close + 2].isdigit()
    ):
        return -1  # as in Pandoc, so that "$5 and $6" is money
    return close + 1


@lru_cache(maxsize=_LATEST)
def regions(text: str) -> tuple[Region, ...]:
    """Code (fenced or in backticks) and formulas, in order and not overlapping.

    What is opened and never closed is prose: a stray backtick must not hide the rest of a text.
    """
    if not any(mark in text for mark in "\\`$"):
        return ()
    found: list[Region] = []
    missing: set[str] = set()  # closers that do not come any more: a text full of openers is read once
    position = 0
    while match := _OPENER.search(text, position):
        opener, position = match.group(), match.end()
        if opener in ("$", "`"):
            end = _inline_end(text, opener, position)
        else:
            closer = _CLOSERS.get("```" if opener.startswith("```") else opener, "")
            if match.group(1) and _FORMULA_ENVIRONMENT.fullmatch(match.group(1)):
                closer = f"\\end{{{match.group(1)}{match.group(2)}}}"
            if not closer or closer in missing:
                continue
            end = text.find(closer, position)
            if end < 0:
                missing.add(closer)
            else:
                end += len(closer)
        if end > 0:
            found.append(Region("code" if opener[0] == "`" else "formula", match.start(), end))
            position = end
    return tuple(found)


@lru_cache(maxsize=_LATEST)
def prose(text: str) -> str:
    r"""What is natural language: code, formulas, LaTeX control words, tags and URLs blanked out.

    The words in `\text{...}` inside formulas stay.
    """
    hidden: list[Span] = []
    for region in regions(text):
        start = region.start
        if region.kind == "formula":
            for match in _TEXT_COMMAND.finditer(text, region.start, region.end):
                hidden.append((start, match.start(1)))
                start = match.end(1)
        hidden.append((start, region.end))
    plain = without_commands(without_tags(blank(text, hidden)))
    return _blank_matches(_URL, plain) if "://" in plain or "www." in plain else plain


def visible(text: str) -> str:
    """What a reader of the rendered text sees: LaTeX commands, fenced code and URLs blanked out."""
    fenced = [(r.start, r.end) for r in regions(text) if r.kind == "code" and text.startswith("```", r.start)]
    plain = without_commands(blank(text, fenced))
    return _blank_matches(_URL, plain) if "://" in plain or "www." in plain else plain


def formula_spans(text: str) -> list[Span]:
    """Spans of the formulas of a text, delimiters included."""
    return [(region.start, region.end) for region in regions(text) if region.kind == "formula"]


def prose_letters(text: str) -> int:
    """Number of letters of the prose; see `letter_count`."""
    return letter_count(prose(text))


def says_something(text: str) -> bool:
    """Whether a text holds a letter or a digit at all."""
    return _ALNUM.search(text) is not None


# --------------------------------------------------------------------------------- whole sentences

_LINE = re.compile(r"[^\n]+")
_ITEM = re.compile(r"[^\S\n]*(?:#{1,6}|[-*+•>|]|\(?(?:\d{1,3}|[A-Za-z])[.)])(?=\s)")
_HEADING = re.compile(r"[^\S\n]*(?:#|\*\*[^*\n]+\*\*[^\S\n]*$|__[^_\n]+__[^\S\n]*$)")
_STOP = re.compile(
    r"(?<![.!?…])[.!?…]++[\"'”’»)\]*_`]*+(?=\s|\Z)"  # before a blank: "3.14" and "a.b" go on
    r"|[。！？؟۔।॥]++[\"'”’»）)」』*_]*+"
)
# fmt: off
_ABBREVIATIONS = frozenset((
    "mr", "mrs", "ms", "dr", "prof", "rev", "gen", "col", "capt", "lt", "sgt", "st", "mt", "vs", "v", "cf",
    "e.g", "i.e", "approx", "p.s", "p.p.s",
))
# fmt: on
_BEFORE_NUMBERS = frozenset(("no", "nos", "fig", "figs", "eq", "eqs", "vol", "ch", "sec", "p", "pp"))
_SENTENCE_WORD = re.compile(rf"[^\W\d_]{{2}}|[{HAN}{KANA}{HANGUL}{UNSPACED}]")
_LONGEST_ABBREVIATION = 24


def _ends(plain: str, start: int, stop: re.Match[str], caseless: bool) -> bool:
    """Whether a full stop within the block that begins at `start` ends a sentence."""
    marks = stop.group().rstrip("\"'”’»)]*_`")
    if stop.end() < len(plain) and not plain[stop.end()].isspace():
        return True  # of a script that sets no blanks
    after = plain[stop.end() : stop.end() + 80].lstrip("\"'“‘«([*_` \t\n")[:1]
    if after.islower() and (not caseless or marks == "…" or len(marks) > 2):
        return False
    if marks != ".":
        return True
    before = plain[max(start, stop.start() - _LONGEST_ABBREVIATION) : stop.start()].split()
    word = before[-1].lstrip("\"'“‘([*_") if before else ""
    if word.lower() in _ABBREVIATIONS or (word.lower() in _BEFORE_NUMBERS and after.isdigit()):
        return False
    initial = len(word) == 1 and word.isupper() and word != "I"
    return not (initial and after.isupper() and (len(before) == 1 or before[-2][:1].isupper()))


def full_sentences(text: str) -> list[Span]:
    """Spans of the sentences that a reader counts: each holds a word, code and formulas hold none.

    A sentence ends at a full stop (or ? ! … and those of other scripts), at an empty line, and before a list
    item. Abbreviations, initials and numbers of items end none; a heading without a full stop is none.
    """
    plain = prose(text)
    caseless = plain == plain.lower()
    blocks: list[tuple[int, int, bool]] = []  # (start, end, whether a heading)
    previous = -2
    for match in _LINE.finditer(plain):
        line, start = match.group(), match.start()
        if line.isspace():
            continue
        item = _ITEM.match(line)
        heading = _HEADING.match(line) is not None
        goes_on = start == previous + 1 and item is None and not heading and not blocks[-1][2]
        if goes_on:
            blocks[-1] = (blocks[-1][0], match.end(), False)
        else:
            blocks.append((start + (item.end() if item else 0), match.end(), heading))
        previous = match.end()
    found: list[Span] = []
    for start, end, heading in blocks:
        begin = start
        for stop in _STOP.finditer(plain, start, end):
            if _ends(plain, start, stop, caseless):
                found.append((begin, stop.end()))
                begin = stop.end()
        if not heading:
            found.append((begin, end))
    return [
        (start + len(piece) - len(piece.lstrip()), end - len(piece) + len(piece.rstrip()))
        for start, end in found
        if _SENTENCE_WORD.search(piece := plain[start:end])
    ]
