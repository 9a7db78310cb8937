"""Hook of mkdocs: the package as it is installed, for the API pages.

`riftk.rewards` and others stand at the top of the repository (package-dir in pyproject.toml). mkdocstrings
reads sources without importing them, so it is shown a folder in which everything is where it is installed.
"""

from __future__ import annotations

import tempfile
import tomllib
from pathlib import Path
from typing import Any

from mkdocs.plugins import event_priority

ROOT = Path(__file__).parents[2]
_folder = tempfile.TemporaryDirectory(prefix="riftk-docs-")  # removed when the process ends


@event_priority(100)  # before mkdocstrings reads its options
def on_config(config: Any) -> Any:
    """Link the sources together and let mkdocstrings read them there."""
    package = Path(_folder.name, "riftk")
    if not package.exists():
        package.mkdir()
        for path in (ROOT / "riftk").iterdir():
            (package / path.name).symlink_to(path)
        settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
        for name, place in settings["tool"]["setuptools"]["package-dir"].items():
            if "." in name:
                (package / name.partition(".")[2]).symlink_to(ROOT / place)
    config.plugins["mkdocstrings"].config.handlers["python"]["paths"] = [_folder.name]
    return config
