"""From what the model wrote to a trace worth rewriting, or the reason why it is not."""

from __future__ import annotations

import re
from dataclasses import dataclass

from riftk.completions import split_completion
from riftk.engines.base import Generation, Request
from riftk.grading import extract_answer, grade, has_complete_answer_tag
from riftk.grading.extract import boxed

from .config import SynthConfig
from .errors import ENGINE_FAILED, Rejected
from .filters import check_language, check_length
from .seeds import Seed, sampling_prompt

_ANSWER_TAG = re.compile(r"</?answer>", re.IGNORECASE)


@dataclass(frozen=True)
class Trace:
    """A usable sample: its reasoning, its visible answer, and what that answer says."""

    reasoning: str
    response: str
    answer: str


def request(config: SynthConfig, seed: Seed) -> Request:
    """What the engine is asked for a seed."""
    return Request(seed.item_id, ({"role": "user", "content": sampling_prompt(config, seed)},))


def accept(config: SynthConfig, seed: Seed, generation: Generation, think: str) -> Trace:
    """Split a sample and make sure that it is finished, answered and, with a gold answer, correct.

    Args:
        think: think mode of the engine's model, see `riftk.completions.think_mode`.

    Raises:
        Rejected: with the reason.
    """
    if generation.finish_reason == "error":
        raise Rejected(ENGINE_FAILED, generation.error or "")
    if generation.finish_reason == "length":
        raise Rejected("cut off at max_tokens")
    parts = split_completion(generation.text, think=think, reasoning_content=generation.reasoning_content)
    reasoning, response = parts.reasoning.strip(), parts.response.strip()
    if parts.status == "unclosed" and config.close_traces:
        reasoning, response = _closed(config, reasoning, seed.problem.answer_type)
    elif parts.status != "closed":
        raise Rejected(
            {"unclosed": "the trace is not closed", "none": "no trace"}.get(parts.status, "empty trace")
        )
    if not reasoning:
        raise Rejected("empty trace")
    if any("\ud800" <= char <= "\udfff" for char in reasoning + response):
        raise Rejected("half a character (a lone surrogate)")
    if parts.blocks > 1:
        raise Rejected("several think blocks")
    if config.is_paper:
        return Trace(reasoning, response, extract_answer(response, seed.problem.answer_type) or "")
    if has_answer_tag(reasoning):
        raise Rejected("answer tag in the trace")
    check_answered(config, response)
    check_length(config, reasoning)
    check_language(config, reasoning, seed.problem.question)
    answer = extract_answer(response, seed.problem.answer_type)
    check_answer(config, seed, response)
    return Trace(reasoning, response, answer or "")


def check_answered(config: SynthConfig, response: str) -> None:
    """Raise `Rejected` where a response gives no complete answer in the form that its prompt asks for."""
    if config.style == "mathif":
        if boxed(response) is None:
            raise Rejected("no complete \\boxed answer", response[-80:])
    elif not has_complete_answer_tag(response):
        raise Rejected("no complete answer tag", response[-80:])


def check_answer(config: SynthConfig, seed: Seed, response: str) -> None:
    """Raise `Rejected` when the problem has a gold answer and `response` gives another one."""
    if not config.require_correct or not seed.problem.answer:
        return
    verdict = grade(response, seed.problem.answer, seed.problem.answer_type)
    if not verdict.correct:
        raise Rejected("wrong answer", f"{verdict.extracted} instead of {seed.problem.answer[-40:]}")


def has_answer_tag(text: str) -> bool:
    """Whether an opening or closing answer tag stands anywhere in a text."""
    return bool(_ANSWER_TAG.search(text))


def _closed(config: SynthConfig, text: str, answer_type: str) -> tuple[str, str]:
    """A trace without its closing marker: what precedes the answer tag, and its answer as the response."""
    answer = extract_answer(text, answer_type)
    if answer is None:
        raise Rejected("the trace is not closed, and no answer in it")
    answered = f"\\boxed{{{answer}}}" if config.style == "mathif" else f"<answer>{answer}</answer>"
    return _ANSWER_TAG.split(text)[0].strip(), answered
