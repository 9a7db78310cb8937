"""docs/rewards/: what readers copy runs, in a real training by trl where it can."""

from __future__ import annotations

import asyncio
import json
import os
import pickle
import re
import shlex
import subprocess
import sys
from dataclasses import fields
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from adapter_cases import BROKEN, CLOSED, CUT_OFF, GOOD, QUESTION, ROW
from docs_blocks import DOCS, blocks

from riftk.paths import resolve
from riftk.rewards import GatedReward, Score, Scoring
from riftk.rewards.formulas import FORMULAS
from riftk.rewards.guards import GUARDS

REWARDS, TRL, OTHERS = (f"docs/rewards/{name}.md" for name in ("index", "trl", "others"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A working directory in which the documented commands of `riftk rows` were run."""
    from typer.testing import CliRunner

    from riftk.cli import app
    from riftk.tiny.problems import training_problems

    folder = tmp_path_factory.mktemp("docs")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        with open("my_problems.jsonl", "w") as file:
            for problem in training_problems(200, seed=1):
                row = {"question": problem["question"], "answer": str(problem["answer"])}
                file.write(json.dumps(row) + "\n")
        for command in blocks(REWARDS, "bash", "Data")[0].splitlines():
            program, *arguments = shlex.split(command)
            assert program == "riftk"
            done = CliRunner().invoke(app, arguments)
            assert done.exit_code == 0, done.output
    return folder


def train(folder: Any, block: int, namespace: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> list[dict]:
    """Run the documented lines in a script that has a model and a configuration; what trl logged."""
    monkeypatch.chdir(folder)
    rewards, trainer = blocks(TRL, "python")[0], blocks(TRL, "python")[block]
    exec(rewards + trainer, namespace)
    return namespace["trainer"].state.log_history


CPU = {
    "max_steps": 2,
    "per_device_train_batch_size": 4,
    "num_generations": 4,
    "max_completion_length": 96,
    "logging_steps": 1,
    "use_cpu": True,
    "bf16": False,
    "gradient_checkpointing": False,
    "save_strategy": "no",
    "seed": 1,
}


@pytest.mark.parametrize(("place", "name"), [(1, "grpo"), (2, "rloo")])
def test_the_lines_for_trl_train_two_steps(place, name, folder, monkeypatch):
    from trl import GRPOConfig, RLOOConfig

    config = {"grpo": GRPOConfig, "rloo": RLOOConfig}[name](f"runs/{name}", **CPU)
    model = str(resolve("pkg://riftk.tiny/weights/base"))
    history = train(folder, place, {"model": model, f"{name}_config": config}, monkeypatch)
    steps = [entry for entry in history if "reward" in entry]
    assert len(steps) == 2
    for entry in steps:
        for kind in ("gated", "format"):
            assert any(re.fullmatch(rf"rewards/{kind}_[^/]*/mean", key) for key in entry), kind
        assert any(key.endswith("/guard/vacuous") for key in entry)


@pytest.mark.slow
def test_the_line_for_trls_command_line_trains_two_steps(folder):
    command = shlex.split(blocks(TRL, "bash")[0].replace("\\\n", " "))
    assert command[:3] == ["RIFTK_THINK=tags", "trl", "grpo"]
    (folder / "my_rows").mkdir()
    (folder / "my_rows" / "train.jsonl").write_bytes((folder / "rows.jsonl").read_bytes())
    command[command.index("--model_name_or_path") + 1] = str(resolve("pkg://riftk.tiny/weights/base"))
    for name, value in CPU.items():
        command += [f"--{name}", str(value)]
    done = subprocess.run(
        [sys.executable, "-m", "trl.scripts.grpo", *command[3:]],
        cwd=folder, env={**os.environ, "RIFTK_THINK": "tags"}, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    assert "rewards/gated_both_binary_both_tags_product_guarded/mean" in done.stdout
    assert "rewards/format_tags_0.1/mean" in done.stdout


def test_async_grpo_scores_a_group_with_pickled_rewards():
    """The scoring of trl's rollout process, which otherwise needs a vLLM server beside it."""
    worker = pytest.importorskip("trl.experimental.async_grpo.async_rollout_worker")
    loop = worker._AsyncRolloutLoop.__new__(worker._AsyncRolloutLoop)
    loop.reward_funcs = pickle.loads(pickle.dumps([GatedReward(think="prefilled")]))
    loop.reward_func_names = [worker.get_callable_name(one) for one in loop.reward_funcs]
    loop._env_reward_types = []
    texts = [CLOSED, BROKEN, CUT_OFF]
    sequence = worker.TrainingSequence.__new__(worker.TrainingSequence)
    for name in ("input_ids", "completion_mask", "old_log_probs"):
        setattr(sequence, name, [1])
    group = worker.RolloutGroup(
        prompts=[[{"role": "user", "content": QUESTION}]] * 3,
        reward_kwargs={name: [value] * 3 for name, value in ROW.items()},
        completions=[[{"role": "assistant", "content": text}] for text in texts],
        completions_ids=[[1, 2, 3]] * 3,
        completions_sequences=[[sequence]] * 3,
        tool_call_counts=[0] * 3,
        tool_failure_counts=[0] * 3,
        model_version=0,
        group_id=0,
        env_rewards=[None] * 3,
        rollout_rewards=[None] * 3,
    )
    samples = asyncio.run(loop._score_group(group))
    assert [sample.metrics["reward"] for sample in samples] == [1.0, 0.0, 0.0]


# Trainers that cannot be installed here: their published interfaces, as far as the examples touch them.


def modules(monkeypatch: pytest.MonkeyPatch, **contents: dict[str, Any]) -> None:
    for name, attributes in contents.items():
        name = name.replace("__", ".")
        module = ModuleType(name)
        vars(module).update(attributes)
        monkeypatch.setitem(sys.modules, name, module)


def example(place: int) -> dict[str, Any]:
    namespace: dict[str, Any] = {"__name__": "example"}
    exec(compile(blocks(OTHERS, "python")[place], OTHERS, "exec", dont_inherit=True), namespace)
    return namespace


class Record(SimpleNamespace):
    """Takes any fields."""


def test_the_example_for_open_instruct(monkeypatch):
    class VerifierFunction:
        def __init__(self, name: str, weight: float = 1.0, verifier_config: Any = None) -> None:
            self.name = name

    contents = {"VerificationResult": Record, "VerifierFunction": VerifierFunction}
    modules(monkeypatch, open_instruct={}, open_instruct__ground_truth_utils=contents)
    verifier = example(0)["RiftkVerifier"]()
    label = json.dumps(ROW)
    assert [verifier([], text, label, QUESTION).score for text in (CLOSED, BROKEN, CUT_OFF)] == [
        1.0,
        0.0,
        0.0,
    ]


def test_the_example_for_nemo_gym(monkeypatch):
    class Request(Record):
        def model_dump(self, include: Any = None) -> dict[str, Any]:
            return {name: value for name, value in vars(self).items() if not include or name in include}

    names = {"BaseVerifyRequest": Request, "BaseVerifyResponse": Record, "SimpleResourcesServer": object}
    modules(monkeypatch, nemo_gym={}, nemo_gym__base_resources_server=names)
    found = example(1)
    for text, earned in ((GOOD, 1.0), (CUT_OFF, 0.0)):
        part = Record(type="output_text", text=text)
        output = [Record(type="reasoning"), Record(type="message", content=[part])]
        body = found["RowRequest"](response=Record(output=output), **ROW)
        assert asyncio.run(found["RiftkServer"]().verify(body)).reward == earned


def test_the_example_for_rllm(monkeypatch):
    types = {"EvalOutput": Record, "Signal": lambda name, value: (name, value)}
    modules(monkeypatch, rllm={"evaluator": lambda function: function}, rllm__types=types)
    evaluator = example(2)["riftk_evaluator"]
    for text, correct in ((CLOSED, True), (CUT_OFF, False)):
        episode = Record(trajectories=[Record(steps=[Record(model_response=text)])])
        found = evaluator(Record(metadata=ROW), episode)
        assert (found.reward, found.is_correct) == (float(correct), correct)
        assert dict(found.signals).keys() == Score().to_floats().keys()


def test_the_page_names_every_setting_formula_and_reward():
    import riftk.rewards

    page = (DOCS / "rewards" / "index.md").read_text()
    for field in fields(Scoring):
        assert f"RIFTK_{field.name.upper()}" in page
    for formula in FORMULAS:
        assert f"`{formula}`" in page
    for name in riftk.rewards.__all__:
        assert name.endswith("Reward") <= (f"| `{name}` |" in page), name
    assert len(GUARDS) == 14  # the page describes them in words: a new one belongs there
