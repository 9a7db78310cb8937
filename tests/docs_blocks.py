"""Code blocks of the documentation, so that tests run what readers copy.

The first line of a block may be a comment to its reader: `# needs …` where it cannot run on any machine, or
the name of the file that the lines belong to, `# my_rules.py`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
_FENCED = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)
_MARK = re.compile(r"\A# (?:(?P<needs>needs .+)|(?P<file>\w+\.py)\b.*)\n")


@dataclass(frozen=True)
class Block:
    """A fenced block: where it stands, what it needs, the file it belongs to ("": none), what is copied."""

    page: str
    place: int
    heading: str
    language: str
    needs: str
    file: str
    code: str

    def __str__(self) -> str:
        return f"{self.page}#{self.place}"


def pages() -> list[str]:
    """README and all pages of the site, as paths in the repository."""
    return ["README.md", *sorted(str(path.relative_to(ROOT)) for path in DOCS.rglob("*.md"))]


def read_blocks(page: str) -> Iterator[Block]:
    """The fenced blocks of a page, in order."""
    text = (ROOT / page).read_text(encoding="utf-8")
    for place, found in enumerate(_FENCED.finditer(text)):
        headings = re.findall(r"^## (.*)$", _FENCED.sub("", text[: found.start()]), re.MULTILINE)
        mark = _MARK.match(found[2])
        code = found[2][mark.end() :] if mark else found[2]
        heading = headings[-1] if headings else ""
        needs, file = (mark["needs"] or "", mark["file"] or "") if mark else ("", "")
        yield Block(page, place, heading, found[1], needs, file, code)


def blocks(page: str, language: str, heading: str | None = None) -> list[str]:
    """The code of a page's blocks in a language; under a `## heading` only, where one is given."""
    return [
        block.code
        for block in read_blocks(page)
        if block.language == language and heading in (None, block.heading)
    ]
