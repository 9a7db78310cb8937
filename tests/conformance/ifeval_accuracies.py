"""IFEval's four accuracies by riftk and by lm-evaluation-harness, on the same stored responses.

    python tests/conformance/ifeval_accuracies.py --data DIR/ifeval.jsonl --reference-python ENV/bin/python

Responses of varied quality are put together for every request of IFEval's file. riftk scores them as a user
would have it done (`riftk eval --from-samples`), lm-evaluation-harness by its task's own `process_results`
and aggregation. The two requests for which lm-evaluation-harness draws a letter at random are left out of
both; what it says with them, under several seeds, is printed beside. The exit status is 1 when a figure
differs.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from ifeval_texts import SENTENCES, passage, towards

REFERENCE = Path(__file__).parent / "lm_eval_reference.py"
ACCURACIES = (
    "prompt_level_strict_acc", "inst_level_strict_acc", "prompt_level_loose_acc", "inst_level_loose_acc",
)  # fmt: skip
RANDOM_LETTERS = (1122, 1129)  # google-research/google-research#3427


def responses(docs: list[dict[str, Any]], seed: int) -> list[str]:
    """A response to each request, with something done towards most of its instructions."""
    draw = random.Random(seed)
    made = []
    for doc in docs:
        text = passage(draw, 12)
        if draw.random() < 0.5:
            text = " ".join([text, *draw.choices(SENTENCES, k=draw.randint(5, 80))])
        for id, args in zip(doc["instruction_id_list"], doc["kwargs"], strict=True):
            if draw.random() < 0.8:
                text = towards(id, args, text, draw)
        made.append("" if draw.random() < 0.01 else text)
    return made


def reference(docs: list[dict[str, Any]], texts: list[str], python: str, seed: int = 0) -> dict[str, float]:
    """lm-evaluation-harness's figures, by another Python that has it.

    Raises:
        RuntimeError: that Python could not run it.
    """
    lines = [json.dumps({"doc": doc, "response": text}) for doc, text in zip(docs, texts, strict=True)]
    command = [python, str(REFERENCE), "--accuracies", "--seed", str(seed)]
    run = subprocess.run(command, input="\n".join(lines), capture_output=True, text=True, check=False)
    if run.returncode:
        raise RuntimeError(f"{' '.join(command)} failed:\n{run.stderr[-2000:]}")
    return json.loads(run.stdout)


def ours(data: Path, texts: list[str], folder: Path) -> dict[str, float]:
    """riftk's figures, by its command line, in the order of IFEval's file."""
    docs = [json.loads(line) for line in data.read_text(encoding="utf-8").splitlines()]
    samples = folder / "responses.jsonl"
    kept = [(doc, text) for doc, text in zip(docs, texts, strict=True) if doc["key"] not in RANDOM_LETTERS]
    lines = [json.dumps({"item_id": f"ifeval-{doc['key']}", "response": text}) for doc, text in kept]
    samples.write_text("\n".join(lines) + "\n", encoding="utf-8")
    command = [
        sys.executable,
        "-m",
        "riftk",
        "eval",
        "--from-samples",
        str(samples),
        "--benchmarks",
        "ifeval",
    ]
    command += ["--data-dir", str(data.parent), "--out", str(folder / "eval"), "--think", "none"]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    if run.returncode:
        raise RuntimeError(f"{' '.join(command)} failed:\n{run.stderr[-2000:]}")
    results = json.loads((folder / "eval" / "results.json").read_text(encoding="utf-8"))
    return {name: results["results"]["ifeval"][f"{name},none"] for name in ACCURACIES}


def compare(data: Path, python: str, seed: int, folder: Path) -> dict[str, dict[str, float]]:
    """Figures of both on the requests that are not random, and of the reference on all under three seeds."""
    docs = [json.loads(line) for line in data.read_text(encoding="utf-8").splitlines()]
    texts = responses(docs, seed)
    kept = [(doc, text) for doc, text in zip(docs, texts, strict=True) if doc["key"] not in RANDOM_LETTERS]
    figures = {
        "riftk": ours(data, texts, folder),
        "lm-eval": reference([doc for doc, _ in kept], [text for _, text in kept], python),
    }
    for letters in range(3):
        figures[f"lm-eval, {len(docs)} requests, seed {letters}"] = reference(docs, texts, python, letters)
    return figures


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="IFEval's file, called ifeval.jsonl")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--reference-python", default=sys.executable)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        figures = compare(options.data, options.reference_python, options.seed, Path(folder))
    print("| | " + " | ".join(ACCURACIES) + " |")
    print("|---|" + "--:|" * len(ACCURACIES))
    for name, values in figures.items():
        print(f"| {name} | " + " | ".join(f"{values[accuracy]:.6f}" for accuracy in ACCURACIES) + " |")
    return 0 if figures["riftk"] == figures["lm-eval"] else 1


if __name__ == "__main__":
    sys.exit(main())
