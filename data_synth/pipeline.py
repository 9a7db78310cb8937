"""The road from problems to a dataset: seeds -> sample -> rewrite -> verify -> dataset.

    out/config.yaml       what the run is made from; another configuration is refused
    out/seeds.jsonl       problems with sampled constraints
    out/traces.jsonl      every sample of the model, as it came
    out/rewritten.jsonl   one outcome per sample: a row, or the stage and the reason of its rejection
    out/yields.json       kept and rejected per constraint
    out/dataset.jsonl     the rows; written last, so that it is there when all is done

Seeds are worked on in windows, of which one is in memory. Each file but the last two only grows; a run that
was killed reads what is there and does the rest. Draws depend on the row and not on the order of work, so
the dataset is the same as that of a run without interruption.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from itertools import islice
from pathlib import Path
from typing import Any

from riftk.constraints import CHECKER_VERSION, Constraint
from riftk.engines.base import RECORDED_ONLY, Engine, Generation, Sampling
from riftk.rows import Row, read_jsonl, write_jsonl
from riftk.runs import open_run

from .config import SynthConfig
from .errors import Rejected, SynthesisError
from .journal import Journal
from .rewriters import REWRITERS, Material, Rewrite
from .sampling import Trace, accept, request
from .seeds import Seed, derived_seed, draws, make_constraint, make_prompt, make_seeds
from .verification import verify
from .yields import Yield, count_yields, yield_table


@dataclass(frozen=True)
class SynthResult:
    """A finished synthesis. `str()` gives the yield table.

    Args:
        dataset: path of `dataset.jsonl`.
        rows: number of rows in it.
        yields: kept and rejected by constraint.
        was_finished: whether it had been finished before, so that nothing was done.
    """

    dataset: Path
    rows: int
    yields: dict[str, Yield]
    was_finished: bool = False

    def __str__(self) -> str:
        begin = "already finished: " if self.was_finished else ""
        return f"{yield_table(self.yields)}\n\n{begin}{self.rows} rows in {self.dataset}"


def synthesize(config: SynthConfig, engine: Engine, out_dir: str | Path) -> SynthResult:
    """Make a dataset of traces that follow their instructions; see the module's text for its files.

    Args:
        config: what to make.
        engine: generates the traces; for self-distillation, with the model that will be trained.
        out_dir: run folder. Called again, the work goes on where it stopped; a finished one is left alone.

    Returns:
        The dataset and its yields. Each of its rows has the columns of `riftk.rows.Row`, `reasoning` and
        `response` (apart: `riftk.completions.render_reasoning` puts them where a chat template keeps them),
        and `synth` with its provenance.

    Raises:
        SynthesisError: bad problems, or not one row kept.
        RunError: another configuration made the folder, or another process is using it.
    """
    identity = {
        **config.to_dict(),
        "engine": {k: v for k, v in engine.describe().items() if k not in RECORDED_ONLY},
        "riftk": version("riftk"),
        "checker": CHECKER_VERSION,
    }
    run = open_run(out_dir, identity)
    with contextlib.closing(run.lock):
        dataset, report = run.path / "dataset.jsonl", run.path / "yields.json"
        if dataset.exists():
            yields = {name: Yield.from_dict(data) for name, data in json.loads(report.read_text()).items()}
            return SynthResult(dataset, sum(y.kept for y in yields.values()), yields, was_finished=True)
        seeds = run.path / "seeds.jsonl"
        if not seeds.exists():
            write_jsonl(seeds, (seed.to_dict() for seed in make_seeds(config)))
        with Journal(run.path / "traces.jsonl") as traces, Journal(run.path / "rewritten.jsonl") as outcomes:
            for number, window in enumerate(_windows(seeds, config.window)):
                _work_on(config, engine, number, window, traces, outcomes)
            yields = count_yields(outcomes)
            _write_json(report, {name: counted.to_dict() for name, counted in yields.items()})
            if not any(counted.kept for counted in yields.values()):
                reasons = sum((counted.reasons for counted in yields.values()), start=type(Yield().reasons)())
                most = "; ".join(f"{why} ({n})" for why, n in reasons.most_common(3))
                raise SynthesisError(f"not one row was kept of {config.num_rows} seeds: {most}; see {report}")
            rows = write_jsonl(dataset, (o["row"] for o in outcomes if o["row"] is not None))
    return SynthResult(dataset, rows, yields)


def _windows(seeds: Path, size: int) -> Iterator[list[Seed]]:
    records = read_jsonl(seeds)
    while window := [Seed.from_dict(record) for record in islice(records, size)]:
        yield window


def _work_on(
    config: SynthConfig, engine: Engine, number: int, window: list[Seed], traces: Journal, outcomes: Journal
) -> None:
    """Sample, rewrite and verify one window of seeds, up to `config.attempts` times each."""
    pending = window
    for attempt in range(1, config.attempts + 1):
        if not pending:
            return
        samples = _sample(config, engine, number, attempt, pending, traces)
        keys = {seed.item_id: f"{seed.item_id}/{attempt}" for seed in pending}
        known = outcomes.take(set(keys.values()))
        left = []
        for seed in pending:
            outcome = known.get(keys[seed.item_id])
            if outcome is None:
                outcome = {
                    "key": keys[seed.item_id],
                    "attempt": attempt,
                    "constraint": seed.kind,
                    **_outcome(config, engine, seed, attempt, samples[seed.item_id]),
                }
                outcomes.append(outcome)
            if outcome["row"] is None:
                left.append(seed)
        kept = len(pending) - len(left)
        print(
            f"synth: window {number + 1}, attempt {attempt}: kept {kept} of {len(pending)}", file=sys.stderr
        )
        pending = left


def _sample(
    config: SynthConfig, engine: Engine, number: int, attempt: int, seeds: Sequence[Seed], traces: Journal
) -> dict[str, Generation]:
    """One generation per seed, by item id; those that an earlier run has written are read."""
    keys = {f"{seed.item_id}/{attempt}": seed.item_id for seed in seeds}
    samples = {
        keys[key]: Generation(**record["generation"]) for key, record in traces.take(set(keys)).items()
    }
    if len(samples) == len(seeds):
        return samples
    sampling = Sampling(
        temperature=config.temperature,
        top_p=config.top_p,
        max_tokens=config.max_tokens,
        seed=derived_seed(config, number, attempt),
    )
    requests = [request(config, seed) for seed in seeds]
    for item_id, generation in engine.generate(requests, sampling, frozenset(samples)):
        traces.append({"key": f"{item_id}/{attempt}", "generation": asdict(generation)})
        samples[item_id] = generation
    missing = [seed.item_id for seed in seeds if seed.item_id not in samples]
    if missing:
        raise RuntimeError(
            f"the engine {engine.name} gave nothing for {len(missing)} requests, first {missing[0]}"
        )
    return samples


def _outcome(
    config: SynthConfig, engine: Engine, seed: Seed, attempt: int, generation: Generation
) -> dict[str, Any]:
    """Take one sample through acceptance, rewriting and verification: a row, or why there is none."""
    stage = "sample"
    try:
        trace = accept(config, seed, generation, engine.think)
        stage = "rewrite"
        rewrite, rewriter = _rewrite(config, seed, attempt, trace)
        constraint = make_constraint(seed, rewrite.args)
        constraints = () if constraint is None else (constraint,)
        stage = "verify"
        verify(config, seed, constraints, rewrite.text, trace.response)
    except Rejected as rejected:
        return {"row": None, "stage": stage, "reason": rejected.reason, "detail": rejected.detail}
    row = _row(config, seed, constraints, rewrite.text, trace.response)
    row["synth"] = {
        "model": engine.model,
        "rewriter": rewriter if rewrite.text != trace.reasoning else "none",
        "shape": rewrite.shape,
        "instruction": make_prompt(config, seed, constraint)[1],
        "trace_sha256": hashlib.sha256(trace.reasoning.encode()).hexdigest(),
        "attempts": attempt,
    }
    return {"row": row, "stage": "", "reason": "", "detail": ""}


def _rewrite(config: SynthConfig, seed: Seed, attempt: int, trace: Trace) -> tuple[Rewrite, str]:
    """Rewrite a trace for the constraint of its seed, if it is about the trace. Raises `Rejected`."""
    if seed.constraint is None or seed.target == "response":
        return Rewrite(trace.reasoning, seed.args), "none"
    rewriter = REWRITERS[seed.constraint]
    material = Material(
        reasoning=trace.reasoning,
        answer=trace.answer,
        question=seed.problem.question,
        args=seed.args,
        draws=draws(config, seed.item_id, f"rewrite-{attempt}"),
        word_share=config.word_share,
    )
    return rewriter.rewrite(material), rewriter.name


def _row(
    config: SynthConfig, seed: Seed, constraints: tuple[Constraint, ...], reasoning: str, response: str
) -> dict[str, Any]:
    """A row of the dataset, the instruction in its prompt."""
    prompt, _ = make_prompt(config, seed, constraints[0] if constraints else None)
    row = Row(
        item_id=seed.item_id,
        prompt=({"role": "user", "content": prompt},),
        answer=seed.problem.answer,
        answer_type=seed.problem.answer_type,
        constraints=constraints,
        source=seed.problem.source,
    )
    return {**row.to_dict(), "reasoning": reasoning, "response": response}


def _write_json(path: Path, value: Any) -> None:
    part = path.with_name(path.name + ".part")
    part.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    part.replace(path)
