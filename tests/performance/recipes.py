"""What each recipe adds to the training that a plain trl script does: python tests/performance/recipes.py

Both start from the same rows and settings and take the same steps, in processes of their own, one after the
other, several times. Printed is the ratio of their processor seconds, which a busy machine hardly changes:
of the training (its loop, with rewards, monitoring and checkpoints), and of the whole process (imports,
checks of the inputs, tokenising, saving).
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

from solutions import write_solutions

from riftk.paths import resolve

HERE = Path(__file__).parent
RECIPES = HERE.parents[1] / "recipes"
TINY = "pkg://riftk.tiny/weights/base"
SETTINGS = {"sft": [], "rif": ["--base_share", "0"], "cold_rl": ["--skip_preflight", "--plain_share", "1"]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--recipes", nargs="+", default=list(SETTINGS), choices=list(SETTINGS))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        rows = write_solutions(Path(folder) / "rows.jsonl", 16 * options.steps)
        for recipe in options.recipes:
            pairs = [compare(recipe, rows, options.steps, Path(folder)) for _ in range(options.rounds)]
            print_ratios(recipe, pairs)


def compare(recipe: str, rows: Path, steps: int, folder: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """What the recipe took, and what the plain script did."""
    run = Path(tempfile.mkdtemp(dir=folder))
    arguments = [
        "--stages", "train", "--dataset", str(rows), "--output_dir", "run",
        "--model_name_or_path", resolve(TINY), "--max_steps", str(steps), "--save_steps", str(steps),
        *SETTINGS[recipe],
    ]  # fmt: skip
    ours = measure(run / "ours.json", RECIPES / f"{recipe}.py", *arguments)
    theirs = measure(run / "plain.json", HERE / "plain.py", "run/config.yaml", str(rows), "plain")
    same_work(ours, theirs)
    return ours, theirs


def measure(out: Path, script: Path, *arguments: str) -> dict[str, Any]:
    """Run a script in the folder of `out`, and read what it took."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
    command = [sys.executable, str(HERE / "measure.py"), str(out), str(script), *arguments]
    finished = subprocess.run(command, cwd=out.parent, env=environment, capture_output=True, text=True)
    if finished.returncode:
        sys.exit(f"{script.name} failed:\n{finished.stderr[-3000:]}")
    return json.loads(out.read_text(encoding="utf-8"))


def same_work(ours: dict[str, Any], theirs: dict[str, Any]) -> None:
    """Raise `SystemExit` where the two did not train on the same. In supervised rows trl alone trains the
    line break that the template puts behind the end of the turn: one token a row, and another first loss."""
    same = ours["steps"] == theirs["steps"] and abs(ours["tokens"] / theirs["tokens"] - 1) < 0.02
    same &= all(abs(a - b) < 1e-3 for a, b in zip(ours["rewards"], theirs["rewards"], strict=True))
    if not same or abs(ours["losses"][-1] - theirs["losses"][-1]) > 0.02:
        sys.exit(f"not the same work: {ours} and {theirs}")


def print_ratios(recipe: str, pairs: list[tuple[dict[str, Any], dict[str, Any]]]) -> None:
    for name, key in (("training", "training_processor_seconds"), ("process", "processor_seconds")):
        ratios = [ours[key] / theirs[key] for ours, theirs in pairs]
        middle = statistics.median(ratios)
        theirs = statistics.median(pair[1][key] for pair in pairs)
        every = ", ".join(f"{ratio:.3f}" for ratio in ratios)
        print(f"{recipe:8} {name:9} {middle:.3f} x plain trl ({every}); plain {theirs:.1f} s", flush=True)


if __name__ == "__main__":
    main()
