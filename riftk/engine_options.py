"""The engine options of the command line, in one place: `--engine` and everything that an engine takes.

A command that generates is decorated with `with_engine` and calls the `open_engine` that it receives once
its other arguments have been found good.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial, wraps
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from riftk.engines import Engine

OpenEngine = partial[AbstractContextManager["Engine"]]  # takes a model's name; the options are its keywords


def receiving(
    command: Callable[..., None],
    name: str,
    parameters: Sequence[inspect.Parameter],
    made_of: Callable[[dict[str, Any]], Any],
) -> Callable[..., None]:
    """Give a command further options; what is `made_of` their values it receives as `name`."""
    own = [p for p in inspect.signature(command, eval_str=True).parameters.values() if p.name != name]
    shown = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in (*own, *parameters)]

    @wraps(command)
    def run(**values: Any) -> None:
        given = {parameter.name: values.pop(parameter.name) for parameter in parameters}
        command(**{name: made_of(given)}, **values)

    run.__signature__ = inspect.Signature(shown)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in shown}
    return run


def with_engine(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command every engine option; in their place it receives `open_engine`, which takes a model's
    name and is a context manager over the engine."""
    _, *taken = inspect.signature(_open, eval_str=True).parameters.values()
    return receiving(command, "open_engine", taken, lambda given: partial(_open, **given))


@contextmanager
def _open(
    model: str,
    *,
    engine: Annotated[
        str, typer.Option(help="transformers, vllm, or openai (any OpenAI-compatible server).")
    ] = "transformers",
    batch_size: Annotated[
        int | None, typer.Option(help="Completions generated at once; for servers, requests in flight.")
    ] = None,
    dtype: Annotated[
        str | None, typer.Option(help="float32, bfloat16, float16; auto leaves it to the engine.")
    ] = None,
    attn_implementation: Annotated[
        str | None, typer.Option(help="Attention of transformers: sdpa, flash_attention_2, …")
    ] = None,
    tensor_parallel: Annotated[int | None, typer.Option(help="GPUs per replica (vllm).")] = None,
    data_parallel: Annotated[int | None, typer.Option(help="Replicas (vllm).")] = None,
    max_model_len: Annotated[
        int | None, typer.Option(help="Most tokens of a prompt and its completion (vllm).")
    ] = None,
    base_url: Annotated[
        list[str] | None,
        typer.Option(help="Server, e.g. http://127.0.0.1:8000/v1; several by commas, or by repeating it."),
    ] = None,
    deadline: Annotated[float | None, typer.Option(help="Seconds for one try of a request (openai).")] = None,
    retries: Annotated[int | None, typer.Option(help="Tries after the first one (openai).")] = None,
    api_key_env: Annotated[
        str | None, typer.Option(help="Environment variable with the key (openai).")
    ] = None,
    extra_body: Annotated[
        str | None, typer.Option(help='Further fields of a request, JSON: {"reasoning_effort": "low"}.')
    ] = None,
    chat_template_kwargs: Annotated[
        str | None, typer.Option(help='For the chat template, JSON: {"enable_thinking": true}.')
    ] = None,
    chat_template: Annotated[
        str | None, typer.Option(help="Chat template file, instead of the tokenizer's own.")
    ] = None,
    tokenizer: Annotated[
        str | None, typer.Option(help="Counts the tokens of a server's traces: folder or hub id (openai).")
    ] = None,
    think: Annotated[
        str | None,
        typer.Option(help="How reasoning is marked: tags, prefilled, channels, none. Given, it must come."),
    ] = None,
    revision: Annotated[str | None, typer.Option(help="Revision of a hub model.")] = None,
    trust_remote_code: Annotated[bool, typer.Option(help="Run code that comes with the model.")] = False,
) -> Iterator[Any]:
    """Open an engine with the options that were given. Ranks that a launcher started beside the first one
    work for it and end here."""
    from riftk.engines import load_engine

    options = {
        "batch_size": batch_size,
        "dtype": dtype,
        "attn_implementation": attn_implementation,
        "tensor_parallel": tensor_parallel,
        "data_parallel": data_parallel,
        "max_model_len": max_model_len,
        "base_url": [url for urls in base_url or () for url in urls.split(",")],
        "deadline": deadline,
        "retries": retries,
        "api_key_env": api_key_env,
        "extra_body": json_object("--extra-body", extra_body),
        "chat_template_kwargs": json_object("--chat-template-kwargs", chat_template_kwargs),
        "chat_template": chat_template,
        "tokenizer": tokenizer,
        "think": think,
        "revision": revision,
        "trust_remote_code": trust_remote_code or None,
    }
    given = {name: value for name, value in options.items() if value not in (None, [])}
    opened = load_engine(engine, model=model, **given)
    try:
        if engine == "transformers" and opened.ranks.rank:
            opened.follow()
            raise typer.Exit
        yield opened
    finally:
        opened.close()


def json_object(option: str, text: str | None) -> dict[str, Any] | None:
    """A JSON object from the command line. Raises `ValueError` where it is none."""
    if text is None:
        return None
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"{option} is not JSON ({error})") from None
    if not isinstance(value, dict):
        raise ValueError(f"{option} takes a JSON object, found {type(value).__name__}")
    return value
