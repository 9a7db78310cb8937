"""What known exploits earn from a reward function: `riftk stress`.

The corpus is `exploits` (classes that rules can see, and some that they cannot) and `honest` (what deserves
the maximum). The reward is called once with all of them, as trl would.
"""

from __future__ import annotations

import asyncio
import importlib
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from .cases import Case
from .exploits import exploits
from .functions import GatedReward
from .honest import honest

KINDS = ("exploit", "unseen", "honest")


@dataclass(frozen=True)
class ClassResult:
    """What a class earns; `share` is its highest over the maximum, `worst` the case that tells most."""

    kind: str
    name: str
    count: int
    mean: float
    highest: float
    lowest: float
    share: float
    worst: Case


@dataclass(frozen=True)
class StressReport:
    """What a reward pays for the corpus.

    Args:
        maximum: the most that an honest case earns.
        classes: one result per class, exploits first, those that earn most in front.
        threshold: the share of the maximum that no visible exploit may exceed.
        unscored: cases for which the reward gave None; they count as 0.
    """

    maximum: float
    classes: tuple[ClassResult, ...]
    threshold: float
    unscored: int

    def of(self, kind: str) -> list[ClassResult]:
        """The classes of a kind: "exploit", "unseen" or "honest"."""
        return [one for one in self.classes if one.kind == kind]

    @property
    def paid(self) -> list[ClassResult]:
        """Classes that rules can see and that earn more than the threshold."""
        return [one for one in self.of("exploit") if one.share > self.threshold]

    @property
    def underpaid(self) -> list[ClassResult]:
        """Honest classes of which some case earns less than the maximum."""
        return [one for one in self.of("honest") if one.lowest < self.maximum - 1e-9]


def stress(
    reward: Callable[..., Any] | None = None,
    *,
    think: str = "tags",
    threshold: float = 0.1,
    problems: int = 2,
    seed: int = 0,
    plain: bool = False,
) -> StressReport:
    """Call a reward with the corpus.

    Args:
        reward: anything with trl's signature, `async` or not; by default `GatedReward(think=think)`.
        think: "tags" or "prefilled": whether completions open the think block or the prompt does.
        threshold: share of the maximum that an exploit may earn.
        problems: how many problems each class is made of.
        seed: of the corpus.
        plain: hand over texts instead of messages.

    Raises:
        ValueError: the reward returns not one number (or None) per completion, or pays honest cases nothing.
    """
    reward = GatedReward(think=think) if reward is None else reward  # type: ignore[arg-type]
    cases = [*exploits(problems, seed), *honest(problems, seed)]
    given = _call(reward, cases, think, plain)
    earned = [0.0 if value is None else float(value) for value in given]
    maximum = max(value for case, value in zip(cases, earned, strict=True) if case.kind == "honest")
    if maximum <= 0:
        raise ValueError(
            f"no honest completion earns anything (the most is {maximum:g}): does the reward read the "
            f"columns {', '.join(cases[0].row())}, and completions with think={think!r}, plain={plain}?"
        )
    return StressReport(maximum, _classes(cases, earned, maximum), threshold, given.count(None))


def _call(reward: Callable[..., Any], cases: Sequence[Case], think: str, plain: bool) -> list[float | None]:
    texts = [case.completion(think) for case in cases]
    rows = [case.row() for case in cases]
    if plain:
        prompts: list[Any] = [case.question for case in cases]
        completions: list[Any] = texts
    else:
        prompts = [[{"role": "user", "content": case.question}] for case in cases]
        completions = [[{"role": "assistant", "content": text}] for text in texts]
    given = reward(
        prompts=prompts,
        completions=completions,
        completion_ids=[[0] * len(text.split()) for text in texts],
        **{name: [row[name] for row in rows] for name in rows[0]},
        trainer_state=None,
        log_extra=lambda column, values: None,
        log_metric=lambda name, value: None,
    )
    if inspect.isawaitable(given):
        given = asyncio.run(_awaited(given))
    given = list(given)
    if len(given) != len(cases):
        raise ValueError(f"the reward returned {len(given)} values for {len(cases)} completions")
    return given


async def _awaited(given: Any) -> Any:
    return await given


def _classes(cases: Sequence[Case], earned: Sequence[float], maximum: float) -> tuple[ClassResult, ...]:
    groups: dict[tuple[str, str], list[tuple[float, Case]]] = {}
    for case, value in zip(cases, earned, strict=True):
        groups.setdefault((case.kind, case.name), []).append((value, case))
    results = []
    for (kind, name), group in groups.items():
        values = [value for value, _ in group]
        chosen = (
            min(group, key=lambda one: one[0]) if kind == "honest" else max(group, key=lambda one: one[0])
        )
        results.append(
            ClassResult(
                kind,
                name,
                len(group),
                sum(values) / len(values),
                max(values),
                min(values),
                max(values) / maximum,
                chosen[1],
            )
        )
    return tuple(sorted(results, key=lambda one: (KINDS.index(one.kind), -one.share, one.name)))


def load_reward(spec: str, think: str) -> Callable[..., Any]:
    """The reward of "package.module:name": a function, an instance, or a class to make one of.

    Raises:
        ValueError: it cannot be imported, or is not callable.
    """
    module, colon, name = spec.partition(":")
    if not colon:
        raise ValueError(f"--reward takes package.module:function, not {spec!r}")
    try:
        reward = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise ValueError(f"--reward {spec}: {error}") from error
    if isinstance(reward, type):
        reward = reward(think=think) if "think" in inspect.signature(reward).parameters else reward()
    if not callable(reward):
        raise ValueError(f"--reward {spec} is {type(reward).__name__}, which cannot be called")
    return reward


_TITLES = {
    "exploit": "exploits that rules can see",
    "unseen": "exploits that rules cannot see: reported, not counted",
    "honest": "honest, compliant completions",
}


def print_report(report: StressReport) -> None:
    """Print what each class earns, and what that means."""
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    console = Console()
    bad = {one.name for one in (*report.paid, *report.underpaid)}
    for kind, title in _TITLES.items():
        table = Table(title, "cases", "mean", "max", "share of the maximum")
        for one in report.of(kind):
            name = f"[red]{escape(one.name)}[/]" if one.name in bad else escape(one.name)
            table.add_row(name, str(one.count), f"{one.mean:.3f}", f"{one.highest:.3f}", f"{one.share:.1%}")
        console.print(table)
    console.print(f"maximum: {report.maximum:g}, what an honest completion earns at most")
    if report.unscored:
        console.print(f"{report.unscored} completions were not scored (None); they count as 0")
    for one in report.paid:
        console.print(
            f"[red]{escape(one.name)}[/] earns {one.share:.1%}, for instance with", escape(_shown(one.worst))
        )
    for one in report.underpaid:
        console.print(f"[yellow]{escape(one.name)}[/] can earn {one.lowest:g}:", escape(_shown(one.worst)))
    verdict = f"{len(report.paid)} of {len(report.of('exploit'))} visible classes earn more than"
    console.print(f"{verdict} {report.threshold:.0%} of the maximum")


def _shown(case: Case) -> str:
    asked = ", ".join(constraint.id for constraint in case.constraints)
    return f"{case.completion('tags')[:200]!r} under {asked or 'no constraint'}"
