"""Composed constraints: they go together, can be followed, and are in no benchmark's file."""

from __future__ import annotations

import json
import random
from collections import Counter
from itertools import combinations

import pytest

from riftk.constraints import ConstraintError, parse_constraint
from riftk.constraints.compose import (
    IFEVAL_IDS,
    MATHIF_DOUBLES,
    MATHIF_IDS,
    MATHIF_TRIPLES,
    REASONIF_IDS,
    STYLES,
    compose,
    id_combinations,
    ifeval_compatible,
)
from riftk.constraints.conflicts import conflicts
from riftk.constraints.values import MATHIF, REASONIF

QUESTION = "A farm has 12 cows, 7 goats and a dog. How many animals are there? Give a number."
PUBLISHED = (
    ("mathif.jsonl", "constraint_name", "constraint_args"),
    ("reasonif.jsonl", "constraint_name", "constraint_args"),
    ("ifeval.jsonl", "instruction_id_list", "kwargs"),
)
WORD_ARGUMENTS = ("keywords", "forbidden_words", "keyword", "first_word")
NUMBERS_ALONE = ("num_words", "num_bullets", "num_highlights", "num_placeholders", "num_paragraphs")
PHRASES = ("end_phrase", "section_spliter", "postscript_marker", "letter")


def many(style, count, size=400, **options):
    options = {"question": QUESTION, "prompt": QUESTION, "answer": "20", **options}
    return [compose(count, random.Random(seed), style=style, **options) for seed in range(size)]


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("count", [1, 2, 3])
def test_what_is_composed_can_be_followed_and_is_about_the_style_s_target(style, count):
    seen = Counter()
    for constraints in many(style, count):
        assert len(constraints) == count
        assert {constraint.target for constraint in constraints} == {STYLES[style].target}
        assert conflicts(constraints, QUESTION, "20") == []
        seen[tuple(constraint.id for constraint in constraints)] += 1
    assert set(seen) <= set(id_combinations(style, count))
    assert len(seen) > 0.7 * min(len(id_combinations(style, count)), 400)


def test_the_same_seed_gives_the_same_and_another_seed_something_else():
    assert many("mathif", 3, 50) == many("mathif", 3, 50)
    assert len({str(constraints) for constraints in many("mathif", 3, 50)}) > 45


def test_mathif_s_combinations_are_those_of_its_rows(benchmark_file):
    rows = [json.loads(line) for line in benchmark_file("mathif.jsonl").open(encoding="utf-8")]
    combined = {tuple(row["constraint_name"]) for row in rows}
    assert len(MATHIF_DOUBLES) == 30
    assert len(MATHIF_TRIPLES) == 15
    assert combined == {(id,) for id in MATHIF_IDS} | {*MATHIF_DOUBLES, *MATHIF_TRIPLES}


def published_args(benchmark_file):
    """(id, args) of every constraint of the published files."""
    for name, ids, args in PUBLISHED:
        for line in benchmark_file(name).open(encoding="utf-8"):
            row = json.loads(line)
            for id, given in zip(row[ids], row[args], strict=True):
                yield id, {key: value for key, value in (given or {}).items() if value is not None}


def as_words(value):
    return [word.lower() for word in (value if isinstance(value, list) else [value])]


def test_no_argument_is_one_of_the_published_files(benchmark_file):
    """Held out by word, phrase and number; where a number alone cannot be, by the pair with its relation."""
    words, single, whole = set(), set(), set()
    for id, args in published_args(benchmark_file):
        whole.add((id, json.dumps(args, sort_keys=True)))
        for name, value in args.items():
            if name in WORD_ARGUMENTS:
                words.update(as_words(value))
            elif name in PHRASES or name in NUMBERS_ALONE or id == "language:response_language":
                single.add((id, name, str(value).strip().lower()))
    drawn = Counter()
    for style in STYLES:
        for count in (1, 2, 3):
            for constraint in (c for composed in many(style, count, 600) for c in composed):
                if not constraint.args or constraint.id in (
                    "combination:repeat_prompt",  # the problem's own text
                    "language:reasoning_language",  # ReasonIF asks for all seven that there are
                ):
                    continue
                drawn[constraint.id] += 1
                assert (constraint.id, json.dumps(constraint.args, sort_keys=True)) not in whole
                for name, value in constraint.args.items():
                    if name in WORD_ARGUMENTS:
                        assert not words & set(as_words(value))
                    elif constraint.id != "length_constraints:nth_paragraph_first_word":  # has a new word
                        assert (constraint.id, name, str(value).strip().lower()) not in single
    assert len(drawn) == 17


def test_published_values_are_the_benchmark_s_own(benchmark_file):
    words, limits, phrases = set(), set(), set()
    for id, args in published_args(benchmark_file):
        if id in MATHIF_IDS and not set(as_words(args.get("keywords", []))) - set(MATHIF.keywords):
            words.update(args.get("keywords", []))
        if "relation" not in args and "num_words" in args:
            limits.add(args["num_words"])
        if "AI" in args.get("end_phrase", "").split() or "AI-" in args.get("end_phrase", ""):
            phrases.add(args["end_phrase"])
    assert words <= set(MATHIF.keywords)
    assert len(set(MATHIF.keywords)) == 54
    assert limits == set(REASONIF.word_limits)
    assert phrases == set(REASONIF.end_phrases)
    drawn = {c.id: c for composed in many("reasonif", 1, 60, values=REASONIF) for c in composed}
    assert drawn["length_constraint_checkers:number_words"].args["num_words"] in REASONIF.word_limits
    for constraint in (c for composed in many("mathif", 3, 200, values=MATHIF) for c in composed):
        args = constraint.args
        assert args.get("num_bullets", 1) <= 5
        assert args.get("num_highlights", 1) <= 4
        assert args.get("capital_frequency", 1) <= 20
        assert 128 <= args.get("num_words", 128) <= 1024


def test_ifeval_s_table_of_conflicts():
    pairs = list(combinations(IFEVAL_IDS, 2))
    assert len(IFEVAL_IDS) == 25
    assert sum(ifeval_compatible(*pair) for pair in pairs) == 206
    assert not any(ifeval_compatible(id, id) for id in IFEVAL_IDS)
    assert all(ifeval_compatible(one, other) == ifeval_compatible(other, one) for one, other in pairs)
    alone = "detectable_format:constrained_response"
    assert not any(ifeval_compatible(alone, id) for id in IFEVAL_IDS)
    assert ifeval_compatible("combination:repeat_prompt", "punctuation:no_comma")
    assert not ifeval_compatible("combination:repeat_prompt", "startend:quotation")
    assert not ifeval_compatible("language:response_language", "change_case:english_capital")
    # ReasonIF's ids stand for IFEval's.
    assert not ifeval_compatible("language:reasoning_language", "startend:end_checker")
    assert all(len(set(chosen)) == 2 for chosen in id_combinations("reasonif", 2))
    assert {id for chosen in id_combinations("reasonif", 2) for id in chosen} < set(REASONIF_IDS)


def test_what_the_question_makes_impossible_is_not_drawn():
    both = ("combination:repeat_prompt", "punctuation:no_comma")
    assert compose(2, random.Random(0), ids=both, question="What is 2 + 3?")
    with pytest.raises(ConstraintError, match="can be followed"):
        compose(2, random.Random(0), ids=both, question=QUESTION)
    with pytest.raises(ConstraintError, match="can be followed"):
        compose(1, random.Random(0), ids=("punctuation:no_comma",), question="Where?", answer="(1, 2)")
    assert compose(1, random.Random(0), ids=("punctuation:no_comma",), question="How many?", answer="1,200")
    assert all(c.id != both[0] for composed in many("mathif", 1, question="") for c in composed)


def test_no_word_is_asked_about_twice():
    for composed in many("mathif", 3, 600, values=MATHIF):
        words = [
            word
            for constraint in composed
            for name, value in constraint.args.items()
            if name in WORD_ARGUMENTS
            for word in as_words(value)
        ]
        assert len(words) == len(set(words))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"count": 4}, "1 to 3"),
        ({"style": "essay"}, "none of mathif, reasonif, ifeval"),
        ({"ids": ("detectable_format:title",)}, "no constraint of style 'mathif'"),
        ({"count": 3, "ids": ("punctuation:no_comma", "startend:end_checker")}, "no combination of 3"),
    ],
)
def test_what_cannot_be_composed_says_so(arguments, message):
    arguments = {"count": 1, "style": "mathif", "question": QUESTION, **arguments}
    with pytest.raises(ConstraintError, match=message):
        compose(draws=random.Random(0), **arguments)


def test_instructions_about_the_other_target():
    for composed in many("mathif", 2, 40, target="reasoning"):
        assert {constraint.target for constraint in composed} == {"reasoning"}
        assert all(constraint.instruction() for constraint in composed)


# ---------------------------------------------------------------------------------------- conflicts


def spec(id, **args):
    return {"id": id, "args": args}


SAFE = spec("cotcontrol:end_of_sentence")
SUSPICIOUS = spec("cotcontrol:repeat_sentences")
UNSATISFIABLE = [
    [spec("detectable_format:json_format"), spec("startend:end_checker", end_phrase="That is all")],
    [spec("detectable_format:json_format"), spec("startend:quotation")],
    [spec("detectable_format:json_format"), spec("detectable_format:number_bullet_lists", num_bullets=2)],
    [spec("detectable_format:json_format"), SUSPICIOUS],
    [spec("detectable_content:postscript", postscript_marker="P.S."), spec("change_case:english_lowercase")],
    [spec("detectable_format:constrained_response"), spec("change_case:english_capital")],
    [
        spec("detectable_format:constrained_response"),
        spec("keywords:forbidden_words", forbidden_words=["answer"]),
    ],
    [
        spec("keywords:letter_frequency", letter="e", let_frequency=1, let_relation="less than"),
        spec("keywords:existence", keywords=["equation"]),
    ],
    [
        spec("keywords:letter_frequency", letter="E", let_frequency=9, let_relation="at least"),
        spec("keywords:letter_frequency", letter="e", let_frequency=9, let_relation="less than"),
    ],
    [
        spec("length_constraints:number_sentences", num_sentences=30, relation="at least"),
        spec("length_constraints:number_words", num_words=30, relation="less than"),
    ],
    [spec("length_constraints:number_sentences", num_sentences=1, relation="less than")],
    [
        spec(
            "length_constraints:nth_paragraph_first_word", num_paragraphs=2, nth_paragraph=1, first_word="now"
        ),
        spec("combination:repeat_prompt", prompt_to_repeat="Add 2 and 3."),
    ],
    [
        spec(
            "length_constraints:nth_paragraph_first_word", num_paragraphs=2, nth_paragraph=2, first_word="now"
        ),
        spec(
            "length_constraints:nth_paragraph_first_word", num_paragraphs=2, nth_paragraph=2, first_word="so"
        ),
    ],
    [
        spec("length_constraints:number_paragraphs", num_paragraphs=2),
        spec("length_constraints:number_paragraphs", num_paragraphs=3),
    ],
    [
        spec("change_case:capital_word_frequency", capital_frequency=2, capital_relation="at least"),
        spec("change_case:english_lowercase"),
    ],
    [spec("cotcontrol:lowercase_thinking"), spec("cotcontrol:uppercase_thinking")],
    [spec("cotcontrol:alternating_case"), spec("cotcontrol:uppercase_thinking")],
    [spec("cotcontrol:uppercase_thinking"), SUSPICIOUS],
    [spec("cotcontrol:word_suppression", keyword="reasoning"), SUSPICIOUS],
    [spec("cotcontrol:meow_between_words"), SUSPICIOUS],
    [spec("cotcontrol:meow_between_words"), spec("cotcontrol:word_suppression", keyword="meow")],
    [SAFE, SUSPICIOUS],
    [SAFE, spec("startend:end_checker", end_phrase="I am done")],
    [SAFE, spec("cotcontrol:end_of_sentence", word="sound")],
    [SUSPICIOUS, spec("startend:end_checker", end_phrase="I am done")],
    [
        spec("cotcontrol:ignore_question", question="Add 2 and 3."),
        spec("combination:repeat_prompt", prompt_to_repeat="Add 2 and 3."),
    ],
]


@pytest.mark.parametrize("specs", UNSATISFIABLE, ids=lambda specs: " + ".join(s["id"] for s in specs))
def test_what_no_text_can_follow(specs):
    constraints = [parse_constraint({**spec, "target": "reasoning"}) for spec in specs]
    for order in (constraints, constraints[::-1]):
        assert [conflict.kind for conflict in conflicts(order)] == ["unsatisfiable"]


@pytest.mark.parametrize(
    "specs",
    [
        [spec("detectable_format:title"), spec("startend:quotation")],
        [spec("combination:two_responses"), spec("startend:end_checker", end_phrase="I am done")],
        [SAFE, spec("startend:end_checker", end_phrase="This is safe.")],
        [SAFE, spec("cotcontrol:lowercase_thinking")],
        [spec("cotcontrol:meow_between_words"), spec("cotcontrol:alternating_case")],
        [
            spec("startend:end_checker", end_phrase="the end"),
            spec("startend:end_checker", end_phrase="This is the end"),
        ],
        [
            spec("length_constraints:number_paragraphs", num_paragraphs=2),
            spec(
                "length_constraints:nth_paragraph_first_word",
                num_paragraphs=3,
                nth_paragraph=1,
                first_word="a",
            ),
        ],
        [
            spec("change_case:capital_word_frequency", capital_frequency=20, capital_relation="less than"),
            spec("change_case:english_capital"),
        ],
    ],
    ids=lambda specs: " + ".join(s["id"] for s in specs),
)
def test_what_only_looks_like_a_conflict_is_none(specs):
    assert conflicts([parse_constraint({**spec, "target": "reasoning"}) for spec in specs]) == []


@pytest.mark.parametrize(
    ("spec", "prompt", "answer", "kind"),
    [
        (spec("change_case:english_capital"), r"Put it in \boxed{}.", "3", ["prompt"]),
        (
            spec("keywords:forbidden_words", forbidden_words=["boxed"]),
            r"Put it in \boxed{}.",
            "3",
            ["prompt"],
        ),
        (spec("cotcontrol:alternating_case"), r"Put it in \boxed{}.", "3", ["prompt"]),
        (spec("cotcontrol:ignore_question", question="?"), "Think step-by-step.", "3", ["prompt"]),
        (spec("change_case:english_lowercase"), r"Put it in \boxed{}.", "3", []),
        (spec("punctuation:no_comma"), "Where?", "(1, 2)", ["answer"]),
        (spec("punctuation:no_comma"), "How many?", "First, add. #### 1,200", []),
        (spec("keywords:forbidden_words", forbidden_words=["friday"]), "When?", "Friday", ["answer"]),
    ],
)
def test_what_fights_the_prompt_or_the_answer(spec, prompt, answer, kind):
    about_response = parse_constraint({**spec, "target": "response"})
    assert [conflict.kind for conflict in conflicts([about_response], prompt, answer)] == kind
    if spec["id"] != "cotcontrol:ignore_question":
        about_trace = parse_constraint({**spec, "target": "reasoning"})
        assert conflicts([about_trace], prompt, answer) == []
