"""The site: it builds without a warning, asks the network for nothing, and its links hold on any host."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from docs_blocks import ROOT, pages

LINK = re.compile(r"\]\(([^)\s]+)\)")
FENCED = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
LOADED = re.compile(r"<(?:script|link|img|iframe)\b[^>]*?(?:src|href)=[\"']?(https?://[^\"' >]+)")


def anchors(page: Path) -> set[str]:
    """Names of a page's headings, as hosts of repositories and python-markdown both make them."""
    text = FENCED.sub("", page.read_text(encoding="utf-8"))
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", pages())
def test_links_lead_to_files_and_headings_that_exist(page):
    here = ROOT / page
    for link in LINK.findall(FENCED.sub("", here.read_text(encoding="utf-8"))):
        if "://" in link:
            continue
        path, _, anchor = link.partition("#")
        target = (here.parent / path).resolve() if path else here
        assert target.is_file(), f"{page}: {link}"
        assert not anchor or anchor in anchors(target), f"{page}: {link}"
        if page.startswith("docs/"):  # the site has nothing else
            assert target.is_relative_to(ROOT / "docs"), f"{page}: {link}"


def test_every_page_is_named_in_the_navigation():
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:\n")[2]
    named = re.findall(r"[\w/]+\.md$", navigation, re.MULTILINE)
    assert sorted(f"docs/{name}" for name in named) == [page for page in pages() if page != "README.md"]


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    if not (find_spec("material") and find_spec("mkdocstrings")):
        pytest.skip("the site's generator is not installed: pip install -e '.[docs]'")
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)],
        cwd=ROOT, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"}, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    assert "WARNING" not in done.stderr
    return folder


def test_the_site_loads_nothing_from_elsewhere(site):
    found = {
        address
        for page in site.rglob("*.html")
        for address in LOADED.findall(page.read_text(encoding="utf-8"))
    }
    assert not found


def test_api_pages_hold_the_public_names(site):
    import riftk.constraints
    import riftk.data_synth
    import riftk.rewards

    for module in (riftk.constraints, riftk.rewards, riftk.data_synth):
        page = (site / "api" / f"{module.__name__.rpartition('.')[2]}.html").read_text(encoding="utf-8")
        names = [name for name in module.__all__ if callable(getattr(module, name))]
        assert [name for name in names if f'id="{module.__name__}.{name}"' not in page] == []
