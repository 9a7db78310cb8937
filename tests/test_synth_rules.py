"""Rewriters by rule: what they make follows, and what the text said is still there."""

from __future__ import annotations

import doctest
import importlib
import json
import math
import random
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from riftk.constraints import check_all, parse_constraint
from riftk.data_synth import SynthConfig, layout
from riftk.data_synth.capitals import in_capitals
from riftk.data_synth.commas import without_commas
from riftk.data_synth.condense import Outline, count_words
from riftk.data_synth.errors import Rejected
from riftk.data_synth.json_forms import SHAPES, from_json, split_steps, to_json
from riftk.data_synth.lowercase import in_lowercase
from riftk.data_synth.registry import REWRITERS, Draw, Material
from riftk.data_synth.rewriters import (
    BULLETS,
    CAPITAL_WORDS,
    END,
    END_PHRASES,
    HIGHLIGHTS,
    JSON,
    LOWERCASE,
    QUOTATION,
    REPEAT,
    SECTIONS,
    WORDS,
)
from riftk.data_synth.segments import pieces, segments
from riftk.data_synth.survival import figures, tuples
from riftk.data_synth.verification import judge


def read_texts(path: Path, column: str, limit: int | None = None) -> list[str]:
    texts = [json.loads(line)[column] for line in path.open(encoding="utf-8")]
    return [text.split("\n####")[0] for text in texts[:limit]]


def rewrite_all(texts: list[str], rewrite: Callable[[str], str]) -> tuple[list[tuple[str, str]], list[str]]:
    """Pairs of accepted texts before and after, and the reasons of the rejected."""
    accepted, reasons = [], []
    for text in texts:
        try:
            accepted.append((text, rewrite(text)))
        except Rejected as rejected:
            reasons.append(rejected.reason)
    return accepted, reasons


def followed(id: str, text: str, args: dict | None = None) -> bool:
    spec = {"id": id, "args": args or {}, "target": "reasoning"}
    return all(check_all([spec], text, rules)[0].followed for rules in ("reasonif", "robust"))


@pytest.mark.parametrize(
    "module",
    [
        "segments",
        "commas",
        "capitals",
        "latex",
        "condense",
        "json_forms",
        "layout",
        "lowercase",
        "decontaminate",
    ],
)
def test_the_examples_in_the_documentation_run(module):
    results = doctest.testmod(importlib.import_module(f"riftk.data_synth.{module}"))
    assert results.attempted > 0
    assert results.failed == 0


# ------------------------------------------------------------------------------------------ commas


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("First, add 3, then stop.", "First add 3 then stop."),
        ("It costs $3,650 or 1,234,567.50 in all.", "It costs $3650 or 1234567.50 in all."),
        ("$1{,}000 + 912,\\!673$", "$1000 + 912673$"),
        ("The pair (1,2) and the set {3, 4}.", "The pair (1;2) and the set {3; 4}."),
        ("Now x=1,2,3 and f(2,3) = 5.", "Now x=1;2;3 and f(2;3) = 5."),
        ("$a$, $b$, and $c$ are 1, 2 and 3.", "$a$; $b$ and $c$ are 1; 2 and 3."),
        ("For $a=2,$ we get $\\int_0^1 f(x)\\,dx$.", "For $a=2$ we get $\\int_0^1 f(x)\\;dx$."),
        ("Let $x_{1,2}$ and $f(x, y)$.", "Let $x_{1;2}$ and $f(x; y)$."),
        ("In 2020, 300 came.", "In 2020; 300 came."),
        ("On May 5, 2018, all left.", "On May 5 2018; all left."),
        ("He has apples,pears (e.g., red ones).", "He has apples pears (e.g. red ones)."),
        ('She said "yes," and left.', 'She said "yes" and left.'),
        ("2,3-dimethyl", "2;3-dimethyl"),
        ("苹果，梨。", "苹果 梨。"),
    ],
)
def test_commas_go_and_values_stay_apart(text, wanted):
    assert without_commas(text) == wanted


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("Call `f(a, b)`.", "comma inside code"),
        ("```\nprint(1, 2)\n```", "comma inside code"),
        ("The pair (2,300) is it.", "a list or thousands"),
        ("$\\{100,200,300\\}$", "a list or thousands"),
        ("It is 1,00,000 rupees.", "digits in unusual groups"),
        ("共 1，200 元", "a list or thousands"),
    ],
)
def test_commas_that_cannot_be_read_safely_reject_the_text(text, reason):
    with pytest.raises(Rejected) as rejected:
        without_commas(text)
    assert rejected.value.reason == reason


numbers = st.one_of(
    st.integers(0, 99_999).map(str),
    st.decimals(0, 100, places=2).map(str),
    st.integers(1000, 10**9).map("{:,}".format),
)
values = st.one_of(st.integers(0, 99).map(str), st.sampled_from("xyzknm"))
lists = st.lists(values, min_size=2, max_size=4)
fragments = st.one_of(
    st.sampled_from(
        ["so,", "then,", "we add,and", "however,", "the result is,", "of course,", "as before", "gives"]
    ),
    numbers,
    lists.map(lambda items: "(" + ", ".join(items) + ")"),
    lists.map(lambda items: "$\\{" + ",".join(items) + "\\}$"),
    lists.map(lambda items: "f(" + ",".join(items) + ")"),
    st.sampled_from(["$x^2 + 1$,", "$\\frac{1}{2}\\,x$", "\\[ a, b \\]", "3 + 4 = 7,", "\n"]),
)


@settings(max_examples=300)
@given(st.lists(fragments, min_size=1, max_size=12).map(" ".join))
def test_without_commas_every_number_and_list_is_still_there(text):
    try:
        result = without_commas(text)
    except Rejected:
        return
    assert not re.search("[,，、،]", result)
    assert independent_numbers(result) == independent_numbers(text.replace("{,}", ","))
    written = re.findall(r"[({]([\w.]+(?:, ?[\w.]+)+)\\?[)}]", text)
    kept = re.findall(r"[({]([\w.]+(?:; ?[\w.]+)+)\\?[)}]", result)
    assert [re.split(", ?", items) for items in written] == [re.split("; ?", items) for items in kept]


def independent_numbers(text: str) -> list[str]:
    """Numbers as a reader sees them, by other rules than those under test: 1,200 is one, 1,2 are two."""
    found = []
    for run in re.findall(r"\d[\d.,;]*", text):
        run = run.rstrip(".,;")
        if re.fullmatch(r"\d{1,3}(,\d{3})+(\.\d+)?", run):
            found.append(run.replace(",", ""))
        else:
            found += re.split("[,;]", run)
    return found


@pytest.mark.parametrize(
    ("name", "column", "limit"), [("reasonif", "question", None), ("gsm8k_test", "answer", 500)]
)
def test_commas_on_real_texts(benchmark_file, name, column, limit):
    texts = read_texts(benchmark_file(f"{name}.jsonl"), column, limit)
    accepted, reasons = rewrite_all(texts, without_commas)
    assert len(accepted) >= 0.95 * len(texts), reasons
    damaged_by_deletion = 0
    for before, after in accepted:
        assert "," not in after
        assert figures(after) == figures(before)
        assert tuples(after) == tuples(before)
        damaged_by_deletion += figures(before.replace(",", "")) != figures(before)
    assert damaged_by_deletion > (10 if name == "reasonif" else -1)


# ---------------------------------------------------------------------------------------- capitals


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (r"Half is $\frac{x+1}{2}$.", "HALF IS (X+1)/2."),
        (r"Take $3\frac{1}{2}$ cups.", "TAKE 3 1/2 CUPS."),
        (r"So $\frac12 x = \frac{a}{b} - 1$.", "SO (1/2) X = A/B - 1."),
        (r"$x^{n+1}y_2z$", "X^(N+1)Y_2 Z"),
        (r"$\sqrt{2}\cdot\sqrt[3]{x}$", "√(2)·ROOT_3(X)"),
        (r"\(2\pi r\) and π", "2 PI R AND PI"),
        (r"$90^\circ \le \theta$, $\angle ABC$", "90° ≤ THETA, ∠ ABC"),
        (r"$\sin x\cos y$", "SIN X COS Y"),
        (r"$\{1, 2\} \cup \emptyset$", "{1, 2} ∪ ∅"),
        (r"$\text{if } x \not= 2 \pmod{5}$", "IF X ≠ 2 (MOD 5)"),
        (r"$\begin{cases} x & x > 0 \\ 0 & x = 0 \end{cases}$", "{X X > 0; 0 X = 0}"),
        ("It costs $5, so we pay $10.", "IT COSTS $5, SO WE PAY $10."),
        (r"So \boxed{42} is it.", "SO 42 IS IT."),
    ],
)
def test_capitals_write_formulas_as_text(text, wanted):
    assert in_capitals(text) == wanted


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("Run `ls -a` now.", "code"),
        ("See https://example.org/a.", "code"),
        (r"Use $\weirdcommand{x}$ here.", "unknown LaTeX command"),
        (r"A path C:\new\table.", "unknown LaTeX command"),
        ("Let $n$ be below $N$.", "symbols that differ by case only"),
        (r"The angles $\delta$ and $\Delta$.", "symbols that differ by case only"),
        ("Take n out of N.", "symbols that differ by case only"),
        ("It draws 5 mW of power.", "a unit in which case matters"),
        ("At 100 Mbps.", "a unit in which case matters"),
        ("Add CoCl2 to it.", "a chemical formula in which case matters"),
        (r"$\frac{1}{2$", "unbalanced braces in LaTeX"),
        ("The 1º floor.", "a letter without a capital form"),
        ("$" + "{" * 3000 + "$", "LaTeX nested too deep"),
    ],
)
def test_capitals_reject_what_case_would_change(text, reason):
    with pytest.raises(Rejected) as rejected:
        in_capitals(text)
    assert rejected.value.reason == reason


leaves = st.integers(1, 9).map(lambda n: (str(n), float(n)))


def branches(inner):
    pair = st.tuples(inner, inner)
    return st.one_of(
        pair.map(lambda p: (rf"\frac{{{p[0][0]}}}{{{p[1][0]}}}", p[0][1] / p[1][1])),
        pair.map(lambda p: (rf"\left({p[0][0]} + {p[1][0]}\right)", p[0][1] + p[1][1])),
        pair.map(lambda p: (rf"\left({p[0][0]} \cdot {p[1][0]}\right)", p[0][1] * p[1][1])),
        inner.map(lambda e: (rf"\sqrt{{{e[0]}}}", math.sqrt(e[1]))),
        inner.map(lambda e: (rf"\left({e[0]}\right)^{{2}}", e[1] ** 2)),
        pair.map(
            lambda p: (rf"\left({p[0][0]} \times \frac{{{p[1][0]}}}{{2}}\right)", p[0][1] * p[1][1] / 2)
        ),
    )


@settings(max_examples=300)
@given(st.recursive(leaves, branches, max_leaves=6))
def test_a_formula_in_capitals_has_the_same_value(expression):
    latex, value = expression
    plain = in_capitals(f"${latex}$")
    for sign, python in (("·", "*"), ("×", "*"), ("^", "**"), ("√", "math.sqrt")):
        plain = plain.replace(sign, python)
    assert set(plain) <= set("0123456789+-*/(). mathsqrt")
    assert eval(plain, {"math": math}) == pytest.approx(value)


@pytest.mark.parametrize(
    ("name", "column", "limit", "share"),
    [
        ("reasonif", "question", None, 0.8),
        ("gsm8k_test", "answer", 500, 0.95),
        ("math500", "problem", None, 0.8),
    ],
)
def test_capitals_on_real_texts(benchmark_file, name, column, limit, share):
    texts = read_texts(benchmark_file(f"{name}.jsonl"), column, limit)
    accepted, reasons = rewrite_all(texts, in_capitals)
    assert len(accepted) >= share * len(texts), reasons
    for before, after in accepted:
        assert after.isupper()
        assert "\\" not in after, "a LaTeX command is left"
        digits = [re.findall(r"\d", text) for text in (before, after)]
        assert digits[0] == digits[1]


# -------------------------------------------------------------------------------------------- JSON


@settings(max_examples=300)
@given(
    st.text(min_size=1),
    st.sampled_from(SHAPES),
    st.booleans(),
    st.sampled_from([None, 2]),
)
def test_json_gives_the_text_back(text, shape, fenced, indent):
    assert from_json(to_json(text, shape, fenced, indent), split_steps(text)[1]) == text


def test_json_comes_in_several_shapes():
    text = "We add 3 and 4. That gives 7. So the answer is 7."
    forms = {to_json(text, shape) for shape in SHAPES}
    assert len(forms) == len(SHAPES) == 4
    for form in forms:
        assert followed(JSON, form)


@pytest.mark.parametrize(("name", "column"), [("reasonif", "question"), ("gsm8k_test", "answer")])
def test_json_on_real_texts(benchmark_file, name, column):
    for text in read_texts(benchmark_file(f"{name}.jsonl"), column, 300):
        for shape in SHAPES:
            for fenced in (False, True):
                form = to_json(text, shape, fenced)
                assert from_json(form, split_steps(text)[1]) == text
                assert followed(JSON, form)


# -------------------------------------------------------------------------------------- word limit

TRACE = (
    "Okay, let me think about this problem. There are 3 boxes with 4 pens each. That is 3 * 4 = 12 pens. "
    "Hmm, that seems right. Then 5 more come, so 12 + 5 = 17. Let me check it once more. "
    "It all fits together nicely. So there are 17 pens."
)
QUESTION = "There are 3 boxes with 4 pens each, and 5 more pens. How many pens?"


def test_a_word_limit_keeps_what_the_answer_rests_on():
    outline = Outline.of(TRACE, "17", QUESTION)
    for limit in range(outline.core_words + 1, outline.total_words + 1):
        short = outline.within(limit)
        assert count_words(short) < limit
        assert short.endswith("So there are 17 pens.")
        for needed in ("That is 3 * 4 = 12 pens.", "so 12 + 5 = 17."):
            assert needed in short
        assert all(piece.strip() in TRACE for piece in pieces(short))


def test_a_limit_below_the_core_rejects():
    outline = Outline.of(TRACE, "17", QUESTION)
    with pytest.raises(Rejected, match="do not fit"):
        outline.within(outline.core_words)


def test_a_letter_answer_keeps_its_sentence():
    trace = "Water boils at 100 degrees. Ice melts first. The fitting option is C. That was easy to see."
    short = Outline.of(trace, "C", "Which option?").within(16)
    assert "The fitting option is C." in short


@given(st.text(alphabet="ab1. \n:$x=!?-(", max_size=80))
def test_pieces_and_segments_give_the_text_back(text):
    assert "".join(pieces(text)) == text
    assert "".join(part.text for part in segments(text)) == text


# --------------------------------------------------------------------------------------- all of them

sentences = st.sampled_from(
    [
        "First, we write down what is known.",
        "The first box holds 1,200 coins, the second holds 35.",
        "Adding both, we get 1,200 + 35 = 1,235 coins in all.",
        "Let me think about it again, slowly and with care.",
        "The points are (1, 2) and (3, 4).",
        "Since $x = 3, y = 4$, the distance is $\\sqrt{x^2 + y^2} = 5$.",
        "This seems right, and I do not see a mistake.",
        "Nothing else is asked here.",
    ]
)
traces = st.lists(sentences, min_size=2, max_size=8).map(
    lambda said: " ".join([*said, "So the answer to the question is 1235."])
)


BY_RULE = sorted(id for id, rewriter in REWRITERS.items() if not rewriter.needs_llm)


def drawn_args(id: str, seed: int, question: str = "How many coins?") -> dict:
    config = SynthConfig("none.jsonl", constraints=(id,))
    return REWRITERS[id].draw_args(
        Draw(random.Random(seed), config, question, "made up", (id,), in_prompt=False)
    )


@settings(max_examples=250, deadline=None)
@given(traces, st.sampled_from(BY_RULE), st.integers(0, 10**6))
def test_what_a_rewriter_accepts_follows_under_both_rulebooks(trace, id, seed):
    args = drawn_args(id, seed)
    material = Material(trace, "1235", "How many coins?", args, random.Random(seed), (0.5, 0.9))
    try:
        rewrite = REWRITERS[id].rewrite(material)
    except Rejected as rejected:
        refusal = rejected
    else:
        refusal = None
    if refusal:
        assert id == WORDS or refusal.reason.startswith("too few steps"), refusal
        return
    constraint = parse_constraint({"id": id, "args": rewrite.args, "target": "reasoning"})
    judged = judge([constraint], rewrite.text, "")
    # MathIF's evaluator may take a short text for another language.
    assert all(one.verdict.followed or id == LOWERCASE for one in judged), judged
    if id not in (WORDS, SECTIONS, JSON):  # JSON may number its steps
        assert figures(rewrite.text)[-len(figures(trace)) :] == figures(trace)
    assert figures(rewrite.text)[-1] == "1235"


WORDS_OF_TEXT = re.compile(r"[^\W_]+")


@pytest.mark.parametrize(
    ("id", "least"),
    [
        (LOWERCASE, 0.9),
        (BULLETS, 0.9),
        (SECTIONS, 0.9),
        (HIGHLIGHTS, 0.7),
        (CAPITAL_WORDS, 0.9),
        (QUOTATION, 0.98),
        (REPEAT, 1.0),
    ],
)
def test_other_rewriters_on_real_texts(benchmark_file, id, least):
    texts = read_texts(benchmark_file("reasonif.jsonl"), "question")
    texts += read_texts(benchmark_file("gsm8k_test.jsonl"), "answer", 500)
    accepted, reasons, fails = 0, [], []
    for number, text in enumerate(texts):
        args = drawn_args(id, number, "What is asked?")
        try:
            rewrite = REWRITERS[id].rewrite(Material(text, "", "What is asked?", args, random.Random(number)))
        except Rejected as rejected:
            reasons.append(rejected.reason)
            continue
        accepted += 1
        kept = rewrite.text
        if id == REPEAT:
            kept = kept.removeprefix("What is asked?")
        if id == SECTIONS:
            kept = re.sub(rf"^{rewrite.args['section_spliter']} \d+$", "", kept, flags=re.MULTILINE)
        assert WORDS_OF_TEXT.findall(kept.lower()) == WORDS_OF_TEXT.findall(text.lower()), (
            "a word has changed"
        )
        constraint = parse_constraint({"id": id, "args": rewrite.args, "target": "reasoning"})
        fails += [one for one in judge([constraint], rewrite.text, "") if not one.verdict.followed]
    enough = accepted + sum("too few steps" in reason for reason in reasons)
    assert enough >= least * len(texts), reasons
    assert len(fails) <= 0.05 * accepted, fails[:3]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("Run `LS` now.", "code"),
        (r"The angle $\Delta$ is known.", "a LaTeX command with capitals"),
        ("Let $n$ be below $N$.", "symbols that differ by case only"),
        ("It draws 5 MW of power.", "a unit in which case matters"),
    ],
)
def test_small_letters_reject_what_case_would_change(text, reason):
    with pytest.raises(Rejected) as rejected:
        in_lowercase(text)
    assert rejected.value.reason == reason


def test_small_letters_leave_formulas_valid():
    text = r"So $X \Rightarrow \frac{1}{2} \text{ If } y$. The Points A and B are FIXED."
    assert in_lowercase(text) == (r"so $x \implies \frac{1}{2} \text{ if } y$. the points a and b are fixed.")


def test_quotation_marks_inside_do_not_close_the_text():
    assert layout.quoted('He said "yes" twice.') == '"He said “yes” twice."'
    for text in ('A board of 5" width.', 'print(`"a"`)', r"G\"odel"):
        with pytest.raises(Rejected):
            layout.quoted(text)


def test_list_markers_inside_do_not_count_as_bullet_points():
    text = "First we list.\n- Two apples are red.\n* Three pears are green.\nSo it is five."
    assert layout.as_bullets(text, 2).count("*") == 2
    with pytest.raises(Rejected, match="bullet point"):
        layout.as_bullets("The sum is\n-3 in all. So it is below zero.", 2)


def test_end_phrases_are_our_own_and_appended_once():
    published = {
        "THIS REASONING WAS PRODUCED BY AI",
        "THIS THOUGHT PROCESS WAS GENERATED BY AI",
        "THIS EXPLANATION IS AI-GENERATED",
        "THIS ANALYSIS WAS CREATED BY AI",
        "THIS ARGUMENT WAS CONSTRUCTED BY AI",
        "THIS LOGIC WAS GENERATED THROUGH AI",
    }
    assert not published & set(END_PHRASES)
    assert len(set(END_PHRASES)) == len(END_PHRASES) > 50
    args = {"end_phrase": END_PHRASES[0]}
    material = Material(TRACE, "17", QUESTION, args, random.Random(0), (0.5, 0.8))
    once = REWRITERS[END].rewrite(material)
    assert once.text == f"{TRACE}\n{END_PHRASES[0]}"
    again = REWRITERS[END].rewrite(Material(once.text, "17", QUESTION, args, random.Random(0), (0.5, 0.8)))
    assert again.text == once.text
