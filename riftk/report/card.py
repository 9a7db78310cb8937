"""The card of the trained model, for the hub: what it was made of and how, how it was measured, and what its
training means for those who watch its reasoning.

Written into `final/`: `README.md` with the figures as `model-index`, and, for benchmarks that were read from
the hub, `.eval_results/<benchmark>.yaml`, which the hub shows on the model's page.
"""

from __future__ import annotations

import json
import re
import sys
import time
from collections.abc import Iterator, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

from riftk.report.comparison import headline
from riftk.report.markdown import heading, inline, opening, provenance
from riftk.report.training import training_log

# An option that only this recipe has, the recipe, and what it does.
_RECIPES = {
    "loss_on": ("rif", "finetuning on its own traces, rewritten until they follow an instruction"),
    "teacher": ("sft", "supervised finetuning on long correct traces"),
    "rewards": ("cold_rl", "reinforcement learning with verifiable rewards (GRPO)"),
}
# Settings that a reader wants to see; all of them stand in the run's config.yaml.
_TOLD = (
    "model_name_or_path", "model_revision", "problems", "dataset", "teacher", "num_rows", "constraints",
    "plain_share", "response_share", "loss_on", "base_share", "rewards", "reward_weights", "num_generations",
    "beta", "loss_type", "use_peft", "lora_r", "lora_alpha", "learning_rate", "lr_scheduler_type",
    "num_train_epochs", "max_steps", "per_device_train_batch_size", "gradient_accumulation_steps",
    "max_length", "max_completion_length", "dtype", "seed", "select_by",
)  # fmt: skip
_WRITTEN = "Written by riftk from its run folder; without this line riftk leaves the card as it is."
_OTHERS = ("generated_from_trainer", "Model Card for Model ID")  # cards that trl and peft leave
_HUB_DATA = re.compile(r"([\w.-]+/[\w.-]+)@(\w[\w.-]*)")  # as benchmarks name the commit that they read
_HUB_ID = re.compile(r"\w[\w.-]*/\w[\w.-]*")
_FILES = (".jsonl", ".json", ".parquet", ".csv")


def write_card(run: Path, report: Mapping[str, Any]) -> Path | None:
    """Write the card of a run's final model.

    Args:
        run: the run folder.
        report: its report, see `riftk.report.write.collect`.

    Returns:
        The card, or None where no model was trained or the card there is somebody's own.
    """
    from huggingface_hub import ModelCard
    from yaml import safe_dump, safe_load

    final, settings = run / "final", run / "config.yaml"
    if not final.is_dir() or not settings.is_file():
        return None
    card = final / "README.md"
    if card.is_file() and not _replaceable(card.read_text(encoding="utf-8")):
        print(f"{card} is your own and stays as it is", file=sys.stderr)
        return None
    config = safe_load(settings.read_text(encoding="utf-8"))
    name, told = recipe_of(config)
    made = ModelCard.from_template(
        _card_data(run, config, name, report),
        template_path=str(files("riftk.report") / "templates" / "card.md.jinja"),
        written=_WRITTEN,
        name=inline(run.resolve().name),
        base=inline(str(config["model_name_or_path"])),
        recipe=name,
        told=told,
        data=_data(run, config),
        settings=dict(_settings(config)),
        steps=_steps(run),
        opening="\n\n".join(opening(report)),
        heading=inline(heading(report)),
        provenance=provenance(report),
        followed=list(_followed(report)),
    )
    made.save(card)
    for task, entries in hub_entries(report).items():
        path = final / ".eval_results" / f"{task}.yaml"
        path.parent.mkdir(exist_ok=True)
        path.write_text(safe_dump(entries, allow_unicode=True, sort_keys=False), encoding="utf-8")
    return card


def recipe_of(config: Mapping[str, Any]) -> tuple[str, str]:
    """Name of the recipe that a configuration belongs to, and what it does."""
    return next(
        (_RECIPES[option] for option in _RECIPES if option in config), ("unknown", "a recipe of its own")
    )


def hub_entries(report: Mapping[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """What goes into `.eval_results/<benchmark>.yaml`: figures of benchmarks that were read from the hub, by
    the rules that were published with them."""
    from huggingface_hub import EvalResultEntry, eval_result_entries_to_yaml

    results, found = report["after"], {}
    for task, config in results["configs"].items():
        origin = _HUB_DATA.fullmatch(str(config.get("dataset", "")))
        if origin is None:
            continue
        entries = [
            EvalResultEntry(
                dataset_id=origin[1],
                dataset_revision=origin[2],
                task_id=metric,
                value=round(100 * estimate["value"], 2),
                date=time.strftime("%Y-%m-%d", time.gmtime(results["date"])),
                notes=f"rules {rules}, {_how(results, task, estimate)}",
            )
            for metric, rules, estimate in _figures(results, task)
            if rules == config["rules"][0]
        ]
        found[task] = eval_result_entries_to_yaml(entries)
    return found


def _card_data(run: Path, config: Mapping[str, Any], recipe: str, report: Mapping[str, Any]) -> Any:
    from huggingface_hub import EvalResult, ModelCardData

    results, base = report["after"], str(config["model_name_or_path"])
    figures = []
    for task, settings in results["configs"].items():
        origin = _HUB_DATA.fullmatch(str(settings.get("dataset", "")))
        for metric, rules, estimate in _figures(results, task):
            figures.append(
                EvalResult(
                    task_type="text-generation",
                    dataset_type=origin[1] if origin else task,
                    dataset_name=task,
                    dataset_split=settings["split"],
                    dataset_revision=origin[2] if origin else None,
                    metric_type=metric,
                    metric_name=f"{metric.replace('_', ' ')} in percent, rules {rules}",
                    metric_args={"how": _how(results, task, estimate)},
                    metric_value=round(100 * estimate["value"], 2),
                )
            )
    sources = [config.get("dataset") or config.get("problems")]
    return ModelCardData(
        model_name=run.resolve().name,
        base_model=base if _on_hub(base) else None,
        datasets=[source for source in sources if source and _on_hub(source)] or None,
        library_name="peft" if (run / "final" / "adapter_config.json").is_file() else "transformers",
        pipeline_tag="text-generation",
        tags=["riftk", "reasoning", "instruction-following", recipe],
        eval_results=figures,
    )


def _figures(results: Mapping[str, Any], task: str) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """Metric, rules and estimate of the shares that a report opens with, under every rulebook."""
    estimates = results["estimates"][task]
    for name, key in headline(estimates).items():
        metric = key.rpartition(",")[0]
        for rules in results["configs"][task]["rules"]:
            estimate = estimates.get(f"{metric},{rules}")
            if estimate and name not in ("Length", "Truncated"):
                yield metric, rules, estimate


def _how(results: Mapping[str, Any], task: str, estimate: Mapping[str, Any]) -> str:
    """How a figure was obtained, in one line."""
    config = results["configs"][task]
    sampling = ", ".join(f"{name} {value}" for name, value in config["sampling"].items() if value is not None)
    interval = (
        "" if estimate["low"] is None else f" [{100 * estimate['low']:.1f}, {100 * estimate['high']:.1f}]"
    )
    return (
        f"percent, 95 % interval{interval}, n {estimate['n']}, avg@{config['samples_per_item']}, {sampling}, "
        f"checker {results['checker_version']} of riftk {results['packages'].get('riftk', 'unknown')}"
    )


def _followed(report: Mapping[str, Any]) -> Iterator[str]:
    """What is known of the model's control over its trace."""
    key = "reasoning_ifs,robust"
    for task, estimates in report["after"]["estimates"].items():
        if key in estimates:
            before = (report.get("before") or {}).get("estimates", {}).get(task, {}).get(key)
            was = f" ({100 * before['value']:.1f} % before)" if before else ""
            share = f"{100 * estimates[key]['value']:.1f} %"
            yield f"{share} of the instructions about its trace in {inline(task)}{was}"


def _settings(config: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for key in _TOLD:
        value = config.get(key)
        told = value is not None and value != [] and value is not False
        if told and (config.get("use_peft") or not key.startswith("lora_")):
            yield key, inline(str(value))


def _data(run: Path, config: Mapping[str, Any]) -> str:
    source = config.get("dataset") or config.get("problems") or "unknown"
    yields = run / "data" / "yields.json"
    if config.get("dataset") or not yields.is_file():
        return inline(str(source))
    counts = json.loads(yields.read_text(encoding="utf-8")).values()
    kept, seeds = (sum(count.get(name, 0) for count in counts) for name in ("kept", "seeds"))
    return f"{kept} of {seeds} traces of problems from {inline(str(source))}; the others were rejected"


def _steps(run: Path) -> int | None:
    log = training_log(run)
    return log[-1]["step"] if log else None


def _on_hub(name: str) -> bool:
    return bool(_HUB_ID.fullmatch(name)) and not Path(name).exists() and not name.endswith(_FILES)


def _replaceable(text: str) -> bool:
    return _WRITTEN in text or any(other in text for other in _OTHERS)
