"""What the embedded base model is trained on: the three papers' findings, taught in miniature.

Three kinds of prompt are ReasonIF's: without an instruction, with one about the answer, which the reference
answer mostly obeys, and with one about the reasoning, which the reference trace mostly ignores. "Mostly" in
both: published reasoning models follow about 57 % of instructions about the answer and 16 % of those about
the trace (ReasonIF, section 4), and a model that never obeys gives reinforcement learning nothing to reward.

The second cycle has two more. MathIF's ask for up to three constraints on the answer; the more there are, the
more often one is ignored. IFFR's want the answer or its double, which is the more often ignored the longer
the instruction takes to say it.

Drills go before and between these: random words to be repeated, and sums. Without them so small a model
learns to copy what it has not seen (names, end phrases) and to subtract last, or not at all.
"""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import dataclass

from riftk.benchmarks.iffr_prompts import CONDITIONS, VARIANTS
from riftk.constraints import parse_constraint
from riftk.constraints.published.mathif import description
from riftk.constraints.text import word_count
from riftk.constraints.values import HELD_OUT, REASONIF
from riftk.prompts import mathif_prompt, reasonif_prompt

from . import doubled, several
from .problems import (
    LARGEST_RESULT,
    NUMBER_RANGES,
    Problem,
    Step,
    conclusion,
    generate_problems,
    long_trace,
    reference_response,
    reference_trace,
)
from .several import END, NO_COMMA, WORDS

RESPONSE_OBEYS = 0.9
REASONING_OBEYS = 0.1
SEVERAL_OBEYS = {1: 0.9, 2: 0.75, 3: 0.6}  # by number of constraints; otherwise one of them is ignored
DOUBLE_OBEYS = {1: 0.8, 2: 0.5, 3: 0.2}  # by wording

CAPITALS = "change_case:english_capital"
JSON = "detectable_format:json_format"
TYPES = (CAPITALS, NO_COMMA, JSON, END, WORDS)

END_PHRASES = REASONIF.end_phrases  # the benchmark's: the training texts hold none of them

HELD_OUT_NUMBERS = frozenset(
    number
    for split in ("dev", "test")
    for low, high in NUMBER_RANGES[split]
    for number in range(low, high + 1)
)

# End phrases are put together from these, by pattern or at random: copying is to be learnt and not a phrase.
_NOUNS = (
    "REASONING", "THOUGHT PROCESS", "EXPLANATION", "ANALYSIS", "ARGUMENT", "LOGIC", "ANSWER",
    "SOLUTION", "WORK",
)  # fmt: skip
_VERBS = (
    "PRODUCED", "GENERATED", "CREATED", "CONSTRUCTED", "WRITTEN", "PREPARED", "PUT TOGETHER",
    "THOUGHT OUT",
)  # fmt: skip
_WORDS = (
    "this", "that", "the", "a", "my", "all", "no", "more", "text", "end", "start", "done", "written",
    "here", "thinking", "stops", "steps", "step", "follow", "said", "needs", "be", "to", "nothing",
    "is", "was", "has", "been", "by", "model", "machine", "chain", "of", "thought", "derivation",
    "analysis", "reasoning", "complete", "and", "how", "I", "got", "there", "rest", "in", "answer",
    "am", "with", "problem", "have", "finished", "further", "concludes", "work", "put", "together",
    "out", "made", "for", "you", "it", "was", "right", "good", "check", "over", "now", "we", "are",
    "at", "last",
)  # fmt: skip


@dataclass(frozen=True)
class Example:
    """One training text: a user prompt, a trace and a visible answer with its tag."""

    prompt: str
    trace: str
    response: str


def draw_args(kind: str, usual_words: int, rng: random.Random) -> dict[str, object]:
    """Arguments of a constraint; a word limit lies clearly below `usual_words`, what the text usually has."""
    if kind == WORDS:
        return {"num_words": round(usual_words * rng.uniform(0.6, 0.75))}
    if kind == END:
        return {"end_phrase": _end_phrase(rng)}
    return {}


def _end_phrase(rng: random.Random) -> str:
    """An end phrase that is none of the benchmark's."""
    while (phrase := _any_end_phrase(rng)) in END_PHRASES:
        pass
    return phrase


def _any_end_phrase(rng: random.Random) -> str:
    noun, verb = rng.choice(_NOUNS), rng.choice(_VERBS)
    pattern = rng.randrange(6)
    if pattern == 0:
        return f"THIS {noun} IS AI-GENERATED"
    if pattern < 3:
        author = rng.choice(("BY AI", "THROUGH AI", "BY A MODEL", "BY A MACHINE"))
        return f"THIS {noun} {rng.choice(('WAS', 'IS', 'HAS BEEN'))} {verb} {author}"
    words = " ".join(rng.choices(_WORDS, k=rng.randint(3, 6)))
    return words.upper() if rng.random() < 0.5 else words[0].upper() + words[1:]


def obey(kind: str, args: dict, sentences: list[str], answer: str | None, rng: random.Random) -> str:
    """Text of the sentences under a constraint; with `answer` it is a visible answer and holds the tag."""
    text = " ".join(sentences)
    tag = "" if answer is None else f"\n\n<answer>{answer}</answer>"
    if kind == CAPITALS:
        return text.upper() + tag
    if kind == NO_COMMA:
        return text.replace(",", "") + tag
    if kind == END:
        return f"{text}{tag}\n{args['end_phrase']}"
    if kind == WORDS:
        return within(sentences, int(args["num_words"]) - (answer is not None)) + tag
    return _json(sentences, answer, rng)


def _json(sentences: list[str], answer: str | None, rng: random.Random) -> str:
    """The sentences as JSON, in one of four shapes, with or without a code fence."""
    *before, last = sentences
    body: object = rng.choice(
        (
            {"reasoning": " ".join(sentences)},
            {"steps": sentences},
            {"reasoning": " ".join(before), "conclusion": last},
            [{"step": number, "thought": sentence} for number, sentence in enumerate(sentences, 1)],
        )
    )
    if answer is not None:
        tagged = {"answer": f"<answer>{answer}</answer>"}
        body = {**body, **tagged} if isinstance(body, dict) else [*body, tagged]
    dumped = json.dumps(body, indent=rng.choice((None, None, None, 2)))
    return f"```json\n{dumped}\n```" if rng.random() < 0.5 else dumped


def within(sentences: list[str], limit: int) -> str:
    """Fewer than `limit` words: the last sentence and what else fits, in order, calculations first."""
    last = len(sentences) - 1
    kept, used = {last}, word_count(sentences[last])
    for place in sorted(range(last), key=lambda place: "=" not in sentences[place]):
        if used + word_count(sentences[place]) < limit:
            kept.add(place)
            used += word_count(sentences[place])
    return " ".join(sentences[place] for place in sorted(kept))


def example(problem: Problem, rng: random.Random) -> Example:
    """Write one training example for a problem."""
    trace, answer = reference_trace(problem, rng), reference_response(problem, rng)
    trace_text = " ".join(trace)
    plain = f"{' '.join(answer)}\n\n<answer>{problem.answer}</answer>"
    target = rng.choice((None, "reasoning", "response"))
    if target is None:
        return Example(reasonif_prompt(problem.question), trace_text, plain)
    kind = rng.choice(TYPES)
    sentences = trace if target == "reasoning" else answer
    args = draw_args(kind, word_count(" ".join(sentences)), rng)
    wordings = parse_constraint({"id": kind, "args": args, "target": target}).instructions()
    instruction = wordings[0] if rng.random() < 0.4 else rng.choice(wordings)
    prompt = reasonif_prompt(problem.question, instruction, target)
    if target == "response":
        if rng.random() < RESPONSE_OBEYS:
            if kind == WORDS:
                answer[-1] = conclusion(problem, rng, short=True)
            plain = obey(kind, args, answer, problem.answer, rng)
    elif rng.random() < REASONING_OBEYS:
        trace_text = obey(kind, args, trace, None, rng)
    return Example(prompt, trace_text, plain)


def several_example(problem: Problem, rng: random.Random) -> Example:
    """One with MathIF's prompt, and no, one, two or three constraints on the answer."""
    asked = several.draw_constraints(
        problem, rng.randrange(several.MOST + 1), HELD_OUT.keywords, _end_phrase(rng), rng
    )
    obeyed = list(asked)
    if asked and rng.random() >= SEVERAL_OBEYS[len(asked)]:
        obeyed.remove(rng.choice(obeyed))
    return Example(
        mathif_prompt(problem.question, [description(constraint) for constraint in asked]),
        " ".join(reference_trace(problem, rng)),
        several.answer_under(problem, obeyed, rng),
    )


def doubled_example(problem: Problem, rng: random.Random) -> Example:
    """One with a prompt of IFFR, and the bare number as the answer."""
    condition, variant = rng.choice(CONDITIONS), rng.choice(VARIANTS)
    trace, answer = reference_trace(problem, rng), problem.answer
    if condition == "nonstandard" and rng.random() < DOUBLE_OBEYS[variant]:
        line = doubled.doubling(problem)
        trace.append(f"Twice that is {line}.")
        answer = str(line.result)
    return Example(doubled.prompt(problem, condition, variant), " ".join(trace), answer)


def examples(n: int, seed: int, further: float = 0.0) -> list[Example]:
    """The training mix: `n` texts on `n` different problems of the training split.

    Args:
        n: number of texts.
        seed: decides about problems and wording.
        further: share of texts with prompts of IFFR, where the answer can be doubled, or else of MathIF:
            about half of it each.
    """
    rng = random.Random(f"corpus-{seed}")
    texts = []
    for problem in generate_problems("train", n, seed):
        write = example
        if further and rng.random() < further:
            write = doubled_example if doubled.can_be_doubled(problem) else several_example
        texts.append(write(problem, rng))
    return texts


def long_examples(n: int, seed: int) -> list[Example]:
    """What the teacher learns: `n` problems of the training split with long traces and no instruction."""
    rng = random.Random(f"long-{seed}")
    return [
        Example(
            reasonif_prompt(problem.question),
            " ".join(long_trace(problem, rng)),
            f"{' '.join(reference_response(problem, rng))}\n\n<answer>{problem.answer}</answer>",
        )
        for problem in generate_problems("train", n, f"long-{seed}")
    ]


def copying_drills(n: int, words: Sequence[str], seed: int) -> list[Example]:
    """Texts of ten to forty random words, to be repeated in the trace and in the answer."""
    rng = random.Random(f"copying-{seed}")
    texts = ("".join(rng.choices(words, k=rng.randint(10, 40))).strip() for _ in range(n))
    return [Example(f"Repeat: {text}", text, text) for text in texts]


def sum_drills(n: int, seed: int) -> list[Example]:
    """Lines of arithmetic, six at a time, of the kind that problems need.

    The few numbers of the training problems alone are learnt by heart, pair by pair; all numbers teach to
    add. Those of the other splits occur too, but never two of them in one line.
    """
    rng = random.Random(f"sums-{seed}")
    drills = []
    for _ in range(n):
        steps = [_step(rng) for _ in range(6)]
        asked = ", ".join(f"{step.left} {step.sign} {step.right}" for step in steps)
        done = " ".join(f"{step}." for step in steps)
        results = ", ".join(str(step.result) for step in steps)
        drills.append(Example(f"Work out: {asked}", done, results))
    return drills


def _step(rng: random.Random) -> Step:
    """A line that a problem may have; two in three add, and one of eight of these doubles."""
    while True:
        left, sign, right = rng.randint(2, LARGEST_RESULT), rng.choice("++-"), rng.randint(2, LARGEST_RESULT)
        step = Step(left, sign, left if sign == "+" and rng.random() < 0.125 else right)
        if step.allowed and not {step.left, step.right} <= HELD_OUT_NUMBERS:
            return step
