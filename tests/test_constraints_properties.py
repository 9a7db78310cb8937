"""What holds for every text: checks never raise, are deterministic, and come to an end."""

from __future__ import annotations

from itertools import pairwise

import pytest
from every_constraint import HEAVY, RULES, SPECS, specs_of
from hypothesis import given, settings
from hypothesis import strategies as st

from riftk.constraints import check, check_all
from riftk.constraints.text import (
    blank,
    formula_spans,
    numbers,
    prose,
    regions,
    sentences,
    visible,
    without_tags,
    word_count,
    word_tokens,
    words,
)

# Texts made of what checkers stumble over, and any text at all (surrogates included).
PIECES = [
    "\n", " ", "*", "**", "-", "`", "```", "```json\n", "$", "$$", "\\(", "\\)", "\\[", "\\]", "\\,", ",",
    "\\frac{1}{2}", "\\text{so }", "\\begin{align}", "\\end{align}", "<think>", "</think>", "<a b>", "{",
    "}", "[", "]", '"', '\\"', '{"a": 1}', "NaN", "1,000", "3.14", "THE END", "the end.", "WORD ", "word ",
    "Bonjour à tous. ", "we are five ", "苹果", "，", "ですか", "한국", "नमस्ते ", "π", "ß", "ª", "ⅱ", "ŉ", "İ",
    "\u200b", "\ufeff", "\ud800", "\x00", "\x85", "\u2028", "http://x.org", "a@b.org", "don't", "_x_", "🙂",
    "ก", "“", "”", "Section 1", "\n* ", "CANNOT", "IT'S", "******", "\n***\n", "\n\n", "[name]", "<<word>>",
    "P.S. ", "My answer is no.", ". ", "? ", "Dr. ", "safe. ", "meow ", "<This reasoning is not suspicious.>",
]  # fmt: skip
TEXTS = st.one_of(
    st.lists(st.sampled_from(PIECES), max_size=30).map("".join),
    st.text(max_size=200),
    st.text(st.characters(exclude_categories=()), max_size=80),
)


def judged(text: str, rules: str):
    return check_all(specs_of(rules), text, rules)


@pytest.mark.parametrize("rules", RULES)
@pytest.mark.parametrize("target", ["reasoning", "response"])
@given(text=TEXTS)
@settings(max_examples=150, deadline=None)
def test_verdicts_on_any_text(rules, target, text):
    specs = [dict(spec, target=target) for spec in specs_of(rules)]
    verdicts = check_all(specs, text, rules)
    assert verdicts == check_all(specs, text, rules)
    for spec, verdict in zip(specs, verdicts, strict=True):
        assert 0 <= verdict.score <= 1
        assert (verdict.score == 1) is verdict.followed, (spec, verdict)
        assert verdict.reason
        assert not (verdict.followed and verdict.spans)
        assert all(0 <= start <= end <= len(text) for start, end in verdict.spans), (spec, verdict)


@given(text=TEXTS)
@settings(max_examples=150, deadline=None)
def test_a_blank_text_follows_nothing_and_blanks_around_a_text_change_nothing_robust(text):
    for spec in SPECS:
        assert not check(spec, " \n\t").followed
        assert check(spec, f"\n {text}\n").followed == check(spec, text.strip()).followed, spec


@given(text=TEXTS)
@settings(max_examples=150, deadline=None)
def test_analyses_keep_offsets(text):
    for analyse in (prose, visible, without_tags):
        result = analyse(text)
        assert len(result) == len(text)
        assert all(now in (before, " ") for now, before in zip(result, text, strict=True))
    spans = [(region.start, region.end) for region in regions(text)]
    assert spans == sorted(spans)
    assert all(a[1] <= b[0] for a, b in pairwise(spans))
    assert all(0 <= start < end <= len(text) for start, end in sentences(text))
    assert word_count(text) == sum(count for _, _, count in word_tokens(text)) >= len(words(text))


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("don't well-known x_1 3.14 1,000", 5),
        ("... - * 🙂", 0),
        ("苹果在篮子里", 6),
        ("これは日本語", 6),
        ("a" * 24 + " " + "a" * 25, 3),
        ("<think>one two</think>", 2),
        ("كَتَبَ الطَّالِبُ الدَّرْسَ", 3),
        ("한국어 문장", 2),
        ("ก" * 25, 5),
    ],
)
def test_words(text, count):
    assert word_count(text) == count


def test_prose_leaves_out_code_formulas_and_urls_but_not_money():
    text = (
        r"It costs $5 and $6, so $x^2$ `y` \(z\) \[w\] https://a.b/c \textbf{now} $\text{or else}$ <b>end</b>"
    )
    assert " ".join(prose(text).split()) == "It costs $5 and $6, so {now} or else end"
    assert prose("an open `tick and $x stay") == "an open `tick and $x stay"
    assert [text[a:b] for a, b in formula_spans(text)] == ["$x^2$", r"\(z\)", r"\[w\]", r"$\text{or else}$"]
    assert blank("a\nb", [(0, 3)]) == " \n "


def test_sentences_and_numbers():
    text = "It is 3.14: more or less. Really?! Yes\nand so on。好的"
    assert [text[a:b] for a, b in sentences(text)] == [
        "It is 3.14:",
        "more or less.",
        "Really?!",
        "Yes",
        "and so on。",
        "好的",
    ]
    assert numbers("1,200 apples at 3.50, x2 and -7 or (8)") == ["1200", "3.50", "-7", "8"]


@pytest.mark.timeout(120)  # a square would take minutes
@pytest.mark.parametrize("rules", RULES)
def test_no_text_keeps_a_checker_busy(rules):
    for piece in HEAVY:
        assert judged(piece * (100_000 // len(piece)), rules)
