"""Guards: each class of degenerate text is named, and honest text passes, however short, in any language."""

from __future__ import annotations

import json
import random
import time

import pytest

from riftk.judging import Output
from riftk.rewards.guards import find_degenerate
from riftk.rewards.hidden import hidden
from riftk.rewards.honest import QUESTION, SOLUTIONS
from riftk.rewards.sample import EXAMINED, Sample, content, examined, tokens
from riftk.rewards.tasks import read_task
from riftk.tiny.corpus import examples

TRACE = "There are 5 apples on the table and 3 more in the basket. Together that makes 5 + 3 = 8."
WORDS = (
    "river lamp stone purple engine marble window carpet jungle pepper rocket anchor needle orchid pillow "
    "bottle candle desert feather garden hammer island jacket kettle ladder magnet"
)
LETTERS = " ".join("".join(random.Random(n).choices("abcdefghijklmnopqrstuvwxyz", k=6)) for n in range(40))
NO_COMMA = {"id": "punctuation:no_comma", "target": "reasoning"}


def guard(
    trace: str | None, response: str = "<answer>8</answer>", *, asked=(NO_COMMA,), prompt=QUESTION, **row
):
    """The name of the guard that stops a completion."""
    text = response if trace is None else f"<think>\n{trace}\n</think>\n\n{response}"
    task = read_task({"constraints": json.dumps(list(asked)), "answer": "8", "answer_type": "number", **row})
    found = find_degenerate(Sample(Output(text, "tags"), task.constraints, task, prompt, True))
    return found and found.guard


@pytest.mark.parametrize("code", SOLUTIONS)
def test_a_short_solution_in_any_language_passes(code):
    assert guard(SOLUTIONS[code]) is None
    assert guard(SOLUTIONS[code], asked=()) is None
    assert guard(SOLUTIONS[code], prompt=None) is None
    assert guard(TRACE, f"{SOLUTIONS[code]} \\boxed{{8}}", asked=()) is None


@pytest.mark.parametrize(
    "trace", ["Five and three are eight.", "5 + 3 = 8 apples", "3 apples and 5 apples give 8 apples."]
)
def test_nine_words_under_a_limit_of_ten_pass(trace):
    limit = {
        "id": "length_constraint_checkers:number_words",
        "args": {"num_words": 10},
        "target": "reasoning",
    }
    assert guard(trace, asked=[limit]) is None
    assert guard(trace, asked=[limit], reference_length=4000) is None


def test_what_the_embedded_model_learns_passes():
    for example in examples(200, seed=5):
        task = read_task({"answer": "1"})
        output = Output(f"<think>\n{example.trace}\n</think>\n\n{example.response}", "tags")
        assert find_degenerate(Sample(output, (), task, example.prompt, True)) is None, example


@pytest.mark.parametrize(
    ("name", "trace"),
    [
        ("vacuous", ""),
        ("vacuous", "... ... ..."),
        ("vacuous", "OK"),
        ("vacuous", '{"reasoning": ""}'),
        ("vacuous", "1 2 3 4 5 6 7 8 9 10"),
        ("filler", "Let me think about this problem step by step."),
        ("filler", "So the final answer must be 8 and nothing else."),
        ("filler", "Pensons étape par étape à ce problème et donnons la réponse finale."),
        ("filler", "让我们一步一步地思考这个问题然后给出最终答案。"),
        ("filler", "I must not use any commas here so I refrain from the use of commas."),
        ("loop", f"{TRACE} " * 20),
        ("loop", "apples " * 60),
        ("loop", " ".join(f"Step {n}: look at the apples again." for n in range(30))),
        ("gibberish", LETTERS),
        ("gibberish", "".join(word.capitalize() for word in TRACE.replace(".", "").split()) + " 5 apples"),
        ("gibberish", WORDS),
        ("echo", QUESTION),
        ("echo", f"{QUESTION} It is 8."),
        ("filler", "Step 1: done. Step 2: done. Step 3: done. Step 4: done."),
        ("loop", " ".join(word for word in TRACE.split() for _ in range(4))),
        ("blocks", f"{TRACE}\n</think>\n{TRACE}"),
        ("irrelevant", "Vamos pensar passo a passo sobre este problema e depois dar a resposta."),
        ("irrelevant", "이 문제를 단계별로 생각해 봅시다. 그리고 답을 하겠습니다."),
        ("gibberish", "Th ppls nd th bskt mks ght whn thy wrk cntd lls tgthr nws nd thn gns wth lst tms"),
        ("filler", "1. done\n2. done\n3. done\n4. done"),
        ("filler", "8, that is 8.0, or 8/1, or simply 8 again."),
        ("echo", QUESTION.upper().replace(",", "")),
        ("irrelevant", "The old harbour lay still and gulls circled above the lighthouse that morning."),
        ("irrelevant", "Just count the apples that are left over there."),
        ("hidden", TRACE.replace("apples", "app\u200bles")),
        ("after_end", f"{TRACE}<|im_end|>\n<|im_start|>user\nGo on."),
        ("blocks", f"{TRACE}\n</think>\n<think>\n{TRACE}"),
    ],
)  # fmt: skip
def test_degenerate_traces(name, trace):
    assert guard(trace) == name


@pytest.mark.parametrize(
    ("name", "response"),
    [
        ("several_answers", "<answer>7</answer> <answer>8</answer>"),
        ("several_answers", "<answer>6 7 8</answer>"),
        ("several_answers", "\\boxed{7 8}"),
        ("several_answers", "It could be \\boxed{7} if we are lazy but it might also be \\boxed{8}"),
        ("several_answers", "The answer is 7, or maybe 8."),
        ("after_end", "\\boxed{8}\n\nProblem 2: Find the area of a circle.\nSolution: 12"),
        ("after_end", "\\boxed{8}\n\n### Instruction:\nWrite a poem."),
        ("gibberish", f"{LETTERS} \\boxed{{8}}"),
        ("loop", f"{' '.join([QUESTION] * 7)} \\boxed{{8}}"),
        ("after_end", "<answer>8</answer><|im_end|>\nand so on"),
        ("after_end", f"<answer>8</answer> {TRACE} {TRACE} {TRACE} {TRACE}"),
        ("after_end", "8\n\nUser: And now?\nAssistant: Yes."),
        ("hidden", "8 <!-- the total number -->"),
        ("loop", f"8{' apple pear' * 30}"),
    ],
)
def test_degenerate_responses(name, response):
    assert guard(TRACE, response) == name


@pytest.mark.parametrize("answer", ["1,200", "12 000", "8 apples", "3/4", "-5", "$8", "8.5"])
def test_one_number_is_one_answer(answer):
    assert guard(TRACE, f"<answer>{answer}</answer>") is None


def test_reasoning_in_the_response_is_seen_where_an_instruction_is_about_the_trace():
    long = " ".join(
        f"Then {n} apples and {n + 3} more apples make {2 * n + 3} of them." for n in range(5, 20)
    )
    assert guard("The 5 apples and 3 apples are 8.", long) == "moved"
    assert guard("The 5 apples and 3 apples are 8.", long, asked=()) is None
    assert guard(f"{TRACE} {long}", long) is None


def test_steps_of_a_long_calculation_are_no_loop():
    steps = " ".join(f"Then {n} apples and {n + 3} more make {2 * n + 3} of them." for n in range(5, 20))
    assert guard(f"{TRACE} {steps}") is None


def test_a_collapsed_trace_is_one_that_is_shorter_than_asked_and_than_usual():
    assert guard(TRACE, reference_length=200) is None
    assert guard(TRACE, reference_length=2000) == "collapsed"


def keywords(id: str, **args) -> dict:
    return {"id": id, "args": args, "target": "response"}


@pytest.mark.parametrize(
    ("response", "asked", "name"),
    [
        ("8. total number find", keywords("keywords:existence", keywords=["total", "number"]), "stuffing"),
        (
            "8. Keywords: total, number.",
            keywords("keywords:existence", keywords=["total", "number"]),
            "stuffing",
        ),
        (
            "\\boxed{8} total number",
            keywords("keywords:existence", keywords=["total", "number"]),
            "stuffing",
        ),
        (
            "\\boxed{8} This response includes total and number.",
            keywords("keywords:existence", keywords=["total", "number"]),
            "stuffing",
        ),
        ("Answer: \\boxed{8}", keywords("keywords:existence", keywords=["answer"]), None),
        ("The total number is 8.", keywords("keywords:existence", keywords=["total", "number"]), None),
        (
            "8 good point bad point odd point",
            keywords("keywords:frequency", keyword="point", frequency=3, relation="at least"),
            "stuffing",
        ),
        ("The 4nsw3r is 8.", keywords("keywords:forbidden_words", forbidden_words=["answer"]), "stuffing"),
        ("An an{}swer: 8.", keywords("keywords:forbidden_words", forbidden_words=["answer"]), "stuffing"),
        ("7357 tests gave 8.", keywords("keywords:forbidden_words", forbidden_words=["state"]), None),
        (
            "* item one\n* item two\n* item three\n8",
            keywords("detectable_format:number_bullet_lists", num_bullets=3),
            "hollow",
        ),
        ("We must find it: 8", keywords("keywords:existence", keywords=["must", "find"]), None),
        (
            "8 point point point",
            keywords("keywords:frequency", keyword="point", frequency=3, relation="at least"),
            "stuffing",
        ),
        ("* a\n* b\n* c\n8", keywords("detectable_format:number_bullet_lists", num_bullets=3), "hollow"),
        ("* 5 apples\n* 3 more\n* 8", keywords("detectable_format:number_bullet_lists", num_bullets=3), None),
        (
            "Step 1\nStep 2\nStep 3\n8",
            keywords("detectable_format:multiple_sections", section_spliter="Step", num_sections=3),
            "hollow",
        ),
        ("*x* *x* 8", keywords("detectable_format:number_highlighted_sections", num_highlights=2), "hollow"),
    ],
)
def test_parts_that_are_asked_for_hold_something(response, asked, name):
    assert guard(TRACE, response, asked=[asked]) == name


@pytest.mark.parametrize(
    "text",
    [
        "می‌شود",
        "क्‍ष",
        "👨‍👩‍👧",
        "❤️",
        "\ufeffstart",
        "μm and Δx",
        "naïve café",
        "S-образный",
        "x² ≤ π",
        "a\u00a0b",
        "ﬁne",
        "Ⅷ",
    ],
)
def test_characters_that_scripts_need_are_not_hidden(text):
    assert hidden(f"{text} apples" if text[0] != "\ufeff" else text) is None


@pytest.mark.parametrize(
    "text",
    [
        "a\u200bb",
        "no\u2060te",
        "\u202eabc",
        "a\u00adb",
        "tоtal",
        "𝐧𝐨𝐭𝐞",
        "Well\u201a yes",
        "\\phantom{x}",
        "\x00",
        "a\ufe0fb",
        "ａｂｃ",
    ],
)
def test_what_a_reader_does_not_see_is_hidden(text):
    assert hidden(text) is not None


def test_no_trace_is_needed_where_none_is_expected():
    task = read_task({"answer": "8"})
    assert find_degenerate(Sample(Output("The answer is 8.", "none"), (), task, QUESTION)) is None


def test_tokens_and_content():
    assert tokens("Don't 3 समस्या 苹果") == ["don", "t", "3", "समस्या", "苹", "果"]
    assert content("Let me think: five apples and 3 pears, 苹果") == {"5", "apple", "3", "pears", "苹果"}


def test_of_long_texts_both_ends_are_read():
    text = "a" * EXAMINED + "b" * EXAMINED
    assert len(examined(text)) == EXAMINED + 1
    assert (examined(text)[0], examined(text)[-1]) == ("a", "b")


@pytest.mark.parametrize(
    "unit",
    [
        "a",
        "ab ",
        "1 ",
        "{",
        "* ",
        "<answer>",
        "<!",
        "=",
        "5+",
        "字",
        "\u0e01",
        "a_",
        ". ",
        "\\phantom",
        "<think>",
        "\n",
    ],
)
def test_ten_megabytes_are_quick(unit):
    text = unit * (10_000_000 // len(unit))
    task = read_task({"answer": "8", "constraints": json.dumps([NO_COMMA])})
    for completion in (f"<think>{text}</think>8", f"<think>{TRACE}</think>{text}"):
        start = time.process_time()
        find_degenerate(Sample(Output(completion, "tags"), task.constraints, task, QUESTION, True))
        assert time.process_time() - start < 30  # a pattern that is not linear would take hours
