"""Word limits of ReasonIF: one for each model, reasoning effort and source.

The published limits are the 20th percentile of the words that a model's own traces have (ReasonIF, section 3
and Appendix A), so limits of another model ask for something else: a reasoning effort alone moves them
fifteenfold. `riftk calibrate` measures them. A trained model keeps the limits of the model that it was
trained from; otherwise training that shortens traces would be asked for more, and before and after could not
be compared.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FILE = "limits.json"
DATASET = "dataset"
# Settings of a request or a chat template that change how long a model thinks.
_EFFORT = ("reasoning_effort", "reasoning", "effort", "enable_thinking", "thinking", "thinking_budget")


@dataclass(frozen=True)
class WordLimits:
    """Limits by source.

    Args:
        model: whose traces were measured.
        by_source: most words + 1 ("less than N words"), for each source.
        effort: settings that the model thought under, see `effort_of`; None where they are not known.
        how: where the limits come from, for the results.
    """

    model: str
    by_source: Mapping[str, int]
    effort: Mapping[str, Any] | None
    how: str

    def of(self, source: str) -> int:
        """The limit of a source. Raises `ValueError` where there is none."""
        if source not in self.by_source:
            known = ", ".join(sorted(self.by_source))
            raise ValueError(f"{self.how} has no word limit for {source!r}, only for {known}")
        return self.by_source[source]

    def check_effort(self, description: Mapping[str, str]) -> None:
        """Raise `ValueError` where an engine (`Engine.describe`) thinks under other settings."""
        now = effort_of(description)
        if self.effort is not None and self.effort != now:
            raise ValueError(
                f"{self.how} was measured with {_said(self.effort)}, and this run has {_said(now)}; "
                "measure again with riftk calibrate under the same settings"
            )

    def __str__(self) -> str:
        figures = ", ".join(f"{source} {limit}" for source, limit in sorted(self.by_source.items()))
        return f"{self.how} ({figures})"


def read_limits(value: str | Path | WordLimits) -> WordLimits | None:
    """Read what `--limits` takes.

    Args:
        value: "dataset" for the limits in the data set's rows; a file that `riftk calibrate` wrote, or the
            folder that it wrote to; `FILE:MODEL` for a table of limits by model, as ReasonIF publishes one.

    Returns:
        The limits, None for those of the data set.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: a file that holds no limits, or none of that model.
    """
    if isinstance(value, WordLimits):
        return value
    if str(value) == DATASET:
        return None
    path, model = Path(value), ""
    if not path.exists() and ":" in str(value):
        name, _, model = str(value).rpartition(":")
        path = Path(name)
    path = path / FILE if path.is_dir() else path
    if not path.is_file():
        raise FileNotFoundError(
            f"there are no word limits at {value}; measure them with riftk calibrate, or say --limits dataset"
        )
    content = json.loads(path.read_text(encoding="utf-8"))
    if model:
        if model not in content:
            raise ValueError(f"{path} has no limits of {model!r}; it has those of {', '.join(content)}")
        return WordLimits(model, content[model], None, f"limits of {model} in {path.name}")
    if not isinstance(content.get("limits"), Mapping):
        raise ValueError(
            f"{path} was not written by riftk calibrate; a table of models is read as FILE:MODEL"
        )
    effort = content["effort"]
    how = f"{content['percentile']}th percentile of the traces of {content['model']}, {_said(effort)}"
    return WordLimits(content["model"], content["limits"], effort, how)


def base_of(model: str | Path) -> tuple[str, Path | None] | None:
    """The model that a checkpoint of a run of riftk, or a LoRA adapter, was trained from, and the run folder
    where it is known; None for any other model."""
    folder = Path(model).resolve()
    if not folder.is_dir():
        return None
    for parent in folder.parents:
        config = parent / "config.yaml"
        made_here = folder.relative_to(parent).parts[0] in ("final", "checkpoints")
        if made_here and config.is_file() and (base := _base_in(config)):
            return base, parent
    adapter = folder / "adapter_config.json"
    if adapter.is_file():
        base = json.loads(adapter.read_text(encoding="utf-8")).get("base_model_name_or_path")
        return (base, None) if base else None
    return None


def inherited_limits(model: str | Path) -> Path | None:
    """The limits that the run of a checkpoint was made with, which it keeps; None where there are none."""
    while found := base_of(model):
        model, run = found
        if run is not None and (run / FILE).is_file():
            return run / FILE
        if run is not None and (run / "limits" / FILE).is_file():
            return run / "limits" / FILE
    return None


def effort_of(description: Mapping[str, str]) -> dict[str, Any]:
    """The settings of an engine that change how long a model thinks."""
    settings: dict[str, Any] = {}
    for name in ("chat_template_kwargs", "extra_body"):
        given = json.loads(description.get(name) or "{}")
        settings |= given.pop("chat_template_kwargs", {}) | given
    return {name: settings[name] for name in _EFFORT if name in settings}


def _said(effort: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in effort.items()) or "no setting of the effort"


def _base_in(config: Path) -> str | None:
    import yaml

    content = yaml.safe_load(config.read_text(encoding="utf-8"))
    return content.get("model_name_or_path") if isinstance(content, Mapping) else None
