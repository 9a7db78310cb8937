"""Word problems of two steps, with a reference trace and answer: what the embedded model learns and is asked.

A problem is put together from sentences: an opening, two events (or a comparison) and a question. Every
sentence pairs a verb or a form with a place or a time, and the pairs are dealt out to the splits like a Latin
square: each verb and each place occurs in training, but no sentence pattern of the test or development
split does. Names and number ranges are disjoint as well. The ranges are interleaved, so that training sees
each digit at each place and a model can solve what it has not seen.

    >>> problem = generate_problems("test", 1, seed=0)[0]
    >>> problem.answer == str(problem.steps[-1].result)
    True
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Any

SPLITS = ("train", "dev", "test")

# Names are a beginning and an ending, dealt out to the splits as sentence patterns are.
NAME_STARTS = (
    "Al", "An", "Ba", "Be", "Bri", "Ca", "Cla", "Da", "De", "El", "Em", "Fa", "Fi", "Ga", "Gi", "Ha",
    "He", "Il", "In", "Ja", "Jo", "Ka", "Ki", "La", "Le", "Li", "Lo", "Ma", "Mi", "Na", "Ni", "No",
    "Ol", "Pa", "Pe", "Ra", "Ri", "Ro", "Sa", "Se", "Si", "So", "Ta", "Te", "Ti", "To", "Va", "Ve",
    "Vi", "Wa", "Wi", "Za", "Zo",
)  # fmt: skip
NAME_ENDS = {
    "she": ("ra", "na", "la", "lina", "mina", "ria", "nia", "sa", "da", "ta"),
    "he": ("ro", "no", "ron", "min", "mon", "ler", "ton", "bert", "vin", "dan"),
}

# Twelve numbers make a turn: seven for training, three for test, two for development.
NUMBER_RANGES = {
    "train": ((10, 16), (22, 28), (34, 40)),
    "test": ((17, 19), (29, 31), (41, 43)),
    "dev": ((20, 21), (32, 33), (44, 45)),
}
LARGEST_RESULT = 99

ITEMS = (
    "apples", "coins", "books", "cards", "shells", "stamps", "pens", "cookies", "marbles", "stones",
    "flowers", "balls",
)  # fmt: skip

_KEEPING = ("has", "keeps", "owns", "holds", "stores", "counts")
_PLACES = ("in a box", "in a bag", "on a shelf", "in a jar", "at home", "in a basket")
_TIMES = ("on Monday", "at the market", "in the morning", "after lunch", "in the park", "at school")
_GAINS = ("buys", "finds", "gets", "wins", "collects", "receives")
_LOSSES = ("sells", "loses", "gives away", "uses", "lends", "throws away")
_DOUBLINGS = (
    "the number of {items} doubles",
    "there are twice as many {items}",
    "{pronoun} doubles the number of {items}",
)
_TAILS = ("now", "in the end", "after that", "at last", "by then", "afterwards")
_OWN_QUESTIONS = (
    "How many {items} does {name} have {tail}?",
    "How many {items} does {pronoun} have {tail}?",
    "Find the number of {items} that {name} has {tail}.",
)
_JOINT_QUESTIONS = (
    "How many {items} do they have together {tail}?",
    "How many {items} do both have {tail}?",
    "Find the number of {items} that they have together {tail}.",
)


# What happens in a story. Two losses in a row are hardly possible without borrowing.
_STORIES = (
    ("gain", "gain"),
    ("gain", "loss"),
    ("gain", "double"),
    ("loss", "gain"),
    ("loss", "double"),
    ("double", "gain"),
    ("double", "loss"),
)


@dataclass(frozen=True)
class Step:
    """One line of arithmetic: `left sign right = result`, with sign "+" or "-"."""

    left: int
    sign: str
    right: int

    @property
    def result(self) -> int:
        return self.left + self.right if self.sign == "+" else self.left - self.right

    def __str__(self) -> str:
        return f"{self.left} {self.sign} {self.right} = {self.result}"

    @property
    def borrows(self) -> bool:
        """Whether a digit is smaller than the one that is taken from it."""
        left, right = str(self.left), str(self.right)
        return self.sign == "-" and any(a < b for a, b in zip(reversed(left), reversed(right), strict=False))

    @property
    def allowed(self) -> bool:
        """Whether a problem may have this line: a result between 2 and `LARGEST_RESULT`, no borrowing.

        So small a model takes far longer to learn borrowing than all the rest.
        """
        return 2 <= self.result <= LARGEST_RESULT and not self.borrows

    @property
    def check(self) -> str:
        """The inverse line, which leads back to `left`."""
        return str(Step(self.result, "-" if self.sign == "+" else "+", self.right))


@dataclass(frozen=True)
class Problem:
    """A word problem with everything a reference text needs.

    Args:
        split: "train", "dev" or "test".
        template: the question with names, things and numbers masked, one sentence per entry.
        question: the text that is asked.
        subject: who or what the last sentence of a solution is about ("Anna has", "they have").
        item: the things counted, in plural.
        numbers: the numbers of the question, in order.
        plan: what happens, in short imperative clauses ("add 23").
        steps: the two lines of arithmetic; the result of the last one is the answer.
    """

    split: str
    template: tuple[str, ...]
    question: str
    names: tuple[str, ...]
    subject: str
    item: str
    numbers: tuple[int, ...]
    plan: tuple[str, str]
    steps: tuple[Step, Step]

    @property
    def answer(self) -> str:
        return str(self.steps[-1].result)


@cache
def deal(forms: tuple[str, ...], circumstances: tuple[str, ...], split: str) -> tuple[tuple[str, str], ...]:
    """Pairs that belong to a split: one in six is for test, one for development, the others for training."""
    owner = {0: "test", 1: "dev"}
    pairs = product(enumerate(forms), enumerate(circumstances))
    return tuple((form, when) for (i, form), (j, when) in pairs if owner.get((i + j) % 6, "train") == split)


def names(split: str, pronoun: str) -> list[str]:
    """Names of a split that go with "she" or "he"."""
    return [start + end for start, end in deal(NAME_STARTS, NAME_ENDS[pronoun], split)]


def _sentence(text: str) -> str:
    return text[0].upper() + text[1:]


def _event(clause: str, when: str, front: bool, second: bool) -> str:
    """An event, its time in front ("On Monday, she buys ...") or behind ("Then she buys ... on Monday")."""
    if front:
        return _sentence(f"{when}, {clause}.")
    return _sentence(f"{'then ' if second else ''}{clause} {when}.")


class _Writer:
    """Draws problems of one split from a random generator."""

    def __init__(self, split: str, rng: random.Random):
        self.split, self.rng = split, rng
        self.names = {pronoun: names(split, pronoun) for pronoun in NAME_ENDS}
        self.everyone = [name for group in self.names.values() for name in group]
        self.numbers = [n for low, high in NUMBER_RANGES[split] for n in range(low, high + 1)]

    def draw(self) -> Problem:
        """One problem whose lines are all allowed."""
        if self.rng.random() < 0.2:
            build, kind = self._comparison, self.rng.choice(("more", "fewer"))
        else:
            build, kind = self._story, self.rng.choice(_STORIES)
        while True:
            problem = build(kind)
            if all(step.allowed for step in problem.steps):
                return problem

    def _cell(self, forms: tuple[str, ...], circumstances: tuple[str, ...]) -> tuple[str, str]:
        return self.rng.choice(deal(forms, circumstances, self.split))

    def _opening(self) -> str:
        verb, place = self._cell(_KEEPING, _PLACES)
        return f"{{name}} {verb} {{a}} {{items}} {place}."

    def _story(self, kinds: tuple[str, str]) -> Problem:
        """One person; two of: something comes ("gain"), something goes ("loss"), the number doubles."""
        rng = self.rng
        total, numbers = rng.choice(self.numbers), []
        numbers.append(total)
        sentences, plan, steps = [self._opening()], [], []
        for place, (kind, slot) in enumerate(zip(kinds, ("{b}", "{c}"), strict=True)):
            operand = total if kind == "double" else rng.choice(self.numbers)
            if kind == "double":
                clause, when = self._cell(_DOUBLINGS, _TIMES)
                plan.append("double it")
            else:
                verb, when = self._cell(_GAINS if kind == "gain" else _LOSSES, _TIMES)
                clause = f"{{pronoun}} {verb} {slot} {'more' if kind == 'gain' else 'of them'}"
                plan.append(f"{'add' if kind == 'gain' else 'take away'} {operand}")
                numbers.append(operand)
            sentences.append(_event(clause, when, front=rng.random() < 0.5, second=place == 1))
            steps.append(Step(total, "-" if kind == "loss" else "+", operand))
            total = steps[-1].result
        form, tail = self._cell(_OWN_QUESTIONS, _TAILS)
        sentences.append(form.replace("{tail}", tail))
        # Slots are numbered in reading order whichever event takes a number.
        fill = {"a": numbers[0], "b": numbers[1], "c": numbers[-1]}
        return self._finish(sentences, fill, numbers, "{name} has", plan, steps)

    def _comparison(self, relation: str) -> Problem:
        """Two people, the second has "more" or "fewer"; how many do both have?"""
        rng = self.rng
        first, difference = rng.choice(self.numbers), rng.choice(self.numbers)
        more = relation == "more"
        verb, place = self._cell(_KEEPING, _TIMES)
        form, tail = self._cell(_JOINT_QUESTIONS, _TAILS)
        sentences = [
            self._opening(),
            f"{{other}} {verb} {{b}} {relation} than {{name}} {place}.",
            form.replace("{tail}", tail),
        ]
        second = Step(first, "+" if more else "-", difference)
        plan = [f"{'add' if more else 'take away'} {difference}", "then add both"]
        steps = [second, Step(first, "+", second.result)]
        return self._finish(
            sentences, {"a": first, "b": difference}, [first, difference], "both have", plan, steps
        )

    def _finish(
        self,
        sentences: list[str],
        fill: dict[str, int],
        numbers: list[int],
        subject: str,
        plan: list[str],
        steps: list[Step],
    ) -> Problem:
        """Choose names and the thing, and fill the sentences in."""
        pronoun = self.rng.choice(tuple(self.names))
        name = self.rng.choice(self.names[pronoun])
        place = self.rng.randrange(len(self.everyone) - 1)
        other = self.everyone[place if place < self.everyone.index(name) else place + 1]
        template = tuple(_sentence(text.replace("{pronoun}", pronoun)) for text in sentences)
        item = self.rng.choice(ITEMS)
        text = " ".join(template).format(name=name, other=other, items=item, **fill)
        return Problem(
            split=self.split,
            template=template,
            question=text,
            names=(name, other) if "{other}" in " ".join(template) else (name,),
            subject=subject.format(name=name),
            item=item,
            numbers=tuple(numbers),
            plan=tuple(plan),
            steps=tuple(steps),
        )


def generate_problems(split: str, n: int, seed: int | str) -> list[Problem]:
    """Draw `n` problems of a split; no question occurs twice. The same arguments give the same problems.

    Raises:
        ValueError: an unknown split.
    """
    if split not in SPLITS:
        raise ValueError(f"split {split!r} is none of {', '.join(SPLITS)}")
    writer = _Writer(split, random.Random(f"{split}-{seed}"))
    problems: dict[str, Problem] = {}
    while len(problems) < n:
        problem = writer.draw()
        problems.setdefault(problem.question, problem)
    return list(problems.values())


def training_problems(n: int, seed: int) -> list[dict[str, Any]]:
    """Problem source for synthesis and training: `riftk.tiny.problems:training_problems`.

    Args:
        n: number of problems.
        seed: the same seed gives the same problems.

    Returns:
        dicts with question, answer, answer_type ("number") and source ("tiny").
    """
    return [
        {"question": p.question, "answer": p.answer, "answer_type": "number", "source": "tiny"}
        for p in generate_problems("train", n, seed)
    ]


def reference_trace(problem: Problem, rng: random.Random) -> list[str]:
    """Sentences of a worked solution: the plan, two steps, a check of the last one, and the conclusion.

    The wording varies with `rng`. Every sentence but the conclusion may have a comma, the first always has.
    """
    first, second = problem.plan
    one, two = problem.steps
    start = rng.choice(("We start with", "Take", "Begin with"))
    return [
        f"{start} {one.left} {problem.item}, {first}, and {second}.",
        f"{rng.choice(('First,', 'The first step is'))} {one}.",
        f"{rng.choice(('Next,', 'Then,', 'After that,'))} {two}.",
        rng.choice((f"To check, {two.check}, as before.", f"As a check, we see that {two.check}.")),
        conclusion(problem, rng),
    ]


def long_trace(problem: Problem, rng: random.Random) -> list[str]:
    """Sentences of a longer solution: both steps are checked, and all is worked out once more."""
    plan, first, second, check, last = reference_trace(problem, rng)
    one, two = problem.steps
    again = rng.choice(("Let me go over it again,", "Once more,", "Wait, let me do all of it again,"))
    return [
        plan,
        first,
        rng.choice(
            (f"Let me check that, {one.check}, as before.", f"Wait, is that right? Yes, {one.check}.")
        ),
        second,
        check,
        f"{again} {one}.",
        f"{rng.choice(('And then', 'After that,'))} {two}.",
        rng.choice(("Both times it is the same.", f"The answer is {problem.answer} both times.")),
        last,
    ]


def conclusion(problem: Problem, rng: random.Random, short: bool = False) -> str:
    """One sentence with the answer; of eight words when `short`."""
    opener = "So" if short else rng.choice(("So", "This means that"))
    tail = rng.choice(("in the end", "at the end", "after all this"))
    return f"{opener} {problem.subject} {problem.answer} {problem.item} {tail}."


def reference_response(problem: Problem, rng: random.Random) -> list[str]:
    """Sentences of the visible answer: parts of a worked solution and the conclusion, without the tag."""
    plan, one, two, check, last = reference_trace(problem, rng)
    return rng.choice(([one, two, last], [plan, last], [two, check, last]))
