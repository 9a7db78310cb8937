"""Synthesis beyond one constraint: combinations, filters, shards, what is written, and the command."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from synth_server import problem
from test_synth import ScriptedEngine, records_of, rows_of

from riftk import auditing
from riftk.benchmarks.paraphrases import PARAPHRASES, paraphrase
from riftk.completions import split_completion
from riftk.constraints import base, parse_constraint
from riftk.constraints.published import RULEBOOKS, published_rules
from riftk.data_synth import (
    Shard,
    SynthConfig,
    SynthesisError,
    dry_run,
    make_seeds,
    merge,
    push_to_hub,
    synthesize,
)
from riftk.data_synth.decontaminate import Index, load_index, thresholds
from riftk.data_synth.errors import Rejected
from riftk.data_synth.families import FAMILIES
from riftk.data_synth.filters import check_language, check_length, rule_talk
from riftk.data_synth.registry import REWRITERS, Place, Rewrite, rewriter
from riftk.data_synth.rewriters import (
    BULLETS,
    CAPITAL_WORDS,
    CAPITALS,
    END,
    HIGHLIGHTS,
    JSON,
    LANGUAGE,
    LOWERCASE,
    NO_COMMA,
    QUOTATION,
    REASONIF_BY_RULE,
    REPEAT,
    SECTIONS,
    WORDS,
)
from riftk.data_synth.seeds import make_prompt
from riftk.data_synth.survival import figures, require_survival
from riftk.data_synth.verification import judge
from riftk.engines.base import Generation
from riftk.rows import Row, read_jsonl, read_rows, write_jsonl
from riftk.training import read_config, read_dataset

CONFIGS = sorted((Path(__file__).parent.parent / "recipes" / "configs" / "synth").glob("*.yaml"))
BY_RULE = tuple(id for id, rewriter in REWRITERS.items() if not rewriter.needs_llm)


@pytest.fixture
def problems(tmp_path) -> str:
    path = tmp_path / "problems.jsonl"
    write_jsonl(path, map(problem, range(300)))
    return str(path)


def config_for(problems: str, **changes) -> SynthConfig:
    return SynthConfig(**{"problems": problems, "num_rows": 120, "seed": 5, "window": 32, **changes})


def calm() -> ScriptedEngine:
    return ScriptedEngine(faults=False)


# --------------------------------------------------------------------------- two and three constraints


def test_two_and_three_constraints_are_followed_together(problems, tmp_path):
    config = config_for(problems, num_rows=500, constraints=BY_RULE, num_constraints=(1, 2, 3), plain_share=0)
    result = synthesize(config, calm(), tmp_path / "out")
    counts = Counter(kind.count(" + ") + 1 for kind in result.yields)
    assert counts[1] == len(BY_RULE)
    assert counts[2] > 30
    assert counts[3] > 30
    kept = Counter()
    for data in rows_of(tmp_path / "out"):
        row = Row.from_dict(data)
        kept[len(row.constraints)] += 1
        assert all(
            one.verdict.followed for one in judge(row.constraints, data["reasoning"], data["response"])
        )
        for constraint in row.constraints:
            assert any(sentence in row.user_text for sentence in constraint.instructions())
    assert min(kept.values()) > 60


@pytest.mark.parametrize(
    "ids",
    [
        (CAPITALS, NO_COMMA, END),
        (NO_COMMA, END, QUOTATION),
        (WORDS, CAPITALS, END),
        (HIGHLIGHTS, NO_COMMA, END),
        (BULLETS, WORDS, NO_COMMA),
        (SECTIONS, LOWERCASE, END),
        (HIGHLIGHTS, BULLETS, CAPITAL_WORDS),
        (QUOTATION, BULLETS, HIGHLIGHTS),
    ],
)
def test_a_safe_order_whatever_the_order_of_the_sentences(problems, tmp_path, ids):
    config = config_for(problems, num_rows=40, constraints=ids, num_constraints=(3,), plain_share=0)
    result = synthesize(config, calm(), tmp_path / "out")
    assert result.rows >= 16, str(result)
    traces = {
        record["key"].partition("/")[0]: split_completion(record["generation"]["text"]).reasoning
        for record in records_of(tmp_path / "out", "traces")
    }
    for row in rows_of(tmp_path / "out"):
        if WORDS not in ids:
            own = figures(
                re.sub(r"(?m)^\W*(?:part|stage|chapter|block|phase) \d+$", "", row["reasoning"].lower())
            )
            assert own == figures(traces[row["item_id"]])


def test_what_cannot_stand_together_is_never_drawn(problems):
    config = config_for(problems, constraints=BY_RULE, num_constraints=(2,), num_rows=400, plain_share=0)
    for seed in make_seeds(config):
        assert set(seed.ids) not in ({CAPITALS, LOWERCASE}, {BULLETS, SECTIONS}, {JSON, QUOTATION})
        if REPEAT in seed.ids:
            assert set(seed.ids) == {REPEAT, NO_COMMA}
    with pytest.raises(SynthesisError, match="can be asked of one trace"):
        list(make_seeds(config_for(problems, constraints=(JSON, CAPITALS), num_constraints=(2,))))


def test_a_constraint_and_a_rewriter_of_ones_own(problems, tmp_path, monkeypatch):
    id = "mine:no_okay"
    monkeypatch.setattr(base, "_REGISTRY", dict(base._REGISTRY))
    monkeypatch.setitem(REWRITERS, id, None)  # taken out again

    @base.constraint(id)
    class NoOkay(base.Constraint):
        wording = ("Do not say okay in your {text}.",)

        def robust(self, text):
            okay = "okay" in text.raw.lower()
            return base.broken(0.0, "it says okay") if okay else base.followed("no okay")

    @rewriter(id, Place.WORDS)
    def well(material):
        return Rewrite(material.reasoning.replace("Okay", "Well"))

    result = synthesize(config_for(problems, constraints=(id,)), calm(), tmp_path / "out")
    assert result.yields[id].kept == result.yields[id].seeds
    assert "rule:well" in {row["synth"]["rewriter"] for row in rows_of(tmp_path / "out")}


def test_rows_are_judged_by_the_rules_that_an_audit_takes():
    for id in (NO_COMMA, CAPITALS, QUOTATION, LANGUAGE):
        args = {"language": "fr"} if id == LANGUAGE else None
        for target in ("reasoning", "response"):
            constraint = parse_constraint({"id": id, "args": args, "target": target})
            published, robust = judge([constraint], "So it is 4.", "It is 4.")
            assert robust.rules == "robust"
            # ReasonIF alone has the language, MathIF and IFEval alone the quotation marks.
            lent = {LANGUAGE: "reasonif", QUOTATION: "mathif"}.get(id)
            assert published.rules == (published_rules(constraint) or lent)


@pytest.mark.parametrize("style", ["reasonif", "mathif"])
def test_a_response_is_judged_by_the_rules_of_the_benchmark_in_whose_words_it_was_asked_for(problems, style):
    config = config_for(problems, style=style, response_share=0.9, constraints=BY_RULE)
    about = [seed for seed in make_seeds(config) if seed.target == "response"]
    assert {id for seed in about for id in seed.ids} == set(BY_RULE)
    for seed in about:
        published, _ = judge(seed.constraints(), "", "It is 4.", config.row_rules)
        by_reasonif = style == "reasonif" and seed.ids[0] in RULEBOOKS["reasonif"]
        assert (published.rules == "reasonif") is by_reasonif


def plain_words(template: str) -> str:
    """A sentence without case, punctuation and the names of its arguments."""
    return " ".join(re.findall(r"[a-z]+|{", re.sub(r"{\w+}", "{", template).lower()))


def test_no_row_asks_in_words_that_are_kept_for_evaluation(problems):
    classes = base._REGISTRY.values()
    training = [template for one in classes for template in (*one.wording, one.published_response or "")]
    kept = [template for templates in PARAPHRASES.values() for template in templates]
    assert min(len(training), len(kept)) > 3 * len(REWRITERS)
    assert not set(map(plain_words, training)) & set(map(plain_words, kept))
    config = config_for(problems, constraints=BY_RULE, num_rows=400, plain_share=0, response_share=0.5)
    for seed in make_seeds(config):
        for constraint in () if WORDS in seed.ids else seed.constraints():
            prompt, _ = make_prompt(config, seed, (constraint,))
            others = (paraphrase(constraint, str(draw)) for draw in range(9))
            assert not any(other in prompt for other in others)


# ---------------------------------------------------------------------------------------------- filters


def test_talk_about_the_rule_is_found_and_mathematics_is_not():
    for talk in (
        "I must follow the instruction here.",
        "We should answer in all capital letters.",
        "So no commas at all.",
        "I have to write in French only.",
        "It must be in JSON.",
        "Keep it less than 50 words.",
        "Then I end with the exact phrase.",
    ):
        assert rule_talk(talk), talk
    assert not rule_talk("So we write it in JSON.", "How long is a list of 3 numbers in JSON?")
    assert rule_talk("In JSON it is long. I use no commas.", "How long is it in JSON?") == "no commas"
    for sober in (
        "By the chain rule we get 2x.",
        "The constraint x > 0 holds.",
        "There are less than 50 apples.",
        "The format of the tournament gives 15 games.",
        "We follow the path from A to B.",
    ):
        assert not rule_talk(sober), sober


class Talking(ScriptedEngine):
    """Begins every trace by talking about what it was asked to do."""

    def complete(self, request, draws):
        said = super().complete(request, draws).text
        return Generation(said.replace("<think>\n", "<think>\nI must follow the instruction. "), "stop")


def test_talk_about_the_rule_is_dropped_or_kept_to_its_share(problems, tmp_path):
    config = config_for(problems, constraints=(NO_COMMA,), plain_share=0.5)
    none = synthesize(config, Talking(faults=False), tmp_path / "none")
    assert set(none.yields) == {NO_COMMA, "plain"}
    assert none.yields[NO_COMMA].kept == 0
    assert none.yields[NO_COMMA].reasons["verify: talk about the rule"] == 60
    some = synthesize(config_for(problems, constraints=(NO_COMMA,), plain_share=0.5, rule_talk=0.25),
                      Talking(faults=False), tmp_path / "some")  # fmt: skip
    assert some.yields[NO_COMMA].kept == 30
    assert some.yields[NO_COMMA].reasons["filter: talk about the rule beyond its share"] == 30


def test_the_language_and_length_of_a_trace_are_sane():
    config = SynthConfig("none.jsonl", trace_words=(5, 30))
    english = "The two of them have twelve apples together and they give three of them away to a friend."
    french = "Les deux ont ensemble douze pommes et elles en donnent trois à une amie qui les mange aussitôt."
    check_language(config, english, english)
    check_language(config, french, french)
    check_language(config, "3 + 4 = 7", english)
    with pytest.raises(Rejected, match="another language: fr"):
        check_language(config, french, english)
    check_language(SynthConfig("none.jsonl", trace_language="any"), french, english)
    with pytest.raises(Rejected, match="another language"):
        check_language(SynthConfig("none.jsonl", trace_language="fr"), english, english)
    check_length(config, english)
    for text in ("No idea.", f"{english} {english}"):
        with pytest.raises(Rejected, match="too"):
            check_length(config, text)


def test_repeated_prompts_are_dropped_and_types_balanced(problems, tmp_path):
    few = str(tmp_path / "few.jsonl")
    write_jsonl(few, map(problem, range(10)))
    result = synthesize(config_for(few, constraints=(NO_COMMA,), paraphrases=False), calm(), tmp_path / "few")
    assert result.yields[NO_COMMA].kept == 10
    assert 5 < result.yields["plain"].kept <= 10
    prompts = [row["prompt"][0]["content"] for row in rows_of(tmp_path / "few")]
    assert len(set(prompts)) == len(prompts)

    class NoCapitals(ScriptedEngine):
        def complete(self, request, draws):
            said = super().complete(request, draws)
            hinder = draws.random() < 0.5
            return Generation(
                said.text.replace("That looks", "`That` looks") if hinder else said.text, "stop"
            )

    config = config_for(
        problems, constraints=(CAPITALS, NO_COMMA), plain_share=0.25, balance=1.0, num_rows=240
    )
    balanced = synthesize(config, NoCapitals(faults=False), tmp_path / "balanced").yields
    assert balanced[CAPITALS].kept == balanced[NO_COMMA].kept > 20
    assert balanced["plain"].kept == round(2 * balanced[CAPITALS].kept / 3)
    assert balanced[NO_COMMA].reasons["filter: more than the share of its type"]


# ------------------------------------------------------------------------------------- decontamination


def test_problems_that_repeat_a_benchmark_are_never_sampled(problems, tmp_path):
    asked = [problem(number)["question"] for number in (3, 17)]
    index = Index()
    template = "Think step-by-step, and place only your final answer inside the tags. Here is the question: "
    others = [f"How far is it from town {n} to village {n} when a car takes {n} hours?" for n in range(20)]
    questions = {f"item-{n}": template + text for n, text in enumerate([*asked, *others])}
    index.add("toy", 0.5, questions)
    match = index.match(asked[0])
    assert match is not None
    assert match.item_id == "item-0"
    assert match.text.startswith("box 3 anna has 13 pens gets 6 more")
    assert (
        index.match(template + "What is the capital of a country that has no sea around it at all?") is None
    )
    strict = Index()
    strict.add("toy", 1.0, questions)
    nearly = asked[0].replace("13 pens", "14 pens")
    assert strict.match(nearly) is None


def test_every_benchmark_has_a_threshold_of_its_own():
    wanted = thresholds(("all", "reasonif=0.8"))
    assert wanted["reasonif"] == 0.8
    assert wanted["mathif"] == 0.5
    assert "tiny" not in wanted
    for wrong in ("nonsense", "reasonif=2", "mathif=x"):
        with pytest.raises(SynthesisError):
            thresholds((wrong,))


def test_a_benchmarks_own_questions_are_found(benchmark_file, tmp_path):
    folder = benchmark_file("reasonif.jsonl").parent
    index = load_index(("reasonif", "mathif"), str(folder))
    questions = [record["question"] for record in read_jsonl(benchmark_file("reasonif.jsonl"))]
    found = [index.match(question) for question in questions]
    assert sum(match is not None for match in found) >= 0.99 * len(questions)
    # ReasonIF took its 53 questions of GSM8K from the beginning of the training split.
    training = [record["question"] for record in read_jsonl(benchmark_file("gsm8k_train.jsonl"))][:1500]
    matches = [match for match in map(index.match, training) if match]
    assert Counter(match.benchmark for match in matches) == {"reasonif": 53}
    assert min(match.overlap for match in matches) == 1
    mixed = tmp_path / "mixed.jsonl"
    write_jsonl(mixed, [*({"question": q, "answer": "1"} for q in questions[:5]), *map(problem, range(20))])
    config = config_for(
        str(mixed),
        num_rows=25,
        decontaminate=("reasonif",),
        benchmark_dir=str(folder),
        constraints=(NO_COMMA,),
    )
    engine = calm()
    synthesize(config, engine, tmp_path / "out")
    assert len(engine.prompts) == 20
    card = (tmp_path / "out" / "README.md").read_text()
    assert card.count("- reasonif") == 5


# ------------------------------------------------------------------------------------ shards and outputs


def test_merged_shards_are_the_dataset_of_one_run(problems, tmp_path):
    config = config_for(problems, num_rows=200, attempts=2)
    synthesize(config, ScriptedEngine(), tmp_path / "whole")
    parts = [tmp_path / f"part-{number}" for number in (1, 2, 3)]
    for number, part in enumerate(parts, 1):
        done = synthesize(config, ScriptedEngine(), part, shard=Shard(number, 3))
        assert done.dataset is None
        assert synthesize(config, ScriptedEngine(), part, shard=Shard(number, 3)).was_finished
    merged = merge(reversed(parts), tmp_path / "merged")
    assert merged.rows > 100
    for name in ("dataset.jsonl", "yields.json", "rl.jsonl", "sft/tags.jsonl"):
        assert (tmp_path / "merged" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes(), name
    for folders, sentence in (
        (parts[:2], "missing: 3"),
        ([*parts, parts[0]], "are both shard 1/3"),
        ([tmp_path / "whole"], "is no shard"),
    ):
        with pytest.raises(SynthesisError, match=sentence):
            merge(folders, tmp_path / "other")
    with pytest.raises(SynthesisError, match="cannot be split into 8 shards"):
        synthesize(config, ScriptedEngine(), tmp_path / "x", shard=Shard(1, 8))
    with pytest.raises(SynthesisError, match="NUMBER/OF"):
        Shard.parse("9/8")


def test_what_is_written_can_be_read_by_what_trains_on_it(problems, tmp_path):
    config = config_for(problems, plain_share=0.2)
    result = synthesize(config, ScriptedEngine(), tmp_path / "out")
    rows = rows_of(tmp_path / "out")
    assert [row["item_id"] for row in read_dataset(result.dataset)] == [row["item_id"] for row in rows]
    assert len(read_rows(tmp_path / "out" / "rl.jsonl")) == len(rows)
    for family in FAMILIES:
        made = list(read_jsonl(tmp_path / "out" / "sft" / f"{family}.jsonl"))
        for row, sft in zip(rows, made, strict=True):
            message = sft["completion"][-1]
            parts = split_completion(
                message["content"],
                think="prefilled" if family == "prefilled" else None,
                reasoning_content=message.get("reasoning_content") or message.get("thinking"),
            )
            assert (parts.reasoning.strip(), parts.response.strip()) == (
                row["reasoning"].strip(),
                row["response"],
            )
    datasets = pytest.importorskip("datasets")
    table = datasets.Dataset.from_parquet(str(tmp_path / "out" / "dataset.parquet"), cache_dir=str(tmp_path))
    assert table.to_list()[3]["synth"] == rows[3]["synth"]
    assert table["reasoning"] == [row["reasoning"] for row in rows]


def test_the_card_has_the_figures_that_an_audit_finds(problems, tmp_path):
    config = config_for(problems, plain_share=0.2)
    result = synthesize(config, ScriptedEngine(), tmp_path / "out")
    card = (tmp_path / "out" / "README.md").read_text()
    assert str(result).split("\n\n")[0] in card
    audit = auditing.check_file(
        result.dataset, auditing.Reader(auditing.Columns()), auditing.known_rules("both")
    ).to_dict()
    table = dict(
        re.findall(r"^\| ([\w:]+) \| (\d+ \| .*) \|$", card.split("## Instruction following")[1], re.M)
    )
    assert set(table) == set(REASONIF_BY_RULE)
    for cell in audit["constraints"]:
        n, _, published, _, robust = table[cell["id"]].split(" | ")
        shown = published if cell["rules"] == "reasonif" else robust
        assert (cell["n"], cell["share"]["value"]) == (int(n), float(shown.split(" [")[0])) == (int(n), 1.0)
    before = {id: float(cells.split(" | ")[1].split(" [")[0]) for id, cells in table.items()}
    assert before[JSON] == before[CAPITALS] == before[NO_COMMA] == before[END] == 0
    assert "--- reasoning" in card


def test_the_published_way_verifies_nothing_and_its_card_says_so(problems, tmp_path):
    config = config_for(problems, recipe="paper", plain_share=0, word_limits=(20, 30))
    result = synthesize(config, ScriptedEngine(), tmp_path / "out")
    card = (tmp_path / "out" / "README.md").read_text()
    assert "not verified" in card
    followed = {id: yielded.kept for id, yielded in result.yields.items()}
    assert set(followed) == set(REASONIF_BY_RULE)
    for row in rows_of(tmp_path / "out"):
        id = json.loads(row["constraints"])[0]["id"]
        if id == JSON:
            assert row["reasoning"].startswith('```json\n{\n    "reasoning": ')
        if id == NO_COMMA:
            assert "," not in row["reasoning"]
    line = next(line for line in card.splitlines() if line.startswith(f"| {WORDS} |") and "[" in line)
    assert line.split(" | ")[3].startswith("0.000"), "exactly N words where fewer are asked for"


def test_a_dataset_is_pushed_only_when_it_is_there(tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(SynthesisError, match="holds no finished dataset"):
        push_to_hub(tmp_path, "nobody/nothing")
    (tmp_path / "dataset.jsonl").write_text("{}\n")
    with pytest.raises(SynthesisError, match="could not be pushed to nobody/nothing"):
        push_to_hub(tmp_path, "nobody/nothing")


# --------------------------------------------------------------------------------------- what survives


def test_what_an_llm_may_not_lose():
    text = "The pair (1, 2) costs $5 and 3.5 km; $x^2$ and `f(x)` stay, 1,200 of them."
    require_survival(text, text)
    for changed, kind in (
        (text.replace("(1, 2)", "(12)"), "number"),
        (text.replace("1,200", "1,300"), "number"),
        (text.replace("3.5 km", "3.5 m"), "unit"),
        (text.replace("$x^2$", "$x^{2}$"), "formula"),
        (text.replace("`f(x)`", "f(x)"), "code"),
        (text.replace("(1, 2)", "1 and 2"), "tuple"),
    ):
        with pytest.raises(Rejected, match=rf"a {kind} is (?:lost|new)"):
            require_survival(text, changed)
    require_survival("It is 3.5 of 7.", "Das sind 3,5 von 7.", translated=True)
    require_survival("It is 35 of 7.", "यह ७ में से ३५ है।", translated=True)
    require_survival("It is 35 of 7, so 5.", "So 5.", shorter=True)
    with pytest.raises(Rejected, match="a number is new"):
        require_survival("It is 35 of 7, so 5.", "So 6.", shorter=True)


# ---------------------------------------------------------------------------------------- the command


def test_a_dry_run_shows_three_rows_and_asks_nothing(problems):
    engine = calm()
    shown = dry_run(config_for(problems, constraints=BY_RULE, num_constraints=(1, 2)), engine)
    assert not engine.prompts
    assert shown.count("=== seed") == shown.count("--- sample") == 3
    assert shown.count("--- rewrite: a stand-in") == 3
    assert "sampling: 120 requests" in shown


def riftk(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "riftk", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, cwd=cwd)


TINY = """
model: pkg://riftk.tiny/weights/base
problems: riftk.tiny.problems:training_problems
answer_type: number
num_rows: 24
window: 12
max_tokens: 120
batch_size: 24
constraints: [punctuation:no_comma, "change_case:english_capital"]
"""


def test_options_come_from_a_file_and_the_command_line_goes_before_it(tmp_path):
    (tmp_path / "tiny.yaml").write_text(TINY)
    shown = riftk(
        "synth", "--config", "tiny.yaml", "--out", "out", "--dry-run", "--num-rows", "7", cwd=tmp_path
    )
    assert shown.returncode == 0, shown.stderr[-2000:]
    assert "7 seeds, 3 of them" in shown.stdout
    assert not (tmp_path / "out").exists()
    (tmp_path / "wrong.yaml").write_text("modell: x\n")
    wrong = riftk("synth", "--config", "wrong.yaml", "--out", "out", cwd=tmp_path)
    assert wrong.returncode == 2
    assert "has no option 'modell'" in wrong.stderr
    assert wrong.stderr.count("\n") <= 2
    missing = riftk("synth", "--out", "out", cwd=tmp_path)
    assert "needs --model and --out" in missing.stderr


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_a_dry_run_of_every_configuration_needs_neither_hub_nor_server(path, tmp_path):
    """A file with the columns of the configuration's own problems stands in for them."""
    config = SynthConfig(read_config(path)["problems"])
    if path.stem == "paper":
        assert (config.question_column, config.answer_column) == ("user", None)
    columns = {"question": config.question_column, "answer": config.answer_column or "final"}
    records = ({columns[name]: value for name, value in problem(n).items()} for n in range(9))
    write_jsonl(tmp_path / "own.jsonl", records)
    command = "synth distill" if "distill" in path.stem else "synth"
    shown = riftk(
        *command.split(), "--config", str(path), "--dry-run", "--problems", "own.jsonl",
        "--question-column", config.question_column, "--answer-column", config.answer_column or "",
        "--decontaminate", "", cwd=tmp_path,
    )  # fmt: skip
    assert shown.returncode == 0, shown.stderr[-2000:]
    assert shown.stdout.count("=== seed") == 3
    assert [file.name for file in tmp_path.iterdir()] == ["own.jsonl"]


def test_shards_are_made_and_merged_by_command_and_traces_distilled(tmp_path):
    (tmp_path / "tiny.yaml").write_text(TINY)
    for part in ("1/2", "2/2"):
        made = riftk(
            "synth", "--config", "tiny.yaml", "--out", f"part-{part[0]}", "--shard", part, cwd=tmp_path
        )
        assert made.returncode == 0, made.stderr[-2000:]
    merged = riftk("synth", "merge", "part-1", "part-2", "--out", "merged", cwd=tmp_path)
    assert merged.returncode == 0, merged.stderr[-2000:]
    assert len(read_rows(tmp_path / "merged" / "dataset.jsonl")) > 12
    distilled = riftk(
        "synth", "distill", "--model", "pkg://riftk.tiny/weights/base", "--problems",
        "riftk.tiny.problems:training_problems", "--answer-type", "number", "--style", "reasonif",
        "--num-rows", "12", "--max-tokens", "120", "--out", "distilled", cwd=tmp_path,
    )  # fmt: skip
    assert distilled.returncode == 0, distilled.stderr[-2000:]
    rows = list(read_jsonl(tmp_path / "distilled" / "dataset.jsonl"))
    assert rows
    assert all(row["constraints"] == "[]" for row in rows)
