"""What the published evaluators borrow from other packages: langdetect's choice, NLTK's word tokens."""

from __future__ import annotations

import subprocess
import sys

import pytest

from riftk.constraints import check
from riftk.constraints.published.nltk_capitals import capital_tokens
from riftk.constraints.published.seeded_langdetect import detect

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
import sys
from langdetect import DetectorFactory, LangDetectException, detect
DetectorFactory.seed = 0
for text in eval(sys.stdin.read()):
    try:
        print(detect(text))
    except LangDetectException:
        print(None)
"""


def test_language_is_that_of_the_seeded_package():
    pytest.importorskip("langdetect")
    run = subprocess.run(
        [sys.executable, "-c", PACKAGE], input=ascii(TEXTS), capture_output=True, text=True, check=True
    )
    assert [str(detect(text)) for text in TEXTS] == run.stdout.split()


@pytest.mark.parametrize(
    ("text", "count"),  # as nltk 3.9.1 has it
    [
        ("This is VERY IMPORTANT indeed", 2),
        ("A cat and I walk", 2),
        ("We CANNOT do it. GIMME that; 'TIS OURS", 7),
        ("IT'S done, WE'LL see, DON'T", 6),
        ("O'K and 'S", 3),
        ("$F=MA$ and $E=MC$ and X1", 3),
        ("**NOTE** A,B but A,1 and A:B, C--D", 8),
        ("FIRST—SECOND WELL-KNOWN", 2),
        ('(A)(B) "C"D A..B a.B', 6),
        ("É ß Ω", 2),
    ],
)
def test_capital_words_are_nltk_s(text, count):
    assert capital_tokens(text) == count


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
