"""`report.html`: what it shows, that nothing in it takes effect, and that nothing is lost without a word."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import shutil
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from report_runs import ITEMS, make_evaluation, make_run
from scripted import CAPITAL, COMMA, row, says

from riftk.benchmarks import Benchmark
from riftk.report import Limits, write_report
from riftk.report.html import FOLDED, inert_json, render_page
from riftk.report.marks import merged, place, shorten, utf16
from riftk.report.traces import collect_traces
from riftk.rows import read_jsonl

HOSTILE = (
    "</script><script>alert(1)</script> <!-- <script> --> <img src=x onerror=alert(1)> &lt; \u2028 ]]>, "
    "``` </p><style>*{display:none}</style> ![x](http://example.org/x.png) <a href='javascript:alert(1)'>"
)


class Page(HTMLParser):
    """The tags of a page with their attributes, the text outside of scripts, and the scripts."""

    def __init__(self, text: str):
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[tuple[dict[str, str | None], str]] = []
        self.text = ""
        self._script: dict[str, str | None] | None = None
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag == "script":
            self._script = dict(attrs)
            self.scripts.append((self._script, ""))

    def handle_endtag(self, tag):
        if tag == "script":
            self._script = None

    def handle_data(self, data):
        if self._script is None:
            self.text += data
        else:
            attributes, before = self.scripts[-1]
            self.scripts[-1] = (attributes, before + data)

    def blocks(self) -> list:
        """The data in the page."""
        return [json.loads(text) for attributes, text in self.scripts if attributes.get("type")]


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    run = make_run(tmp_path_factory.mktemp("run"))
    write_report(run)
    return run


@pytest.fixture(scope="module")
def page(made) -> Page:
    return Page((made / "report.html").read_text())


def test_the_page_shows_the_figures_and_the_sentence_of_the_report(made, page):
    text = (made / "report.md").read_text()
    sentence = re.search(r"^\*\*(.+)\*\*$", text, re.MULTILINE)[1]
    shown = " ".join(page.text.split())
    assert sentence in shown
    for line in text.split("![")[0].splitlines():
        if line.startswith("| **"):
            for cell in filter(None, (cell.strip().replace("**", "") for cell in line.split("|"))):
                assert cell in shown
    headings = re.findall(r"^## (.+)$", text, re.MULTILINE)
    assert all(heading.replace("`", "") in shown for heading in headings if heading != "Examples")
    assert "Examples" not in shown


def test_the_pictures_stand_in_the_page(made, page):
    labels = [attributes["aria-label"] for tag, attributes in page.tags if tag == "svg"]
    assert labels == [
        "Following per constraint, and accuracy against following: small",
        "Correct and followed: small",
        "What the trainer logged",
    ]
    assert (made / "report_training.png").is_file()
    assert "learning rate" in page.text


def test_a_section_with_a_long_table_starts_folded_and_one_with_several_short_ones_does_not():
    def tables(*lengths: int) -> str:
        return "\n".join("|  | x |\n|---|--:|\n" + "| a | 1 % |\n" * (length - 1) for length in lengths)

    markdown = f"# Title\n\n## Short\n\n{tables(FOLDED, FOLDED)}\n## Long\n\n{tables(2, FOLDED + 1)}"
    shown = render_page("Title", markdown, {}, {"index": {"samples": [], "left_out": 0}, "parts": []})
    found = re.findall(r'<(\w+) class="section".*?<h2>(\w+)</h2>', shown)
    assert found == [("section", "Short"), ("details", "Long")]
    assert "1\N{NO-BREAK SPACE}%" in shown


def test_one_script_runs_and_nothing_is_asked_for(page):
    [(_, code)] = [script for script in page.scripts if not script[0].get("type")]
    digest = base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()
    [policy] = [a["content"] for tag, a in page.tags if a.get("http-equiv") == "Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert f"script-src 'sha256-{digest}'" in policy
    for tag, attributes in page.tags:
        assert not [name for name in attributes if name.startswith("on")], tag
        for name in ("src", "href", "xlink:href", "action", "srcset", "data"):
            assert (attributes.get(name) or "#").startswith(("#", "data:,")), (tag, attributes)


def test_every_sample_is_there_with_its_verdicts(made, page):
    index, *parts = page.blocks()
    assert index["evaluations"] == ["before", "after"]
    assert len(index["samples"]) == len(ITEMS.rows)
    samples = {sample["item"]: sample for sample in index["samples"]}
    assert samples["c0"]["sides"] == [
        {"followed": [True], "correct": True, "states": []},
        {"followed": [False], "correct": True, "states": []},
    ]
    assert samples["p1"]["sides"][1] == {
        "followed": [],
        "correct": False,
        "states": ["cut off", "never closed"],
    }
    texts = [text for part in parts for text in part]
    broken = texts[[sample["item"] for sample in index["samples"]].index("c0")]["sides"][1]
    [verdict] = broken["verdicts"]
    assert verdict["rules"] == ["reasonif", "robust"]
    assert [broken["reasoning"][start:end] for start, end in verdict["marks"]] == [",", ","]
    stored = next(
        s for s in read_jsonl(made / "eval" / "after" / "samples_small.jsonl") if s["item_id"] == "c0"
    )
    assert verdict["reason"] == stored["verdicts"]["robust"][0]["reason"]


def test_what_a_model_wrote_is_inert(tmp_path):
    asked = row(HOSTILE, (COMMA, "reasoning"), (CAPITAL, "response"))
    items = Benchmark("small", (replace(asked, prompt=({"role": "user", "content": HOSTILE},)),), "reasonif")
    hostile = f"<think>{HOSTILE}</think>{HOSTILE}<answer>{HOSTILE}</answer>"
    run = make_run(tmp_path / "run", {"before": lambda _: hostile, "after": lambda _: hostile}, items)
    page = Page((write_report(run).parent / "report.html").read_text())
    honest = Page((make_and_write(tmp_path / "honest") / "report.html").read_text())
    kinds = {tag for tag, _ in honest.tags}
    assert {tag for tag, _ in page.tags} <= kinds
    assert len([1 for attributes, _ in page.scripts if not attributes.get("type")]) == 1
    index, part = page.blocks()
    assert index["samples"][0]["item"] == HOSTILE
    assert part[0]["sides"][0]["reasoning"] == HOSTILE
    assert part[0]["prompt"][0]["content"] == HOSTILE


def make_and_write(folder: Path) -> Path:
    return write_report(make_run(folder)).parent


@given(
    st.recursive(st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=5)
)
def test_data_in_a_page_reads_back_and_holds_no_markup(value):
    text = inert_json(value)
    assert json.loads(text) == value
    assert not set("<>&\u2028\u2029") & set(text)


def test_a_lone_surrogate_reaches_the_page(tmp_path):
    run = make_run(tmp_path / "run", {"after": lambda item: says("a \udc80 b, c")})
    page = Page((write_report(run).parent / "report.html").read_text())
    assert page.blocks()[1][0]["sides"][0]["reasoning"] == "a \udc80 b, c"


def test_what_is_left_out_is_counted_and_evenly_spread(made, tmp_path):
    small = write_report(shutil.copytree(made, tmp_path / "run"), Limits(samples=4)).parent
    page = Page((small / "report.html").read_text())
    index = page.blocks()[0]
    assert [sample["item"] for sample in index["samples"]] == ["p0", "p3", "c2", "r1"]
    assert index["left_out"] == 8
    assert "4 samples, each with its verdicts; 8 more are left out" in " ".join(page.text.split())
    files = {"after": {"small": made / "eval" / "after" / "samples_small.jsonl"}}
    whole = collect_traces(files, Limits())
    characters = 0
    for text in whole["parts"][0]:
        side = text["sides"][0]
        characters += len(text["prompt"][0]["content"] + side["reasoning"] + side["response"])
    half = collect_traces(files, Limits(characters=characters // 2))
    assert half["index"]["left_out"] in (6, 7)
    assert collect_traces(files, Limits(text=9))["parts"][0][0]["sides"][0]["reasoning"] == (
        "four a\n[… 23 characters left out …]\nine"
    )


def test_evaluations_of_other_questions_stand_beside_nothing(tmp_path):
    first = make_evaluation(tmp_path / "a")
    other = row("p0", answer="8")
    items = Benchmark("small", (replace(other, prompt=({"role": "user", "content": "Else?"},)),), "reasonif")
    second = make_evaluation(tmp_path / "b", items=items)
    data = collect_traces(
        {n: {"small": f / "samples_small.jsonl"} for n, f in (("a", first), ("b", second))}, Limits()
    )
    of_p0 = [sample["sides"] for sample in data["index"]["samples"] if sample["item"] == "p0"]
    assert [[side is None for side in sides] for sides in of_p0] == [[False, True], [True, False]]


# ---------- marks


@pytest.mark.parametrize(
    ("judged", "shown", "spans", "expected"),
    [
        ("a, b", "a, b", [(1, 2)], [","]),
        ("\n a, b\n", "a, b", [(3, 4)], [","]),  # a published cut that strips less
        ("IT IS x", "IT IS <answer>x</answer>\n", [(6, 7)], ["x"]),
        ("IT is 7 now", "IT is <answer>7</answer> now", [(3, 11)], ["is ", "7", " now"]),
        ("a <answer>b", "a <answer>b", [(2, 10)], ["<answer>"]),  # an evaluator that left the tag in
        ("a", "a", [(0, 0)], []),
        ("", "", [], []),
    ],
)
def test_marks_lie_where_the_reader_sees_the_text(judged, shown, spans, expected):
    assert [shown[start:end] for start, end in place(spans, judged, shown)] == expected


def test_marks_of_a_text_that_is_not_shown_have_no_place():
    assert place([(0, 1)], "something else", "the text") is None


SPANS = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 60)).map(sorted).map(tuple))


@given(st.text(min_size=0, max_size=60), SPANS, st.integers(3, 30))
def test_a_shortened_text_is_marked_as_before(text, spans, longest):
    spans = merged((start, min(end, len(text))) for start, end in spans)
    short, left = shorten(text, longest, spans)
    if len(text) <= longest:
        assert (short, left) == (text, spans)
    marked = "".join(text[start:end] for start, end in spans)
    kept = "".join(short[start:end] for start, end in left)
    assert all(0 <= start < end <= len(short) for start, end in left)
    assert len(kept) <= len(marked)
    assert not any("left out" in short[start:end] for start, end in left if "left out" not in text)


@given(st.text(alphabet="a𝕏é😀\n", max_size=40), SPANS)
def test_offsets_are_those_of_javascript(text, spans):
    spans = merged((start, min(end, len(text))) for start, end in spans)
    encoded = text.encode("utf-16-le")
    for (start, end), (first, last) in zip(spans, utf16(spans, text), strict=True):
        assert encoded[2 * first : 2 * last].decode("utf-16-le") == text[start:end]
