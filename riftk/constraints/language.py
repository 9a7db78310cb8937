"""The language of a text."""

from __future__ import annotations

import re
from itertools import islice

from . import languages
from .base import Constraint, Verdict, broken, constraint, followed
from .text import Text, all_letters, prose, prose_letters

MIN_LETTERS = 16  # prose letters without which a trace is no trace; see `vacuous`
MIN_RESPONSE_LETTERS = 6
MIN_RESPONSE_WORDS = 3
_WORD = re.compile(r"[^\W\d_]\w*[^\W\d_]")


def vacuous(text: Text, target: str) -> Verdict | None:
    """The verdict on a trace too empty to follow anything, None for a text that says enough.

    A trace of "..." obeys every prohibition and reasons about nothing (ReasonIF robust rules).
    """
    if not text.raw.strip():
        return broken(0.0, f"the {target} is empty")
    if target == "reasoning" and (letters := text.once(prose_letters)) < MIN_LETTERS:
        return broken(0.0, f"{letters} letters of prose are no reasoning; at least {MIN_LETTERS} are needed")
    return None


def judge_language(text: Text, code: str, name: str, target: str) -> Verdict:
    """Whether the prose of a text is in one language: its script, then passage by passage.

    At most a tenth of the letters may stand in passages of another language, and at least one passage must
    be identified as the right one: what cannot be decided does not pass.
    """
    if (empty := vacuous(text, target)) is not None:
        return empty
    plain = text.once(prose)
    own, other = languages.own_letters(plain, code)
    spaced = code not in ("zh", "ja", "th")
    if own < MIN_RESPONSE_LETTERS or (spaced and _few_words(plain)):
        return broken(0.0, f"too little {name} prose to tell the language: {own} letters")
    hidden = text.once(all_letters) - all_letters(plain)
    if hidden > 4 * (own + other):
        return broken(
            0.0, f"only {own + other} of {own + other + hidden} letters are prose outside code and formulas"
        )
    share = own / (own + other)
    passages = text.once(languages.passages)
    foreign = [p for p in passages if languages.is_foreign(p, plain, code)]
    letters = sum(p.letters for p in passages)
    foreign_share = sum(p.letters for p in foreign) / letters
    spans = [(p.start, p.end) for p in foreign]
    score = min(share, 1 - foreign_share)
    if other > languages.MAX_FOREIGN_SCRIPT[target] * (own + other):
        return broken(score, f"{other} of {own + other} letters are not of the script of {name}", spans)
    if foreign_share > languages.MAX_FOREIGN_SHARE:
        first = plain[spans[0][0] : spans[0][1]].split()
        return broken(
            score,
            f"{foreign_share:.0%} of the prose is not {name}, first: {' '.join(first)[:60]!r}",
            spans,
        )
    if not any(p.language == code for p in passages):
        return broken(score * 0.5, f"no passage can be identified as {name}")
    return followed(f"{1 - foreign_share:.0%} of the prose is {name}")


def _few_words(prose: str) -> bool:
    """Whether there are fewer words of two letters than tell a language."""
    return len(list(islice(_WORD.finditer(prose), MIN_RESPONSE_WORDS))) < MIN_RESPONSE_WORDS


@constraint("language:reasoning_language")
class ReasoningLanguage(Constraint):
    """The whole text is in one of the seven languages of ReasonIF."""

    wording = (
        "When {acting}, respond only in {name} language, no other language is allowed.",
        "Write your {text} entirely in {name}.",
        "Your whole {text} must be in {name}; do not switch to any other language.",
        "Use {name} and nothing but {name} in your {text}.",
        "The only language allowed in your {text} is {name}.",
        "Please do all of your {acting} in {name}, from the first word to the last.",
    )

    language: str
    target: str = "reasoning"

    def validate(self) -> None:
        known = languages.REASONIF_LANGUAGES
        self.require(self.language in tuple(known), "language", f"one of {', '.join(known)}")

    @property
    def name(self) -> str:
        """English name of the language."""
        return languages.REASONIF_LANGUAGES[self.language]

    def wording_values(self) -> dict[str, str]:
        return {"name": self.name}

    def robust(self, text: Text) -> Verdict:
        return judge_language(text, self.language, self.name, self.target)


@constraint("language:response_language")
class ResponseLanguage(Constraint):
    """The whole text is in one of the thirty languages of MathIF and IFEval."""

    # MathIF's sentence ends with a blank, in its data too.
    published_response = "Your answer should be in {name} language, no other language is allowed. "
    wording = (
        "When {acting}, use only the {name} language, no other language is allowed.",
        "Write your {text} entirely in {name}.",
        "Your whole {text} has to be in {name}, without a word of any other language.",
        "Only {name} is allowed in your {text}.",
        "Please give your complete {text} in the {name} language.",
    )

    language: str

    def validate(self) -> None:
        known = languages.MATHIF_LANGUAGES
        self.require(self.language in tuple(known), "language", f"one of {', '.join(known)}")

    @property
    def name(self) -> str:
        """English name of the language."""
        return languages.MATHIF_LANGUAGES[self.language]

    def wording_values(self) -> dict[str, str]:
        return {"name": self.name}

    def robust(self, text: Text) -> Verdict:
        return judge_language(text, self.language, self.name, self.target)
