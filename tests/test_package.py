"""The installed package: light where it must be, complete where it is used."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from collections import Counter
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
FOLDERS = {
    "riftk": ROOT / "riftk",
    "riftk.rewards": ROOT / "rewards",
    "riftk.data_synth": ROOT / "data_synth",
    "riftk.recipes": ROOT / "recipes",
}
# From the bottom up. A module imports from its own layer and from those below; a new one needs a place here.
LAYERS = (
    {"riftk", "riftk.files", "riftk.paths", "riftk.runs", "riftk.spreading"},
    {"riftk.completions", "riftk.constraints", "riftk.grading", "riftk.prompts"},
    {
        "riftk.benchmarks", "riftk.engines", "riftk.judging", "riftk.planning", "riftk.rows",
        "riftk.seeds", "riftk.statistics", "riftk.supervision",
    },
    {
        "riftk.auditing", "riftk.averaging", "riftk.data_synth", "riftk.evaluation", "riftk.monitoring",
        "riftk.report", "riftk.rewards", "riftk.rl", "riftk.selection", "riftk.tiny",
        "riftk.training",
    },
    {"riftk.engine_options", "riftk.stages"},
    {"riftk.comparing", "riftk.dry_run", "riftk.preflight"},
    {"riftk.commands"},
    {"riftk.__main__", "riftk.cli", "riftk.recipes"},
)  # fmt: skip
HEAVY = ("torch", "transformers", "trl", "datasets", "vllm", "openai", "typer", "rich", "matplotlib", "nltk")


@pytest.mark.parametrize(
    "module", ["riftk.rewards", "riftk.constraints", "riftk.grading", "riftk.data_synth"]
)
def test_the_core_imports_nothing_heavy(module):
    code = f"import {module}, sys; print(sorted(set(sys.modules) & set({HEAVY!r})))"
    printed = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd="/"
    )
    assert printed.stdout.strip() == "[]"


def test_the_help_needs_no_heavy_library():
    code = (
        "import sys; sys.argv = ['riftk', '--help']\n"
        "from riftk.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "print('heavy', sorted(set(sys.modules) & {'torch', 'transformers', 'trl', 'datasets'}))"
    )
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert printed.stdout.strip().endswith("heavy []")


def project_modules() -> dict[str, Path]:
    """Every module of the project and its file."""
    found = {}
    for name, folder in FOLDERS.items():
        for file in folder.rglob("*.py"):
            parts = file.relative_to(folder).with_suffix("").parts
            found[".".join((name, *parts)).removesuffix(".__init__")] = file
    return found


def imports(module: str, file: Path, modules: dict[str, Path]) -> Iterator[str]:
    """The project's modules that a module imports, at its top, inside functions or for types only."""
    package = module.split(".") if file.name == "__init__.py" else module.split(".")[:-1]
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) + 1 - node.level] if node.level else []
            source = ".".join([*base, node.module] if node.module else base)
            names = [f"{source}.{alias.name}" for alias in node.names]
            names = [name if name in modules else source for name in names]
        else:
            continue
        yield from (name for name in names if name in modules)


def test_dependencies_point_one_way():
    modules = project_modules()
    unit = {module: ".".join(module.split(".")[:2]) for module in modules}
    places = Counter(name for layer in LAYERS for name in layer)
    assert {name: places[name] for name in unit.values() if places[name] != 1} == {}, "name each in one layer"
    height = {name: number for number, layer in enumerate(LAYERS) for name in layer}
    graph = {module: set(imports(module, file, modules)) for module, file in modules.items()}
    wrong = [
        f"{module} imports {imported}"
        for module, found in graph.items()
        for imported in found
        if height[unit[imported]] > height[unit[module]]
    ]
    assert wrong == []
    TopologicalSorter(graph).prepare()  # raises where modules import each other in a circle


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    """A wheel built from a copy of the sources, with the setuptools that is installed."""
    folder = tmp_path_factory.mktemp("wheel")
    for name in ("riftk", "rewards", "data_synth", "recipes", "accelerate_configs"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, folder)
    build = "from setuptools import build_meta; print(build_meta.build_wheel('dist'))"
    subprocess.run(
        [sys.executable, "-c", build], cwd=folder, check=True, stdout=subprocess.DEVNULL, timeout=300
    )
    return next((folder / "dist").glob("*.whl"))


@pytest.mark.slow
def test_a_wheel_holds_code_configurations_templates_and_weights(wheel):
    names = set(zipfile.ZipFile(wheel).namelist())
    for wanted in (
        "riftk/py.typed",
        "riftk/rewards/functions.py",
        "riftk/data_synth/__init__.py",
        "riftk/recipes/rif.py",
        "riftk/recipes/configs/rif/tiny.yaml",
        "riftk/recipes/templates/chatml_think.jinja",
        "riftk/accelerate_configs/zero3.yaml",
        "riftk/report/templates/page.js",
        "riftk/tiny/weights/base/model.safetensors",
        "riftk/tiny/weights/teacher/model.safetensors",
        "riftk/tiny/weights/weak/model.safetensors",
    ):
        assert wanted in names, wanted
    modules = {name.replace(".", "/") for name in project_modules()}
    held = {name.removesuffix(".py").removesuffix("/__init__") for name in names if name.endswith(".py")}
    assert modules - held == set()
    assert not {name.split("/")[0] for name in names if not name.startswith("riftk-")} - {"riftk"}


@pytest.mark.slow
def test_an_installed_wheel_runs_without_the_repository(wheel, tmp_path):
    venv.create(tmp_path / "venv", symlinks=True)
    python = tmp_path / "venv" / "bin" / "python"
    find = "import sysconfig; print(sysconfig.get_paths()['purelib'])"
    site = Path(subprocess.check_output([python, "-c", find], text=True).strip())
    zipfile.ZipFile(wheel).extractall(site)
    # Only dependencies are borrowed: the .pth files of their folder, an editable riftk's too, are not read.
    (site / "dependencies.pth").write_text(sysconfig.get_paths()["purelib"] + "\n")
    (tmp_path / "work").mkdir()

    def run(*arguments: str) -> str:
        environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
        finished = subprocess.run(
            [python, *arguments], cwd=tmp_path / "work", env=environment, capture_output=True, text=True,
            timeout=300,
        )  # fmt: skip
        assert finished.returncode == 0, finished.stderr[-3000:]
        return finished.stdout

    code = "import riftk.rewards, riftk.recipes; print(riftk.rewards.__file__, riftk.recipes.__path__[0])"
    for place in run("-c", code).split():
        assert Path(place).is_relative_to(site)
    run("-m", "riftk.recipes.rif", "--stages", "synth", "--num_rows", "16", "--output_dir", "run")
    assert (tmp_path / "work" / "run" / "data" / "dataset.jsonl").stat().st_size
