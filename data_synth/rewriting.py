"""One trace on its way through the rewriters of its constraints, which may have to wait for an LLM."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from riftk.constraints import Constraint, parse_constraint
from riftk.engines.base import Generation

from .condense import count_words
from .config import SynthConfig
from .errors import Rejected
from .llm_prompts import Exchange
from .paper import first_words, rewrite_as_published
from .registry import REWRITERS, Material, Rewrite
from .rewriters import WORDS
from .sampling import Trace
from .seeds import Seed, draws


@dataclass(frozen=True)
class Draft:
    """A trace that is being rewritten.

    Args:
        seed, attempt: what it is for.
        trace: the sample as it was accepted.
        text: the trace as far as it has been rewritten.
        args: arguments of the constraints, those known so far.
        todo: places of the constraints whose rewriters have not had their turn, in their order.
        used: names of the rewriters that changed something.
        shape: of JSON.
        exchange: what an LLM has to be asked before it goes on; None where nothing is open.
        llm_tries: requests to the LLM so far.
    """

    seed: Seed
    attempt: int
    trace: Trace
    text: str
    args: tuple[Mapping[str, Any], ...]
    todo: tuple[int, ...]
    used: tuple[str, ...] = ()
    shape: str = ""
    exchange: Exchange | None = None
    llm_tries: int = 0

    @property
    def constraints(self) -> tuple[Constraint, ...]:
        """The constraints of the row, once the rewriters are through."""
        return self.seed.constraints(self.args)


def begin(config: SynthConfig, seed: Seed, attempt: int, trace: Trace) -> Draft:
    """Rewrite a trace as far as it goes without an LLM. Raises `Rejected`."""
    order = sorted(range(len(seed.ids)), key=lambda place: REWRITERS[seed.ids[place]].place)
    todo = () if seed.target == "response" else tuple(order)
    return _advance(config, Draft(seed, attempt, trace, trace.reasoning, seed.args, todo))


def go_on(config: SynthConfig, draft: Draft, generation: Generation) -> Draft:
    """Take an LLM's answer: go on with its text, or ask it again and say what was wrong.

    Raises:
        Rejected: the last try was refused, or a later rewriter rejects the text.
    """
    exchange, said = draft.exchange, generation.text
    assert exchange is not None
    draft = replace(draft, llm_tries=draft.llm_tries + 1)
    try:
        if generation.finish_reason == "length":
            raise Rejected("cut off at llm_max_tokens")
        text = said.strip() if config.is_paper else exchange.read(said)
    except Rejected as rejected:
        tries = exchange.tries + 1
        if tries == config.llm_tries:
            raise
        wrong = f"{rejected.reason} ({rejected.detail})" if rejected.detail else rejected.reason
        return replace(draft, exchange=replace(exchange, refused=(said, wrong), tries=tries))
    if config.is_paper and exchange.constraint.id == WORDS:
        text = first_words(text, exchange.constraint.args["num_words"])
    return _advance(
        config, _stepped(replace(draft, exchange=None), Rewrite(text, dict(draft.args[draft.todo[0]])))
    )


def _advance(config: SynthConfig, draft: Draft) -> Draft:
    """Let rule after rule have its turn, until one has to wait for the LLM or none is left."""
    while draft.todo:
        id = draft.seed.ids[draft.todo[0]]
        if config.by_llm(id):
            draft = _with_known_args(config, draft)
            exchange = _exchange(draft)
            if config.is_paper or not exchange.follows_already():
                return replace(draft, exchange=exchange)
            draft = _stepped(draft, Rewrite(draft.text, dict(draft.args[draft.todo[0]])))
            continue
        material = _material(config, draft)
        rule = REWRITERS[id].rewrite
        assert rule is not None
        draft = _stepped(draft, rewrite_as_published(id, material) if config.is_paper else rule(material))
    return draft


def _stepped(draft: Draft, rewrite: Rewrite) -> Draft:
    """The draft after the turn of its next rewriter."""
    place, *rest = draft.todo
    changed = (REWRITERS[draft.seed.ids[place]].name,) if rewrite.text != draft.text else ()
    return replace(
        draft,
        text=rewrite.text,
        args=(*draft.args[:place], rewrite.args, *draft.args[place + 1 :]),
        todo=tuple(rest),
        used=draft.used + changed,
        shape=rewrite.shape or draft.shape,
    )


def _reserve(draft: Draft) -> int:
    """Words that the rewriters behind the next one will add."""
    return sum(REWRITERS[draft.seed.ids[place]].added_words(draft.args[place]) for place in draft.todo[1:])


def _material(config: SynthConfig, draft: Draft) -> Material:
    place = draft.todo[0]
    turn = len(draft.seed.ids) - len(draft.todo)
    purpose = f"rewrite-{draft.attempt}" + (f"-{turn}" if turn else "")
    return Material(
        reasoning=draft.text,
        answer=draft.trace.answer,
        question=draft.seed.problem.question,
        args=draft.args[place],
        draws=draws(config, draft.seed.item_id, purpose),
        word_share=config.word_share,
        fixed=config.sample_with_instruction,
        reserve=_reserve(draft),
    )


def _with_known_args(config: SynthConfig, draft: Draft) -> Draft:
    """Draw the word limit that an LLM has to be told, where it waited for the trace."""
    place = draft.todo[0]
    if draft.seed.ids[place] != WORDS or "num_words" in draft.args[place]:
        return draft
    words = count_words(draft.text)
    low, high = (int(share * words) for share in config.word_share)
    limit = _material(config, draft).draws.randint(max(low, 2), max(high, 2)) + _reserve(draft)
    return replace(draft, args=(*draft.args[:place], {"num_words": limit}, *draft.args[place + 1 :]))


def _exchange(draft: Draft) -> Exchange:
    place = draft.todo[0]
    id, args = draft.seed.ids[place], draft.args[place]
    if id == WORDS:
        limit = int(args["num_words"]) - _reserve(draft)
        if limit < 2:
            raise Rejected("the word limit leaves no room for the trace", f"{limit} words")
        args = {**args, "num_words": limit}
    constraint = parse_constraint({"id": id, "args": args, "target": "reasoning"})
    return Exchange(constraint, draft.text, draft.trace.answer)
