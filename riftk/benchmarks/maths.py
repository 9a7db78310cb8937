"""The maths suite: problems with a short answer and no instruction.

    aime24, aime25, amc23     30, 30 and 40 problems: draw several samples of each (`--samples 32`)
    math500, minerva, olympiadbench, gsm8k
    maths                     MathIF's average (Tables 5 and 11): AIME 2024, AIME 2025, AMC 2023, Minerva and
                              OlympiadBench, where each set counts as much as another (`accuracy_macro`)

With n samples of each problem the accuracy is avg@n, and pass@k stands beside it. Answers are graded by
robust rules; those of "maths" by MathIF's published grader too, which its paper used.

A file in --data-dir may come from any of the copies that are about: the question stands in `problem` or
`question`, the answer in `answer`, `final_answer` or, boxed, in `solution`. Nothing names the commits of the
data sets that papers used, so none is pinned: what was read is compared with the content that riftk knows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from riftk.benchmarks import Benchmark, stratified
from riftk.benchmarks.data import check_hub, fingerprint, from_folder, from_hub_table
from riftk.grading.extract import boxed
from riftk.prompts import maths_prompt
from riftk.rows import Row, RowError

QUESTIONS = ("problem", "question")
ANSWERS = ("answer", "final_answer", "solution")


@dataclass(frozen=True)
class MathsSet:
    """Where a set of problems comes from.

    Args:
        name: of the benchmark.
        files: names under which a folder may hold it.
        hub: id, configuration and split on the hub.
        items: how many problems there are.
        sha: hash of the questions and answers, see `_content`.
        answer_type: how answers are compared.
    """

    name: str
    files: tuple[str, ...]
    hub: tuple[str, str | None, str]
    items: int
    sha: str
    answer_type: str = "math"


AIME24 = MathsSet(
    "aime24",
    ("aime24.jsonl",),
    ("HuggingFaceH4/aime_2024", None, "train"),
    30,
    "7437f4fe0e1ccec5db891b4edfecb9d4a39ec98d4a68dbaf471818af8d17a3ff",
    "number",
)
AIME25 = MathsSet(
    "aime25",
    ("aime25.jsonl",),
    ("math-ai/aime25", None, "test"),
    30,
    "0dbd3ff10d2cb22540ac00831757e57e99fcc3d6caaf12b91bad136cfe471481",
    "number",
)
AMC23 = MathsSet(
    "amc23",
    ("amc23.jsonl",),
    ("math-ai/amc23", None, "test"),
    40,
    "bb216b8346f241561300497658291a0023e5ce76e984ae4b9601de98bc1b3c2a",
    "number",
)
MATH500 = MathsSet(
    "math500",
    ("math500.jsonl",),
    ("HuggingFaceH4/MATH-500", None, "test"),
    500,
    "fa5e48dc01d9bd250b51aed7698c3da9ac929390187e73471c72c3aa9287a105",
)
MINERVA = MathsSet(
    "minerva",
    ("minerva.jsonl",),
    ("zwhe99/simplerl-minerva-math", None, "test"),
    272,
    "8fff24543cc51956836294fd23f96f4db46c79db0b0c5bb3a52d2755d54f3352",
)
OLYMPIAD = MathsSet(
    "olympiadbench",
    ("olympiadbench.jsonl",),
    ("zwhe99/simplerl-OlympiadBench", None, "test"),
    675,
    "331e7329562cf023df8df40c5ac7fa83666b276616af5d5934f518d14845f6bd",
)
GSM8K = MathsSet(
    "gsm8k",
    ("gsm8k_test.jsonl", "gsm8k.jsonl"),
    ("openai/gsm8k", "main", "test"),
    1319,
    "5b5f8f9c496788804406094bcaef041648d77cb767bec0a7f2d11adbc7cf0e2b",
    "number",
)
FIVE = (AIME24, AIME25, AMC23, MINERVA, OLYMPIAD)


def load_set(
    problems: MathsSet,
    split: str = "test",
    limit: int | None = None,
    data_dir: str | Path | None = None,
    revision: str | None = None,
) -> Benchmark:
    """Load one set.

    Args:
        problems: which.
        split: "test"; there is no other.
        limit: number of problems.
        data_dir: folder that holds one of the set's files; None reads the hub.
        revision: commit of the hub's data set; without one the content must be the known one.

    Raises:
        ValueError: unknown split, or hub data that has changed.
        FileNotFoundError: no such file, or the hub cannot be read.
        RowError: a record without a question or an answer.
    """
    rows, details = _rows(problems, split, data_dir, revision)
    return Benchmark(problems.name, stratified(rows, limit), details=details)


def load(split: str = "test", limit: int | None = None, data_dir: str | Path | None = None) -> Benchmark:
    """Load the five sets of MathIF's average; arguments and errors are those of `load_set`."""
    sets = [_rows(problems, split, data_dir, None) for problems in FIVE]
    rows = [row for rows, _ in sets for row in rows]
    details = {
        name: "; ".join(
            f"{problems.name}: {told[name]}" for problems, (_, told) in zip(FIVE, sets, strict=True)
        )
        for name in ("dataset", "data")
    }
    return Benchmark("maths", stratified(rows, limit), "mathif", details=details, macro=True)


aime24, aime25, amc23 = partial(load_set, AIME24), partial(load_set, AIME25), partial(load_set, AMC23)
math500, minerva = partial(load_set, MATH500), partial(load_set, MINERVA)
olympiadbench, gsm8k = partial(load_set, OLYMPIAD), partial(load_set, GSM8K)


def _rows(
    problems: MathsSet, split: str, data_dir: str | Path | None, revision: str | None
) -> tuple[list[Row], dict[str, Any]]:
    if split != "test":
        raise ValueError(
            f"{problems.name} has a test split only, not {split!r}; choose settings on other items"
        )
    if data_dir is not None:
        records, origin = from_folder(Path(data_dir), problems.files)
    else:
        advice = f"offline, put it as {problems.files[0]} into a folder and give that as --data-dir"
        records, origin = from_hub_table(*problems.hub, revision, advice)
    content = [_content(record, f"{origin}, row {number}") for number, record in enumerate(records, 1)]
    sha = fingerprint(content, ("question", "answer"), args="")
    if data_dir is None:
        check_hub(sha, problems.sha, origin, revision)
    rows = [
        Row(
            item_id=f"{problems.name}-{number:04d}",
            prompt=({"role": "user", "content": maths_prompt(one["question"])},),
            answer=one["answer"],
            answer_type=problems.answer_type,
            source=problems.name,
        )
        for number, one in enumerate(content)
    ]
    known = sha == problems.sha
    return rows, {
        "dataset": origin,
        "data_sha": sha,
        "data": "as known" if known else f"not the {problems.items} known problems",
    }


def _content(record: Mapping[str, Any], where: str) -> dict[str, str]:
    """Question and gold answer of a record, whatever copy of the set it is of."""
    question = next((record[name] for name in QUESTIONS if record.get(name)), None)
    answer = next((record[name] for name in ANSWERS if record.get(name) not in (None, "", [])), None)
    for value, names in ((question, QUESTIONS), (answer, ANSWERS)):
        if value is None:
            raise RowError(
                f"{where}: there is none of the columns {', '.join(names)}; found {sorted(record)}"
            )
    if isinstance(answer, list | tuple):
        answer = ", ".join(map(str, answer))
    answer = str(answer).rpartition("####")[2]
    return {"question": str(question).strip(), "answer": (boxed(answer) or answer).strip()}
