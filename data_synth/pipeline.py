"""The road from problems to a dataset: seeds -> sample -> rewrite -> verify -> filter -> dataset.

    out/config.yaml          what the run is made from; another configuration is refused
    out/seeds.jsonl          problems with drawn constraints
    out/traces/*.jsonl       every sample of the model, as it came
    out/rewritten/*.jsonl    one outcome per sample: a row, or the stage and the reason of its rejection
    out/answers.sqlite       what the rewriting LLM answered, by the hash of what it was asked
    out/yields.json          kept and rejected per constraint
    out/dataset.jsonl        the rows; written last, so that it is there when all is done

Seeds are worked on in windows, of which one is in memory. Files of the stages only grow; a run that was
killed reads what is there and does the rest, and what a server failed at is asked again. Draws depend on
the row and not on the order of work, so the dataset is the same as that of a run without interruption. A
shard of a run works on every n-th window; `riftk.data_synth.merging` puts shards together.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

from riftk.constraints import CHECKER_VERSION
from riftk.engines.base import Engine, Generation, Sampling
from riftk.runs import RunFolder, open_run

from .answers import Answers, settings_of
from .config import SynthConfig
from .decontaminate import Index, load_index
from .errors import ENGINE_FAILED, Rejected, SynthesisError
from .finishing import DATASET, finish_dataset, read_yields, write_yields
from .journal import Part, part_path
from .outcomes import Outcome, contaminated, finish, is_failure, rejection
from .rewriting import Draft, begin, go_on
from .sampling import accept, request
from .seeds import Seed, derived_seed
from .shards import SHARD_DONE, WHOLE, Shard, Window, windows_of
from .spending import Budget, Spending, usage_lines
from .yields import Yield, yield_table


@dataclass(frozen=True)
class SynthResult:
    """A finished synthesis, or a finished shard of one. `str()` gives the yield table.

    Args:
        dataset: path of `dataset.jsonl`; None of a shard, which has to be merged with the others.
        rows: number of rows in it, or kept in the shard.
        yields: kept and rejected by constraint.
        was_finished: whether it had been finished before, so that nothing was done.
        usage: requests and tokens of all starts, see `Spending.to_dict`.
    """

    dataset: Path | None
    rows: int
    yields: dict[str, Yield]
    was_finished: bool = False
    usage: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        opening = "already finished: " if self.was_finished else ""
        where = (
            f"in {self.dataset}" if self.dataset else "kept; put the shards together with riftk synth merge"
        )
        used = ["", *usage_lines(self.usage)] if self.usage else []
        return "\n".join([yield_table(self.yields), *used, "", f"{opening}{self.rows} rows {where}"])


def synthesize(
    config: SynthConfig,
    engine: Engine,
    out_dir: str | Path,
    *,
    llm: Engine | None = None,
    shard: Shard = WHOLE,
    budget: Budget | None = None,
    cache: str | Path | None = None,
    retry_errors: bool = False,
) -> SynthResult:
    """Make a dataset of traces that follow their instructions; see the module's text for its files.

    Args:
        config: what to make.
        engine: generates the traces; for self-distillation, with the model that will be trained.
        out_dir: run folder. Called again, the work goes on where it stopped; a finished one is left alone.
        llm: rewrites where the configuration leaves that to an LLM.
        shard: which windows to work on; the whole run by default.
        budget: what may be used before the run stops.
        cache: SQLite file with the rewriting LLM's answers, for several runs; None keeps them in `out_dir`.
        retry_errors: open a finished folder again for what a server failed at.

    Returns:
        The dataset and its yields. Each of its rows has the columns of `riftk.rows.Row`, `reasoning` and
        `response` (apart: `riftk.completions.render_reasoning` puts them where a chat template keeps them),
        and `synth` with its provenance.

    Raises:
        SynthesisError: bad problems, an LLM that is missing, or not one row kept.
        BudgetSpent: the budget is spent; what was generated is stored.
        RunError: another configuration made the folder, or another process is using it.
    """
    if config.uses_llm and llm is None:
        raise SynthesisError(f"the configuration rewrites with {config.llm}; open it and hand it over as llm")
    shard.check(config)
    identity = {
        **config.to_dict(),
        "engine": settings_of(engine),
        **({} if llm is None else {"llm_engine": settings_of(llm)}),
        **({} if shard == WHOLE else {"shard": str(shard)}),
        "riftk": version("riftk"),
        "checker": CHECKER_VERSION,
    }
    run = open_run(out_dir, identity)
    with contextlib.closing(run.lock), contextlib.ExitStack() as held:
        if retry_errors:
            (run.path / DATASET).unlink(missing_ok=True)
        elif (run.path / DATASET).exists() or run.is_finished(SHARD_DONE):
            yields = read_yields(run.path)
            rows = sum(counted.kept for counted in yields.values())
            dataset = run.path / DATASET if (run.path / DATASET).exists() else None
            return SynthResult(dataset, rows, yields, was_finished=True)
        spending = Spending(budget or Budget())
        answers = None
        if llm is not None and config.uses_llm:
            how = Sampling(config.llm_temperature, 1.0, config.llm_max_tokens, config.seed)
            path = Path(cache) if cache else run.path / "answers.sqlite"
            answers = held.enter_context(Answers(llm, how, path, str(run.path.resolve()), spending))
        index = load_index(config.decontaminate, config.benchmark_dir)
        work = _Work(config, engine, run.path, spending, answers, index)
        for window in windows_of(config, run.path, shard):
            work.do(window)
        return _finish(config, run, shard, spending)


def _finish(config: SynthConfig, run: RunFolder, shard: Shard, spending: Spending) -> SynthResult:
    usage = spending.to_dict()
    if shard != WHOLE:
        yields = write_yields(windows_of(config, run.path, shard), run.path, usage)
        run.mark_finished(SHARD_DONE)
        return SynthResult(None, sum(counted.kept for counted in yields.values()), yields, usage=usage)
    rows, yields = finish_dataset(config, partial(windows_of, config, run.path, shard), run.path, usage)
    return SynthResult(run.path / DATASET, rows, yields, usage=usage)


@dataclass(frozen=True)
class _Work:
    """Windows of seeds on their way to outcomes."""

    config: SynthConfig
    engine: Engine
    folder: Path
    spending: Spending
    answers: Answers | None
    index: Index

    def do(self, window: Window) -> None:
        """Sample, rewrite and verify one window of seeds, up to `config.attempts` times each."""
        pending = self._clean(window)
        for attempt in range(1, self.config.attempts + 1):
            if not pending:
                return
            path = part_path(self.folder / "rewritten", window.number, attempt)
            with Part(path, is_failure) as outcomes:
                kept = {key for key, outcome in outcomes.records.items() if outcome["row"] is not None}
                known = {key.partition("/")[0] for key in outcomes.records}
                for outcome in self._attempt(window.number, attempt, pending, known):
                    outcomes.append(outcome)
                    if outcome["row"] is not None:
                        kept.add(outcome["key"])
            left = [seed for seed in pending if f"{seed.item_id}/{attempt}" not in kept]
            print(
                f"synth: window {window.number + 1}, attempt {attempt}: kept {len(pending) - len(left)} of "
                f"{len(pending)}",
                file=sys.stderr,
            )
            pending = left

    def _clean(self, window: Window) -> list[Seed]:
        """The seeds whose problems repeat no benchmark; the others are rejected before they cost anything."""
        if not self.index:
            return window.seeds
        clean = []
        with Part(part_path(self.folder / "rewritten", window.number, 1)) as outcomes:
            for seed in window.seeds:
                match = self.index.match(seed.problem.question)
                if match is None:
                    clean.append(seed)
                elif f"{seed.item_id}/1" not in outcomes.records:
                    outcomes.append(contaminated(seed, match))
        return clean

    def _attempt(self, window: int, attempt: int, pending: list[Seed], known: set[str]) -> Iterator[Outcome]:
        """The outcomes of one attempt of a window, as they come, but for the seeds in `known`."""
        waiting: list[Draft] = []
        for seed, generation in self._samples(window, attempt, pending):
            if seed.item_id not in known:
                result = self._begin(seed, attempt, generation)
                if isinstance(result, Draft):
                    waiting.append(result)
                else:
                    yield result
        while waiting:
            assert self.answers is not None
            drafts, waiting = {draft.seed.item_id: draft for draft in waiting}, []
            questions = {name: draft.exchange.messages for name, draft in drafts.items() if draft.exchange}
            for name, generation in self.answers.ask(questions):
                result = self._go_on(drafts[name], generation)
                if isinstance(result, Draft):
                    waiting.append(result)
                else:
                    yield result

    def _samples(self, window: int, attempt: int, seeds: list[Seed]) -> Iterator[tuple[Seed, Generation]]:
        """One generation per seed; those that an earlier start has written are read, errors aside."""
        by_id = {seed.item_id: seed for seed in seeds}
        path = part_path(self.folder / "traces", window, attempt)
        with Part(path, lambda record: record["generation"]["finish_reason"] == "error") as traces:
            stored = {key.partition("/")[0]: record["generation"] for key, record in traces.records.items()}
            stored = {item_id: stored[item_id] for item_id in by_id if item_id in stored}
            for item_id, fields in stored.items():
                generation = Generation(**fields)
                self.spending.sampling.add(generation)
                yield by_id[item_id], generation
            if len(stored) == len(seeds):
                return
            sampling = Sampling(
                temperature=self.config.temperature,
                top_p=self.config.top_p,
                max_tokens=self.config.max_tokens,
                seed=derived_seed(self.config, window, attempt),
            )
            requests = [request(self.config, seed) for seed in seeds]
            missing = by_id.keys() - stored.keys()
            done, until = frozenset(stored), self.spending.is_spent
            for item_id, generation in self.engine.generate(requests, sampling, done, until):
                traces.append({"key": f"{item_id}/{attempt}", "generation": asdict(generation)})
                self.spending.sampling.add(generation)
                missing.discard(item_id)
                yield by_id[item_id], generation
        if missing and self.spending.is_spent():
            raise self.spending.stop()
        if missing:
            raise RuntimeError(
                f"the engine {self.engine.name} gave nothing for {len(missing)} requests, first "
                f"{min(missing)}"
            )

    def _begin(self, seed: Seed, attempt: int, generation: Generation) -> Draft | Outcome:
        """Take a sample as far as it goes without the LLM."""
        stage = "sample"
        try:
            trace = accept(self.config, seed, generation, self.engine.think)
            stage = "rewrite"
            draft = begin(self.config, seed, attempt, trace)
        except Rejected as rejected:
            return rejection(seed, attempt, stage, rejected)
        return draft if draft.exchange else finish(self.config, self.engine.model, draft)

    def _go_on(self, draft: Draft, generation: Generation) -> Draft | Outcome:
        """Take an answer of the rewriting LLM."""
        try:
            if generation.finish_reason == "error":
                raise Rejected(ENGINE_FAILED, generation.error or "")
            draft = go_on(self.config, draft, generation)
        except Rejected as rejected:
            return rejection(draft.seed, draft.attempt, "rewrite", rejected)
        return draft if draft.exchange else finish(self.config, self.engine.model, draft)
