"""Texts of about 1,000 words to time checkers on, seeded: real English, and any language of langdetect's.

The English is Python's own language reference, which comes with the interpreter. Words of other languages are
put together from the trigrams of langdetect's profiles; like real words, a few of them are frequent.
"""

from __future__ import annotations

import json
import random
from functools import cache
from importlib.util import find_spec
from itertools import accumulate
from pathlib import Path
from typing import Any

WORDS = 1000
VOCABULARY = 3000  # words made up in a language, most of them different
MARKUP = (
    "So $x_{3} = 42$ holds and $\\frac{1}{2} + y$ follows.",
    "* a first point\n* a second point, with more to say\n- a third point",
    "**Note** that *this* is `code` and _that_ is none.",
    "Section 1\nIt is 3.14, i.e. more than 3. Dr. Berg met Mrs. Lind at 9 a.m. in the U.S. Really?!",
    "```python\nprint('[name]')\n```",
)


@cache
def _paragraphs() -> tuple[str, ...]:
    from pydoc_data.topics import topics

    found = (paragraph for topic in topics.values() for paragraph in topic.split("\n\n"))
    return tuple(p for p in found if p[:1].isalpha() and len(p.split()) > 20)


def english(draw: random.Random, words: int = WORDS) -> str:
    """Paragraphs of prose, with some formulas, lists and emphasis between them."""
    parts: list[str] = []
    while sum(len(part.split()) for part in parts) < words:
        parts.append(draw.choice(_paragraphs()))
        if draw.random() < 0.3:
            parts.append(draw.choice(MARKUP))
    return "\n\n".join(parts)


@cache
def _vocabulary(language: str) -> tuple[str, ...]:

    spec = find_spec("langdetect")
    folder = Path(spec.submodule_search_locations[0]) / "profiles"
    counts = json.loads((folder / language).read_text(encoding="utf-8"))["freq"]
    followers: dict[str, dict[str, int]] = {}
    for ngram, count in counts.items():
        if len(ngram) == 3 or (len(ngram) == 2 and ngram[0] == " "):
            followers.setdefault(ngram[:-1], {})[ngram[-1]] = count
    choices = {before: (list(after), list(accumulate(after.values()))) for before, after in followers.items()}
    draw = random.Random(language)
    made: dict[str, None] = {}
    for _ in range(VOCABULARY):
        word = " "
        while len(word) < 12 and word[-2:] in choices:
            letters, weights = choices[word[-2:]]
            word += draw.choices(letters, cum_weights=weights)[0]
            if word[-1] == " ":
                break
        made[word.strip()] = None
    return tuple(word for word in made if word)


def in_language(draw: random.Random, language: str, words: int = WORDS) -> str:
    """Sentences without meaning in a language (langdetect's codes), its frequent words repeated."""
    vocabulary = _vocabulary(language)
    weights = list(accumulate(1 / rank for rank in range(1, len(vocabulary) + 1)))
    said = draw.choices(vocabulary, cum_weights=weights, k=words)
    return " ".join(f"{word}." if draw.random() < 0.08 else word for word in said)


def obeying(id: str, args: dict[str, Any], text: str, draw: random.Random) -> str:
    """The text changed so that it follows a constraint, where that takes more than luck."""
    match id:
        case "change_case:english_capital":
            return text.upper()
        case "change_case:english_lowercase":
            return text.lower()
        case "language:response_language" if args["language"] != "en":
            return in_language(draw, args["language"])
        case "punctuation:no_comma":
            return text.replace(",", "")
        case "detectable_format:json_format":
            return json.dumps({"answer": text})
        case "detectable_format:title":
            return f"<<a quiet river>>\n\n{text}"
        case "detectable_format:constrained_response":
            return f"{text}\n\nMy answer is yes."
        case "detectable_content:number_placeholders":
            return " ".join([text, *["[name]"] * args["num_placeholders"]])
        case "detectable_content:postscript":
            return f"{text}\n\n{args['postscript_marker']} and more"
        case "combination:two_responses":
            return f"{text}\n******\n{text[::-1]}"
        case "combination:repeat_prompt":
            return f"{args['prompt_to_repeat']}\n{text}"
        case "startend:end_checker":
            return f"{text}\n{args['end_phrase']}"
        case "startend:quotation":
            return f'"{text}"'
        case "length_constraints:number_paragraphs":
            return "\n***\n".join([text[:2000]] * args["num_paragraphs"])
    return text
