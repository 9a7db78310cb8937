"""How long a text is."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import islice

from .base import Constraint, Span, Verdict, broken, constraint, followed
from .language import vacuous
from .text import Text, full_sentences, word_count, word_tokens

RELATIONS = ("less than", "at least")
TOO_LARGE = 10**9  # no text has that many of anything


def relation_holds(count: int, relation: str, limit: float) -> bool:
    """`count` compared with `limit`: "less than" is strict, "at least" is not."""
    return count < limit if relation == "less than" else count >= limit


def relation_score(count: int, relation: str, limit: float) -> float:
    """How close `count` comes: 1 when the relation holds, else the share of what is asked."""
    if relation_holds(count, relation, limit):
        return 1.0
    return max(limit - 1, 0) / count if relation == "less than" else count / limit


def whole_number(value: object, least: int) -> bool:
    """Whether a value is a whole number of at least `least`, below `TOO_LARGE`; 3.0 is one, True none."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return number and least <= value < TOO_LARGE and value == value // 1


def judge_count(spans: list[Span], relation: str, limit: int, thing: str) -> Verdict:
    """Verdict on a number of things; spans mark those that are too many."""
    count = len(spans)
    reason = f"{thing}: {count}, and it takes {relation} {limit}"
    if relation_holds(count, relation, limit):
        return followed(reason)
    extra = spans[max(limit - 1, 0) :] if relation == "less than" else []
    return broken(relation_score(count, relation, limit), reason, extra)


def judge_number(
    count: int, relation: str, limit: int, thing: str, places: Iterable[re.Match[str]]
) -> Verdict:
    """As `judge_count`, for things so many that their places are looked up only where they are too many."""
    reason = f"{thing}: {count}, and it takes {relation} {limit}"
    if relation_holds(count, relation, limit):
        return followed(reason)
    extra = islice(places, max(limit - 1, 0), None) if relation == "less than" else ()
    return broken(relation_score(count, relation, limit), reason, (place.span() for place in extra))


@constraint("length_constraint_checkers:number_words")
class NumberWords(Constraint):
    """Fewer than a number of words ("less than" is strict), or at least that many.

    ReasonIF has no relation and means "less than". `num_words` may be a number, or a string of digits as it
    comes out of some Parquet files.
    """

    wording = (
        "When {acting}, respond with {relation} {num_words} words.",
        "Your {text} must have {relation} {num_words} words.",
        "Use {relation} {num_words} words in your {text}.",
        "The number of words in your {text} has to be {bound}.",
        "Mind the length of your {text}: {relation} {num_words} words.",
        "Write {relation} {num_words} words when {acting}.",
    )

    num_words: int | float | str
    relation: str | None = None

    def validate(self) -> None:
        valid = not isinstance(self.num_words, bool)
        try:
            number = float(self.num_words)
        except (TypeError, ValueError, OverflowError):
            valid = False
        valid = valid and 0 <= number < TOO_LARGE and number == int(number)
        self.require(valid, "num_words", "a whole number of words")
        self.require(self.relation in (None, *RELATIONS), "relation", " or ".join(map(repr, RELATIONS)))

    @property
    def limit(self) -> int:
        """`num_words` as an integer."""
        return int(float(self.num_words))

    def wording_values(self) -> dict[str, object]:
        relation = self.relation or "less than"
        bound = f"below {self.limit}" if relation == "less than" else f"{self.limit} or more"
        return {"num_words": self.limit, "relation": relation, "bound": bound}

    def robust(self, text: Text) -> Verdict:
        if (empty := vacuous(text, self.target)) is not None:
            return empty
        return judge_words(self, text.once(word_count), text.raw)


@constraint("length_constraints:number_words")
class ResponseWords(Constraint):
    """IFEval's number of words: less than ("less than" is strict), or at least."""

    published_response = "Answer with {relation} {num_words} words."
    wording = (
        "When {acting}, use {relation} {num_words} words.",
        "Your {text} must have {relation} {num_words} words.",
        "The length of your {text} has to be {relation} {num_words} words.",
        "Write {relation} {num_words} words in your {text}.",
        "Keep count of the words in your {text}: {relation} {num_words}.",
    )

    num_words: int
    relation: str

    def validate(self) -> None:
        self.require(whole_number(self.num_words, least=1), "num_words", "a whole number of at least 1")
        self.require(self.relation in RELATIONS, "relation", " or ".join(map(repr, RELATIONS)))

    @property
    def limit(self) -> int:
        """`num_words` as an integer."""
        return int(self.num_words)

    def wording_values(self) -> dict[str, object]:
        return {"num_words": self.limit, "relation": self.relation}

    def robust(self, text: Text) -> Verdict:
        if (empty := vacuous(text, self.target)) is not None:
            return empty
        return judge_words(self, text.once(word_count), text.raw)


@constraint("length_constraints:number_sentences")
class NumberSentences(Constraint):
    """Less than, or at least, a number of sentences; see `text.full_sentences` for what is one."""

    published_response = "Your response should contain {relation} {num_sentences} sentences."
    wording = (
        "When {acting}, write {relation} {num_sentences} sentences.",
        "Your {text} must consist of {relation} {num_sentences} sentences.",
        "Use {relation} {num_sentences} sentences in your {text}.",
        "The number of sentences in your {text} has to be {relation} {num_sentences}.",
        "Count the sentences of your {text}: there should be {relation} {num_sentences}.",
    )

    num_sentences: int
    relation: str

    def validate(self) -> None:
        valid = whole_number(self.num_sentences, least=1)
        self.require(valid, "num_sentences", "a whole number of at least 1")
        self.require(self.relation in RELATIONS, "relation", " or ".join(map(repr, RELATIONS)))

    def wording_values(self) -> dict[str, object]:
        return {"num_sentences": int(self.num_sentences), "relation": self.relation}

    def robust(self, text: Text) -> Verdict:
        if (empty := vacuous(text, self.target)) is not None:
            return empty
        sentences = text.once(full_sentences)
        if not sentences:
            return broken(0.0, "there is no sentence in it")
        return judge_count(sentences, self.relation, int(self.num_sentences), "sentences")


def judge_words(constraint: NumberWords | ResponseWords, count: int, raw: str) -> Verdict:
    """Verdict on a number of words; spans mark what goes beyond the limit."""
    relation, limit = constraint.relation or "less than", constraint.limit
    if not count:
        return broken(0.0, "there is no word in it")
    if relation_holds(count, relation, limit):
        return followed(
            f"{count} words; the limit is {limit}" if relation == "less than" else f"{count} words"
        )
    if relation == "at least":
        return broken(count / limit, f"{count} words; at least {limit} are needed")
    reason = f"{count} words; the limit is {limit}, and it takes fewer than that"
    return broken(relation_score(count, relation, limit), reason, _beyond(raw, limit))


def _beyond(raw: str, limit: int) -> list[Span]:
    """The text from the word on that is one too many."""
    count = 0
    for start, _, words in word_tokens(raw):
        count += words
        if count >= limit:
            return [(start, len(raw.rstrip()))]
    return []
