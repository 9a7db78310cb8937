"""Run any checker over the golden verdicts and print where it disagrees.

    python tests/conformance/run.py riftk.constraints:check --benchmark reasonif
    python tests/conformance/run.py my_package.checks:followed --benchmark mathif --verdicts robust

The checker is called as `function({"id", "args", "target"}, text, rules=...)`, `rules` being the name of the
benchmark or "robust". What it returns counts by its truth; an exception counts as the verdict "error".
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
GOLDEN = HERE.parent / "golden"
FILES = {
    "reasonif": GOLDEN / "reasonif_checks.jsonl",
    "mathif": GOLDEN / "mathif_checks.jsonl",
    "ifeval": HERE / "ifeval_checks.jsonl",
    "ifeval-loose": HERE / "ifeval_checks.jsonl",
    "cotcontrol": HERE / "cotcontrol_checks.jsonl",
}


def cases(benchmark: str) -> list[dict[str, Any]]:
    """The golden checks of a benchmark."""
    with open(FILES[benchmark], encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def disagreements(
    checker: Callable[..., Any], benchmark: str, verdicts: str
) -> Iterator[tuple[dict[str, Any], Any]]:
    """Yield (case, what the checker said) for each golden verdict that it does not reach.

    Args:
        checker: called with a constraint, a text and `rules`.
        benchmark: one of `FILES`.
        verdicts: "official" (the published evaluator's) or "robust" (what the instruction asks for).
    """
    rules = benchmark if verdicts == "official" else "robust"
    for case in cases(benchmark):
        wanted = case["loose" if rules == "ifeval-loose" else verdicts]
        if case["robust"] == "error":
            wanted = "error"
        if wanted is None:
            continue
        spec = {"id": case["constraint"], "args": case["args"], "target": case["target"]}
        try:
            said: Any = bool(checker(spec, case["text"], rules=rules))
        except Exception as error:  # any checker's exceptions: the verdict is that it refuses
            said, reason = "error", repr(error)
        else:
            reason = ""
        if said != wanted:
            yield case, reason or said


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("checker", help="module:function")
    parser.add_argument("--benchmark", choices=tuple(FILES), default="reasonif")
    parser.add_argument("--verdicts", choices=("official", "robust"), default="official")
    options = parser.parse_args()
    module, _, name = options.checker.partition(":")
    checker = getattr(importlib.import_module(module), name)
    total = len(cases(options.benchmark))
    wrong = 0
    for case, said in disagreements(checker, options.benchmark, options.verdicts):
        wrong += 1
        print(f"{case['case']} {case['constraint']}: said {said}; {case['note']}")
    print(f"{wrong} of {total} cases disagree with the {options.verdicts} verdicts of {options.benchmark}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
