"""Code blocks of a page of the documentation, so that tests run what readers copy."""

from __future__ import annotations

import re
from pathlib import Path

REWARDS = Path(__file__).parents[1] / "docs" / "rewards.md"


def blocks(heading: str, language: str) -> list[str]:
    """The fenced blocks of a language under a `## heading`, in order."""
    section = REWARDS.read_text().split(f"\n## {heading}\n")[1].split("\n## ")[0]
    return re.findall(rf"^```{language}\n(.*?)^```", section, re.MULTILINE | re.DOTALL)
