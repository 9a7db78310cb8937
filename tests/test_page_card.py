"""The card of the trained model, as the hub's own library reads it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from huggingface_hub import EvalResultEntry, ModelCard
from huggingface_hub.repocard_data import model_index_to_eval_results
from report_runs import ITEMS, before, make_evaluation, make_run

from riftk.report import write_report
from riftk.rows import read_jsonl


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    run = make_run(tmp_path_factory.mktemp("runs") / "mine")
    write_report(run)
    return run


def test_the_hub_reads_figures_base_and_data(made):
    card = ModelCard.load(made / "final" / "README.md")
    assert card.data.base_model == "org/base"
    assert card.data.datasets == ["org/problems"]
    assert card.data.library_name == "transformers"
    assert {"riftk", "rif"} <= set(card.data.tags)
    index = yaml.safe_load(card.content.split("---")[1])["model-index"]
    name, results = model_index_to_eval_results(index)
    assert name == "mine"
    found = {(one.metric_type, one.metric_name.rpartition(" ")[2]): one for one in results}
    following = found["reasoning_ifs", "robust"]
    assert following.metric_value == 75.0
    assert "n 4" in following.metric_args["how"]
    assert "temperature 1.0" in following.metric_args["how"]
    assert ("reasoning_ifs", "reasonif") in found
    assert found["accuracy", "robust"].metric_value == pytest.approx(91.67)


def test_the_card_says_what_changed_how_and_what_it_means_for_monitoring(made):
    text = (made / "final" / "README.md").read_text()
    report = (made / "report.md").read_text()
    assert next(line for line in report.splitlines() if line.startswith("**")) in text
    assert "bears on how far that trace can be trusted for monitoring" in text
    assert "follows 75.0 % of the instructions about its trace in small (25.0 % before)" in text
    assert "recipe `rif`" in text
    assert "- `seed`: 0" in text
    assert "15" in next(line for line in text.splitlines() if "optimizer steps" in line)
    assert "## How it was measured" in text
    assert not (made / "final" / ".eval_results").exists()  # the benchmark is no data set of the hub


def test_figures_of_a_benchmark_from_the_hub_are_written_as_the_hub_reads_them(tmp_path):
    run = make_run(tmp_path / "run", items=replace(ITEMS, details={"dataset": "org/bench@abc123"}))
    write_report(run)
    entries = yaml.safe_load((run / "final" / ".eval_results" / "small.yaml").read_text())
    first = entries[0]
    assert first["dataset"] == {"id": "org/bench", "task_id": "reasoning_ifs", "revision": "abc123"}
    assert first["value"] == 75.0
    assert "rules reasonif" in first["notes"]
    known = {"dataset", "value", "date", "source", "notes", "verifyToken"}
    assert all(set(entry) <= known and EvalResultEntry("a/b", "c", entry["value"]) for entry in entries)
    card = yaml.safe_load((run / "final" / "README.md").read_text().split("---")[1])
    assert card["model-index"][0]["results"][0]["dataset"]["type"] == "org/bench"


def test_a_card_of_ones_own_stays(tmp_path, capsys):
    run = make_run(tmp_path / "run")
    card = run / "final" / "README.md"
    card.write_text("---\ntags: [generated_from_trainer]\n---\nby trl")
    write_report(run)
    assert "Written by riftk" in card.read_text()
    card.write_text("# mine")
    write_report(run)
    assert card.read_text() == "# mine"
    assert "stays as it is" in capsys.readouterr().err


def test_local_models_and_files_are_no_hub_ids(tmp_path):
    data = tmp_path / "rows.jsonl"
    data.write_text("{}\n")
    run = make_run(tmp_path / "run", dataset=str(data), model_name_or_path="pkg://riftk.tiny/weights/base")
    (run / "final" / "adapter_config.json").write_text("{}")
    write_report(run)
    card = ModelCard.load(run / "final" / "README.md")
    assert card.data.base_model is None
    assert card.data.datasets is None
    assert card.data.library_name == "peft"
    assert "pkg://riftk.tiny/weights/base" in card.text


def test_a_local_folder_that_is_gone_is_no_hub_id(tmp_path):
    run = make_run(tmp_path / "run", model_name_or_path="./gone")
    write_report(run)
    assert ModelCard.load(run / "final" / "README.md").data.base_model is None


def test_a_model_that_was_not_evaluated_has_no_card(tmp_path):
    run = make_run(tmp_path / "run", {"before": before})
    write_report(run)
    assert not (run / "final" / "README.md").exists()


def test_an_evaluation_alone_has_no_card(tmp_path):
    folder = make_evaluation(tmp_path / "eval")
    write_report(folder)
    assert not (folder / "final").exists()
    assert list(read_jsonl(folder / "samples_small.jsonl"))
