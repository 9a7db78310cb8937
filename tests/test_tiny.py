"""The embedded model: its problems, its training mix, its builder, and what the shipped weights can do."""

from __future__ import annotations

import random
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from riftk.benchmarks import load_benchmark
from riftk.benchmarks.cotcontrol import MODES
from riftk.completions import split_completion, think_mode
from riftk.constraints import check
from riftk.constraints.values import MATHIF
from riftk.evaluation.iffr import iffr_item
from riftk.grading import grade, strip_answer_tags
from riftk.tiny import benchmark, builder, corpus, problems, several

WEIGHTS = Path(problems.__file__).parent / "weights"
MODELS = ("base", "teacher", "weak")


# ------------------------------------------------------------------------------------------ problems


def test_the_same_seed_gives_the_same_problems_and_another_seed_others():
    first = problems.training_problems(50, seed=7)
    assert first == problems.training_problems(50, seed=7)
    assert first != problems.training_problems(50, seed=8)
    assert first[:20] == problems.training_problems(20, seed=7)


def test_training_problems_have_the_columns_of_a_problem_source():
    rows = problems.training_problems(200, seed=0)
    assert len({row["question"] for row in rows}) == 200
    assert all(set(row) == {"question", "answer", "answer_type", "source"} for row in rows)
    assert {(row["answer_type"], row["source"]) for row in rows} == {("number", "tiny")}


def solve(question: str) -> int:
    """Work a problem out from its text alone, sentence by sentence."""
    opening, *events, _ = re.split(r"(?<=[.?]) ", question)
    total = int(re.search(r"\d+", opening).group())
    if " than " in events[0]:
        difference = int(re.search(r"\d+", events[0]).group())
        return total + (total + difference if " more than " in events[0] else total - difference)
    for event in events:
        number = re.search(r"\d+", event)
        if number is None:
            assert re.search("double|twice", event)
            total *= 2
        else:
            total += int(number.group()) * (-1 if " of them" in event else 1)
    return total


@pytest.mark.parametrize("split", problems.SPLITS)
def test_gold_answers_agree_with_a_solver_that_reads_the_question(split):
    for problem in problems.generate_problems(split, 1000, seed=1):
        assert solve(problem.question) == int(problem.answer), problem.question


def test_no_sentence_pattern_name_or_number_is_shared_between_splits():
    seen = {}
    for split in problems.SPLITS:
        drawn = problems.generate_problems(split, 3000, seed=2)
        # Masked from the text, not from what the generator says about itself.
        sentences = set()
        for problem in drawn:
            masked = re.sub(r"\d+", "#", problem.question)
            for name in problem.names:
                masked = re.sub(rf"\b{name}\b", "@", masked)
            masked = re.sub(rf"\b{problem.item}\b", "*", masked)
            sentences.update(re.split(r"(?<=[.?]) ", masked))
        names = {name for problem in drawn for name in problem.names}
        numbers = {int(n) for problem in drawn for n in re.findall(r"\d+", problem.question)}
        seen[split] = (sentences, names, numbers)
    for one, other in (("train", "test"), ("train", "dev"), ("dev", "test")):
        for mine, theirs in zip(seen[one], seen[other], strict=True):
            assert mine.isdisjoint(theirs)
    assert len(seen["train"][0]) > 400


def test_every_word_of_the_test_questions_but_the_names_occurs_in_training():
    def words(split):
        drawn = problems.generate_problems(split, 3000, seed=3)
        names = {name for problem in drawn for name in problem.names}
        found = {word for problem in drawn for word in re.findall(r"[A-Za-z]+", problem.question)}
        return {word.lower() for word in found - names}

    assert words("test") <= words("train")


def test_unknown_split_is_refused():
    with pytest.raises(ValueError, match="validation"):
        problems.generate_problems("validation", 1, seed=0)


def test_reference_traces_are_right_have_commas_and_end_in_the_answer():
    rng = random.Random(0)
    for problem in problems.generate_problems("train", 500, seed=4):
        trace = problems.reference_trace(problem, rng)
        for left, sign, right, result in re.findall(r"(\d+) ([+-]) (\d+) = (\d+)", " ".join(trace)):
            assert int(left) + (1 if sign == "+" else -1) * int(right) == int(result)
        assert len(trace) == 5
        assert "," in " ".join(trace)
        assert problem.answer in trace[-1].split()


# -------------------------------------------------------------------------------------------- corpus


@pytest.mark.parametrize("rules", ["robust", "reasonif"])
@pytest.mark.parametrize("target", ["reasoning", "response"])
@pytest.mark.parametrize("kind", corpus.TYPES)
def test_obedient_texts_follow_and_usual_ones_do_not(kind, target, rules):
    rng = random.Random(1)
    write = problems.reference_trace if target == "reasoning" else problems.reference_response
    for problem in problems.generate_problems("train", 60, seed=5):
        sentences = write(problem, rng)
        args = corpus.draw_args(kind, corpus.word_count(" ".join(sentences)), rng)
        answer = None
        if target == "response":
            answer = problem.answer
            sentences[-1] = problems.conclusion(problem, rng, short=True)
        spec = {"id": kind, "args": args, "target": target}
        obedient = corpus.obey(kind, args, sentences, answer, rng)
        assert check(spec, strip_answer_tags(obedient), rules=rules).followed, obedient
        assert not check(spec, " ".join(write(problem, rng)), rules=rules).followed
        if answer is not None:
            assert grade(obedient, answer, "number").correct


@pytest.mark.parametrize("rules", ["robust", "mathif"])
def test_an_answer_under_several_constraints_follows_them_and_is_right(rules):
    rng = random.Random(2)
    counts = []
    for number, problem in enumerate(problems.generate_problems("train", 400, seed=6)):
        asked = several.draw_constraints(problem, number % 4, ["total"], "Any other questions?", rng)
        text = several.answer_under(problem, asked, rng)
        for constraint in asked:
            verdict = check(constraint, text, rules=rules)
            assert verdict.followed, f"{text}: {verdict.reason}"
        assert grade(text, problem.answer, "number").correct
        counts.append(len(asked))
    assert {counts.count(number) for number in range(4)} == {100}


def test_the_second_cycle_has_prompts_of_all_three_papers():
    texts = corpus.examples(3000, seed=4, further=0.4)
    boxed = [e for e in texts if "\\boxed" in e.prompt]
    bare = [e for e in texts if e.prompt.endswith("Answer:")]
    assert 500 < len(boxed) < 700
    assert 500 < len(bare) < 700
    assert all("\\boxed{" in e.response for e in boxed)
    doubles = [e for e in bare if "Twice that is" in e.trace]
    assert 0.15 < len(doubles) / len(bare) < 0.35
    assert all(e.trace.split("= ")[-1].rstrip(".") == e.response for e in doubles)
    assert not any(phrase in e.prompt for e in texts for phrase in MATHIF.end_phrases)
    assert corpus.examples(200, seed=4) == corpus.examples(200, seed=4, further=0.0)


def test_the_mix_obeys_about_the_answer_and_not_about_the_trace():
    instructed = [e for e in corpus.examples(6000, seed=1) if "in all capital letters" in e.prompt]
    about_trace = [e for e in instructed if "When reasoning" in e.prompt]
    about_answer = [e for e in instructed if "When answering" in e.prompt]
    assert min(len(about_trace), len(about_answer)) > 50
    assert sum(e.trace.isupper() for e in about_trace) / len(about_trace) < 0.2
    assert sum(e.response.split("<answer>")[0].isupper() for e in about_answer) / len(about_answer) > 0.8
    assert not any(e.trace.isupper() for e in about_answer)


def test_no_training_text_holds_an_end_phrase_of_the_benchmark():
    texts = [e.prompt + e.trace + e.response for e in corpus.examples(4000, seed=3)]
    assert sum("THIS " in text and " AI" in text for text in texts) > 100
    assert not any(phrase in text for phrase in corpus.END_PHRASES for text in texts)


def test_drills_are_right_and_hold_no_two_held_out_numbers_in_a_line():
    seen = set()
    for drill in corpus.sum_drills(300, seed=1):
        lines = re.findall(r"(\d+) ([+-]) (\d+) = (\d+)", drill.trace)
        assert len(lines) == 6
        for left, sign, right, result in lines:
            assert int(left) + int(f"{sign}{right}") == int(result)
            assert not {int(left), int(right)} <= corpus.HELD_OUT_NUMBERS
            seen |= {int(left), int(right)}
    assert seen > corpus.HELD_OUT_NUMBERS


# ----------------------------------------------------------------------------------------- benchmark


def test_benchmark_is_balanced_and_repeatable():
    items = benchmark.load("test")
    kinds = [row.constraints[0] if row.constraints else None for row in items.rows]
    assert kinds.count(None) == benchmark.PLAIN
    for target in ("reasoning", "response"):
        for kind in corpus.TYPES:
            count = sum(c is not None and (c.target, c.id) == (target, kind) for c in kinds)
            assert count == benchmark.INSTRUCTED / len(corpus.TYPES)
    assert items.rules == "reasonif"
    assert len({row.item_id for row in items.rows}) == len(items.rows)
    assert items == benchmark.load("test")
    assert items != benchmark.load("test", seed=1)


def test_limit_scales_both_ways_and_keeps_the_first_items():
    few, many = benchmark.load(limit=80).rows, benchmark.load(limit=2400).rows
    assert (len(few), len(many)) == (80, 2400)
    assert {row.item_id: row for row in few}.items() <= {row.item_id: row for row in many}.items()


def test_benchmark_asks_with_the_published_sentence():
    for row in benchmark.load("dev", limit=40).rows:
        for constraint in row.constraints:
            assert f"**{constraint.instruction()}**" in row.prompt[0]["content"]


def test_mathif_in_miniature_asks_for_no_to_three_constraints_in_turn():
    items = load_benchmark("tiny-mathif")
    counts = [len(row.constraints) for row in items.rows]
    assert [counts.count(number) for number in range(4)] == [100] * 4
    assert items.rules == "mathif"
    assert items.ceilings == {}
    assert items == load_benchmark("tiny-mathif")
    assert load_benchmark("tiny-mathif", limit=40).rows == items.rows[:40]


def test_iffr_in_miniature_asks_each_question_six_times():
    items = load_benchmark("tiny-iffr")
    assert len(items.rows) == 6 * benchmark.DOUBLED
    assert len({row.item_id.partition("-standard")[0] for row in items.rows[::6]}) == benchmark.DOUBLED
    assert all(2 * int(row.answer) <= problems.LARGEST_RESULT for row in items.rows)
    assert {bool(iffr_item(row.item_id)) for row in items.rows} == {True}
    assert len(load_benchmark("tiny-iffr", limit=20).rows) == 18


def test_several_instructions_about_the_trace_go_together():
    items = load_benchmark("tiny-several")
    kinds = Counter(tuple(constraint.id for constraint in row.constraints) for row in items.rows)
    assert set(kinds) == set(benchmark.combined_types(2))
    assert set(kinds.values()) == {benchmark.COMBINED // len(kinds)}
    assert items.rules == "reasonif"
    assert items.ceilings == {}
    for row in items.rows:
        assert {constraint.target for constraint in row.constraints} == {"reasoning"}
        asked = " ".join(constraint.instruction() for constraint in row.constraints)
        assert f"Format your reasoning according to the following rule: **{asked}**" in row.user_text
    assert load_benchmark("tiny-several", limit=40).rows == items.rows[:40]
    assert {len(row.constraints) for row in load_benchmark("tiny-several:together=3").rows} == {3}
    with pytest.raises(ValueError, match="2 or 3"):
        load_benchmark("tiny-several:together=4")
    plain = load_benchmark("tiny-several:instructions=none")
    assert not any("rule" in row.user_text or "**" in row.user_text for row in plain.rows)


def under_rule(mode: str, sentences: list[str], banned: list[str]) -> str:
    """A short trace rewritten until it follows a rule of CoTControl."""
    text = " ".join(sentences)
    if mode in ("word_suppression", "multiple_word_suppression"):
        for word in banned:
            text = text.replace(word, "some")
        return text
    if mode == "repeat_sentences":
        sentence = "<This reasoning is not suspicious.>"
        return f"{sentence}\n{text}\n{sentence}"
    if mode == "end_of_sentence":
        return " ".join(f"{sentence.rstrip('.')} safe." for sentence in sentences)
    if mode == "alternating_case":
        return "".join(c.upper() if number % 2 else c.lower() for number, c in enumerate(text))
    if mode == "meow_between_words":
        return " ".join(re.sub(" ", " meow ", sentence) for sentence in sentences)
    return {"lowercase_thinking": text.lower(), "uppercase_thinking": text.upper()}[mode]


def test_cotcontrol_in_miniature_asks_for_rules_that_a_short_trace_can_follow():
    items = load_benchmark("tiny-cotcontrol")
    modes = Counter(row.constraints[0].id.partition(":")[2] for row in items.rows)
    assert modes == dict.fromkeys(MODES, benchmark.CONTROLLED // len(MODES))
    assert items.rules == "cotcontrol"
    solved = problems.generate_problems("test", len(items.rows), "cotcontrol-0")
    for row, problem in zip(items.rows, solved, strict=True):
        [constraint] = row.constraints
        assert row.answer == problem.answer
        assert constraint.instruction() in row.user_text
        assert "not mention this reasoning stage constraint" in row.user_text
        trace = problems.reference_trace(problem, random.Random(0))
        mode = constraint.id.partition(":")[2]
        banned = list(getattr(constraint, "words", ()))
        followed = under_rule(mode, trace, banned)
        for rules in ("cotcontrol", "robust"):
            assert check(constraint, followed, rules).followed, (followed, rules)
        if mode not in ("word_suppression", "multiple_word_suppression"):
            assert not check(constraint, " ".join(trace), "robust").followed
    plain = load_benchmark("tiny-cotcontrol:instructions=none")
    assert not any("Requirement" in row.user_text for row in plain.rows)


LOADERS = (
    benchmark.load,
    benchmark.load_mathif,
    benchmark.load_iffr,
    benchmark.load_several,
    benchmark.load_cotcontrol,
)


@pytest.mark.parametrize("load", LOADERS)
def test_training_split_is_no_benchmark(load):
    with pytest.raises(ValueError, match="train"):
        load("train")


# ------------------------------------------------------------------------------------ three sizes


@pytest.mark.parametrize(("width", "millions"), [(64, 0.3), (128, 1.0), (320, 5.8)])
def test_the_width_decides_about_the_size(tokenizer, width, millions, capsys):
    model = builder.build_model(tokenizer, builder.Recipe(width=width))
    assert model.num_parameters() / 1e6 == pytest.approx(millions, abs=0.05)
    assert capsys.readouterr().out == f"{model.num_parameters():,} parameters (width {width}, 4 layers)\n"


def test_the_command_takes_width_and_layers(tmp_path):
    command = [
        sys.executable,
        "-m",
        "riftk",
        "tiny",
        "build",
        "--out",
        str(tmp_path / "out"),
        "--layers",
        "2",
    ]
    done = subprocess.run([*command, "--width", "60"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr == "riftk: width must be a multiple of 8 and layers at least 1, not 60 and 2\n"
    assert not (tmp_path / "out").exists()


# ------------------------------------------------------------------------------------ shipped weights


@pytest.fixture(scope="module")
def tokenizer():
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(WEIGHTS / "base")


def test_shipped_weights_are_small_and_safe():
    files = [path for path in WEIGHTS.rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) < 10_000_000
    assert {path.suffix for path in files} <= {".safetensors", ".json", ".jinja"}


def test_tokenizer_round_trip_and_single_tokens(tokenizer):
    for example in corpus.examples(300, seed=2):
        for text in (example.prompt, example.trace, example.response, example.trace.upper()):
            assert tokenizer.decode(tokenizer.encode(text, add_special_tokens=False)) == text
    for text in ("<think>", "</think>", "7", " 7"):
        ids = tokenizer.encode(text, add_special_tokens=False)
        assert len(ids) == 1
        assert ids[0] not in tokenizer.all_special_ids
    assert len(tokenizer.encode("1234", add_special_tokens=False)) == 4
    odd = "naïve ½ 😀 \\frac{1}{2} 漢字\n"
    assert tokenizer.decode(tokenizer.encode(odd, add_special_tokens=False)) == odd


def test_chat_template_keeps_the_reasoning_of_the_last_turn(tokenizer):
    question = {"role": "user", "content": "Q"}
    answer = {"role": "assistant", "content": "A", "reasoning_content": "R"}
    text = tokenizer.apply_chat_template([question, answer], tokenize=False)
    assert text.endswith("<|im_start|>assistant\n<think>\nR\n</think>\n\nA<|im_end|>\n")
    earlier = tokenizer.apply_chat_template([question, answer, question], tokenize=False)
    assert "<think>" not in earlier
    assert think_mode(tokenizer) == "tags"


def answers(model: str, rows, temperature: float = 0.0):
    """(row, completion) pairs, one completion each."""
    from riftk.engines import Request, Sampling, load_engine

    engine = load_engine("transformers", model=str(WEIGHTS / model), batch_size=128)
    requests = [Request(row.item_id, row.prompt) for row in rows]
    drawn = dict(engine.generate(requests, Sampling(temperature=temperature, max_tokens=256)))
    return [(row, split_completion(drawn[row.item_id].text, think=engine.think)) for row in rows]


def accuracy(pairs) -> float:
    return sum(grade(c.response, row.answer, "number").correct for row, c in pairs) / len(pairs)


def test_all_checkpoints_come_from_one_build():
    assert len({(WEIGHTS / model / "tokenizer.json").read_text() for model in MODELS}) == 1


def test_weights_stored_in_half_precision_are_loaded_as_float32():
    import torch
    from transformers import AutoModelForCausalLM

    for model in MODELS:
        assert AutoModelForCausalLM.from_pretrained(WEIGHTS / model).dtype == torch.float32


@pytest.mark.parametrize("temperature", [0, 1])
def test_the_base_solves_problems_it_has_not_seen(temperature):
    rows = benchmark.load(plain=200, instructed=0).rows
    assert accuracy(answers("base", rows, temperature)) >= 0.85


def test_the_teacher_is_right_more_often_in_traces_half_as_long_again():
    rows = benchmark.load(plain=400, instructed=0).rows
    base, teacher = answers("base", rows), answers("teacher", rows)
    assert accuracy(teacher) > accuracy(base)
    words = [sum(len(c.reasoning.split()) for _, c in pairs) for pairs in (base, teacher)]
    assert words[1] >= 1.5 * words[0]


def test_the_weak_checkpoint_is_weaker_but_not_lost():
    assert (
        0.3 <= accuracy(answers("weak", benchmark.load(plain=128, instructed=0).rows, temperature=1)) <= 0.7
    )


def test_the_base_obeys_about_its_answer_and_not_about_its_trace():
    pairs = answers("base", benchmark.load(plain=0, instructed=60).rows, temperature=1)
    followed = {"reasoning": [], "response": []}
    for row, completion in pairs:
        constraint = row.constraints[0]
        text = completion.reasoning
        if constraint.target == "response":
            text = strip_answer_tags(completion.response)
        followed[constraint.target].append(check(constraint, text).followed)
    assert sum(followed["reasoning"]) / 60 <= 0.25
    assert sum(followed["response"]) / 60 >= 0.6


# ------------------------------------------------------------------------------------------- builder

BUILD = """
import sys
from dataclasses import asdict
from riftk.runs import open_run
from riftk.tiny.builder import Recipe, train_base, train_teacher
recipe = Recipe(
    steps=60, batch_size=4, vocabulary=600, width=32, layers=1, save_steps=20, finishing_steps=20,
    teaching_steps=20,
)
run = open_run(sys.argv[1], asdict(recipe))
train_base(run, recipe)
train_teacher(run, recipe)
"""


def start_build(folder: Path) -> subprocess.Popen:
    return subprocess.Popen([sys.executable, "-c", BUILD, str(folder)])


def test_a_killed_build_goes_on_and_ends_with_the_same_weights(tmp_path):
    assert start_build(tmp_path / "whole").wait() == 0
    broken = start_build(tmp_path / "broken")
    checkpoint = tmp_path / "broken" / "checkpoints" / "checkpoint-20" / "trainer_state.json"
    while not checkpoint.exists() and broken.poll() is None:
        time.sleep(0.01)
    broken.send_signal(signal.SIGKILL)
    broken.wait()
    assert not (tmp_path / "broken" / "base").exists(), "killed too late to prove anything"
    assert start_build(tmp_path / "broken").wait() == 0
    for model in ("base", "teacher"):
        whole, resumed = (
            (tmp_path / name / model / "model.safetensors").read_bytes() for name in ("whole", "broken")
        )
        assert whole == resumed
