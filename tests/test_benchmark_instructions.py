"""Instructions asked for in other words, in the system message, or not at all: on every benchmark."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from every_constraint import ARGUMENTS, JUDGED

from riftk.benchmarks import Benchmark, load_benchmark, takes_limits
from riftk.benchmarks.instructions import MODES, with_instructions
from riftk.benchmarks.mathif import PROMPTS_SHA, prompts_sha
from riftk.benchmarks.paraphrases import PARAPHRASES, paraphrase
from riftk.constraints import ConstraintError, list_constraints, parse_constraint
from riftk.constraints.published import RULEBOOKS, ifeval, mathif
from riftk.rows import Row, RowError, write_jsonl

COMMA = parse_constraint({"id": "punctuation:no_comma", "target": "response"})


def words(sentence: str) -> set[str]:
    return set(re.findall(r"\w+", sentence.lower()))


def every_constraint(target: str):
    ids = [id for id in list_constraints() if not id.startswith("ifbench:")]
    arguments = {**ARGUMENTS, JUDGED: {"question": "What is 1 + 1?"}}
    return [parse_constraint({"id": id, "args": arguments.get(id), "target": target}) for id in ids]


@pytest.mark.parametrize("target", ["reasoning", "response"])
def test_every_constraint_has_three_paraphrases_that_nothing_else_says(target):
    for constraint in every_constraint(target):
        ours = {paraphrase(constraint, str(draw)) for draw in range(50)}
        assert len(ours) >= 3, constraint.id
        theirs = [*constraint.instructions("reasoning"), *constraint.instructions("response")]
        theirs += [
            book.description(constraint)
            for rules, book in (("mathif", mathif), ("ifeval", ifeval))
            if constraint.id in RULEBOOKS[rules]
        ]
        for one in ours:
            assert "{" not in one.replace("{'", ""), one
            nearest = max(len(words(one) & words(other)) / len(words(one) | words(other)) for other in theirs)
            assert nearest < 0.75, one


def placeholders(template: str) -> set[str]:
    named = set(re.findall(r"{(\w+)}", template)) - {"text", "acting"}
    return (named - {"bound"}) | ({"relation", "num_words"} if "bound" in named else set())


def test_paraphrases_name_every_argument_and_the_choice_is_repeatable():
    for constraint in every_constraint("response"):
        for template in PARAPHRASES[constraint.id]:
            assert placeholders(template) == placeholders(constraint.wording[0])
        assert paraphrase(constraint, "a") == paraphrase(constraint, "a")


def test_a_constraint_without_paraphrases_is_named():
    unknown = replace(COMMA)
    type_ = type("Unknown", (type(unknown),), {"id": "mine:unknown"})
    with pytest.raises(ConstraintError, match="mine:unknown has no paraphrases; add some to"):
        paraphrase(type_(), "a")


def test_without_instructions_the_published_prompts_are_the_published_plain_ones(benchmark_file):
    folder = benchmark_file("mathif.jsonl").parent
    benchmark = load_benchmark("mathif", data_dir=folder, instructions="none")
    assert benchmark.name == "mathif-instructions-none"
    assert benchmark.details["instructions"] == "none"
    assert len(benchmark.rows) == 420  # the plain form is the same prompt, and is asked once
    assert prompts_sha(list(benchmark.rows)) == PROMPTS_SHA["plain"]
    asked = load_benchmark("reasonif:instructions=none", data_dir=benchmark_file("reasonif.jsonl").parent)
    plain = load_benchmark("reasonif:plain", data_dir=folder)
    assert [row.prompt for row in asked.rows] == [row.prompt for row in plain.rows]
    assert not takes_limits("reasonif:instructions=none")
    assert takes_limits("reasonif:instructions=system")


def test_in_the_system_message_nothing_is_lost(benchmark_file):
    folder = benchmark_file("mathif.jsonl").parent
    published = load_benchmark("mathif:constrained", data_dir=folder)
    moved = load_benchmark("mathif:constrained:instructions=system", data_dir=folder)
    for before, after in zip(published.rows, moved.rows, strict=True):
        system, user = after.prompt
        assert (system["role"], user["role"]) == ("system", "user")
        assert words(before.user_text) == words(f"{system['content']} {user['content']}")
        assert before.constraints == after.constraints
    reasonif = load_benchmark("reasonif:reasoning", data_dir=folder, limits="dataset", instructions="system")
    assert (
        reasonif.rows[0]
        .prompt[0]["content"]
        .startswith("Format your reasoning according to the following rule: **When reasoning, ")
    )


def test_paraphrased_prompts_hold_no_published_sentence(benchmark_file):
    folder = benchmark_file("mathif.jsonl").parent
    for name in ("mathif:constrained", "reasonif", "tiny"):
        published = load_benchmark(name, data_dir=folder, limits="dataset")
        other = load_benchmark(name, data_dir=folder, limits="dataset", instructions="paraphrased")
        for before, after in zip(published.rows, other.rows, strict=True):
            assert (before.constraints, before.item_id) == (after.constraints, after.item_id)
            assert (before.prompt == after.prompt) == (not before.constraints)
            for constraint in before.constraints:
                for sentence in (published.sentence(constraint), *constraint.instructions()):
                    assert sentence.strip() not in after.user_text
    assert len({row.user_text.partition("**")[2][:40] for row in other.rows if row.constraints}) > 10


def test_the_embedded_benchmark_and_files_of_rows_take_the_option(tmp_path):
    assert load_benchmark("tiny", limit=16, instructions="published").name == "tiny"
    tiny = load_benchmark("tiny:instructions=none", limit=16)
    assert tiny.name == "tiny-instructions-none"
    assert len(tiny.rows) == 16
    assert not any(row.constraints for row in tiny.rows)
    row = Row(
        "a",
        (
            {"role": "system", "content": "Be kind."},
            {"role": "user", "content": "Do not use a single comma in your answer. What is 1 + 1?"},
        ),
        "2",
        "number",
        (COMMA,),
    )
    path = tmp_path / "mine.jsonl"
    write_jsonl(path, [row.to_dict()])
    [moved] = load_benchmark(f"{path}:rules=mathif:instructions=system").rows
    assert [m["content"] for m in moved.prompt] == [
        "Be kind.\n\nDo not use a single comma in your answer.",
        "What is 1 + 1?",
    ]
    [left_out] = load_benchmark(str(path), instructions="none").rows
    assert left_out.user_text == "What is 1 + 1?"
    assert load_benchmark(str(path), instructions="none").name == "mine-instructions-none"


def test_what_cannot_be_asked_that_way_is_said():
    own_words = Row(
        "a", ({"role": "user", "content": "1 + 1? And please, no commas."},), "2", constraints=(COMMA,)
    )
    with pytest.raises(
        RowError, match=r"a asks for punctuation:no_comma in words of its own, .* run mine with"
    ):
        with_instructions(Benchmark("mine", (own_words,)), "system")
    with pytest.raises(ValueError, match=f"instructions can be {', '.join(MODES)}; not 'shouted'"):
        load_benchmark("tiny:instructions=shouted", limit=4)
    plain = Benchmark("plain", (replace(own_words, constraints=()),))
    with pytest.raises(ValueError, match="plain asks for no constraint"):
        with_instructions(plain, "none")
    repeating = Benchmark("mine", (own_words,), repeat=True)
    with pytest.raises(ValueError, match="asks for its instructions a second time"):
        with_instructions(repeating, "paraphrased")


def test_followbench_is_named_as_not_supported():
    with pytest.raises(ValueError, match=r"FollowBench is not supported: .* judge model"):
        load_benchmark("followbench")
