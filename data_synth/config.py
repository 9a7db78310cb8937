"""What a synthesis run is made from: `SynthConfig`."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from riftk.constraints import ConstraintError, list_constraints
from riftk.rows import ANSWER_TYPES

from .errors import SynthesisError
from .rewriters import END_PHRASES, LANGUAGE, REWRITERS

PUBLISHED_WORD_LIMITS = (10, 30, 50, 70, 100, 200)


@dataclass(frozen=True)
class SynthConfig:
    """Everything a dataset depends on besides the engine. A run folder belongs to one configuration.

    Args:
        problems: JSONL, JSON or Parquet file, hub id ("org/name", "org/name:config:split"), or
            `module:function`, which is called with a number and a seed and returns dictionaries.
        num_rows: seeds to start from, one problem with at most one constraint each. What cannot be rewritten
            safely or verified is dropped, so the dataset has fewer rows.
        constraints: ids to ask for, in equal parts; empty means all that can be rewritten by rule.
        plain_share: share of rows without a constraint, in [0, 1].
        response_share: share of rows with an instruction about the response. They are sampled with it and
            kept as they are where the model followed it: what it can do already is not to be lost.
        question_column: column of the problem.
        answer_column: column of the gold answer; None where there is none.
        answer_type: how answers are graded: "math", "number", "choice" or "label". A column `answer_type` of
            the problems goes before it.
        sample_with_instruction: leave the instruction in while sampling (ReasonIF's way) instead of out.
        require_correct: drop traces whose answer is wrong. Without it they teach the form alone.
        close_traces: what to do when a model stops without closing its trace, as models do that were never
            taught to think: False drops it, True takes the answer out of it and closes it.
        attempts: traces sampled per seed, until one is kept.
        temperature, top_p, max_tokens: of sampling; `max_tokens` counts generated tokens.
        word_share: a word limit is drawn between these shares of the trace's own words.
        word_limits: limits to draw from when the instruction stands in the sampling prompt and the length of
            the text is not known yet; empty means those of the published training set.
        end_phrases: phrases to draw from; none of them is one of ReasonIF's.
        paraphrases: draw among all wordings of an instruction; False takes the published sentence always.
        seed: of every draw. Draws depend on it and on the row, never on the order of work.
        window: seeds worked on at a time; bounds the memory.
    """

    problems: str
    num_rows: int = 1000
    constraints: tuple[str, ...] = ()
    plain_share: float = 0.1
    response_share: float = 0.0
    question_column: str = "question"
    answer_column: str | None = "answer"
    answer_type: str = "math"
    sample_with_instruction: bool = False
    require_correct: bool = True
    close_traces: bool = False
    attempts: int = 1
    temperature: float = 1.0
    top_p: float = 0.95
    max_tokens: int = 8192
    word_share: tuple[float, float] = (0.5, 0.8)
    word_limits: tuple[int, ...] = ()
    end_phrases: tuple[str, ...] = END_PHRASES
    paraphrases: bool = True
    seed: int = 0
    window: int = 4096

    def __post_init__(self) -> None:
        """Raise `SynthesisError` or `ConstraintError` for values that make no sense."""
        for name in ("constraints", "word_share", "word_limits", "end_phrases"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        if not self.word_limits:
            object.__setattr__(self, "word_limits", PUBLISHED_WORD_LIMITS)
        if not self.constraints:
            object.__setattr__(self, "constraints", tuple(REWRITERS))
        for id in self.constraints:
            check_can_be_rewritten(id)
        if len(set(self.constraints)) != len(self.constraints):
            raise SynthesisError(f"constraints names an id twice: {', '.join(self.constraints)}")
        if self.answer_type not in ANSWER_TYPES:
            raise SynthesisError(f"answer_type {self.answer_type!r} is none of {', '.join(ANSWER_TYPES)}")
        low, high = self.word_share
        demands = {
            "num_rows": (self.num_rows >= 1, "at least 1"),
            "plain_share": (0 <= self.plain_share <= 1, "between 0 and 1"),
            "response_share": (
                0 <= self.response_share <= 1 - self.plain_share,
                "at least 0, and at most 1 together with plain_share",
            ),
            "word_limits": (min(self.word_limits) >= 2, "2 or more: a text has fewer words than its limit"),
            "attempts": (self.attempts >= 1, "at least 1"),
            "temperature": (self.temperature >= 0, "0 (greedy) or more"),
            "top_p": (0 < self.top_p <= 1, "above 0 and at most 1"),
            "max_tokens": (self.max_tokens >= 1, "at least 1"),
            "window": (self.window >= 1, "at least 1"),
            "word_share": (0 < low <= high <= 1, "two shares, low and high, in (0, 1]"),
            "end_phrases": (
                all(phrase.strip() for phrase in self.end_phrases) and self.end_phrases,
                "phrases",
            ),
        }
        for name, (holds, demand) in demands.items():
            if not holds:
                raise SynthesisError(f"{name} must be {demand}, not {getattr(self, name)!r}")

    def to_dict(self) -> dict[str, Any]:
        """All settings, as plain values."""
        return asdict(self)


def check_can_be_rewritten(id: str) -> None:
    """Raise unless rows with the constraint `id` can be made.

    Raises:
        ConstraintError: no such constraint.
        SynthesisError: nothing here rewrites a trace for it.
    """
    if id in REWRITERS:
        return
    if id == LANGUAGE:
        raise SynthesisError(
            f"{id} cannot be rewritten by rule: translating a trace needs an LLM, which synthesis cannot use "
            "yet; leave it out of the constraints"
        )
    if id not in list_constraints():
        raise ConstraintError(f"unknown constraint id {id!r}; known are {', '.join(list_constraints())}")
    raise SynthesisError(f"no rewriter for {id}; there are rewriters for {', '.join(REWRITERS)}")
