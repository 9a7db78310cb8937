"""Reports: what they compare, what they conclude, and that every figure comes from stored samples."""

from __future__ import annotations

import json
import random
import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from markdown_it import MarkdownIt
from scripted import COMMA, ScriptedEngine, benchmark, row, says

from riftk.benchmarks import Benchmark
from riftk.engines import Generation, Sampling
from riftk.evaluation import evaluate
from riftk.report import compare, write_report
from riftk.report.comparison import conclusion
from riftk.report.markdown import fenced, inline, render
from riftk.rows import read_jsonl, write_jsonl
from riftk.statistics import mcnemar, paired_difference, proportion

SAMPLING = Sampling(1.0, 0.95, 64, seed=3)
ITEMS = benchmark(plain=12, instructed=12)
KEEPS = says()
BREAKS = says("four, and five, make nine or so", "9")
WRONG = says("four and five make ten or so", "10")


def before(item: str) -> str:
    """Follows in three of twelve, is wrong on two plain items."""
    number = int(item[1:])
    if item[0] == "c":
        return KEEPS if number < 3 else BREAKS
    return WRONG if item in ("p0", "p1") else KEEPS


def after(item: str) -> str | Generation:
    """Follows in ten of twelve (one of which it had right before breaks), is wrong on one, cut off on one."""
    number = int(item[1:])
    if item[0] == "c":
        return BREAKS if number in (0, 11) else KEEPS
    if item == "p5":
        return Generation("<think>\nfour and five", "length", 5, 64)
    return WRONG if item == "p2" else KEEPS


def make_run(folder: Path, items: Benchmark = ITEMS, sampling: Sampling = SAMPLING, **scripts) -> Path:
    for when, script in (scripts or {"before": before, "after": after}).items():
        evaluate(ScriptedEngine(script, f"model-{when}"), items, folder / "eval" / when, sampling)
    return folder


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    folder = make_run(tmp_path_factory.mktemp("run"))
    write_report(folder)
    return folder


@pytest.fixture
def run(made, tmp_path) -> Path:
    return shutil.copytree(made, tmp_path / "run")


def test_it_opens_with_five_lines_and_one_sentence(made):
    text = (made / "report.md").read_text()
    opening = text.split("![")[0].splitlines()
    lines = [line for line in opening if line.startswith("| **")]
    assert [re.search(r"\*\*(\w+)\*\*", line)[1] for line in lines] == [
        "IFS", "Accuracy", "Joint", "Length", "Truncated"
    ]  # fmt: skip
    gap = paired_difference([1] * 3 + [0] * 9, [0] + [1] * 10 + [0])
    interval = f"[{100 * gap.low:+.1f}, {100 * gap.high:+.1f}]"
    assert lines[0] == (
        "| **IFS** (reasoning, robust rules) | 25.0 % [8.9, 53.2] | 83.3 % [55.2, 95.3] "
        f"| +58.3 {interval} | 12 |"
    )
    assert lines[4].split("|")[3].strip() == "2.8 % [0.5, 14.2]"
    sentences = [line for line in opening if line.startswith("**")]
    assert len(sentences) == 1
    following = f"reasoning IFS (+58.3 points {interval})"
    assert sentences[0].startswith(
        f"**Better: {following} rose; no change is shown in accuracy (+0.0 points ["
    )


def test_the_report_is_a_function_of_results_json(made):
    report = json.loads((made / "results.json").read_text())
    assert render(report) == (made / "report.md").read_text()
    assert report["before"]["estimates"]["small"]["reasoning_ifs,robust"] == proportion(3, 12).to_dict()
    assert report["after"] == json.loads((made / "eval" / "after" / "results.json").read_text())


def test_a_changed_sample_changes_the_report(run):
    text, path = (run / "report.md").read_text(), run / "eval" / "after" / "samples_small.jsonl"
    samples = list(read_jsonl(path))
    changed = next(sample for sample in samples if sample["item_id"] == "c11")
    for verdict in (verdicts[0] for verdicts in changed["verdicts"].values()):
        assert verdict["followed"] is False
        verdict["followed"] = True
    write_jsonl(path, samples)
    write_report(run)
    assert "| 25.0 % [8.9, 53.2] | 91.7 % [64.6, 98.5] |" in (run / "report.md").read_text()
    assert "91.7 %" not in text
    results = json.loads((run / "results.json").read_text())
    assert results["after"]["results"]["small"]["reasoning_ifs,robust"] == pytest.approx(11 / 12)


def test_pairs_are_made_by_item_and_not_by_line(run):
    first = compare(run / "eval" / "before", run / "eval" / "after")
    path = run / "eval" / "after" / "samples_small.jsonl"
    write_jsonl(path, random.Random(0).sample(list(read_jsonl(path)), 36))
    assert compare(run / "eval" / "before", run / "eval" / "after") == first
    gap = first["small"]["reasoning_ifs,robust"]
    assert (gap["gained"], gap["lost"], gap["n"]) == (8, 1, 12)
    assert gap["p_value"] == pytest.approx(mcnemar(8, 1))
    expected = paired_difference([1] * 3 + [0] * 9, [0] + [1] * 10 + [0])
    assert {key: gap[key] for key in expected.to_dict()} == expected.to_dict()
    assert first["small"][f"reasoning_ifs/{COMMA},robust"]["p_holm"] == gap["p_value"]  # a table of one row
    assert first["small"]["accuracy,robust"]["value"] == 0
    assert first["small"]["completion_tokens,none"]["gained"] is None


def test_changed_items_and_outcomes_are_counted(made):
    text = (made / "report.md").read_text()
    [accuracy] = re.findall(r"^\| Accuracy, all items \|.*", text, re.MULTILINE)
    assert accuracy.endswith(f"| 36 | 2 / 2 | {mcnemar(2, 2):.3f} |")  # p0 and p1; p2 and the one cut off
    [comma] = re.findall(rf"^\| `{COMMA}` \|.*", text, re.MULTILINE)[-1:]
    assert comma.endswith(f"| 12 | 8 / 1 | {mcnemar(8, 1):.3f} (Holm) |")
    for outcome, first, second in (
        ("correct", 34, 34),
        ("wrong", 2, 1),
        ("truncated", 0, 1),
        ("errored", 0, 0),
    ):
        assert f"| answers: {outcome} | {first} | {second} |" in text


def test_what_did_not_answer_the_same_is_not_compared(tmp_path):
    make_run(tmp_path / "a")
    base = tmp_path / "a" / "eval" / "before"

    def refused(sentence: str, items: Benchmark = ITEMS, sampling: Sampling = SAMPLING) -> None:
        shutil.rmtree(tmp_path / "b", ignore_errors=True)
        make_run(tmp_path / "b", items, sampling, after=after)
        with pytest.raises(ValueError, match=sentence):
            compare(base, tmp_path / "b" / "eval" / "after")

    refused("differ in the number of items \\(36 and 35\\) of small", benchmark(plain=11, instructed=12))
    limited = replace(ITEMS, rows=(*ITEMS.rows[1:], row("p99")), details={"word_limits": "of another model"})
    refused("differ in the word limits \\(None and of another model\\) of small", limited)
    refused("the items or their constraints of small", replace(limited, details={}))
    refused("differ in the rules of small", replace(ITEMS, rules="robust"))
    refused("different benchmarks \\(small; other\\)", replace(ITEMS, name="other"))
    refused("max_tokens 64 and 128", sampling=replace(SAMPLING, max_tokens=128))
    refused("temperature 1.0 and 0", sampling=replace(SAMPLING, temperature=0))
    make_run(tmp_path / "c", sampling=replace(SAMPLING, seed=9), after=after)
    compare(base, tmp_path / "c" / "eval" / "after")  # another seed is another draw of the same thing
    stripped = tmp_path / "c" / "eval" / "after" / "config.json"
    stripped.write_text(stripped.read_text().replace('"checker_version": "', '"checker_version": "old '))
    shutil.copytree(base, tmp_path / "c" / "eval" / "before")
    with pytest.raises(ValueError, match="different checkers"):
        write_report(tmp_path / "c")


def test_incomplete_evaluations_are_not_reported(run, tmp_path):
    path = run / "eval" / "after" / "samples_small.jsonl"
    write_jsonl(path, list(read_jsonl(path))[:-1])
    with pytest.raises(ValueError, match="35 of 36 samples"):
        write_report(run)
    with pytest.raises(FileNotFoundError, match=r"holds no config\.json"):
        write_report(tmp_path / "nothing")


def difference(value: float, half: float) -> dict:
    return {"value": value, "low": value - half, "high": value + half}


@pytest.mark.parametrize(
    ("following", "accuracy", "plain", "said"),
    [
        (50, 10, 20, "Better: {following}, {accuracy} and {plain} rose."),
        (50, -10, 0, "A trade: {following} rose; {accuracy} fell; no change is shown in {plain}."),
        (-50, -10, -10, "Worse: {following}, {accuracy} and {plain} fell."),
        (5, 4, 0, "Cannot tell: no change is shown in {following}, {accuracy} and {plain}."),
    ],
)
def test_the_sentence_says_what_rose_what_fell_and_what_is_open(following, accuracy, plain, said):
    gaps = {
        "reasoning_ifs,robust": difference(following / 100, 0.1),
        "accuracy,robust": difference(accuracy / 100, 0.05),
        "accuracy_instructed,robust": difference(accuracy / 100, 0.05),
        "accuracy_plain,robust": difference(plain / 100, 0.05),
    }

    def told(name: str, value: float, half: float) -> str:
        return f"{name} ({value:+.1f} points [{value - half:+.1f}, {value + half:+.1f}])"

    assert conclusion(gaps) == said.format(
        following=told("reasoning IFS", following, 10),
        accuracy=told("accuracy", accuracy, 5),
        plain=told("accuracy without an instruction", plain, 5),
    )


@pytest.mark.parametrize(
    ("following", "accuracy", "verdict"),
    [
        (0.5, 0.0, "Better"),
        (0.0, 0.5, "Better"),
        (0.5, -0.15, "A trade"),
        (0.5, -0.05, "Better"),  # a loss that is not shown
        (-0.2, 0.2, "A trade"),
        (0.0, -0.2, "Worse"),
        (-0.2, 0.0, "Worse"),
        (0.05, -0.05, "Cannot tell"),
    ],
)
def test_the_verdict_is_that_of_the_intervals(following, accuracy, verdict):
    gaps = {"reasoning_ifs,robust": difference(following, 0.1), "accuracy,robust": difference(accuracy, 0.1)}
    assert conclusion(gaps).startswith(f"{verdict}: ")


def test_following_is_that_of_the_response_where_nothing_is_asked_of_the_reasoning():
    assert conclusion({"response_ifs,robust": difference(0.2, 0.1)}).startswith("Better: response IFS (+20.0")
    assert conclusion({"accuracy,robust": difference(-0.2, 0.1)}).startswith("Worse: accuracy (-20.0 points")
    iffr = {"follow_rate,robust": difference(0.2, 0.1), "standard_accuracy,robust": difference(-0.2, 0.1)}
    assert conclusion(iffr).startswith("A trade: following of non-standard instructions (+20.0 points")
    assert conclusion({}).startswith("Cannot tell")


def test_the_sentence_names_the_other_target_where_it_changed():
    gaps = {"reasoning_ifs,robust": difference(0.8, 0.1), "accuracy,robust": difference(0.0, 0.02)}
    assert "response" not in conclusion({**gaps, "response_ifs,robust": difference(-0.1, 0.2)})
    said = conclusion({**gaps, "response_ifs,robust": difference(-0.4, 0.1)})
    assert said.startswith("A trade: reasoning IFS (+80.0")
    assert "; response IFS (-40.0 points [-50.0, -30.0]) fell" in said


def test_examples_show_what_got_better_what_got_worse_and_what_stayed_wrong(made):
    report = json.loads((made / "results.json").read_text())
    kinds = {example["kind"]: example for example in report["examples"]["small"]}
    assert list(kinds) == ["got better", "got worse", "not followed"]
    assert kinds["got worse"]["item_id"] == "c0"
    assert (
        kinds["got better"]["before"]["verdicts"]["robust"][0]["reason"] in (made / "report.md").read_text()
    )


def test_a_single_evaluation_has_a_report_too(tmp_path):
    only = make_run(tmp_path / "run", after=after)
    text = write_report(only).read_text()
    assert "| measured |" in text
    assert "before" not in text.replace("before it is judged", "")
    assert "after" not in text.replace("model-after", "").replace("cut off after", "")
    assert "| **IFS** (reasoning, robust rules) | 83.3 % [55.2, 95.3] | 12 |" in text
    assert "difference |" not in text
    assert "gained" not in text

    folder = tmp_path / "run" / "eval" / "after"
    results = (folder / "results.json").read_text()
    assert write_report(folder) == folder / "report.md"
    assert (folder / "results.json").read_text() == results
    assert (folder / "report_small.png").exists()
    first = write_report(make_run(tmp_path / "first", before=before)).read_text()
    assert "25.0 % [8.9, 53.2]" in first


def test_the_picture_is_drawn_where_there_is_something_to_follow(made, tmp_path):
    assert (made / "report_small.png").read_bytes().startswith(b"\x89PNG")
    assert "](report_small.png)" in (made / "report.md").read_text()
    plain = Benchmark("plain", tuple(row(f"p{n}") for n in range(4)))
    text = write_report(make_run(tmp_path, plain, before=before, after=after)).read_text()
    assert not list(tmp_path.glob("*.png"))
    assert "![" not in text
    assert "**Accuracy**" in text


def test_two_benchmarks_stand_in_one_report(tmp_path):
    plain = Benchmark("plain", tuple(row(f"p{n}") for n in range(4)))
    for when, script in (("before", before), ("after", after)):
        evaluate(ScriptedEngine(script), [ITEMS, plain], tmp_path / "eval" / when, SAMPLING)
    text = write_report(tmp_path).read_text()
    assert text.index("## small") < text.index("## plain") < text.index("![")
    assert "## Counts (plain)" in text
    assert len(re.findall(r"^\*\*(Better|Worse|A trade|Cannot tell)", text, re.MULTILINE)) == 2


HOSTILE = (
    "<script>alert(1)</script> ```` # not a heading\n\n# nor this\n| a | b |\n|---|---|\n``````\n"
    "![x](http://example.org/x.png) </details> <img src=x onerror=alert(1)> [l](javascript:alert(1)),"
)


def test_what_a_model_wrote_takes_no_effect(tmp_path):
    asked = row("<b>x</b>|y", (COMMA, "reasoning"))
    items = Benchmark("small", (replace(asked, prompt=({"role": "user", "content": HOSTILE},)),), "reasonif")
    script = {
        when: lambda item: f"<think>{HOSTILE}</think>{HOSTILE}<answer>{HOSTILE}</answer>"
        for when in ("after",)
    }
    text = write_report(make_run(tmp_path, items, **script)).read_text()
    html = MarkdownIt("commonmark", {"html": True}).enable("table").render(text)
    for harmful in ("<script", "<img src=x", "<b>x", "</details", 'href="javascript', 'src="http'):
        assert harmful not in html
    assert "&lt;script&gt;alert(1)" in html
    honest = write_report(make_run(tmp_path / "honest", after=after)).read_text()
    headings = len(re.findall("^#+ ", honest, re.MULTILINE)) - 2  # two more examples there
    headings -= 3  # and a table about the response, under two rulebooks, and one by the length of traces
    headings -= 1  # and one of the forms that nothing asked for
    assert len(re.findall("<h[1-6]>", html)) == headings


@pytest.mark.parametrize("text", ["`", "a ``` b", "`````", "", "\n", "~~~\n```text"])
def test_a_fence_is_never_closed_by_its_text(text):
    tokens = MarkdownIt().parse(f"{fenced(text)}\n\nafter")
    assert [token.type for token in tokens] == ["fence", "paragraph_open", "inline", "paragraph_close"]
    assert tokens[0].content == text + "\n"


@pytest.mark.parametrize("text", ["*a* _b_ `c` [d](e) <f> & g | h # i ~~j~~", "1. a\n2. b", "back\\slash"])
def test_an_inline_text_reads_as_it_is(text):
    [_, token, _] = MarkdownIt("commonmark").parse("x " + inline(text))
    assert {child.type for child in token.children} <= {"text", "text_special"}
    assert "".join(child.content for child in token.children) == "x " + re.sub(r"\s+", " ", text)
