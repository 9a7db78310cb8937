"""docs/reproduce.md: every command line is one that today's commands take, without data, hub or model."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import docs_commands
import pytest

from riftk.benchmarks import load_benchmark

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "reproduce.md").read_text()
BLOCKS = re.findall(r"^```bash\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
LINES = [line for block in BLOCKS for line in block.replace("\\\n", " ").splitlines()]
OTHERS = {"vllm"}  # programs of others
ROWS = {
    "MathIF": [
        *(f"Table {n}" for n in (3, 4, 5, 6, 8, 9, 10, 11, 12, 13)),
        *(f"Figure {n}" for n in range(1, 8)),
    ],
    "ReasonIF": [*(f"Table {n}" for n in (3, 7, 8)), *(f"Figure {n}" for n in range(2, 12))],
    "IFFR": [*(f"Table {n}" for n in range(3, 9)), "Figure 3", "Figure 4"],
}


def of_program(name: str) -> list[list[str]]:
    return [words[1:] for words in map(shlex.split, LINES) if words[0] == name]


def test_every_line_is_checked():
    assert {shlex.split(line)[0] for line in LINES} == {"riftk", "accelerate", *OTHERS}


@pytest.mark.parametrize("arguments", of_program("riftk"), ids=" ".join)
def test_riftk_takes_the_line(arguments, monkeypatch, tmp_path):
    monkeypatch.chdir(ROOT)
    name, given = docs_commands.riftk_parameters(arguments)
    assert name in ("eval", "report", "calibrate", "synth", "synth distill")
    if name == "eval":
        for benchmark in given["benchmarks"].split(","):
            # Options are looked at before data: all that an empty folder leaves to say is that it is empty.
            with pytest.raises(FileNotFoundError, match=re.escape(str(tmp_path))):
                load_benchmark(benchmark, data_dir=tmp_path, limits="dataset")
    if "--config" in arguments:
        assert Path(arguments[arguments.index("--config") + 1]).is_file()


@pytest.mark.parametrize("arguments", of_program("accelerate"), ids=" ".join)
def test_accelerate_and_the_recipe_take_the_line(arguments, monkeypatch):
    monkeypatch.chdir(ROOT)
    docs_commands.check(["accelerate", *arguments])


@pytest.mark.parametrize(
    "wrong", ["mathif:waits=2", "iffr:set=arc", "iffr:set=arc_c:prompts=mine", "mathif2"]
)
def test_a_wrong_benchmark_would_be_noticed(wrong, tmp_path):
    with pytest.raises(ValueError, match=r"takes|sets are|prompts are|unknown"):
        load_benchmark(wrong, data_dir=tmp_path, limits="dataset")


def test_every_table_and_figure_has_a_row_whose_command_is_on_the_page():
    for paper, wanted in ROWS.items():
        section = PAGE.split(f"\n## {paper} ")[1].split("\n## ")[0]
        rows = re.findall(r"^\| ((?:Table|Figure) \d+) \| ([^|]*)\|", section, re.MULTILINE)
        assert sorted(name for name, _ in rows) == sorted(wanted)
        for _, command in rows:
            for label in re.findall(r"\b[MRI]\d", command):
                assert f"**{label}**" in section


def test_every_path_on_the_page_exists():
    for path in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", PAGE):
        assert (ROOT / "docs" / path).is_file(), path
