"""`report.html` in a real browser, opened from the file as a reader does (Chromium, driven by playwright)."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from report_runs import ITEMS, after, before, make_run
from scripted import COMMA, benchmark, row, says

from riftk.report import write_comparison, write_report

sync_api = pytest.importorskip("playwright.sync_api", reason="pip install playwright")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium; apt-get install chromium"),
]
HOSTILE = "</script><script>window.pwned = 1</script><img src=x onerror='window.pwned = 1'>, 𝕏 <b>bold</b>, z"


def script(item: str) -> Any:
    """As of the other tests, with one trace that attacks the page."""
    return says(HOSTILE, "9") if item == "c3" else after(item)


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Path:
    items = benchmark(plain=40, instructed=40)
    hostile = replace(row("c3", (COMMA, "reasoning")), prompt=({"role": "user", "content": HOSTILE},))
    items = replace(items, rows=tuple(hostile if one.item_id == "c3" else one for one in items.rows))
    run = make_run(tmp_path_factory.mktemp("run"), {"before": before, "after": script}, items)
    write_report(run)
    return run


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def page(chromium, run) -> Iterator[Any]:
    yield from opened(chromium, run / "report.html")


def opened(chromium: Any, file: Path, **options: Any) -> Iterator[Any]:
    """A page of its own; afterwards: no error, no message, and nothing but the file was asked for."""
    context = chromium.new_context(viewport={"width": 1300, "height": 800}, **options)
    page = context.new_page()
    said, asked = [], []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(file.as_uri())
    page.wait_for_selector("html[data-ready]", state="attached")
    yield page
    context.close()
    assert said == []
    assert [url for url in asked if not url.startswith((file.as_uri(), "data:,"))] == []


def found(page: Any) -> int:
    return int(page.inner_text("#found").split()[0])


def chosen(page: Any) -> str:
    return page.inner_text("#detail h2")


def test_the_report_is_read_first_and_the_traces_are_a_click_away(page):
    assert page.is_visible("article table")
    assert page.is_visible("figure svg")
    assert not page.is_visible("#list")
    page.click("text=Read the traces")
    page.wait_for_selector("#list")  # the page is told of its new address a little later
    assert found(page) == 120
    assert page.url.endswith("#traces/small/p0/0")
    page.click("nav >> text=Report")
    page.wait_for_selector("article table")


def test_only_the_rows_that_can_be_seen_exist(page):
    page.keyboard.press("r")
    page.wait_for_selector(".row")
    assert page.locator(".row").count() < 30
    page.evaluate("document.getElementById('list').scrollTop = 1e9")
    page.wait_for_selector("#row-119")
    assert page.locator(".row").count() < 30
    page.click("#row-119")
    assert chosen(page) == "r39"


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({"#constraint": "punctuation:no_comma (reasoning)"}, 40),
        ({"#constraint": "none"}, 40),
        ({"#constraint": "punctuation:no_comma (reasoning)", "#following": "broken"}, 2),
        ({"#answer": "wrong"}, 1),
        ({"#state": "cut off"}, 1),
        ({"#change": "following regressed"}, 1),
        ({"#change": "following improved"}, 38),
        ({"#change": "answer improved"}, 1),
        ({"#change": "regressed: either"}, 2),
    ],
)
def test_filters_leave_what_fits(page, filters, expected):
    page.keyboard.press("r")
    for name, label in filters.items():
        page.select_option(name, label=label)
    assert found(page) == expected
    page.keyboard.press("Escape")
    page.keyboard.press("x")
    assert found(page) == 120


def test_search_looks_into_every_text_and_shows_where(page):
    page.keyboard.press("/")
    page.keyboard.type("Make TEN")
    assert found(page) == 1
    assert chosen(page) == "p0"
    page.fill("#search", "window.pwned")
    assert found(page) == 1
    assert chosen(page) == "c3"
    assert page.locator("mark.hit").count() == 4
    page.fill("#search", "[(*")
    assert found(page) == 0
    assert "No sample fits" in page.inner_text("#list")


def test_the_keyboard_is_enough(page):
    page.keyboard.press("r")
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("k")
    assert chosen(page) == "p1"
    page.keyboard.press("f")
    assert page.evaluate("document.activeElement.tagName") == "SELECT"
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    assert page.is_visible("#help")
    page.keyboard.press("j")
    assert chosen(page) == "p1"
    page.keyboard.press("Escape")
    assert not page.is_visible("#help")
    page.focus("#list")
    page.keyboard.press("ArrowDown")
    assert chosen(page) == "p2"
    assert page.get_attribute("#list", "aria-activedescendant") == page.get_attribute(
        ".row[aria-selected=true]", "id"
    )


def test_verdicts_mark_the_offending_places(page, run):
    page.goto((run / "report.html").as_uri() + "#traces/small/c0/0")
    page.wait_for_selector("#detail h2")
    assert chosen(page) == "c0"
    first, second = page.locator(".side").all()
    assert first.locator("mark").count() == 0
    assert [mark.inner_text() for mark in second.locator("mark").all()] == [",", ","]
    assert "followed" in first.locator(".verdicts").inner_text()
    assert re.search(r"broken: 2 commas", second.locator(".verdicts").inner_text())
    second.locator(".verdicts li").first.hover()
    assert second.locator("mark.lit").count() == 2


def test_an_attack_is_a_text_like_any_other(page, run):
    page.goto((run / "report.html").as_uri() + "#traces/small/c3/0")
    page.wait_for_selector("#detail h2")
    side = page.locator(".side").last
    assert side.locator(".text").first.inner_text() == HOSTILE
    assert page.locator("details.prompt .text").inner_text() == HOSTILE
    assert [mark.inner_text() for mark in side.locator("mark").all()] == [",", ","]  # behind a wide character
    assert page.evaluate("window.pwned") is None
    assert page.locator("#detail img, #detail b").count() == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_light_and_dark_follow_the_reader_and_can_be_changed(chromium, run, scheme):
    for page in opened(chromium, run / "report.html", color_scheme=scheme):
        paper = "getComputedStyle(document.body).backgroundColor"
        light, dark = "rgb(255, 255, 255)", "rgb(20, 23, 26)"
        assert page.evaluate(paper) == (light if scheme == "light" else dark)
        page.keyboard.press("t")
        assert page.evaluate(paper) == (dark if scheme == "light" else light)


def test_two_of_several_evaluations_are_shown_at_a_time(chromium, run, tmp_path):
    other = make_run(tmp_path / "other", {"after": before}, ITEMS)
    named = [run / "eval" / "before", run, other]
    report = write_comparison(named, tmp_path / "out", side_by_side=True)
    for page in opened(chromium, report.with_name("report.html")):
        page.keyboard.press("r")
        page.wait_for_selector(".side")
        headings = page.locator(".side h3")
        assert headings.all_inner_texts() == [f"{run.name} (before)", "other"]
        page.select_option("#left", label=run.name)
        assert headings.all_inner_texts() == [run.name, "other"]
