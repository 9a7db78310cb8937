"""What a call of the gated reward costs: 1,024 completions of 1,000 words, three constraints each.

    ENV/bin/python tests/performance/rewards.py

One constraint in six is a language; nine tenths of the answers are plain numbers, the others expressions that
need symbolic comparison. Printed: CPU seconds of a call (in this process, and in the grading workers), its
parts, and the share of a GRPO step that takes --step seconds. The default of 60 s is what these completions
take with a 7B model on eight H100s, by a rough count: 1.4 million tokens are generated in 30 s (50,000 in a
second) and trained on in 25 s (6 FLOP per parameter and token, at 40 % of the peak), and the weights are
moved. The rewards run on one core while the GPUs wait.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import time
from collections.abc import Callable
from typing import Any

import texts
import timing

from riftk.grading import shared_pool
from riftk.rewards import GatedReward
from riftk.rewards.core import PARTS

CONSTRAINTS: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("punctuation:no_comma", "reasoning", {}),
    ("change_case:english_capital", "reasoning", {}),
    ("startend:end_checker", "reasoning", {"end_phrase": "THIS REASONING WAS PRODUCED BY AI"}),
    ("length_constraint_checkers:number_words", "reasoning", {"num_words": 900}),
    ("detectable_format:json_format", "reasoning", {}),
    ("keywords:existence", "response", {"keywords": ["total", "number"]}),
    ("keywords:forbidden_words", "response", {"forbidden_words": ["theorem"]}),
    ("punctuation:no_comma", "response", {}),
    ("detectable_format:number_bullet_lists", "response", {"num_bullets": 3}),
    ("length_constraint_checkers:number_words", "response", {"num_words": 300, "relation": "less than"}),
)
LANGUAGES = ("language:reasoning_language", "language:response_language")
RESPONSE_WORDS = 150
ROUNDS = 3


def batch(count: int, seed: int) -> dict[str, Any]:
    """The keyword arguments of a call, as trl makes them."""
    draw = random.Random(seed)
    columns: dict[str, list] = {
        name: [] for name in ("prompts", "completions", "constraints", "answer", "answer_type")
    }
    for number in range(count):
        asked = [
            {"id": id, "target": target, "args": args} for id, target, args in draw.sample(CONSTRAINTS, 3)
        ]
        if number % 2:  # of three constraints, every second row: one in six
            id = draw.choice(LANGUAGES)
            target = "reasoning" if "reasoning" in id else "response"
            asked[0] = {"id": id, "target": target, "args": {"language": "en"}}
        gold, said = str(number), str(number if draw.random() < 0.5 else number + 1)
        if number % 10 == 0:
            gold, said = f"\\frac{{{number}}}{{x+1}}", f"\\dfrac{{{number}}}{{1+x}}"
        trace = texts.english(draw, texts.WORDS - RESPONSE_WORDS)
        response = f"{texts.english(draw, RESPONSE_WORDS)}\n\nThe answer is \\boxed{{{said}}}."
        question = f"{texts.english(draw, 60)} What is number {number}?"
        columns["prompts"].append([{"role": "user", "content": question}])
        columns["completions"].append(
            [{"role": "assistant", "content": f"<think>\n{trace}\n</think>\n\n{response}"}]
        )
        columns["constraints"].append(json.dumps(asked))
        columns["answer"].append(gold)
        columns["answer_type"].append("math")
    return columns


def cpu_seconds(work: Callable[[], object]) -> float:
    """CPU time of a call in this process."""
    start = time.process_time()
    work()
    return time.process_time() - start


def children() -> float:
    """CPU seconds of processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--completions", type=int, default=1024)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--step", type=float, default=60.0, help="seconds of a GRPO step to compare with")
    options = parser.parse_args()
    print(timing.machine())
    reward = GatedReward(think="tags")
    reward(**batch(32, options.seed + 1))  # models and caches of the first call
    for part in PARTS:
        only = batch(options.completions, options.seed)
        kind = type("Only", (GatedReward,), {"parts": (part,)})(think="tags")
        print(f"{part:12} {cpu_seconds(lambda kind=kind, only=only: kind(**only)):6.2f} CPU s")
    rounds = []
    for number in range(ROUNDS):
        given = batch(options.completions, options.seed + number)
        rounds.append(cpu_seconds(lambda given=given: reward(**given)))
    best = min(rounds)
    shared_pool().close()  # the time of a process is known once it has ended
    print(
        f"a call: {best:.2f} CPU s (best of {', '.join(f'{s:.2f}' for s in rounds)}), "
        f"{1000 * best / options.completions:.2f} ms a completion, {best / options.step:.1%} of a step of "
        f"{options.step:g} s; grading workers: {children():.2f} CPU s over all calls, their start included"
    )
    given = batch(options.completions, options.seed)
    timing.print_profile(lambda: reward(**given), lines=25)


if __name__ == "__main__":
    main()
