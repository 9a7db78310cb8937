"""Tokens and money: what a run has used, and the budget that stops it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from riftk.engines.base import Generation

from .errors import BudgetSpent


@dataclass(frozen=True)
class Prices:
    """Prices of a million prompt and completion tokens; 0 where they are not known."""

    prompt: float = 0.0
    completion: float = 0.0

    def of(self, prompt_tokens: int, completion_tokens: int) -> float:
        """What so many tokens cost."""
        return (prompt_tokens * self.prompt + completion_tokens * self.completion) / 1e6


@dataclass(frozen=True)
class Budget:
    """What a run may use, all starts of it together.

    Args:
        tokens: prompt and completion tokens of all requests; None: no end.
        cost: money, in the unit of the prices; None: no end.
        sampling, rewriting: prices of the model that samples and of the one that rewrites.
    """

    tokens: int | None = None
    cost: float | None = None
    sampling: Prices = Prices()
    rewriting: Prices = Prices()

    def __post_init__(self) -> None:
        if self.cost is not None and self.sampling == self.rewriting == Prices():
            raise ValueError(
                "a budget in money needs prices: --price-in and --price-out, or --llm-price-in …"
            )


@dataclass
class Usage:
    """Requests that were answered, and their tokens."""

    requests: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    from_cache: int = 0

    def add(self, generation: Generation) -> None:
        self.requests += 1
        self.prompt_tokens += generation.prompt_tokens or 0
        self.completion_tokens += generation.completion_tokens or 0

    @property
    def tokens(self) -> int:
        return self.prompt_tokens + self.completion_tokens


@dataclass
class Spending:
    """What a run has used so far. Stored answers of an earlier start are counted when they are read again.

    Args:
        budget: what it may use.
    """

    budget: Budget = Budget()
    sampling: Usage = field(default_factory=Usage)
    rewriting: Usage = field(default_factory=Usage)

    @property
    def cost(self) -> float:
        return sum(
            prices.of(usage.prompt_tokens, usage.completion_tokens)
            for prices, usage in (
                (self.budget.sampling, self.sampling),
                (self.budget.rewriting, self.rewriting),
            )
        )

    def is_spent(self) -> bool:
        """Whether nothing more may be asked."""
        budget = self.budget
        tokens = self.sampling.tokens + self.rewriting.tokens
        return (budget.tokens is not None and tokens >= budget.tokens) or (
            budget.cost is not None and self.cost >= budget.cost
        )

    def stop(self) -> BudgetSpent:
        """The error to raise when the budget is spent."""
        tokens = self.sampling.tokens + self.rewriting.tokens
        return BudgetSpent(
            f"the budget is spent ({tokens:,} tokens, cost {self.cost:,.2f}); what was generated is stored, "
            "and the same command with a higher one goes on"
        )

    def to_dict(self) -> dict[str, Any]:
        return {
            "sampling": vars(self.sampling),
            "rewriting": vars(self.rewriting),
            "cost": round(self.cost, 6),
        }


def usage_lines(usage: Mapping[str, Any]) -> list[str]:
    """The figures of `Spending.to_dict` for people."""
    lines = []
    for role in ("sampling", "rewriting"):
        used = usage[role]
        if used["requests"]:
            lines.append(
                f"{role}: {used['requests']:,} requests ({used['from_cache']:,} from the cache), "
                f"{used['prompt_tokens']:,} prompt tokens, {used['completion_tokens']:,} completion tokens"
            )
    if usage["cost"]:
        lines.append(f"cost: {usage['cost']:,.2f}")
    return lines
