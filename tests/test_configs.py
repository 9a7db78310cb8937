"""Every configuration of a recipe: it loads, passes a dry run where there is neither GPU nor hub, and fits on
the GPUs that its comment names."""

from __future__ import annotations

import importlib
import re
import shlex
import sys
from pathlib import Path

import pytest
import yaml
from launching import RECIPES

from riftk.commands.env import _options
from riftk.planning import GIB, SHAPES, estimate, read_layout
from riftk.planning.memory import loses_updates
from riftk.planning.plan import Plan, job_of
from riftk.training import read_config

CONFIGS = sorted(
    one for kind in ("rif", "sft", "cold_rl") for one in (RECIPES / "configs" / kind).glob("*.yaml")
)
LAUNCHES = RECIPES.parent / "accelerate_configs"
NAMES = [f"{config.parent.name}/{config.stem}" for config in CONFIGS]
FROM_A_RUN = [
    config for config in CONFIGS if str(read_config(config)["model_name_or_path"]).startswith("runs/")
]


def start(config: Path, arguments: list[str], monkeypatch) -> None:
    """Start a recipe in this process: importing trl takes longer than all else."""
    recipe = importlib.import_module(f"riftk.recipes.{config.parent.name}")
    monkeypatch.setattr(recipe, "die_with_parent", lambda: None)
    monkeypatch.setattr(sys, "argv", [f"{config.parent.name}.py", "--config", str(config), *arguments])
    recipe.main()


@pytest.mark.parametrize("config", CONFIGS, ids=NAMES)
def test_a_dry_run_needs_neither_gpu_nor_hub(config, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    start(config, ["--dry-run"], monkeypatch)
    said = capsys.readouterr().out
    resolved = yaml.safe_load(said.partition("# configuration\n")[2].partition("\n# plan\n")[0])
    for name, value in read_config(config).items():
        if name in resolved and not isinstance(value, str):
            assert resolved[name] == ("all-linear" if value == ["all-linear"] else value), name  # trl's own
    assert "GiB on each GPU" in said or "no estimate" in said
    assert said.count("tokens carry loss") == 3
    assert "\x1b[1;32m" in said  # what is trained is green
    assert said.rstrip().endswith("nothing was sampled, trained or written")
    assert not list(tmp_path.iterdir())


def test_a_dry_run_checks_what_it_can_read(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    tiny = RECIPES / "configs" / "sft" / "tiny.yaml"
    start(tiny, ["--dry_run"], monkeypatch)
    assert "all inputs were read and are good" in capsys.readouterr().out
    with pytest.raises(ValueError, match="give both or neither"):
        start(tiny, ["--dry_run", "--rope_theta", "20000"], monkeypatch)
    with pytest.raises(FileNotFoundError, match="no/such/model does not exist"):
        start(tiny, ["--dry_run", "--model_name_or_path", "./no/such/model"], monkeypatch)


def test_a_dry_run_shows_the_rows_of_a_file(tmp_path, monkeypatch, capsys):
    row = '{"item_id": "%d", "prompt": [{"role": "user", "content": "How many?"}], "reasoning": "Three and '
    row += 'four.", "response": "Seven."}\n'
    (tmp_path / "rows.jsonl").write_text("".join(row % number for number in range(5)))
    monkeypatch.chdir(tmp_path)
    arguments = ["--dry_run", "--dataset", "rows.jsonl", "--loss_on", "reasoning"]
    start(RECIPES / "configs" / "rif" / "tiny.yaml", arguments, monkeypatch)
    said = capsys.readouterr().out
    assert said.count("Three and four.") == 3
    assert "\x1b[2m" in said.partition("Three and four.")[2].partition("Seven.")[0]  # the answer is dimmed


def test_a_dry_run_of_a_short_file_shows_each_row_once(tmp_path, monkeypatch, capsys):
    row = '{"item_id": "%s", "prompt": [{"role": "user", "content": "How many?"}], "reasoning": "Row %s.", '
    row += '"response": "Seven."}\n'
    (tmp_path / "rows.jsonl").write_text("".join(row % (name, name) for name in ("one", "two")))
    monkeypatch.chdir(tmp_path)
    start(RECIPES / "configs" / "rif" / "tiny.yaml", ["--dry_run", "--dataset", "rows.jsonl"], monkeypatch)
    said = capsys.readouterr().out
    assert [said.count(f"Row {name}.") for name in ("one", "two")] == [1, 1]


@pytest.mark.parametrize(
    "config", [one for one in CONFIGS if "tiny" not in one.stem], ids=lambda one: one.stem
)
def test_a_configuration_fits_on_the_gpus_that_its_comment_names(config):
    """The launch command in its comment, or in that of the configuration that it extends."""
    options = _options(str(config))
    if options["model_name_or_path"] not in SHAPES:
        pytest.skip("starts from a run: its model is of the shape of the run's")
    while not (command := _launch(config)) and (base := yaml.safe_load(config.read_text()).get("extends")):
        config = config.parent / base
    if not command:
        assert config.stem == "smollm2-135m"  # runs anywhere
        return
    layout = read_layout(LAUNCHES.parent / command["config_file"])
    layout = layout.on(int(command.get("num_processes", layout.processes)))
    job = job_of(options)
    plan = Plan("", job, 80 * GIB, {layout: estimate(job, layout, 80 * GIB)})
    assert plan.fits(layout), plan.lines()
    assert not loses_updates(job, layout)


def _launch(config: Path) -> dict[str, str]:
    """Options of `accelerate launch` in a configuration's comment."""
    comment = "".join(
        line.lstrip("# ") for line in config.read_text().splitlines(keepends=True) if line.startswith("#")
    )
    found = re.search(r"accelerate launch (.*?)recipes/", comment.replace("\\\n", " "))
    words = shlex.split(found[1]) if found else []
    return {name.removeprefix("--"): value for name, value in zip(words[::2], words[1::2], strict=True)}


def test_every_setting_of_the_papers_tables_has_a_configuration():
    """MathIF's Table 4 (SFT, SFT+RL, cold RL, with format reward) and 5, ReasonIF's Table 3."""
    models = ["qwen2.5-1.5b", "qwen2.5-7b", "qwen2.5-math-1.5b", "qwen2.5-math-7b"]
    wanted = {f"sft/{model}" for model in models}
    wanted |= {f"cold_rl/{model}{way}" for model in models for way in ("", "-format", "-sft-rl")}
    wanted |= {f"cold_rl/r1-distill-qwen-1.5b{length}" for length in ("", "-1k", "-2k", "-4k")}
    assert wanted | {"rif/gpt-oss-20b", "rif/qwen3-8b", "rif/qwen3-8b-lora"} <= set(NAMES)


def test_sft_rl_starts_from_the_run_of_the_sft_configuration():
    assert FROM_A_RUN
    runs = {read_config(config)["output_dir"] for config in CONFIGS}
    assert all(read_config(config)["model_name_or_path"] in runs for config in FROM_A_RUN)


def test_folders_of_runs_are_all_different():
    folders = [read_config(config)["output_dir"] for config in CONFIGS]
    assert len(set(folders)) == len(folders)


@pytest.mark.parametrize("path", sorted(LAUNCHES.glob("*.yaml")), ids=lambda path: path.stem)
def test_accelerate_reads_its_configurations_and_each_says_when_to_take_it(path):
    from accelerate.commands.config.config_args import load_config_from_file

    config = load_config_from_file(str(path))
    assert config.num_processes == read_layout(path).processes
    assert path.read_text().startswith("# ")
    assert {one.stem for one in LAUNCHES.glob("*.yaml")} == {
        "cpu", "single_gpu", "ddp", "fsdp2", "zero2", "zero3", "multi_node",
    }  # fmt: skip
