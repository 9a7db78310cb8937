"""Judging cases under rulebooks, and the audit of many: what share is followed, and why the rest is not."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

from riftk.constraints import Constraint, ConstraintError, Text, Verdict, check_all
from riftk.constraints.conflicts import conflicts
from riftk.constraints.published import RULEBOOKS, published_rules
from riftk.constraints.sentences import disagreements
from riftk.judging import Output

from .layouts import Case

BOTH = "both"
_NAMED_ROWS = 5  # rows named beside a flaw that many have
_REASONS = 1000  # different reasons counted per constraint, target and rulebook; the rest are "other"
_OTHER = "other reasons"


@dataclass(frozen=True)
class Judged:
    """A verdict, whose it is, and the text that its spans are offsets into.

    `place` is the constraint's among those of its row: the same one may occur twice.
    """

    place: int
    constraint: Constraint
    rules: str
    verdict: Verdict
    text: str

    def to_dict(self) -> dict[str, Any]:
        return {
            "id": self.constraint.id,
            "target": self.constraint.target,
            "rules": self.rules,
            "followed": self.verdict.followed,
            "score": round(self.verdict.score, 4),
            "reason": self.verdict.reason,
            "spans": [list(span) for span in self.verdict.spans],
        }


def known_rules(names: str) -> tuple[str, ...]:
    """Rulebooks from a comma-separated list. Raises `ConstraintError` for one that does not exist."""
    rules = tuple(name.strip() for name in names.split(",") if name.strip())
    known = ("robust", BOTH, *RULEBOOKS)
    for name in rules:
        if name not in known:
            raise ConstraintError(f"unknown rules {name!r}; there are {', '.join(known)}")
    if not rules:
        raise ConstraintError(f"no rules given; there are {', '.join(known)}")
    return rules


def judge(case: Case, rules: Sequence[str]) -> list[Judged]:
    """Verdicts on a case, for each constraint in order those of each rulebook.

    Args:
        case: what is judged.
        rules: rulebooks. "both" stands for the published rules of the row's benchmark and robust; of a row
            that names no benchmark, those that `published_rules` finds for each constraint.

    Raises:
        riftk.constraints.ConstraintError: a rulebook that lacks a constraint or never judges its target.
    """
    wanted: dict[str, list[int]] = {}
    for place, constraint in enumerate(case.constraints):
        for book in _books(constraint, rules, case.published):
            wanted.setdefault(book, []).append(place)
    found: list[list[Judged]] = [[] for _ in case.constraints]
    for book, places in wanted.items():
        asked = [case.constraints[place] for place in places]
        for place, (verdict, text) in zip(places, _verdicts(case.source, asked, book), strict=True):
            found[place].append(Judged(place, case.constraints[place], book, verdict, text))
    return [judged for of_one in found for judged in of_one]


def _books(constraint: Constraint, rules: Sequence[str], published: str | None) -> list[str]:
    names: list[str] = []
    for name in rules:
        if name == BOTH:
            own = published if published and constraint.id in RULEBOOKS[published] else None
            names += filter(None, (own or published_rules(constraint), "robust"))
        else:
            names.append(name)
    return list(dict.fromkeys(names))


def _verdicts(source: Output | Text, constraints: list[Constraint], book: str) -> list[tuple[Verdict, str]]:
    if isinstance(source, Text):
        return [(verdict, source.raw) for verdict in check_all(constraints, source, book)]
    verdicts = source.judge(constraints, [book])[book]
    return [(v, source.judged_text(c.target, book)) for c, v in zip(constraints, verdicts, strict=True)]


# -------------------------------------------------------------------------------------- the audit


@dataclass
class Cell:
    """Verdicts of one constraint id about one target under one rulebook."""

    n: int = 0
    followed: int = 0
    score: float = 0.0
    reasons: Counter[str] = field(default_factory=Counter)

    def add(self, verdict: Verdict) -> None:
        self.n += 1
        self.followed += verdict.followed
        self.score += verdict.score
        if not verdict.followed:
            _count(self.reasons, masked(verdict.reason))


@dataclass
class Flaw:
    """Rows with one thing wrong in themselves, whatever the text: how many, and the first of them."""

    rows: int = 0
    first: list[str] = field(default_factory=list)


class Audit:
    """Tallies cases in memory that does not grow with their number.

    Attributes:
        rows, unconstrained: rows seen, and those among them without any constraint.
        skipped: rows that could not be read or judged.
        cells: (target, id, rules) -> `Cell`.
        agreement: (target, id, rules, other rules) -> verdicts [followed under both, only under the first,
            only under the second, under neither].
        wholly: rules -> [rows with a verdict under them, rows whose constraints are all followed].
        statuses: how the reasoning of outputs ends -> rows.
        flaws: (kind, reason) -> `Flaw`. Kinds are those of `riftk.constraints.conflicts`, and "disagreement":
            the prompt asks for something else than the arguments say.
    """

    def __init__(self) -> None:
        self.rows = self.unconstrained = self.skipped = 0
        self.cells: dict[tuple[str, str, str], Cell] = {}
        self.agreement: dict[tuple[str, str, str, str], list[int]] = {}
        self.wholly: dict[str, list[int]] = {}
        self.statuses: Counter[str] = Counter()
        self.flaws: dict[tuple[str, str], Flaw] = {}

    def add(self, case: Case, judged: Iterable[Judged], where: str = "") -> None:
        """Count a case with its verdicts (as `judge` orders them); `where` names the row."""
        self.rows += 1
        self.unconstrained += not case.constraints
        if case.status is not None:
            self.statuses[case.status] += 1
        whole: dict[str, bool] = {}
        by_constraint: dict[int, list[Judged]] = {}
        for one in judged:
            key = (one.constraint.target, one.constraint.id, one.rules)
            self.cells.setdefault(key, Cell()).add(one.verdict)
            whole[one.rules] = whole.get(one.rules, True) and one.verdict.followed
            by_constraint.setdefault(one.place, []).append(one)
        for verdicts in by_constraint.values():
            self._compare(verdicts)
        for rules, followed in whole.items():
            counts = self.wholly.setdefault(rules, [0, 0])
            counts[0] += 1
            counts[1] += followed
        for kind, reason in _flaws(case):
            self._flaw((kind, reason), where)

    def _compare(self, verdicts: list[Judged]) -> None:
        for one, other in combinations(verdicts, 2):
            key = (one.constraint.target, one.constraint.id, one.rules, other.rules)
            counts = self.agreement.setdefault(key, [0, 0, 0, 0])
            counts[2 * (not one.verdict.followed) + (not other.verdict.followed)] += 1

    def _flaw(self, key: tuple[str, str], where: str) -> None:
        if key not in self.flaws and len(self.flaws) >= _REASONS:
            key = (key[0], _OTHER)
        flaw = self.flaws.setdefault(key, Flaw())
        flaw.rows += 1
        if len(flaw.first) < _NAMED_ROWS:
            flaw.first.append(where)

    @property
    def followed(self) -> bool:
        """Whether everything that was judged is followed."""
        return all(cell.followed == cell.n for cell in self.cells.values())

    def to_dict(self, reasons: int = 10) -> dict[str, Any]:
        """All figures, as JSON can hold them; shares with Wilson's 95 % interval."""
        from riftk.statistics import proportion

        return {
            "rows": self.rows,
            "unconstrained": self.unconstrained,
            "skipped": self.skipped,
            "statuses": dict(self.statuses.most_common()),
            "rows_followed": {
                rules: proportion(followed, n).to_dict() for rules, (n, followed) in self.wholly.items()
            },
            "constraints": [
                {
                    "id": name,
                    "target": target,
                    "rules": rules,
                    "n": cell.n,
                    "followed": cell.followed,
                    "share": proportion(cell.followed, cell.n).to_dict(),
                    "mean_score": cell.score / cell.n,
                    "reasons": [{"reason": r, "n": n} for r, n in cell.reasons.most_common(reasons)],
                }
                for (target, name, rules), cell in sorted(self.cells.items())
            ],
            "agreement": [
                {
                    "id": name,
                    "target": target,
                    "rules": [first, second],
                    "n": sum(counts),
                    "agree": counts[0] + counts[3],
                    "only_first": counts[1],
                    "only_second": counts[2],
                }
                for (target, name, first, second), counts in sorted(self.agreement.items())
            ],
            "flaws": [
                {"kind": kind, "reason": reason, "rows": flaw.rows, "first": flaw.first}
                for (kind, reason), flaw in sorted(self.flaws.items(), key=lambda item: -item[1].rows)
            ],
        }


def _flaws(case: Case) -> set[tuple[str, str]]:
    wrong = {(c.kind, masked(c.reason)) for c in conflicts(case.constraints, case.prompt, case.answer)}
    if case.prompt:
        wrong |= {("disagreement", masked(text)) for text in disagreements(case.constraints, case.prompt)}
    return wrong


_QUOTED = re.compile(r"'[^'\n]*'|\"[^\"\n]*\"")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")


def masked(reason: str) -> str:
    """A reason without what differs from text to text: numbers become N, quotations '…'."""
    return _NUMBER.sub("N", _QUOTED.sub("'…'", reason))[:200]


def _count(reasons: Counter[str], reason: str) -> None:
    reasons[reason if reason in reasons or len(reasons) < _REASONS else _OTHER] += 1
