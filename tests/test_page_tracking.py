"""Trackers are told the figures of evaluations, through the integrations that `report_to` names."""

from __future__ import annotations

import json

import pytest
from report_runs import make_run
from transformers import TrainerCallback, TrainingArguments
from transformers.integrations import integration_utils

from riftk.report import write_report
from riftk.report.tracking import track, tracked


class Recorder(TrainerCallback):
    """A tracker that notes what it is told."""

    told: list = []  # noqa: RUF012 - of all instances, as each log makes one

    def on_log(self, args, state, control, logs=None, **kwargs):
        Recorder.told.append((args.run_name, state.global_step, logs))


@pytest.fixture
def results(tmp_path):
    run = make_run(tmp_path / "run")
    write_report(run)
    return json.loads((run / "eval" / "after" / "results.json").read_text())


def arguments(folder, *trackers: str) -> TrainingArguments:
    return TrainingArguments(str(folder), report_to=list(trackers), run_name="mine", use_cpu=True, bf16=False)


def test_the_figures_are_those_that_a_report_opens_with(results):
    figures = tracked(results, "after")
    assert figures["eval_after/small/reasoning_ifs/robust"] == 0.75
    assert figures["eval_after/small/reasoning_ifs/reasonif"] == 0.75
    assert {name.split("/")[2] for name in figures} == {
        "reasoning_ifs", "accuracy", "reasoning_joint", "reasoning_tokens", "truncated"
    }  # fmt: skip


def test_every_tracker_that_is_named_is_told(results, tmp_path, monkeypatch):
    monkeypatch.setitem(integration_utils.INTEGRATION_TO_CALLBACK, "recorder", Recorder)
    monkeypatch.setattr(Recorder, "told", [])
    figures = tracked(results, "dev")
    track(arguments(tmp_path), 50, figures)
    assert Recorder.told == []
    track(arguments(tmp_path, "recorder"), 50, figures)
    assert Recorder.told == [("mine", 50, figures)]


def test_tensorboard_shows_them(results, tmp_path, monkeypatch):
    pytest.importorskip("tensorboard", reason="pip install tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    monkeypatch.setenv("TENSORBOARD_LOGGING_DIR", str(tmp_path / "board"))
    training = arguments(tmp_path, "tensorboard")
    track(training, 0, tracked(results, "before"))
    track(training, 15, tracked(results, "after"))
    events = EventAccumulator(str(tmp_path / "board"))
    events.Reload()
    [event] = events.Scalars("eval/after/small/reasoning_ifs/robust")
    assert (event.step, event.value) == (15, 0.75)
    assert events.Scalars("eval/before/small/truncated/none")[0].step == 0
