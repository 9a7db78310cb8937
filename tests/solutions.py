"""Rows to train on: worked solutions of the embedded model's problems."""

from __future__ import annotations

import json
import random
from pathlib import Path

from riftk.tiny.problems import generate_problems, reference_trace


def write_solutions(path: Path, count: int) -> Path:
    """Write `count` rows (JSONL): for finetuning, and with answers for rewards."""
    with path.open("w", encoding="utf-8") as file:
        for number, problem in enumerate(generate_problems("train", count, 0)):
            row = {
                "item_id": str(number),
                "prompt": [{"role": "user", "content": problem.question}],
                "reasoning": " ".join(reference_trace(problem, random.Random(number))),
                "response": f"It is {problem.answer}.",
                "answer": problem.answer,
                "answer_type": "number",
                "constraints": "[]",
            }
            file.write(json.dumps(row) + "\n")
    return path
