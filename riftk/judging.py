"""One output of a model against its constraints: which text each rulebook reads, and the verdicts on it.

Rewards, evaluation and `riftk check` judge outputs here and nowhere else, so that what is paid for is what
is counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from riftk.completions import Completion, split_completion
from riftk.constraints import Constraint, Text, Verdict, broken, check_all
from riftk.constraints.published import judged_text
from riftk.grading import answer_tags, strip_answer_tags

# Published evaluators whose own cut of a response deals with answer tags.
_CUTS_RESPONSES = ("mathif",)


@dataclass(frozen=True)
class Output:
    """What a model delivered for one prompt.

    Args:
        text: everything that was generated, uncut.
        think: how the model marks its reasoning, see `riftk.completions.think_mode`.
        reasoning_content: the trace where a server delivers it apart from the text.
        finish_reason: "stop", "length" (cut off) or "error".
        tokens: how many were generated, for the reason of a verdict.
        error: what went wrong where the finish reason is "error".
    """

    text: str
    think: str | None = None
    reasoning_content: str | None = None
    finish_reason: str = "stop"
    tokens: int | None = None
    error: str | None = None
    _analysed: dict[str, Text] = field(default_factory=dict, init=False, repr=False, compare=False)

    @cached_property
    def completion(self) -> Completion:
        """Reasoning and response, as riftk splits them."""
        return split_completion(self.text, think=self.think, reasoning_content=self.reasoning_content)

    def fault(self, target: str) -> str | None:
        """Why robust rules find nothing to judge in a target; None where they do.

        A trace that is cut off, missing or empty is not followed, nor is a response that was cut off.
        """
        if self.finish_reason == "error":
            return f"no completion: {self.error}"
        cut_off = self.finish_reason == "length"
        after = f" after {self.tokens} tokens" if self.tokens else ""
        status = self.completion.status
        if status == "unclosed":
            return f"the reasoning was cut off{after}" if cut_off else "the reasoning was never closed"
        if target == "reasoning":
            return {"none": "there is no reasoning", "empty": "the reasoning is empty"}.get(status)
        if cut_off:
            return f"the response was cut off{after}"
        return None if self.completion.response else "there is no response"

    def judged_text(self, target: str, rules: str = "robust") -> str:
        """The text of a target that a rulebook judges; spans of verdicts are offsets into it.

        A published evaluator cuts the raw text at the think tags that the model wrote. Where the model marks
        its reasoning otherwise (the prompt opens the block, channels, a field of the server's answer), its
        cut is given the same parts between tags. Answer tags are stripped from a response: ReasonIF's prompt
        asks for them in lower case, so that capitals could never be followed. Evaluators of responses have
        cuts of their own (MathIF's takes what stands between the tags), to which nothing is added.
        """
        if rules in _CUTS_RESPONSES and target == "response":
            return self.published_cut(rules, target)
        if rules != "robust":
            text = self.published_cut(rules, target)
        else:
            text = self.completion.reasoning if target == "reasoning" else self.completion.response
        if target == "response" and answer_tags(text):  # else as it is: IFEval's loose rules count lines
            return strip_answer_tags(text)
        return text

    def published_cut(self, rules: str, target: str) -> str:
        """The text that a published evaluator cuts out, as it is: answers are looked for in it."""
        return judged_text(rules, self._tagged, target)

    def judge(self, constraints: Sequence[Constraint], rulebooks: Iterable[str]) -> dict[str, list[Verdict]]:
        """Verdicts under each rulebook, in the order of the constraints, whatever their targets.

        Raises:
            riftk.constraints.ConstraintError: an unknown rulebook, or one that lacks a constraint.
        """
        return {rules: self._verdicts(constraints, rules) for rules in rulebooks}

    def _verdicts(self, constraints: Sequence[Constraint], rules: str) -> list[Verdict]:
        verdicts: dict[int, Verdict] = {}
        for target in {constraint.target for constraint in constraints}:
            places = [place for place, constraint in enumerate(constraints) if constraint.target == target]
            fault = self.fault(target) if rules == "robust" else None
            if fault is not None:
                verdicts |= dict.fromkeys(places, broken(0.0, fault))
                continue
            asked = [constraints[place] for place in places]
            verdicts |= zip(places, check_all(asked, self.analysis(target, rules), rules), strict=True)
        return [verdicts[place] for place in range(len(constraints))]

    def analysis(self, target: str, rules: str = "robust") -> Text:
        """The judged text with what is known about it; rulebooks that read the same text share it."""
        text = self.judged_text(target, rules)
        return self._analysed.setdefault(text, Text(text))

    @cached_property
    def _tagged(self) -> str:
        """The raw text as a model would have written it that writes both think tags itself."""
        if self.reasoning_content is not None:
            return f"<think>{self.reasoning_content}</think>{self.text}"
        if self.think in ("prefilled", "channels") and self.completion.status == "closed":
            return f"<think>{self.completion.reasoning}</think>{self.completion.response}"
        return self.text
