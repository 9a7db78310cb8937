"""Generation by any server that speaks OpenAI's chat completions: vLLM, SGLang, llama.cpp, hosted models."""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from riftk.engines.answers import BadAnswer, read_answer
from riftk.engines.base import NO_THINKING, Generation, Request, Sampling, check_keys, never
from riftk.engines.batching import request_seed
from riftk.engines.closed_set import chosen, label_ids, listed_labels
from riftk.engines.concurrent import Background
from riftk.engines.endpoints import Endpoint, Endpoints, public_url
from riftk.engines.local import check_think, load_tokenizer, template_sha
from riftk.engines.probe import MAX_TOKENS, QUESTION, found_reasoning
from riftk.engines.progress import progress

_DEFAULT_URL = "https://api.openai.com/v1"
_SECONDS_TO_CONNECT = 10.0
_MOST_SECONDS_BETWEEN_TRIES = 60.0
_RETRIES_OF_A_PROBE = 3
_PASSING_STATUSES = (408, 409, 425, 429)  # and all from 500 on
_LISTED = (20, 5)  # first tokens to list with their probability; some servers list fewer
_STATUSES_OF_ONE_SERVER = (401, 403, 404)  # another one may have the model, and take the key


class _Failure(Exception):
    """A try that failed for good, e.g. because the server refuses the request."""


class _PassingFailure(_Failure):
    """A try that failed and is worth another one. `pause`: seconds that the server asks to wait."""

    def __init__(self, message: str, pause: float = 0.0) -> None:
        super().__init__(message)
        self.pause = pause


class OpenAIEngine:
    """Chat completions of one or several servers, many at once.

    A try that meets 429, 5xx, a timeout, a cut connection, nonsense or no choices is repeated with growing,
    random pauses, on the next server where there are several; after the last one the generation has the
    finish reason "error". Keys come from the environment and are neither printed nor stored.

    Args:
        model: the name under which the server serves it.
        base_url: where it listens, e.g. "http://127.0.0.1:8000/v1"; several share the requests. None takes
            `OPENAI_BASE_URL`, or OpenAI itself.
        batch_size: most requests in flight.
        deadline: seconds that one try may take.
        retries: tries after the first one.
        backoff: seconds of the first pause at most; it doubles with each try, up to a minute.
        chat_template_kwargs: for the server's chat template, e.g. {"enable_thinking": true}.
        extra_body: further fields of the request, e.g. {"reasoning_effort": "low"}; recorded with the run.
        think: how the model marks its reasoning; where it is given, `probe` refuses a server that delivers
            none. None reads it from the text alone, or from the answer's own field.
        api_key_env: environment variable that holds the key; servers of one's own need none.
        tokenizer: folder or hub id, to count the tokens of traces with; None counts none.

    Raises:
        ValueError: an option makes no sense.
    """

    name = "openai"
    batched = False
    closed_set = True  # where the server lists first tokens; asked before the first such request

    def __init__(
        self,
        model: str,
        *,
        base_url: str | Sequence[str] | None = None,
        batch_size: int = 64,
        deadline: float = 1800.0,
        retries: int = 8,
        backoff: float = 1.0,
        chat_template_kwargs: Mapping[str, Any] | None = None,
        extra_body: Mapping[str, Any] | None = None,
        think: str | None = None,
        api_key_env: str = "OPENAI_API_KEY",
        tokenizer: str | None = None,
    ) -> None:
        if batch_size < 1 or deadline <= 0 or retries < 0 or backoff < 0:
            raise ValueError("batch_size and deadline must be positive, retries and backoff not negative")
        check_think(think)
        urls = [base_url] if isinstance(base_url, str) else list(base_url or ())
        self._urls = urls or [os.environ.get("OPENAI_BASE_URL") or _DEFAULT_URL]
        for url in self._urls:
            if not url.startswith(("http://", "https://")):
                raise ValueError(f"base_url {url!r} must begin with http:// or https://")
        self.model, self.think = model, think
        self.think_off = None if think == "prefilled" else think  # the prompt then opens no trace
        self._key = os.environ.get(api_key_env) or "none"
        self._batch_size, self._deadline = batch_size, deadline
        self._retries, self._backoff = retries, backoff
        self._body = dict(extra_body or {})
        if chat_template_kwargs:
            self._body["chat_template_kwargs"] = dict(chat_template_kwargs)
        self._tokenizer = load_tokenizer(tokenizer) if tokenizer else None
        self._limit_field = "max_tokens"
        self._takes_template_kwargs = True
        self._continues: bool | None = None
        self._listed = 0
        self._background: Background | None = None
        self._endpoints = Endpoints([])

    def generate(
        self,
        requests: Sequence[Request],
        sampling: Sampling,
        done: frozenset[str] = frozenset(),
        until: Callable[[], bool] = never,
    ) -> Iterator[tuple[str, Generation]]:
        """See `riftk.engines.base.Engine.generate`. The order is the one in which the server finishes.

        Raises:
            ValueError: two requests share a key, or one has a prefix and the server cannot continue it.
        """
        check_keys(requests)
        waiting = [request for request in requests if request.key not in done]
        if not waiting:
            return
        if any(request.prefix for request in waiting):
            self._check_that_it_continues()
        if any(request.labels for request in waiting):
            self._check_that_it_lists_tokens()

        async def answer(request: Request) -> tuple[str, Generation]:
            return request.key, await self._complete(request, sampling)

        tokens, began = 0, time.monotonic()
        with progress(f"generating with {self.model}", len(requests), len(requests) - len(waiting)) as step:
            for key, generation in self._run().each(answer, waiting, self._batch_size, until):
                tokens += generation.completion_tokens or 0
                step(1, f"{tokens / (time.monotonic() - began):,.0f} tokens/s")
                yield key, generation

    def probe(self) -> dict[str, str]:
        """See `riftk.engines.base.Engine.probe`; also whether n > 1, logprobs and usage come.

        Raises:
            ValueError: no server answers, it refuses the request, or no reasoning where it is expected.
        """
        plain = _question(QUESTION, MAX_TOKENS)
        try:
            try:
                answer, generation = self._ask(plain | {"n": 2, "logprobs": True})
            except _PassingFailure:
                raise
            except _Failure:  # it may refuse just these two
                answer, generation = self._ask(plain)
        except _Failure as error:
            raise ValueError(f"{', '.join(map(public_url, self._urls))}: {error}") from None
        choices = answer.choices
        return {
            "reasoning": found_reasoning(generation, self.think, self.think),
            "finish_reason": generation.finish_reason,
            "n": "works" if len(choices) == 2 else "does not work",
            "logprobs": "work" if getattr(choices[0], "logprobs", None) else "do not work",
            "usage": "reported" if generation.completion_tokens is not None else "not reported",
        }

    def count_tokens(self, text: str) -> int | None:
        """Number of tokens of a text where a tokenizer was named, else None."""
        if self._tokenizer is None:
            return None
        return len(self._tokenizer(text, add_special_tokens=False).input_ids)

    def describe(self) -> dict[str, str]:
        """Settings that a result depends on, as text."""
        template = {"chat_template_sha": template_sha(self._tokenizer)} if self._tokenizer else {}
        return template | {
            "engine": self.name,
            "model": self.model,
            "base_url": ", ".join(map(public_url, self._urls)),
            "think": str(self.think),
            "extra_body": json.dumps(self._body, sort_keys=True),
            "concurrency": str(self._batch_size),
        }

    def close(self) -> None:
        """Close the connections."""
        if self._background is not None:
            for endpoint in self._endpoints:
                self._background.run(endpoint.client.close())
            self._background.close()
            self._background, self._endpoints = None, Endpoints([])

    def _run(self) -> Background:
        """The event loop, with a client for each server; started on first use."""
        if self._background is None:
            from openai import AsyncOpenAI, Timeout

            timeout = Timeout(self._deadline, connect=min(_SECONDS_TO_CONNECT, self._deadline))
            self._background = Background()
            self._endpoints = Endpoints(
                [
                    Endpoint(AsyncOpenAI(api_key=self._key, base_url=url, max_retries=0, timeout=timeout))
                    for url in self._urls
                ]
            )
        return self._background

    async def _complete(self, request: Request, sampling: Sampling) -> Generation:
        """One request with all its tries."""
        limit = 1 if request.labels else sampling.limit(request)
        if limit < 1:
            return Generation("", "length", completion_tokens=0)
        payload: dict[str, Any] = {
            "messages": [dict(message) for message in request.messages],
            "temperature": sampling.temperature,
            "top_p": sampling.top_p,
            "seed": request_seed(sampling.seed, request.key),
            "max_tokens": limit,
            "thinking": request.thinking,
        }
        if request.prefix:
            payload |= _continuing(payload["messages"], request.prefix)
        try:
            if request.labels:
                return await self._choose(request, payload)
            _, generation = await self._try(payload, self._retries)
        except _PassingFailure as error:
            return Generation("", "error", error=f"{error} (tried {self._retries + 1} times)")
        except _Failure as error:
            return Generation("", "error", error=str(error))
        return generation

    async def _choose(self, request: Request, payload: Mapping[str, Any]) -> Generation:
        """Choose among a request's labels by the first tokens that the server lists. Where none of them is
        listed, and the tokenizer is known, they are raised above all other tokens.

        Raises:
            _Failure: see `_try`.
        """
        payload = {**payload, "temperature": 0.0, "logprobs": True, "top_logprobs": self._listed}
        answer, generation = await self._try(payload, self._retries)
        logprobs = listed_labels(_first_tokens(answer), request.labels)
        if logprobs:
            return chosen(logprobs, generation.prompt_tokens)
        if self._tokenizer is not None:
            bias = dict.fromkeys(self._label_ids(request).values(), 100)
            answer, generation = await self._try({**payload, "logit_bias": bias}, self._retries)
            raised = listed_labels(_first_tokens(answer)[:1], request.labels)
            if raised:  # their probabilities are not those of the prompt
                return chosen({}, generation.prompt_tokens, label=next(iter(raised)))
        advice = "" if self._tokenizer else "; name its --tokenizer, and their tokens can be raised"
        raise _Failure(
            f"none of {', '.join(request.labels)} is among the {self._listed} first tokens that the server "
            f"lists{advice}"
        )

    def _label_ids(self, request: Request) -> dict[str, int]:
        messages = [dict(message) for message in request.messages]
        prompt = self._tokenizer.apply_chat_template(
            messages, add_generation_prompt=True, tokenize=False, **NO_THINKING
        )
        return label_ids(self._tokenizer, prompt, request.labels)

    def _ask(self, payload: dict[str, Any]) -> tuple[Any, Generation]:
        """Ask a question of the engine's own, with few tries."""
        return self._run().run(self._try(payload, min(self._retries, _RETRIES_OF_A_PROBE)))

    async def _try(self, payload: dict[str, Any], retries: int) -> tuple[Any, Generation]:
        """Ask until an answer can be read: the client's object and what it says.

        Raises:
            _Failure: the last try failed, or the server refuses.
        """
        import tenacity

        backoff = tenacity.wait_random_exponential(multiplier=self._backoff, max=_MOST_SECONDS_BETWEEN_TRIES)

        def pause(state: Any) -> float:
            return max(backoff(state), state.outcome.exception().pause)

        tries = tenacity.AsyncRetrying(
            retry=tenacity.retry_if_exception_type(_PassingFailure),
            stop=tenacity.stop_after_attempt(retries + 1),
            wait=pause,
            reraise=True,
        )
        return await tries(self._try_once, payload)

    async def _try_once(self, payload: dict[str, Any]) -> tuple[Any, Generation]:
        import openai

        endpoint = self._endpoints.pick()
        limit = {self._limit_field: payload["max_tokens"]}
        own = ("max_tokens", "extra_body", "thinking")
        fields = {name: value for name, value in payload.items() if name not in own}
        body = self._body | payload.get("extra_body", {})
        switched = payload.get("thinking") is False and self._takes_template_kwargs
        if switched:
            body["chat_template_kwargs"] = body.get("chat_template_kwargs", {}) | NO_THINKING
        try:
            async with asyncio.timeout(self._deadline):
                answer = await endpoint.client.chat.completions.create(
                    model=self.model, extra_body=body, **limit, **fields
                )
            generation = read_answer(answer)
        except (TimeoutError, openai.APITimeoutError):
            failure = _PassingFailure(f"no answer within {self._deadline:g} s")
        except openai.APIConnectionError as error:
            failure = _PassingFailure(f"no connection, or it was cut ({error.__cause__ or error})")
        except openai.APIStatusError as error:
            said = f"the server answered {error.status_code}: {self._without_key(error.message)[:300]}"
            if "max_completion_tokens" in said and "max_tokens" in limit:
                self._limit_field = "max_completion_tokens"  # OpenAI's own reasoning models
                raise _PassingFailure(said) from None
            if switched and "chat_template_kwargs" in said:
                self._takes_template_kwargs = False  # a server whose models know no such switch
                raise _PassingFailure(said) from None
            others = len(self._urls) > 1 and error.status_code in _STATUSES_OF_ONE_SERVER
            if error.status_code < 500 and error.status_code not in _PASSING_STATUSES and not others:
                raise _Failure(said) from None
            failure = _PassingFailure(said, _retry_after(error.response.headers))
        except (BadAnswer, json.JSONDecodeError, openai.APIResponseValidationError) as error:
            failure = _PassingFailure(str(error))
        else:
            endpoint.answered()
            return answer, generation
        endpoint.failed()
        raise failure from None

    def _without_key(self, text: str) -> str:
        return text if self._key == "none" else text.replace(self._key, "***")

    def _check_that_it_continues(self) -> None:
        """Whether the server continues an assistant message. One that knows the field renders the message
        without an end of turn, so that the same conversation has fewer prompt tokens with it than without.

        Raises:
            ValueError: it does not, or reports no usage to tell by.
        """
        if self._continues is None:
            question, prefix = _question("Count to ten.", 1), "One, two, three,"
            plain = question | {"messages": [*question["messages"], {"role": "assistant", "content": prefix}]}
            try:
                counts = [
                    self._ask(asked)[1].prompt_tokens
                    for asked in (question | _continuing(question["messages"], prefix), plain)
                ]
            except _Failure as error:
                raise ValueError(f"the server does not continue an assistant message: {error}") from None
            self._continues = None not in counts and counts[0] < counts[1]
        if not self._continues:
            raise ValueError(
                "the server does not continue an assistant message (continue_final_message); budget forcing, "
                "repeated instructions and probes need a server that does, such as vLLM, or another --engine"
            )

    def _check_that_it_lists_tokens(self) -> None:
        """How many first tokens the server lists with their probabilities.

        Raises:
            ValueError: none.
        """
        for most in _LISTED if not self._listed else ():
            try:
                answer, _ = self._ask(_question("Say yes.", 1) | {"logprobs": True, "top_logprobs": most})
            except _PassingFailure as error:
                raise ValueError(f"{', '.join(map(public_url, self._urls))}: {error}") from None
            except _Failure:  # it may refuse so many
                continue
            if _first_tokens(answer):
                self._listed = most
                return
        if not self._listed:
            raise ValueError(
                "the server lists no first tokens with their probabilities (logprobs, top_logprobs), which a "
                "closed set needs; take decode=generate, or another --engine"
            )


def _first_tokens(answer: Any) -> list[tuple[str, float]]:
    """The candidates for the first token of an answer, the one that was drawn first; none where the server
    gives none."""
    content = getattr(getattr(answer.choices[0], "logprobs", None), "content", None) or []
    if not content:
        return []
    candidates = [content[0], *(getattr(content[0], "top_logprobs", None) or [])]
    return [(one.token, one.logprob) for one in candidates]


def _question(text: str, max_tokens: int) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": text}], "max_tokens": max_tokens}


def _continuing(messages: Sequence[Mapping[str, str]], prefix: str) -> dict[str, Any]:
    """The fields by which vLLM and SGLang continue the last message."""
    return {
        "messages": [*messages, {"role": "assistant", "content": prefix}],
        "extra_body": {"continue_final_message": True, "add_generation_prompt": False},
    }


def _retry_after(headers: Mapping[str, str]) -> float:
    """Seconds that a `Retry-After` asks for, 0 where it gives none (or a date)."""
    try:
        return min(max(float(headers.get("retry-after", 0)), 0.0), _MOST_SECONDS_BETWEEN_TRIES)
    except ValueError:
        return 0.0
