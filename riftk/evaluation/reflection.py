"""A second turn for completions that did not follow (ReasonIF, section 4, RQ3).

The first turn is the prompt as it is. Where the published rules find that the reasoning does not follow, the
model sees its response and, quoted, its reasoning, is told that it did not follow, and answers again. What
followed at once is final, and so is a request that failed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from riftk.engines.base import Request
from riftk.prompts import reasonif_reflection

_KEPT = ("verdicts", "published_grades", "correct", "reasoning", "response", "status", "finish_reason",
         "prompt_tokens", "completion_tokens")  # fmt: skip


class SecondTurns:
    """What is asked in the second turn, and what comes of the first.

    Args:
        first: scored samples of the first turn, read once.
        rules: rulebook that decides what followed.
        asked: requests of the first turn by (item, sample).
    """

    def __init__(
        self, first: Iterable[Mapping[str, Any]], rules: str, asked: Mapping[tuple[int, int], Request]
    ) -> None:
        self.rules = rules
        self.requests: dict[tuple[int, int], Request] = {}
        self._before: dict[tuple[int, int], dict[str, Any]] = {}
        for sample in first:
            if not self._is_final(sample):
                place = (sample["doc_id"], sample["sample"])
                self.requests[place] = _second(asked[place], sample)
                self._before[place] = _summary(sample)

    def complete(self, sample: dict[str, Any]) -> dict[str, Any]:
        """A scored sample of the second turn with what is kept of the first."""
        return {**sample, "turn": 2, "first_turn": self._before[sample["doc_id"], sample["sample"]]}

    def accepted(self, first: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        """The samples of the first turn that are final."""
        for sample in first:
            if self._is_final(sample):
                yield {**sample, "turn": 1, "first_turn": _summary(sample)}

    def _is_final(self, sample: Mapping[str, Any]) -> bool:
        followed = all(verdict["followed"] for verdict in sample["verdicts"][self.rules])
        return followed or sample["finish_reason"] == "error"


def _second(request: Request, sample: Mapping[str, Any]) -> Request:
    turns = (
        {"role": "assistant", "content": sample["response"]},
        {"role": "user", "content": reasonif_reflection(sample["reasoning"])},
    )
    return replace(request, messages=(*request.messages, *turns))


def _summary(sample: Mapping[str, Any]) -> dict[str, Any]:
    return {name: sample[name] for name in _KEPT}
