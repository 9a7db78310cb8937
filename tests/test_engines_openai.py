"""The openai engine against a real HTTP server: what is asked, read, repeated, given up and refused."""

from __future__ import annotations

import json
import socket
from collections import Counter
from typing import Any

import pytest
from openai_server import FAULTS, ChatServer, message

from riftk.engines import Generation, Request, Sampling, load_engine

SAMPLING = Sampling(temperature=0.6, top_p=0.95, max_tokens=32, seed=3)
THOUGHT = "<think>four and five</think>nine"


def request(key: str, **fields: Any) -> Request:
    return Request(key, ({"role": "user", "content": f"Question {key}"},), **fields)


REQUESTS = [request(f"q{number}") for number in range(12)]


def key(body: dict[str, Any]) -> str:
    return body["messages"][0]["content"].removeprefix("Question ")


@pytest.fixture
def engine():
    """Makes engines that are closed in the end."""
    made = []

    def make(*servers: ChatServer | str, model: str = "m", **options: Any):
        urls = [server if isinstance(server, str) else server.url for server in servers]
        made.append(load_engine("openai", model=model, base_url=urls, backoff=0.01, **options))
        return made[-1]

    yield make
    for each in made:
        each.close()


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (message(THOUGHT), Generation(THOUGHT, "stop", 6, 3)),
        (message("nine", reasoning="four"), Generation("nine", "stop", 6, 1, "four")),
        (message("nine", reasoning_content="four"), Generation("nine", "stop", 6, 1, "four")),
        (message(None, "length", reasoning="four and"), Generation("", "length", 6, 0, "four and")),
        (message("nine", "eos_token"), Generation("nine", "stop", 6, 1)),
        (message("nine", "max_tokens"), Generation("nine", "length", 6, 1)),
        (message("nine", usage=None), Generation("nine", "stop", None, None)),
        (message("nine", usage={"completion_tokens": 90}), Generation("nine", "stop", 6, 90)),
    ],
)
def test_an_answer_becomes_the_record_of_every_engine(engine, answer, expected):
    with ChatServer(lambda body, number: answer) as server:
        assert list(engine(server).generate(REQUESTS[:1], SAMPLING)) == [("q0", expected)]


def test_a_filtered_completion_is_an_error_and_no_answer(engine):
    with ChatServer(lambda body, number: message("nine", "content_filter")) as server:
        [(_, got)] = engine(server).generate(REQUESTS[:1], SAMPLING)
    assert (got.text, got.finish_reason) == ("", "error")
    assert "content filter" in got.error
    assert len(server.bodies) == 1


@pytest.mark.parametrize("fault", FAULTS)
def test_a_passing_fault_is_met_by_another_try(engine, fault):
    with ChatServer(lambda body, number: fault if number < 2 else message("nine")) as server:
        [(_, got)] = engine(server, deadline=3, retries=3).generate(REQUESTS[:1], SAMPLING)
    assert (got.text, got.finish_reason, got.error) == ("nine", "stop", None)
    assert len(server.bodies) == 3
    assert len({json.dumps(body) for body in server.bodies}) == 1


@pytest.mark.parametrize("fault", FAULTS)
def test_a_lasting_fault_is_an_error_that_says_why(engine, fault):
    with ChatServer(lambda body, number: fault if key(body) == "q1" else message("nine")) as server:
        got = dict(engine(server, deadline=3, retries=1).generate(REQUESTS[:3], SAMPLING))
    assert got["q0"].text == got["q2"].text == "nine"
    failed = got["q1"]
    assert (failed.text, failed.finish_reason, failed.completion_tokens) == ("", "error", None)
    assert failed.error.endswith("(tried 2 times)")
    assert Counter(map(key, server.bodies)) == {"q0": 1, "q1": 2, "q2": 1}


@pytest.mark.parametrize("status", ["400", "401", "404", "422"])
def test_a_refusal_is_not_asked_again(engine, status):
    with ChatServer(lambda body, number: status) as server:
        [(_, got)] = engine(server).generate(REQUESTS[:1], SAMPLING)
    assert len(server.bodies) == 1
    assert got.error.startswith(f"the server answered {status}: ")


def test_what_is_asked(engine, monkeypatch):
    monkeypatch.setenv("MY_KEY", "sk-very-secret")
    with ChatServer(lambda body, number: message("nine")) as server:
        options = {
            "chat_template_kwargs": {"enable_thinking": True},
            "extra_body": {"reasoning_effort": "low"},
            "api_key_env": "MY_KEY",
        }
        one = engine(server, model="served/name", **options)
        list(one.generate([*REQUESTS, request("short", max_tokens=5)], SAMPLING))
        described = one.describe()
    by_key = {key(body): body for body in server.bodies}
    assert {body["model"] for body in server.bodies} == {"served/name"}
    assert (by_key["q0"]["temperature"], by_key["q0"]["top_p"], by_key["q0"]["max_tokens"]) == (0.6, 0.95, 32)
    assert by_key["short"]["max_tokens"] == 5
    assert by_key["q3"]["chat_template_kwargs"] == {"enable_thinking": True}
    assert by_key["q3"]["reasoning_effort"] == "low"
    assert len({body["seed"] for body in server.bodies}) == 13
    assert server.keys == {"Bearer sk-very-secret"}
    assert json.loads(described["extra_body"]) == {
        "chat_template_kwargs": {"enable_thinking": True}, "reasoning_effort": "low"
    }  # fmt: skip
    assert "secret" not in json.dumps(described)


def test_draws_belong_to_a_request_and_not_to_its_company(engine):
    with ChatServer(lambda body, number: message(str(body["seed"]))) as server:
        whole = dict(engine(server).generate(REQUESTS, SAMPLING))
        rest = dict(engine(server, batch_size=1).generate(REQUESTS, SAMPLING, frozenset(["q0", "q7"])))
        other = dict(engine(server).generate(REQUESTS, Sampling(0.6, 0.95, 32, seed=4)))
    assert rest == {name: got for name, got in whole.items() if name not in ("q0", "q7")}
    assert not {got.text for got in whole.values()} & {got.text for got in other.values()}


def test_a_key_that_a_server_repeats_is_not_kept(engine, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret")
    with ChatServer(lambda body, number: "401") as server:
        [(_, got)] = engine(server).generate(REQUESTS[:1], SAMPLING)
        assert "secret" not in got.error
        with pytest.raises(ValueError, match="answered 401") as refused:
            engine(server).probe()
    assert "secret" not in str(refused.value)


def test_no_more_requests_than_allowed_are_in_flight(engine):
    with ChatServer(lambda body, number: message("nine"), delay=0.1) as server:
        assert len(dict(engine(server, batch_size=3).generate(REQUESTS, SAMPLING))) == 12
    assert server.most_in_flight == 3


def test_requests_are_shared_by_several_servers(engine):
    with (
        ChatServer(lambda body, number: message("one")) as one,
        ChatServer(lambda body, number: message("two")) as two,
    ):
        got = Counter(text.text for _, text in engine(one, two).generate(REQUESTS, SAMPLING))
    assert got == {"one": 6, "two": 6}


def test_a_server_that_fails_is_set_aside(engine):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound and not listening: connections are refused
        dead = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
        with (
            ChatServer(lambda body, number: message("nine")) as good,
            ChatServer(lambda body, number: "500") as ill,
            ChatServer(lambda body, number: "404 no such model") as other,
        ):
            got = dict(engine(dead, good, ill, other, batch_size=1).generate(REQUESTS, SAMPLING))
    assert {generation.text for generation in got.values()} == {"nine"}
    assert len(good.bodies) == 12
    assert max(len(ill.bodies), len(other.bodies)) <= 6


def test_nothing_is_left_in_flight_when_the_caller_stops(engine):
    with ChatServer(lambda body, number: message("nine") if number < 3 else "hang") as server:
        one = engine(server, batch_size=4)
        stream = one.generate(REQUESTS, SAMPLING)
        assert [next(stream)[1].text for _ in range(3)] == ["nine"] * 3
        stream.close()
        assert list(one.generate(REQUESTS[:1], SAMPLING, until=lambda: True)) == []


def test_once_until_is_true_nothing_is_begun(engine):
    with ChatServer(lambda body, number: message("nine")) as server:
        got = []
        for name, _ in engine(server, batch_size=2).generate(REQUESTS, SAMPLING, until=lambda: len(got) >= 4):
            got.append(name)
    assert 4 <= len(got) < 12
    assert len(server.bodies) == len(got)


def test_the_probe_says_what_the_server_can_do(engine):
    plain = message("It is twelve.", logprobs=None)
    with ChatServer(lambda body, number: plain) as server:
        found = engine(server).probe()
        assert found == {
            "reasoning": "none", "finish_reason": "stop", "n": "works", "logprobs": "do not work",
            "usage": "reported",
        }  # fmt: skip
        assert len(server.bodies) == 1
    with ChatServer(
        lambda body, number: "400" if "n" in body else message(None, "length", reasoning="7")
    ) as s:
        found = engine(s, think="tags").probe()
    assert (found["reasoning"], found["finish_reason"], found["n"]) == ("field", "length", "does not work")


@pytest.mark.parametrize(
    ("think", "text", "finish", "where"),
    [
        ("tags", THOUGHT, "stop", "text"),
        ("tags", "<think>four and", "length", "text"),
        ("prefilled", "four and five</think>nine", "stop", "text"),
        ("prefilled", "four and five and", "length", "text"),
        ("prefilled", "It is twelve.", "stop", None),
        ("tags", "It is twelve.", "stop", None),
        ("channels", "It is twelve.", "stop", None),
        ("none", "It is twelve.", "stop", "none"),
        (None, "It is twelve.", "stop", "none"),
    ],
)
def test_the_probe_refuses_where_expected_reasoning_does_not_come(engine, think, text, finish, where):
    with ChatServer(lambda body, number: message(text, finish)) as server:
        one = engine(server, think=think)
        if where:
            assert one.probe()["reasoning"] == where
        else:
            with pytest.raises(ValueError, match="without any reasoning"):
                one.probe()


def test_no_server_is_one_sentence(engine):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://user:pass@127.0.0.1:{taken.getsockname()[1]}/v1"
        with pytest.raises(ValueError, match=r"http://127.0.0.1:\d+/v1: no connection") as refused:
            engine(url).probe()
    assert "pass" not in str(refused.value)


def test_a_prefix_is_continued_where_the_server_can(engine):
    asked = [request("q0", prefix="<think>four"), request("q1", prefix="<think>five")]
    with ChatServer(lambda body, number: message(" and five</think>nine"), continues=True) as server:
        got = dict(engine(server).generate(asked, SAMPLING))
        assert {generation.text for generation in got.values()} == {" and five</think>nine"}
        last = next(body for body in server.bodies if key(body) == "q0")
        assert last["messages"][-1] == {"role": "assistant", "content": "<think>four"}
        assert (last["continue_final_message"], last["add_generation_prompt"]) == (True, False)
        assert len(server.bodies) == 4  # two to find out
    for options in ({"continues": False}, {"continues": True, "script": lambda body, number: "400"}):
        script = options.pop("script", lambda body, number: message("nine"))
        with (
            ChatServer(script, **options) as server,
            pytest.raises(ValueError, match="does not continue an assistant message"),
        ):
            list(engine(server).generate(asked, SAMPLING))


def test_a_server_that_wants_the_limit_under_its_newer_name_gets_it(engine):
    def strict(body: dict[str, Any], number: int):
        return "400 use 'max_completion_tokens'" if "max_tokens" in body else message("nine")

    with ChatServer(strict) as server:
        got = dict(engine(server, batch_size=4).generate(REQUESTS, SAMPLING))
    assert {generation.text for generation in got.values()} == {"nine"}
    assert 13 <= len(server.bodies) <= 16
    assert server.bodies[-1]["max_completion_tokens"] == 32


def test_options_that_make_no_sense_are_refused():
    for options, sentence in [
        ({"base_url": "127.0.0.1:8000"}, "must begin with http"),
        ({"batch_size": 0}, "positive"),
        ({"think": "yes"}, "is none of"),
        ({"dtype": "float32"}, "the engine openai has no option dtype; it has: base_url"),
    ]:
        with pytest.raises(ValueError, match=sentence):
            load_engine("openai", model="m", **options)


def test_two_requests_with_one_key_are_refused(engine):
    with (
        ChatServer(lambda body, number: message("nine")) as server,
        pytest.raises(ValueError, match="same key"),
    ):
        list(engine(server).generate([REQUESTS[0], REQUESTS[0]], SAMPLING))
