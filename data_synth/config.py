"""What a synthesis run is made from: `SynthConfig`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from riftk.constraints import ConstraintError, list_constraints
from riftk.constraints.languages import REASONIF_LANGUAGES
from riftk.rows import ANSWER_TYPES

from .errors import SynthesisError
from .families import FAMILIES
from .problems import MULTILINGUAL_THINKING, known_columns
from .rewriters import END_PHRASES, REASONIF_BY_RULE, REWRITERS

PUBLISHED_WORD_LIMITS = (10, 30, 50, 70, 100, 200)
RECIPES = ("riftk", "paper")
NO_CONTROL = "none"
CONTROLS = ("unrewritten", "shuffled", "shortened", "correct")  # see `riftk.data_synth.controls`
STYLES = ("reasonif", "mathif")


def _option(default: Any, help: str) -> Any:
    """A setting with what `riftk synth --help` says of it."""
    return field(default=default, metadata={"help": help})


@dataclass(frozen=True)
class SynthConfig:
    """Everything a dataset depends on besides the engines; what each setting means stands beside it.

    A run folder belongs to one configuration. What cannot be rewritten safely or verified is dropped, so a
    dataset has fewer rows than there are seeds.

    Raises:
        SynthesisError, ConstraintError: a value that makes no sense.
    """

    problems: str = _option(
        MULTILINGUAL_THINKING,
        "JSONL, JSON or Parquet file, hub id (org/name, org/name:config:split), or module:function.",
    )
    num_rows: int = _option(1000, "Seeds to start from; fewer problems come round again.")
    constraints: tuple[str, ...] = _option((), "Constraint ids; none: ReasonIF's that a rule rewrites.")
    num_constraints: tuple[int, ...] = _option((1,), "Constraints per row, in equal parts: 1, or 1,2,3.")
    plain_share: float = _option(0.1, "Share of rows without an instruction.")
    response_share: float = _option(
        0.0, "Share of rows about the response, sampled with the instruction and kept where the model obeys."
    )
    question_column: str = _option("question", "Column of the problem.")
    answer_column: str | None = _option("answer", "Column of the gold answer; '' where there is none.")
    answer_type: str = _option("math", "math, number, choice or label; a column of this name goes before it.")
    style: str = _option("reasonif", "Prompt: reasonif (answer between tags) or mathif (answer in a box).")
    recipe: str = _option(
        "riftk", "riftk, or paper: ReasonIF's way, nothing verified, for comparison (needs an LLM)."
    )
    control: str = _option(
        "none",
        "Exchange the accepted rows for a control's, as many: unrewritten, shuffled, shortened, correct.",
    )
    sample_with_instruction: bool = _option(
        False, "Leave the instruction in while sampling (ReasonIF's way)."
    )
    require_correct: bool = _option(True, "Drop traces with a wrong answer.")
    close_traces: bool = _option(False, "Close a trace that the model stopped in, instead of dropping it.")
    attempts: int = _option(1, "Traces sampled per seed, until one is kept.")
    temperature: float = _option(1.0, "Of sampling; 0 is greedy.")
    top_p: float = _option(0.95, "Nucleus sampling.")
    max_tokens: int = _option(8192, "Most tokens per completion.")
    word_share: tuple[float, float] = _option(
        (0.5, 0.8), "A word limit lies between these shares of the trace's own words."
    )
    word_limits: tuple[int, ...] = _option((), "Word limits of prompts to sample under; none: the published.")
    calibrated_limits: str = _option("", "Word limits by source instead: a folder of riftk calibrate.")
    end_phrases: tuple[str, ...] = _option(END_PHRASES, "Phrases to end with; none of ReasonIF's.")
    languages: tuple[str, ...] = _option(tuple(REASONIF_LANGUAGES), "Languages to ask for.")
    paraphrases: bool = _option(True, "Draw among all wordings of an instruction, or take the published one.")
    llm: str = _option("", "Model that rewrites where no rule can (language, keywords, forbidden words).")
    llm_words: bool = _option(
        False, "Let the LLM shorten for word limits too, instead of choosing sentences."
    )
    llm_tries: int = _option(3, "Requests per rewrite; each but the first is told what was wrong.")
    llm_temperature: float = _option(0.3, "Of rewriting.")
    llm_max_tokens: int = _option(8192, "Most tokens per rewrite.")
    decontaminate: tuple[str, ...] = _option(
        (), "Benchmarks whose questions problems must not repeat: all, or names, each with =THRESHOLD."
    )
    benchmark_dir: str = _option("", "Folder with the benchmarks' files, where there is no hub.")
    rule_talk: float = _option(0.0, "Share of rows whose trace may talk about the rule.")
    trace_language: str = _option(
        "question", "Language of traces: a code, question (that of the question), any."
    )
    trace_words: tuple[int, int] = _option((4, 50_000), "Fewest and most words of a trace.")
    balance: float = _option(0.0, "Most rows of a type, as a multiple of the rarest type's; 0 keeps all.")
    sft: tuple[str, ...] = _option(tuple(FAMILIES), "Template families to write rows for finetuning for.")
    seed: int = _option(0, "Of every draw; draws depend on it and on the row alone.")
    window: int = _option(4096, "Seeds worked on at a time; bounds the memory.")

    def __post_init__(self) -> None:
        for name, value in vars(self).copy().items():
            if isinstance(value, list):
                object.__setattr__(self, name, tuple(value))
        self._fill_in()
        self._check_constraints()
        low, high = self.word_share
        shares = self.plain_share + self.response_share
        demands = {
            "num_rows": (self.num_rows >= 1, "at least 1"),
            "plain_share": (0 <= self.plain_share <= 1, "between 0 and 1"),
            "response_share": (
                self.response_share >= 0 and shares <= 1,
                "at least 0, and at most 1 together with plain_share",
            ),
            "num_constraints": (
                bool(self.num_constraints) and set(self.num_constraints) <= {1, 2, 3},
                "1, 2 or 3, or several of them",
            ),
            "answer_type": (self.answer_type in ANSWER_TYPES, f"one of {', '.join(ANSWER_TYPES)}"),
            "style": (self.style in STYLES, " or ".join(STYLES)),
            "recipe": (self.recipe in RECIPES, " or ".join(RECIPES)),
            "control": (
                self.control in (NO_CONTROL, *CONTROLS),
                f"one of {', '.join((NO_CONTROL, *CONTROLS))}",
            ),
            "word_limits": (min(self.word_limits) >= 2, "2 or more: a text has fewer words than its limit"),
            "attempts": (self.attempts >= 1, "at least 1"),
            "temperature": (self.temperature >= 0, "0 (greedy) or more"),
            "llm_temperature": (self.llm_temperature >= 0, "0 (greedy) or more"),
            "top_p": (0 < self.top_p <= 1, "above 0 and at most 1"),
            "max_tokens": (self.max_tokens >= 1, "at least 1"),
            "llm_max_tokens": (self.llm_max_tokens >= 1, "at least 1"),
            "llm_tries": (self.llm_tries >= 1, "at least 1"),
            "window": (self.window >= 1, "at least 1"),
            "word_share": (0 < low <= high <= 1, "two shares, low and high, in (0, 1]"),
            "rule_talk": (0 <= self.rule_talk <= 1, "between 0 and 1"),
            "trace_words": (0 <= self.trace_words[0] <= self.trace_words[1], "fewest and most words"),
            "balance": (self.balance == 0 or self.balance >= 1, "0, or 1 and more"),
            "languages": (
                bool(self.languages) and set(self.languages) <= set(REASONIF_LANGUAGES),
                f"some of {', '.join(REASONIF_LANGUAGES)}",
            ),
            "sft": (set(self.sft) <= set(FAMILIES), f"some of {', '.join(FAMILIES)}"),
            "end_phrases": (
                bool(self.end_phrases) and all(phrase.strip() for phrase in self.end_phrases),
                "phrases",
            ),
        }
        for name, (holds, demand) in demands.items():
            if not holds:
                raise SynthesisError(f"{name} must be {demand}, not {getattr(self, name)!r}")

    def _fill_in(self) -> None:
        """Put what stands for "as usual" in place."""
        question, answer = known_columns(self.problems, self.question_column, self.answer_column)
        usual = {
            "question_column": question,
            "answer_column": answer or None,
            "word_limits": self.word_limits or PUBLISHED_WORD_LIMITS,
            "constraints": self.constraints or REASONIF_BY_RULE,
        }
        if self.recipe == "paper":
            usual |= {"sample_with_instruction": True, "require_correct": False, "rule_talk": 1.0}
            usual |= {"llm_words": bool(self.llm)}
        for name, value in usual.items():
            object.__setattr__(self, name, value)

    def _check_constraints(self) -> None:
        for id in self.constraints:
            check_can_be_rewritten(id, self.llm)
        if len(set(self.constraints)) != len(self.constraints):
            raise SynthesisError(f"constraints names an id twice: {', '.join(self.constraints)}")
        if self.control == "shuffled" and len(self.constraints) < 2:
            raise SynthesisError(
                "control shuffled deals the instructions of several constraints out anew; name two or more"
            )
        if self.llm_words and not self.llm:
            raise SynthesisError("llm_words needs an LLM; name one as llm")

    @property
    def is_paper(self) -> bool:
        """Whether the published way is followed, in which nothing is verified."""
        return self.recipe == "paper"

    @property
    def is_control(self) -> bool:
        """Whether rows are exchanged for those of a control once they are accepted."""
        return self.control != NO_CONTROL

    @property
    def row_rules(self) -> str:
        """The `rules` of a row: ReasonIF judges traces and responses to its own prompt; a trace that MathIF's
        prompt asks for is none that MathIF would judge, so that `published_rules` has the choice."""
        return "reasonif" if self.style == "reasonif" else ""

    def by_llm(self, id: str) -> bool:
        """Whether traces are rewritten for a constraint by the LLM."""
        return REWRITERS[id].needs_llm or (bool(self.llm) and REWRITERS[id].may_use_llm(self))

    @property
    def uses_llm(self) -> bool:
        """Whether any of the constraints is the LLM's."""
        return any(map(self.by_llm, self.constraints))

    def to_dict(self) -> dict[str, Any]:
        """All settings, as plain values."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> SynthConfig:
        """The configuration in a run folder's `config.yaml`, which holds more besides."""
        return cls(**{name: data[name] for name in cls.__dataclass_fields__ if name in data})


def check_can_be_rewritten(id: str, llm: str = "") -> None:
    """Raise unless rows with the constraint `id` can be made.

    Raises:
        ConstraintError: no such constraint.
        SynthesisError: nothing here rewrites a trace for it.
    """
    if id in REWRITERS:
        if REWRITERS[id].needs_llm and not llm:
            raise SynthesisError(
                f"{id} cannot be rewritten by rule: that needs an LLM; name one as llm, or leave it out of "
                "the constraints"
            )
        return
    if id not in list_constraints():
        raise ConstraintError(f"unknown constraint id {id!r}; known are {', '.join(list_constraints())}")
    raise SynthesisError(f"no rewriter for {id}; there are rewriters for {', '.join(REWRITERS)}")
