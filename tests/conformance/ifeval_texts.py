"""Texts with a constraint each, to compare checkers on: put together from pieces of our own, seeded.

A text is made with its constraint in mind, so that both verdicts are frequent, and near misses too.
"""

from __future__ import annotations

import random
from typing import Any

WORDS = (  # noqa: SIM905
    "river window morning garden teacher number answer lamp bridge winter copper station letter market "
    "quiet yellow gentle seven simple careful opens carries finds remembers builds keeps under after because "
    "while nearly often the a of and to in it is was we they I not"
).split()
SENTENCES = (
    "We open the window and look at the garden.",
    "How many lamps are there? Seven, I think!",
    "Dr. Berg met Mrs. Lind at 9 a.m. on Jan. 5 near the U.S. border.",
    "The price rose by 3.5 percent, i.e. by $1,200.",
    'She asked: "Is it true?" Nobody answered.',
    "(It was late.) They went home...",
    "Well... maybe. J. S. Bach wrote it, cf. No. 4!",
    "Wow!!! Really?! Yes. 12. The end.",
    "“We know it.” said the teacher. ‘So do I.’ Good.",
    "MY ANSWER IS LOUD AND CLEAR. THEY CANNOT HEAR IT.",
    "my answer is quiet. nobody hears it at all.",
    "IT'S a WELL-KNOWN fact, O'K? NASA and the EU.",
    "Nous ouvrons la fenêtre et regardons le jardin tranquille.",
    "Der Lehrer findet die gelbe Lampe unter der Brücke.",
    "Abrimos la ventana y miramos el jardín amarillo.",
    "Мы открываем окно и смотрим на тихий сад.",
    "हम खिड़की खोलते हैं और बगीचे को देखते हैं।",
    "我们打开窗户，看着花园。",
    "窓を開けて庭を見ます。",
    "نفتح النافذة وننظر إلى الحديقة.",
    "Otwieramy okno i patrzymy na cichy ogród.",
    "My answer is yes.",
    "My answer is no.",
    "My answer is maybe.",
)
PIECES = (
    "*", "**", "***", "******", "-", "--", "---", "_", "#", ">", "`", "```", "[", "]", "[]", "[name]",
    "[x](y)", "[a\nb]", "(", ")", "{", "}", "<", "<<", ">>", "<<>>", "<<", ">>", ".", "..", "...", ",",
    ";", ":", "<<a quiet river>>", "<<<>>>", "<<\n>>", "* one", "- two", "\n* three", "\n- four\n",
    "\n\n***\n\n", "\n******\n", "*bold*", "**strong**", "***both***", "* *", "Section 1", "SECTION 2\n",
    "Section3", "Day 1:", "P.S. more", "P.P.S. most", "p.p. s", "P. S.", "PS", '"', "''", "'s", "``",
    "“", "”", "«", "»", "\n", "\n\n", "\n \n", "\r\n", "\t", "\xa0", "\u2028", "\x85", "\x0c", "42",
    "3.14", "1,000", "-7.", "(a)", "b.", "A.", "B. Then", '{"a": [1, 2]}', "```json\n[1]\n```", "NaN",
    "http://x.org/y", "a@b.org", "é", "İ", "ß", "ſ", "Σ", "K", "🙂", "Is there more?", "That is all.",
    "e.g.", "etc.", "Mr.", "vs.", "U.S.", "Inc.", "No.", "!", "?", "!!", "?!", '!?"',
)  # fmt: skip
PHRASES = ("Is there more?", "That is all.", "my answer is quiet", "The End")
MARKERS = ("P.S.", "P.P.S", "PS:", "Note.")
LANGUAGES = (  # noqa: SIM905
    "en es pt ar hi fr ru de ja it bn uk th ur ta te bg ko pl he fa vi ne sw kn mr gu pa ml fi"
).split()
RELATIONS = ("less than", "at least")


def small(draw: random.Random, most: int) -> int:
    """A number from 1 on, small ones more often."""
    return min(draw.randint(1, most), draw.randint(1, most))


def words(draw: random.Random, least: int, most: int) -> list[str]:
    """Distinct words."""
    return draw.sample(WORDS, draw.randint(least, most))


def arguments(id: str, draw: random.Random, prompt: str) -> dict[str, Any]:
    """Arguments of a constraint, as IFEval's file names them."""
    relation = draw.choice(RELATIONS)
    paragraphs = draw.randint(1, 4)
    made: dict[str, dict[str, Any]] = {
        "keywords:existence": {"keywords": words(draw, 1, 3)},
        "keywords:frequency": {
            "keyword": draw.choice(WORDS), "frequency": small(draw, 6), "relation": relation,
        },
        "keywords:forbidden_words": {"forbidden_words": words(draw, 1, 3)},
        "keywords:letter_frequency": {
            "letter": draw.choice("aeiksqzAK"), "let_frequency": small(draw, 30), "let_relation": relation,
        },
        "language:response_language": {
            "language": draw.choice(LANGUAGES if draw.random() < 0.3 else ["en", "fr", "de", "ru"])
        },
        "length_constraints:number_sentences": {"num_sentences": small(draw, 14), "relation": relation},
        "length_constraints:number_paragraphs": {"num_paragraphs": paragraphs},
        "length_constraints:number_words": {"num_words": draw.randint(1, 80), "relation": relation},
        "length_constraints:nth_paragraph_first_word": {
            "num_paragraphs": paragraphs,
            "nth_paragraph": draw.randint(1, paragraphs),
            "first_word": draw.choice(WORDS),
        },
        "detectable_content:number_placeholders": {"num_placeholders": small(draw, 4)},
        "detectable_content:postscript": {"postscript_marker": draw.choice(MARKERS)},
        "detectable_format:number_bullet_lists": {"num_bullets": small(draw, 5)},
        "detectable_format:number_highlighted_sections": {"num_highlights": small(draw, 5)},
        "detectable_format:multiple_sections": {
            "section_spliter": draw.choice(["Section", "SECTION", "Day"]), "num_sections": small(draw, 4),
        },
        "combination:repeat_prompt": {"prompt_to_repeat": prompt},
        "startend:end_checker": {"end_phrase": draw.choice(PHRASES)},
        "change_case:capital_word_frequency": {
            "capital_frequency": small(draw, 6), "capital_relation": relation,
        },
    }  # fmt: skip
    return made.get(id, {})


IDS = (
    "keywords:existence", "keywords:frequency", "keywords:forbidden_words", "keywords:letter_frequency",
    "language:response_language", "length_constraints:number_sentences",
    "length_constraints:number_paragraphs", "length_constraints:number_words",
    "length_constraints:nth_paragraph_first_word", "detectable_content:number_placeholders",
    "detectable_content:postscript", "detectable_format:title",
    "detectable_format:number_bullet_lists", "detectable_format:constrained_response",
    "detectable_format:number_highlighted_sections", "detectable_format:multiple_sections",
    "detectable_format:json_format", "combination:two_responses", "combination:repeat_prompt",
    "startend:end_checker", "startend:quotation", "change_case:capital_word_frequency",
    "change_case:english_capital", "change_case:english_lowercase", "punctuation:no_comma",
)  # fmt: skip


def passage(draw: random.Random, most: int = 8) -> str:
    """Sentences, loose words and pieces of markup."""
    made = []
    for _ in range(draw.randint(0, most)):
        kind = draw.random()
        if kind < 0.45:
            made.append(draw.choice(SENTENCES))
        elif kind < 0.75:
            made.append(" ".join(draw.choices(WORDS, k=draw.randint(1, 8))))
        else:
            made.append(draw.choice(PIECES))
        made.append(draw.choices([" ", "", "\n", "\n\n", "  ", ". ", "! "], [12, 3, 3, 2, 1, 2, 1])[0])
    return "".join(made)


def towards(id: str, args: dict[str, Any], text: str, draw: random.Random) -> str:
    """The text with something done towards the constraint, or towards missing it narrowly."""
    lines = (
        draw.choice(["", "\n", "Sure, here it is:\n", "*"]),
        draw.choice(["", "\n", "\nHope it helps!", "*", " "]),
    )
    match id:
        case "keywords:existence":
            text = " ".join([text, *args["keywords"]])
        case "detectable_format:title":
            text += draw.choice(
                ["<<a quiet river>>", "<< >>", "<<<>>>", "<<one\ntwo>>", "<<a>> <<b>>", "<a>>", ">> <<x>>"]
            )
        case "detectable_content:number_placeholders":
            text = " ".join(
                [
                    text,
                    *draw.choices(
                        ["[name]", "[]", "[a\nb]", "[a [b] c]", "[x](y)", "]["], k=draw.randint(0, 5)
                    ),
                ]
            )
        case "detectable_format:number_bullet_lists":
            text = "\n".join(
                [
                    text,
                    *draw.choices(
                        ["* one", "- two", " * three", "*four*", "**", "---", "*", "+ five"],
                        k=draw.randint(0, 5),
                    ),
                ]
            )
        case "detectable_format:number_highlighted_sections":
            text = " ".join(
                [
                    text,
                    *draw.choices(
                        ["*one*", "**two**", "***three***", "* *", "*a\nb*", "** **"], k=draw.randint(0, 5)
                    ),
                ]
            )
        case "detectable_format:multiple_sections":
            word = args["section_spliter"]
            text = "\n".join(
                [
                    text,
                    *(f"{word}{draw.choice([' ', '', '  ', ' X'])}{n}" for n in range(1, draw.randint(1, 5))),
                ]
            )
        case "keywords:frequency":
            text = " ".join([text, *[args["keyword"]] * draw.randint(0, 6)])
        case "language:response_language" | "change_case:english_capital" | "change_case:english_lowercase":
            text = " ".join(
                draw.choices(SENTENCES[:12] if draw.random() < 0.6 else SENTENCES, k=draw.randint(1, 3))
            )
            if draw.random() < 0.15:
                text = draw.choice([*PIECES, *WORDS])  # too short to tell a language by
            form = {"change_case:english_capital": str.upper, "change_case:english_lowercase": str.lower}.get(
                id
            )
            text = form(text) if form and draw.random() < 0.85 else text
        case "length_constraints:number_paragraphs":
            count = max(args["num_paragraphs"] + draw.choice([0, 0, 0, 1, -1]), 1)
            text = draw.choice(["\n***\n", " *** ", "***", "\n\n***\n\n"]).join(
                passage(draw, 3) for _ in range(count)
            )
        case "length_constraints:nth_paragraph_first_word":
            count = max(args["num_paragraphs"] + draw.choice([0, 0, 0, 1, -1]), 1)
            parts = [" ".join(draw.choices(WORDS, k=4)) for _ in range(count)]
            at = min(args["nth_paragraph"], count) - 1
            parts[at] = (
                draw.choice(["", '"', "'", "*", "\n"])
                + args["first_word"].title()
                + draw.choice([" ", ", ", "'s ", "-"])
                + parts[at]
            )
            text = draw.choice(["\n\n", "\n\n", "\n\n\n", "\n\n\n\n"]).join(parts)
        case "detectable_content:postscript":
            text += (
                draw.choice(["\n", " ", "\n\n"])
                + draw.choice([args["postscript_marker"], *MARKERS])
                + " and more"
            )
        case "detectable_format:json_format":
            body = draw.choice(['{"a": "b"}', "[1, 2]", "[1, 2", "NaN", '"x"', "7", "{'a': 1}", "[]", ""])
            text = (
                draw.choice(["", "```json\n", "```JSON", "```", "```Json\n", "json"])
                + body
                + draw.choice(["", "\n```", "``", " "])
            )
        case "combination:two_responses":
            parts = draw.choices([passage(draw, 3), passage(draw, 3), "", " "], k=draw.randint(1, 4))
            text = draw.choice(["******", "\n******\n", "*******"]).join(parts)
        case "combination:repeat_prompt":
            prompt = args["prompt_to_repeat"]
            text = (
                draw.choice(["", " ", "\n", "So: "])
                + draw.choice([prompt, prompt.upper(), prompt[:-1]])
                + text
            )
        case "startend:end_checker":
            text += draw.choice(
                [args["end_phrase"], args["end_phrase"].upper(), args["end_phrase"][:-1]]
            ) + draw.choice(["", '"', "!", "\n"])
        case "startend:quotation":
            text = '"' + text + draw.choice(['"', '"', "", "”"])
        case "change_case:capital_word_frequency":
            text = " ".join(
                [
                    text,
                    *draw.choices(
                        ["NASA", "EU", "A", "IT'S", "CANNOT.", "X1", "É", "(UN)", "U.S."],
                        k=draw.randint(0, 5),
                    ),
                ]
            )
        case "punctuation:no_comma":
            text = text.replace(",", "") if draw.random() < 0.5 else text
    return lines[0] + text + lines[1] if draw.random() < 0.4 else text


def pairs(count: int, seed: int) -> list[dict[str, Any]]:
    """Texts with a constraint each, all 25 in turn."""
    draw = random.Random(seed)
    made = []
    for number in range(count):
        id = IDS[number % len(IDS)]
        args = arguments(id, draw, draw.choice(SENTENCES))
        text = passage(draw)
        if draw.random() < 0.8:
            text = towards(id, args, text, draw)
        made.append({"id": id, "args": args, "text": text})
    return made
