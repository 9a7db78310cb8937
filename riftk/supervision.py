"""Supervised rows: which tokens of a conversation carry loss, made explicit, checked and shown.

A row is tokenised here and nowhere else; trl's SFTTrainer takes `input_ids` and `labels` as they are. So
the loss mask does not depend on generation markers in a template, on a trainer's flags, or on how a trainer
guesses where the completion starts. What the template does to the message is checked on every row.

Known faults that this guards against: traces that a template drops, doubled think blocks, turns without a
trained end (huggingface/trl#5988), rows that truncation leaves without a trained token
(huggingface/trl#6025).
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from riftk.completions import (
    generation_prompt,
    opens_trace,
    render_reasoning,
    response_start,
    split_completion,
    turn_end_ids,
    turn_tail,
)

LOSS_ON = ("reasoning", "response", "both")
IGNORED = -100  # label of a token without loss, torch's ignore_index


def tokenize_row(
    tokenizer: Any,
    prompt: Sequence[Mapping[str, Any]],
    message: Mapping[str, Any],
    *,
    loss_on: str,
    max_length: int | None = None,
) -> dict[str, list[int]]:
    """Tokenise a prompt and its assistant message, with loss on the chosen part of the message.

    The ids begin with exactly those of the generation prompt and end with the token that ends the turn
    (what a template renders after it, e.g. a newline, is left out). That last token is always trained,
    whatever `loss_on` is. "reasoning" trains everything before the response: the trace and the markers
    which the model must write around it. "response" trains the rest.

    Args:
        tokenizer: a fast tokenizer with a chat template.
        prompt: chat messages up to the answer.
        message: the assistant message, from `riftk.completions.render_reasoning` where there is a trace.
        loss_on: "reasoning", "response" or "both".
        max_length: right truncation, in tokens.

    Returns:
        `input_ids` and `labels`, equally long; labels are -100 where there is no loss.

    Raises:
        ValueError: unknown `loss_on`, a tokenizer without chat template or offsets, or a template that
            drops the trace of this message, renders the prompt differently with it, doubles the think block
            or ends the turn without a special token.
    """
    if loss_on not in LOSS_ON:
        raise ValueError(f"loss_on must be one of {', '.join(LOSS_ON)}, not {loss_on!r}")
    if not tokenizer.is_fast:
        raise ValueError("this tokenizer is slow; only a fast one tells which tokens belong to the reasoning")
    messages = [dict(turn) for turn in prompt]
    start = generation_prompt(tokenizer, messages)
    text = tokenizer.apply_chat_template([*messages, dict(message)], tokenize=False)
    if not text.startswith(start):
        raise ValueError(
            "the chat template renders the prompt differently once an answer follows, so the model would be "
            "trained on a context that it never sees; build the message with render_reasoning"
        )
    turn = text[len(start) :]
    prompt_ids, ids, offsets = _tokens(tokenizer, start, turn)
    end = _turn_end(tokenizer, ids, offsets, len(turn) - len(turn_tail(tokenizer)))
    turn = turn[: offsets[end][0]]
    think = "prefilled" if opens_trace(start) else None
    _check_turn(message, turn, think)
    boundary = response_start(turn, think)
    labels = [IGNORED] * len(prompt_ids)
    for index, token in enumerate(ids[: end + 1]):
        in_reasoning = offsets[index][0] < boundary
        trained = loss_on == "both" or index == end or in_reasoning == (loss_on == "reasoning")
        labels.append(token if trained else IGNORED)
    return {"input_ids": (prompt_ids + ids[: end + 1])[:max_length], "labels": labels[:max_length]}


def check_template(tokenizer: Any) -> None:
    """Make sure, before anything is sampled or trained, that rows with a trace can be made.

    Raises:
        ValueError: the chat template keeps a trace in no form, or see `tokenize_row`.
    """
    message = render_reasoning(tokenizer, "3 and 4 are 7.", "The sum is 7.")
    tokenize_row(tokenizer, [{"role": "user", "content": "What is 3 + 4?"}], message, loss_on="both")


@dataclass(frozen=True)
class Supervision:
    """Counts over tokenised rows.

    Args:
        rows: number of rows.
        tokens: tokens in them.
        trained: tokens with loss.
        truncated: rows that end before the end of the turn, so that the model is not taught to stop by them.
        untrained: rows without loss on anything but the end of the turn.
    """

    rows: int
    tokens: int
    trained: int
    truncated: int
    untrained: int

    def __str__(self) -> str:
        share = self.trained / self.tokens if self.tokens else 0.0
        return (
            f"{self.rows} rows, {self.tokens} tokens, {self.trained} of them trained ({share:.0%}); "
            f"{self.truncated} rows cut off before their end, {self.untrained} without a trained token"
        )


def check_supervision(
    tokenizer: Any, rows: Iterable[Mapping[str, Sequence[int]]], *, max_share: float = 0.05
) -> Supervision:
    """Count what is trained, and refuse a data set that would silently teach nothing.

    Args:
        tokenizer: tokenizer of the rows.
        rows: `input_ids` and `labels`, as from `tokenize_row`.
        max_share: share of rows that may be cut off, or be without a trained token. Rows without a trained
            token give a loss of 0 or nan; `is_trained` tells which to drop.

    Raises:
        ValueError: there are no rows, or a share is above `max_share`.
    """
    ends = turn_end_ids(tokenizer)
    total = tokens = trained = truncated = untrained = 0
    for row in rows:
        total += 1
        tokens += len(row["input_ids"])
        trained += sum(label != IGNORED for label in row["labels"])
        truncated += row["labels"][-1] not in ends
        untrained += not is_trained(row, ends)
    counts = Supervision(total, tokens, trained, truncated, untrained)
    if not total:
        raise ValueError("there is no row to train on")
    if untrained > max_share * total:
        raise ValueError(
            f"{untrained} of {total} rows have no trained token: their prompts alone fill max_length, or "
            "loss_on asks for a part that they do not have; raise max_length or drop these rows"
        )
    if truncated > max_share * total:
        raise ValueError(
            f"{truncated} of {total} rows are cut off before the end of the turn, so the model would not "
            "learn to stop; raise max_length or drop the longest rows"
        )
    return counts


def is_trained(row: Mapping[str, Sequence[int]], ends: Container[int] = ()) -> bool:
    """Whether a row carries loss on anything but a last token that is one of `ends` (see `turn_end_ids`)."""
    labels = row["labels"]
    content = labels[:-1] if labels and labels[-1] in ends else labels
    return any(label != IGNORED for label in content)


def show_supervision(tokenizer: Any, row: Mapping[str, Sequence[int]]) -> str:
    """One row as text for a terminal: tokens that carry loss in green, the others dimmed (ANSI colours)."""
    from io import StringIO

    from rich.console import Console
    from rich.text import Text

    states = [label != IGNORED for label in row["labels"]]
    shown = Text()
    start = 0
    for index in range(1, len(states) + 1):
        if index == len(states) or states[index] != states[start]:
            style = "bold green" if states[start] else "dim"
            shown.append(tokenizer.decode(row["input_ids"][start:index]), style=style)
            start = index
    heading = Text(f"{sum(states)} of {len(states)} tokens carry loss: ")
    heading.append("trained", style="bold green").append(", ").append("not trained", style="dim")
    out = StringIO()
    console = Console(file=out, force_terminal=True, color_system="standard", highlight=False)
    console.print(heading)
    console.print(shown, soft_wrap=True)
    return out.getvalue()


def _tokens(tokenizer: Any, start: str, turn: str) -> tuple[list[int], list[int], list[tuple[int, int]]]:
    """Ids of the prompt `start`, ids of the assistant's `turn`, and the latter's offsets in `turn`.

    The whole conversation is tokenised at once. Only where a token merges across the end of the prompt (a
    model that generates can write no such token) the turn is tokenised by itself.
    """
    prompt_ids = tokenizer(start, add_special_tokens=False)["input_ids"]
    count = len(prompt_ids)
    whole = tokenizer(start + turn, add_special_tokens=False, return_offsets_mapping=True)
    if whole["input_ids"][:count] == prompt_ids:
        offsets = [(a - len(start), b - len(start)) for a, b in whole["offset_mapping"][count:]]
        return prompt_ids, whole["input_ids"][count:], offsets
    alone = tokenizer(turn, add_special_tokens=False, return_offsets_mapping=True)
    return prompt_ids, alone["input_ids"], alone["offset_mapping"]


def _turn_end(tokenizer: Any, ids: list[int], offsets: list[tuple[int, int]], answer_end: int) -> int:
    """Index of the token that ends the turn: EOS behind the answer, else the first special token there."""
    behind = [index for index, offset in enumerate(offsets) if offset[0] >= answer_end]
    for ends in ({tokenizer.eos_token_id}, turn_end_ids(tokenizer)):
        for index in behind:
            if ids[index] in ends:
                return index
    raise ValueError(
        "the chat template ends the assistant's turn without a special token, so the model would never learn "
        "to stop; let the template end it with the EOS token"
    )


def _check_turn(message: Mapping[str, Any], turn: str, think: str | None) -> None:
    """The rendered turn holds the message's own trace and answer, with one think block at most."""
    given = message.get("reasoning_content") or message.get("thinking") or message.get("reasoning")
    wanted = split_completion(message.get("content"), reasoning_content=given)
    rendered = split_completion(turn, think=think)
    if (rendered.reasoning, rendered.response) != (wanted.reasoning, wanted.response):
        raise ValueError(
            "the chat template does not keep this message's reasoning and answer as they are; build the "
            "message with riftk.completions.render_reasoning, which finds the form that the template keeps"
        )
    if rendered.blocks > max(1, wanted.blocks):
        raise ValueError(
            f"the rendered turn holds {rendered.blocks} think blocks where one is meant; build the message "
            "with riftk.completions.render_reasoning"
        )
