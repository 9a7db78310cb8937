"""All benchmarks, one after the other; those whose peer is not installed here say so."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

SCRIPTS = {
    "import_time.py": (),
    "mathif_speed.py": ("nltk", "punkt"),
    "ifeval_speed.py": ("lm_eval", "nltk", "punkt", "immutabledict", "packaging"),
    "linearity.py": (),
    "recipes.py": ("trl",),
    "closed_set.py": ("torch", "transformers"),
    "engines.py": ("openai", "torch", "transformers"),
    "stored.py": (),
    "page.py": ("playwright", "matplotlib"),
}


def main() -> int:
    failed = 0
    for name, needed in SCRIPTS.items():
        print(f"\n==== {name}", flush=True)
        missing = [module for module in needed if find_spec(module) is None]
        if missing:
            print(f"left out: {', '.join(missing)} not installed here; see README.md")
            continue
        failed |= subprocess.run([sys.executable, str(Path(__file__).parent / name)], check=False).returncode
    return failed


if __name__ == "__main__":
    sys.exit(main())
