"""An evaluation folder: `config.json`, `samples_<task>.jsonl`, `results.json`.

Samples are scored while the next are generated and appended one by one, in the order in which the engine
finishes them, and a killed run goes on behind the last whole line. A complete file is put into the order of
the items, so that it does not tell how the work was done. `results.json` is a function of the other two
files.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from riftk.benchmarks import Benchmark
from riftk.engines.base import Engine, Generation, Request, Sampling
from riftk.engines.forcing import ForcingEngine
from riftk.evaluation.aside import aside
from riftk.evaluation.configuration import CONFIG, claim, make_config, read_config
from riftk.evaluation.files import (
    appending,
    counting,
    once,
    put_in_order,
    sample_key,
    write_sample,
)
from riftk.evaluation.reflection import SecondTurns
from riftk.evaluation.scoring import score_sample
from riftk.evaluation.summary import summarise
from riftk.files import write_json
from riftk.rows import read_jsonl
from riftk.statistics import smallest_difference

RESULTS = "results.json"
# What lm-evaluation-harness's task `ifeval` calls the published evaluator's figures.
IFEVAL = {
    "response_ifs,ifeval": "prompt_level_strict_acc,none",
    "response_instructions,ifeval": "inst_level_strict_acc,none",
    "response_ifs,ifeval-loose": "prompt_level_loose_acc,none",
    "response_instructions,ifeval-loose": "inst_level_loose_acc,none",
}


def evaluate(
    engine: Engine,
    benchmarks: Benchmark | Sequence[Benchmark],
    out_dir: str | Path,
    sampling: Sampling,
    *,
    samples_per_item: int = 1,
    pass_at: Sequence[int] = (),
    max_total_tokens: int | None = None,
    retry_errors: bool = True,
) -> dict[str, Any]:
    """Generate, score and store; return what `results.json` then holds.

    Started again with the same arguments it generates what is missing, and again what failed; a finished
    folder is summarised again and nothing is generated. A new folder begins with the engine's probe.

    Args:
        engine: where text comes from.
        benchmarks: what to ask.
        out_dir: folder of this evaluation; it belongs to one configuration.
        sampling: how text is drawn.
        samples_per_item: completions per item.
        pass_at: k of pass@k; none takes the powers of two up to `samples_per_item`.
        max_total_tokens: prompt and completion tokens after which this start begins nothing new.
        retry_errors: ask again for samples that an earlier start stored with the finish reason "error".

    Raises:
        ValueError: the folder was made with another configuration, two benchmarks share a name, or the probe
            found what the run cannot do with; a k of `pass_at` above `samples_per_item`.
        TokensSpent: `max_total_tokens` are spent; what was generated is stored.
    """
    chosen = [benchmarks] if isinstance(benchmarks, Benchmark) else list(benchmarks)
    if len({benchmark.name for benchmark in chosen}) != len(chosen):
        raise ValueError("two benchmarks have the same name; their samples would share a file")
    if beyond := [k for k in pass_at if not 1 <= k <= samples_per_item]:
        raise ValueError(f"pass@{beyond[0]} needs {beyond[0]} samples per item; there are {samples_per_item}")
    for benchmark in chosen:
        if benchmark.decoding.labels and not getattr(engine, "closed_set", False):
            raise ValueError(
                f"{benchmark.name} chooses among labels by their log probabilities, which the engine "
                f"{engine.name} does not give; take decode=generate, or another --engine"
            )
    out = Path(out_dir)
    config = make_config(engine.describe(), chosen, asdict(sampling), samples_per_item, pass_at)
    claim(out, config, engine.probe)
    budget = _Budget(max_total_tokens)
    for benchmark in chosen:
        _generate(engine, benchmark, out, sampling, samples_per_item, budget, retry_errors)
    return refresh(out)


def make_requests(benchmark: Benchmark, samples_per_item: int = 1) -> dict[tuple[int, int], Request]:
    """What an engine is asked for a benchmark, by (number of the item, number of the sample)."""
    return {
        (doc_id, sample): Request(
            sample_key(row.item_id, sample),
            row.prompt,
            prefix=benchmark.prefixes[doc_id] if benchmark.prefixes else "",
            thinking=benchmark.decoding.thinking,
            labels=benchmark.decoding.labels,
            reminder=" ".join(benchmark.sentence(constraint) for constraint in row.constraints),
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


def copy_tasks(evaluation: Path, tasks: Sequence[str], out: Path) -> Path:
    """Make an evaluation folder of some tasks of another one, without a summary; what is there is replaced.

    Args:
        evaluation: a folder whose samples are complete.
        tasks: which, in their order.
        out: the new folder, which is returned.
    """
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    config, samples = read_config(evaluation), sample_files(evaluation)
    for task in tasks:
        shutil.copyfile(samples[task], out / samples[task].name)
    write_json(out / CONFIG, {**config, "tasks": {task: config["tasks"][task] for task in tasks}})
    return out


def refresh(out_dir: str | Path) -> dict[str, Any]:
    """Summarise a folder's stored samples again and write its `results.json`.

    Raises:
        FileNotFoundError: the folder holds no evaluation.
        ValueError: samples are missing or there twice.
    """
    out = Path(out_dir)
    config = read_config(out)
    kept = ("estimates", "counts", "outcomes", "paired", "correlations", "cot_bins", "variants")
    results: dict[str, Any] = {name: {} for name in ("results", *kept, "usage", "smallest_difference")}
    for task, path in sample_files(out).items():
        expected = config["tasks"][task]["items"] * config["samples_per_item"]
        usage = {"prompt_tokens": 0, "completion_tokens": 0}
        macro = config["tasks"][task].get("macro", False)
        summary = summarise(counting(once(path, expected), usage), config.get("pass_at", ()), macro)
        results["results"][task] = _lm_eval_shape(task, summary["estimates"], config["tasks"][task]["rules"])
        for name in kept:
            results[name][task] = summary[name]
        results["usage"][task] = usage
        results["smallest_difference"][task] = {
            key: smallest_difference(summary["estimates"][key]["n"] // config["samples_per_item"])
            for key in ("reasoning_ifs,robust", "response_ifs,robust", "accuracy,robust")
            if key in summary["estimates"]
        }
    tasks = config["tasks"]
    results |= {
        "configs": {
            task: {
                **settings,
                "sampling": _sampling(config, settings),
                "samples_per_item": config["samples_per_item"],
            }
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
    write_json(out / RESULTS, results)
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
                f"{task}: {errored} of {samples} samples are errors, more than {most:.0%}; their reasons are "
                "in the samples file, and a model is asked for them again by the same command"
            )


def sample_files(out_dir: str | Path) -> dict[str, Path]:
    """The samples file of each task of an evaluation folder, in the order of its configuration."""
    out = Path(out_dir)
    return {task: out / f"samples_{task}.jsonl" for task in read_config(out)["tasks"]}


def _sampling(config: Mapping[str, Any], settings: Mapping[str, Any]) -> dict[str, Any]:
    """How a task's text was drawn: as its protocol says, else as the run; not known of stored outputs."""
    known = config["sampling"]["max_tokens"] is not None
    return {**config["sampling"], **(settings.get("sampling", {}) if known else {})}


def _generate(
    engine: Engine,
    benchmark: Benchmark,
    out: Path,
    sampling: Sampling,
    samples_per_item: int,
    budget: _Budget,
    retry_errors: bool,
) -> None:
    """Generate and score what the samples file does not hold yet; with a reflection in two rounds."""
    if benchmark.waits or benchmark.repeat:
        engine = ForcingEngine(engine, benchmark.waits, benchmark.repeat)
    sampling = replace(sampling, **benchmark.decoding.sampling)
    requests = make_requests(benchmark, samples_per_item)
    path = out / f"samples_{benchmark.name}.jsonl"
    if not benchmark.reflects:
        return _fill(path, engine, benchmark, requests, sampling, budget, retry_errors, benchmark.complete)
    first = out / f"first_turn_{benchmark.name}.jsonl"
    _fill(first, engine, benchmark, requests, sampling, budget, retry_errors)
    turns = SecondTurns(read_jsonl(first), benchmark.rules, requests)
    _fill(path, engine, benchmark, turns.requests, sampling, budget, retry_errors, turns.complete)
    with appending(path) as samples:
        done = {sample_key(sample["item_id"], sample["sample"]) for sample in read_jsonl(path)}
        for sample in turns.accepted(read_jsonl(first)):
            if sample_key(sample["item_id"], sample["sample"]) not in done:
                write_sample(samples, sample)
        put_in_order(path)


def _fill(
    path: Path,
    engine: Engine,
    benchmark: Benchmark,
    requests: Mapping[tuple[int, int], Request],
    sampling: Sampling,
    budget: _Budget,
    retry_errors: bool,
    complete: Callable[[dict[str, Any]], dict[str, Any]] = dict,
) -> None:
    """Ask what a file does not hold yet, score it, and write it there with what `complete` adds."""
    places = {request.key: place for place, request in requests.items()}
    with appending(path, again=_is_error if retry_errors else None) as samples:
        there = (sample_key(sample["item_id"], sample["sample"]) for sample in read_jsonl(path))
        done = frozenset(key for key in there if key in places)
        if done:
            print(f"{benchmark.name}: {len(done)} of {len(places)} samples are there", file=sys.stderr)
        count = len(done)

        def score(key: str, generation: Generation) -> None:
            doc_id, sample = places[key]
            scored = score_sample(
                benchmark.rows[doc_id],
                _whole(requests[doc_id, sample], generation),
                rulebooks=benchmark.rulebooks,
                think=engine.think if benchmark.decoding.thinking is None else engine.think_off,
                doc_id=doc_id,
                sample=sample,
                count_tokens=engine.count_tokens,
            )
            write_sample(samples, complete(scored))

        with aside(score) as score_aside:
            for key, generation in engine.generate(list(requests.values()), sampling, done, budget.is_spent):
                score_aside(key, generation)
                budget.spend(generation)
                count += 1
        if count < len(places) and budget.is_spent():
            raise TokensSpent(
                f"{budget.used:,} tokens are spent (max_total_tokens: {budget.limit:,}); {benchmark.name} "
                f"has {count} of {len(places)} samples, and the same command goes on with the rest"
            )
        put_in_order(path)


def _whole(request: Request, generation: Generation) -> Generation:
    """A completion with what was begun for the model.

    Raises:
        ValueError: the server took what followed for reasoning.
    """
    if not request.prefix or generation.finish_reason == "error":
        return generation
    if generation.reasoning_content:
        raise ValueError(
            "the server takes for reasoning what follows a trace that is there already; start it without a "
            "reasoning parser, or use another --engine"
        )
    return replace(generation, text=request.prefix + generation.text)


def _is_error(sample: Mapping[str, Any]) -> bool:
    return sample["finish_reason"] == "error"


def _lm_eval_shape(
    task: str, estimates: Mapping[str, Mapping[str, Any]], rulebooks: Sequence[str]
) -> dict[str, Any]:
    """lm-evaluation-harness's flat shape: "metric,filter" and "metric_stderr,filter". Figures have the names
    that their benchmark gives them as well: MathIF's `hacc` and `sacc`, IFEval's four accuracies."""
    flat: dict[str, Any] = {"alias": task}
    if rulebooks[0] == "ifeval":
        estimates = {**{IFEVAL[key]: estimates[key] for key in IFEVAL if key in estimates}, **estimates}
    if rulebooks[0] == "mathif":
        named = {"response_ifs": "hacc", "response_sacc": "sacc"}
        papers = {
            key.replace(long, short, 1): estimates[key]
            for key in estimates
            for long, short in named.items()
            if re.match(rf"{long}[,\[]", key)
        }
        estimates = {**papers, **estimates}
    for key, estimate in estimates.items():
        metric, _, rules = key.rpartition(",")
        flat[key] = estimate["value"]
        flat[f"{metric}_stderr,{rules}"] = "N/A" if estimate["stderr"] is None else estimate["stderr"]
    return flat
