"""Evaluation: run benchmarks on an engine, score every completion at once, summarise what is stored.

preview        what would be asked, and what it may cost
evaluate       generate, score and store; started again, it goes on where it stopped
score_sample   one completion -> one record of `samples_<task>.jsonl`
score_stored   outputs that are there already -> an evaluation folder
rescore        stored raw text -> the same records with fresh verdicts
summarise      records -> estimates with intervals, and counts
refresh        a stored evaluation -> its `results.json`, made again
overview       `results.json` -> a few lines of text
make_probe     stored samples -> a benchmark that asks them again behind changed traces
measure_limits records without instructions -> ReasonIF's word limits for their model
"""

from __future__ import annotations

from riftk.evaluation.calibration import limits_record, measure_limits
from riftk.evaluation.overview import overview
from riftk.evaluation.preview import Preview, preview
from riftk.evaluation.probing import Probe, check_that_traces_arrived, make_probe
from riftk.evaluation.runs import TokensSpent, check_errors, evaluate, read_results, refresh, sample_files
from riftk.evaluation.scoring import rescore, score_sample
from riftk.evaluation.stored import score_stored
from riftk.evaluation.summary import Tally, family, observations, summarise

__all__ = [
    "Preview",
    "Probe",
    "Tally",
    "TokensSpent",
    "check_errors",
    "check_that_traces_arrived",
    "evaluate",
    "family",
    "limits_record",
    "make_probe",
    "measure_limits",
    "observations",
    "overview",
    "preview",
    "read_results",
    "refresh",
    "rescore",
    "sample_files",
    "score_sample",
    "score_stored",
    "summarise",
]
