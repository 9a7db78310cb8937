"""Budget forcing: a trace goes on where the model ends it, and a resumed run draws the same."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from riftk.completions import split_completion
from riftk.engines import Generation, Request, Sampling
from riftk.engines.forcing import ForcingEngine, open_trace

SAMPLING = Sampling(max_tokens=40)


class Counting:
    """Closes its trace each time it is asked, and says how often that was and with what prefix."""

    name, model, think = "counting", "counting", "tags"

    def __init__(self, batched: bool = False, finish: str = "stop", **fields: str) -> None:
        self.batched, self.finish, self.fields = batched, finish, fields
        self.asked: list[Request] = []

    def generate(self, requests, sampling, done=frozenset(), until=lambda: False) -> Iterator:
        company = "+".join(request.key for request in requests) if self.batched else sampling.seed
        for request in requests:
            if request.key not in done:
                self.asked.append(request)
                opening = "" if request.prefix else "<think>\n"
                text = f"{opening} so [{company}]\n</think>\n\nnine"
                yield request.key, Generation(text, self.finish, 5, 10, **self.fields)

    def describe(self) -> dict[str, str]:
        return {"engine": self.name}


def request(key: str, **fields) -> Request:
    return Request(key, ({"role": "user", "content": key},), **fields)


def test_wait_takes_the_place_of_the_end_of_the_trace():
    inner = Counting()
    [(_, got)] = ForcingEngine(inner, waits=2).generate([request("a")], SAMPLING)
    assert got.text == "<think>\n so [0]\n\nWait so [1]\n\nWait so [2]\n</think>\n\nnine"
    assert (got.completion_tokens, got.prompt_tokens, got.finish_reason) == (30, 5, "stop")
    assert [asked.max_tokens for asked in inner.asked] == [None, 30, 20]
    split = split_completion(got.text, think="tags")
    assert (split.reasoning.count("Wait"), split.response, split.status) == (2, "nine", "closed")


def test_the_instruction_is_repeated_at_the_end_where_there_is_one():
    engine = ForcingEngine(Counting(), waits=1, repeat=True)
    asked = [request("a", reminder="No commas."), request("b")]
    got = {key: generation.text for key, generation in engine.generate(asked, SAMPLING)}
    assert got["a"] == "<think>\n so [0]\n\nWait so [1]\n\nWait. No commas.\n so [2]\n</think>\n\nnine"
    assert got["b"] == "<think>\n so [0]\n\nWait so [1]\n</think>\n\nnine"


def test_tokens_of_all_rounds_count_and_what_was_cut_off_stays_so():
    [(_, got)] = ForcingEngine(Counting(), waits=9).generate([request("a")], SAMPLING)
    assert (got.text.count("Wait"), got.completion_tokens) == (3, 40)
    [(_, got)] = ForcingEngine(Counting(finish="length"), waits=9).generate([request("a")], SAMPLING)
    assert (got.text.count("Wait"), got.finish_reason) == (0, "length")


def test_a_resumed_run_draws_what_an_uninterrupted_one_draws():
    asked = [request(str(number)) for number in range(300)]
    for batched in (False, True):
        engine = ForcingEngine(Counting(batched), waits=1)
        whole = dict(engine.generate(asked, SAMPLING))
        inner = Counting(batched)
        done = frozenset(map(str, range(100)))
        rest = dict(ForcingEngine(inner, waits=1).generate(asked, SAMPLING, done))
        assert rest == {key: got for key, got in whole.items() if key not in done}
        assert len(inner.asked) == (600 if batched else 400)


@pytest.mark.parametrize(
    ("think", "text", "begun"),
    [
        ("tags", "<think>a</think>b", "<think>a"),
        ("prefilled", "a</think>b", "a"),
        ("tags", "<think>a says </think> b</think>c", "<think>a says </think> b"),
        ("tags", "[THINK]a[/THINK]b", "[THINK]a"),
        ("tags", "<think>a, without an end", "<think>a, without an end"),
        ("tags", "only an answer", None),
        (
            "channels",
            "<|channel|>analysis<|message|>a<|end|><|start|>assistant<|channel|>final<|message|>b",
            "<|channel|>analysis<|message|>a",
        ),
    ],
)
def test_where_a_trace_ends(think, text, begun):
    assert open_trace(text, think) == begun


def test_what_cannot_be_forced_is_refused():
    with pytest.raises(ValueError, match="at least one wait"):
        ForcingEngine(Counting())
    engine = ForcingEngine(Counting(reasoning_content="four"), waits=1)
    with pytest.raises(ValueError, match="apart from the text"):
        list(engine.generate([request("a")], SAMPLING))


def test_what_is_forced_is_recorded():
    engine = ForcingEngine(Counting(), waits=2, repeat=True)
    assert engine.describe() == {"engine": "counting", "waits": "2", "repeat": "True"}
    assert (engine.name, engine.think) == ("counting", "tags")
