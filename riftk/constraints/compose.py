"""Compose one, two or three constraints that can be followed together.

    >>> import random
    >>> from riftk.constraints.compose import compose
    >>> [c.id for c in compose(2, random.Random(3), style="mathif", question="What is 2 + 3?")]
    ['change_case:english_capital', 'keywords:forbidden_words']

Which ids may stand together is published: MathIF's 30 doubles and 15 triples, and IFEval's table of
conflicts, which serves ReasonIF's ids as well. What no text could follow with the arguments that were drawn
(`conflicts`), is drawn again.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from typing import Any

from . import values as pools
from .base import Constraint, ConstraintError, parse_constraint
from .conflicts import conflicts
from .length import RELATIONS
from .values import Values

LARGEST = 3
_ATTEMPTS = 200

_EXISTENCE = "keywords:existence"
_FREQUENCY = "keywords:frequency"
_FORBIDDEN = "keywords:forbidden_words"
_LETTERS = "keywords:letter_frequency"
_LANGUAGE = "language:response_language"
_TRACE_LANGUAGE = "language:reasoning_language"
_WORDS = "length_constraint_checkers:number_words"
_IFEVAL_WORDS = "length_constraints:number_words"
_SENTENCES = "length_constraints:number_sentences"
_PARAGRAPHS = "length_constraints:number_paragraphs"
_NTH_PARAGRAPH = "length_constraints:nth_paragraph_first_word"
_PLACEHOLDERS = "detectable_content:number_placeholders"
_POSTSCRIPT = "detectable_content:postscript"
_BULLETS = "detectable_format:number_bullet_lists"
_HIGHLIGHTS = "detectable_format:number_highlighted_sections"
_SECTIONS = "detectable_format:multiple_sections"
_OPTIONS = "detectable_format:constrained_response"
_JSON = "detectable_format:json_format"
_TITLE = "detectable_format:title"
_REPEAT = "combination:repeat_prompt"
_TWO_RESPONSES = "combination:two_responses"
_END = "startend:end_checker"
_QUOTATION = "startend:quotation"
_CAPITAL_WORDS = "change_case:capital_word_frequency"
_CAPITAL = "change_case:english_capital"
_LOWERCASE = "change_case:english_lowercase"
_NO_COMMA = "punctuation:no_comma"

MATHIF_IDS = (
    _EXISTENCE, _FREQUENCY, _FORBIDDEN, _LANGUAGE, _WORDS, _BULLETS, _HIGHLIGHTS, _SECTIONS, _REPEAT, _END,
    _QUOTATION, _CAPITAL_WORDS, _CAPITAL, _LOWERCASE, _NO_COMMA,
)  # fmt: skip
REASONIF_IDS = (_TRACE_LANGUAGE, _WORDS, _CAPITAL, _END, _JSON, _NO_COMMA)
IFEVAL_IDS = (
    *(id for id in MATHIF_IDS if id != _WORDS), _LETTERS, _IFEVAL_WORDS, _SENTENCES, _PARAGRAPHS,
    _NTH_PARAGRAPH, _PLACEHOLDERS, _POSTSCRIPT, _OPTIONS, _JSON, _TITLE, _TWO_RESPONSES,
)  # fmt: skip

# The combinations of MathIF's rows (its section 3 and its data), in the order of their sentences.
MATHIF_DOUBLES = (
    (_REPEAT, _FORBIDDEN), (_LOWERCASE, _FREQUENCY), (_LOWERCASE, _EXISTENCE), (_LANGUAGE, _QUOTATION),
    (_EXISTENCE, _NO_COMMA), (_LOWERCASE, _HIGHLIGHTS), (_FORBIDDEN, _QUOTATION), (_CAPITAL, _FORBIDDEN),
    (_LANGUAGE, _NO_COMMA), (_CAPITAL_WORDS, _NO_COMMA), (_FORBIDDEN, _NO_COMMA), (_FORBIDDEN, _FREQUENCY),
    (_HIGHLIGHTS, _QUOTATION), (_LOWERCASE, _BULLETS), (_BULLETS, _FORBIDDEN), (_SECTIONS, _QUOTATION),
    (_FREQUENCY, _FREQUENCY), (_REPEAT, _EXISTENCE), (_LOWERCASE, _FORBIDDEN), (_FREQUENCY, _NO_COMMA),
    (_REPEAT, _FREQUENCY), (_REPEAT, _NO_COMMA), (_EXISTENCE, _FORBIDDEN), (_HIGHLIGHTS, _FREQUENCY),
    (_HIGHLIGHTS, _NO_COMMA), (_HIGHLIGHTS, _EXISTENCE), (_FREQUENCY, _END), (_NO_COMMA, _END),
    (_BULLETS, _QUOTATION), (_CAPITAL, _NO_COMMA),
)  # fmt: skip
MATHIF_TRIPLES = (
    (_CAPITAL_WORDS, _WORDS, _FREQUENCY), (_REPEAT, _EXISTENCE, _FORBIDDEN), (_HIGHLIGHTS, _NO_COMMA, _END),
    (_HIGHLIGHTS, _EXISTENCE, _NO_COMMA), (_CAPITAL_WORDS, _FREQUENCY, _NO_COMMA),
    (_EXISTENCE, _FREQUENCY, _FREQUENCY), (_HIGHLIGHTS, _EXISTENCE, _FREQUENCY),
    (_BULLETS, _FORBIDDEN, _FREQUENCY), (_SECTIONS, _EXISTENCE, _FREQUENCY), (_BULLETS, _EXISTENCE, _WORDS),
    (_REPEAT, _WORDS, _FORBIDDEN), (_LOWERCASE, _EXISTENCE, _FREQUENCY), (_EXISTENCE, _WORDS, _QUOTATION),
    (_REPEAT, _HIGHLIGHTS, _WORDS), (_CAPITAL, _NO_COMMA, _QUOTATION),
)  # fmt: skip

# IFEval's table of conflicts (instructions_registry.py of google-research and of lm-evaluation-harness), read
# both ways. An id never stands beside itself.
_APART = (
    (_LANGUAGE, (_SECTIONS, _EXISTENCE, _FREQUENCY, _FORBIDDEN, _END, _CAPITAL, _LOWERCASE)),
    (_PARAGRAPHS, (_NTH_PARAGRAPH, _SENTENCES)),
    (_SECTIONS, (_HIGHLIGHTS,)),
    (_CAPITAL_WORDS, (_LOWERCASE, _CAPITAL)),
    (_LOWERCASE, (_CAPITAL,)),
    (_QUOTATION, (_TITLE,)),
)  # fmt: skip
_ONLY_WITH = {
    _OPTIONS: (),
    _JSON: (_FORBIDDEN, _EXISTENCE),
    _TWO_RESPONSES: (_FORBIDDEN, _EXISTENCE, _LANGUAGE, _TITLE, _NO_COMMA),
    _REPEAT: (_EXISTENCE, _TITLE, _NO_COMMA),
}
_IFEVAL_NAMES = {_WORDS: _IFEVAL_WORDS, _TRACE_LANGUAGE: _LANGUAGE}


def ifeval_compatible(one: str, other: str) -> bool:
    """Whether IFEval's table lets two ids stand together; MathIF's and ReasonIF's ids count as IFEval's."""
    one, other = _IFEVAL_NAMES.get(one, one), _IFEVAL_NAMES.get(other, other)
    if one == other:
        return False
    for id, second in ((one, other), (other, one)):
        if any(id == first and second in apart for first, apart in _APART):
            return False
        if id in _ONLY_WITH and second not in _ONLY_WITH[id]:
            return False
    return True


@dataclass(frozen=True)
class Style:
    """What a benchmark's rows ask for.

    Args:
        ids: its constraints.
        target: what its instructions are about.
        held_out: values to draw arguments from, for training.
        published: the benchmark's own values; None where riftk does not have them.
    """

    ids: tuple[str, ...]
    target: str
    held_out: Values
    published: Values | None = None


STYLES = {
    "mathif": Style(MATHIF_IDS, "response", pools.HELD_OUT, pools.MATHIF),
    "reasonif": Style(REASONIF_IDS, "reasoning", pools.HELD_OUT_REASONING, pools.REASONIF),
    "ifeval": Style(IFEVAL_IDS, "response", pools.HELD_OUT),
}


@cache
def id_combinations(style: str, count: int, ids: tuple[str, ...] = ()) -> tuple[tuple[str, ...], ...]:
    """The combinations of `count` ids that a style has, in the order of their sentences.

    Args:
        style: "mathif" (its own combinations), "reasonif" or "ifeval" (all that IFEval's table allows).
        count: 1, 2 or 3.
        ids: only combinations of these; empty means all.

    Raises:
        ConstraintError: unknown style, an id that it does not have, or no such combination.
    """
    if style not in STYLES:
        raise ConstraintError(f"style {style!r} is none of {', '.join(STYLES)}")
    if not 1 <= count <= LARGEST:
        raise ConstraintError(f"1 to {LARGEST} constraints can be composed, not {count}")
    known = STYLES[style].ids
    if unknown := [id for id in ids if id not in known]:
        raise ConstraintError(
            f"{unknown[0]} is no constraint of style {style!r}, which has {', '.join(known)}"
        )
    if count == 1:
        found: Sequence[tuple[str, ...]] = [(id,) for id in known]
    elif style == "mathif":
        found = MATHIF_DOUBLES if count == 2 else MATHIF_TRIPLES
    else:
        found = [
            chosen
            for chosen in combinations(known, count)
            if all(ifeval_compatible(*pair) for pair in combinations(chosen, 2))
        ]
    wanted = tuple(chosen for chosen in found if not ids or set(chosen) <= set(ids))
    if not wanted:
        raise ConstraintError(f"style {style!r} has no combination of {count} among {', '.join(ids)}")
    return wanted


def compose(
    count: int,
    draws: random.Random,
    *,
    style: str = "mathif",
    target: str | None = None,
    values: Values | None = None,
    ids: Sequence[str] = (),
    question: str = "",
    prompt: str = "",
    answer: str = "",
) -> tuple[Constraint, ...]:
    """Draw `count` constraints for a problem, with arguments, that can be followed together.

    Args:
        count: 1, 2 or 3.
        draws: random generator; the result depends on its state and on the arguments alone.
        style: see `id_combinations`.
        target: "reasoning" or "response"; None is the style's own.
        values: what arguments are drawn from; None is the style's held-out values, which no published
            benchmark file asks for (`riftk.constraints.values`).
        ids: draw among these only; empty means all of the style.
        question: text that `combination:repeat_prompt` wants repeated; without it, that is not drawn.
        prompt: user message without the instructions. What it works against (capitals and `\\boxed`) is drawn
            all the same, as in MathIF: only what no text can follow is not.
        answer: gold answer, which has to remain writable.

    Returns:
        The constraints, in the order of their sentences. No word is asked about twice.

    Raises:
        ConstraintError: see `id_combinations`; also where nothing that can be followed was found.
    """
    candidates = id_combinations(style, count, tuple(ids))
    values = values or STYLES[style].held_out
    target = target or STYLES[style].target
    if not question.strip():
        candidates = tuple(chosen for chosen in candidates if _REPEAT not in chosen)
    for _ in range(_ATTEMPTS if candidates else 0):
        constraints = tuple(
            parse_constraint({"id": id, "args": _draw(id, values, draws, question), "target": target})
            for id in draws.choice(candidates)
        )
        problems = {problem.kind for problem in conflicts(constraints, prompt, answer)}
        if not problems & {"unsatisfiable", "answer"} and not _asks_twice(constraints):
            return constraints
    raise ConstraintError(
        f"no {count} constraints of style {style!r} that can be followed"
        f"{' among ' + ', '.join(ids) if ids else ''} were found for {question[:60]!r}"
    )


def _asks_twice(constraints: Sequence[Constraint]) -> bool:
    """Whether a word is named twice."""
    words: list[str] = []
    for args in (constraint.args for constraint in constraints):
        words += [*args.get("keywords", ()), *args.get("forbidden_words", ())]
        words += [args[name] for name in ("keyword", "first_word") if name in args]
    return len(set(words)) < len(words)


def _draw(id: str, values: Values, draws: random.Random, question: str) -> dict[str, Any]:
    """Arguments for a constraint."""
    choice = draws.choice
    match id:
        case "keywords:existence":
            return {"keywords": [choice(values.keywords) for _ in range(values.words_per_list)]}
        case "keywords:forbidden_words":
            return {"forbidden_words": [choice(values.keywords) for _ in range(values.words_per_list)]}
        case "keywords:frequency":
            number = {"frequency": choice(values.frequencies), "relation": choice(RELATIONS)}
            return {"keyword": choice(values.keywords), **number}
        case "keywords:letter_frequency":
            number = {"let_frequency": choice(values.letter_counts), "let_relation": choice(RELATIONS)}
            return {"letter": choice(values.letters), **number}
        case "language:response_language":
            return {"language": choice(values.languages)}
        case "language:reasoning_language":
            return {"language": choice(values.reasoning_languages)}
        case "length_constraint_checkers:number_words" | "length_constraints:number_words":
            relation = choice(values.word_relations)
            return {"num_words": choice(values.word_limits), "relation": relation}
        case "length_constraints:number_sentences":
            relation, count = choice(values.sentences)
            return {"relation": relation, "num_sentences": count}
        case "length_constraints:number_paragraphs":
            return {"num_paragraphs": choice(values.paragraphs)}
        case "length_constraints:nth_paragraph_first_word":
            count = choice(values.sections)
            place = draws.randint(1, count)
            return {"num_paragraphs": count, "nth_paragraph": place, "first_word": choice(values.keywords)}
        case "detectable_content:number_placeholders":
            return {"num_placeholders": choice(values.placeholders)}
        case "detectable_content:postscript":
            return {"postscript_marker": choice(values.postscripts)}
        case "detectable_format:number_bullet_lists":
            return {"num_bullets": choice(values.bullets)}
        case "detectable_format:number_highlighted_sections":
            return {"num_highlights": choice(values.highlights)}
        case "detectable_format:multiple_sections":
            word = choice(values.section_words)
            return {"section_spliter": word, "num_sections": choice(values.sections)}
        case "combination:repeat_prompt":
            return {"prompt_to_repeat": question}
        case "startend:end_checker":
            return {"end_phrase": choice(values.end_phrases)}
        case "change_case:capital_word_frequency":
            relation, count = choice(values.capitals)
            return {"capital_relation": relation, "capital_frequency": count}
    return {}
