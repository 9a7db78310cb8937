"""One completion, scored once: what every reward and every adapter is made of.

    >>> from riftk.rewards import score
    >>> row = {"constraints": '[{"id": "punctuation:no_comma", "target": "reasoning"}]', "answer": "8"}
    >>> text = "<think>Tom has five apples and buys three so he has eight.</think>Eight: \\\\boxed{8}"
    >>> score(text, row).score
    1.0

Adapters for other trainers only rename what `Score.to_floats` gives.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

from riftk.completions.split import THINK_MODES
from riftk.completions.templates import opens_trace
from riftk.constraints import Constraint
from riftk.constraints.published import published_rules
from riftk.grading import grade_many
from riftk.judging import Output
from riftk.rows import RowError

from .completions import read_completion, warn_once
from .formulas import FORMULAS, USUAL_TRACE, Evidence
from .guards import find_degenerate
from .sample import Sample
from .tasks import Task, read_task

Think = Literal["tags", "prefilled", "channels", "none"] | None
Target = Literal["reasoning", "response", "both"]
Credit = Literal["binary", "graded"]
Formula = Literal["product", "bonus", "controllability", "if-rlvr"]
Part = Literal["correct", "followed", "degenerate"]
EXPECTS_TRACE = ("tags", "prefilled", "channels")
PARTS: tuple[Part, ...] = ("correct", "followed", "degenerate")
_THINK_TAG = re.compile(r"</?think>", re.IGNORECASE)
MAX_CHARS = (
    1_000_000  # a longer completion is not judged and earns nothing: no trainer allows that many tokens
)


@dataclass(frozen=True)
class Scoring:
    """How a completion is scored.

    Args:
        target: the constraints that count: on the "reasoning", on the "response", or "both".
        credit: "binary" counts followed constraints, "graded" takes each verdict's score.
        rules: a rulebook, or "both": robust and, where there is one, the benchmark's published rulebook (the
            row's `rules`, else `published_rules`); a constraint is followed when it is by both.
        think: how the model marks its reasoning (`riftk.completions.think_mode`). Where a trace is expected,
            a completion without a closing marker is unfinished and earns nothing: trainers hand over
            completions without the prompt, so a cut-off trace may carry no tag (huggingface/trl#6966).
            None decides from the texts: a rendered prompt that ends with an opening tag has opened the block,
            and so has every prompt of a batch in which a completion closes a block that it did not open.
            Otherwise an untagged text is the answer.
        formula: how the parts become one reward, see `riftk.rewards.formulas`.
        guards: whether degenerate text earns nothing, see `riftk.rewards.guards`.
    """

    target: Target = "both"
    credit: Credit = "binary"
    rules: str = "both"
    think: Think = None
    formula: Formula = "product"
    guards: bool = True

    def __post_init__(self) -> None:
        _one_of("target", self.target, get_args(Target))
        _one_of("credit", self.credit, get_args(Credit))
        _one_of("formula", self.formula, tuple(FORMULAS))
        _one_of("think", self.think, (None, *THINK_MODES))


def _one_of(name: str, value: Any, values: Sequence[Any]) -> None:
    if value not in values:
        raise ValueError(f"{name} must be one of {', '.join(map(str, values))}, not {value!r}")


@dataclass(frozen=True)
class Score:
    """What one completion earns, and why. A part that was not asked for, or does not apply, is None.

    Args:
        score: the reward, by the formula of the scoring; None where the row neither has a gold answer nor
            constraints that count, or cannot be read.
        format: 1 for one well-formed, non-empty reasoning block with a response behind it, else 0.
        correct: 1 for a right answer in a finished completion, else 0.
        followed: credit over the constraints that count, before any gate, in [0, 1].
        strict: 1 when all of them are followed, else 0.
        reasoning, response: `followed` of either target alone.
        unclosed: 1 where the completion is unfinished: no closing marker where a trace is expected.
        guard: name of the guard that calls the text degenerate, "" where none does; `guard_reason` says why.
        credits: (constraint id, target, credit) of each constraint that counts, in the row's order.
        error: why the row could not be scored, "" where it could.
    """

    score: float | None = None
    format: float = 0.0
    correct: float | None = None
    followed: float | None = None
    strict: float | None = None
    reasoning: float | None = None
    response: float | None = None
    unclosed: float = 0.0
    guard: str = ""
    guard_reason: str = ""
    credits: tuple[tuple[str, str, float], ...] = ()
    error: str = ""

    def to_floats(self) -> dict[str, float]:
        """The score as numbers under keys that are the same for every row, as verl and others demand.

        What does not apply is 0; `has_score`, `has_answer`, `has_reasoning` and `has_response` are 1 where
        the parts of that name apply, so that a mean over those rows is one mean divided by another.
        """
        parts = (self.score, self.correct, self.followed, self.strict, self.reasoning, self.response)
        earned, correct, followed, strict, reasoning, response = (part or 0.0 for part in parts)
        return {
            "score": earned,
            "format": self.format,
            "correct": correct,
            "followed": followed,
            "strict": strict,
            "followed_reasoning": reasoning,
            "followed_response": response,
            "unclosed": self.unclosed,
            "degenerate": float(bool(self.guard)),
            "errored": float(bool(self.error)),
            "has_score": float(self.score is not None),
            "has_answer": float(self.correct is not None),
            "has_reasoning": float(self.reasoning is not None),
            "has_response": float(self.response is not None),
        }


def score(
    completion: Any,
    row: Mapping[str, Any],
    scoring: Scoring = Scoring(),
    *,
    prompt: Any = None,
    finish_reason: str = "stop",
    reasoning_content: str | None = None,
) -> Score:
    """Score one completion. Never raises because of what a model wrote or a row holds.

    Args:
        completion: text, or messages, without the prompt.
        row: `constraints` (JSON string or list), `answer`, `answer_type`; optionally `reference_length`.
        scoring: settings; a `GatedReward` is one.
        prompt: text or messages; guards compare the trace with it. By default the row's `prompt`.
        finish_reason: "length" where the trainer knows that the completion was cut off.
        reasoning_content: the trace, where it comes apart from the completion.

    Returns:
        a `Score`; where the row cannot be read one with `error` and without a score, and a warning is logged.
    """
    prompts = [row.get("prompt") if prompt is None else prompt]
    outputs = [_output(completion, _think(scoring, prompts[0]), finish_reason, reasoning_content)]
    return _score_outputs(outputs, [row], scoring, prompts, PARTS)[0]


def score_many(
    completions: Sequence[Any],
    rows: Sequence[Mapping[str, Any]],
    scoring: Scoring = Scoring(),
    *,
    prompts: Sequence[Any] | None = None,
    parts: Sequence[Part] = PARTS,
) -> list[Score]:
    """Score a batch, as `score` does; `parts` names what is needed, so that nothing else costs time."""
    if prompts is None:
        prompts = [row.get("prompt") for row in rows]
    outputs = [
        _output(completion, _think(scoring, prompt))
        for completion, prompt in zip(completions, prompts, strict=True)
    ]
    if scoring.think is None and any(output.completion.prefilled for output in outputs):
        # One model wrote the batch: where it closes a block that it did not open, every prompt opened one.
        outputs = [
            replace(output, think="prefilled") if output.completion.status == "none" else output
            for output in outputs
        ]
    return _score_outputs(outputs, rows, scoring, prompts, parts)


def _think(scoring: Scoring, prompt: Any) -> Think:
    """How the reasoning is marked; a rendered prompt that ends with an opening tag says so itself."""
    if scoring.think in (None, "tags") and isinstance(prompt, str) and opens_trace(prompt):
        return "prefilled"
    return scoring.think


def _output(
    completion: Any, think: Think, finish_reason: str = "stop", reasoning: str | None = None
) -> Output:
    text, own_reasoning = read_completion(completion)
    reasoning = own_reasoning if reasoning is None else reasoning
    if len(text) + len(reasoning or "") > MAX_CHARS:
        warn_once(
            "too long", f"a completion of more than {MAX_CHARS:,} characters is not judged: it earns nothing"
        )
        text, reasoning, finish_reason = "", None, "length"
    return Output(text, think, reasoning, finish_reason)


def _score_outputs(
    outputs: Sequence[Output],
    rows: Sequence[Mapping[str, Any]],
    scoring: Scoring,
    prompts: Sequence[Any],
    parts: Sequence[Part],
) -> list[Score]:
    tasks = [_task(row) for row in rows]
    correct = _correct(outputs, tasks) if "correct" in parts else [None] * len(tasks)
    return [
        _guarded(output, task, right, scoring, prompt, parts) if isinstance(task, Task) else Score(error=task)
        for output, task, right, prompt in zip(outputs, tasks, correct, prompts, strict=True)
    ]


def _correct(outputs: Sequence[Output], tasks: Sequence[Task | str]) -> list[float | None]:
    """Whether each response, and nothing before it, holds the right answer; None without a gold answer.

    Graded as one batch, so that answers that need the symbolic engine are compared at the same time.
    """
    correct: list[float | None] = [0.0 if isinstance(t, Task) and t.answer else None for t in tasks]
    graded = [
        (place, output.completion.response, task)
        for place, (output, task) in enumerate(zip(outputs, tasks, strict=True))
        if isinstance(task, Task) and task.answer and not unfinished(output) and not output.fault("response")
    ]
    grades = grade_many(
        [response for _, response, _ in graded],
        [task.answer for _, _, task in graded],
        [task.answer_type for _, _, task in graded],
    )
    for (place, _, _), one in zip(graded, grades, strict=True):
        correct[place] = float(one.correct)
    return correct


def _task(row: Mapping[str, Any]) -> Task | str:
    try:
        return read_task(row)
    except RowError as error:
        warn_once(f"row {error}", f"a row earns None: {error}")
        return str(error)


def _guarded(*arguments: Any) -> Score:
    """What `_score_output` gives; a fault of riftk's own costs one reward and not the run.

    The first of a kind is logged with its traceback; each is in its `Score`, and their share is a metric.
    """
    try:
        return _score_output(*arguments)
    except Exception as error:  # the other completions of the step are judged, and this one earns None
        warn_once(f"judging {type(error).__name__}", f"a completion earns None: {error}", exc_info=True)
        return Score(error=f"{type(error).__name__}: {error}")


def _score_output(
    output: Output,
    task: Task,
    correct: float | None,
    scoring: Scoring,
    prompt: Any,
    parts: Sequence[Part],
) -> Score:
    asked = counted(task, scoring)
    unclosed = unfinished(output)
    credits: list[float] | None = None
    if "followed" in parts and asked:
        credits = [0.0] * len(asked) if unclosed else following(output, asked, scoring, task.rules)
    degenerate = None
    if "degenerate" in parts and scoring.guards and not unclosed:
        degenerate = find_degenerate(
            Sample(output, tuple(asked), task, prompt, output.think in EXPECTS_TRACE)
        )
    of_target = {
        target: _mean([c for c, one in zip(credits or (), asked, strict=False) if one.target == target])
        for target in ("reasoning", "response")
    }
    followed = _mean(credits or ())
    strict = float(min(credits) == 1.0) if credits else None
    earned = None
    if correct is not None or followed is not None:
        parts_found = output.completion
        evidence = Evidence(
            correct,
            followed,
            strict,
            degenerate is not None,
            len(parts_found.reasoning),
            len(parts_found.response),
            task.reference_length or USUAL_TRACE,
        )
        earned = 0.0 if unclosed else FORMULAS[scoring.formula](evidence)
    return Score(
        score=earned,
        format=float(well_formed(output)),
        correct=correct,
        followed=followed,
        strict=strict,
        **of_target,
        unclosed=float(unclosed),
        guard=degenerate.guard if degenerate else "",
        guard_reason=degenerate.reason if degenerate else "",
        credits=tuple((c.id, c.target, earned) for c, earned in zip(asked, credits or (), strict=False)),
    )


def counted(task: Task, scoring: Scoring) -> list[Constraint]:
    """The constraints of a row that count under a scoring."""
    return [constraint for constraint in task.constraints if scoring.target in ("both", constraint.target)]


def check_judgeable(constraints: Sequence[Constraint], rules: str, own: str = "") -> None:
    """Judge a sentence by each constraint, so that one that cannot be judged shows before a run.

    Raises:
        ConstraintError: unknown rules, a rulebook that lacks a constraint, a constraint without its judge.
    """
    following(Output("<think>A sentence.</think>A sentence."), constraints, Scoring(rules=rules), own)


def unfinished(output: Output) -> bool:
    """Whether a completion was cut off, or does not close the trace that is expected of it."""
    completion = output.completion
    if output.finish_reason in ("length", "error") or completion.status == "unclosed":
        return True
    return output.think in EXPECTS_TRACE and completion.blocks == 0


def well_formed(output: Output) -> bool:
    """Whether there is one reasoning block, closed once and not empty, and a response behind it (MathIF).

    Tags are counted: `<think>a</think>b</think>c` passes elsewhere.
    """
    completion = output.completion
    one_block = completion.blocks == 1 or (completion.blocks > 1 and output.think == "channels")
    return (
        not unfinished(output)
        and completion.status == "closed"
        and one_block
        and not _THINK_TAG.search(completion.reasoning + completion.response)
        and completion.response.strip() != ""
    )


def following(output: Output, asked: Sequence[Constraint], scoring: Scoring, own: str = "") -> list[float]:
    """The credit of each constraint in [0, 1]: the lower one where two rulebooks judge."""
    credits = [1.0] * len(asked)
    for rules, places in _rulebooks(asked, scoring.rules, own).items():
        verdicts = output.judge([asked[place] for place in places], [rules])[rules]
        for place, verdict in zip(places, verdicts, strict=True):
            earned = verdict.score if scoring.credit == "graded" else float(verdict.followed)
            credits[place] = min(credits[place], earned)
    return credits


def _rulebooks(asked: Sequence[Constraint], rules: str, own: str) -> dict[str, list[int]]:
    """The rulebooks that count, each with the places of the constraints that it judges."""
    everywhere = list(range(len(asked)))
    if rules != "both":
        return {rules: everywhere}
    books: dict[str, list[int]] = {"robust": everywhere}
    for place, constraint in enumerate(asked):
        published = published_rules(constraint, own)
        if published is not None:
            books.setdefault(published, []).append(place)
    return books


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None
