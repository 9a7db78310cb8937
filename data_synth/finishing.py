"""The last stages: outcomes are filtered against each other, and the rows that are left become the dataset.

Rows are looked at one after the other, twice: first to find repetitions and to count, then to write. Memory
holds one byte a seed.
"""

from __future__ import annotations

import hashlib
import json
import math
import random
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from riftk.files import write_json
from riftk.rows import write_jsonl

from .card import Findings, write_card
from .config import SynthConfig
from .controls import labelled, make_exchange
from .errors import SynthesisError
from .journal import part_path, read_part
from .outcomes import Outcome
from .outputs import write_outputs
from .shards import Window
from .yields import PLAIN, Yield, Yields

DATASET = "dataset.jsonl"
YIELDS = "yields.json"
_KEEP, _REPEATED, _TALKS, _TOO_MANY = range(4)
_REASONS = {
    _REPEATED: "a row with the same prompt is there already",
    _TALKS: "talk about the rule beyond its share",
    _TOO_MANY: "more than the share of its type",
}


def outcomes_of(window: Window) -> Iterator[Outcome]:
    """The outcomes of a window: attempt by attempt, in the order of the seeds."""
    pending, attempt = window.seeds, 0
    while pending:
        attempt += 1
        path = part_path(window.folder / "rewritten", window.number, attempt)
        if not path.exists():
            return
        records = read_part(path)
        left = []
        for seed in pending:
            outcome = records.get(f"{seed.item_id}/{attempt}")
            if outcome is not None:
                yield outcome
                if outcome["row"] is None:
                    left.append(seed)
        pending = left


def finish_dataset(
    config: SynthConfig, windows: Callable[[], Iterable[Window]], out: Path, usage: dict[str, Any]
) -> tuple[int, dict[str, Yield]]:
    """Filter the outcomes of windows, and write the dataset with its card and its other forms.

    Args:
        config: what was made.
        windows: gives the windows from the beginning, each time that it is called.
        out: folder to write to.
        usage: requests and tokens of the run, for the card.

    Returns:
        Number of rows, and yields by constraint.

    Raises:
        SynthesisError: not one row was kept.
    """
    verdicts = _decide(config, windows)
    yields, findings = Yields(), Findings()
    part = out / "dataset.part.jsonl"

    def decided() -> Iterator[tuple[Outcome, str | None, bool]]:
        """Each outcome, why it was left out, and whether its row is in the dataset."""
        for outcome, verdict in zip(_all(windows()), verdicts, strict=True):
            reason = _REASONS.get(verdict)
            yield outcome, reason, outcome["row"] is not None and reason is None

    exchange = make_exchange(config, (outcome for outcome, _, kept in decided() if kept))

    def rows() -> Iterator[dict[str, Any]]:
        for outcome, reason, kept in decided():
            told = labelled(config, exchange(outcome) if kept else outcome)
            yields.add(told, reason)
            findings.add(told, kept)
            if kept:
                yield told["row"]

    count = write_jsonl(part, rows())
    write_json(out / YIELDS, yields.to_dict())
    if not count:
        part.unlink()
        raise SynthesisError(
            f"not one row was kept of {config.num_rows} seeds: {yields.most_common()}; see {out / YIELDS}"
        )
    write_outputs(config, part, out)
    write_card(config, yields.table, findings, usage, count, out)
    part.replace(out / DATASET)
    return count, yields.by_kind


def write_yields(windows: Iterable[Window], out: Path, usage: dict[str, Any]) -> dict[str, Yield]:
    """Count the outcomes of a shard, and store what it used; its rows are filtered when shards are merged."""
    yields = Yields()
    for outcome in _all(windows):
        yields.add(outcome)
    write_json(out / YIELDS, yields.to_dict())
    write_json(out / "usage.json", usage)
    return yields.by_kind


def read_yields(folder: Path) -> dict[str, Yield]:
    """The yields of a finished run."""
    return Yields.from_dict(json.loads((folder / YIELDS).read_text(encoding="utf-8"))).by_kind


def _all(windows: Iterable[Window]) -> Iterator[Outcome]:
    for window in windows:
        yield from outcomes_of(window)


def _decide(config: SynthConfig, windows: Callable[[], Iterable[Window]]) -> bytearray:
    """A verdict on each outcome; those that hold no row are kept where they are."""
    verdicts, kinds, talking = _repetitions(_all(windows()))
    if not config.balance and not talking:
        return verdicts
    talk = _Quota(math.floor(config.rule_talk * kinds.total()), talking, config.seed)
    quotas = {
        kind: _Quota(quota, kinds[kind], config.seed) for kind, quota in _balanced(config, kinds).items()
    }
    for place, outcome in enumerate(_all(windows())):
        if outcome["row"] is None or verdicts[place] != _KEEP:
            continue
        if outcome["talks"] and not talk.takes():
            verdicts[place] = _TALKS
        elif not quotas[outcome["constraint"] or PLAIN].takes():
            verdicts[place] = _TOO_MANY
    return verdicts


def _repetitions(outcomes: Iterable[Outcome]) -> tuple[bytearray, Counter[str], int]:
    """Which rows have a prompt that an earlier one has; of the others, how many of each kind, and how many
    talk about the rule. The prompts seen are on disk, as hashes."""
    verdicts, kinds, talking = bytearray(), Counter[str](), 0
    seen = sqlite3.connect("", isolation_level=None)  # a temporary file
    seen.execute("CREATE TABLE seen (prompt BLOB PRIMARY KEY) WITHOUT ROWID")
    seen.execute("BEGIN")
    for outcome in outcomes:
        verdicts.append(_KEEP)
        if outcome["row"] is None:
            continue
        prompt = " ".join(outcome["row"]["prompt"][-1]["content"].split())
        digest = hashlib.sha256(prompt.encode("utf-8", "surrogatepass")).digest()[:16]
        if seen.execute("INSERT OR IGNORE INTO seen VALUES (?)", (digest,)).rowcount == 0:
            verdicts[-1] = _REPEATED
            continue
        kinds[outcome["constraint"] or PLAIN] += 1
        talking += outcome["talks"]
    seen.close()
    return verdicts, kinds, talking


def _balanced(config: SynthConfig, kinds: Counter[str]) -> dict[str, int]:
    """The most rows of each kind. Plain ones keep their share beside the others."""
    if not config.balance:
        return dict(kinds)
    asked = {kind: count for kind, count in kinds.items() if kind != PLAIN}
    if not asked:
        return dict(kinds)
    most = math.floor(config.balance * min(asked.values()))
    quotas = {kind: min(count, most) for kind, count in asked.items()}
    if config.plain_share < 1:
        quotas[PLAIN] = round(sum(quotas.values()) * config.plain_share / (1 - config.plain_share))
    return {kind: min(quotas.get(kind, count), count) for kind, count in kinds.items()}


class _Quota:
    """Takes exactly `quota` of `total` things that come one by one, each with the same chance (Knuth's S)."""

    def __init__(self, quota: int, total: int, seed: int) -> None:
        self._wanted, self._left = quota, total
        self._draws = random.Random(f"quota-{seed}")

    def takes(self) -> bool:
        taken = self._draws.random() * self._left < self._wanted
        self._left -= 1
        self._wanted -= taken
        return taken
