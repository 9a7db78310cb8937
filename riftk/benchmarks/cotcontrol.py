"""CoTControl's QA part: multiple-choice questions, each under rules about the reasoning (arXiv 2603.05706).

    cotcontrol                     every question under each of the eight rules that a program can check
    cotcontrol:uppercase-thinking  only under the rules that are named
    cotcontrol:plain               without any rule; may be named beside rules
    cotcontrol:gpt-oss             in the words for gpt-oss, whose reasoning is its "analysis channel"
    cotcontrol:keywords-only       words are suppressed without their synonyms, as replications have it

The questions (GPQA, HLE and MMLU-Pro with keywords) come from the user's copy of the authors' repository,
github.com/YuehHanChen/CoTControl, whose folder with the CSV files is given as --data-dir. A question without
keywords is not asked under the two suppressions. The ninth rule, `ignore_question`, needs a judge model.

The message is put together as two public ports of the benchmark do it, which the results say.
"""

from __future__ import annotations

import ast
import csv
import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from string import ascii_uppercase
from typing import Any

from riftk.benchmarks import Benchmark, stratified
from riftk.benchmarks.data import fingerprint
from riftk.constraints import Constraint, parse_constraint
from riftk.constraints.cotcontrol import published_prompt
from riftk.rows import Row, RowError, read_jsonl

PATTERNS = ("*_w_keyword.csv", "cotcontrol.csv", "cotcontrol.jsonl")
SUPPRESSION, SUPPRESSIONS = "word_suppression", "multiple_word_suppression"
MODES = (
    SUPPRESSION,
    SUPPRESSIONS,
    "repeat_sentences",
    "end_of_sentence",
    "lowercase_thinking",
    "uppercase_thinking",
    "alternating_case",
    "meow_between_words",
)
KEYWORDS = (SUPPRESSION, SUPPRESSIONS)  # the rules that need them
PLAIN = "plain"
OPTIONS = ("options", "answer_options")


def load(
    split: str = "test",
    limit: int | None = None,
    data_dir: str | Path | None = None,
    plain: bool = False,
    gpt_oss: bool = False,
    keywords_only: bool = False,
    word_suppression: bool = False,
    multiple_word_suppression: bool = False,
    repeat_sentences: bool = False,
    end_of_sentence: bool = False,
    lowercase_thinking: bool = False,
    uppercase_thinking: bool = False,
    alternating_case: bool = False,
    meow_between_words: bool = False,
    ignore_question: bool = False,
) -> Benchmark:
    """Load CoTControl's questions under its rules.

    Args:
        split: "test"; there is no other.
        limit: number of rows, in proportion over rules and sources.
        data_dir: folder with files that `PATTERNS` match: CSV or JSONL with the columns `question`, `answer`
            (a letter or the text of an option), `options` or `answer_options` (a JSON list), and for the
            suppressions `valid_keywords` and `keywords_with_synonyms`.
        plain: also, or only, without a rule.
        gpt_oss: its reasoning is called "analysis channel".
        keywords_only: leave out synonyms of suppressed words.
        word_suppression, multiple_word_suppression, repeat_sentences, end_of_sentence, lowercase_thinking,
            uppercase_thinking, alternating_case, meow_between_words: which rules; neither one of them nor
            `plain` chooses all eight.
        ignore_question: refused; see the module's text.

    Raises:
        ValueError: unknown split or rule, or the one that needs a judge.
        FileNotFoundError: no `data_dir`, or no file in it.
        RowError: a column is missing, or a row cannot be used.
    """
    if split != "test":
        raise ValueError(f"CoTControl has a test split only, not {split!r}; choose settings on other items")
    if ignore_question:
        raise ValueError("cotcontrol:ignore-question needs a judge model, which riftk eval does not ask")
    wanted = (
        word_suppression,
        multiple_word_suppression,
        repeat_sentences,
        end_of_sentence,
        lowercase_thinking,
        uppercase_thinking,
        alternating_case,
        meow_between_words,
    )
    chosen = [mode for mode, is_wanted in zip(MODES, wanted, strict=True) if is_wanted]
    if plain:
        chosen.insert(0, PLAIN)
    if data_dir is None:
        raise FileNotFoundError(
            "CoTControl is read from your copy of github.com/YuehHanChen/CoTControl: give the folder with "
            "its *_w_keyword.csv files as --data-dir"
        )
    questions = list(_questions(Path(data_dir)))
    rows = [
        _row(question, mode, gpt_oss, keywords_only)
        for question in questions
        for mode in chosen or MODES
        if mode not in KEYWORDS or question["keywords"]
    ]
    details = {
        "dataset": f"{len(questions)} questions of the user's copy",
        "data_sha": fingerprint(questions, ("where", "question", "answer", "options"), ""),
        "prompts": "as public ports have them",
        "suppressed": "keywords" if keywords_only else "keywords and synonyms",
    }
    return Benchmark(
        "cotcontrol",
        stratified(rows, limit),
        "cotcontrol",
        details=details,
        sentence=_channel_sentence if gpt_oss else Constraint.instruction,
    )


def _channel_sentence(constraint: Constraint) -> str:
    return constraint.instruction().replace("reasoning stage", "analysis channel")


def _row(question: Mapping[str, Any], mode: str, gpt_oss: bool, keywords_only: bool) -> Row:
    if mode == PLAIN:
        asked = _constraint("lowercase_thinking", question, keywords_only)
        content = published_prompt(asked, question["question"], question["options"])
        content, constraints = content.rpartition("\n\nRequirement: ")[0], ()
    else:
        constraints = (_constraint(mode, question, keywords_only),)
        content = published_prompt(constraints[0], question["question"], question["options"], gpt_oss)
    return Row(
        item_id=f"cotcontrol-{question['where']}-{mode}",
        prompt=({"role": "user", "content": content},),
        answer=question["answer"],
        answer_type="choice",
        constraints=constraints,
        source=question["source"],
    )


def _constraint(mode: str, question: Mapping[str, Any], keywords_only: bool) -> Constraint:
    """The first valid keyword with its synonyms, or all keywords with all of theirs, are suppressed."""
    args: dict[str, Any] = {}
    if mode in KEYWORDS:
        chosen = question["keywords"][:1] if mode == SUPPRESSION else question["keywords"]
        args["keyword"] = ", ".join(word for word, _ in chosen)
        synonyms = [synonym for _, several in chosen for synonym in several if synonym.strip()]
        if synonyms and not keywords_only:
            args["synonyms"] = synonyms
    return parse_constraint({"id": f"cotcontrol:{mode}", "args": args, "target": "reasoning"})


def _questions(folder: Path) -> Iterator[dict[str, Any]]:
    """The questions of a folder, file by file, with their answers as letters."""
    files = [path for pattern in PATTERNS for path in sorted(folder.glob(pattern))]
    if not files:
        raise FileNotFoundError(f"{folder} holds none of the files {', '.join(PATTERNS)} of CoTControl")
    for path in files:
        source = path.stem.removesuffix("_w_keyword")
        for number, record in enumerate(_read(path), 1):
            where = f"{path.name}, row {number}"
            question = _question(record, where)
            question["source"] = record.get("source") or source if source == "cotcontrol" else source
            yield {**question, "where": f"{source}-{number:04d}"}


def _read(path: Path) -> Iterator[dict[str, Any]]:
    if path.suffix == ".jsonl":
        yield from read_jsonl(path)
        return
    csv.field_size_limit(min(sys.maxsize, 2**31 - 1))  # lists of synonyms are long
    with open(path, encoding="utf-8-sig", newline="") as file:
        yield from csv.DictReader(file)


def _question(record: Mapping[str, Any], where: str) -> dict[str, Any]:
    for names in (("question",), ("answer",), OPTIONS):
        if not any(record.get(name) for name in names):
            raise RowError(
                f"{where}: column {' or '.join(map(repr, names))} is missing; found {sorted(record)}"
            )
    options = [str(option) for option in _value(next(record[n] for n in OPTIONS if record.get(n)), where)]
    answer = str(record["answer"]).strip()
    if len(options) > len(ascii_uppercase):
        raise RowError(
            f"{where}: there are {len(options)} options and no letters beyond Z; take the row out of the file"
        )
    letters = list(ascii_uppercase[: len(options)])
    texts = [option.strip() for option in options]
    if answer in texts:
        answer = letters[texts.index(answer)]
    elif answer.upper().strip("().") in letters:
        answer = answer.upper().strip("().")
    else:
        raise RowError(
            f"{where}: the answer {answer[:60]!r} is none of the options and none of their letters"
        )
    return {
        "question": str(record["question"]),
        "options": options,
        "answer": answer,
        "keywords": _keywords(record, where),
    }


def _keywords(record: Mapping[str, Any], where: str) -> list[tuple[str, list[str]]]:
    """Keywords with their synonyms, the first valid one in front; none where the columns are empty."""
    valid = _value(record.get("valid_keywords") or "[]", where)
    known = {
        str(entry["keyword"]): [str(synonym) for synonym in entry.get("synonyms") or []]
        for entry in _value(record.get("keywords_with_synonyms") or "[]", where)
        if entry.get("keyword")
    }
    if not valid:
        return []
    first = str(valid[0])
    return [(first, known.pop(first, [])), *known.items()]


def _value(cell: Any, where: str) -> list[Any]:
    """A list from a cell: as it is, as JSON, or as Python writes it."""
    if isinstance(cell, str):
        try:
            cell = json.loads(cell)
        except ValueError:
            try:
                cell = ast.literal_eval(cell)
            except (ValueError, SyntaxError) as error:
                raise RowError(f"{where}: {cell[:60]!r} is no list ({error})") from error
    if not isinstance(cell, list | tuple):
        raise RowError(f"{where}: {str(cell)[:60]!r} is no list")
    return list(cell)
