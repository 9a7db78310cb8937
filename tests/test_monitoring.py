"""What a run shows while it runs: alarms from the log, rollouts with verdicts, the rule for checkpoints."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest

from riftk.monitoring import PUBLISHED, ROBUST, TRACE, RolloutMonitor, find_alarms
from riftk.report.curves import collect_way, plot_way
from riftk.report.markdown import _way
from riftk.rewards import CorrectnessReward, GatedReward
from riftk.selection import choose, point_folder, read_curve

NO_COMMA = json.dumps([{"id": "punctuation:no_comma", "args": {}, "target": "reasoning"}])


def history(**series: list[float]) -> list[dict[str, float]]:
    keys = {
        "words": TRACE, "robust": ROBUST, "published": PUBLISHED, "alike": "frac_reward_zero_std",
        "difference": "sampling/sampling_logp_difference/mean",
    }  # fmt: skip
    length = len(next(iter(series.values())))
    return [
        {"step": 10 * (place + 1), **{keys[name]: values[place] for name, values in series.items()}}
        for place in range(length)
    ]


@pytest.mark.parametrize(
    ("series", "expected"),
    [
        ({"words": [50, 52, 48, 50, 47, 49, 51, 46]}, []),
        ({"words": [50, 50, 50, 40, 20, 10, 8]}, [("trace length", 60)]),
        (
            {"words": [50, 50, 50, 10, 8, 8, 60, 60, 60, 8, 8, 8]},
            [("trace length", 60), ("trace length", 120)],
        ),
        ({"robust": [0.5] * 6, "published": [0.6] * 6}, []),
        ({"robust": [0.5] * 6, "published": [0.5] * 3 + [0.7] * 3}, [("rules part", 60)]),
        ({"robust": [0.9] * 6, "published": [0.8] * 6}, []),
        ({"alike": [1.0, 1.0, 0.9, 1.0, 1.0, 1.0, 1.0]}, [("groups alike", 60)]),
        ({"alike": [0.95] * 8}, []),
        ({"difference": [0.02, 0.02, 0.03, 0.02, 0.04, 0.05, 0.05]}, []),  # bfloat16
        ({"difference": [0.002, 0.036, 0.039, 0.039, 0.043]}, [("stale weights", 30)]),  # they never arrive
        ({"difference": [0.001, 0.002, 0.002, 0.004, 0.005]}, []),
        ({"difference": [0.4, 0.5, 0.4]}, [("stale weights", 30)]),  # an adapter merged wrongly
    ],
)
def test_alarms_sound_where_something_begins(series, expected):
    assert [(alarm.name, alarm.step) for alarm in find_alarms(history(**series))] == expected


def test_a_value_that_is_missing_sounds_nothing():
    log = history(words=[50, 50, 50, 50, 50, 50])
    log.insert(3, {"step": 31, TRACE: None})
    log.append({"step": 70, "train_runtime": 12.0})
    assert find_alarms(log) == []


@pytest.fixture
def batch():
    texts = [
        "<think>five plus three is eight</think>\\boxed{8}",
        "<think>five, plus three</think>\\boxed{8}",
        "<think>on",
    ]
    logged: dict[str, float] = {}
    return SimpleNamespace(
        logged=logged,
        columns={
            "prompts": [[{"role": "user", "content": "5 + 3?"}]] * 3,
            "completions": [[{"role": "assistant", "content": text}] for text in texts],
            "completion_ids": [[1, 2]] * 3,
            "constraints": [NO_COMMA] * 3,
            "answer": ["8"] * 3,
            "answer_type": ["number"] * 3,
            "log_metric": logged.__setitem__,
        },
    )


def test_watched_rewards_pay_the_same_and_the_table_says_why(batch, tmp_path, capsys):
    rewards = [CorrectnessReward(think="tags"), GatedReward(think="tags", guards=False)]
    monitor = RolloutMonitor(tmp_path, "tags", every=5)
    watched = monitor.watch(rewards)
    assert [reward.__name__ for reward in watched] == [reward.__name__ for reward in rewards]
    for reward, watcher in zip(rewards, watched, strict=True):
        assert watcher(**batch.columns) == reward(**{**batch.columns, "log_metric": None})
    assert batch.logged[ROBUST] == pytest.approx(1 / 3)
    assert batch.logged[PUBLISHED] == pytest.approx(2 / 3)  # published rules read a cut-off trace as nothing
    state = SimpleNamespace(global_step=4, is_world_process_zero=True)
    monitor.on_step_end(None, state, None)
    assert not (tmp_path / "rollouts.jsonl").exists()
    state.global_step = 5
    monitor.on_step_end(None, state, None)
    rollouts = [json.loads(line) for line in (tmp_path / "rollouts.jsonl").open()]
    assert [rollout["status"] for rollout in rollouts] == ["closed", "closed", "unclosed"]
    assert [rollout["correct"] for rollout in rollouts] == [1.0, 1.0, 0.0]
    assert [rollout["verdicts"][0]["followed"] for rollout in rollouts] == [True, False, False]
    printed = capsys.readouterr().out
    assert "rollouts at step 5" in printed
    assert "comma" in printed


def test_rows_are_looked_at_by_the_rules_that_pay(batch, tmp_path):
    words = {"id": "length_constraint_checkers:number_words", "args": {"num_words": 2}, "target": "response"}
    batch.columns |= {"constraints": [json.dumps([words])] * 3, "rules": ["reasonif"] * 3}
    RolloutMonitor(tmp_path, "tags").watch([CorrectnessReward(think="tags")])[0](**batch.columns)
    # MathIF's rules, which take responses otherwise, cannot judge a word limit without its relation.
    assert PUBLISHED in batch.logged


def test_text_that_looks_like_markup_is_shown_as_text(batch, tmp_path, capsys):
    batch.columns["completions"][0] = "<think>[bold]a[/bold]</think>[/red] 8"
    monitor = RolloutMonitor(tmp_path, "tags", every=1)
    monitor.watch([CorrectnessReward(think="tags")])[0](**batch.columns)
    monitor.on_step_end(None, SimpleNamespace(global_step=1, is_world_process_zero=True), None)
    assert "[bold]" in capsys.readouterr().out


@pytest.mark.parametrize("broken", ["not json", '[{"id": "no:such"}]', None])
def test_rows_that_cannot_be_read_stop_nothing(batch, tmp_path, broken):
    batch.columns["constraints"] = [broken] * 3
    monitor = RolloutMonitor(tmp_path, "tags", every=1)
    monitor.watch([CorrectnessReward(think="tags")])[0](**batch.columns)
    monitor.on_step_end(None, SimpleNamespace(global_step=1, is_world_process_zero=True), None)


def test_alarms_are_said_once_and_kept(tmp_path, capsys):
    monitor = RolloutMonitor(tmp_path, "tags")
    log = history(words=[50, 50, 50, 10, 10, 10, 10])
    for end in range(1, len(log) + 1):
        state = SimpleNamespace(log_history=log[:end], is_world_process_zero=True)
        monitor.on_log(None, state, None)
    assert capsys.readouterr().out.count("ALARM") == 1
    kept = [json.loads(line) for line in (tmp_path / "alarms.jsonl").open()]
    assert [(alarm["name"], alarm["step"]) for alarm in kept] == [("trace length", 60)]


def estimates(accuracy: float, joint: float | None = None) -> dict:
    values = {"accuracy,robust": accuracy} | ({} if joint is None else {"reasoning_joint,robust": joint})
    return {key: {"value": value, "low": None, "high": None, "n": 4} for key, value in values.items()}


@pytest.fixture
def run(tmp_path):
    points = {0: (0.9, 0.1), 10: (0.6, 0.2), 20: (0.7, 0.1), 30: (0.7, 0.2)}
    for step, (accuracy, joint) in points.items():
        folder = point_folder(tmp_path, step)
        folder.mkdir(parents=True)
        (folder / "results.json").write_text(json.dumps({"estimates": {"tiny": estimates(accuracy, joint)}}))
    return tmp_path


@pytest.mark.parametrize(("by", "step"), [("accuracy", 20), ("joint", 10), ("last", 30)])
def test_the_best_trained_checkpoint_is_taken_and_of_equals_the_earlier(run, by, step):
    assert choose(read_curve(run), by).step == step


def test_nothing_is_taken_where_nothing_was_evaluated(tmp_path):
    assert choose(read_curve(tmp_path), "accuracy") is None
    assert collect_way(tmp_path) is None


def test_joint_is_accuracy_where_nothing_was_asked(tmp_path):
    folder = point_folder(tmp_path, 5)
    folder.mkdir(parents=True)
    (folder / "results.json").write_text(json.dumps({"estimates": {"math": estimates(0.4)}}))
    assert choose(read_curve(tmp_path), "joint").score("joint") == 0.4


def test_the_report_shows_the_way(run):
    (run / "alarms.jsonl").write_text('{"name": "groups alike", "step": 30, "message": "no <b>gradient"}\n')
    (run / "config.yaml").write_text("select_by: joint\n")
    way = collect_way(run)
    plot_way(way, "tiny", run / "way.png")
    text = "\n\n".join(_way(way, {"tiny": "way.png"}))
    assert "Step 10 was taken: the checkpoint with the highest joint" in text
    assert "| 30 | 70.0 % | 20.0 % |" in text
    assert "groups alike: no &lt;b&gt;gradient" in text
    assert (run / "way.png").stat().st_size > 1000
