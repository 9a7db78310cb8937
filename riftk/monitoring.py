"""What a training run shows while it runs: rollouts with their verdicts, alarms, and the curve.

Alarms are a pure function of the trainer's log, so a resumed run knows what it has seen. What they need is
logged under `watch/…` on every rank, and averaged over them by trl.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from transformers import TrainerCallback

from riftk.constraints import ConstraintError
from riftk.constraints.published import published_rules
from riftk.constraints.text import word_count
from riftk.judging import Output
from riftk.rewards import Score, Scoring, score
from riftk.rewards.completions import read_completion
from riftk.rewards.tasks import COLUMNS, read_task
from riftk.rows import RowError, read_jsonl, write_jsonl
from riftk.runs import RunError, free_memory
from riftk.selection import choose, point_folder, read_curve
from riftk.spreading import spread

WATCHED = 64  # completions of a batch, on each rank, that are judged for the log
SHOWN = 4  # rollouts in a table
WINDOW = 3  # entries of the log that are averaged
COLLAPSED = 0.5  # of the trace length at the beginning
PARTED = 0.10  # published following ahead of robust following, more than at the beginning
# Mean difference of a token's log-probability in vLLM and in the trainer; rounding alone makes about 0.001 in
# float32 and 0.02 in bfloat16. Four times that of the first generation is too much, between these bounds.
STALE_GROWTH, STALE_LEAST, STALE_MOST = 4.0, 0.01, 0.1

TRACE, ROBUST, PUBLISHED, ALIKE, DIFFERENCE = (
    "watch/trace_words",
    "watch/robust",
    "watch/published",
    "frac_reward_zero_std",
    "sampling/sampling_logp_difference/mean",
)


@dataclass(frozen=True)
class Alarm:
    """Something in the log that a person should look at: since which step, and what it may mean."""

    name: str
    step: int
    message: str


def find_alarms(history: Sequence[Mapping[str, Any]]) -> list[Alarm]:
    """The alarms in a trainer's log (`state.log_history`), each where it begins.

    - "trace length": the mean trace is less than half as long as at the beginning.
    - "rules part": the published rulebook is more than ten points further ahead of the robust one than at the
      beginning, as when a model learns what the published evaluator overlooks.
    - "groups alike": in no group do rewards differ, so there is no gradient.
    - "stale weights": vLLM and the trainer give sampled tokens other probabilities, much more so than at the
      beginning. After every sync of weights trl compares the two on all that is sampled; weights that did not
      arrive, or not all of them, let the difference grow (huggingface/trl#5312, #2698).

    Beginning and present are means over three entries of the log.
    """
    seen: dict[str, list[float]] = {key: [] for key in (TRACE, ROBUST, PUBLISHED, ALIKE, DIFFERENCE)}
    found: list[Alarm] = []
    sounding: set[str] = set()
    for entry in history:
        for key, values in seen.items():
            if entry.get(key) is not None:
                values.append(entry[key])
        for name, check in _CHECKS.items():
            message = check(seen)
            if message and name not in sounding:
                found.append(Alarm(name, int(entry.get("step", 0)), message))
            (sounding.add if message else sounding.discard)(name)
    return found


def _windows(values: Sequence[float]) -> tuple[float, float] | None:
    """Means of a logged value at the beginning and at present; None while there is too little of it."""
    if len(values) < 2 * WINDOW:
        return None
    return sum(values[:WINDOW]) / WINDOW, sum(values[-WINDOW:]) / WINDOW


def _collapse(seen: Mapping[str, Sequence[float]]) -> str | None:
    lengths = _windows(seen[TRACE])
    if lengths is None or lengths[1] >= COLLAPSED * lengths[0]:
        return None
    return (
        f"traces have shrunk from {lengths[0]:.0f} to {lengths[1]:.0f} words: look at the rollouts; if they "
        "say nothing any more, use the reward `gated`"
    )


def _parting(seen: Mapping[str, Sequence[float]]) -> str | None:
    robust, published = _windows(seen[ROBUST]), _windows(seen[PUBLISHED])
    if robust is None or published is None:
        return None
    gaps = [there - here for here, there in zip(robust, published, strict=True)]
    if gaps[1] - gaps[0] <= PARTED:
        return None
    return (
        f"the published rules see {published[1]:.0%} followed and the robust ones {robust[1]:.0%}: the model "
        "is learning what the published evaluator overlooks; train with `rules: both`"
    )


def _alike(seen: Mapping[str, Sequence[float]]) -> str | None:
    values = seen[ALIKE][-WINDOW:]
    if len(values) < WINDOW or min(values) < 1.0:
        return None
    return (
        "no group has rewards that differ, so nothing is learned: the problems are too easy or too hard, "
        "or the temperature is too low"
    )


def _stale(seen: Mapping[str, Sequence[float]]) -> str | None:
    values = seen[DIFFERENCE]
    if len(values) < WINDOW:
        return None
    usual, present = values[0], sum(values[-WINDOW:]) / WINDOW  # the first is sampled from the same weights
    if present <= min(max(STALE_GROWTH * usual, STALE_LEAST), STALE_MOST):
        return None
    return (
        f"vLLM's log-probabilities differ from the trainer's by {present:.3f} a token (at the beginning "
        f"{usual:.3f}): it seems to sample from other weights; check the versions with `riftk env`, and try "
        "without vllm_enable_sleep_mode"
    )


_CHECKS = {
    "trace length": _collapse,
    "rules part": _parting,
    "groups alike": _alike,
    "stale weights": _stale,
}


class RolloutMonitor(TrainerCallback):
    """Watches what rewards are paid for: a table of rollouts every `every` steps, and alarms.

    Args:
        folder: run folder; `rollouts.jsonl` and `alarms.jsonl` are written there.
        think: how the model marks its reasoning.
        every: steps between tables; 0 shows none.
    """

    def __init__(self, folder: Path, think: str, every: int = 10) -> None:
        self._folder, self._think, self._every = folder, think, every
        self._batch: dict[str, Any] = {}
        self._earned: dict[str, Sequence[float | None]] = {}
        self._sounded = 0

    def watch(self, rewards: Sequence[Any]) -> list[Any]:
        """The rewards, to be given to the trainer: they pay the same, and the monitor sees it."""
        return [_Watched(reward, self, first=place == 0) for place, reward in enumerate(rewards)]

    def see(self, name: str, earned: Sequence[float | None], batch: dict[str, Any], first: bool) -> None:
        """Take note of one reward on one batch; what the alarms need is logged once for each batch."""
        self._earned = {} if first else self._earned
        self._batch, self._earned[name] = batch, earned
        log_metric = batch.get("log_metric")
        if not first or log_metric is None:
            return
        looks = [self._look(place) for place in spread(len(earned), WATCHED)]
        for key in (TRACE, ROBUST, PUBLISHED):
            values = [look[key] for look in looks if look[key] is not None]
            if values:
                log_metric(key, sum(values) / len(values))

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Say where stale weights would go unnoticed, and forget the tables of steps that a resumed run takes
        again."""
        compared = getattr(args, "vllm_importance_sampling_correction", True)
        if getattr(args, "use_vllm", False) and not compared and state.is_world_process_zero:
            print("without vllm_importance_sampling_correction nothing notices stale weights in vLLM")
        file = self._folder / "rollouts.jsonl"
        if state.is_world_process_zero and file.is_file():
            write_jsonl(file, [one for one in read_jsonl(file) if one["step"] <= state.global_step])

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        if self._every and state.global_step % self._every == 0 and state.is_world_process_zero:
            rollouts = [
                self._rollout(place, state.global_step)
                for place in spread(len(self._batch.get("completions", ())), SHOWN)
            ]
            with open(self._folder / "rollouts.jsonl", "a", encoding="utf-8") as file:
                file.writelines(json.dumps(rollout, ensure_ascii=False) + "\n" for rollout in rollouts)
            _show(rollouts, state.global_step)

    def on_log(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        if not state.is_world_process_zero:
            return
        found = find_alarms(state.log_history)
        lines = "".join(json.dumps(asdict(alarm), ensure_ascii=False) + "\n" for alarm in found)
        (self._folder / "alarms.jsonl").write_text(lines, encoding="utf-8")
        for alarm in found[self._sounded :]:
            print(f"ALARM, step {alarm.step}, {alarm.name}: {alarm.message}", flush=True)
        self._sounded = len(found)

    def _row(self, place: int) -> dict[str, Any]:
        return {name: self._batch[name][place] for name in COLUMNS if name in self._batch}

    def _look(self, place: int) -> dict[str, float | None]:
        """Length of a trace, and whether the robust and the published rules see everything followed."""
        text, reasoning = read_completion(self._batch["completions"][place])
        output = Output(text, self._think, reasoning)
        looked: dict[str, float | None] = dict.fromkeys((ROBUST, PUBLISHED))
        looked[TRACE] = float(word_count(output.completion.reasoning))
        try:
            task = read_task(self._row(place))
            constraints = task.constraints
            books = {published_rules(constraint, task.rules) for constraint in constraints}
            if len(books) != 1 or None in books:  # only what both judge can be compared
                return looked
            verdicts = output.judge(constraints, ["robust", *books])
        except (RowError, ConstraintError):  # a row that cannot be judged earns None; the rewards say so
            return looked
        looked[ROBUST] = float(all(verdict.followed for verdict in verdicts["robust"]))
        looked[PUBLISHED] = float(all(verdict.followed for verdict in verdicts[books.pop()]))
        return looked

    def _rollout(self, place: int, step: int) -> dict[str, Any]:
        """One line of the table: text, what it earned, and why."""
        completion, prompt = self._batch["completions"][place], self._batch["prompts"][place]
        text, reasoning = read_completion(completion)
        output, row = Output(text, self._think, reasoning), self._row(place)
        judged: Score = score(completion, row, Scoring(think=self._think), prompt=prompt)
        verdicts = []
        if not judged.error:
            constraints = read_task(row).constraints
            found = output.judge(constraints, ["robust"])["robust"]
            verdicts = [
                {"id": c.id, "target": c.target, "followed": verdict.followed, "reason": verdict.reason}
                for c, verdict in zip(constraints, found, strict=True)
            ]
        return {
            "step": step,
            "prompt": prompt,
            "completion": text,
            "rewards": {name: earned[place] for name, earned in self._earned.items()},
            "status": output.completion.status,
            "correct": judged.correct,
            "verdicts": verdicts,
            "guard": judged.guard,
            "guard_reason": judged.guard_reason,
            "error": judged.error,
        }


@dataclass(frozen=True)
class _Watched:
    """A reward that tells its monitor what it paid."""

    reward: Any
    monitor: RolloutMonitor
    first: bool

    @property
    def __name__(self) -> str:
        return self.reward.__name__

    def __call__(self, **batch: Any) -> list[float | None]:
        earned = self.reward(**batch)
        self.monitor.see(self.__name__, earned, batch, self.first)
        return earned


class CheckpointEvaluation(TrainerCallback):
    """Evaluates each checkpoint on development items as soon as it is written, and keeps the best one.

    The evaluation is a process of its own; the ranks wait for it. One that fails is reported and does not
    stop the training.

    Args:
        job: the `riftk.stages.Job` of the run.
    """

    def __init__(self, job: Any) -> None:
        self._job = job

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Evaluate the untrained model, and the checkpoint of a run that was killed while evaluating it."""
        for step in sorted({0, state.global_step}):
            self._evaluate(state, step)

    def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self._evaluate(state, state.global_step)

    def _evaluate(self, state: Any, step: int) -> None:
        run = self._job.run
        free_memory()  # on every rank: each one's GPU takes part
        if self._job.is_main and not (point_folder(run.path, step) / "results.json").is_file():
            try:
                self._job.evaluate_step(step)
            except RunError as error:
                print(f"step {step} could not be evaluated on development items: {error}")
        self._job.wait()
        best = choose(read_curve(run.path), self._job.args.select_by)
        if best is not None:  # the trainer deletes old checkpoints (save_total_limit), but never this one
            state.best_model_checkpoint = str(run.checkpoint(best.step))


class AlreadyTrained(Exception):
    """The checkpoint that a training resumes from is its last: the model is loaded, nothing is left to do."""


class NoFurtherStep(TrainerCallback):
    """Ends a training that resumes from its last checkpoint, as a run does that was killed before it was
    finished. Transformers would take a step more: it looks at the number of steps after each of them."""

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        if state.global_step >= state.max_steps:
            raise AlreadyTrained


def _show(rollouts: Sequence[Mapping[str, Any]], step: int) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(
        "earned",
        "correct",
        "followed, and why (robust rules)",
        "guard or error",
        "completion",
        show_lines=True,
    )
    table.title = f"rollouts at step {step}"
    for rollout in rollouts:
        rewards = "\n".join("–" if value is None else f"{value:.2f}" for value in rollout["rewards"].values())
        why = "\n".join(
            f"{'yes' if one['followed'] else 'no'}: {one['id'].rpartition(':')[2]} ({one['target']}): "
            f"{one['reason']}"
            for one in rollout["verdicts"]
        )
        correct = {None: "–", 1.0: "yes"}.get(rollout["correct"], "no")
        stopped = rollout["error"] or ": ".join(filter(None, (rollout["guard"], rollout["guard_reason"])))
        # Plain text: nothing that a model wrote is taken for markup.
        table.add_row(*map(Text, (rewards, correct, why, stopped, _clip(rollout["completion"]))))
    Console().print(table)


def _clip(text: str, head: int = 240, tail: int = 120) -> str:
    text = " ".join(text.split())
    return text if len(text) <= head + tail else f"{text[:head]} […] {text[-tail:]}"
