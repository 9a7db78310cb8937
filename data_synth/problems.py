"""Problems to make rows from: a file, a data set of the hub, or a function."""

from __future__ import annotations

import importlib
import json
import random
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from riftk.rows import ANSWER_TYPES

from .errors import SynthesisError

MULTILINGUAL_THINKING = "HuggingFaceH4/Multilingual-Thinking"
# Data sets of the hub whose columns have other names than `question` and `answer` ("" where there is none).
_COLUMNS = {
    MULTILINGUAL_THINKING: ("user", ""),
    "agentica-org/DeepScaleR-Preview-Dataset": ("problem", "answer"),
}


def known_columns(spec: str, question: str, answer: str | None) -> tuple[str, str | None]:
    """The columns of a source: where the usual names stand for a known data set's own, those."""
    name = spec.partition(":")[0]
    if name in _COLUMNS and (question, answer) == ("question", "answer"):
        return _COLUMNS[name]
    return question, answer


@dataclass(frozen=True)
class Problem:
    """A question with its gold answer ("" where there is none), how to grade it, and where it is from."""

    question: str
    answer: str
    answer_type: str
    source: str


def load_problems(
    spec: str,
    n: int,
    seed: int,
    question_column: str = "question",
    answer_column: str | None = "answer",
    answer_type: str = "math",
) -> Iterator[Problem]:
    """Yield `n` problems in an order drawn with `seed`; where there are fewer, they come round again.

    A record's own `answer_type` and `source` are kept. Gold answers stay as they are: `riftk.grading` reads
    "#### 18" as well as "18".

    Args:
        spec: JSONL, JSON or Parquet file, hub id ("org/name", "org/name:config:split"), or `module:function`.
        n: number of problems.
        seed: of the order, and handed to the function.
        question_column, answer_column: names of the columns; `answer_column=None` means no gold answers.
        answer_type: "math", "number", "choice" or "label".

    Raises:
        SynthesisError: no such source, an empty one, a column that is missing or empty. Raised at the call,
            except for a bad record far behind, which is named when it is reached.
    """
    records = _open(spec, n, seed)
    if not len(records):
        raise SynthesisError(f"{spec} holds no problems")
    wanted = [question_column] + ([answer_column] if answer_column else [])
    found = sorted(records[0])
    for column in wanted:
        if column not in found:
            raise SynthesisError(
                f"{spec}: no column {column!r}; there are {', '.join(found)} (question_column, answer_column)"
            )
    source = _source_name(spec)

    def problems() -> Iterator[Problem]:
        order = array("Q", range(len(records)))
        random.Random(f"problems-{seed}").shuffle(order)  # type: ignore[arg-type]
        for count in range(n):
            place = order[count % len(order)]
            yield _problem(records[place], f"{spec}, record {place + 1}", wanted, answer_type, source)

    return problems()


def _problem(
    record: Mapping[str, Any], where: str, columns: list[str], answer_type: str, source: str
) -> Problem:
    """Read one record. Raises `SynthesisError` that names it."""
    question = record.get(columns[0])
    if not isinstance(question, str) or not question.strip():
        raise SynthesisError(
            f"{where}: column {columns[0]!r} must hold the text of a question, not {question!r}"
        )
    answer = record.get(columns[1]) if len(columns) > 1 else None
    if len(columns) > 1 and (answer is None or not str(answer).strip()):
        raise SynthesisError(f"{where}: column {columns[1]!r} is empty; name another answer_column, or none")
    kind = record.get("answer_type") or answer_type
    if kind not in ANSWER_TYPES:
        raise SynthesisError(f"{where}: answer_type {kind!r} is none of {', '.join(ANSWER_TYPES)}")
    return Problem(
        question=question.strip(),
        answer="" if answer is None else str(answer).strip(),
        answer_type=kind,
        source=str(record.get("source") or source),
    )


def _source_name(spec: str) -> str:
    if Path(spec).suffix.lower() in _FILES:
        return Path(spec).stem
    module, _, function = spec.partition(":")
    return module.split("/")[-1] if "/" in module else function or module


class _Jsonl(Sequence[Mapping[str, Any]]):
    """Random access to the lines of a JSONL file; only where each line starts is held in memory."""

    def __init__(self, path: Path):
        self._path, self._starts = path, array("Q")
        with path.open("rb") as lines:
            start = 0
            for line in lines:
                if line.strip():
                    self._starts.append(start)
                start += len(line)
        self._file = path.open("rb")

    def __len__(self) -> int:
        return len(self._starts)

    def __getitem__(self, place: Any) -> Any:
        self._file.seek(self._starts[place])
        line = self._file.readline()
        try:
            record = json.loads(line)
        except ValueError as error:
            raise SynthesisError(f"{self._path}, record {place + 1}: not JSON ({error})") from error
        return _mapping(record, f"{self._path}, record {place + 1}")


def _mapping(record: Any, where: str) -> Mapping[str, Any]:
    if not isinstance(record, Mapping):
        raise SynthesisError(f"{where}: expected an object with columns, found {type(record).__name__}")
    return record


def _json_file(path: Path) -> Sequence[Mapping[str, Any]]:
    try:
        records = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise SynthesisError(f"{path}: not JSON ({error})") from error
    if not isinstance(records, list):
        raise SynthesisError(f"{path}: expected a list of objects, found {type(records).__name__}")
    return [_mapping(record, f"{path}, record {place}") for place, record in enumerate(records, 1)]


def _parquet_file(path: Path) -> Sequence[Mapping[str, Any]]:
    from datasets import Dataset

    return Dataset.from_parquet(str(path))  # memory-mapped


_FILES = {".jsonl": _Jsonl, ".json": _json_file, ".parquet": _parquet_file}


def _open(spec: str, n: int, seed: int) -> Sequence[Mapping[str, Any]]:
    path = Path(spec)
    if path.suffix.lower() in _FILES or path.exists():
        if not path.is_file():
            raise SynthesisError(f"{spec}: no such file")
        reader = _FILES.get(path.suffix.lower())
        if reader is None:
            raise SynthesisError(f"{spec}: problems come as {', '.join(_FILES)}")
        return reader(path)
    if ":" in spec and "/" not in spec:
        return _call(spec, n, seed)
    return _from_hub(spec)


def _call(spec: str, n: int, seed: int) -> Sequence[Mapping[str, Any]]:
    module, _, name = spec.partition(":")
    try:
        function = getattr(importlib.import_module(module), name)
    except (ModuleNotFoundError, AttributeError) as error:
        raise SynthesisError(f"{spec}: no such function ({error})") from error
    return [_mapping(record, f"{spec}, record {place}") for place, record in enumerate(function(n, seed), 1)]


def _from_hub(spec: str) -> Sequence[Mapping[str, Any]]:
    """Load "org/name", "org/name:config" or "org/name:config:split" (default: the only, "default" or "main"
    configuration, and the split "train")."""
    from datasets import get_dataset_config_names, load_dataset

    name, config, split = [*spec.split(":"), "", ""][:3]
    try:
        if not config:
            names = get_dataset_config_names(name)
            config = next((c for c in ("default", "main") if c in names), names[0] if len(names) == 1 else "")
            if not config:
                raise SynthesisError(f"{spec} has configurations {', '.join(names)}; name one: {name}:CONFIG")
        return load_dataset(name, config, split=split or "train")
    except SynthesisError:
        raise
    except Exception as error:  # what a hub that cannot be reached raises is not one family of errors
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise SynthesisError(
            f"{spec} could not be loaded from the hub (offline or misspelt?): {reason}; a file (JSONL, JSON, "
            "Parquet) and module:function work without a network"
        ) from error
