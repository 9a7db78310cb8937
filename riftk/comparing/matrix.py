"""What is compared, read from YAML.

    model_name_or_path: pkg://riftk.tiny/weights/base   # where every cell starts
    output_dir: runs/lab
    seeds: [0]
    launcher: []                 # arguments of `accelerate launch`
    settings:                    # options of every recipe: what is asked, and how
      benchmarks: [tiny]
    cells:
      base: []                   # the model before training
      rif: [{rif: ../rif/tiny.yaml}]
      rif+rl:                    # a chain: each recipe starts from the model that the one before it trained
        - rif: ../rif/tiny.yaml
        - cold_rl: ../cold_rl/tiny-gated.yaml
          max_steps: 50          # an option of this recipe alone
    runs:                        # runs that exist already: a folder, or one for each seed
      published: runs/eval-published
    against: [rif]               # what else the others are compared with, besides the first cell
    leave_out:                   # these cells again, without one of their constraints in turn: held_out.py
      cells: [rif]
      benchmarks: [tiny]         # all that these are asked; without it the same as the other cells
    probe:                       # options of `riftk probe`, run on what each other cell ends with
      tasks: tiny

A configuration of a recipe is looked for beside the file, and then where the command was started.
`extends: FILE` takes another matrix, of which this one says only what is different.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from riftk.data_synth.rewriters import REASONIF_BY_RULE
from riftk.paths import PACKAGE_SCHEME, resolve
from riftk.training import read_config

RECIPES = ("rif", "sft", "cold_rl")
_KEYS = {"model_name_or_path", "output_dir", "seeds", "launcher", "settings", "cells", "runs", "against",
         "probe", "leave_out"}  # fmt: skip
# What `riftk compare` says to a recipe itself.
_TAKEN = ("model_name_or_path", "output_dir", "seed", "stages", "checkpoint", "dry_run", "config")
_NAME = re.compile(r"[\w.+-]+")  # also a folder's
# What decides whether two runs answered the same items, in the same way.
_ITEMS = ("benchmarks", "data_dir", "limits", "eval_split", "eval_limit", "eval_temperature", "eval_top_p",
          "max_new_tokens")  # fmt: skip
# What else makes an evaluation one that a run may take over instead of making it again.
_GENERATION = ("engine", "engine_options", "batch_size", "dtype", "attn_implementation", "model_revision",
               "trust_remote_code", "chat_template_path")  # fmt: skip


@dataclass(frozen=True)
class Step:
    """One recipe of a chain.

    Args:
        recipe: one of `RECIPES`.
        config: its configuration.
        options: what overrides it, as on the command line.
    """

    recipe: str
    config: Path
    options: Mapping[str, Any]

    @property
    def key(self) -> str:
        """The same for steps that do the same."""
        return json.dumps([self.recipe, str(self.config.resolve()), self.options], sort_keys=True)

    def resolved(self) -> dict[str, Any]:
        """The configuration with its overrides."""
        return {**read_config(self.config), **self.options}

    def constraints(self) -> tuple[str, ...]:
        """What it trains on."""
        return tuple(self.resolved().get("constraints") or REASONIF_BY_RULE)

    def item_options(self) -> dict[str, Any]:
        """Which items the recipe's evaluations ask, and how; an option that nobody names is None."""
        config = self.resolved()
        return {name: config.get(name) for name in _ITEMS}

    def evaluation_options(self) -> dict[str, Any]:
        """All that an evaluation depends on besides the model and the seed."""
        config = self.resolved()
        return {name: config.get(name) for name in (*_ITEMS, *_GENERATION)}


@dataclass(frozen=True)
class Matrix:
    """A comparison.

    Args:
        output_dir: folder of all runs, logs and the report.
        model: the starting checkpoint; "" where nothing is trained.
        seeds: of every cell.
        launcher: arguments of `accelerate launch`.
        cells: the chain of each, by name; the first is empty, the starting checkpoint itself.
        runs: folders of finished runs or evaluations by name, one for each seed.
        against: further sides that the others are compared with.
        probe: options of `riftk probe`; empty where nothing is probed.
        left_out: further cells, by the cell that they are made of: the constraint that each does without.
    """

    output_dir: Path
    model: str = ""
    seeds: tuple[int, ...] = (0,)
    launcher: tuple[str, ...] = ()
    cells: Mapping[str, tuple[Step, ...]] = field(default_factory=dict)
    runs: Mapping[str, tuple[Path, ...]] = field(default_factory=dict)
    against: tuple[str, ...] = ()
    probe: Mapping[str, Any] = field(default_factory=dict)
    left_out: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    @property
    def base(self) -> str:
        """Name of the cell that is the starting checkpoint."""
        return next(iter(self.cells))

    @property
    def whole(self) -> list[str]:
        """The cells that leave nothing out."""
        return [cell for cell in self.cells if not any(cell in group for group in self.left_out.values())]


def read_matrix(name: str) -> Matrix:
    """Read a matrix.

    Args:
        name: of the file; `pkg://riftk.recipes/configs/compare/tiny.yaml` from an installed package.

    Raises:
        FileNotFoundError: there is no such file, or a cell's configuration is missing.
        ValueError: it cannot be a comparison; the message says what to change.
    """
    path = Path(resolve(name))
    if not path.is_file():
        raise FileNotFoundError(f"{name} is no file; give the YAML of a comparison")
    content = read_config(path)
    if unknown := sorted(content.keys() - _KEYS):
        raise ValueError(f"{path}: there is no {unknown[0]!r}; a comparison has {', '.join(sorted(_KEYS))}")
    settings, cells = content.get("settings") or {}, content.get("cells") or {}
    runs = {name: _folders(name, given) for name, given in (content.get("runs") or {}).items()}
    if wrong := [name for name in (*cells, *runs) if not _NAME.fullmatch(str(name))]:
        raise ValueError(f"{path}: {wrong[0]!r} is no name; letters, digits, . + - and _ make one")
    if both := sorted(cells.keys() & runs.keys()):
        raise ValueError(f"{path}: {both[0]} is a cell and a run; give one of them another name")
    if "output_dir" not in content:
        raise ValueError(f"{path}: output_dir is missing, the folder of all runs and of the report")
    if cells and not content.get("model_name_or_path"):
        raise ValueError(f"{path}: model_name_or_path is missing, the model that every cell starts from")
    if cells and not settings.get("benchmarks"):
        raise ValueError(f"{path}: settings name no benchmarks; every cell is asked the same ones")
    against, leave_out = _names(content.get("against"), "against", path), content.get("leave_out")
    if unknown := [name for name in against if name not in (*cells, *runs)]:
        raise ValueError(f"{path}: against names {unknown[0]!r}, which is neither a cell nor a run")
    probe = content.get("probe") or {}
    if not isinstance(probe, Mapping):
        raise ValueError(f"{path}: probe takes options of riftk probe, such as `tasks: tiny`; not {probe!r}")
    if taken := sorted(probe.keys() & {"evaluation", "model", "out", "dry_run"}):
        raise ValueError(f"{path}: {taken[0]} is said to riftk probe by riftk compare itself")
    if not cells and (probe or leave_out):
        raise ValueError(f"{path}: probe and leave_out are about cells, and there are none")
    matrix = Matrix(
        Path(content["output_dir"]),
        content.get("model_name_or_path") or "",
        check_seeds(content.get("seeds", [0])),
        tuple(map(str, content.get("launcher") or ())),
        {
            name: tuple(_step(step, settings, path, name) for step in chain or ())
            for name, chain in cells.items()
        },
        runs,
        against,
        probe,
    )
    if not cells:
        return matrix
    matrix = _with_base(matrix, path)
    return _leaving_out(matrix, leave_out, settings["benchmarks"], path) if leave_out else matrix


def check_seeds(seeds: Any) -> tuple[int, ...]:
    """Seeds as a tuple. Raises `ValueError` where they are no different whole numbers."""
    given = seeds if isinstance(seeds, list | tuple) else [seeds]
    if not given or len(set(given)) < len(given) or not all(type(one) is int for one in given):
        raise ValueError(f"seeds are whole numbers, each once, such as [0, 1, 2]; not {seeds}")
    return tuple(given)


def _with_base(matrix: Matrix, path: Path) -> Matrix:
    """The matrix with its starting checkpoint in front; its cells must answer the same items."""
    bases = [name for name, chain in matrix.cells.items() if not chain]
    if len(bases) > 1:
        raise ValueError(f"{path}: {' and '.join(bases)} are both the starting model; leave one out")
    trained = {name: chain for name, chain in matrix.cells.items() if chain}
    if not trained:
        raise ValueError(f"{path}: no cell trains anything; name a recipe in one")
    base = bases[0] if bases else "base"
    first, *others = ((name, step.item_options()) for name, chain in trained.items() for step in chain)
    for name, items in others:
        if different := [key for key in items if items[key] != first[1][key]]:
            key = different[0]
            raise ValueError(
                f"{path}: {first[0]} and {name} differ in {key} ({first[1][key]} and {items[key]}), and all "
                "cells must answer the same items; give it once, under settings"
            )
    return replace(matrix, cells={base: (), **trained})


def _leaving_out(matrix: Matrix, leave_out: Any, benchmarks: Sequence[str], path: Path) -> Matrix:
    """The matrix with further cells: each of those named again, without one of its constraints in turn."""
    if not isinstance(leave_out, Mapping) or leave_out.keys() - {"cells", "benchmarks"}:
        raise ValueError(f"{path}: leave_out takes cells and benchmarks, each a list; not {leave_out!r}")
    named = _names(leave_out.get("cells"), "cells of leave_out", path)
    asked = _names(leave_out.get("benchmarks", benchmarks), "benchmarks of leave_out", path)
    if others := [one for one in asked if one not in benchmarks]:
        raise ValueError(f"{path}: leave_out asks {others[0]}, which is none of the benchmarks of settings")
    cells, left_out = dict(matrix.cells), {}
    for cell in named:
        if cell not in matrix.cells or cell == matrix.base:
            raise ValueError(f"{path}: leave_out names {cell!r}, which is no cell that is trained")
        trained = [step.constraints() for step in matrix.cells[cell]]
        if any(set(one) != set(trained[0]) for one in trained) or len(trained[0]) < 2:
            raise ValueError(f"{path}: {cell} must train on two constraints or more, each recipe on the same")
        left_out[cell] = {f"{cell}-without-{one.partition(':')[2]}": one for one in trained[0]}
        if len(left_out[cell]) < len(trained[0]) or left_out[cell].keys() & {*cells, *matrix.runs}:
            raise ValueError(f"{path}: the cells that leave_out makes of {cell} would have taken names")
        for name, without in left_out[cell].items():
            others = [one for one in trained[0] if one != without]
            options = {"constraints": others, "benchmarks": list(asked)}
            cells[name] = tuple(
                replace(step, options={**step.options, **options}) for step in matrix.cells[cell]
            )
    if len({frozenset(group.values()) for group in left_out.values()}) > 1:
        raise ValueError(f"{path}: the cells of leave_out train on different constraints")
    return replace(matrix, cells=cells, left_out=left_out)


def _names(given: Any, what: str, path: Path) -> tuple[str, ...]:
    """A list of names in a matrix."""
    given = given or []
    if not isinstance(given, list) or len(set(map(str, given))) < len(given):
        raise ValueError(f"{path}: {what} takes a list of different names, such as [rif]; not {given!r}")
    return tuple(map(str, given))


def _step(given: Any, settings: Mapping[str, Any], path: Path, cell: str) -> Step:
    recipes = [recipe for recipe in RECIPES if isinstance(given, Mapping) and recipe in given]
    if len(recipes) != 1:
        raise ValueError(
            f"{path}: {cell} is a list of recipes, each `{{RECIPE: CONFIG.yaml, option: value}}` with one of "
            f"{', '.join(RECIPES)}; not {given!r}"
        )
    options = {name: value for name, value in given.items() if name != recipes[0]}
    if taken := [name for name in (*settings, *options) if name in _TAKEN]:
        raise ValueError(f"{path}: {taken[0]} is said to each recipe of {cell} by riftk compare itself")
    config = str(given[recipes[0]])
    places = (os.path.normpath(path.parent / config), config)
    if config.startswith(PACKAGE_SCHEME):
        places = (resolve(config),)
    file = next((Path(place) for place in places if Path(place).is_file()), None)
    if file is None:
        raise FileNotFoundError(f"{path}: {cell} names {config}, and there is no file {' or '.join(places)}")
    return Step(recipes[0], file, {**settings, **options})


def _folders(name: str, given: Any) -> tuple[Path, ...]:
    folders = given if isinstance(given, list) else [given]
    if not folders or not all(isinstance(one, str) for one in folders):
        raise ValueError(f"runs: {name} takes a folder, or a list with one for each seed; not {given!r}")
    return tuple(map(Path, folders))
