"""Evaluation: run benchmarks on an engine, score every completion at once, summarise what is stored.

preview      what would be asked, and what it may cost
evaluate     generate, score and store; started again, it goes on where it stopped
score_sample one completion -> one record of `samples_<task>.jsonl`
rescore      stored raw text -> the same records with fresh verdicts
summarise    records -> estimates with intervals, and counts
refresh      a stored evaluation -> its `results.json`, made again
"""

from __future__ import annotations

from riftk.evaluation.preview import Preview, preview
from riftk.evaluation.runs import TokensSpent, check_errors, evaluate, read_results, refresh, sample_files
from riftk.evaluation.scoring import rescore, score_sample
from riftk.evaluation.summary import Tally, observations, summarise

__all__ = [
    "Preview",
    "Tally",
    "TokensSpent",
    "check_errors",
    "evaluate",
    "observations",
    "preview",
    "read_results",
    "refresh",
    "rescore",
    "sample_files",
    "score_sample",
    "summarise",
]
