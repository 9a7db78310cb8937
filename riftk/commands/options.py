"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from riftk.paths import final_model


def model_of_a_run(model: str | None) -> str | None:
    """A `--model` that is the run folder of a recipe stands for what the run trained."""
    return final_model(model) if model else model


MODEL = "Folder (of a run, a model or a LoRA adapter, which is merged), hub id, or pkg://package/path."
Model = Annotated[str, typer.Option(help=MODEL, callback=model_of_a_run)]
Out = Annotated[
    Path, typer.Option(help="Folder to write to; started again, the work goes on where it stopped.")
]
ChatTemplate = Annotated[str | None, typer.Option(help="Chat template file, instead of the tokenizer's own.")]
Temperature = Annotated[float, typer.Option(help="0 is greedy.")]
TopP = Annotated[float, typer.Option(help="Nucleus sampling.")]
MaxTokens = Annotated[int, typer.Option(help="Most tokens per completion.")]
Seed = Annotated[int, typer.Option(help="Seed of sampling and of every draw.")]
Revision = Annotated[str | None, typer.Option(help="Revision of a hub model.")]
TrustRemoteCode = Annotated[bool, typer.Option(help="Run code that comes with the model.")]
DataDir = Annotated[
    Path | None, typer.Option(help="Folder with the benchmark's file; else the hub, content checked.")
]
Limit = Annotated[int | None, typer.Option(help="Items per benchmark, in proportion over kinds and sources.")]
MaxTotalTokens = Annotated[
    int | None, typer.Option(help="Stop when this start has used so many tokens, prompts included.")
]
MaxErrorShare = Annotated[
    float, typer.Option(help="Exit status 2 where more of a task's samples are errors.")
]
RetryErrors = Annotated[
    bool, typer.Option(help="Started again, ask again for what failed; otherwise it stays an error.")
]
DryRun = Annotated[bool, typer.Option(help="Print prompts, requests and the most tokens; ask nothing.")]
PriceIn = Annotated[float | None, typer.Option(help="Price of a million prompt tokens.")]
PriceOut = Annotated[float | None, typer.Option(help="Price of a million completion tokens.")]
MaxSamples = Annotated[int, typer.Option(help="Most samples in the HTML page.")]
MaxCharacters = Annotated[int, typer.Option(help="Most characters of their texts.")]
