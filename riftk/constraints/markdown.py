"""Markdown: bullet points, highlighted passages, sections."""

from __future__ import annotations

import re

from .base import Constraint, Span, Verdict, broken, constraint, followed
from .language import vacuous
from .length import judge_count, whole_number
from .text import Text, blank, regions

_BULLET = re.compile(r"^[^\S\n]*+(?:[\"“][^\S\n]*+)?[*+-](?=[^\S\n]+\S|[^\S\n]*$)", re.MULTILINE)
_RULE = re.compile(r"^[^\S\n]*(?:(?:\*[^\S\n]*){3,}|(?:-[^\S\n]*){3,}|(?:_[^\S\n]*){3,})$", re.MULTILINE)
_STARS = re.compile(r"(?<![*\\\w])(\*{1,3})(?=[^\s*])[^\n*]*?(?<=[^\s*])\1(?![*\w])")
_UNDERSCORES = re.compile(r"(?<![_\\\w])(_{1,3})(?=[^\s_])[^\n_]*?(?<=[^\s_])\1(?![_\w])")


def _plain(text: str) -> str:
    """The text without code, formulas and horizontal rules."""
    hidden = blank(text, [(region.start, region.end) for region in regions(text)])
    return blank(hidden, [match.span() for match in _RULE.finditer(hidden)])


def bullet_spans(text: str) -> list[Span]:
    """Markers of Markdown's list items: `*`, `+` or `-` and a blank at the beginning of a line."""
    return [match.span() for match in _BULLET.finditer(_plain(text))]


def highlight_spans(text: str) -> list[Span]:
    """Passages within a line set off by stars or underscores: *one*, **two**, ***three***, _four_."""
    plain = _plain(text)
    plain = blank(plain, [match.span() for match in _BULLET.finditer(plain)])
    found = [match.span() for pattern in (_STARS, _UNDERSCORES) for match in pattern.finditer(plain)]
    return sorted(found)


@constraint("detectable_format:number_bullet_lists")
class NumberBullets(Constraint):
    """Exactly a number of bullet points."""

    published_response = (
        "Your answer must contain exactly {num_bullets} bullet points. "
        "Use the markdown bullet points such as:\n* This is point 1. \n* This is point 2"
    )
    wording = (
        "When {acting}, use exactly {num_bullets} markdown bullet points, such as:\n* This is a point.",
        "Your {text} must have exactly {num_bullets} bullet points in markdown (* point).",
        "Put exactly {num_bullets} bullet points (lines that start with *) into your {text}.",
        "Structure your {text} with exactly {num_bullets} markdown bullets, no more and no fewer.",
        "In your {text}, list exactly {num_bullets} points as markdown bullets.",
    )

    num_bullets: int

    def validate(self) -> None:
        self.require(whole_number(self.num_bullets, least=1), "num_bullets", "a whole number of at least 1")

    def robust(self, text: Text) -> Verdict:
        if (empty := vacuous(text, self.target)) is not None:
            return empty
        return judge_exactly(text.once(bullet_spans), int(self.num_bullets), "bullet point")


def judge_exactly(spans: list[Span], wanted: int, thing: str) -> Verdict:
    """Verdict on a number of things that must be met exactly; spans mark those that are too many."""
    count = len(spans)
    reason = f"{count} {thing}{'s' * (count != 1)}; exactly {wanted} wanted"
    if count == wanted:
        return followed(reason)
    return broken(min(count, wanted) / max(count, wanted), reason, spans[wanted:])


@constraint("detectable_format:number_highlighted_sections")
class NumberHighlights(Constraint):
    """At least a number of highlighted passages."""

    published_response = (
        "Highlight at least {num_highlights} sections in your answer with markdown, "
        "i.e. *highlighted section*."
    )
    wording = (
        "When {acting}, highlight at least {num_highlights} passages with markdown, i.e. *passage*.",
        "Your {text} must contain {num_highlights} or more passages in *italics* or **bold**.",
        "Use markdown emphasis (*like this*) at least {num_highlights} times in your {text}.",
        "Mark at least {num_highlights} parts of your {text} with *asterisks*.",
        "At least {num_highlights} sections of your {text} have to be *highlighted* in markdown.",
    )

    num_highlights: int

    def validate(self) -> None:
        self.require(
            whole_number(self.num_highlights, least=1), "num_highlights", "a whole number of at least 1"
        )

    def robust(self, text: Text) -> Verdict:
        if (empty := vacuous(text, self.target)) is not None:
            return empty
        return judge_count(
            text.once(highlight_spans), "at least", int(self.num_highlights), "highlighted passages"
        )


@constraint("detectable_format:multiple_sections")
class MultipleSections(Constraint):
    """A number of sections, each opened by a line with the section word and a number."""

    published_response = (
        "Your response must have {num_sections} sections. "
        "Mark the beginning of each section with {section_spliter} X, such as:\n"
        "{section_spliter} 1\n[content of section 1]\n{section_spliter} 2\n[content of section 2]"
    )
    wording = (
        "When {acting}, write {num_sections} sections and begin each with {section_spliter} X, "
        "such as {section_spliter} 1.",
        "Divide your {text} into {num_sections} sections headed {section_spliter} 1 and so on.",
        "Your {text} has to consist of {num_sections} sections; "
        "a line {section_spliter} X (X is its number) opens each.",
        "Structure your {text} as {num_sections} numbered sections: start them with {section_spliter} X.",
        "Mark {num_sections} sections in your {text}, each beginning with {section_spliter} and its number.",
    )

    section_spliter: str  # the published spelling
    num_sections: int

    def validate(self) -> None:
        valid = isinstance(self.section_spliter, str) and bool(self.section_spliter.strip())
        self.require(valid, "section_spliter", "a word")
        self.require(whole_number(self.num_sections, least=1), "num_sections", "a whole number of at least 1")

    def wording_values(self) -> dict[str, object]:
        return {"section_spliter": self.section_spliter.strip(), "num_sections": int(self.num_sections)}

    def robust(self, text: Text) -> Verdict:
        if (empty := vacuous(text, self.target)) is not None:
            return empty
        word = re.escape(self.section_spliter.strip())
        heading = re.compile(rf"^(?:[^\w\n]|_)*?{word}[^\S\n]*(\d+)", re.MULTILINE)
        sections: dict[int | str, Span] = {}
        for match in heading.finditer(text.raw):
            sections.setdefault(match.group(1).lstrip("0"), match.span())
        return judge_exactly(list(sections.values()), int(self.num_sections), "section")
