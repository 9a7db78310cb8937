"""Outcomes: what became of one sample, a row or the stage and the reason of its rejection."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from riftk.constraints import Constraint
from riftk.rows import Row

from .config import NO_CONTROL, SynthConfig
from .decontaminate import Match
from .errors import ENGINE_FAILED, Rejected
from .filters import rule_talk
from .rewriting import Draft
from .seeds import Seed, make_prompt
from .verification import followed, judge, verify

Outcome = dict[str, Any]


def is_failure(outcome: Outcome) -> bool:
    """Whether a server is to blame: such a seed is tried again when the run is started again."""
    return outcome["reason"] == ENGINE_FAILED


def rejection(seed: Seed, attempt: int, stage: str, rejected: Rejected) -> Outcome:
    """The outcome of a sample that is dropped at a stage."""
    return {
        **_head(seed, attempt),
        "row": None,
        "stage": stage,
        "reason": rejected.reason,
        "detail": rejected.detail,
    }


def contaminated(seed: Seed, match: Match) -> Outcome:
    """The outcome of a problem that repeats a benchmark's question: it is not sampled at all."""
    rejected = Rejected(f"repeats a question of {match.benchmark}", str(match))
    return rejection(seed, 1, "seed", rejected)


def finish(config: SynthConfig, model: str, draft: Draft) -> Outcome:
    """Verify a trace that is through with its rewriters: a row, or why there is none."""
    seed, trace = draft.seed, draft.trace
    try:
        constraints = draft.constraints
        after = verify(config, seed, constraints, draft.text, trace.response)
        talk = rule_talk(trace.reasoning, seed.problem.question) if seed.ids else ""
        if talk and not config.rule_talk:
            raise Rejected("talk about the rule", talk)
    except Rejected as rejected:
        return rejection(seed, draft.attempt, "verify", rejected)
    prompt, wordings = make_prompt(config, seed, constraints)
    row = _row(config, seed, prompt, constraints)
    row |= {"reasoning": draft.text, "response": trace.response}
    row["synth"] = {
        "model": model,
        "rewriter": " + ".join(draft.used) or "none",
        "llm": config.llm if draft.llm_tries else "",
        "llm_tries": draft.llm_tries,
        "shape": draft.shape,
        "instructions": list(wordings),
        "trace_sha256": hashlib.sha256(trace.reasoning.encode()).hexdigest(),
        "attempts": draft.attempt,
        "control": NO_CONTROL,
    }
    kept = {} if not config.is_control else {"sampled": asdict(trace), "question": seed.problem.question}
    before = followed(judge(constraints, trace.reasoning, trace.response, config.row_rules))
    return {
        **_head(seed, draft.attempt),
        "row": row,
        "stage": "",
        "reason": "",
        "detail": "",
        "talks": bool(talk),
        "ifs": {"before": before, "after": after} if constraints else {},
        **kept,
    }


def _head(seed: Seed, attempt: int) -> Outcome:
    return {"key": f"{seed.item_id}/{attempt}", "attempt": attempt, "constraint": seed.kind}


def _row(config: SynthConfig, seed: Seed, prompt: str, constraints: Sequence[Constraint]) -> dict[str, Any]:
    """A row of the dataset without its completion."""
    row = Row(
        item_id=seed.item_id,
        prompt=({"role": "user", "content": prompt},),
        answer=seed.problem.answer,
        answer_type=seed.problem.answer_type,
        constraints=tuple(constraints),
        source=seed.problem.source,
        rules=config.row_rules,
    )
    return row.to_dict()
