"""Audits: rows of every layout are read, judged as elsewhere, tallied, and shown with the places marked."""

from __future__ import annotations

import io
import json

import pytest
from rich.console import Console

from riftk.auditing import (
    Audit,
    Case,
    Columns,
    Reader,
    check_file,
    judge,
    known_rules,
    read_records,
)
from riftk.auditing.audit import masked
from riftk.auditing.display import marked, show_audit, show_failure
from riftk.constraints import ConstraintError, Text, parse_constraint
from riftk.rows import RowError

COMMA = {"id": "punctuation:no_comma", "args": {}, "target": "reasoning"}
TRACE, ANSWER = "First, we add the apples", "<answer>8</answer>"
TAGGED = f"<think>\n{TRACE}\n</think>\n\n{ANSWER}"


def write(path, records):
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def judged_texts(record, reader=None, rules=("robust",)):
    case = (reader or Reader()).case(record)
    return case, [(one.rules, one.text, one.verdict.followed) for one in judge(case, rules)]


# ------------------------------------------------------------------------------------------ layouts


@pytest.mark.parametrize(
    "columns",
    [
        {"completion": TAGGED},
        {"completion": [{"role": "assistant", "content": TAGGED}]},
        {
            "messages": [
                {"role": "user", "content": "?"},
                {"role": "assistant", "content": ANSWER, "thinking": TRACE},
            ]
        },
        {"completion": [{"role": "assistant", "content": [{"text": ANSWER}], "reasoning_content": TRACE}]},
        {"reasoning": TRACE, "response": ANSWER},
        {"response": TAGGED},
        {"resps": [[TAGGED]], "text": "not this", "reasoning": "nor this"},
        {"completion": f"{TRACE}</think>{ANSWER}", "think": "prefilled"},
    ],
)
def test_an_output_is_found_in_every_layout(columns):
    constraints = json.dumps([COMMA, {**COMMA, "target": "response"}])
    _, found = judged_texts({**columns, "constraints": constraints}, rules=("reasonif", "robust"))
    assert found == [
        ("reasonif", TRACE, False),
        ("robust", TRACE, False),
        ("reasonif", "8", True),
        ("robust", "8", True),
    ]


def test_a_text_is_judged_as_it_is():
    _, found = judged_texts({"text": TAGGED, "constraints": [COMMA]}, rules=("reasonif",))
    assert found == [("reasonif", TAGGED, False)]


@pytest.mark.parametrize(
    ("columns", "ids", "rules", "target"),
    [
        ({"instruction_id_list": ["punctuation:no_comma"], "kwargs": [{}]}, 1, "ifeval", "response"),
        (
            {"instruction_id_list": ["punctuation:no_comma"] * 2, "kwargs": [None, {"N": None}]},
            2,
            "ifeval",
            "response",
        ),
        (
            {"doc": {"instruction_id_list": ["punctuation:no_comma"], "kwargs": "[{}]"}},
            1,
            "ifeval",
            "response",
        ),
        (
            {"constraint_name": ["punctuation:no_comma"], "constraint_args": [None]},
            1,
            "reasonif",
            "reasoning",
        ),
        (
            {"constraint_desc": ["…"], "constraint_name": ["punctuation:no_comma"], "constraint_args": [{}]},
            1,
            "mathif",
            "response",
        ),
        ({"constraints": [COMMA]}, 1, "reasonif", "reasoning"),
        ({"constraints": '[{"id": "punctuation:no_comma"}]'}, 1, "mathif", "response"),
    ],
)
def test_constraints_are_found_in_every_layout_and_both_is_the_benchmarks_rules(columns, ids, rules, target):
    case, found = judged_texts({**columns, "completion": TAGGED}, rules=("both",))
    assert [constraint.target for constraint in case.constraints] == [target] * ids
    assert [name for name, _, _ in found] == [rules, "robust"] * ids


def test_columns_and_targets_can_be_named():
    reader = Reader(Columns(reasoning="trace", response="final", constraints="asked"), target="reasoning")
    record = {"trace": TRACE, "final": ANSWER, "asked": [{"id": "punctuation:no_comma"}]}
    assert judged_texts(record, reader)[1] == [("robust", TRACE, False)]
    alone = Reader(Columns(reasoning="trace", constraints="asked"), target="reasoning")
    assert judged_texts(record, alone)[1] == [("robust", TRACE, False)]
    with pytest.raises(RowError, match="is about the response"):
        Reader(Columns(reasoning="trace", constraints="asked")).case(record)
    with pytest.raises(ValueError, match="a text column, or a completion column"):
        Columns(text="a", completion="b")


def test_an_open_trace_and_a_cut_off_response_are_not_followed_under_robust_rules():
    asked = [{"id": "punctuation:no_comma"}]
    opened = judge(
        Reader().case({"completion": "<think>no comma", "constraints": asked}), ("robust", "mathif")
    )
    assert [one.verdict.followed for one in opened] == [False, True]  # MathIF takes the trace for the answer
    assert "never closed" in opened[0].verdict.reason
    record = {"completion": TAGGED, "constraints": asked, "stop": "length"}
    cut = judge(Reader(Columns(finish_reason="stop")).case(record), ("robust",))
    assert "cut off" in cut[0].verdict.reason


@pytest.mark.parametrize(
    ("record", "sentence"),
    [
        ({"completion": 5, "constraints": [COMMA]}, "'completion' holds no text, but int"),
        ({"completion": [{"role": "user", "content": "?"}], "constraints": [COMMA]}, "the assistant's"),
        ({"resps": [["a", "b"]], "constraints": [COMMA]}, "2 completions"),
        ({"question": "?", "constraints": [COMMA]}, "found constraints, question"),
        ({"text": "a", "constraints": {"id": "x"}}, "`constraints` holds no list, but dict"),
        ({"text": "a", "constraints": [{"id": "no:such"}]}, "unknown constraint id 'no:such'"),
        ({"text": "a", "instruction_id_list": ["x"], "kwargs": []}, "one length"),
        ({"text": "a", "constraint_name": ["x"]}, "'constraint_args' is missing"),
    ],
)
def test_a_row_that_cannot_be_read_says_why(record, sentence):
    with pytest.raises(ValueError, match=sentence):
        Reader().case(record)


def test_rules_and_modules_that_do_not_exist():
    assert known_rules("robust, both") == ("robust", "both")
    for names in ("strictest", "robust,strictest", ","):
        with pytest.raises(ConstraintError, match="there are robust, both, reasonif"):
            known_rules(names)


# -------------------------------------------------------------------------------------------- files


def test_jsonl_and_parquet_give_the_same_rows(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    records = [
        {"completion": TAGGED, "constraint_name": ["punctuation:no_comma"], "constraint_args": [None], "n": n}
        for n in range(150)
    ]
    records[7]["constraint_args"] = [{"num_words": None}]
    lines = write(tmp_path / "rows.jsonl", records)
    table = tmp_path / "rows.anything"
    parquet.write_table(pyarrow.Table.from_pylist(records), table, row_group_size=40)
    rows = list(read_records(table))
    assert [record["n"] for _, record in rows] == list(range(150))
    assert rows[99][0] == f"{table}, row 100"
    one, other = (check_file(path, Reader(), ("both",)).to_dict() for path in (lines, table))
    assert one["flaws"] == other["flaws"] == []
    assert one == other
    (tmp_path / "broken.parquet").write_bytes(b"PAR1 and nothing else")
    with pytest.raises(ValueError, match="cannot be read as Parquet"):
        list(read_records(tmp_path / "broken.parquet"))


def test_bad_rows_are_named_or_counted(tmp_path, capsys):
    good = {"text": "fine", "constraints": [COMMA]}
    path = tmp_path / "rows.jsonl"
    lines = [json.dumps(good), "{", "", "[1]", '{"text": "\\ud800, half"}', "[" * 5000, json.dumps(good)]
    path.write_bytes("\n".join(lines).encode() + b"\n\xff\xfe\n")
    with pytest.raises(RowError, match=r"rows\.jsonl, line 2: not JSON"):
        check_file(path, Reader(), ("robust",))
    audit = check_file(path, Reader(), ("robust",), skip_bad_rows=True)
    assert (audit.rows, audit.skipped) == (2, 5)
    assert "5 of 7 rows left out" in capsys.readouterr().err
    with pytest.raises(RowError, match="no row can be judged"):
        check_file(write(tmp_path / "bad.jsonl", [{}]), Reader(), ("robust",), skip_bad_rows=True)
    with pytest.raises(RowError, match="no rows"):
        check_file(write(tmp_path / "empty.jsonl", []), Reader(), ("robust",))
    with pytest.raises(FileNotFoundError, match="does not exist"):
        check_file(tmp_path / "none.jsonl", Reader(), ("robust",))
    with pytest.raises(ValueError, match="is the file that is read"):
        check_file(path, Reader(), ("robust",), out=path)


def test_rows_without_constraints_pass_and_are_counted(tmp_path):
    path = write(tmp_path / "rows.jsonl", [{"text": "a, b", "constraints": "[]"}])
    audit = check_file(path, Reader(), ("robust",), out=tmp_path / "out" / "verdicts.jsonl")
    assert (audit.rows, audit.unconstrained, audit.followed) == (1, 1, True)
    assert json.loads((tmp_path / "out" / "verdicts.jsonl").read_text())["verdicts"] == []


def test_half_a_surrogate_is_written_as_its_escape(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_text('{"text": "half \\ud800, a pair", "constraints": [{"id": "punctuation:no_comma"}]}\n')
    check_file(path, Reader(), ("robust",), out=tmp_path / "out.jsonl")
    assert json.loads((tmp_path / "out.jsonl").read_text("utf-8"))["text"] == "half \ud800, a pair"


# -------------------------------------------------------------------------------------------- audit


def audit_of(records, rules=("reasonif", "robust")) -> dict:
    audit = Audit()
    for number, record in enumerate(records, 1):
        case = Reader().case(record)
        audit.add(case, judge(case, rules), f"row {number}")
    return audit.to_dict()


def test_an_audit_counts_per_constraint_target_and_rulebook():
    asked = [COMMA, {**COMMA, "target": "response"}]
    traces = (
        "We add 3 and 5 apples, then 2",
        "We add 3 apples and 5, and 2, and 1",
        "We add the apples 、 all of them",
    )
    rows = [{"completion": f"<think>{trace}</think>8", "constraints": asked} for trace in traces]
    audit = audit_of(rows)
    assert audit["rows"] == 3
    assert audit["statuses"] == {"closed": 3}
    cells = {(cell["target"], cell["rules"]): cell for cell in audit["constraints"]}
    assert {key: (cell["n"], cell["followed"]) for key, cell in cells.items()} == {
        ("reasoning", "reasonif"): (3, 1),
        ("reasoning", "robust"): (3, 0),  # an ideographic comma is a comma
        ("response", "reasonif"): (3, 3),
        ("response", "robust"): (3, 3),
    }
    share = cells["reasoning", "reasonif"]["share"]
    assert share["value"] == pytest.approx(1 / 3)
    assert (share["low"], share["high"]) == pytest.approx((0.0615, 0.7923), abs=1e-4)  # Wilson, by hand
    assert cells["reasoning", "reasonif"]["mean_score"] == pytest.approx((1 / 2 + 1 / 3 + 1) / 3)
    reasons = cells["reasoning", "robust"]["reasons"]
    assert sum(reason["n"] for reason in reasons) == 3
    assert {reason["reason"] for reason in reasons} == {"N comma", "N commas"}
    first = audit["agreement"][0]
    assert (first["n"], first["agree"], first["only_first"], first["only_second"]) == (3, 2, 1, 0)
    assert audit["rows_followed"]["reasonif"]["value"] == pytest.approx(1 / 3)


def test_a_constraint_that_occurs_twice_counts_twice():
    audit = audit_of([{"text": "a, b", "constraints": [COMMA, COMMA]}])
    assert [cell["n"] for cell in audit["constraints"]] == [2, 2]
    assert audit["agreement"][0]["n"] == 2
    assert audit["rows_followed"]["robust"]["n"] == 1


def test_an_audit_names_rows_that_nobody_can_follow():
    repeat = {"id": "combination:repeat_prompt", "args": {"prompt_to_repeat": "Add, please"}}
    impossible = {
        "text": "x",
        "prompt": "Add, please",
        "constraints": [repeat, {"id": "punctuation:no_comma"}],
    }
    flaws = audit_of([impossible] * 7, rules=("robust",))["flaws"]
    assert [(flaw["kind"], flaw["rows"]) for flaw in flaws] == [("unsatisfiable", 7)]
    assert flaws[0]["first"] == [f"row {number}" for number in range(1, 6)]


def test_an_audit_names_rows_whose_prompt_disagrees_with_their_arguments():
    words = {"id": "length_constraints:number_words", "args": {"relation": "at least", "num_words": 400}}
    sentence = parse_constraint(words).instruction().replace("400", "336")
    flaws = audit_of([{"text": "x", "prompt": sentence, "constraints": [words]}], rules=("robust",))["flaws"]
    assert [flaw["kind"] for flaw in flaws] == ["disagreement"]


def test_reasons_are_counted_without_numbers_and_quotations():
    assert masked("1,204.5 words; the limit is 80") == "N words; the limit is N"
    assert masked("ends with 'so it is' instead of \"it's\"") == "ends with '…' instead of '…'"


def test_the_published_benchmark_files_are_read(benchmark_file):
    for name, rules in (
        ("mathif.jsonl", "mathif"),
        ("reasonif.jsonl", "reasonif"),
        ("ifeval.jsonl", "ifeval"),
    ):
        records = [{**record, "response": "Eight."} for _, record in read_records(benchmark_file(name))]
        audit = Audit()
        for record in records:
            try:
                case = Reader().case(record)
            except ConstraintError:  # IFEval has two rows whose argument its own code draws at random
                audit.skipped += 1
                continue
            audit.add(case, [])
            assert case.published == rules
        assert audit.rows + audit.skipped == len(records)
        assert audit.skipped == (2 if rules == "ifeval" else 0)


# ------------------------------------------------------------------------------------------ display


def test_places_are_marked_with_what_surrounds_them():
    text = "a" * 200 + ", " + "b" * 200 + ", " + "c" * 200
    shown = marked(text, [(200, 201), (402, 403)], ends=True).plain
    assert shown == f" … {'a' * 60}⟦,⟧ {'b' * 59} … {'b' * 60}⟦,⟧ {'c' * 59} …"
    assert marked("one, two", [(3, 4)], ends=True).plain == "one⟦,⟧ two"
    assert marked("one, two", [(3, 4)]).spans[0].style == "bold white on red"
    assert marked("x" * 1000, []).plain == f"{'x' * 120} … {'x' * 120}"
    assert marked("x" * 1000, [(0, 1000)], ends=True).plain == f"⟦{'x' * 120} … {'x' * 120}⟧"
    many = marked(", " * 50, [(2 * n, 2 * n + 1) for n in range(50)], ends=True).plain
    assert many.count("⟦") == 8
    assert many.endswith("(42 more places)")


def test_a_text_cannot_move_the_cursor():
    assert "\x1b" not in marked("\x1b[2Jone, two", [(7, 8)], ends=True).plain
    assert marked("\x1b[2Jone, two", [(7, 8)], ends=True).plain == "�[2Jone⟦,⟧ two"


def test_tables_hold_the_figures():
    out = Console(file=io.StringIO(), width=160)
    case = Case(Text("a, b"), (parse_constraint(COMMA),))
    audit = Audit()
    judged = judge(case, ("reasonif", "robust"))
    audit.add(case, judged, "row 1")
    show_failure("row 1", judged[0], out)
    show_audit(audit.to_dict(), out)
    printed = out.file.getvalue()
    for text in (
        "row 1: punctuation:no_comma",
        "a⟦,⟧ b",
        "0.0 %",
        "N comma",
        "100.0 % of 1 rows fail their own rules",
    ):
        assert text in printed
