"""The command line: verdicts with reasons, exit statuses, one sentence per mistake, examples that run."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from riftk.cli import app

COMMA = "punctuation:no_comma"


def riftk(*arguments: str, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "riftk", *arguments]
    return subprocess.run(command, input=stdin, capture_output=True, text=True, timeout=60)


def test_one_text_with_its_reason_and_an_exit_status():
    followed = riftk("check", "Twelve apples remain on the table", "--constraint", COMMA)
    assert followed.returncode == 0
    assert "no comma" in followed.stdout
    broken = riftk("check", "Twelve apples, at last", "--constraint", COMMA, "--rules", "robust,reasonif")
    assert broken.returncode == 1
    assert broken.stdout.count("1 comma") == 2
    assert broken.stdout.count("Twelve apples⟦,⟧ at last") == 1


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


@pytest.fixture
def rows(tmp_path) -> Path:
    """Ten rows of chat messages in ReasonIF's columns; the last one follows its instruction."""
    path = tmp_path / "rows.jsonl"
    with open(path, "w") as file:
        for number in range(10):
            trace = (
                "We add them; that makes eight apples" if number == 9 else f"Add {number}, then add five more"
            )
            answer = {"role": "assistant", "content": "<answer>8</answer>", "thinking": trace}
            asked = {"constraint_name": [COMMA], "constraint_args": [None]}
            file.write(json.dumps({"messages": [{"role": "user", "content": "?"}, answer], **asked}) + "\n")
    return path


def test_a_file_is_audited_and_its_first_failures_are_shown(rows, tmp_path):
    out, figures = tmp_path / "verdicts.jsonl", tmp_path / "audit" / "audit.json"
    files = ("--input", str(rows), "--out", str(out), "--summary-json", str(figures))
    finished = riftk("check", *files, "--rules", "both", "--show", "3", "--summary")
    assert finished.returncode == 1
    assert finished.stdout.count("⟦,⟧") == 3
    assert "reasonif: 90.0 % of 10 rows fail their own rules" in finished.stdout
    cells = json.loads(figures.read_text())["constraints"]
    assert [(cell["rules"], cell["n"], cell["followed"]) for cell in cells] == [
        ("reasonif", 10, 1),
        ("robust", 10, 1),
    ]
    assert len(out.read_text().splitlines()) == 10


def test_verdicts_go_to_standard_output_and_bad_rows_can_be_left_out(rows):
    with open(rows, "a") as file:
        file.write('{"messages": []}\n')
    refused = riftk("check", "--input", str(rows))
    assert refused.returncode == 2
    assert f"{rows}, line 11" in refused.stderr
    finished = riftk("check", "--input", str(rows), "--skip-bad-rows")
    assert finished.returncode == 1
    assert len(finished.stdout.splitlines()) == 10
    assert "1 of 11 rows left out" in finished.stderr


def test_a_reader_that_stops_ends_it_quietly(rows):
    rows.write_text(rows.read_text() * 300)
    pipeline = f'"{sys.executable}" -m riftk check --input "{rows}" | head -1'
    finished = subprocess.run(["bash", "-c", pipeline], capture_output=True, text=True, timeout=60)
    assert len(finished.stdout.splitlines()) == 1
    assert finished.stderr == ""


def test_a_process_that_goes_on_survives_a_broken_pipe():
    before = signal.getsignal(signal.SIGPIPE)
    for text, status in (("Twelve apples", 0), ("Twelve apples, at last", 1)):
        assert CliRunner().invoke(app, ["check", text, "--constraint", COMMA]).exit_code == status
        assert signal.getsignal(signal.SIGPIPE) == before


def test_constraints_of_ones_own_can_be_registered(tmp_path, monkeypatch):
    (tmp_path / "my_rules.py").write_text(
        "from riftk.constraints import Constraint, broken, constraint, followed\n"
        "@constraint('mine:no_digits')\n"
        "class NoDigits(Constraint):\n"
        "    wording = ('Write no digits.',)\n"
        "    def robust(self, text):\n"
        "        digits = [n for n, c in enumerate(text.raw) if c.isdigit()]\n"
        "        return broken(0, 'digits', [(n, n + 1) for n in digits]) if digits else followed('none')\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    finished = riftk("check", "a 7 b", "--constraint", "mine:no_digits", "--register", "my_rules")
    assert finished.returncode == 1
    assert "a ⟦7⟧ b" in finished.stdout


@pytest.mark.parametrize(
    ("missing", "arguments", "sentence"),
    [
        ("typer", ["--help"], "this needs typer: pip install 'riftk[cli]'"),
        ("rich", ["check", "text", "--constraint", COMMA], "this needs rich: pip install 'riftk[cli]'"),
        (
            "transformers",
            ["tiny", "build", "--out", "x"],
            "this needs transformers: pip install 'riftk[train]'",
        ),
        ("pyarrow", ["check", "--input", "rows.parquet"], "rows.parquet is Parquet, which needs pyarrow"),
    ],
)
def test_a_missing_library_is_one_sentence_that_names_the_extra(missing, arguments, sentence, tmp_path):
    (tmp_path / "rows.parquet").write_bytes(b"PAR1")
    program = (
        f"import sys; sys.modules[{missing!r}] = None; sys.argv[1:] = {arguments!r}\n"
        "from riftk.__main__ import main; main()"
    )
    command = [sys.executable, "-c", program]
    finished = subprocess.run(command, capture_output=True, text=True, timeout=60, cwd=tmp_path)
    assert finished.returncode == 2
    assert finished.stderr.startswith(f"riftk: {sentence}")
    assert len(finished.stderr.splitlines()) == 1


def test_a_closed_standard_input_is_one_sentence():
    script = 'exec "$0" -m riftk.cli check --constraint punctuation:no_comma <&-'
    finished = subprocess.run(
        ["sh", "-c", script, sys.executable], capture_output=True, text=True, timeout=60
    )
    assert finished.returncode == 2
    assert finished.stderr.startswith("riftk: nothing to check"), finished.stderr


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
        (["check", "--constraint", COMMA], "", "no rows"),
        (["check", "rows.jsonl"], None, "a file is given as --input"),
        (["check", "text", "--constraint", COMMA, "--summary"], None, "go with a file"),
        (["check", "--input", "no.jsonl"], None, "no.jsonl does not exist"),
        (
            ["check", "--text-column", "final"],
            '{"text": "8", "constraints": "[]"}\n',
            "line 1: column 'final'",
        ),
        (
            ["check", "text", "--constraint", COMMA, "--register", "no_such"],
            None,
            "no_such: cannot be imported",
        ),
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


def test_a_run_folder_as_the_model_stands_for_what_it_trained(tmp_path):
    (tmp_path / "config.yaml").touch()
    arguments = ("--model", str(tmp_path), "--benchmarks", "tiny", "--out", str(tmp_path / "eval"))
    finished = riftk("eval", *arguments)
    assert finished.returncode != 0
    assert "holds no trained model; finish its training first" in finished.stderr
    (tmp_path / "final").mkdir()
    finished = riftk("eval", *arguments)
    assert f"{tmp_path / 'final'} is no model folder" in finished.stderr
