"""Files of a report: written whole or not at all, and read again for the page."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path


def replace_file(path: Path, text: str) -> None:
    """Write a text file; it appears only when it is complete. A lone surrogate, which UTF-8 has no bytes for,
    is written as its escape."""
    part = path.with_name(path.name + ".part")
    part.write_text(text, encoding="utf-8", errors="backslashreplace")
    part.replace(path)


def read_pictures(folder: Path, names: Iterable[str]) -> dict[str, str]:
    """The SVG beside each PNG of a folder, by the PNG's name."""
    return {name: (folder / name).with_suffix(".svg").read_text(encoding="utf-8") for name in names}
