"""Agreement of the rules "ifeval" and "ifeval-loose" with lm-evaluation-harness, on generated texts.

    python tests/conformance/agreement.py --reference-python /path/to/env/bin/python --pairs 20000

`--reference-python` is a Python with lm_eval in it (see lm_eval_reference.py), by default the one that runs
this. `--write FILE` keeps a sample of the pairs, with the reference's verdicts, as golden data. The exit
status is 1 when a verdict or a sentence differs.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ifeval_texts import IDS, pairs

from riftk.constraints import check, parse_constraint
from riftk.constraints.published.ifeval import description

REFERENCE = Path(__file__).parent / "lm_eval_reference.py"
RULES = {"ifeval": "strict", "ifeval-loose": "loose"}
COLUMNS = {
    "pairs": "pairs",
    "strict": "strict agrees",
    "loose": "loose agrees",
    "strict followed": "followed, strict",
    "loose followed": "followed, loose",
    "random": "random unseeded",
}


def reference_verdicts(made: Sequence[dict[str, Any]], python: str) -> list[dict[str, Any]]:
    """What lm-evaluation-harness says, run by another Python."""
    run = subprocess.run(
        [python, str(REFERENCE)],
        input="\n".join(map(json.dumps, made)),
        capture_output=True,
        text=True,
        check=False,
    )
    if run.returncode:
        raise SystemExit(f"{python} {REFERENCE.name} failed:\n{run.stderr[-2000:]}")
    return [json.loads(line) for line in run.stdout.splitlines()]


def compare(
    made: Sequence[dict[str, Any]], said: Sequence[dict[str, Any]]
) -> tuple[dict[str, Counter[str]], list[str]]:
    """Counts per constraint (keys: `COLUMNS` and "errors"), and the pairs that differ, as JSON."""
    table: dict[str, Counter[str]] = {id: Counter() for id in sorted(IDS)}
    different = []
    for pair, verdict in zip(made, said, strict=True):
        row, spec = table[pair["id"]], {"id": pair["id"], "args": pair["args"]}
        row["pairs"] += 1
        if "error" in verdict:
            row["errors"] += 1
            continue
        row["random"] += verdict["random"]
        wrong = [] if description(parse_constraint(spec)) == verdict["description"] else ["description"]
        for rules, key in RULES.items():
            agrees = check(spec, pair["text"], rules).followed == verdict[key]
            row[key] += agrees
            row[f"{key} followed"] += verdict[key]
            wrong += [] if agrees else [rules]
        if wrong:
            different.append(json.dumps({"wrong": wrong, **pair, **verdict}, ensure_ascii=False))
    return table, different


def golden(made: Sequence[dict[str, Any]], said: Sequence[dict[str, Any]], keep: int) -> list[dict[str, Any]]:
    """The first `keep` pairs of each constraint and outcome, of those that are not random."""
    kept: Counter[tuple[Any, ...]] = Counter()
    cases = []
    for pair, verdict in zip(made, said, strict=True):
        outcome = (pair["id"], verdict.get("strict"), verdict.get("loose"))
        if "error" in verdict or verdict["random"] or kept[outcome] == keep:
            continue
        kept[outcome] += 1
        cases.append(
            {
                "case": f"i{len(cases):03}",
                "constraint": pair["id"],
                "args": pair["args"],
                "target": "response",
                "text": pair["text"],
                "official": verdict["strict"],
                "loose": verdict["loose"],
                "robust": None,
                "note": verdict["description"],
            }
        )
    return cases


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--pairs", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--reference-python", default=sys.executable)
    parser.add_argument("--write", type=Path, help="keep golden verdicts here, as JSON lines")
    parser.add_argument("--keep", type=int, default=3, help="golden verdicts per constraint and outcome")
    options = parser.parse_args()
    made = pairs(options.pairs, options.seed)
    said = reference_verdicts(made, options.reference_python)
    table, different = compare(made, said)
    print("| constraint | " + " | ".join(COLUMNS.values()) + " |")
    print("|---|" + "--:|" * len(COLUMNS))
    for name, row in (*table.items(), ("all", sum(table.values(), Counter()))):
        print(f"| `{name}` | " + " | ".join(str(row[column]) for column in COLUMNS) + " |")
    errors = sum(row["errors"] for row in table.values())
    print(f"the reference stopped with an exception on {errors} pairs; {len(different)} pairs differ")
    print("\n".join(different[:20]))
    if options.write:
        cases = golden(made, said, options.keep)
        lines = (json.dumps(case, ensure_ascii=False) for case in cases)
        options.write.write_text("\n".join(lines) + "\n", encoding="utf-8")
        print(f"wrote {len(cases)} golden verdicts to {options.write}")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
