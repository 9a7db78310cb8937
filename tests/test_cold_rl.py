"""The cold-RL recipe, run for real: `accelerate launch`, the embedded model, a few steps of GRPO."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from launching import ENVIRONMENT, MISTAKES, RECIPES, launch, mistake, write_bad_models

from riftk.paths import resolve
from riftk.rewards import CorrectnessReward, LengthReward
from riftk.rl import Finished, RewardArguments, check_rewards, fitting, make_rewards, read_rl_rows
from riftk.training import parse_recipe

RECIPE = RECIPES / "cold_rl.py"
CONFIGS = RECIPES / "configs" / "cold_rl"
SMALL = [
    "--num_rows", "64", "--eval_limit", "12", "--batch_size", "32", "--per_device_train_batch_size", "8",
    "--num_generations", "4", "--preflight_prompts", "8", "--logging_steps", "1", "--rollout_steps", "1",
]  # fmt: skip


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("rl")
    arguments = ["--eval_steps", "1", "--dev_limit", "6", "--save_total_limit", "1", "--max_steps", "3"]
    finished = launch(RECIPE, *SMALL, *arguments, "--output_dir", "run", cwd=folder)
    assert finished.returncode == 0, finished.stderr[-3000:]
    assert "rollouts at step 3" in finished.stdout
    return folder / "run"


def test_the_run_folder_holds_rollouts_samples_the_curve_and_a_report(run):
    for name in ("config.yaml", "final/model.safetensors", "results.json", "report.md", "alarms.jsonl"):
        assert (run / name).exists(), name
    rollouts = [json.loads(line) for line in (run / "rollouts.jsonl").open()]
    assert {rollout["step"] for rollout in rollouts} == {1, 2, 3}
    samples = [json.loads(line) for line in (run / "preflight" / "samples.jsonl").open()]
    assert len(samples) == 8 * 4
    assert {sample["earned"] for sample in samples} == {0.0, 1.0}
    steps = sorted(path.name for path in (run / "eval" / "dev").iterdir())
    assert steps == ["step-000000", "step-000001", "step-000002", "step-000003"]
    assert "on development items" in (run / "report.md").read_text()


def test_the_chosen_checkpoint_is_the_result(run):
    chosen = json.loads((run / "results.json").read_text())["way"]["chosen"]
    kept = run / "checkpoints" / f"checkpoint-{chosen}" / "model.safetensors"
    assert kept.read_bytes() == (run / "final" / "model.safetensors").read_bytes()
    assert not list((run / "final").glob("optimizer*"))


def test_the_log_holds_what_alarms_need(run):
    newest = max(
        (run / "checkpoints").glob("checkpoint-*"), key=lambda folder: int(folder.name.split("-")[1])
    )
    history = json.loads((newest / "trainer_state.json").read_text())["log_history"]
    for key in ("watch/trace_words", "frac_reward_zero_std", "kl", "entropy"):
        assert any(entry.get(key) is not None for entry in history), key


@pytest.mark.slow
def test_gated_reward_starts_from_another_runs_folder(run):
    finished = launch(
        RECIPE, *SMALL, "--config", str(CONFIGS / "tiny-gated.yaml"), "--max_steps", "2", "--stages", "train",
        "--model_name_or_path", "run", "--output_dir", "gated", "--skip_preflight", cwd=run.parent,
    )  # fmt: skip
    assert finished.returncode == 0, finished.stderr[-3000:]
    rollouts = [json.loads(line) for line in (run.parent / "gated" / "rollouts.jsonl").open()]
    assert any(rollout["verdicts"] for rollout in rollouts)
    assert (run.parent / "gated" / "final" / "model.safetensors").exists()


def test_a_run_that_could_not_learn_stops_with_advice(tmp_path):
    finished = launch(
        RECIPE, *SMALL, "--max_steps", "2", "--stages", "train", "--max_completion_length", "20",
        "--output_dir", "run", cwd=tmp_path,
    )  # fmt: skip
    assert finished.returncode != 0
    assert "32 of 32 completions are cut off at 20 tokens" in finished.stderr
    assert "raise max_completion_length" in finished.stderr
    assert not (tmp_path / "run" / "checkpoints").exists()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        *MISTAKES,
        (["--temperature", "0"], "rollouts: temperature must be above 0"),
        (["--top_p", "1.5"], "rollouts: top_p must be above 0 and at most 1"),
        (["--max_completion_length", "0"], "rollouts: max_tokens must be at least 1"),
        (["--rewards", "corectness"], "corectness"),
        (["--config", "rewards.yaml"], "rewards takes"),
        (["--rewards", "correctness", "correctness"], "each once"),
        (["--rewards", "correctness", "format", "--reward_weights", "1.0"], "1 numbers for 2 rewards"),
        (["--rewards", "instruction_response"], "applies to no row"),
        (["--rewards", "length"], "'target_length' is missing"),
        (["--loss_type", "grop"], "loss_type takes"),
        (["--rewards", "gated", "--plain_share", "0.5", "--rules", "no_such_rules"], "no_such_rules"),
        (["--dataset", "no.jsonl"], "no.jsonl"),
        (["--dataset", "empty.jsonl"], "empty.jsonl holds no rows"),
        (["--dataset", "constraint.jsonl"], "punctuation:no_commas"),
        (["--problems", "no_such.module:problems"], "no_such.module:problems"),
        (["--model_name_or_path", "unfinished"], "holds no trained model"),
        (["--num_generations", "3"], "num_generations"),
        (
            ["--max_prompt_length", "5", "--stages", "train"],
            "all 4000 prompts are longer than max_prompt_length",
        ),
    ],
)
def test_bad_input_is_refused_before_anything_starts(arguments, sentence, tmp_path, monkeypatch, capsys):
    (tmp_path / "rewards.yaml").write_text("model_name_or_path: m\nbf16: false\nrewards: [helpfulness]\n")
    (tmp_path / "empty.jsonl").touch()
    prompt = [{"role": "user", "content": "How many?"}]
    row = {"item_id": "a", "prompt": prompt, "constraints": '[{"id": "punctuation:no_commas"}]'}
    (tmp_path / "constraint.jsonl").write_text(json.dumps(row) + "\n")
    (tmp_path / "unfinished").mkdir()
    (tmp_path / "unfinished" / "config.yaml").write_text("seed: 0\n")
    write_bad_models(tmp_path)
    assert sentence in mistake("cold_rl", arguments, tmp_path, monkeypatch, capsys)


@pytest.mark.parametrize("config", sorted(CONFIGS.glob("*.yaml")), ids=lambda config: config.stem)
def test_every_configuration_can_be_read_and_states_its_loss(config):
    from riftk.recipes.cold_rl import ColdRlArguments, RlConfig

    arguments = ["--config", str(config), "--bf16", "false", "--use_cpu", "true", "--use_vllm", "false"]
    if (
        config.stem in ("tiny-gated", "tiny-sft-rl")
        or "instruction" in config.stem
        or "sft-rl" in config.stem
    ):
        arguments += ["--model_name_or_path", "pkg://riftk.tiny/weights/base"]  # starts from another run
    args, training, _ = parse_recipe(arguments, ColdRlArguments, RlConfig, config)
    assert (training.loss_type, training.epsilon, training.beta, training.entropy_coef) == (
        "dapo", 0.2, 0.001, 0.001
    )  # fmt: skip
    assert training.use_bias_correction_kl is False
    assert (training.num_generations, training.temperature) == (8, 1.0)
    assert args.rewards


def options(**changes) -> RewardArguments:
    problems = {"problems": "riftk.tiny.problems:training_problems", "answer_type": "number", "num_rows": 40}
    return RewardArguments(**{**problems, **changes})


def test_rows_carry_the_instruction_in_the_prompt_and_the_constraint_beside_it():
    rows = read_rl_rows(options(plain_share=0.25, response_share=0.25), seed=0)
    asked = [json.loads(row["constraints"]) for row in rows]
    targets = [specs[0]["target"] if specs else None for specs in asked]
    assert [targets.count(target) for target in (None, "response", "reasoning")] == [10, 10, 20]
    for row, target in zip(rows, targets, strict=True):
        assert (f"Format your {target}" in row["prompt"][0]["content"]) == (target is not None)
        assert row["answer"]
    assert read_rl_rows(options(plain_share=0.25, response_share=0.25), seed=0) == rows


def test_mathifs_message_and_l1s_lengths():
    rows = read_rl_rows(options(prompt="mathif", plain_share=1.0, target_lengths=[100, 200]), seed=0)
    contents = [row["prompt"][0]["content"] for row in rows]
    assert all("within \\boxed{}." in content for content in contents)
    assert {row["target_length"] for row in rows} == {100, 200}
    assert all(f"Think for {row['target_length']} tokens." in row["prompt"][0]["content"] for row in rows)


def test_a_row_file_keeps_the_lengths_that_rewards_take(tmp_path):
    row = {
        "item_id": "a",
        "prompt": [{"role": "user", "content": "5 + 3?"}],
        "answer": "8",
        "target_length": 64,
    }
    (tmp_path / "rows.jsonl").write_text(json.dumps(row) + "\n")
    rows = read_rl_rows(options(dataset=str(tmp_path / "rows.jsonl"), rewards=["length"]), seed=0)
    assert rows[0]["target_length"] == 64
    training = SimpleNamespace(reward_weights=None, loss_type="dapo")
    check_rewards(options(rewards=["length"]), training, rows)


def test_rewards_by_name_have_names_of_their_own():
    names = ["correctness", "format", "instruction_reasoning", "instruction_response", "gated", "length"]
    made = make_rewards(options(rewards=names), "tags", {7})
    assert len({reward.__name__ for reward in made}) == len(names)
    assert isinstance(
        make_rewards(options(rewards=["length"], pay_overlong=True), "tags", {7})[0], LengthReward
    )


def test_what_is_cut_off_earns_nothing():
    reward = Finished(CorrectnessReward(think="tags"), frozenset({7}))
    text = [{"role": "assistant", "content": "<think>five</think>\\boxed{8}"}]
    earned = reward(completion_ids=[[1, 7], [1, 2], []], completions=[text] * 3, answer=["8"] * 3)
    assert earned == [1.0, 0.0, 0.0]
    assert reward(completion_ids=[[1, 2]], completions=[text], answer=[""]) == [None]


def test_long_prompts_are_left_out():
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(resolve("pkg://riftk.tiny/weights/base"))
    rows = [{"prompt": [{"role": "user", "content": text}]} for text in ("short", "long " * 50)]
    assert fitting(tokenizer, rows, 40) == rows[:1]
    with pytest.raises(ValueError, match="all 2 prompts are longer than max_prompt_length"):
        fitting(tokenizer, rows, 2)


# What each rank is given to reward, and which metrics its rewards log.
WATCHED = """
import json, os, runpy, sys
from trl import GRPOTrainer

calculate, log = GRPOTrainer._calculate_rewards, GRPOTrainer._log_metric

def calculate_and_note(self, inputs, *rest):
    names = set()
    self._log_metric = lambda name, value: (names.add(name), log(self, name, value))
    found = calculate(self, inputs, *rest)
    note = {
        "rows": list(self.train_dataset["item_id"]), "items": [row["item_id"] for row in inputs],
        "keys": sorted(names), "rewards": found.tolist(),
    }
    with open(f"rank-{os.environ['RANK']}.jsonl", "a") as file:
        file.write(json.dumps(note) + "\\n")
    return found

GRPOTrainer._calculate_rewards = calculate_and_note
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


@pytest.mark.slow
def test_two_ranks_share_the_rows_and_log_the_same_metrics(tmp_path):
    (tmp_path / "watched.py").write_text(WATCHED)
    steps, batch, group = 3, 8, 4
    finished = subprocess.run(
        [
            sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2",
            "watched.py", str(RECIPE), *SMALL, "--rewards", "gated", "format",
            "--plain_share", "0.25", "--max_steps", "3", "--stages", "train", "--output_dir", "run",
        ],
        cwd=tmp_path, env={**os.environ, **ENVIRONMENT}, capture_output=True, text=True, timeout=1500,
    )  # fmt: skip
    assert finished.returncode == 0, finished.stderr[-3000:]
    assert "world size 2 (MULTI_CPU)" in finished.stdout
    ranks = [[json.loads(line) for line in (tmp_path / f"rank-{rank}.jsonl").open()] for rank in range(2)]
    assert [len(notes) for notes in ranks] == [steps, steps]
    assert ranks[0][0]["rows"] == ranks[1][0]["rows"]
    drawn = [item for notes in ranks for note in notes for item in note["items"]]
    assert len(drawn) == 2 * steps * batch
    assert {drawn.count(item) for item in drawn} == {group}
    for one, other in zip(*ranks, strict=True):
        own = [[key for key in note["keys"] if not key.startswith("watch/")] for note in (one, other)]
        assert own[0] == own[1]
        assert len(own[0]) > 20
        assert one["rewards"] == other["rewards"]  # gathered: both see those of all completions
    assert (tmp_path / "run" / "final" / "model.safetensors").exists()
