"""One question before a run: does text come, and does the reasoning that is expected come with it?"""

from __future__ import annotations

from riftk.completions import split_completion
from riftk.completions.split import MARK
from riftk.engines.base import Engine, Generation, Request, Sampling

QUESTION = "What is 7 + 5? Explain in a few words."
MAX_TOKENS = 128


def probe_text(engine: Engine, think: str | None) -> dict[str, str]:
    """Ask an engine in this process; see `riftk.engines.base.Engine.probe`.

    Args:
        engine: what to ask.
        think: the think mode that the user expects, None where none was given.
    """
    request = Request("probe", ({"role": "user", "content": QUESTION},))
    [(_, generation)] = engine.generate([request], Sampling(temperature=0, top_p=1, max_tokens=MAX_TOKENS))
    return {
        "reasoning": found_reasoning(generation, think or engine.think, think),
        "finish_reason": generation.finish_reason,
    }


def found_reasoning(generation: Generation, think: str | None, expected: str | None) -> str:
    """Where the reasoning of a probe's answer lies: "field", "text" or "none".

    Args:
        generation: the answer.
        think: how the model is thought to mark its reasoning.
        expected: the think mode that the user gave, None where none was given.

    Raises:
        ValueError: the engine failed, or reasoning is expected and none came.
    """
    if generation.finish_reason == "error":
        raise ValueError(f"the engine does not answer: {generation.error}")
    split = split_completion(generation.text, think=think, reasoning_content=generation.reasoning_content)
    # Behind a prefilled tag any text counts as trace; one that ends by itself and unmarked is an answer.
    bare = think == "prefilled" and generation.finish_reason == "stop" and not MARK.search(generation.text)
    in_text = "text" if split.reasoning and not bare else "none"
    where = "field" if generation.reasoning_content else in_text
    if expected not in (None, "none") and where == "none":
        raise ValueError(
            f"think mode {expected!r} was given, but the model answered a question without any reasoning: "
            f"{generation.text[:80]!r}; switch its thinking on (--chat-template-kwargs), let the server pass "
            "the reasoning on, or give --think none"
        )
    return where
