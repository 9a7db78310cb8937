"""Finding answers in responses, and comparing them with gold answers."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from riftk.grading import (
    ANSWER_TYPES,
    Number,
    extract_answer,
    grade,
    has_complete_answer_tag,
    parse_number,
    same_number,
    strip_answer_tags,
)

GOLDEN = Path(__file__).parent / "golden"


def cases(name):
    return [json.loads(line) for line in (GOLDEN / name).read_text(encoding="utf-8").splitlines()]


def correct(answer, gold, answer_type="math"):
    return grade(f"So we get\n\n\\boxed{{{answer}}}", gold, answer_type).correct


@pytest.mark.parametrize("case", cases("reasonif_answers.jsonl"), ids=lambda case: case["case"])
def test_golden_reasonif_answers(case):
    response, gold, answer_type = case["response"], case["gold"], case["answer_type"]
    assert grade(response, gold, answer_type).correct == case["robust"]
    if answer_type == "number":  # the engine of "math" reads numbers no differently
        assert grade(response, gold, "math").correct == case["robust"]
    if case["official"]:
        published = grade(response, gold, answer_type, rules="reasonif")
        assert {"extracted": published.extracted, "correct": published.correct} == case["official"]


@pytest.mark.parametrize("case", cases("mathif_answer_pairs.jsonl"), ids=lambda case: case["case"])
def test_golden_mathif_answer_pairs(case):
    assert grade(case["response"], case["gold"]).correct == case["robust"]


@pytest.mark.parametrize("case", cases("iffr_answers.jsonl"), ids=lambda case: case["case"])
def test_golden_iffr_answers(case):
    text, answer_type = case["text"], case["answer_type"]
    if "correct" in case:
        assert grade(text, case["gold"], answer_type).correct == case["correct"]
    elif answer_type != "number":
        assert extract_answer(text, answer_type) == case["robust"]
    elif case["robust"] is None:
        assert not grade(text, "30", answer_type).correct
    else:
        assert grade(text, str(case["robust"]), answer_type).correct


# --- extraction ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("response", "answer"),
    [
        ("<answer>6</answer> wait <answer>7</answer>", "7"),
        ("I place it inside `<answer>` and `</answer>`.\n<answer>7</answer>", "7"),
        ("<answer>7</answer> as asked: only inside `<answer>` and `</answer>`", "7"),
        ("<answer>your final answer</answer> hm <answer>\n7\n</answer>", "7"),
        ("<answer> I use <answer>7</answer>", "7"),
        ("<ANSWER>7</ANSWER>", "7"),
        ("<answer>It is \\boxed{7}</answer> \\boxed{8}", "7"),
        ("\\boxed{6} no, \\boxed{7}", "7"),
        ("\\boxed{\\frac{1}{2}} follows", "\\frac{1}{2}"),
        ("\\BOXED{7} AND \\fbox{8}", "8"),
        ("\\boxed 7", "7"),
        ("\\boxed{7} then \\boxed{8 and cut", "7"),
        ("work\n#### 1,234", "1,234"),
        ("#### Step 3\nShe cannot eat 2 of them, so 7 are left.", "7"),
        ("The answer is 6. No, the answer is 7 apples.", "7 apples"),
        ("**Final Answer:** 7", "7"),
        ("The final answer to the question should be $\\frac{1}{2}$.", "\\frac{1}{2}"),
        ("\\boxed{7}\n\nThe answer is consistent with a search.", "7"),
        ("He has 3 apples. She has 4 pears. They have 7.", "7"),
        ("The total is 8.\n\nIs there anything else I can help with?", "8"),
        ("<answer></answer> so 7", "7"),
        ("seven", "7"),
        ("\\(16\\)", "16"),
        ("The result: \\(-16\\).", "-16"),
        ("\\[\n16\n\\]", "16"),
        ("That makes \\(16\\) apples.", "16"),
        ("So it is \\(x^2\\).", "x^2"),
        ("It is \\(\\frac{1}{2}\\) in all, see \\(x\\) above.", "x"),
        ("\\[x^2 + y\\]", "x^2 + y"),
    ],
)
def test_where_the_answer_is_found(response, answer):
    assert extract_answer(response, "math") == answer


@pytest.mark.parametrize(
    "response", ["", " ", "I do not know.", "I give up, but note that 60 + 2 = 62.", "Hello there"]
)
def test_where_there_is_none(response):
    assert extract_answer(response, "math") is None
    assert not grade(response, "62").correct


def test_only_complete_tags_with_something_in_them_count():
    assert has_complete_answer_tag("so <answer>7</answer>")
    assert not has_complete_answer_tag("so <answer>7")
    assert not has_complete_answer_tag("<answer> </answer>")
    assert not has_complete_answer_tag("inside the tags `<answer>` and `</answer>`")
    assert not has_complete_answer_tag("</answer>7<answer>")


def test_tags_are_stripped_and_the_rest_stays():
    assert strip_answer_tags('<answer>\n{"a": 1}\n</answer>\n') == '{"a": 1}'
    assert strip_answer_tags("THE ANSWER IS <answer>7</answer>, SIR") == "THE ANSWER IS 7, SIR"


# --- numbers ------------------------------------------------------------------------------------------------

NUMBERS = {
    "$400 000 - $282 000 = $118 000": 118000, "He gets 9 + 6 = 15 liters of the 24 liters": 15,
    "3 + 4 = 7, so 5 are left": 5,
    "1,234,567.5": Fraction("1234567.5"), "12 000 dollars": 12000, "1.234.567": 1234567,
    "$2 million": 2_000_000, "1\\frac{1}{2}": Fraction(3, 2), "1½": Fraction(3, 2),
    "-1 1/2": Fraction(-3, 2), "\\frac{-1}{2}": Fraction(-1, 2),
    "2.88 \\times 10^{16}": Fraction("2.88e16"), "3 × 10⁻²": Fraction("0.03"), "\\$45{,}000": 45000,
    "-$5": -5, "60 km/h": 60, "5 m/s^2": 5, "16 grams of CO2": 16, "25 years old": 25, "twenty-one": 21,
    "GPT-4 says 5": 5, "one hundred and five": 105, "two thirds": Fraction(2, 3), "half": Fraction(1, 2),
    "negative five": -5, "2 x 8 = 16": 16, "Profit - 3": 3, "0.5 or 1/2": Fraction(1, 2), "16!": 16,
    "16 (because 8 * 2)": 16, "Answer: -3": -3, "１２": 12, "**8**": 8, "4210": 4210, "2^{10}": 1024,
    "(3+4)*2": 14,
}  # fmt: skip
NO_NUMBERS = [
    "5, 7", "5 or 7", "x = 5, y = 7", "between 3 and 5", "3 to 5", "3–5", "3:30", "2024-01-05",
    "1/2/2024", "2x", "1/0", "3\\sqrt{2}", "2\\pi", "x+3", "GPT-4", "no one knows what it is",
    "two or three", "9^9^9^9^9", "9" * 500, "4210_5", "",
    "(((((((((((((((((((((((((1)))))))))))))))))))))))))", "\\sqrt{2}", "√16",
]  # fmt: skip


@pytest.mark.parametrize(("text", "value"), NUMBERS.items())
def test_numbers_are_read_exactly(text, value):
    assert parse_number(text).value == value


@pytest.mark.parametrize("text", NO_NUMBERS)
def test_what_is_no_number_says_why(text):
    number = parse_number(text)
    assert number.value is None
    assert number.reason


def test_equality_of_numbers_is_exact_but_for_long_decimals_and_percent():
    same = {("0.30000000000000004", "0.3"), ("1.8333333333333335", "11/6"), ("49%", "0.49"), ("49%", "49")}
    different = {
        ("907", "907.05"),
        ("0.33", "1/3"),
        ("4900%", "49%"),
        ("1000000", "1000000.5"),
        ("504", "5.04"),
    }
    for a, b in same | different:
        assert same_number(parse_number(a), parse_number(b)) == ((a, b) in same), (a, b)
    assert not same_number(Number(), Number())


@settings(deadline=None)
@given(
    st.integers(-(10**12), 10**12),
    st.sampled_from(["{}", "{:,}", "${:,}", "{} apples", "\\boxed{{{}}}", "x = {}", "{}."]),
)
def test_integers_survive_every_way_of_writing_them(number, form):
    assert grade(form.format(number), str(number), "number").correct
    assert not grade(form.format(number), str(number + 1), "number").correct


@settings(deadline=None)
@given(
    st.fractions(max_denominator=1000), st.sampled_from(["{n}/{d}", "\\frac{{{n}}}{{{d}}}", "({n})/({d})"])
)
def test_fractions_survive_every_way_of_writing_them(number, form):
    text = form.format(n=number.numerator, d=number.denominator)
    assert parse_number(text, strict=True).value == number


# --- mathematical answers -----------------------------------------------------------------------------------

EQUAL = [
    ("-2,-1,2", "-1,2,-2"), ("\\{-2,-1,2\\}", "-1,2,-2"), ("\\pm 3", "3,-3"),
    ("1331, 1728", "1331 \\text{ and } 1728"),
    ("x=\\frac{-1\\pm\\sqrt{5}}{2}", "\\frac{-1+\\sqrt{5}}{2}, \\frac{-1-\\sqrt{5}}{2}"),
    ("-2 \\le x \\le 7", "[-2,7]"), ("[3,\\infty)", "x \\geq 3"), ("x>3", "3<x"),
    ("\\left(\\frac{1}{2},3\\right)", "(0.5,3)"), ("(1,2)", "x \\in (1, 2)"),
    ("(-\\infty, 0) \\cup (1,2)", "(1,2) \\cup (-\\infty,0)"), ("\\sqrt{117}", "3\\sqrt{13}"),
    ("f(x)=2x+1", "2x+1"), ("3\\sqrt{13} \\text{ units}", "3\\sqrt{13}"), ("(x+1)^2", "x^2+2x+1"),
    ("\\ln 8", "3 \\ln 2"), ("-5i+6", "6-5i"), ("\\cos 2x", "1-2\\sin^2 x"), ("e^{i\\pi}", "-1"),
    ("\\binom{5}{2}", "10"), ("\\text{ten}", "10"), ("(C)", "\\text{(C)}"),
    ("\\begin{bmatrix}1&2\\\\3&4\\end{bmatrix}", "\\begin{pmatrix} 1 & 2 \\\\ 3 & 4 \\end{pmatrix}"),
    ("EAST", "\\text{east}"), ("2 \\sqrt{r^2}", "2r"), ("y^2+x^2=1", "x^2+y^2=1"),
    ("14\\text{ cm}^2", "14"), ("\\FRAC{1}{2}", "0.5"), ("2^{2^{3}}", "256"),
]  # fmt: skip
UNEQUAL = [
    ("(-\\infty,-5]", "(-\\infty,-5)"), ("[2,4]", "$(2,4)$"), ("(1,2)", "(2,1)"), ("x>3", "x \\geq 3"),
    ("y=5", "x=5"), ("101_2", "101_3"), ("1728", "1331 \\text{ and } 1728"), ("0,1", "19,0,1"),
    ("3", "\\pm 3"), ("5 or 7", "5"), ("D", "\\text{(C)}"), ("Fri", "\\text{Friday}"),
    ("\\text{Evenly}", "\\text{Evelyn}"), ("para", "parameter"), ("3.14", "\\pi"), ("q-p", "p - q"),
    ("\\frac{1}{2004!}", "\\frac{1}{2006!}"), ("|x|", "x"), ("6+5i", "6-5i"), ("x \\neq 3", "3"),
    ("1", "x^2+y^2=1"), ("x", "y"),
    ("\\begin{pmatrix}1&2\\\\3&5\\end{pmatrix}", "\\begin{pmatrix}1&2\\\\3&4\\end{pmatrix}"),
    ("\\infty", "-\\infty"), ("(-\\infty, 0) \\cup (1,2]", "(1,2) \\cup (-\\infty,0)"),
    ("\\frac{1}{0}", "5"), ("5 \\text{ or } 7", "7"),
]  # fmt: skip


@pytest.mark.parametrize(("answer", "gold"), EQUAL)
def test_equal_answers(answer, gold):
    assert correct(answer, gold)


@pytest.mark.parametrize(("answer", "gold"), UNEQUAL)
def test_unequal_answers(answer, gold):
    assert not correct(answer, gold)


@pytest.mark.parametrize(
    "gold", ["081", " 81", "$81$", "Work <<9*9=81>>81\n#### 81", "\\boxed{81}", "81.", "+81"]
)
def test_golds_are_read_in_the_forms_of_their_data_sets(gold):
    assert grade("<answer>81</answer>", gold).correct
    assert grade("<answer>81</answer>", gold, "number").correct


def test_the_trace_is_passed_over_and_an_open_one_is_no_answer():
    assert grade("<think>\\boxed{6}</think>\\boxed{7}", "7").correct
    assert not grade("<think>\\boxed{7}</think>\\boxed{6}", "7").correct
    verdict = grade("<think>so \\boxed{7}", "7")
    assert (verdict.correct, verdict.extracted) == (False, None)
    assert "never closes" in verdict.reason


# --- choices and labels -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("response", "letter"),
    [
        ("The answer is (B), not C.", "B"),
        ("B. Sound and heat", "B"),
        ("I think option d fits best", "D"),
        ("\\boxed{\\text{C}}", "C"),
        ("<answer>b</answer> although A and C are close", "B"),
        ("A or B", None),
        ("A is right because it conducts heat", "A"),
        ("Options A and C are wrong, so option B it is; the answer: B", "B"),
        ("A good question", None),
        ("", None),
        ("<answer>sound and heat</answer>", None),
        ("B\n\nExplanation: A is wrong because C is an element.", "B"),
        ("**B**\n\n**Explanation:** Option A is wrong, and the answer A is, too.", "B"),
        ("(B) sound. Explanation: A would need a wire.", "B"),
        ("B\n\nA would need a wire, and C melts.", "B"),
        ("B\n\nOption A is wrong.", "B"),
        ("B\n\nExplanation: " + "A is no metal and C melts. " * 200, "B"),
        ("B\n\nThat was too quick. The answer is C.", "C"),
        ("B\n\nExplanation: A melts.\n\nFinal answer: C", "C"),
        ("B\n\nExplanation: " + "A is no metal and D melts. " * 200 + "\nFinal answer: C", "C"),
        ("Explanation: B melts.\n\nAnswer: A", "A"),
        ("Option A is wrong. Option C fits.", "C"),
        ("A or B\n\nExplanation: both melt, and C does not.", None),
        ("C melts before any other, D then, A and B never do so at all here.\nReason: A is a metal.", None),
    ],
)
def test_the_letter_that_is_chosen(response, letter):
    assert extract_answer(response, "choice") == letter


def test_more_options_than_four_are_known_from_the_gold_answer():
    assert grade("The answer is G.", "G", "choice").correct
    assert grade("(Q) Argon", "Q", "choice").correct
    assert not grade("(R) Argon", "Q", "choice").correct
    assert not grade("The answer is G.", "B", "choice").correct


@pytest.mark.parametrize(
    ("response", "gold", "right"),
    [
        ("Yes, it is.", "yes", True),
        ("not positive", "positive", False),
        ("TRUE", "True", True),
        ("It is spam.", "spam", True),
        ("Answer: Negative\n\nExplanation: the true sentiment is positive", "negative", True),
        ("Answer: Negative\n\nExplanation: the true sentiment is positive", "positive", False),
        ("Not positive.\n\nReason: nothing in it is positive.", "positive", False),
        ("Positive.\n\nReasoning: it praises.\n\nOutput: negative", "negative", True),
        ("positive, so the opposite is negative", "negative", True),
        ("Reasoning: it is positive.\nnegative", "negative", True),
    ],
)
def test_labels_of_known_and_other_sets(response, gold, right):
    assert grade(response, gold, "label").correct == right


# --- safety -------------------------------------------------------------------------------------------------


def test_unknown_types_and_rules_are_refused():
    with pytest.raises(ValueError, match="answer_type must be one of"):
        grade("7", "7", "essay")
    with pytest.raises(ValueError, match="rules must be one of"):
        grade("7", "7", rules="official")
    with pytest.raises(ValueError, match="has no labels"):
        grade("yes", "yes", "label", rules="reasonif")


@pytest.mark.parametrize("answer_type", ANSWER_TYPES)
def test_none_and_missing_golds_are_wrong_and_say_so(answer_type):
    assert not grade(None, "7" if answer_type != "label" else "yes", answer_type).correct
    assert not grade("7", "", answer_type).correct
    assert grade("7", " ", answer_type).reason


def test_text_of_a_model_is_never_run(tmp_path):
    mark = tmp_path / "run"
    code = f"__import__('pathlib').Path('{mark}').touch()"
    for response in (
        f"\\boxed{{{code}}}",
        f"<answer>{code}</answer>",
        f"#### {code}",
        f"The answer is {code}",
    ):
        for gold in ("5", "x+1", code + "+1"):
            assert not grade(response, gold).correct
    assert not mark.exists()


HEAVY = [
    "10^{10^{10}}", "9**9**9**9", "((10!)!)!", "\\sum_{n=1}^{\\infty} \\frac{1}{n^{5}}",
    "\\int_0^1 x^x dx", "e^{e^{e^{e^9}}}", "(x+y+z+w)^{999}", "\\binom{99999999}{4999999}",
    "\\cos(e^{(17)^{50}})", "\\frac{1}{" * 90 + "2" + "}" * 90,
]  # fmt: skip


@pytest.mark.timeout(60)  # computed in full they would take for ever
@pytest.mark.parametrize("answer", HEAVY, ids=range(len(HEAVY)))
def test_nothing_keeps_the_grader_busy(answer):
    assert not correct(answer, "x+1")


@pytest.mark.timeout(60)  # a square would take hours
def test_long_responses_are_graded():
    for piece in ("\\boxed{", "<answer>", "the answer is ", "1,", "#", "{", "$x$ "):
        response = piece * (1_000_000 // len(piece))
        for answer_type in ANSWER_TYPES:
            assert grade(
                response,
                "yes" if answer_type == "label" else "B" if answer_type == "choice" else "7",
                answer_type,
            ).reason


PIECES = st.sampled_from([
    "\\frac{", "}", "{", "\\boxed{", "<answer>", "</answer>", "####", " answer is ", "\\text{",
    "\\sqrt{", "^", "_", "(", ")", "[", "]", ",", "=", "/", "-", "9", "10", ".", "x", "e", "\\pi", "%",
    "$", "½", "²", "one", " and ", "\\pm", "\\cup", "<", "\n", "A", "<think>", "</think>",
    "\\begin{pmatrix}", "\\end{pmatrix}", "&", "\\\\", "3:30", "!", "\\le", "positive", "not ",
])  # fmt: skip


@settings(deadline=None, max_examples=150)
@given(
    st.lists(PIECES | st.text(max_size=4), max_size=20).map("".join),
    st.sampled_from(["7", "x^2+1", "(1,2)", "\\text{Evelyn}", "1,2", "B", "positive", "[0,\\infty)"]),
    st.sampled_from(ANSWER_TYPES),
)
def test_no_response_raises(response, gold, answer_type):
    verdict = grade(response, gold, answer_type)
    assert verdict.reason
    assert (verdict.extracted is None) <= (not verdict.correct)
    if answer_type != "label":
        assert grade(response, gold, answer_type, rules="reasonif").reason


def test_other_threads_grade_alike_and_no_timer_of_others_is_touched():
    import signal

    verdicts = {}
    worker = threading.Thread(target=lambda: verdicts.update(thread=correct("(x+1)^2", "x^2+2x+1")))
    worker.start()
    worker.join()
    assert verdicts["thread"]
    before = signal.setitimer(signal.ITIMER_REAL, 1000)
    assert correct("(x+2)^2", "x^2+4x+4")
    left, _ = signal.setitimer(signal.ITIMER_REAL, *before)
    assert left > 900


def test_numbers_need_no_symbolic_engine():
    code = "import sys; from riftk.grading import grade; grade('7', '7'); print('sympy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


GOLD_COLUMNS = {
    "math500": "answer",
    "mathif": "answer",
    "minerva": "solution",
    "aime24": "answer",
    "amc23": "answer",
    "gsm8k_test": "answer",
}


@pytest.mark.parametrize(("name", "column"), GOLD_COLUMNS.items())
def test_every_gold_answer_of_the_benchmarks_is_its_own_answer(benchmark_file, name, column):
    lines = benchmark_file(f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    golds = [json.loads(line)[column] for line in lines]
    bodies = [gold.rpartition("####")[2].strip() if "####" in gold else gold for gold in golds]
    wrong = [
        gold for gold, body in zip(golds, bodies, strict=True) if not correct(body.replace("$", ""), gold)
    ]
    assert not wrong
