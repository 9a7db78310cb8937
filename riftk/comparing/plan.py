"""The runs that a matrix needs, in their order, and how each is started.

Chains that begin alike share their first stages. Every run is a folder `OUTPUT/STAGE/seed-N`, which tells
whether it is finished; nothing else is kept of the progress.
"""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any

from riftk.benchmarks import takes_limits
from riftk.benchmarks.limits import FILE, inherited_limits
from riftk.comparing.matrix import Matrix, Step
from riftk.files import write_json
from riftk.paths import PACKAGE_SCHEME, resolve
from riftk.runs import RunFolder, flags
from riftk.stages import CALIBRATE
from riftk.training import read_config

# Programs that die with the process that started them: accelerate's launcher, and riftk itself.
_DIES = "from riftk.runs import die_with_parent; die_with_parent(); "
_LAUNCHER = f"{_DIES}from accelerate.commands.launch import main; main()"
_RIFTK = f"{_DIES}from riftk.cli import main; main()"
_PROBED = "finished.json"  # options of a probe that ended well


@dataclass(frozen=True)
class Run:
    """One recipe with one seed.

    Args:
        stage: its name, and the name of its folder.
        step: the recipe.
        seed: the seed.
        folder: its run folder.
        before: the run whose model it starts from; for the first of a chain the starting checkpoint's.
        cell: a cell that needs it.
        probe_options: how the traces of its model are probed; empty where they are not.
    """

    stage: str
    step: Step
    seed: int
    folder: Path
    before: Run | None
    cell: str
    probe_options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return f"{self.stage}, seed {self.seed}"

    @property
    def trains(self) -> bool:
        return self.before is not None

    @property
    def evaluation(self) -> Path:
        """The evaluation of the model that the run ends with."""
        return RunFolder(self.folder, None).evaluation("after" if self.trains else "before")

    @property
    def probe(self) -> Path:
        """The probe of the model that the run ends with, where there is one."""
        return self.folder / "probe"

    @property
    def is_finished(self) -> bool:
        run = RunFolder(self.folder, None)
        # Nothing is trained for the starting checkpoint: its report is the last that is made.
        return run.is_finished("run") if self.trains else (self.folder / "results.json").is_file()

    @property
    def is_complete(self) -> bool:
        """Whether it is finished, and probed if it has to be."""
        return self.is_finished and (not self.probe_options or self.probed_with() == dict(self.probe_options))

    def mark_probed(self) -> None:
        """Note that the probe succeeded, and its options."""
        write_json(self.probe / _PROBED, self.probe_options)

    def probed_with(self) -> dict[str, Any] | None:
        """The options of its finished probe."""
        file = self.probe / _PROBED
        return json.loads(file.read_text(encoding="utf-8")) if file.is_file() else None

    def log(self, matrix: Matrix) -> Path:
        return matrix.output_dir / "logs" / f"{self.stage}-seed-{self.seed}.log"


def plan(matrix: Matrix) -> list[Run]:
    """All runs of a matrix, one seed after the other, each behind those that it needs."""
    names, whole = _stage_names(matrix), matrix.whole
    runs = []
    for seed in matrix.seeds:
        made: dict[str, Run] = {}
        folder = _folder(matrix, matrix.base, seed)
        base = Run(matrix.base, _first_step(matrix), seed, folder, None, matrix.base, matrix.probe)
        runs.append(base)
        for cell, chain in matrix.cells.items():
            before = base
            for end, step in enumerate(chain, 1):
                name = names[_key(chain[:end])]
                if name not in made:
                    folder = _folder(matrix, name, seed)
                    probe = matrix.probe if name in whole else {}
                    made[name] = Run(name, step, seed, folder, before, cell, probe)
                    runs.append(made[name])
                before = made[name]
    return runs


def last_runs(matrix: Matrix) -> dict[str, dict[int, Run]]:
    """The run that each cell ends with, by seed."""
    names = _stage_names(matrix)
    stages = {cell: names[_key(chain)] if chain else cell for cell, chain in matrix.cells.items()}
    by_place = {(run.stage, run.seed): run for run in plan(matrix)}
    return {cell: {seed: by_place[stage, seed] for seed in matrix.seeds} for cell, stage in stages.items()}


def needed(matrix: Matrix, cells: Sequence[str]) -> list[Run]:
    """The runs of a plan that the named cells need, and the starting checkpoint, which all are compared with.

    Raises:
        ValueError: there is no such cell.
    """
    if unknown := [name for name in cells if name not in matrix.cells]:
        raise ValueError(f"there is no cell {unknown[0]!r}; there are {', '.join(matrix.cells)}")
    wanted = set()
    last = last_runs(matrix)
    for run in (run for cell in (matrix.base, *cells) for run in last[cell].values()):
        link: Run | None = run
        while link is not None:
            wanted.add(link.folder)
            link = link.before
    return [run for run in plan(matrix) if run.folder in wanted]


def check_folders(runs: Sequence[Run]) -> None:
    """Raise `ValueError` where a folder was made under other settings than the matrix now has: what is
    finished in it would be taken for something else."""
    for run in runs:
        file = run.folder / "config.yaml"
        if not file.is_file():
            continue
        before = read_config(file)
        now = {**run.step.item_options(), **run.step.options, "seed": run.seed}
        for name, value in now.items():
            if value is not None and name in before and not _same(before[name], value):
                raise ValueError(
                    f"{run.folder} was made with another configuration ({name}: {before[name]!r} -> "
                    f"{value!r}); choose another output_dir, or delete that folder"
                )
        if run.probe_options and run.probed_with() not in (None, dict(run.probe_options)):
            raise ValueError(f"{run.probe} was made with other options; delete that folder")


def _same(before: Any, now: Any) -> bool:
    """Whether two values are one option, which the recipe's parser may have made a number of."""
    try:
        return before == now or float(before) == float(now)
    except (TypeError, ValueError):
        return str(before) == str(now)


def command(matrix: Matrix, run: Run) -> list[str]:
    """The command line that starts a run, which goes on where it stopped when it is started again."""
    recipe = files("riftk.recipes") / f"{run.step.recipe}.py"
    launcher = [resolve(one) if one.startswith(PACKAGE_SCHEME) else one for one in matrix.launcher]
    return [sys.executable, "-c", _LAUNCHER, "--quiet", *launcher, str(recipe), *arguments(matrix, run)]


def probe_command(matrix: Matrix, run: Run) -> list[str]:
    """The command line that probes the model that a run ends with, behind the traces of its evaluation."""
    return [sys.executable, "-c", _RIFTK, "probe", *probe_arguments(matrix, run)]


def probe_arguments(matrix: Matrix, run: Run) -> list[str]:
    """What `riftk probe` is told."""
    model = str(run.folder / "final") if run.trains else matrix.model
    where = [str(run.evaluation), "--model", model, "--out", str(run.probe)]
    return [*where, *flags(run.probe_options)]


def shown_command(matrix: Matrix, run: Run) -> str:
    """The same, as a person would type it."""
    return "accelerate launch " + shlex.join(command(matrix, run)[3:])


def arguments(matrix: Matrix, run: Run) -> list[str]:
    """What a recipe is told."""
    model = str(run.before.folder) if run.before and run.before.trains else matrix.model
    said: dict[str, Any] = {**run.step.options, **_limits(matrix, run)}
    said |= {"seed": run.seed, "output_dir": str(run.folder), "model_name_or_path": model}
    if not run.trains:
        said["stages"] = ["eval"]
    return ["--config", str(run.step.config), *_flags(said)]


def _limits(matrix: Matrix, run: Run) -> dict[str, str]:
    """Word limits that depend on the model are measured once, by the first run, and are those of all."""
    options = run.step.resolved()
    if options.get("limits", CALIBRATE) != CALIBRATE or not any(map(takes_limits, options["benchmarks"])):
        return {}
    first = _folder(matrix, matrix.base, matrix.seeds[0])
    if run.folder == first or inherited_limits(matrix.model):
        return {}
    return {"limits": str(first / "limits" / FILE)}


def _flags(options: Mapping[str, Any]) -> Iterator[str]:
    """Options as trl's parser takes them: several words for a list, JSON for a mapping."""
    for name, value in options.items():
        if value is None:
            raise ValueError(f"{name}: a command line cannot say null; say it in the recipe's own YAML")
        yield f"--{name}"
        if isinstance(value, list | tuple):
            yield from map(str, value)
        elif isinstance(value, Mapping):
            yield json.dumps(value)
        else:
            yield str(value).lower() if isinstance(value, bool) else str(value)


def _stage_names(matrix: Matrix) -> dict[str, str]:
    """A name for each different beginning of a chain: that of the cell that ends there, where one does."""
    names: dict[str, str] = {}
    for cell, chain in matrix.cells.items():
        if chain:
            names.setdefault(_key(chain), cell)
    for cell, chain in matrix.cells.items():
        for end in range(1, len(chain)):
            names.setdefault(_key(chain[:end]), f"{cell}.{end}")
    return names


def _key(chain: tuple[Step, ...]) -> str:
    return "\n".join(step.key for step in chain)


def _folder(matrix: Matrix, stage: str, seed: int) -> Path:
    return matrix.output_dir / stage / f"seed-{seed}"


def _first_step(matrix: Matrix) -> Step:
    """The recipe that also evaluates the starting checkpoint."""
    return next(chain[0] for chain in matrix.cells.values() if chain)
