"""The installed package: light where it must be, complete where it is used."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
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


@pytest.mark.slow
def test_a_wheel_holds_code_configurations_templates_and_weights(tmp_path):
    import zipfile

    build = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--quiet",
        "--no-deps",
        "--wheel-dir",
        str(tmp_path),
        str(ROOT),
    ]
    subprocess.run(build, check=True, timeout=300)
    names = set(zipfile.ZipFile(next(tmp_path.glob("*.whl"))).namelist())
    for wanted in (
        "riftk/py.typed",
        "riftk/rewards/functions.py",
        "riftk/data_synth/__init__.py",
        "riftk/recipes/rif.py",
        "riftk/recipes/configs/rif/tiny.yaml",
        "riftk/recipes/templates/chatml_think.jinja",
        "riftk/accelerate_configs/zero3.yaml",
        "riftk/tiny/weights/base/model.safetensors",
        "riftk/tiny/weights/weak/model.safetensors",
    ):
        assert wanted in names, wanted
    assert not {name.split("/")[0] for name in names if not name.startswith("riftk-")} - {"riftk"}


def test_dependencies_point_one_way():
    import ast

    layers = [
        ("riftk/constraints", "riftk/completions", "riftk/grading", "riftk/prompts.py", "riftk/judging.py"),
        ("riftk/benchmarks", "riftk/engines", "riftk/statistics.py", "riftk/rows.py"),
        ("rewards", "data_synth", "riftk/evaluation", "riftk/report", "riftk/tiny"),
        ("recipes", "riftk/cli.py"),
    ]
    level = {}
    for height, places in enumerate(layers):
        for place in places:
            name = place.removesuffix(".py").replace("/", ".")
            level[name if name.startswith("riftk") else f"riftk.{name}"] = height

    def height(module: str) -> int | None:
        parts = module.split(".")
        return next(
            (level[".".join(parts[:n])] for n in range(len(parts), 0, -1) if ".".join(parts[:n]) in level),
            None,
        )

    wrong = []
    for places in layers:
        for place in places:
            path = ROOT / place
            for file in path.rglob("*.py") if path.is_dir() else [path]:
                module = str(file.relative_to(ROOT)).removesuffix(".py").replace("/", ".")
                module = module if module.startswith("riftk") else f"riftk.{module}"
                for node in ast.walk(ast.parse(file.read_text())):
                    imported = node.module if isinstance(node, ast.ImportFrom) and not node.level else None
                    above = height(imported or "")
                    if above is not None and above > height(module):
                        wrong.append(f"{module} imports {imported}")
    assert wrong == []
