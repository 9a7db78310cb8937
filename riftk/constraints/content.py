"""What a text has to contain: placeholders, a postscript, a title, one of three answers."""

from __future__ import annotations

import re

from .base import Constraint, Span, Verdict, broken, constraint, followed
from .ending import normalised
from .language import vacuous
from .length import judge_count, whole_number
from .text import Text, blank, regions, says_something

OPTIONS = ("My answer is yes.", "My answer is no.", "My answer is maybe.")
LONGEST_TITLE = 30  # words; more of them between the brackets are no title
_BRACKETS = re.compile(r"(?<![\w\\])\[([^\[\]\n]{1,100})\](?![(:])")  # no index a[i], no link [a](b)
_CHECKBOX = re.compile(r"^[^\S\n]*[*+-][^\S\n]+\[[xX]\]", re.MULTILINE)
_LETTER = re.compile(r"[^\W\d_]")
_TITLE = re.compile(r"<<([^<>\n]{1,300})>>")


def _without_code(text: str) -> str:
    return blank(text, [(region.start, region.end) for region in regions(text)])


def placeholder_spans(text: str) -> list[Span]:
    """Square brackets around a name, such as [address]; no link, index, citation, checkbox or formula."""
    plain = _without_code(text)
    boxes = {match.end() for match in _CHECKBOX.finditer(plain)}
    return [
        match.span()
        for match in _BRACKETS.finditer(plain)
        if _LETTER.search(match.group(1)) and match.end() not in boxes
    ]


@constraint("detectable_content:number_placeholders")
class NumberPlaceholders(Constraint):
    """At least a number of placeholders in square brackets."""

    published_response = (
        "The response must contain at least {num_placeholders} placeholders "
        "represented by square brackets, such as [address]."
    )
    wording = (
        "When {acting}, use at least {num_placeholders} placeholders in square brackets, such as [address].",
        "Your {text} must contain {num_placeholders} or more placeholders in square brackets, "
        "for example [name].",
        "Put at least {num_placeholders} placeholders like [date] into your {text}.",
        "At least {num_placeholders} placeholders, each in square brackets, have to be in your {text}.",
        "Leave {num_placeholders} or more blanks to fill in, written like [address], in your {text}.",
    )

    num_placeholders: int

    def validate(self) -> None:
        valid = whole_number(self.num_placeholders, least=1)
        self.require(valid, "num_placeholders", "a whole number of at least 1")

    def wording_values(self) -> dict[str, object]:
        return {"num_placeholders": int(self.num_placeholders)}

    def robust(self, text: Text) -> Verdict:
        if (empty := vacuous(text, self.target)) is not None:
            return empty
        spans = text.once(placeholder_spans)
        return judge_count(spans, "at least", int(self.num_placeholders), "placeholders")


@constraint("detectable_content:postscript")
class Postscript(Constraint):
    """A line after the body begins with the marker and says something."""

    published_response = (
        "At the end of your response, please explicitly add a postscript starting with {postscript_marker}"
    )
    wording = (
        "When {acting}, add a postscript at the end that starts with {postscript_marker}",
        "Close your {text} with a postscript; it has to begin with {postscript_marker}",
        "After everything else in your {text}, write a postscript starting with {postscript_marker}",
        "The last part of your {text} must be a postscript that opens with {postscript_marker}",
        "Append a postscript to your {text}. Mark it with {postscript_marker}",
    )

    postscript_marker: str

    def validate(self) -> None:
        valid = isinstance(self.postscript_marker, str) and says_something(self.postscript_marker)
        self.require(valid, "postscript_marker", "a marker such as 'P.S.'")

    def wording_values(self) -> dict[str, object]:
        return {"postscript_marker": self.postscript_marker.strip()}

    def robust(self, text: Text) -> Verdict:
        if (empty := vacuous(text, self.target)) is not None:
            return empty
        marker = self.postscript_marker.strip()
        pattern = r"[^\S\n]?".join(map(re.escape, "".join(marker.split())))  # "P. S." is "P.S."
        places = list(re.finditer(rf"^[^\w\n]*(?:_+)?{pattern}(?![^\W_])", text.raw, re.MULTILINE))
        if not places:
            inside = normalised(marker).lower() in text.once(normalised).lower()
            found = "stands in the middle of a line, or in other letters," if inside else "is missing"
            return broken(0.5 * inside, f"a line that starts with {marker!r} is wanted; it {found} here")
        place = places[-1]
        if not says_something(text.raw[place.end() :]):
            return broken(0.7, f"nothing follows {marker!r}", [place.span()])
        if not says_something(text.raw[: place.start()]):
            return broken(0.6, "there is nothing before the postscript", [place.span()])
        return followed(f"has a postscript that starts with {marker!r}")


@constraint("detectable_format:title")
class Title(Constraint):
    """A title in double angular brackets, beside other text."""

    published_response = (
        "Your answer must contain a title, wrapped in double angular brackets, such as <<poem of joy>>."
    )
    wording = (
        "When {acting}, include a title in double angular brackets, such as <<poem of joy>>.",
        "Give your {text} a title and wrap it in double angular brackets: <<title>>.",
        "Your {text} has to contain a title like <<poem of joy>>, brackets included.",
        "Put a title in double angular brackets, for example <<first steps>>, into your {text}.",
        "There must be a title in your {text}, written as <<the title>>.",
    )

    def robust(self, text: Text) -> Verdict:
        if (empty := vacuous(text, self.target)) is not None:
            return empty
        plain = text.once(_without_code)
        titles = [match for match in _TITLE.finditer(plain) if says_something(match.group(1))]
        if not titles:
            opened = "<<" in plain
            return broken(0.3 * opened, "there is no <<title>> with a word in it, on one line")
        if len(titles[0].group(1).split()) > LONGEST_TITLE:
            return broken(0.5, f"a title of more than {LONGEST_TITLE} words", [titles[0].span()])
        if not says_something(blank(text.raw, [match.span() for match in titles])):
            return broken(0.5, "there is nothing beside the title")
        return followed(f"has the title {titles[0].group(1).strip()[:60]!r}")


@constraint("detectable_format:constrained_response")
class ConstrainedResponse(Constraint):
    """Exactly one of the three answers is given; other text may stand around it."""

    published_response = "Answer with one of the following options: {options}"
    wording = (
        "When {acting}, give one of these answers, word for word: {listed}.",
        "Your {text} must contain exactly one of the following phrases: {listed}.",
        "Choose one of these options for your {text} and leave out the others: {listed}.",
        "Decide in your {text} on one of {listed}; use its exact words.",
        "Exactly one of these has to stand in your {text}: {listed}.",
    )

    def wording_values(self) -> dict[str, object]:
        return {"options": str(OPTIONS), "listed": ", ".join(f'"{option}"' for option in OPTIONS)}

    def robust(self, text: Text) -> Verdict:
        if (empty := vacuous(text, self.target)) is not None:
            return empty
        said = text.once(normalised)
        given = [option for option in OPTIONS if re.search(rf"(?<!\w){re.escape(option)}", said)]
        if len(given) == 1:
            return followed(f"answers {given[0]!r}")
        if given:
            return broken(0.5, f"gives {len(given)} different answers: {', '.join(given)}")
        near = any(option[:-1].lower() in said.lower() for option in OPTIONS)
        return broken(0.5 * near, "none of the three answers stands in it, letter for letter")
