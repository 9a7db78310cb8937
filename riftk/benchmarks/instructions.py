"""The same items with their instructions asked for in another way: has a model learnt more than a form?

    published     in the benchmark's own words and place
    paraphrased   in other words, hand-written and never trained on, see `riftk.benchmarks.paraphrases`
    system        in the system message, in the benchmark's own words
    none          not at all; what then has the form of an instruction is over-application, see
                  `riftk.evaluation.forms`

Every benchmark takes them (`--instructions`, or behind its name: `tiny:instructions=none`), because an
instruction is found again in its prompt by its sentence. Constraints and rulebooks stay what they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from riftk.constraints import Constraint
from riftk.constraints.published import RULEBOOKS
from riftk.constraints.published.mathif import description
from riftk.rows import Row, RowError

from .base import Benchmark
from .paraphrases import paraphrase

PUBLISHED, PARAPHRASED, SYSTEM, NONE = MODES = ("published", "paraphrased", "system", "none")

# What stands around an instruction and goes where it goes: ReasonIF's frame; CoTControl's, with what it adds.
_FRAMES = (
    (
        re.compile(
            r"Format (?:your \w+|the text between these two tags) according to the following rule: \*{2}$"
        ),
        re.compile(r"\*{2}"),
    ),
    (re.compile(r"Requirement: $"), re.compile(r".*", re.DOTALL)),
)

Span = tuple[int, int]


def with_instructions(benchmark: Benchmark, mode: str) -> Benchmark:
    """A benchmark with its instructions asked for in another way.

    Items that are then the same prompt, because only their instructions told them apart, are asked once.

    Args:
        benchmark: as its authors have it.
        mode: one of `MODES`.

    Raises:
        ValueError: no such mode, nothing to be asked otherwise, or a mode that a conversation with repeated
            instructions cannot have.
        RowError: a row whose instruction is not one of the sentences that are known for its constraints.
    """
    if mode not in MODES:
        raise ValueError(f"instructions can be {', '.join(MODES)}; not {mode!r}")
    if mode == PUBLISHED:
        return benchmark
    if not any(row.constraints for row in benchmark.rows):
        raise ValueError(
            f"{benchmark.name} asks for no constraint, so nothing can be asked in another way; run it as it "
            "is, and forms that come unasked are counted all the same"
        )
    if (benchmark.repeat and mode != SYSTEM) or (benchmark.reflects and mode == NONE):
        raise ValueError(
            f"{benchmark.name} asks for its instructions a second time in its own words, "
            f"which instructions={mode} would leave as it is"
        )
    change = {PARAPHRASED: _paraphrased, SYSTEM: _moved, NONE: _left_out}[mode]
    rows = [change(row, benchmark) if row.constraints else row for row in benchmark.rows]
    if mode == NONE:
        rows = _once(rows)
    return replace(benchmark, rows=tuple(rows), details={**benchmark.details, "instructions": mode})


def _paraphrased(row: Row, benchmark: Benchmark) -> Row:
    text = _asking(row)
    found = zip(_places(text, row, benchmark), row.constraints, strict=True)
    pieces = [
        (span, paraphrase(constraint, f"{row.item_id} {number}"))
        for number, (span, constraint) in enumerate(found)
    ]
    for (start, end), words in sorted(pieces, reverse=True):
        text = text[:start] + words + text[end:]
    return replace(row, prompt=(*row.prompt[:-1], {"role": "user", "content": text}))


def _moved(row: Row, benchmark: Benchmark) -> Row:
    text, taken = _taken_out(row, benchmark)
    before, system = row.prompt[:-1], " ".join(taken)
    if before and before[0]["role"] == "system":
        system = f"{before[0]['content']}\n\n{system}"
        before = before[1:]
    messages = ({"role": "system", "content": system}, *before, {"role": "user", "content": text})
    return replace(row, prompt=messages)


def _left_out(row: Row, benchmark: Benchmark) -> Row:
    text, _ = _taken_out(row, benchmark)
    return replace(row, prompt=(*row.prompt[:-1], {"role": "user", "content": text}), constraints=())


def _once(rows: list[Row]) -> list[Row]:
    """The rows without those that ask what an earlier one asks."""
    first: dict[tuple[str, str], Row] = {}
    for row in rows:
        first.setdefault((row.user_text, row.answer), row)
    return list(first.values())


def _asking(row: Row) -> str:
    """The message in which a row asks for its constraints: the last one."""
    if row.prompt[-1]["role"] != "user":
        raise RowError(f"{row.item_id}: the last message of the prompt must be the user's")
    return row.prompt[-1]["content"]


def _taken_out(row: Row, benchmark: Benchmark) -> tuple[str, list[str]]:
    """The asking message without its instructions and their frames, and these in their order."""
    text = _asking(row)
    spans = [_framed(text, span) for span in _joined(text, _places(text, row, benchmark))]
    taken = [text[start:end] for start, end in spans]
    for start, end in reversed(spans):
        before, after = text[:start], text[end:]
        if not (before.strip() and after.strip()):
            text = before.rstrip() + after.lstrip()
        else:  # one of the blanks on both sides is enough
            text = (before.rstrip() if after[0].isspace() else before) + after
    return text, taken


def _joined(text: str, spans: list[Span]) -> list[Span]:
    """The spans in their order, those between which nothing stands as one: they share a frame."""
    joined: list[Span] = []
    for start, end in sorted(spans):
        if joined and not text[joined[-1][1] : start].strip():
            start = joined.pop()[0]
        joined.append((start, end))
    return joined


def _framed(text: str, span: Span) -> Span:
    start, end = span
    for before, after in _FRAMES:
        opened, closed = before.search(text[:start]), after.match(text, end)
        if opened and closed:
            return opened.start(), closed.end()
    return span


def _places(text: str, row: Row, benchmark: Benchmark) -> list[Span]:
    """Where the sentence of each constraint stands; from the end, because a question may talk like that."""
    taken: list[Span] = []
    for constraint in row.constraints:
        sentences = _sentences(constraint, benchmark)
        spans = (span for sentence in sentences for span in _occurrences(text, sentence))
        span = next((s for s in spans if all(s[1] <= a or s[0] >= b for a, b in taken)), None)
        if span is None:
            raise RowError(
                f"{row.item_id} asks for {constraint.id} in words of its own, so that the instruction can be "
                f"neither replaced nor taken out; run {benchmark.name} with instructions=published"
            )
        taken.append(span)
    return taken


def _sentences(constraint: Constraint, benchmark: Benchmark) -> dict[str, None]:
    """What may ask for a constraint: the benchmark's sentence, MathIF's, riftk's wordings."""
    sentences = [benchmark.sentence(constraint)]
    if constraint.id in RULEBOOKS["mathif"]:
        sentences.append(description(constraint))
    return dict.fromkeys(s.strip() for s in (*sentences, *constraint.instructions()))


def _occurrences(text: str, sentence: str) -> Iterator[Span]:
    """Where a sentence stands in a text, the last place first."""
    end = len(text)
    while (start := text.rfind(sentence, 0, end)) >= 0:
        yield start, start + len(sentence)
        end = start + len(sentence) - 1
