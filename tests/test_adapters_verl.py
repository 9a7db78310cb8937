"""verl's own code with riftk's reward: configuration, loading, reward managers, the data set.

Run in an environment with verl (0.6 to 0.9 are known): `python -m pytest -m verl tests`.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from adapter_cases import BROKEN, CLOSED, CUT_OFF, GOOD, QUESTION, ROW
from docs_blocks import blocks

from riftk.paths import resolve

pytestmark = pytest.mark.verl
pytest.importorskip("verl", reason="verl is not installed; see README, Tests")
CURRENT = importlib.util.find_spec("verl.experimental.reward_loop") is not None
current = pytest.mark.skipif(not CURRENT, reason="this verl has the previous layout")
previous = pytest.mark.skipif(CURRENT, reason="this verl has the current layout")
TEXTS = (GOOD, CLOSED, BROKEN, CUT_OFF)
EARNED = [1.0, 1.0, 0.0, 0.0]


def documented(place: int, *more: str) -> Any:
    """verl's configuration under the overrides that the documentation shows, and more of them."""
    import verl
    from hydra import compose, initialize_config_dir

    command = blocks("docs/rewards/verl.md", "bash")[place]
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    words = subprocess.check_output(
        ["bash", "-c", f"printf '%s\\n' {command}"], env={**os.environ, "PATH": path}, text=True
    ).split()
    assert words[:3] == ["python", "-m", "verl.trainer.main_ppo"]
    folder = Path(verl.__file__).parent / "trainer" / "config"
    with initialize_config_dir(str(folder), version_base=None):
        return compose("ppo_trainer", [*words[3:], *more])


@pytest.fixture(scope="module")
def tokenizer():
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(resolve("pkg://riftk.tiny/weights/base"))


@pytest.fixture(scope="module")
def batch(tokenizer):
    """Rollouts as verl's workers hand them to a reward manager."""
    import numpy as np
    import torch
    from verl import DataProto

    prompt = tokenizer(QUESTION)["input_ids"]
    answers = [tokenizer(text, add_special_tokens=False)["input_ids"] for text in TEXTS]
    longest = max(map(len, answers))
    pad = tokenizer.pad_token_id
    responses = torch.tensor([one + [pad] * (longest - len(one)) for one in answers])
    prompts = torch.tensor([prompt] * len(TEXTS))
    mask = torch.tensor([[1] * (len(prompt) + len(one)) + [0] * (longest - len(one)) for one in answers])
    extra = {name: ROW[name] for name in ("constraints", "answer_type")}
    return DataProto.from_dict(
        tensors={"prompts": prompts, "responses": responses, "attention_mask": mask},
        non_tensors={
            "data_source": np.array(["gsm8k"] * len(TEXTS), dtype=object),
            "reward_model": np.array([{"style": "rule", "ground_truth": "8"}] * len(TEXTS), dtype=object),
            "extra_info": np.array([dict(extra) for _ in TEXTS], dtype=object),
        },
    )


def test_the_tokenizer_keeps_the_texts(tokenizer):
    for text in TEXTS:
        ids = tokenizer(text, add_special_tokens=False)["input_ids"]
        assert tokenizer.decode(ids, skip_special_tokens=True) == text


@current
@pytest.mark.parametrize("manager", ["naive", "dapo", "gdpo"])
def test_the_reward_loop_pays_by_the_documented_configuration(manager, batch):
    from verl.experimental.reward_loop import RewardLoopWorker

    model = resolve("pkg://riftk.tiny/weights/base")
    config = documented(0, f"actor_rollout_ref.model.path={model}", f"reward.reward_manager.name={manager}")
    assert config.reward.custom_reward_function.reward_kwargs.think == "prefilled"
    worker = RewardLoopWorker(config)
    found = worker.loop.run_until_complete(worker.compute_score_batch(batch))
    assert [one["reward_score"] for one in found] == [
        1.0,
        1.0,
        0.5,
        0.0,
    ]  # formula=bonus in the documentation
    assert {frozenset(one["reward_extra_info"]) for one in found} == {
        frozenset(found[0]["reward_extra_info"])
    }
    assert [one["reward_extra_info"]["acc"] for one in found] == [1.0, 1.0, 1.0, 0.0]


@current
def test_the_file_is_loaded_by_its_path_from_anywhere(tmp_path, monkeypatch):
    from verl.utils.import_utils import load_extern_object

    monkeypatch.chdir(tmp_path)
    path = importlib.util.find_spec("riftk.rewards.verl").origin
    for where in (path, f"file://{path}", "pkg://riftk.rewards.verl", "pkg://riftk/rewards/verl"):
        reward = load_extern_object(module_path=where, object_name="compute_score")
        assert reward("gsm8k", GOOD, "8", ROW)["score"] == 1.0


@current
def test_parquet_of_riftk_rows_is_read_by_the_data_set_and_paid_for(tmp_path, tokenizer):
    pytest.importorskip("pyarrow")
    from omegaconf import OmegaConf
    from verl.utils.dataset.rl_dataset import RLHFDataset

    from riftk.data_synth.row_files import RowsConfig, write_rows
    from riftk.rewards.verl import compute_score

    out = tmp_path / "rows.parquet"
    problems = "riftk.tiny.problems:training_problems"
    write_rows(RowsConfig(problems, 8, "reasonif", answer_type="number", plain_share=0.0), out, "verl")
    config = OmegaConf.create({"cache_dir": str(tmp_path), "max_prompt_length": 4096})
    rows = [RLHFDataset([str(out)], tokenizer, config)[place] for place in range(8)]
    for row in rows:
        truth, extra = row["reward_model"]["ground_truth"], row["extra_info"]
        found = compute_score(row["data_source"], f"It is \\boxed{{{truth}}}.", truth, extra, think="none")
        assert (found["acc"], found["has_reasoning"]) == (1.0, 1.0)
        assert extra["question"]


@previous
@pytest.mark.parametrize(("manager", "name"), [("naive", "compute_score"), ("batch", "compute_scores")])
def test_former_managers_pay_by_the_documented_configuration(manager, name, batch, tokenizer):
    from verl.trainer.ppo.reward import load_reward_manager

    more = [f"custom_reward_function.name={name}", f"reward_model.reward_manager={manager}"]
    config = documented(1, *more)
    paid = load_reward_manager(config, tokenizer, num_examine=0)(batch, return_dict=True)
    assert paid["reward_tensor"].sum(dim=1).tolist() == EARNED
    assert {len(values) for values in paid["reward_extra_info"].values()} == {len(TEXTS)}
    assert paid["reward_extra_info"]["acc"] == [1.0, 1.0, 1.0, 0.0]


def test_expressions_are_parsed_beside_the_antlr_that_hydra_pins():
    from riftk.grading.engine import compare

    assert compare("robust", "(x+1)^2", "x^2+2x+1")
    assert not compare("robust", "(x+1)^2", "x^2+3x+1")
