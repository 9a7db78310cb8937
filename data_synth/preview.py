"""What a run would do, shown before anything is spent: a few rows at each stage, and what it may cost."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice

from riftk.engines.base import Engine

from .config import SynthConfig
from .controls import DESCRIPTIONS
from .decontaminate import load_index
from .errors import Rejected
from .outcomes import finish
from .rewriting import Draft, begin
from .sampling import Trace, request
from .seeds import Seed, make_seeds
from .spending import Budget

ROWS = 3
_SAMPLE = 500  # seeds that the estimate is made from
_BYTES_PER_TOKEN = 3  # where there is no tokenizer: rather too many tokens than too few
_LIKELY = 0.25  # of `max_tokens`, where nothing is known of how long traces are
_ENOUGH_WORDS = 12  # of a gold solution, to stand in for a trace
_STAND_IN = (
    "Let me see what is asked, step by step. First, I write down what is known, and what is wanted. "
    "If there were 1,200 of 3, that is 1,200 * 3 = 3,600. Then I check it, and it is right. So I am done."
)


@dataclass(frozen=True)
class Estimate:
    """Requests and tokens of one role."""

    requests: int
    prompt_tokens: int
    likely: int
    most: int


def dry_run(config: SynthConfig, engine: Engine, budget: Budget | None = None) -> str:
    """Three rows at every stage, and the tokens and the cost of the whole run. No model is asked for text.

    What is rewritten is the problem's own solution where it has one, else a few sentences of ours.

    Args:
        config: what would be made.
        engine: asked for nothing but token counts.
        budget: its prices are those of the estimate.
    """
    index = load_index(config.decontaminate, config.benchmark_dir)
    seeds = list(islice(make_seeds(config), _SAMPLE))
    shown = [seed for seed in seeds if seed.ids and seed.target == "reasoning"][:ROWS] or seeds[:ROWS]
    lines = [f"{config.num_rows} seeds, {ROWS} of them at every stage; nothing is asked of a model."]
    if config.is_control:
        exchanged = DESCRIPTIONS[config.control]
        lines.append(f"Rows that are accepted are exchanged for those of a control: {exchanged}.")
    for seed in shown:
        match = index.match(seed.problem.question) if index else None
        lines += ["", f"=== seed {seed.item_id}: {seed.kind or 'plain'}", seed.problem.question]
        lines += [f"    repeats {match}; it would be left out"] if match else []
        lines += ["--- sample: the prompt", request(config, seed).messages[0]["content"]]
        lines += _rewritten(config, engine, seed)
    return "\n".join([*lines, "", *_estimates(config, engine, seeds, budget or Budget())])


def _rewritten(config: SynthConfig, engine: Engine, seed: Seed) -> Iterator[str]:
    solution = seed.problem.answer.partition("\n####")[0]
    stand_in = solution if len(solution.split()) >= _ENOUGH_WORDS else _STAND_IN
    yield f"--- rewrite: a stand-in for the trace\n{stand_in}"
    trace = Trace(stand_in, "", "")
    try:
        draft = begin(config, seed, 1, trace)
    except Rejected as rejected:
        yield f"--- rejected: {rejected}"
        return
    if draft.exchange:
        yield f"--- rewrite: the LLM would be asked\n{draft.exchange.messages[0]['content']}"
        return
    yield f"--- rewrite: by {' + '.join(draft.used) or 'nothing'}\n{draft.text}"
    yield f"--- verify: {_verdict(config, engine, draft)}"


def _verdict(config: SynthConfig, engine: Engine, draft: Draft) -> str:
    answered = replace(draft.trace, response=_answer(config, draft.seed))
    outcome = finish(config, engine.model, replace(draft, trace=answered))
    return f"rejected: {outcome['reason']} ({outcome['detail']})" if outcome["row"] is None else "kept"


def _answer(config: SynthConfig, seed: Seed) -> str:
    """A response with the gold answer, or with any where there is none."""
    answer = seed.problem.answer.rpartition("####")[2].strip() or "42"
    return f"\\boxed{{{answer}}}" if config.style == "mathif" else f"<answer>{answer}</answer>"


def _estimates(config: SynthConfig, engine: Engine, seeds: list[Seed], budget: Budget) -> Iterator[str]:
    """Requests, tokens and cost of sampling and of rewriting, from the first seeds."""
    scale = config.num_rows / len(seeds)
    prompts = [request(config, seed).messages[0]["content"] for seed in seeds]
    likely = int(_LIKELY * config.max_tokens)
    sampling = Estimate(
        requests=config.num_rows,
        prompt_tokens=round(scale * sum(_tokens(engine, prompt) for prompt in prompts)),
        likely=config.num_rows * likely,
        most=config.num_rows * config.attempts * config.max_tokens,
    )
    rewrites = sum(sum(map(config.by_llm, seed.ids)) for seed in seeds if seed.target == "reasoning")
    count = round(scale * rewrites)
    rewriting = Estimate(
        requests=count,
        prompt_tokens=count * likely,
        likely=count * likely,
        most=count * config.llm_tries * config.llm_max_tokens,
    )
    cost = 0.0
    for role, estimate, prices in (
        ("sampling", sampling, budget.sampling),
        ("rewriting", rewriting, budget.rewriting),
    ):
        if estimate.requests:
            yield (
                f"{role}: {estimate.requests:,} requests, about {estimate.prompt_tokens:,} prompt tokens and "
                f"{estimate.likely:,} completion tokens (at most {estimate.most:,})"
            )
            cost += prices.of(estimate.prompt_tokens, estimate.likely)
    yield (
        f"Traces are taken to have a quarter of max_tokens ({likely:,}), their true length is not known; "
        "prompts are counted " + ("by the tokenizer." if _counts(engine) else "by their length.")
    )
    if cost:
        yield f"cost: about {cost:,.2f}; --max-cost stops a run that exceeds it"


def _counts(engine: Engine) -> bool:
    return engine.count_tokens("one") is not None


def _tokens(engine: Engine, text: str) -> int:
    counted = engine.count_tokens(text)
    return len(text.encode()) // _BYTES_PER_TOKEN + 1 if counted is None else counted
