"""Tests run on one thread a process and never ask a hub: both must be said before torch is imported."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

os.environ["OMP_NUM_THREADS"] = "1"
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"

TEST_DATA = "RIFTK_TEST_DATA"


@pytest.fixture(scope="session")
def benchmark_file() -> Callable[[str], Path]:
    """`benchmark_file("mathif.jsonl")` is a published benchmark's file; without it the test is skipped."""
    folder = Path(os.environ.get(TEST_DATA) or Path(__file__).parents[2] / "shared" / "data")

    def find(name: str) -> Path:
        if not (folder / name).is_file():
            pytest.skip(f"there is no {name}; set {TEST_DATA} to the folder with the published files")
        return folder / name

    return find
