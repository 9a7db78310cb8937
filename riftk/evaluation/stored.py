"""Score outputs that are there already: riftk's own samples, or any JSONL of outputs, in constant memory."""

from __future__ import annotations

import hashlib
import json
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from riftk.benchmarks import Benchmark
from riftk.engines.base import Generation
from riftk.evaluation.configuration import CONFIG, make_config, read_config
from riftk.evaluation.files import put_in_order
from riftk.evaluation.runs import refresh
from riftk.evaluation.scoring import Case, batched, score_all, stored_case
from riftk.files import write_json
from riftk.rows import Row, RowError, read_jsonl, write_jsonl

_OUTPUTS = ("output", "outputs", "response", "responses", "completion", "completions", "text", "generation")
_NO_SAMPLING = dict.fromkeys(("temperature", "top_p", "max_tokens", "seed"))
_OWN = {"resps", "verdicts", "item_id", "constraints"}  # columns of riftk's own samples
_CARRIED = ("reasoning_tokens", "turn", "first_turn")


def score_stored(
    path: str | Path,
    benchmarks: Sequence[Benchmark],
    out_dir: str | Path,
    *,
    think: str | None = None,
    pass_at: Sequence[int] = (),
) -> dict[str, Any]:
    """Score a file of outputs and make an evaluation folder of them; return what `results.json` then holds.

    A line is a record of `samples_<task>.jsonl`, or an object with an output (a text or a list of texts,
    under `output`, `response`, `text`, …) and what says whose it is: `item_id`, `prompt` or `index`; where a
    file has none of them, line and item are paired in their order, and there must be as many. Items without
    an output count as errors and stay in every denominator.

    Args:
        path: the file.
        benchmarks: the one whose items were answered; may be left out for riftk's own samples, which hold
            their items.
        out_dir: folder to write to.
        think: how the model marks its reasoning, where the text alone does not tell.
        pass_at: k of pass@k.

    Raises:
        FileNotFoundError: no such file.
        RowError: a line without an output, or one that belongs to no item.
        ValueError: no benchmark, or several; a folder that holds another evaluation.
    """
    path, out = Path(path), Path(out_dir)
    if not path.is_file():
        raise FileNotFoundError(f"{path} does not exist; give a JSONL file of outputs")
    first = next(read_jsonl(path), None)
    if first is None:
        raise ValueError(f"{path} holds no outputs")
    own = first.keys() >= _OWN
    if len(benchmarks) > 1 or not (benchmarks or own):
        raise ValueError(
            "name the one benchmark whose items were answered, e.g. --benchmarks mathif:constrained"
        )
    origin = {"file": path.name, "sha256": _sha256(path)}
    _check_folder(out, origin)
    benchmark = benchmarks[0] if benchmarks else None
    task = benchmark.name if benchmark else path.stem.removeprefix("samples_")
    source = (_Own if own else _Plain)(path, benchmark, think)
    file = out / f"samples_{task}.jsonl"
    if file.resolve() == path.resolve():
        raise ValueError(f"{path} would be overwritten; give another --out")
    write_jsonl(file, _scored(source))
    put_in_order(file)
    config = _config(path, task, source, first, think, pass_at)
    write_json(out / CONFIG, {**config, "stored": origin})
    return refresh(out)


class _Outputs:
    """Cases of a file, and how many samples each item has got.

    Args:
        path: the file.
        benchmark: whose items were answered; None where the file holds them.
        think: how the model marks its reasoning, where records do not say it.
    """

    def __init__(self, path: Path, benchmark: Benchmark | None, think: str | None) -> None:
        self.path, self.benchmark, self.think = path, benchmark, think
        rows = benchmark.rows if benchmark else ()
        self.places = {row.item_id: place for place, row in enumerate(rows)}
        self.counts = array("l", [0] * len(rows))

    def cases(self) -> Iterator[tuple[Case, dict[str, Any]]]:
        """Each output as a case, with the columns of its record that are kept."""
        raise NotImplementedError

    def next_sample(self, place: int) -> int:
        self.counts[place] += 1
        return self.counts[place] - 1

    def missing(self) -> Iterator[Case]:
        """A failed request for each sample that an item lacks."""
        most = max(self.counts, default=0)
        failed = Generation("", "error", error=f"{self.path.name} holds no output")
        for place, count in enumerate(self.counts):
            for sample in range(count, most):
                yield Case(self.row(place), failed, place, sample, None, self.rulebooks)

    def row(self, place: int) -> Row:
        if self.benchmark is None:
            item = next(item for item, number in self.places.items() if number == place)
            raise ValueError(f"{self.path}: {item} has fewer samples than others; give --benchmarks too")
        return self.benchmark.rows[place]

    @property
    def rulebooks(self) -> tuple[str, ...]:
        return self.benchmark.rulebooks if self.benchmark else ("robust",)


class _Own(_Outputs):
    """A `samples_<task>.jsonl` of riftk."""

    def cases(self) -> Iterator[tuple[Case, dict[str, Any]]]:
        for number, record in enumerate(read_jsonl(self.path), 1):
            item = record["item_id"]
            if item not in self.places:
                if self.benchmark is not None:
                    raise RowError(f"{self.path}, line {number}: {self.benchmark.name} has no item {item!r}")
                self.places[item] = len(self.places)
                self.counts.append(0)
            place = self.places[item]
            row = self.benchmark.rows[place] if self.benchmark else None
            rulebooks = self.benchmark.rulebooks if self.benchmark else list(record["verdicts"])
            case = stored_case(record, rulebooks, row)
            carried = {name: record[name] for name in _CARRIED if name in record}
            yield replace(case, doc_id=place, sample=self.next_sample(place)), carried


class _Plain(_Outputs):
    """Outputs of any harness."""

    def cases(self) -> Iterator[tuple[Case, dict[str, Any]]]:
        rows, lines = self.benchmark.rows, 0
        by_prompt: dict[str, int | None] = {}
        for place, row in enumerate(rows):
            by_prompt[row.user_text] = None if row.user_text in by_prompt else place
        in_order = False
        for lines, record in enumerate(read_jsonl(self.path), 1):
            where = f"{self.path}, line {lines}"
            place = self._place(record, where, by_prompt)
            in_order = in_order or place is None
            place = lines - 1 if place is None else place
            if place >= len(rows):
                raise RowError(f"{where}: {self.benchmark.name} has only {len(rows)} items{_ADVICE}")
            for generation in _generations(record, where):
                sample = self.next_sample(place)
                yield Case(rows[place], generation, place, sample, self.think, self.rulebooks), {}
        if in_order and lines != len(rows):
            raise RowError(f"{self.path} has {lines} lines for {len(rows)} items{_ADVICE}")

    def _place(
        self, record: Mapping[str, Any], where: str, by_prompt: Mapping[str, int | None]
    ) -> int | None:
        """Number of the item that a record belongs to; None where it does not say."""
        name = self.benchmark.name
        if "item_id" in record:
            if record["item_id"] not in self.places:
                raise RowError(f"{where}: {name} has no item {record['item_id']!r}")
            return self.places[record["item_id"]]
        if "prompt" in record:
            said = record["prompt"]
            text = (
                said
                if isinstance(said, str)
                else "\n".join(m["content"] for m in said if m["role"] == "user")
            )
            place = by_prompt.get(text)
            if place is None:
                what = "asks it twice" if text in by_prompt else "has no item with this prompt"
                raise RowError(f"{where}: {name} {what}: {text[:80]!r}")
            return place
        return record.get("index")


_ADVICE = (
    ", so that lines and items cannot be paired: choose the form that was asked (mathif:constrained, "
    "reasonif:reasoning, …), or give every line its item_id, prompt or index"
)


def _generations(record: Mapping[str, Any], where: str) -> list[Generation]:
    """The outputs of a plain record."""
    column = next((name for name in _OUTPUTS if name in record), None)
    if column is None:
        raise RowError(f"{where}: there is no output; found {sorted(record)}")
    said = record[column] if isinstance(record[column], list) else [record[column]]
    reasoning = record.get("reasoning_content") or record.get("reasoning")
    generations = []
    for text in said:
        if text is not None and not isinstance(text, str):
            raise RowError(f"{where}: an output is a text, not {type(text).__name__}")
        finish = "error" if text is None else record.get("finish_reason") or "stop"
        error = "the stored output is null" if text is None else record.get("error")
        tokens = record.get("completion_tokens")
        generations.append(Generation(text or "", finish, None, tokens, reasoning, error))
    return generations


def _scored(source: _Outputs) -> Iterator[dict[str, Any]]:
    for batch in batched(source.cases()):
        scored = score_all([case for case, _ in batch])
        yield from ({**one, **carried} for one, (_, carried) in zip(scored, batch, strict=True))
    for batch in batched(source.missing()):
        yield from score_all(batch)


def _config(
    path: Path,
    task: str,
    source: _Outputs,
    first: Mapping[str, Any],
    think: str | None,
    pass_at: Sequence[int],
) -> dict[str, Any]:
    """The configuration of the folder: that of the run that made the outputs where it lies beside them."""
    per_item = max(source.counts)
    if beyond := [k for k in pass_at if not 1 <= k <= per_item]:
        raise ValueError(f"pass@{beyond[0]} needs {beyond[0]} samples per item; there are {per_item}")
    run = read_config(path.parent) if (path.parent / CONFIG).is_file() else {}
    tasks = run.get("tasks", {})
    if task in tasks:
        engine, sampling = run["engine"], run["sampling"]
    else:
        engine, sampling = {"engine": "stored", "model": path.stem, "think": str(think)}, _NO_SAMPLING
    benchmarks = [source.benchmark] if source.benchmark else []
    config = make_config(engine, benchmarks, sampling, per_item, pass_at)
    if not benchmarks:
        unknown = {
            "rules": list(first["verdicts"]),
            "split": "test",
            "version": "1",
            "items": len(source.places),
            "items_sha": _items_sha(source.places),
        }
        config["tasks"][task] = tasks.get(task, unknown)
    return config


def _items_sha(items: Iterable[str]) -> str:
    return hashlib.sha256(json.dumps(sorted(items), ensure_ascii=False).encode()).hexdigest()


def _check_folder(out: Path, origin: Mapping[str, str]) -> None:
    """Refuse a folder that holds another evaluation."""
    if (out / CONFIG).is_file() and read_config(out).get("stored") != origin:
        raise ValueError(f"{out} holds another evaluation; give another --out, or delete it")


def _sha256(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
