"""Controls: what is learnt from rows that do not show how an instruction is followed.

A gain after finetuning need not come from obeying: prompts with instructions, the forms alone, shorter traces
or more correct traces of the same problems may do the same. A control takes exactly the rows that the normal
run accepts, verified and filtered as ever, and exchanges what was rewritten: rows and steps stay equal.

    unrewritten  the instruction in the prompt, and the trace as it was sampled
    shuffled     the rewritten traces under the instructions of other rows, wherever possible of another
                 constraint
    shortened    the instruction in the prompt, and the sampled trace shortened by rule (whole sentences, see
                 `riftk.data_synth.condense`) as much as the rewriting changed the length of another row's
                 trace: the lengths of a normal run, but not where the instruction asks for them
    correct      no instruction, and the trace as it was sampled

Rows without an instruction, and rows about the response, whose answers were sampled under it, stay as they
are. What a control makes is not verified to follow anything; how much of it follows all the same stands in
the card.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeVar

from riftk.constraints import Constraint, parse_constraint

from .condense import Outline, count_words
from .config import SynthConfig
from .outcomes import Outcome
from .seeds import OF_RESPONSE, write_prompt
from .verification import followed, judge

T = TypeVar("T")

DESCRIPTIONS = {
    "unrewritten": "the instruction in the prompt, and the trace as it was sampled",
    "shuffled": "rewritten traces under the instructions of other rows",
    "shortened": "the instruction in the prompt, and the sampled trace, shortened as much as the rewriting "
    "changed the length of other traces",
    "correct": "no instruction in the prompt, and the trace as it was sampled",
}
_DRAWS = 200  # of a row to change instructions with, before the same constraint is put up with


@dataclass(frozen=True)
class Asked:
    """What a row asks for: its constraints, as its column holds them, and the wording of each."""

    constraints: str
    wordings: tuple[int, ...]

    @property
    def ids(self) -> frozenset[str]:
        return frozenset(constraint.id for constraint in self.parsed)

    @property
    def parsed(self) -> tuple[Constraint, ...]:
        return tuple(map(parse_constraint, json.loads(self.constraints)))

    @property
    def sentences(self) -> list[str]:
        pairs = zip(self.parsed, self.wordings, strict=True)
        return [constraint.instructions()[wording] for constraint, wording in pairs]


_NOTHING = Asked("[]", ())


def labelled(config: SynthConfig, outcome: Outcome) -> Outcome:
    """An outcome whose kind, in yields and card, says for which control its row is exchanged."""
    if not (config.is_control and _is_exchanged(outcome)):
        return outcome
    return {**outcome, "constraint": f"{outcome['constraint']} (control: {config.control})"}


def make_exchange(config: SynthConfig, kept: Iterable[Outcome]) -> Callable[[Outcome], Outcome]:
    """What turns an outcome with a row into that of the configured control; without one, into itself.

    Args:
        config: of the run.
        kept: all outcomes whose rows are in the dataset. Instructions or lengths that are dealt out among
            them are held in memory.
    """
    if not config.is_control:
        return lambda outcome: outcome
    rng = random.Random(f"control-{config.seed}")
    exchanged = filter(_is_exchanged, kept)
    instructions: dict[str, Asked] = {}
    lengths: dict[str, float] = {}
    if config.control == "shuffled":
        instructions = _deal_instructions({o["key"]: _asked(o) for o in exchanged}, rng)
    elif config.control == "shortened":
        lengths = _deal({o["key"]: _change_of_length(o) for o in exchanged}, rng)

    def exchange(outcome: Outcome) -> Outcome:
        if not _is_exchanged(outcome):
            return outcome
        rewritten, sampled = outcome["row"]["reasoning"], outcome["sampled"]["reasoning"]
        if config.control == "shuffled":
            return _exchanged(config, outcome, instructions[outcome["key"]], rewritten)
        if config.control == "shortened":
            sampled = shortened(sampled, lengths[outcome["key"]], **_of_problem(outcome))
        asked = _NOTHING if config.control == "correct" else _asked(outcome)
        return _exchanged(config, outcome, asked, sampled)

    return exchange


def shortened(trace: str, share: float, *, answer: str, question: str) -> str:
    """A trace in at most this share of its words, made of whole sentences.

    The sentences that the answer rests on stay, also where they have more words; a trace that would not
    become shorter is left as it is.
    """
    if share >= 1:
        return trace
    outline = Outline.of(trace, answer, question)
    return outline.within(max(int(share * outline.total_words), outline.core_words) + 1)


def _is_exchanged(outcome: Outcome) -> bool:
    """Whether an outcome is one with an instruction about the reasoning."""
    return outcome["constraint"] is not None and not outcome["constraint"].endswith(OF_RESPONSE)


def _asked(outcome: Outcome) -> Asked:
    row = outcome["row"]
    return Asked(row["constraints"], tuple(row["synth"]["instructions"]))


def _of_problem(outcome: Outcome) -> dict[str, str]:
    return {"answer": outcome["sampled"]["answer"], "question": outcome["question"]}


def _change_of_length(outcome: Outcome) -> float:
    """Words of the rewritten trace per word of the sampled one."""
    return count_words(outcome["row"]["reasoning"]) / max(count_words(outcome["sampled"]["reasoning"]), 1)


def _deal(of_rows: dict[str, T], rng: random.Random) -> dict[str, T]:
    """The same values dealt out anew."""
    values = list(of_rows.values())
    rng.shuffle(values)
    return dict(zip(of_rows, values, strict=True))


def _deal_instructions(own: dict[str, Asked], rng: random.Random) -> dict[str, Asked]:
    """The same instructions dealt out anew, if possible none to a row that had one of its constraints."""
    dealt = list(_deal(own, rng).values())
    ids = {asked: asked.ids for asked in own.values()}
    before = [ids[asked] for asked in own.values()]

    def fits(place: int, other: int) -> bool:
        return before[place].isdisjoint(ids[dealt[other]])

    for place in range(len(dealt)):
        if fits(place, place):
            continue
        for _ in range(_DRAWS):
            other = rng.randrange(len(dealt))
            if fits(place, other) and fits(other, place):
                dealt[place], dealt[other] = dealt[other], dealt[place]
                break
    return dict(zip(own, dealt, strict=True))


def _exchanged(config: SynthConfig, outcome: Outcome, asked: Asked, reasoning: str) -> Outcome:
    """An outcome with another row: its question under what is asked, with another trace.

    `ifs` says whether the trace follows, as it was sampled and as it is now; `words` how long traces are.
    """
    row, sampled = outcome["row"], outcome["sampled"]["reasoning"]
    constraints = asked.parsed
    prompt = write_prompt(config, outcome["question"], asked.sentences, "reasoning")
    rewriter = {"shuffled": row["synth"]["rewriter"], "shortened": "whole sentences"}.get(config.control)

    def follows(trace: str) -> dict[str, bool]:
        return followed(judge(constraints, trace, row["response"], config.row_rules))

    return {
        **outcome,
        "row": {
            **row,
            "prompt": [*row["prompt"][:-1], {**row["prompt"][-1], "content": prompt}],
            "constraints": asked.constraints,
            "reasoning": reasoning,
            "synth": {
                **row["synth"],
                "rewriter": rewriter or "none",
                "shape": row["synth"]["shape"] if config.control == "shuffled" else "",
                "instructions": list(asked.wordings),
                "control": config.control,
            },
        },
        "ifs": {"before": follows(sampled), "after": follows(reasoning)} if constraints else {},
        "words": [count_words(trace) for trace in (sampled, row["reasoning"], reasoning)],
    }
