"""Read the letter of a multiple-choice answer, or the label of a classification."""

from __future__ import annotations

import re
import unicodedata

from riftk.grading.notation import strip_markdown

_READ = 2000  # characters read at either end of a response
_SHORT = 12  # words of an answer that an explanation follows
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
_DENIED = re.compile(
    r"[^\w\s]{0,4}\s+(?:isn['’]t|can(?:not|['’]t) be"
    r"|(?:is|are|was|would be)(?:\s+(?:also|clearly|therefore))?\s+(?:wrong|incorrect|false|not))\b",
    re.IGNORECASE,
)
_EXPLANATION = re.compile(
    r"(?:\n[^\S\n]*|(?<=[.!?])[^\S\n]+)[#*_]*(?:brief )?"
    r"(?:explanation|justification|rationale|reason(?:ing)?)[*_]*:",
    re.IGNORECASE,
)
# A line behind an explanation that answers after all.
_ANEW = re.compile(r"^[\s#*_]*(?:(?:my|the) )?(?:final )?(?:answer|output)\b", re.IGNORECASE | re.MULTILINE)
_LABEL_SETS = (("positive", "negative"), ("yes", "no"), ("true", "false"))
_NEGATION = re.compile(r"\b(?:not|isn't|never|neither|nor|non)[\s-]+(?:\w+\s+)?$", re.IGNORECASE)


def choice(text: str, letters: str = "ABCD") -> str | None:
    """The option that a text chooses, as a capital letter of `letters`; None where it names none or several.

    A letter by itself in either case ("c", "**B**", "Ｂ"), the letter behind the last "answer is", a letter
    that is the whole first line, the letter behind "option", the letter in front of an option ("(B) sound"),
    else the only standing capital letter. What stands in front of an explanation is read first; an option
    that "is wrong" is not chosen. "A" in front of a lower-case word is the article ("I" the pronoun).
    """
    short, whole = _before_explanation(text), _folded(text[-_READ:])
    opening = _folded(text[:_READ]).partition("\n")[0]
    return (short and _choice(short, short, letters)) or _choice(whole, opening, letters)


def _choice(text: str, opening: str, letters: str) -> str | None:
    if alone := _ALONE.fullmatch(text):
        return _among(alone[1], letters)
    if stated := _named(_ANSWER, text):
        return _among(stated[-1], letters)
    if alone := _ALONE.fullmatch(opening):
        return _among(alone[1], letters)
    if len(options := {letter.upper() for letter in _named(_OPTION, text)}) == 1:
        return _among(options.pop(), letters)
    if first := _FIRST.match(text):
        return _among(first[1], letters)
    standing = {m[1] for m in _STANDING.finditer(text) if m[1] in letters and not _is_article(m, text)}
    return standing.pop() if len(standing) == 1 else None


def _named(pattern: re.Pattern[str], text: str) -> list[str]:
    """Letters that a text names, without articles and without those that it says are wrong."""
    found = pattern.finditer(text)
    return [m[1] for m in found if not (_is_article(m, text) or _DENIED.match(text, m.end(1)))]


def _folded(text: str) -> str:
    return strip_markdown(unicodedata.normalize("NFKC", text).translate(_BPE)).strip()


def _before_explanation(text: str) -> str:
    """A short answer that an explanation follows ("B\n\nExplanation: A is …"); empty where there is none, or
    where a later line answers anew."""
    head = _folded(text[:_READ])
    mark = _EXPLANATION.search(head)
    if mark is None or len(head[: mark.start()].split()) > _SHORT:
        return ""
    anew = _ANEW.search(head, mark.end()) or (len(text) > _READ and _ANEW.search(text, len(text) - _READ))
    return "" if anew else head[: mark.start()].strip()


def _among(letter: str, letters: str) -> str | None:
    return letter.upper() if letter.upper() in letters else None


def _is_article(match: re.Match[str], text: str) -> bool:
    return match[1] in "AaI" and bool(_ARTICLE.match(text, match.end(1)))


def label(text: str, labels: tuple[str, ...] = ()) -> str | None:
    """The last of `labels` that stands in the text as a whole word, in lower case; None where it is negated.

    Labels in front of an explanation count before those in it: it tells what the text is really about.

    Args:
        text: response or answer.
        labels: possible labels; by default those of sentiment, yes/no and true/false questions.
    """
    words = "|".join(re.escape(word) for word in labels or (word for pair in _LABEL_SETS for word in pair))
    pattern = re.compile(rf"(?<!\w)(?:{words})(?!\w)", re.IGNORECASE)
    for part in (_before_explanation(text), _folded(text[-_READ:])):
        if found := list(pattern.finditer(part)):
            negated = _NEGATION.search(part, max(0, found[-1].start() - 40), found[-1].start())
            return None if negated else found[-1][0].lower()
    return None


def labels_of(gold: str) -> tuple[str, ...]:
    """The labels among which a gold label was chosen: the known set that it is of, else itself alone."""
    gold = gold.strip().lower()
    return next((labels for labels in _LABEL_SETS if gold in labels), (gold,))
