"""Every constraint with arguments, and the pieces of which texts are made that might be slow to check."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

from riftk.constraints import list_constraints
from riftk.constraints.published import RULEBOOKS

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


def specs_of(rules: str) -> list[dict[str, Any]]:
    """The constraints that a rulebook judges."""
    if rules == "robust":
        return SPECS
    return [spec for spec in SPECS if spec["id"] in RULEBOOKS[rules] and spec["id"] not in NO_PUNKT]


HEAVY = [
    "\n", "*", "{", "[", '{"a":', '"', '\\"', "a", "我", "word ", "$", "$a ", "`", "``` ", "\\(",
    "\\begin{x}", "<a ", "\\,", ",", ". ", "1.", "http://a ", "A", "\ud800", "* a\n", "-\n", "Section 1 ",
    "_a ", "*a ", "--", "<<", "<<a", ">>", "]", "[a]", "***", " *** ", "\n\n", "!", "?\u00a0", ".)", ". .",
    "1a", "p.", "a\u00a0", "meow a ", "=", "aB", "\"", "e.g. ", "A. ", "# a\n",
]  # fmt: skip
