"""`report.md`, rendered from the data of a report and from nothing else."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import Any

from riftk.evaluation.forms import UNASKED, unasked_name
from riftk.evaluation.iffr import FIGURES as IFFR_FIGURES
from riftk.evaluation.iffr import table as iffr_table
from riftk.evaluation.probing import figure_rows
from riftk.evaluation.summary import QUADRANTS
from riftk.report.comparison import headline, keys_between
from riftk.report.curves import FIGURES
from riftk.report.pictures import images
from riftk.report.prompts import prompt_table
from riftk.report.text import LENGTHS, difference_cell, estimate_cell, fenced, inline, sizes_cell, table
from riftk.report.within import connections, cost_table, turn_tables

Report = Mapping[str, Any]  # what `riftk.report.write.collect` returns

_NAMES = {
    "reasoning_ifs": "Reasoning IFS",
    "response_ifs": "Response IFS",
    "reasoning_ifs_closed": "Reasoning IFS, complete completions only",
    "response_ifs_closed": "Response IFS, complete completions only",
    "reasoning_joint": "Joint, instruction about the reasoning",
    "response_joint": "Joint, instruction about the response",
    "accuracy": "Accuracy, all items",
    "accuracy_plain": "Accuracy, without instruction",
    "accuracy_instructed": "Accuracy, with instruction",
    "accuracy_completed": "Accuracy, completions that were not cut off",
    "reasoning_sacc": "Share of the instructions about the reasoning that are followed",
    "response_sacc": "Share of the instructions about the response that are followed (SAcc)",
    "reasoning_instructions": "Of all instructions about the reasoning, followed",
    "response_instructions": "Of all instructions about the response, followed (instruction level)",
    "accuracy_macro": "Accuracy, mean over the sets",
    "reasoning_ifs_first_turn": "Reasoning IFS, first turn",
    "reasoning_tokens": "Mean tokens of the reasoning",
    "reasoning_words": "Mean words of the reasoning",
    "completion_tokens": "Mean tokens generated",
}
_COUNTS = {
    "samples": "samples",
    "truncated": "truncated at the token limit",
    "unclosed": "reasoning never closed",
    "no_reasoning": "no reasoning block",
    "empty": "empty reasoning or nothing generated",
    "errored": "errors of the engine",
}


def render(report: Report) -> str:
    """The whole report as Markdown."""
    tasks = report["after"]["estimates"]
    parts = [f"# {inline(heading(report))}", *opening(report)]
    for task in tasks:
        of_task = f" ({inline(task)})" if len(tasks) > 1 else ""
        if plot := report["plots"].get(task):
            parts += [f"## Following, and what it costs{of_task}"] if of_task else []
            parts.append(
                f"![Following per constraint, and accuracy against following: {inline(task)}]({plot})"
            )
        parts += _probed(report, task, of_task)
        parts += _following(report, task, of_task)
        parts += _wordings(report, task, of_task)
        parts += _divided(report, task, of_task)
        parts += [f"## Accuracy, joint and length{of_task}", _other_figures(report, task)]
        parts += _quadrants(report, task, of_task)
        parts += _unasked(report, task, of_task)
        parts += _turns(report, task, of_task)
        parts += connections(_sides(report), task, of_task)
        parts += _between(report, task, of_task)
        parts += [f"## Counts{of_task}", _counts(report, task)]
        parts += _examples(report, task, of_task)
    if report.get("waits_plot"):
        parts += [
            "## Traces prolonged by Wait",
            f"![Following by the number of Waits]({report['waits_plot']})",
        ]
    if report.get("training_plot"):
        parts += ["## Training", f"![What the trainer logged]({report['training_plot']})"]
    if report.get("way"):
        parts += _way(report["way"], report["way_plots"])
    parts += ["## How this was obtained", provenance(report)]
    return "\n\n".join(parts) + "\n"


def heading(report: Report) -> str:
    """The models that were evaluated, from before to after."""
    return " → ".join(dict.fromkeys(report[when]["model_name"] for when in evaluations(report)))


def opening(report: Report) -> list[str]:
    """The few figures of each task that matter most, and what they amount to."""
    parts, tasks = [], report["after"]["estimates"]
    for task in tasks:
        parts += [f"## {inline(task)}"] if len(tasks) > 1 else []
        parts.append(_five_lines(report, task))
        if report["conclusions"].get(task):
            parts.append(f"**{report['conclusions'][task]}**")
    return parts


def evaluations(report: Report) -> list[str]:
    """ "before" and "after", or the one of them that there is."""
    return [when for when in ("before", "after") if report.get(when)]


def column(report: Report, when: str) -> str:
    """Heading of an evaluation: a single one is neither before nor after anything."""
    return when if len(evaluations(report)) > 1 else "measured"


def _five_lines(report: Report, task: str) -> str:
    notes = {
        "IFS": lambda metric: f" ({metric.partition('_')[0]}, robust rules)",
        "Joint": lambda metric: " (correct and followed)",
        "Length": lambda metric: f" ({_NAMES[metric].lower()})",
        "Truncated": lambda metric: " (cut off at the token limit)",
    }
    rows = []
    for name, key in headline(report["after"]["estimates"][task]).items():
        note = notes.get(name, lambda metric: "")(key.rpartition(",")[0])
        rows.append((f"**{name}**{note}", key))
    return _figures(report, task, rows)


def _probed(report: Report, task: str, of_task: str) -> list[str]:
    """A probe: what becomes of answers behind changed traces, in all samples and in groups of them."""
    parts = []
    for title, rows in figure_rows(report["after"]["estimates"][task]).items():
        parts += [f"## {title}{of_task}", _figures(report, task, rows, tests=True)]
    return parts


def _following(report: Report, task: str, of_task: str) -> list[str]:
    parts = []
    estimates = report["after"]["estimates"][task]
    for target in ("reasoning", "response"):
        for rules in report["after"]["configs"][task]["rules"]:
            metric = f"{target}_ifs"
            if found := keys_between(estimates, f"{metric}/", f",{rules}"):
                rows = [("all", f"{metric},{rules}")]
                rows += [(f"`{constraint}`", key) for constraint, key in found.items()]
                kind = "" if rules == "robust" else "published "
                parts.append(f"## Following in the {target}, {kind}rules `{rules}`{of_task}")
                parts.append(_figures(report, task, rows, tests=True))
    return parts


def _wordings(report: Report, task: str, of_task: str) -> list[str]:
    """IFFR: its figures, and the mean and standard deviation of its wordings."""
    estimates, rules = report["after"]["estimates"][task], report["after"]["configs"][task]["rules"]
    rows = [
        (f"{name}, rules `{book}`", key)
        for metric, name in IFFR_FIGURES.items()
        for book in rules
        if (key := f"{metric},{book}") in estimates
    ]
    parts = [f"## Standard and non-standard instructions{of_task}", _figures(report, task, rows)]
    if len(evaluations(report)) == 2:
        parts.append("Differences are over the same questions, of the IFFR over those that both have solved.")
    for when in evaluations(report):
        header, texts = iffr_table(report[when], task)
        parts += [f"Over the wordings, in percent ({column(report, when)}):", table(header, texts)]
    return parts if rows else []


def _other_figures(report: Report, task: str) -> str:
    estimates = report["after"]["estimates"][task]
    rows = []
    several = {target for target in ("reasoning", "response") if _has_several(report, task, target)}
    for metric in ("accuracy", "accuracy_macro", "accuracy_plain", "accuracy_instructed",
                   "accuracy_completed", *(f"{target}_sacc" for target in sorted(several)),
                   "reasoning_instructions", "response_instructions", "reasoning_joint", "response_joint",
                   "reasoning_ifs_closed", "response_ifs_closed", "reasoning_ifs_first_turn"):  # fmt: skip
        for key in (key for key in estimates if key.rpartition(",")[0] == metric):
            filtered = key.rpartition(",")[2]
            plain = metric.startswith("accuracy") and filtered == "robust"
            rows.append((_NAMES[metric] + ("" if plain else f", rules `{filtered}`"), key))
    rows += [(key.replace(",", ", rules `") + "`", key) for key in estimates if key.startswith("pass@")]
    rows += [(_NAMES[key.rpartition(",")[0]], key) for key in LENGTHS if key in estimates]
    return _figures(report, task, rows, tests=True)


def _has_several(report: Report, task: str, target: str) -> bool:
    """Whether items have several instructions about a target, so that a share of them says something else."""
    estimates = report["after"]["estimates"][task]
    return any(
        estimates[key] != estimates.get(key.replace("_sacc", "_ifs"))
        for key in estimates
        if key.startswith(f"{target}_sacc,")
    )


def _divided(report: Report, task: str, of_task: str) -> list[str]:
    """Following and accuracy by source, number of constraints and length of the trace."""
    titles = {
        "source": ("By source", ("source", "targets", "correlation")),
        "constraints": ("By number of instructions", ("constraints",)),
        "cot_bin": ("By length of the reasoning (1: shortest sixth)", ("lengths",)),
    }
    estimates = report["after"]["estimates"][task]
    parts = []
    for part, (title, pictures) in titles.items():
        rows = []
        for target in ("reasoning", "response"):
            metrics = [f"{target}_ifs"] + [f"{target}_sacc"] * _has_several(report, task, target)
            for metric, rules in ((m, r) for m in metrics for r in report["after"]["configs"][task]["rules"]):
                rows += _part_rows(estimates, metric, rules, part, f"{_NAMES[metric]}, `{rules}`")
        rows += _part_rows(estimates, "accuracy", "robust", part, "Accuracy")
        if rows:
            parts += [f"## {title}{of_task}", *_images(report, task, *pictures)]
            parts.append(_figures(report, task, rows, tests=True))
    if costs := cost_table(_sides(report), task):
        parts += [f"## What instructions cost, by source{of_task}", *_images(report, task, "cost"), costs]
    return parts


def _images(report: Report, task: str, *names: str) -> list[str]:
    return images(report.get("pictures", {}).get(task, {}), task, names)


def _sides(report: Report) -> dict[str, Any]:
    """What was evaluated, by the heading of its column."""
    return {column(report, when): report[when] for when in evaluations(report)}


def _part_rows(
    estimates: Mapping[str, Any], metric: str, rules: str, part: str, name: str
) -> list[tuple[str, str]]:
    found = keys_between(estimates, f"{metric}[{part}=", f"],{rules}")
    return [(f"{name}: {inline(value)}", key) for value, key in found.items()]


def _quadrants(report: Report, task: str, of_task: str) -> list[str]:
    """Correct or not, followed or not (MathIF, Figure 4)."""
    estimates = report["after"]["estimates"][task]
    rows = [
        (f"{quadrant.replace('_', ', ')} ({target}, `{rules}`)", key)
        for target in ("reasoning", "response")
        for rules in report["after"]["configs"][task]["rules"]
        for quadrant in QUADRANTS
        if (key := f"{target}_{quadrant},{rules}") in estimates
    ]
    pictures = _images(report, task, "quadrants")
    return [f"## Correct and followed{of_task}", *pictures, _figures(report, task, rows)] if rows else []


def _turns(report: Report, task: str, of_task: str) -> list[str]:
    tables = turn_tables(_sides(report), task)
    return [f"## One turn and two{of_task}", *_images(report, task, "turns"), *tables] if tables else []


def _between(report: Report, task: str, of_task: str) -> list[str]:
    """The same items in other tasks, asked in another way."""
    others = report.get("between", {}).get(task)
    if not others:
        return []
    picture = report["between_plots"].get(task)
    parts = [f"## Asked in another way{of_task}"]
    parts += [f"![What another prompt changes: {inline(task)}]({picture})"] * bool(picture)
    for rules in report["after"]["configs"][task]["rules"]:
        if told := prompt_table(task, others, rules):
            parts += [f"Rules `{rules}`:", told]
    return parts


def _unasked(report: Report, task: str, of_task: str) -> list[str]:
    """Forms without an instruction, and forms that were asked for in the other text only."""
    parts = []
    for kind, title in UNASKED.items():
        keys = [key for key in report["after"]["estimates"][task] if key.startswith(kind)]
        if keys:
            rows = [(unasked_name(key).capitalize(), key) for key in keys]
            parts += [f"## {title}{of_task}", _figures(report, task, rows, tests=True)]
    return parts


def _figures(report: Report, task: str, rows: Iterable[tuple[str, str]], tests: bool = False) -> str:
    """One row per figure: each evaluation, and the paired difference where there are two."""
    whens = evaluations(report)
    paired = len(whens) == 2
    tests = tests and paired
    header = ["", *(column(report, when) for when in whens), *(["difference"] if paired else []), "n"]
    header += ["gained / lost", "p"] if tests else []
    body = []
    for name, key in rows:
        cells = [name, *(estimate_cell(report[when]["estimates"][task].get(key), key) for when in whens)]
        gap = report["differences"].get(task, {}).get(key) if paired else None
        if paired:
            cells.append(difference_cell(gap, key))
        cells.append(sizes_cell(report[when]["estimates"][task].get(key) for when in whens))
        if tests:
            cells += _tests(gap)
        body.append(cells)
    return table(header, body)


def _tests(gap: Mapping[str, Any] | None) -> list[str]:
    if not gap or gap["gained"] is None:
        return ["", ""]
    adjusted = gap.get("p_holm")
    p_value = _p(gap["p_value"]) if adjusted is None else f"{_p(adjusted)} (Holm)"
    return [f"{gap['gained']} / {gap['lost']}", p_value]


def _counts(report: Report, task: str) -> str:
    whens = evaluations(report)
    named = [("counts", count, name) for count, name in _COUNTS.items()]
    named += [("outcomes", name, f"answers: {name}") for name in report["after"]["outcomes"][task]]
    rows = [[name, *(str(report[when][of][task][key]) for when in whens)] for of, key, name in named]
    return table(["", *(column(report, when) for when in whens)], rows)


def _examples(report: Report, task: str, of_task: str) -> list[str]:
    examples = report["examples"].get(task, [])
    parts = [f"## Examples{of_task}"] if examples else []
    for example in examples:
        asked = ", ".join(f"`{c['id']}` ({c['target']})" for c in example["constraints"]) or "no instruction"
        parts.append(f"### {inline(example['item_id'])}: {example['kind']} ({asked})")
        parts.append(fenced(example["prompt"]))
        for when in evaluations(report):
            parts += _example_side(column(report, when), example[when], example)
    return parts


def _example_side(heading: str, side: Mapping[str, Any], example: Mapping[str, Any]) -> list[str]:
    lines = []
    if side["correct"] is not None:
        verdict = "correct" if side["correct"] else "wrong"
        said = "" if side["extracted"] is None else f", answer {inline(str(side['extracted']))}"
        lines.append(f"- {verdict}{said} (gold {inline(example['answer'])})")
    for rules, verdicts in side["verdicts"].items():
        for constraint, verdict in zip(example["constraints"], verdicts, strict=True):
            followed = "followed" if verdict["followed"] else "not followed"
            lines.append(f"- `{constraint['id']}`, rules `{rules}`: {followed}; {inline(verdict['reason'])}")
    if side["finish_reason"] != "stop":
        lines.append(f"- ended by: {side['finish_reason']}")
    title = f"**{heading.capitalize()}**"
    parts = [title + "\n\n" + "\n".join(lines)] if lines else [title]
    for part in ("reasoning", "response"):
        text = side[part] or ("(none)" if part == "reasoning" else "(nothing)")
        parts.append(f"{part.capitalize()}:\n\n{fenced(text)}")
    return parts


def _way(way: Mapping[str, Any], plots: Mapping[str, str]) -> list[str]:
    """The curve of a run and its alarms; `plots` are names of pictures by task."""
    parts = []
    for task in way["curve"][0]["estimates"] if way["curve"] else ():
        keys = [key for key in FIGURES if key in way["curve"][0]["estimates"][task]]
        rows = [
            [str(point["step"]), *(estimate_cell(point["estimates"][task].get(key), key) for key in keys)]
            for point in way["curve"]
        ]
        parts.append(f"## On the way: {inline(task)}, development items (robust rules)")
        if way["chosen"] is not None:
            parts.append(_rule(way))
        if task in plots:
            parts.append(f"![Checkpoints on development items: {inline(task)}]({plots[task]})")
        parts.append(table(["step", *(FIGURES[key][0] for key in keys)], rows))
    if way["alarms"]:
        lines = [
            f"- step {alarm['step']}, {inline(alarm['name'])}: {inline(alarm['message'])}"
            for alarm in way["alarms"]
        ]
        parts += ["## Alarms", "\n".join(lines)]
    return parts


def _rule(way: Mapping[str, Any]) -> str:
    if way["select_by"] == "last":
        return f"The last checkpoint was taken, step {way['chosen']}."
    return (
        f"Step {way['chosen']} was taken: the checkpoint with the highest {way['select_by']} on development "
        "items, the earlier one of equals. Test items had no part in it."
    )


def provenance(report: Report) -> str:
    """How the figures were obtained, as a list."""
    whens = evaluations(report)
    lines = []
    for task, config in report["after"]["configs"].items():
        sampling = config["sampling"]
        lines.append(
            f"- {inline(task)}, {config['split']} items: n = {config['items']}, "
            f"{config['samples_per_item']} sample(s) per item, temperature {sampling['temperature']}, "
            f"top-p {sampling['top_p']}, at most {sampling['max_tokens']} tokens, seed {sampling['seed']}, "
            f"rules {', '.join(config['rules'])}, items `{config['items_sha'][:12]}`"
        )
        for key, gap in report["after"]["smallest_difference"][task].items():
            if gap is None:
                continue
            n = report["after"]["estimates"][task][key]["n"]
            lines.append(
                f"- {inline(task)}, {_NAMES[key.rpartition(',')[0]]}: a comparison over {n} items shows a "
                f"difference of {100 * gap:.1f} points at 80 % power (if half of the outcomes change)"
            )
        for name in ("dataset", "data", "prompts", "instructions", "word_limits", "answer_tags"):
            if name in config:
                lines.append(f"- {inline(task)}, {name.replace('_', ' ')}: {inline(str(config[name]))}")
    for when in whens:
        engine = report[when]["engine"]
        settings = ", ".join(
            f"{name} {inline(str(engine[name]))}"
            for name in ("engine", "think", "dtype", "device", "batch_size", "weights")
            if name in engine
        )
        date = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(report[when]["date"]))
        template = str(report[when]["chat_template_sha"])[:12]
        lines.append(
            f"- {column(report, when)}: {inline(report[when]['model_name'])}, {settings}, "
            f"chat template `{template}`, {date}"
        )
    after = report["after"]
    packages = ", ".join(f"{name} {number}" for name, number in after["packages"].items())
    lines.append(
        f"- {packages}; checker {after['checker_version']}; riftk commit {after['git_hash'] or 'unknown'}"
    )
    lines.append(
        "- A difference is over the items that have the figure on both sides, which may be fewer.\n"
        "- Intervals are 95 %: Wilson's for shares of items, Newcombe's for paired shares, and a bootstrap "
        "over items for everything else; p is McNemar's exact test, adjusted by Holm within a table of parts."
    )
    return "\n".join(lines)


def _p(p_value: float) -> str:
    return "< 0.001" if p_value < 0.001 else f"{p_value:.3f}"
