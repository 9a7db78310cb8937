"""Put the tables and pictures of comparisons into a page, between the marks that stand there for it.

    python docs/fill.py docs/lab.md runs/lab/compare.md

Pictures are copied to `images/` beside the page. What stood between the marks before is replaced.
"""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

BEGIN, END = "<!-- measured: begin -->", "<!-- measured: end -->"
# What reports beside the main one are about, by a part of their names; the name of a cell may follow it.
TITLES = {
    "_left_out": "What was trained, and what was asked",
    "_held_out": "Constraints that were left out of the training",
    "_probe": "What answers owe to the traces",
}
# Sections of a comparison that a page shows, by how their headings begin; the report itself has all of them.
SHOWN = (
    "In short",
    "Following, robust",
    "Accuracy, joint",
    "Differences from",
    "Following in the reasoning",
    "Answers that",
)
LONGEST = 40  # lines of differences that are not folded
# Sections in which a probe has nothing to say.
NOT_OF_A_PROBE = ("Accuracy, joint", "Differences from")
_PICTURE = re.compile(r"(!\[[^\]]*\]\()([^)]+)\)")


def fill(page: Path, *reports: Path) -> None:
    """Replace what is between the marks of `page`.

    Raises:
        ValueError: the page has no marks.
    """
    text = page.read_text(encoding="utf-8")
    if text.count(BEGIN) != 1 or text.count(END) != 1:
        raise ValueError(f"{page} needs one {BEGIN} and one {END}")
    before, after = text.split(BEGIN)[0], text.split(END)[1]
    shown = "\n\n".join(sections(report, page) for report in reports)
    page.write_text(f"{before}{BEGIN}\n\n{shown}\n\n{END}{after}", encoding="utf-8")


def sections(report: Path, page: Path) -> str:
    """The sections of a report that a page shows, under the report's title unless it is the main one; their
    pictures are copied to `images/` beside the page."""
    parts = re.split(r"^## ", report.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    title = next((_titled(report.stem, about) for about in TITLES if about in report.stem), "")
    level = "####" if title else "###"
    hidden = NOT_OF_A_PROBE if report.stem.endswith("_probe") else ()
    chosen = [part for part in parts if part.startswith(SHOWN) and not part.startswith(hidden)]
    shown = f"### {title}\n\n" if title else ""
    shown += "".join(_folded(part) if _is_long(part) else f"{level} {part}" for part in chosen)
    images = page.parent / "images"
    images.mkdir(exist_ok=True)
    for _, name in _PICTURE.findall(shown):
        shutil.copy(report.parent / name, images / f"{page.stem}_{name}")
    return _PICTURE.sub(rf"\1images/{page.stem}_\2)", shown).strip()


def _is_long(part: str) -> bool:
    return part.startswith("Differences from") and part.count("\n") > LONGEST


def _folded(part: str) -> str:
    """A section that opens on a click, on the repository's host and in the site."""
    heading, _, body = part.partition("\n")
    return f'<details markdown="1">\n<summary>{heading}</summary>\n\n{body.strip()}\n\n</details>\n\n'


def _titled(stem: str, about: str) -> str:
    cell = stem.partition(about)[2].lstrip("_")
    return TITLES[about] + (f": {cell}" if cell else "")


if __name__ == "__main__":
    fill(*map(Path, sys.argv[1:]))
