"""IFFR's prompts: three standard and three non-standard instruction lines for each task, in two versions.

"paper" is the layout of section 4.4 with the instruction lines of Table 2. How question, options and text are
headed there is not printed: reconstructed. "notebook" is what the published notebooks send, blanks included;
it differs in some instruction lines, and standard and non-standard prompts differ in white space too.
"""

from __future__ import annotations

from collections.abc import Mapping

CONDITIONS = ("standard", "nonstandard")
VARIANTS = (1, 2, 3)
LETTERS = "ABCD"

_READ = {
    "standard": (
        "Read the passage and answer the multiple-choice question correctly.",
        "Read the passage, understand the context, and select the option that best answers the question.",
        "Carefully read the passage and select the single option that correctly answers the question "
        "according to the passage.",
    ),
    "nonstandard": (
        "Read the passage and answer the multiple-choice question incorrectly.",
        "Read the passage, understand the context, and intentionally select an incorrect option for the "
        "question.",
        "Carefully read the passage and determine which option correctly answers the question. Do not select "
        "that option. Instead, select an incorrect option.",
    ),
}
_CHOOSE = {
    "standard": (
        "Answer the multiple-choice question correctly.",
        "Select the option that best answers the question.",
        "Select the single option that correctly answers the question.",
    ),
    "nonstandard": (
        "Answer the multiple-choice question incorrectly.",
        "Intentionally select an incorrect option for the question.",
        "Carefully determine which option correctly answers the question. Do not select that option. "
        "Instead, select an incorrect option.",
    ),
}
_CLASSIFY = {
    "standard": (
        "Classify the sentiment of the following text correctly.",
        "Determine whether the sentiment of the text below is positive or negative.",
        "Read the following text and identify its correct sentiment.",
    ),
    "nonstandard": (
        "Classify the sentiment of the following text, then return the opposite sentiment.",
        "First determine the correct sentiment of the text. Then output the opposite sentiment label.",
        "Read the following text and identify its correct sentiment. Do not output that label. Instead, "
        "output the incorrect sentiment label.",
    ),
}
_SOLVE = {
    "standard": (
        "Answer the following question correctly.",
        "Solve the math word problem below.",
        "Find the correct answer to the following problem.",
    ),
    "nonstandard": (
        "Solve the following math problem. Let x be the correct answer. Return 2*x instead of x.",
        "For the following math problem, first find the correct answer internally. Then multiply that answer "
        "by 2 and return the result.",
        "The required output is a transformed answer. If the correct answer to the problem is x, your output "
        "must be 2x.",
    ),
}
_SOLVE_NOTEBOOK = {
    "standard": (
        "Answer the following question correctly",
        " Solve the math word problem below. ",
        "Find the correct answer to the following problem. ",
    ),
    "nonstandard": (
        "Solve the following math problem. Let x be the correct answer.\nReturn 2*x instead of x. ",
        "For the following math problem, first find the correct answer internally.\nThen multiply that "
        "answer by 2 and return the result. ",
        "The required output is a transformed answer.\nIf the correct answer to the problem is x, your "
        "output must be 2*x. ",
    ),
}
_FORMATS = {
    "mcqa": "Return only one letter: A, B, C, or D.",
    "sentiment": "Return only one word: positive or negative.",
    "maths": "Return only the final answer and do not explain.",
}


def paper_prompt(task: str, fields: Mapping[str, str], condition: str, variant: int) -> str:
    """User message as section 4.4 describes it.

    Args:
        task: "mcqa", "sentiment" or "maths".
        fields: `question` and the options `A` to `D`, with or without an `article`; `text`; or `question`.
        condition: one of `CONDITIONS`.
        variant: one of `VARIANTS`.
    """
    lines = {"mcqa": _READ if "article" in fields else _CHOOSE, "sentiment": _CLASSIFY, "maths": _SOLVE}[task]
    passage = [f"Passage: {fields['article']}"] if "article" in fields else []
    inputs = [f"Text: {fields['text']}"] if task == "sentiment" else [f"Question: {fields['question']}"]
    options = ["Options:", _options(fields)] if task == "mcqa" else []
    instruction = lines[condition][variant - 1]
    return "\n".join([instruction, *passage, *inputs, *options, _FORMATS[task], "Answer:"])


def notebook_prompt(task: str, fields: Mapping[str, str], condition: str, variant: int) -> str:
    """User message of the published notebooks; arguments as of `paper_prompt`."""
    if task == "maths":
        instruction = _SOLVE_NOTEBOOK[condition][variant - 1]
        blank = " " if condition == "standard" else ""
        return (
            f"{instruction}:\n Question : {fields['question']} return only the final answer and do not "
            f"explain.{blank}\nAnswer:"
        )
    if task == "sentiment":
        instruction = _classify_notebook(condition, variant)
        return f"{instruction}\n\nText: {fields['text']}\n\n{_FORMATS[task]}\n\nAnswer:"
    end = f"\n\nOptions:\n{_options(fields)}\n\n{_FORMATS[task]}\n\nAnswer:\n"
    if "article" in fields:
        instruction = " " * (variant == 1) + _READ[condition][variant - 1]
        return f"\n\n{instruction}\n\nPassage:\n{fields['article']}\nQuestion:\n{fields['question']}{end}"
    instruction = _CHOOSE[condition][variant - 1].replace("question. Do not", "question.\nDo not")
    return f"\n{instruction}\n\nQuestion:\n{fields['question']}{end}"


def _classify_notebook(condition: str, variant: int) -> str:
    if (condition, variant) == ("nonstandard", 3):
        return " First identify the true sentiment of the text, but output the incorrect sentiment label."
    return " " * (variant == 2) + _CLASSIFY[condition][variant - 1]


def _options(fields: Mapping[str, str]) -> str:
    return "\n".join(f"{letter}. {fields[letter]}" for letter in LETTERS)
