"""The dataset card: what is in it, how it was made, what was rejected, and what following it teaches."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

from riftk.constraints import CHECKER_VERSION
from riftk.statistics import proportion

from .config import SynthConfig
from .controls import DESCRIPTIONS
from .spending import usage_lines
from .verification import BOOKS

CARD = "README.md"
_SHOWN = 600  # characters of an example
_MATCHES = 20
# Settings that a reader of the card wants to see; all of them stand in config.yaml.
_TOLD = (
    "problems", "num_rows", "num_constraints", "plain_share", "response_share", "style", "recipe", "control",
    "sample_with_instruction", "require_correct", "attempts", "temperature", "top_p", "max_tokens",
    "word_share", "calibrated_limits", "paraphrases", "llm", "llm_words", "llm_tries", "decontaminate",
    "rule_talk", "trace_language", "trace_words", "balance", "seed",
)  # fmt: skip


@dataclass
class Followed:
    """How many of `n` kept rows follow their instruction, by (moment, book): ("before", "robust") …"""

    n: int = 0
    counts: dict[tuple[str, str], int] = field(default_factory=dict)


@dataclass
class Findings:
    """What is noted of outcomes for the card, in memory that does not grow with their number.

    Args:
        followed: instruction-following scores of the kept rows' traces, by constraint.
        examples: the first row of each constraint.
        matches: the first problems that repeat a benchmark's question.
        words: of a control, the words of all traces that were exchanged: as sampled, as rewritten, as they
            are.
        exchanged: how many these are.
    """

    followed: dict[str, Followed] = field(default_factory=dict)
    examples: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    matches: list[str] = field(default_factory=list)
    words: tuple[int, int, int] = (0, 0, 0)
    exchanged: int = 0

    def add(self, outcome: Mapping[str, Any], kept: bool) -> None:
        """Note an outcome; `kept` says whether its row, if it has one, is in the dataset."""
        if outcome["stage"] == "seed" and len(self.matches) < _MATCHES:
            self.matches.append(outcome["detail"])
        if kept and "words" in outcome:
            sampled, rewritten, now = map(sum, zip(self.words, outcome["words"], strict=True))
            self.words, self.exchanged = (sampled, rewritten, now), self.exchanged + 1
        if outcome["row"] is None or not kept or not outcome["ifs"]:
            return
        kind = outcome["constraint"]
        counted = self.followed.setdefault(kind, Followed())
        counted.n += 1
        for moment, books in outcome["ifs"].items():
            for book, follows in books.items():
                key = (moment, book)
                counted.counts[key] = counted.counts.get(key, 0) + follows
        self.examples.setdefault(kind, outcome["row"])


def write_card(
    config: SynthConfig, yields: str, findings: Findings, usage: Mapping[str, Any], rows: int, out: Path
) -> None:
    """Write the card of a dataset.

    Args:
        config: what it is made from.
        yields: the yield table.
        findings: noted while it was written.
        usage: requests and tokens.
        rows: how many it has.
        out: its folder.
    """
    lines = [*_front_matter(config), *_head(config, rows, out), "", "## Yields", "", yields]
    lines += ["", "## Instruction following, before and after", "", *_ifs(findings), *_lengths(findings)]
    lines += ["", "## Overlap with benchmarks", "", *_overlap(config, findings)]
    lines += ["", "## How it was made", "", *_settings(config), "", *usage_lines(usage)]
    lines += ["", "## Examples", *_examples(findings)]
    (out / CARD).write_text("\n".join(lines) + "\n", encoding="utf-8")


def _front_matter(config: SynthConfig) -> list[str]:
    files = [("default", "dataset.jsonl"), ("rl", "rl.jsonl")]
    files += [(f"sft_{family}", f"sft/{family}.jsonl") for family in config.sft]
    lines = ["---", "tags: [reasoning, instruction-following, synthetic, riftk]", "configs:"]
    for name, path in files:
        lines += [f"- config_name: {name}", f"  data_files: {path}"]
    return [*lines, "---"]


def _head(config: SynthConfig, rows: int, out: Path) -> list[str]:
    followed = "follow their instruction under its published rules and under riftk's robust ones"
    if config.is_paper:
        followed = "were rewritten as the published set was, and not verified"
    if config.is_control:
        followed = (
            f"are a control (`{config.control}`): {DESCRIPTIONS[config.control]}. They are the rows that a "
            "run without a control accepts, exchanged afterwards, and *not verified to follow* their "
            "instruction; those without an instruction about the reasoning are as they were"
        )
    return [
        "# Reasoning that follows its instructions",
        "",
        f"{rows:,} rows of problems from `{config.problems}`, with traces that {followed}. Made by riftk "
        f"{version('riftk')}, checker version {CHECKER_VERSION}.",
        "",
        "| file | for |",
        "|---|---|",
        "| `dataset.jsonl`, `dataset.parquet` | `prompt`, `reasoning` and `response` apart, gold `answer`, "
        "`constraints`, provenance (`synth`) |",
        "| `sft/*.jsonl` | supervised finetuning, the trace where a family of chat templates keeps it |",
        "| `rl.jsonl` | reinforcement learning: prompts, gold answers, constraints |",
    ]


def _lengths(findings: Findings) -> list[str]:
    """How long the traces of a control are, beside those of a normal run."""
    if not findings.exchanged:
        return []
    sampled, rewritten, now = (total / findings.exchanged for total in findings.words)
    return [
        "",
        f"Mean words of the {findings.exchanged:,} traces that were exchanged: {sampled:.1f} as sampled, "
        f"{rewritten:.1f} as a normal run rewrites them, {now:.1f} here.",
    ]


def _ifs(findings: Findings) -> list[str]:
    """The table that ReasonIF's Table 7 is for its own set."""
    if not findings.followed:
        return ["No row has an instruction."]
    lines = [
        "Share of the kept rows whose trace follows, as it was sampled and as it is (95 % interval: Wilson).",
        "",
        "| constraint | n | before, published | after, published | before, robust | after, robust |",
        "|---|---|---|---|---|---|",
    ]
    for kind, counted in sorted(findings.followed.items()):
        cells = []
        for book in BOOKS:
            for moment in ("before", "after"):
                share = proportion(counted.counts[moment, book], counted.n)
                cells.append(f"{share.value:.3f} [{share.low:.3f}, {share.high:.3f}]")
        lines.append(f"| {kind} | {counted.n} | {' | '.join(cells)} |")
    return lines


def _overlap(config: SynthConfig, findings: Findings) -> list[str]:
    if not config.decontaminate:
        return ["Not looked for: no benchmark was named (`decontaminate`)."]
    names = ", ".join(config.decontaminate)
    if not findings.matches:
        return [f"No problem repeats a question of {names}."]
    shown = [f"- {match}" for match in findings.matches]
    return [f"Problems that repeat a question of {names} were left out. The first of them:", "", *shown]


def _settings(config: SynthConfig) -> list[str]:
    settings = config.to_dict()
    lines = ["| setting | value |", "|---|---|"]
    return lines + [f"| {name} | `{json.dumps(settings[name], ensure_ascii=False)}` |" for name in _TOLD]


def _examples(findings: Findings) -> Iterator[str]:
    for kind, row in sorted(findings.examples.items()):
        prompt = row["prompt"][-1]["content"]
        yield from ("", f"### {kind}", "", "```text", _short(prompt), "--- reasoning")
        yield from (_short(row["reasoning"]), "--- response", _short(row["response"]), "```")


def _short(text: str) -> str:
    """The beginning and the end of a text, as it may stand in a fenced block."""
    if len(text) > _SHOWN:
        text = f"{text[: _SHOWN * 2 // 3]} […] {text[-_SHOWN // 3 :]}"
    return text.replace("```", "'''")
