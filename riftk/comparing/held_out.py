"""Following of constraints that were not trained: each is left out once, and the answers are put together.

A cell is trained again without one constraint, and without the next one, and so on. Of each of these only the
items about the constraint that it never saw are taken. Together they are the items about all of them, as in
cross-validation: an evaluation like any other, that reports and comparisons can read.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from riftk.comparing.matrix import Matrix
from riftk.comparing.plan import last_runs
from riftk.evaluation import sample_files
from riftk.evaluation.configuration import CONFIG, read_config
from riftk.evaluation.files import once, write_sample
from riftk.files import SURROGATES, write_json


def held_out_evaluations(matrix: Matrix, out: Path) -> dict[str, dict[int, Path]]:
    """What each cell follows that it was not trained on, for every seed for which its runs are finished.

    Args:
        matrix: the comparison.
        out: folder to write to; what is in the way is replaced.

    Returns:
        Evaluation folders by cell and seed, the starting checkpoint first. Nothing where no benchmark has
        items about one of the constraints alone.
    """
    last = last_runs(matrix) if matrix.left_out else {}
    constraints = list(dict.fromkeys(one for cells in matrix.left_out.values() for one in cells.values()))
    groups = {cell: list(cells.items()) for cell, cells in matrix.left_out.items()}
    if groups:
        groups = {matrix.base: [(matrix.base, one) for one in constraints]} | groups
    found: dict[str, dict[int, Path]] = {}
    for name, cells in groups.items():
        for seed in matrix.seeds:
            runs = [(last[cell][seed], without) for cell, without in cells]
            if all(run.is_finished for run, _ in runs):
                parts = [(run.evaluation, without) for run, without in runs]
                folder = put_together(parts, out / name / f"seed-{seed}")
                if sample_files(folder):
                    found.setdefault(name, {})[seed] = folder
    return found


def put_together(parts: Sequence[tuple[Path, str]], out: Path) -> Path:
    """Write one evaluation from several: of each the items whose only instruction about the reasoning is the
    constraint that it is given with.

    Args:
        parts: evaluation folders that answered the same items, each with its constraint's id.
        out: folder to write; what is there is replaced.

    Raises:
        ValueError: an evaluation is not complete.
    """
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    config = read_config(parts[0][0])
    tasks: dict[str, Any] = {}
    for task, settings in config["tasks"].items():
        expected = settings["items"] * config["samples_per_item"]
        count = 0
        with open(out / f"samples_{task}.jsonl", "w", encoding="utf-8", errors=SURROGATES) as file:
            for sample in _chosen(parts, task, expected):
                write_sample(file, sample)
                count += 1
        if count:
            only = json.dumps(sorted(constraint for _, constraint in parts))
            items = {"items": count // config["samples_per_item"]}
            tasks[task] = {**settings, **items, "items_sha": f"{settings['items_sha']} {only}"}
        else:
            (out / f"samples_{task}.jsonl").unlink()
    models = ", ".join(dict.fromkeys(read_config(folder)["engine"]["model"] for folder, _ in parts))
    write_json(out / CONFIG, {**config, "tasks": tasks, "engine": {**config["engine"], "model": models}})
    return out


def _chosen(parts: Sequence[tuple[Path, str]], task: str, expected: int) -> Iterator[Mapping[str, Any]]:
    for folder, constraint in parts:
        for sample in once(sample_files(folder)[task], expected):
            asked = [one["id"] for one in sample["constraints"] if one["target"] == "reasoning"]
            if asked == [constraint]:
                yield sample
