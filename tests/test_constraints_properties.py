"""What holds for every text: checks never raise, are deterministic, and are linear in the length."""

from __future__ import annotations

import time
from importlib.util import find_spec
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from riftk.constraints import check, check_all, list_constraints
from riftk.constraints.published import RULEBOOKS
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

ARGUMENTS = {
    "language:reasoning_language": {"language": "fr"},
    "length_constraint_checkers:number_words": {"num_words": 5, "relation": "less than"},
    "startend:end_checker": {"end_phrase": "THE END"},
    "keywords:existence": {"keywords": ["word", "苹果"]},
    "keywords:frequency": {"keyword": "word", "frequency": 2, "relation": "less than"},
    "keywords:forbidden_words": {"forbidden_words": ["five", "$5"]},
    "language:response_language": {"language": "ru"},
    "detectable_format:number_bullet_lists": {"num_bullets": 2},
    "detectable_format:number_highlighted_sections": {"num_highlights": 1},
    "detectable_format:multiple_sections": {"section_spliter": "Section", "num_sections": 1},
    "combination:repeat_prompt": {"prompt_to_repeat": "word we are five"},
    "change_case:capital_word_frequency": {"capital_frequency": 2, "capital_relation": "less than"},
    "keywords:letter_frequency": {"letter": "e", "let_frequency": 2, "let_relation": "less than"},
    "length_constraints:number_words": {"num_words": 3, "relation": "at least"},
    "length_constraints:number_sentences": {"num_sentences": 2, "relation": "less than"},
    "length_constraints:number_paragraphs": {"num_paragraphs": 2},
    "length_constraints:nth_paragraph_first_word": {
        "num_paragraphs": 2, "nth_paragraph": 1, "first_word": "word",
    },
    "detectable_content:number_placeholders": {"num_placeholders": 1},
    "detectable_content:postscript": {"postscript_marker": "P.S."},
    "cotcontrol:word_suppression": {"keyword": "word"},
    "cotcontrol:multiple_word_suppression": {"keyword": "word, five", "synonyms": ["苹果"]},
}  # fmt: skip
JUDGED = "cotcontrol:ignore_question"  # asks a model
SPECS = [{"id": id, "args": ARGUMENTS.get(id, {})} for id in list_constraints() if id != JUDGED]
RULES = ["robust", *RULEBOOKS]
# Published sentence rules need a package's tables; without it everything else is checked.
NO_PUNKT = {"length_constraints:number_sentences"} if find_spec("punkt") is None else set()
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


def specs_of(rules: str) -> list[dict]:
    if rules == "robust":
        return SPECS
    return [spec for spec in SPECS if spec["id"] in RULEBOOKS[rules] and spec["id"] not in NO_PUNKT]


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


HEAVY = [
    "\n", "*", "{", "[", '{"a":', '"', '\\"', "a", "我", "word ", "$", "$a ", "`", "``` ", "\\(",
    "\\begin{x}", "<a ", "\\,", ",", ". ", "1.", "http://a ", "A", "\ud800", "* a\n", "-\n", "Section 1 ",
    "_a ", "*a ", "--", "<<", "<<a", ">>", "]", "[a]", "***", " *** ", "\n\n", "!", "?\u00a0", ".)", ". .",
    "1a", "p.", "a\u00a0", "meow a ", "=", "aB", "\"", "e.g. ", "A. ", "# a\n",
]  # fmt: skip


def seconds(text: str, rules: str) -> float:
    start = time.process_time()
    judged(text, rules)
    return time.process_time() - start


@pytest.mark.parametrize("rules", RULES)
def test_no_text_is_slow(rules):
    """60 and 120 kB of one piece: all checks together take in proportion (a square: four times as long)."""
    judged("load the models first", rules)
    for piece in HEAVY:
        small, large = (piece * (size // len(piece)) for size in (60_000, 120_000))
        for _ in range(3):  # a busy machine only ever adds time; a square fails each time
            first, second = seconds(small, rules), seconds(large, rules)
            if second < 3.2 * first + 0.15:
                break
        assert second < 3.2 * first + 0.15, (piece, first, second)
