"""The command line: verdicts with reasons, exit statuses, one sentence per mistake, examples that run."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

COMMA = "punctuation:no_comma"


def riftk(*arguments: str, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "riftk.cli", *arguments]
    return subprocess.run(command, input=stdin, capture_output=True, text=True, timeout=60)


def test_one_text_with_its_reason_and_an_exit_status():
    followed = riftk("check", "Twelve apples remain on the table", "--constraint", COMMA)
    assert followed.returncode == 0
    assert "no comma" in followed.stdout
    broken = riftk("check", "Twelve apples, at last", "--constraint", COMMA, "--rules", "robust,reasonif")
    assert broken.returncode == 1
    assert broken.stdout.count("1 comma") == 2


def test_brackets_in_a_text_are_text():
    spec = json.dumps({"id": "startend:end_checker", "args": {"end_phrase": "THE END"}})
    for text in ("so it ends [/b]", "so it ends [bold]"):
        finished = riftk("check", text, "--constraint", spec)
        assert finished.returncode == 1
        assert text.split()[-1] in finished.stdout


def test_arguments_are_given_as_json():
    spec = json.dumps({"id": "length_constraint_checkers:number_words", "args": {"num_words": 3}})
    finished = riftk("check", "one two three four apples", "--constraint", spec)
    assert finished.returncode == 1
    assert "5 words" in finished.stdout


def test_lines_from_standard_input_keep_their_columns_and_the_order_of_constraints():
    constraints = [
        {"id": COMMA, "args": {}, "target": "response"},
        {"id": "change_case:english_capital", "args": {}, "target": "reasoning"},
        {"id": COMMA, "args": {}, "target": "reasoning"},
    ]
    line = {
        "item_id": "a",
        "completion": "<think>\nSO, THERE ARE EIGHT APPLES NOW\n</think>\n\nEight apples. <answer>8</answer>",
        "constraints": json.dumps(constraints),
    }
    finished = riftk("check", stdin=json.dumps(line) + "\n\n" + json.dumps({**line, "item_id": "b"}) + "\n")
    assert finished.returncode == 1
    records = [json.loads(text) for text in finished.stdout.splitlines()]
    assert [record["item_id"] for record in records] == ["a", "b"]
    verdicts = records[0]["verdicts"]
    assert [verdict["followed"] for verdict in verdicts] == [True, True, False]
    assert verdicts[2]["spans"] == [[2, 3]]


@pytest.mark.parametrize(
    ("arguments", "stdin", "sentence"),
    [
        (["check", "text", "--constraint", "no:such_id"], None, "no:such_id"),
        (["check", "text"], None, "at least one --constraint"),
        (["check", "text", "--constraint", COMMA, "--rules", "strictest"], None, "strictest"),
        (["check", "--constraint", COMMA], "not json\n", "line 1: not JSON"),
        (["check", "--constraint", COMMA], '{"answer": "8"}\n', "`text` or `completion`"),
        (["check"], '{"text": "8"}\n', "line 1: no list of `constraints`"),
        (["check"], '{"text": "8", "constraints": "x"}\n', "line 1: column `constraints` is not JSON"),
        (["check", "--constraint", COMMA], '{"text": 5}\n', "line 1: no text"),
        (
            ["eval", "--model", "./no/model", "--benchmarks", "tiny", "--out", "x"],
            None,
            "./no/model does not exist",
        ),
        (["eval", "--model", "m", "--benchmarks", "no_such", "--out", "x"], None, "no_such"),
        (["report", "./no/run"], None, "no/run"),
    ],
)
def test_a_mistake_is_one_sentence(arguments, stdin, sentence, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    finished = riftk(*arguments, stdin=stdin)
    assert finished.returncode == 2
    assert sentence in finished.stderr
    assert "Traceback" not in finished.stderr
    assert not (tmp_path / "x").exists()


def test_options_take_dashes_and_underscores():
    for spelling in ("--max-tokens", "--max_tokens"):
        finished = riftk("eval", spelling, "many", "--model", "m", "--benchmarks", "tiny", "--out", "x")
        assert finished.returncode == 2
        assert "Invalid value for '--max-tokens'" in finished.stderr


@pytest.mark.parametrize("command", [["check"], ["synth"], ["eval"], ["report"], ["tiny", "build"]])
def test_every_command_has_an_example(command):
    assert "Example: riftk" in riftk(*command, "--help").stdout
