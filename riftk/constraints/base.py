"""What a constraint is: `Constraint`, `Verdict`, the registry, and reading constraints from data.

A constraint is one small class. Its fields are its arguments, `wording` holds the sentences that ask for it
and `robust` verifies it:

    @constraint("example:no_digits")
    class NoDigits(Constraint):
        wording = ("When {acting}, write numbers in words.",)

        def robust(self, text):
            digits = [match.span() for match in re.finditer(r"[0-9]+", text.raw)]
            if digits:
                return broken(1 / (1 + len(digits)), f"{len(digits)} numbers in digits", digits)
            return followed("no digits")
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar, TypeVar, dataclass_transform

from .text import Text

TARGETS = ("reasoning", "response")
SPAN_LIMIT = 100  # spans kept in a verdict; a text of a million commas needs no million spans
NEARLY = 0.99  # the highest score of a constraint that is not followed

Span = tuple[int, int]


class ConstraintError(ValueError):
    """A constraint that cannot be checked: unknown id, argument or rulebook, or a senseless value."""


@dataclass(frozen=True)
class Verdict:
    """Result of one check.

    Args:
        followed: whether the constraint holds.
        score: in [0, 1]; exactly 1 when followed, else it grows as the text comes closer.
        reason: a sentence a person can act on.
        spans: (start, end) offsets of the offending text, at most `SPAN_LIMIT` of them.
    """

    followed: bool
    score: float
    reason: str
    spans: tuple[Span, ...] = ()

    def __bool__(self) -> bool:
        return self.followed


def followed(reason: str) -> Verdict:
    """The verdict of a constraint that holds."""
    return Verdict(True, 1.0, reason)


def broken(score: float, reason: str, spans: Iterable[Span] = ()) -> Verdict:
    """The verdict of a constraint that does not hold; the score is kept within [0, `NEARLY`]."""
    kept = []
    for span in spans:
        if len(kept) == SPAN_LIMIT:
            break
        kept.append(span)
    return Verdict(False, min(max(score, 0.0), NEARLY), reason, tuple(kept))


@dataclass(frozen=True, kw_only=True)
class Constraint:
    """One verifiable rule about the reasoning or the response. Subclasses add their arguments as fields.

    Class attributes of a subclass:
        id: the published identifier, set by `@constraint`.
        wording: templates of the sentences that ask for it, the published one first. `{acting}` stands for
            "reasoning" or "answering", `{text}` for "reasoning" or "answer"; arguments by their names.
        published_response: template of the published sentence about the response, if not `wording[0]`.

    Args:
        target: which part of a completion is meant. Benchmarks set it; it decides how much text is enough
            to count as following (a trace has to be a trace, an answer may be one number).
    """

    id: ClassVar[str] = ""
    wording: ClassVar[tuple[str, ...]] = ()
    published_response: ClassVar[str] = ""

    target: str = "response"

    def __post_init__(self) -> None:
        if self.target not in TARGETS:
            raise ConstraintError(f"{self.id}: target {self.target!r} is none of {', '.join(TARGETS)}")
        for name, value in self._arguments():
            if isinstance(value, list):
                object.__setattr__(self, name, tuple(value))
        self.validate()

    def validate(self) -> None:
        """Raise `ConstraintError` for arguments that make no sense. Called once, at construction."""

    def require(self, condition: bool, argument: str, demand: str) -> None:
        """Raise `ConstraintError` naming the argument unless `condition` holds."""
        if not condition:
            raise ConstraintError(
                f"{self.id}: argument {argument!r} must be {demand}, not {getattr(self, argument)!r}"
            )

    def robust(self, text: Text) -> Verdict:
        """Judge a text by riftk's own rules: what the sentence says, hard to game."""
        raise NotImplementedError(f"{type(self).__name__} defines no robust() rule")

    def _arguments(self) -> list[tuple[str, Any]]:
        return [(f.name, getattr(self, f.name)) for f in fields(self) if f.name != "target"]

    @property
    def args(self) -> dict[str, Any]:
        """Arguments as a benchmark's file has them; optional ones that are not set are left out."""
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in self._arguments()
            if value is not None
        }

    def to_dict(self) -> dict[str, Any]:
        """The form in which constraints stand in rows: `{"id", "args", "target"}`."""
        return {"id": self.id, "args": self.args, "target": self.target}

    def wording_values(self) -> dict[str, Any]:
        """What the placeholders of the templates stand for, besides `{acting}` and `{text}`."""
        return dict(self._arguments())

    def instructions(self, target: str | None = None) -> tuple[str, ...]:
        """Sentences that ask for this constraint: the published one first, then paraphrases for training.

        Where a benchmark prints a sentence for one target only, the other target's first sentence is a
        reconstruction ("When answering, ...").
        """
        target = target or self.target
        if target not in TARGETS:
            raise ConstraintError(f"{self.id}: target {target!r} is none of {', '.join(TARGETS)}")
        values = self.wording_values()
        if target == "reasoning":
            values.update(acting="reasoning", text="reasoning")
        else:
            values.update(acting="answering", text="answer")
        templates = self.wording
        if target == "response" and self.published_response:
            templates = (self.published_response, *templates)
        return tuple(template.format(**values) for template in templates)

    def instruction(self, target: str | None = None) -> str:
        """The published sentence for a target (default: the constraint's own)."""
        return self.instructions(target)[0]


_REGISTRY: dict[str, type[Constraint]] = {}
_Class = TypeVar("_Class", bound=type[Constraint])


@dataclass_transform(kw_only_default=True, frozen_default=True)
def constraint(id: str) -> Callable[[_Class], _Class]:
    """Class decorator: make a frozen dataclass of a `Constraint` subclass and register it under `id`."""

    def register(cls: _Class) -> _Class:
        known = _REGISTRY.get(id)
        if known and (known.__module__, known.__qualname__) != (cls.__module__, cls.__qualname__):
            raise ConstraintError(f"{id} is registered already, by {known.__module__}.{known.__qualname__}")
        if not cls.wording:
            raise ConstraintError(f"{id}: wording is empty; give at least one sentence that asks for it")
        cls.id = id
        cls = dataclass(frozen=True, kw_only=True)(cls)
        _REGISTRY[id] = cls
        return cls

    return register


def list_constraints() -> tuple[str, ...]:
    """All registered ids, sorted."""
    return tuple(sorted(_REGISTRY))


def parse_constraint(spec: Mapping[str, Any] | Constraint) -> Constraint:
    """Make a constraint of `{"id": ..., "args": {...} or None, "target": ...}`.

    Arguments that are None count as absent: Arrow pads dictionaries with nulls (huggingface/datasets#7617).

    Raises:
        ConstraintError: unknown id, key or argument; missing or senseless argument. The message names it.
    """
    if isinstance(spec, Constraint):
        return spec
    if not isinstance(spec, Mapping) or not isinstance(spec.get("id"), str):
        raise ConstraintError(f'a constraint is {{"id": ..., "args": ..., "target": ...}}, not {spec!r}')
    id = spec["id"]
    cls = _REGISTRY.get(id)
    if cls is None:
        raise ConstraintError(f"unknown constraint id {id!r}; known are {', '.join(list_constraints())}")
    unknown = sorted(set(spec) - {"id", "args", "target"})
    if unknown:
        raise ConstraintError(f'{id}: unknown key {unknown[0]!r}; a constraint has "id", "args" and "target"')
    args = spec.get("args")
    if args is not None and not isinstance(args, Mapping):
        raise ConstraintError(f"{id}: args must be a mapping or null, not {args!r}")
    given = {name: value for name, value in (args or {}).items() if value is not None}
    arguments = [f for f in fields(cls) if f.name != "target"]
    names = [f.name for f in arguments]
    for name in given:
        if name not in names:
            raise ConstraintError(f"{id}: unknown argument {name!r}; it takes {', '.join(names) or 'none'}")
    for field in arguments:
        if field.name not in given and field.default is not None:
            raise ConstraintError(f"{id}: argument {field.name!r} is missing")
    if spec.get("target") is not None:
        given["target"] = spec["target"]
    return cls(**given)
