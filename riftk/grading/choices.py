"""Read the letter of a multiple-choice answer, or the label of a classification."""

from __future__ import annotations

import re
import unicodedata

from riftk.grading.notation import strip_markdown

_TAIL = 2000  # characters read from the end of a response
_BPE = str.maketrans("Ġ▁", "  ")
_LETTER_BEHIND = (
    r"\b(?:[^\S\n]+(?:is|to|the|this|question|correct|best|final|option|choice|letter|should|must|be|would|will"
    r"|therefore|thus))*[^\S\n]*[:=]?\s*(?:\\(?:text|mathrm|boxed)\s*\{)?[\s(\[{\"'“]*([A-Z])(?![\w'’])"
)
_ANSWER = re.compile(r"\banswer" + _LETTER_BEHIND, re.IGNORECASE)
_OPTION = re.compile(r"\b(?:option|choice|choose|select|pick)" + _LETTER_BEHIND, re.IGNORECASE)
_FIRST = re.compile(r"[\W_]*([A-Z])\s*[).:\]]")
_ALONE = re.compile(r"[\W_]*(?:\\(?:text|mathrm|mathbf)\s*\{)?[\W_]*([A-Za-z])[\W_]*")
_STANDING = re.compile(r"(?<![A-Za-z0-9'’])([A-Z])(?![A-Za-z0-9'’])")
_ARTICLE = re.compile(r"\s+(?!(?:or|and|is|was|seems|would|must|because|since|as)\b)[a-z]")
_LABEL_SETS = (("positive", "negative"), ("yes", "no"), ("true", "false"))
_NEGATION = re.compile(r"\b(?:not|isn't|never|neither|nor|non)[\s-]+(?:\w+\s+)?$", re.IGNORECASE)


def choice(text: str, letters: str = "ABCD") -> str | None:
    """The option that a text chooses, as a capital letter of `letters`; None where it names none or several.

    A letter by itself in either case ("c", "**B**", "Ｂ"), the letter behind the last "answer is" or
    "option", the letter in front of an option ("(B) sound"), else the only standing capital letter. "A" in
    front of a lower-case word is the article ("I" the pronoun).
    """
    text = strip_markdown(unicodedata.normalize("NFKC", text[-_TAIL:]).translate(_BPE)).strip()
    alone = _ALONE.fullmatch(text)
    if alone:
        return _among(alone[1], letters)
    stated = [m[1] for m in _ANSWER.finditer(text) if not _is_article(m, text)]
    if stated:
        return _among(stated[-1], letters)
    options = {m[1].upper() for m in _OPTION.finditer(text) if not _is_article(m, text)}
    if len(options) == 1:
        return _among(options.pop(), letters)
    first = _FIRST.match(text)
    if first:
        return _among(first[1], letters)
    standing = {m[1] for m in _STANDING.finditer(text) if m[1] in letters and not _is_article(m, text)}
    return standing.pop() if len(standing) == 1 else None


def _among(letter: str, letters: str) -> str | None:
    return letter.upper() if letter.upper() in letters else None


def _is_article(match: re.Match[str], text: str) -> bool:
    return match[1] in "AaI" and bool(_ARTICLE.match(text, match.end(1)))


def label(text: str, labels: tuple[str, ...] = ()) -> str | None:
    """The last of `labels` that stands in the text as a whole word, in lower case; None where it is negated.

    Args:
        text: response or answer.
        labels: possible labels; by default those of sentiment, yes/no and true/false questions.
    """
    wanted = labels or tuple(word for pair in _LABEL_SETS for word in pair)
    text = strip_markdown(unicodedata.normalize("NFKC", text[-_TAIL:]).translate(_BPE))
    words = "|".join(re.escape(word) for word in wanted)
    found = list(re.finditer(rf"(?<!\w)(?:{words})(?!\w)", text, re.IGNORECASE))
    if not found or _NEGATION.search(text, max(0, found[-1].start() - 40), found[-1].start()):
        return None
    return found[-1][0].lower()


def labels_of(gold: str) -> tuple[str, ...]:
    """The labels among which a gold label was chosen: the known set that it is of, else itself alone."""
    gold = gold.strip().lower()
    return next((labels for labels in _LABEL_SETS if gold in labels), (gold,))
