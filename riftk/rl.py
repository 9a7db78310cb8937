"""What reinforcement learning is made from: rows to sample on, and rewards by name."""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from riftk.constraints import Constraint
from riftk.data_synth import SynthConfig
from riftk.data_synth.seeds import Seed, make_prompt, make_seeds
from riftk.prompts import mathif_prompt
from riftk.rewards import CorrectnessReward, FormatReward, GatedReward, InstructionReward, LengthReward
from riftk.rows import Row, RowError, read_jsonl
from riftk.training import ProblemArguments, check_sampling, option

LOSS_TYPES = ("grpo", "bnpo", "dr_grpo", "dapo", "cispo", "sapo", "luspo", "vespo")  # trl 1.16
_LENGTHS = ("target_length", "reference_length")  # columns that rewards take besides those of a row

# By name in a configuration, from the recipe's arguments and the model's think mode.
REWARDS: dict[str, Callable[[Any, Any], Any]] = {
    "correctness": lambda args, think: CorrectnessReward(think=think),
    "format": lambda args, think: FormatReward(think=think),
    "instruction_reasoning": lambda args, think: InstructionReward(
        "reasoning", credit=args.credit, rules=args.rules, think=think
    ),
    "instruction_response": lambda args, think: InstructionReward(
        "response", credit=args.credit, rules=args.rules, think=think
    ),
    "gated": lambda args, think: GatedReward(
        credit=args.credit, rules=args.rules, think=think, formula=args.formula
    ),
    "length": lambda args, think: LengthReward(args.length_mode, think=think),
}


@dataclass
class RewardArguments(ProblemArguments):
    """What is paid for, and on which rows."""

    dataset: str | None = option(None, "rows with prompts (JSONL) instead of problems")
    prompt: Literal["reasonif", "mathif"] = option("reasonif", "whose user message problems are put in")
    target_lengths: list[int] = option([], "tokens to ask for, one drawn for each row (reward `length`)")
    rewards: list[str] = option(["correctness"], "what is paid, with reward_weights", choices=tuple(REWARDS))
    credit: Literal["binary", "graded"] = option("binary", "for a constraint: its verdict or its score")
    rules: str = option("both", "rulebook of instruction rewards; both: published and robust")
    formula: Literal["product", "bonus", "controllability", "if-rlvr"] = option(
        "product", "how the reward `gated` joins correctness and following"
    )
    length_mode: Literal["exact", "max"] = option("exact", "of the reward `length` (L1)")
    pay_overlong: bool = option(False, "pay for completions that are cut off at max_completion_length")
    max_prompt_length: int = option(1024, "tokens; rows with longer prompts are left out")


@dataclass(frozen=True)
class Finished:
    """A reward that pays nothing for a completion which was cut off (MathIF, section 5.3).

    Args:
        reward: the reward.
        ends: ids of the tokens that can end a completion (`riftk.completions.turn_end_ids`).
    """

    reward: Any
    ends: frozenset[int]

    @property
    def __name__(self) -> str:
        return self.reward.__name__

    def __call__(self, completion_ids: Sequence[Sequence[int]], **columns: Any) -> list[float | None]:
        earned = self.reward(completion_ids=completion_ids, **columns)
        return [
            min(value, 0.0) if value is not None and (not ids or ids[-1] not in self.ends) else value
            for value, ids in zip(earned, completion_ids, strict=True)
        ]


def make_rewards(args: RewardArguments, think: str, ends: Collection[int]) -> list[Any]:
    """The rewards of a configuration, in its order.

    Raises:
        ValueError: a setting that a reward does not take.
    """
    rewards = [REWARDS[name](args, think) for name in args.rewards]
    return rewards if args.pay_overlong else [Finished(reward, frozenset(ends)) for reward in rewards]


def check_rewards(args: RewardArguments, training: Any, rows: Sequence[dict[str, Any]]) -> None:
    """Check that the rewards fit each other, the trainer and the rows, before anything runs.

    Raises:
        ValueError: one sentence that says what to change.
    """
    if not args.rewards or len(set(args.rewards)) != len(args.rewards):
        raise ValueError(f"rewards must name at least one reward, each once, not {args.rewards}")
    weights = training.reward_weights
    if weights is not None and len(weights) != len(args.rewards):
        raise ValueError(f"reward_weights holds {len(weights)} numbers for {len(args.rewards)} rewards")
    if training.loss_type not in LOSS_TYPES:
        raise ValueError(f"loss_type takes {', '.join(LOSS_TYPES)}, not {training.loss_type!r}")
    for name in args.rewards:
        REWARDS[name](args, None).check_dataset(rows)


def check_rollouts(training: Any) -> None:
    """Check how the trainer samples.

    Raises:
        ValueError: a value that makes no sense, or greedy decoding, under which all of a group are alike.
    """
    check_sampling("rollouts", training.temperature, training.top_p, training.max_completion_length or 0)
    if not training.temperature:
        raise ValueError("rollouts: temperature must be above 0, or all completions of a group are alike")


def read_rl_rows(args: RewardArguments, seed: int) -> list[dict[str, Any]]:
    """Rows to sample on, as columns for a `datasets.Dataset`.

    Raises:
        ValueError, FileNotFoundError: no such file or source, or a row that cannot be used.
    """
    rows = list(_file_rows(args.dataset) if args.dataset else _problem_rows(args, seed))
    if not rows:
        raise RowError(f"{args.dataset} holds no rows")
    return [_ask_length(row, args, seed) for row in rows] if args.target_lengths else rows


def fitting(tokenizer: Any, rows: Sequence[dict[str, Any]], limit: int) -> list[dict[str, Any]]:
    """The rows whose prompts have at most `limit` tokens: trl no longer cuts prompts.

    Raises:
        ValueError: not one prompt fits.
    """
    prompts = tokenizer.apply_chat_template(
        [row["prompt"] for row in rows], add_generation_prompt=True, tokenize=False
    )
    lengths = [len(ids) for ids in tokenizer(prompts, add_special_tokens=False)["input_ids"]]
    kept = [row for row, length in zip(rows, lengths, strict=True) if length <= limit]
    if not kept:
        raise ValueError(
            f"all {len(rows)} prompts are longer than max_prompt_length ({limit} tokens; the shortest has "
            f"{min(lengths)}); raise it"
        )
    return kept


def with_reference(rows: Sequence[dict[str, Any]], length: float | None) -> list[dict[str, Any]]:
    """The rows with `reference_length`, for the guard against collapsing traces, where they have none.

    Args:
        rows: rows.
        length: characters of the untrained model's traces; None where that is not known.
    """
    if length is None:
        return list(rows)
    return [row if row.get("reference_length") else {**row, "reference_length": length} for row in rows]


def _file_rows(path: str) -> Iterable[dict[str, Any]]:
    for number, data in enumerate(read_jsonl(path), 1):
        row = Row.from_dict(data, where=f"{path}, row {number}")
        yield {**row.to_dict(), **{name: data[name] for name in _LENGTHS if name in data}}


def _problem_rows(args: RewardArguments, seed: int) -> Iterable[dict[str, Any]]:
    """Problems with drawn instructions. Arguments are all drawn beforehand, so the prompt is complete."""
    names = SynthConfig.__dataclass_fields__.keys() & vars(args).keys()
    options = {name: getattr(args, name) for name in names}
    config = SynthConfig(**options, sample_with_instruction=True, seed=seed)
    for one in make_seeds(config):
        constraints = one.constraints()
        yield Row(
            item_id=one.item_id,
            prompt=({"role": "user", "content": _user_message(args.prompt, config, one, constraints)},),
            answer=one.problem.answer,
            answer_type=one.problem.answer_type,
            constraints=constraints,
            source=one.problem.source,
            rules=args.prompt,
        ).to_dict()


def _user_message(style: str, config: SynthConfig, seed: Seed, constraints: Sequence[Constraint]) -> str:
    if style == "reasonif":
        return make_prompt(config, seed, constraints)[0]
    return mathif_prompt(seed.problem.question, [constraint.instruction() for constraint in constraints])


def _ask_length(row: dict[str, Any], args: RewardArguments, seed: int) -> dict[str, Any]:
    """Ask for a number of tokens in L1's words (arXiv 2503.04697)."""
    length = random.Random(f"{seed}/{row['item_id']}/length").choice(args.target_lengths)
    *before, last = row["prompt"]
    wanted = f"Think for {'maximum ' if args.length_mode == 'max' else ''}{length} tokens."
    prompt = [*before, {**last, "content": f"{last['content']} {wanted}"}]
    return {**row, "prompt": prompt, "target_length": length}
