"""Every block of README and of the site runs, in a folder like a reader's, or says what it needs."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from pathlib import Path
from typing import Any

import docs_commands
import pyarrow.parquet
import pytest
import report_runs
from adapter_cases import GOOD, QUESTION, ROW, TRACE
from docs_blocks import ROOT, Block, pages, read_blocks
from openai_server import ChatServer, message

from riftk.constraints import base
from riftk.data_synth.rewriters import REWRITERS  # with riftk's own
from riftk.paths import resolve

# Blocks that another test runs, by page and heading ("*": all of the page).
ELSEWHERE = {
    ("README.md", "Two commands"): "test_rif.py",
    ("docs/rewards/index.md", "Data"): "test_docs_rewards.py",
    ("docs/rewards/trl.md", "*"): "test_docs_rewards.py",
    ("docs/rewards/openrlhf.md", "*"): "test_adapters.py",
    ("docs/reproduce.md", "*"): "test_docs_reproduce.py",
    ("docs/scale.md", "Two processes on a CPU"): "test_scale.py",
}
LANGUAGES = ("", "bash", "python", "toml", "yaml", "text")
NEEDS = re.compile(
    r"GPU|key|hub|server|machines|hour|lm_eval|index of Python packages|vLLM|verl|OpenRLHF|verifiers"
    r"|open-instruct|NeMo Gym|rLLM|IFBench"
)
# What makes a command small, by its beginning.
FEW = {
    "riftk eval": ["--limit", "4", "--max-tokens", "96"],
    "riftk synth": ["--num-rows", "12"],
    "riftk rows": ["--num-rows", "20"],
    "riftk stress": ["--problems", "1"],
}
FEWER_STEPS = ["--max_steps", "2", "--num_rows", "24", "--eval_limit", "8", "--batch_size", "24"]
FEWER_ROLLOUTS = [  # two steps cannot learn, which the check before a run would say
    "--skip_preflight", "--per_device_train_batch_size", "8", "--num_generations", "4",
    "--eval_steps", "1", "--dev_limit", "4", "--logging_steps", "1", "--rollout_steps", "1",
]  # fmt: skip
FEW_STEPS = {
    "accelerate launch": FEWER_STEPS,
    "accelerate launch recipes/cold_rl.py": FEWER_ROLLOUTS,
}
BLOCKS = [block for page in pages() for block in read_blocks(page)]
CODE = [block for block in BLOCKS if block.language in ("bash", "python")]


def runs_elsewhere(block: Block) -> bool:
    return (block.page, "*") in ELSEWHERE or (block.page, block.heading) in ELSEWHERE


HERE = [block for block in CODE if not block.needs and not runs_elsewhere(block)]


def is_training(words: list[str]) -> bool:
    return words[:1] == ["accelerate"] and not {"--dry-run", "--dry_run"} & set(words)


def trains(block: Block) -> bool:
    if block.language != "bash":
        return False
    return any(is_training(words) for _, words in docs_commands.commands(block.code))


@pytest.fixture(scope="session")
def belongings(tmp_path_factory) -> Path:
    """What a reader has: the checkout, problems, rows, outputs, checkpoints, runs."""
    folder = tmp_path_factory.mktemp("reader")
    for name in ("recipes", "accelerate_configs", "tests"):
        (folder / name).symlink_to(ROOT / name)
    from riftk.tiny.problems import training_problems

    problems = [
        {"question": one["question"], "problem": one["question"], "answer": str(one["answer"])}
        for one in training_problems(60, seed=1)
    ]
    write_jsonl(folder / "my_problems.jsonl", problems)
    row = {"prompt": [{"role": "user", "content": QUESTION}], **ROW}
    about_response = {"constraints": row["constraints"].replace("reasoning", "response")}
    write_jsonl(
        folder / "rows.jsonl",
        [{"item_id": str(n), **row, **(about_response if n % 2 else {})} for n in range(40)],
    )
    told = {"reasoning": TRACE, "response": "Eight.", **row}
    write_jsonl(folder / "my_dataset.jsonl", [{"item_id": str(n), **told} for n in range(40)])
    pyarrow.parquet.write_table(
        pyarrow.Table.from_pylist([{"completion": GOOD, **ROW}] * 3), folder / "train.parquet"
    )
    reward = "from riftk.rewards import GatedReward\n\nmine = GatedReward(think='tags')\n"
    (folder / "my_rewards.py").write_text(reward)
    (folder / "my_checks.py").write_text("from riftk.constraints import check as followed\n")
    for model in ("checkpoints/a", "checkpoints/b"):
        shutil.copytree(resolve("pkg://riftk.tiny/weights/base"), folder / model)
    for run in ("rif-tiny", "sft-tiny", "cold-rl-tiny"):
        report_runs.make_run(folder / "runs" / run)
        shutil.copytree(folder / "checkpoints" / "a", folder / "runs" / run / "final", dirs_exist_ok=True)
    return folder


def write_jsonl(path: Path, records: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))


@pytest.fixture
def reader(belongings, tmp_path, monkeypatch):
    """A folder of one's own with these belongings; constraints that a page adds are taken out again."""
    folder = tmp_path / "reader"
    shutil.copytree(belongings, folder, symlinks=True)
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "path", [*sys.path, ""])
    monkeypatch.setattr(base, "_REGISTRY", dict(base._REGISTRY))
    rewriters, modules = dict(REWRITERS), set(sys.modules)
    yield folder
    REWRITERS.clear()
    REWRITERS.update(rewriters)
    for name in set(sys.modules) - modules:
        if Path(getattr(sys.modules[name], "__file__", None) or "/").is_relative_to(folder):
            del sys.modules[name]


def spoken_of(page: str) -> dict[str, Any]:
    """What the text of a page takes for granted where its Python begins."""
    names: dict[str, Any] = {"__name__": "reader"}
    if page == "README.md":
        from datasets import load_dataset
        from trl import GRPOConfig

        names["trace"] = "word " * 87
        names["model"] = resolve("pkg://riftk.tiny/weights/base")
        names["dataset"] = load_dataset("json", data_files="rows.jsonl", split="train")
        names["grpo_config"] = GRPOConfig("runs/grpo", use_cpu=True, bf16=False)
    return names


def solves(body: dict[str, Any], number: int) -> Any:
    return message("<think>\nfour and five make nine\n</think>\n\nNine. <answer>9</answer>")


def run_page(page: str, reader: Path, patch: pytest.MonkeyPatch, training: bool) -> None:
    """Run the blocks of a page in order: those that train, or the others."""
    here = [block for block in HERE if block.page == page]
    for block in here:
        if block.file:
            with open(reader / block.file, "a") as file:
                file.write(block.code + "\n\n")
    namespace = spoken_of(page)
    with ChatServer(solves) as server:
        for block in here:
            if block.file or trains(block) != training:
                continue
            if block.language == "python":
                docs_commands.run_python(block.code, str(block), namespace)
                continue
            code = block.code.replace("http://127.0.0.1:8000/v1", server.url)
            for environment, words in docs_commands.commands(code):
                with patch.context() as one:
                    one.setenv("OPENAI_API_KEY", "none")
                    for name, value in environment.items():
                        one.setenv(name, value)
                    if words:
                        docs_commands.run(words, FEW_STEPS if is_training(words) else FEW, one)


@pytest.mark.parametrize("page", sorted({block.page for block in HERE if not trains(block)}))
def test_what_a_page_shows_runs(page, reader, monkeypatch):
    run_page(page, reader, monkeypatch, training=False)


@pytest.mark.slow
@pytest.mark.parametrize("page", sorted({block.page for block in HERE if trains(block)}))
def test_what_a_page_trains_is_trained(page, reader, monkeypatch):
    shutil.rmtree(reader / "runs")  # its commands make them; of `make rif` there is the model
    shutil.copytree(reader / "checkpoints" / "a", reader / "runs" / "rif-tiny" / "final")
    run_page(page, reader, monkeypatch, training=True)


@pytest.mark.parametrize("block", [block for block in CODE if block.language == "bash"], ids=str)
def test_programs_take_every_command(block, monkeypatch):
    """Also those that cannot run here: their options exist, and so do the configurations that they name."""
    monkeypatch.chdir(ROOT)
    for _, words in docs_commands.commands(block.code):
        if words:
            docs_commands.check(words)


@pytest.mark.parametrize("block", CODE, ids=str)
def test_a_block_that_does_not_run_says_what_it_needs(block):
    if block.language == "python":
        compile(block.code, str(block), "exec")
    assert not block.needs or NEEDS.search(block.needs), f"{block}: {block.needs!r} tells a reader nothing"


def test_blocks_are_of_known_languages():
    """Commands in another language (console, sh, …) would run nowhere."""
    assert {block.language for block in BLOCKS} <= set(LANGUAGES)


@pytest.mark.parametrize("place", ELSEWHERE, ids=" ".join)
def test_what_runs_elsewhere_is_there(place):
    page, heading = place
    assert any(block.page == page and heading in ("*", block.heading) for block in CODE), "nothing to run"
    assert (ROOT / "tests" / ELSEWHERE[place]).is_file()


@pytest.mark.parametrize("page", ["README.md", "docs/index.md"])
def test_two_checkpoints_of_ones_own_are_compared_in_five_commands(page, reader, benchmark_file, monkeypatch):
    data = benchmark_file("mathif.jsonl").parent
    (block,) = (one for one in read_blocks(page) if one.heading.startswith("Two checkpoints of your own"))
    lines = docs_commands.commands(block.code)
    assert len(block.code.replace("\\\n", "").splitlines()) <= 5
    more = {"riftk eval": ["--data-dir", str(data), "--limit", "4", "--max-tokens", "48"]}
    for _, words in lines:
        if words[0] == "riftk":
            with monkeypatch.context() as patch:
                docs_commands.run(words, more, patch)
    report = (reader / "runs" / "a-and-b" / "report.md").read_text()
    assert "mathif" in report
    assert os.path.getsize("runs/a-and-b/report.html") > 10_000
