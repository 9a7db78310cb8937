r"""Problems that repeat a benchmark's question: found by n-grams of words, shown with the text that matches.

Overlap is the share of the shorter text's n-grams that the other one has as well, so that a question inside
a long problem is found, and a problem made of a part of a question too. N-grams which stand in several items
of a benchmark are its prompt, not its questions, and count for nothing. N-gram matching is known for false
alarms (marin-community/marin#6852): each benchmark has its own threshold, and every match is reported.

    >>> index = Index(words=3)
    >>> index.add("toy", 0.5, {"toy-1": "A train leaves at nine and arrives at noon."})
    >>> str(index.match("At what speed does it go? A train leaves at nine and arrives at noon, 90 km away."))
    "toy toy-1, 100 % of it: 'a train leaves at nine and arrives at noon'"
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from riftk.benchmarks import BENCHMARKS, load_benchmark
from riftk.benchmarks.limits import DATASET

from .errors import SynthesisError

THRESHOLD = 0.5
WORDS = 8  # of an n-gram
ALL = "all"
# Benchmarks whose items are made, by the same templates as training problems.
_GENERATED = tuple(name for name, load in BENCHMARKS.items() if load.startswith("riftk.tiny."))
_TEMPLATE_SHARE = 0.02  # of the items: what stands in more of them (and in more than three) is the prompt's
_TEMPLATE_ITEMS = 3
_WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True)
class Match:
    """A benchmark's item that a problem repeats, the share that is the same, and its longest stretch."""

    benchmark: str
    item_id: str
    overlap: float
    text: str

    def __str__(self) -> str:
        return f"{self.benchmark} {self.item_id}, {100 * self.overlap:.0f} % of it: {self.text!r}"


@dataclass(frozen=True)
class _Item:
    benchmark: str
    item_id: str
    grams: int


class Index:
    """The n-grams of benchmarks' questions.

    Args:
        words: length of an n-gram; a question with fewer words is one n-gram.
    """

    def __init__(self, words: int = WORDS) -> None:
        self._words = words
        self._items: list[_Item] = []
        self._found: dict[int, list[int]] = {}
        self._lengths: set[int] = set()
        self._thresholds: dict[str, float] = {}

    def __bool__(self) -> bool:
        return bool(self._items)

    def add(self, benchmark: str, threshold: float, questions: Mapping[str, str]) -> None:
        """Add the questions of a benchmark, by item id.

        Args:
            benchmark: its name.
            threshold: overlap from which on a problem is rejected.
            questions: as they are asked; prompt templates around them do no harm.
        """
        self._thresholds[benchmark] = threshold
        grams = {item_id: set(self._grams(_tokens(text))) for item_id, text in questions.items()}
        counts = Counter(gram for found in grams.values() for gram in found)
        most = max(_TEMPLATE_ITEMS, _TEMPLATE_SHARE * len(grams))
        for item_id, found in grams.items():
            own = [gram for gram in found if counts[gram] <= most]
            if not own:
                continue
            place = len(self._items)
            self._items.append(_Item(benchmark, item_id, len(own)))
            for gram in own:
                self._found.setdefault(hash(gram), []).append(place)
                self._lengths.add(len(gram))

    def match(self, text: str) -> Match | None:
        """The item that a text repeats most of, None where no benchmark's threshold is reached."""
        tokens = _tokens(text)
        shared: Counter[int] = Counter()
        starts: dict[int, list[int]] = {}
        total = 0
        for length in sorted(self._lengths):
            seen = set()
            for start in range(len(tokens) - length + 1):
                gram = hash(tuple(tokens[start : start + length]))
                if gram in seen:
                    continue
                seen.add(gram)
                for place in self._found.get(gram, ()):
                    shared[place] += 1
                    starts.setdefault(place, []).append(start)
            if length == self._words:
                total = len(seen)
        best: Match | None = None
        for place, count in shared.items():
            item = self._items[place]
            overlap = count / (min(item.grams, total) if total else item.grams)
            if overlap >= self._thresholds[item.benchmark] and (best is None or overlap > best.overlap):
                best = Match(item.benchmark, item.item_id, overlap, self._stretch(tokens, starts[place]))
        return best

    def _stretch(self, tokens: Sequence[str], starts: list[int]) -> str:
        """The longest run of words that n-grams beginning at `starts` cover."""
        best = run = (starts[0], starts[0] + self._words)
        for start in starts[1:]:
            run = (run[0], start + self._words) if start <= run[1] else (start, start + self._words)
            best = max(best, run, key=lambda span: span[1] - span[0])
        return " ".join(tokens[slice(*best)])

    def _grams(self, tokens: Sequence[str]) -> Iterable[tuple[str, ...]]:
        if len(tokens) <= self._words:
            return [tuple(tokens)] if tokens else []
        return (tuple(tokens[at : at + self._words]) for at in range(len(tokens) - self._words + 1))


def _tokens(text: str) -> list[str]:
    return _WORD.findall(text.lower())


def thresholds(names: Iterable[str]) -> dict[str, float]:
    """Benchmarks with their thresholds, of `name`, `name=0.7` and `all`.

    Raises:
        SynthesisError: an unknown benchmark, or a threshold that is none.
    """
    wanted: dict[str, float] = {}
    for entry in names:
        name, equals, value = entry.partition("=")
        try:
            threshold = float(value) if equals else THRESHOLD
        except ValueError:
            threshold = 0.0
        if not 0 < threshold <= 1:
            raise SynthesisError(
                f"decontaminate takes NAME or NAME=THRESHOLD (above 0, at most 1), not {entry!r}"
            )
        for each in [b for b in BENCHMARKS if b not in _GENERATED] if name == ALL else [name]:
            if each not in BENCHMARKS:
                raise SynthesisError(
                    f"decontaminate: unknown benchmark {each!r}; there are {ALL}, {', '.join(BENCHMARKS)}"
                )
            if name != ALL or each not in wanted:
                wanted[each] = threshold
    return wanted


def load_index(names: Iterable[str], folder: str) -> Index:
    """The index of the benchmarks that a configuration names; empty where it names none.

    Args:
        names: see `thresholds`.
        folder: with the benchmarks' files; "" reads the hub.

    Raises:
        SynthesisError: see `thresholds`; also where a benchmark's questions cannot be had.
    """
    index = Index()
    for name, threshold in thresholds(names).items():
        try:
            rows = load_benchmark(name, data_dir=folder or None, limits=DATASET).rows
        except (OSError, ValueError) as error:
            raise SynthesisError(
                f"decontaminate: {error}; leave {name} out, or give benchmark_dir"
            ) from error
        index.add(name, threshold, {row.item_id: row.user_text for row in rows})
    return index
