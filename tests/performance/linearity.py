"""Texts of one megabyte that consist of one piece: how long each check, the split and the grader take.

    python tests/performance/linearity.py
    python tests/performance/linearity.py --size 1000000 --slowest 30

First everything is tried on a tenth of the size. What would take more than a second at the full size if its
time grew with the square of the length is then measured at half the size and in full: what is linear takes
twice as long. Nothing may raise.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import timing

sys.path.insert(0, str(Path(__file__).parent.parent))
from every_constraint import HEAVY, RULES, specs_of

from riftk.completions import split_completion
from riftk.constraints import check
from riftk.grading import ANSWER_TYPES, grade

TAGS = ["<think>", "</think>", "<think></think>", "</s>", "[/THINK", "analysisAssistantfinal", "<|channel|>"]
ANSWERS = ["\\boxed{", "<answer>", "the answer is ", "1,", "#", "$x$ ", "\\frac{1}{", "(", "9^", "\\left("]
GOLD = {"label": "yes", "choice": "B"}


def jobs() -> Iterator[tuple[str, Callable[[str], object], list[str]]]:
    """(name, what is done with a text, pieces of which to make texts)."""
    for rules in RULES:
        for spec in specs_of(rules):
            yield f"{rules} {spec['id']}", lambda text, s=spec, r=rules: check(s, text, r), HEAVY
    yield "split_completion", split_completion, TAGS + HEAVY
    for answer_type in ANSWER_TYPES:
        gold = GOLD.get(answer_type, "7")
        yield f"grade {answer_type}", lambda text, g=gold, t=answer_type: grade(text, g, t), ANSWERS + HEAVY


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--size", type=int, default=1_000_000, help="characters")
    parser.add_argument("--slowest", type=int, default=20, help="how many to print")
    options = parser.parse_args()
    print(timing.machine())

    def seconds(job: Callable[[str], object], piece: str, size: int) -> float:
        text = piece * (size // len(piece))
        return timing.cpu_seconds(lambda: job(text))[0]

    count = 0
    suspects = []
    for name, job, pieces in jobs():
        for piece in pieces:
            count += 1
            job(10 * piece)  # loads what is needed
            first = seconds(job, piece, options.size // 10)
            if 100 * first > 1:
                suspects.append((first, name, job, piece))
    print(f"{count} pairs of a check and a piece; {len(suspects)} of them measured in full")
    suspects.sort(key=lambda suspect: suspect[0], reverse=True)
    measured = []
    for _, name, job, piece in suspects:
        half, full = seconds(job, piece, options.size // 2), seconds(job, piece, options.size)
        measured.append((full, half, name, piece))
    for title, key in (("slowest", lambda m: m[0]), ("fastest growing", lambda m: m[0] / m[1])):
        print(f"\n{title}\n{'half, s':>9}{'full, s':>9}{'growth':>8}")
        for full, half, name, piece in sorted(measured, key=key, reverse=True)[: options.slowest]:
            print(f"{half:9.2f}{full:9.2f}{full / half:7.1f}x  {name} on {piece!r}")


if __name__ == "__main__":
    main()
