"""IFFR: does a model that can answer stop answering when it is told to? (arXiv 2607.19608)

Every question is asked six times: with three wordings of a standard instruction, and with three of a
non-standard one that wants a wrong option, the opposite sentiment or twice the number. All answers are
compared with the usual gold answer: a non-standard answer that equals it did not follow.

    iffr:set=arc_c                    one of `SETS`; several are several benchmarks, by commas
    iffr:set=arc_c:decode=generate    read the answer in generated text, not in the first token's logits
    iffr:set=arc_c:prompts=notebook   the notebooks' prompts instead of the paper's

Choices and sentiment are decoded from the closed set of labels (section 4.3), numbers are generated. The
published notebooks generate everywhere, 10 tokens for choices and 20 for the rest, and read them strictly
(rules "iffr"): `prompts=notebook:decode=generate` is what they do. Decoding is greedy and thinking is off.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from riftk.benchmarks import Benchmark, Decoding, stratified
from riftk.benchmarks.data import check_columns, from_folder, from_hub_table
from riftk.benchmarks.iffr_prompts import CONDITIONS, LETTERS, VARIANTS, notebook_prompt, paper_prompt
from riftk.grading import parse_number
from riftk.rows import Row, RowError

PROMPTS = {"paper": paper_prompt, "notebook": notebook_prompt}
DECODES = ("closed_set", "generate")
# What a guesser reaches. A guesser of numbers reaches nothing.
CHANCE = {
    "mcqa": {"standard_accuracy": 0.25, "nonstandard_accuracy": 0.25, "iffr": 0.25, "follow_rate": 0.75},
    "sentiment": {"standard_accuracy": 0.5, "nonstandard_accuracy": 0.5, "iffr": 0.5, "follow_rate": 0.5},
    "maths": {"standard_accuracy": 0.0, "nonstandard_accuracy": 0.0, "iffr": 0.0, "follow_rate": 0.0},
}
_LABELS = {"mcqa": tuple(LETTERS), "sentiment": ("positive", "negative"), "maths": ()}
_ANSWER_TYPES = {"mcqa": "choice", "sentiment": "label", "maths": "number"}
_NOTEBOOK_TOKENS = {"mcqa": 10, "sentiment": 20, "maths": 20}
_TOKENS = 64  # with 20 a model that explains is cut off
_PROMPTS = {
    "paper": "paper (section 4.4, Table 2; how question, options and text are headed: reconstructed)",
    "notebook": "the published notebooks'",
}

Item = tuple[dict[str, str], str]  # what a prompt is made of, and the gold answer


@dataclass(frozen=True)
class Set:
    """One of the nine data sets.

    Args:
        title: its name in the paper.
        task: "mcqa", "sentiment" or "maths".
        n: questions that are left after the filter.
        file: JSONL file in a folder of one's own, with the hub's columns.
        dataset, config: on the hub; the split is "test".
        columns: what is read.
        item: makes a question of a record; None where the filter leaves it out.
    """

    title: str
    task: str
    n: int
    file: str
    dataset: str
    config: str | None
    columns: tuple[str, ...]
    item: Callable[[Mapping[str, Any]], Item | None]


def _choice(record: Mapping[str, Any], column: str) -> Item | None:
    """ARC and OpenBookQA; kept are questions with four options (section 4.2)."""
    options, labels = record["choices"]["text"], record["choices"]["label"]
    if len(options) != len(LETTERS):
        return None
    gold = LETTERS[labels.index(record["answerKey"])]
    return {"question": record[column], **dict(zip(LETTERS, options, strict=True))}, gold


def _race(record: Mapping[str, Any]) -> Item | None:
    options = dict(zip(LETTERS, record["options"], strict=True))
    return {"article": record["article"], "question": record["question"], **options}, record["answer"]


def _sentiment(record: Mapping[str, Any], column: str, positive: int) -> Item | None:
    """Sentences that are positive or negative; label 0 is negative everywhere, and neutral is left out."""
    if record["label"] not in (0, positive):
        return None
    return {"text": record[column]}, "positive" if record["label"] == positive else "negative"


def _problem(record: Mapping[str, Any], column: str) -> Item | None:
    return {"question": record["question"]}, str(record[column]).strip()


SETS = {
    "race_m": Set(
        "RACE-M", "mcqa", 1436, "race_middle.jsonl", "ehovy/race", "middle",
        ("article", "question", "options", "answer"), _race,
    ),
    "arc_c": Set(
        "ARC-C", "mcqa", 1165, "arc_challenge.jsonl", "allenai/ai2_arc", "ARC-Challenge",
        ("question", "choices", "answerKey"), lambda record: _choice(record, "question"),
    ),
    "obqa": Set(
        "OBQA-Main", "mcqa", 500, "openbookqa.jsonl", "allenai/openbookqa", "main",
        ("question_stem", "choices", "answerKey"), lambda record: _choice(record, "question_stem"),
    ),
    "sentiment": Set(
        "Multi-class Sentiment", "sentiment", 3276, "multiclass_sentiment.jsonl",
        "Sp1786/multiclass-sentiment-analysis-dataset", None,
        ("text", "label"), lambda record: _sentiment(record, "text", 2),
    ),
    "rotten_tomatoes": Set(
        "Rotten Tomatoes", "sentiment", 1066, "rotten_tomatoes.jsonl",
        "cornell-movie-review-data/rotten_tomatoes", None,
        ("text", "label"), lambda record: _sentiment(record, "text", 1),
    ),
    "fpb": Set(
        "FinancialPhraseBank", "sentiment", 197, "financial_phrasebank.jsonl", "atrost/financial_phrasebank",
        None, ("sentence", "label"), lambda record: _sentiment(record, "sentence", 2),
    ),
    "mawps": Set(
        "MAWPS", "maths", 355, "mawps.jsonl", "garrethlee/MAWPS", None,
        ("question", "answer"), lambda record: _problem(record, "answer"),
    ),
    "asdiv": Set(
        "Calc-asdiv-a", "maths", 1218, "asdiv.jsonl", "MU-NLPC/Calc-asdiv_a", None,
        ("question", "result"), lambda record: _problem(record, "result"),
    ),
    "multiarith": Set(
        "MultiArith", "maths", 180, "multiarith.jsonl", "ChilleD/MultiArith", None,
        ("question", "final_ans"), lambda record: _problem(record, "final_ans"),
    ),
}  # fmt: skip


def load(
    set: str = "",
    split: str = "test",
    limit: int | None = None,
    data_dir: str | Path | None = None,
    prompts: str = "paper",
    decode: str | None = None,
    max_tokens: int | None = None,
    revision: str | None = None,
) -> Benchmark:
    """Load one of IFFR's sets.

    Args:
        set: one of `SETS`, with "-" or "_".
        split: "test"; there is no other.
        limit: rows, six for each question; a question is taken with all six or not at all.
        data_dir: folder that holds the set's file; None reads the hub.
        prompts: "paper" or "notebook".
        decode: "closed_set" or "generate"; None takes the closed set where there is one.
        max_tokens: of a generated answer; None takes 64, with the notebooks' prompts their 10 and 20.
        revision: commit of the hub's data set; without one the number of questions must be the paper's.

    Raises:
        ValueError: unknown set, split, prompts or decoding, numbers from a closed set, or hub data that has
            changed.
        FileNotFoundError: no such file, or the hub cannot be read.
        RowError: a record that is not the set's.
    """
    name = set.lower().replace("-", "_")
    if name not in SETS:
        raise ValueError(f"IFFR is asked set by set, e.g. iffr:set=arc_c; the sets are {', '.join(SETS)}")
    if split != "test":
        raise ValueError(f"IFFR has a test split only, not {split!r}; choose settings on other items")
    chosen = SETS[name]
    decode = decode or (DECODES[0] if _LABELS[chosen.task] else DECODES[1])
    if prompts not in PROMPTS or decode not in DECODES:
        raise ValueError(
            f"prompts are {' or '.join(PROMPTS)} and decode is {' or '.join(DECODES)}; not {prompts!r} and "
            f"{decode!r}"
        )
    closed = decode == DECODES[0]
    if closed and not _LABELS[chosen.task]:
        raise ValueError(f"{chosen.title} asks for numbers, which are no closed set; take decode=generate")
    if max_tokens is not None and (closed or max_tokens is True or max_tokens < 1):
        raise ValueError("max_tokens is of a generated answer, e.g. iffr:set=multiarith:max-tokens=128")
    items, origin = _items(chosen, data_dir, revision)
    questions = [_rows(chosen, f"iffr-{name}-{number:04d}", item, prompts) for number, item in items]
    details: dict[str, Any] = {
        "dataset": origin,
        "data_sha": _fingerprint(item for _, item in items),
        "data": "as many questions as in the paper"
        if len(items) == chosen.n
        else f"{len(items)} questions, not the paper's {chosen.n}",
        "prompts": _PROMPTS[prompts],
        "decode": decode,
        "chance": CHANCE[chosen.task],
    }
    tokens = _NOTEBOOK_TOKENS[chosen.task] if prompts == "notebook" else _TOKENS
    decoding = Decoding(
        greedy=True,
        thinking=False,
        max_tokens=1 if closed else max_tokens or tokens,
        labels=_LABELS[chosen.task] if closed else (),
    )
    rules = "robust" if closed else "iffr"  # of a label that was chosen there is nothing to read
    return Benchmark("iffr", _limited(questions, limit), rules, details=details, decoding=decoding)


def _rows(chosen: Set, question: str, item: Item, prompts: str) -> list[Row]:
    """The six rows of a question, each non-standard one behind its standard one."""
    fields, gold = item
    return [
        Row(
            item_id=f"{question}-{condition}-{variant}",
            prompt=({"role": "user", "content": PROMPTS[prompts](chosen.task, fields, condition, variant)},),
            answer=gold,
            answer_type=_ANSWER_TYPES[chosen.task],
            source=chosen.title,
        )
        for variant in VARIANTS
        for condition in CONDITIONS
    ]


def _limited(questions: list[list[Row]], limit: int | None) -> tuple[Row, ...]:
    per_question = len(VARIANTS) * len(CONDITIONS)
    first = stratified([rows[0] for rows in questions], limit and max(limit // per_question, 1))
    kept = {row.item_id for row in first}
    return tuple(row for rows in questions if rows[0].item_id in kept for row in rows)


def _items(
    chosen: Set, data_dir: str | Path | None, revision: str | None
) -> tuple[list[tuple[int, Item]], str]:
    """The questions that the filter leaves, with their places in the file, and where they are from."""
    if data_dir is None:
        records, origin = from_hub_table(chosen.dataset, chosen.config, "test", revision, _advice(chosen))
    elif not (Path(data_dir) / chosen.file).is_file():
        raise FileNotFoundError(f"{data_dir} holds no {chosen.file}; {_advice(chosen)}")
    else:
        records, origin = from_folder(Path(data_dir), (chosen.file,))
    check_columns(records, chosen.columns, origin)
    items = []
    for number, record in enumerate(records):
        try:
            item = chosen.item(record)
        except (KeyError, IndexError, TypeError, ValueError) as error:
            raise RowError(f"{origin}, row {number + 1}: not {chosen.title}'s ({error!r})") from error
        if item is not None:
            _check(chosen, item, f"{origin}, row {number + 1}")
            items.append((number, item))
    if data_dir is None and revision is None and len(items) != chosen.n:
        raise ValueError(
            f"{origin} has {len(items)} questions where the paper has {chosen.n}: it has changed; name the "
            "revision that you want, or give a folder with the file as --data-dir"
        )
    return items, origin


def _check(chosen: Set, item: Item, where: str) -> None:
    fields, gold = item
    if empty := [name for name, text in fields.items() if not isinstance(text, str)]:
        raise RowError(f"{where}: {empty[0]} is no text")
    if chosen.task == "maths" and parse_number(gold).value is None:
        raise RowError(f"{where}: the answer {gold!r} is no number")
    if chosen.task == "mcqa" and gold not in _LABELS["mcqa"]:
        raise RowError(f"{where}: the answer {gold!r} is none of {', '.join(LETTERS)}")


def _advice(chosen: Set) -> str:
    config = f", {chosen.config}" if chosen.config else ""
    return (
        f"offline, write the test split of {chosen.dataset}{config} as {chosen.file} (one JSON object a "
        f"line, columns {', '.join(chosen.columns)}) into a folder and give it as --data-dir"
    )


def _fingerprint(items: Iterable[Item]) -> str:
    digest = hashlib.sha256()
    for item in items:
        digest.update(json.dumps(item, ensure_ascii=False, sort_keys=True).encode())
    return digest.hexdigest()
