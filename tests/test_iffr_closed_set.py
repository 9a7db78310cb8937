"""Closed sets on real engines: the label that the first token favours, its tokens, and who can choose."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import toy_tokenizers
from openai_server import ChatServer, message
from scripted import ScriptedEngine

from riftk.benchmarks import load_benchmark
from riftk.benchmarks.iffr import SETS
from riftk.engines import Request, Sampling, load_engine
from riftk.engines.closed_set import label_ids, listed_labels
from riftk.evaluation import evaluate, score_stored
from riftk.rows import read_jsonl, write_jsonl

TINY = "pkg://riftk.tiny/weights/base"
LETTERS = ("A", "B", "C", "D")
QUESTIONS = ["Which is it?", "Tom eats apples. " * 12, "A, B, C or D?", "One", "Choose D now. " * 3]
REQUESTS = [
    Request(f"q{number}", ({"role": "user", "content": text},), labels=LETTERS)
    for number, text in enumerate(QUESTIONS * 3)
]
SAMPLING = Sampling(temperature=0)
PLAIN = "{% for m in messages %}{{ m.content }} Reply:{% endfor %}"
LINES = "{% for m in messages %}{{ m.content }}\n{% endfor %}<|im_start|>assistant\n"
SWITCHED = (
    LINES + "{% if enable_thinking is defined and not enable_thinking %}<think>\n\n</think>\n\n{% endif %}"
)


@pytest.fixture(scope="module")
def tiny():
    engine = load_engine(model=TINY, device="cpu", batch_size=4)
    yield engine
    engine.close()


def rendered(tokenizer, text: str = "Which?") -> str:
    return tokenizer.apply_chat_template(
        [{"role": "user", "content": text}], add_generation_prompt=True, tokenize=False
    )


# --- transformers -------------------------------------------------------------------------------------------


def test_a_batch_chooses_what_each_prompt_chooses_alone(tiny):
    import torch

    got = dict(tiny.generate(REQUESTS, SAMPLING))
    assert got.keys() == {request.key for request in REQUESTS}
    model, tokenizer = tiny._load(), tiny.tokenizer
    ids = [tokenizer.convert_tokens_to_ids(letter) for letter in LETTERS]
    for request in REQUESTS:
        prompt = rendered(tokenizer, request.messages[0]["content"])
        tokens = tokenizer(prompt, add_special_tokens=False, return_tensors="pt").input_ids
        with torch.no_grad():
            logprobs = model(tokens).logits[0, -1].log_softmax(-1)
        generation = got[request.key]
        assert generation.text == LETTERS[int(logprobs[ids].argmax())]
        assert list(generation.label_logprobs.values()) == pytest.approx(logprobs[ids].tolist(), abs=1e-3)
        assert (generation.finish_reason, generation.completion_tokens) == ("stop", 1)
        assert generation.prompt_tokens == tokens.shape[1]
    assert len({generation.text for generation in got.values()}) > 1


def test_a_resumed_run_chooses_the_same_and_text_may_stand_beside(tiny):
    whole = dict(tiny.generate(REQUESTS, SAMPLING))
    rest = dict(tiny.generate(REQUESTS, SAMPLING, done=frozenset(list(whole)[:7])))
    assert len(rest) == len(REQUESTS) - 7
    for key, generation in rest.items():
        assert generation.text == whole[key].text
    written = Request("text", REQUESTS[0].messages, max_tokens=5)
    both = dict(tiny.generate([REQUESTS[0], written], SAMPLING))
    assert both["q0"].text in LETTERS
    assert both["text"].completion_tokens == 5
    long = Request("long", ({"role": "user", "content": "apples " * 9000},), labels=LETTERS)
    assert dict(tiny.generate([long, REQUESTS[0]], SAMPLING))["long"].finish_reason == "error"


def test_labels_of_several_tokens_are_refused_before_anything_is_computed(tiny):
    request = Request("q", REQUESTS[0].messages, labels=("positive", "negative"))
    with pytest.raises(ValueError, match=r"each of positive, negative to be one token .*decode=generate"):
        next(tiny.generate([request], SAMPLING))


# --- the labels' tokens -------------------------------------------------------------------------------------


def test_a_label_is_looked_for_as_the_model_would_begin():
    behind_a_line = toy_tokenizers.toy_tokenizer(LINES)
    found = label_ids(behind_a_line, rendered(behind_a_line), LETTERS)
    assert found == {letter: behind_a_line.convert_tokens_to_ids(letter) for letter in LETTERS}
    behind_a_word = toy_tokenizers.toy_tokenizer(PLAIN)
    found = label_ids(behind_a_word, rendered(behind_a_word), ("seven", "four"))
    assert behind_a_word.convert_ids_to_tokens(list(found.values())) == ["Ġseven", "Ġfour"]
    # No token holds " A" there, so the letter itself is taken.
    found = label_ids(behind_a_word, rendered(behind_a_word), LETTERS)
    assert found == {letter: behind_a_word.convert_tokens_to_ids(letter) for letter in LETTERS}


def test_labels_must_differ_in_their_token():
    tokenizer = toy_tokenizers.toy_tokenizer(LINES)
    with pytest.raises(ValueError, match="one token of its own"):
        label_ids(tokenizer, rendered(tokenizer), ("A", "zebra crossing"))


def test_a_prompt_that_opens_the_reasoning_is_refused():
    tokenizer = toy_tokenizers.toy_tokenizer(LINES + "<think>\n")
    with pytest.raises(ValueError, match="opens the reasoning, so the first token is no answer"):
        label_ids(tokenizer, rendered(tokenizer), LETTERS)


def test_thinking_is_off_where_a_template_knows_how(tmp_path):
    import random_model

    folder = random_model.build(tmp_path)
    template = tmp_path / "switched.jinja"
    template.write_text(SWITCHED, encoding="utf-8")
    engine = load_engine(model=str(folder), device="cpu", chat_template=str(template))
    [on] = engine._encode([Request("a", REQUESTS[0].messages)])
    [off] = engine._encode([Request("a", REQUESTS[0].messages, thinking=False)])
    assert engine.tokenizer.decode(off[len(on) :]) == "<think>\n\n</think>\n\n"
    forced = load_engine(
        model=str(folder),
        device="cpu",
        chat_template=str(template),
        chat_template_kwargs={"enable_thinking": True},
    )
    assert forced._encode([Request("a", REQUESTS[0].messages, thinking=False)]) == [off]


# --- servers ------------------------------------------------------------------------------------------------


def listing(*tokens: tuple[str, float], **fields):
    """An answer whose first token has these candidates."""
    candidates = [{"token": token, "logprob": logprob, "bytes": None} for token, logprob in tokens]
    content = [{**candidates[0], "top_logprobs": candidates}]
    return message(tokens[0][0], "length", logprobs={"content": content}, **fields)


def server_engine(server: ChatServer, **options):
    return load_engine("openai", model="m", base_url=server.url, retries=0, **options)


def test_a_server_chooses_by_what_it_lists():
    def script(body, number):
        assert body["max_tokens"] == 1
        return listing(("The", -0.1), (" C", -3.0), ("B", -2.5), ("C", -9.0))

    with ChatServer(script) as server:
        engine = server_engine(server)
        got = dict(engine.generate(REQUESTS[:3], SAMPLING))
        engine.close()
    assert {generation.text for generation in got.values()} == {"B"}
    assert got["q0"].label_logprobs == {"B": -2.5, "C": -3.0}
    assert got["q0"].finish_reason == "stop"
    assert server.bodies[-1]["top_logprobs"] == 20


def test_thinking_is_switched_off_where_the_server_takes_the_switch():
    def picky(body, number):
        if "chat_template_kwargs" in body:
            return "400 unknown argument chat_template_kwargs"
        return listing(("A", -0.1))

    request = Request("q", REQUESTS[0].messages, thinking=False, labels=LETTERS)
    for script, refused in ((lambda body, number: listing(("A", -0.1)), False), (picky, True)):
        with ChatServer(script) as server:
            engine = load_engine("openai", model="m", base_url=server.url, retries=2, backoff=0)
            got = dict(engine.generate([request], SAMPLING))
            engine.close()
        assert got["q"].text == "A"
        assert ("chat_template_kwargs" in server.bodies[-1]) is not refused


def test_labels_that_are_not_listed_are_raised_or_said_to_be_missing(tmp_path):
    import random_model

    folder = random_model.build(tmp_path)

    def script(body, number):
        return listing(("D", -0.2)) if "logit_bias" in body else listing(("The", -0.1), ("It", -2.0))

    with ChatServer(script) as server:
        without, with_tokenizer = server_engine(server), server_engine(server, tokenizer=str(folder))
        got = dict(without.generate(REQUESTS[:1], SAMPLING))["q0"]
        assert got.finish_reason == "error"
        assert "none of A, B, C, D is among the 20 first tokens" in got.error
        assert "--tokenizer" in got.error
        got = dict(with_tokenizer.generate(REQUESTS[:1], SAMPLING))["q0"]
        assert (got.text, got.label_logprobs) == ("D", {})
        biased = server.bodies[-1]["logit_bias"]
        assert set(biased.values()) == {100}
        assert len(biased) == 4
        for engine in (without, with_tokenizer):
            engine.close()


@pytest.mark.parametrize("answer", [message("A"), "400 logprobs are not supported"])
def test_a_server_that_lists_nothing_is_refused_at_once(answer):
    with ChatServer(lambda body, number: answer) as server:
        engine = server_engine(server)
        with pytest.raises(ValueError, match=r"the server lists no first tokens .*take decode=generate"):
            next(engine.generate(REQUESTS, SAMPLING))
        engine.close()
    assert len(server.bodies) == 2


def test_a_server_that_lists_five_is_asked_for_five():
    def script(body, number):
        return "400 top_logprobs must be at most 5" if body["top_logprobs"] > 5 else listing(("A", -0.1))

    with ChatServer(script) as server:
        engine = server_engine(server)
        assert dict(engine.generate(REQUESTS[:1], SAMPLING))["q0"].text == "A"
        engine.close()


def test_tokens_are_read_in_whatever_way_blanks_are_written():
    listed = [("Ġpositive", -2.0), ("▁negative", -1.0), (" positive", -0.5), ("Positive", -0.1)]
    assert listed_labels(listed, ("positive", "negative")) == {"positive": -0.5, "negative": -1.0}


# --- an evaluation ------------------------------------------------------------------------------------------


def write_arc(folder: Path, count: int) -> None:
    records = [
        {
            "question": f"Which number is {number}?",
            "choices": {"text": [str(number + step) for step in range(4)], "label": list(LETTERS)},
            "answerKey": LETTERS[number % 4],
        }
        for number in range(count)
    ]
    write_jsonl(folder / SETS["arc_c"].file, records)


def test_an_evaluation_stores_choices_and_scores_them_again(tiny, tmp_path):
    write_arc(tmp_path, 8)
    items = load_benchmark("iffr:set=arc_c", data_dir=tmp_path)
    results = evaluate(tiny, items, tmp_path / "out", Sampling())
    samples = list(read_jsonl(tmp_path / "out" / f"samples_{items.name}.jsonl"))
    assert len(samples) == 48
    assert all(sample["extracted"] == sample["resps"][0][0] in LETTERS for sample in samples)
    masses = [sum(map(math.exp, sample["label_logprobs"].values())) for sample in samples]
    mass = results["estimates"][items.name]["label_mass,none"]["value"]
    assert mass == pytest.approx(sum(masses) / len(masses))
    assert results["estimates"][items.name]["invalid_standard,robust"]["value"] == 0
    assert results["configs"][items.name]["labels"] == list(LETTERS)
    stored = tmp_path / "out" / f"samples_{items.name}.jsonl"
    again = score_stored(stored, [items], tmp_path / "again")
    for section in ("estimates", "variants", "counts"):
        assert again[section] == results[section]


def test_an_engine_without_log_probabilities_is_refused(tmp_path):
    write_arc(tmp_path, 2)
    items = load_benchmark("iffr:set=arc_c", data_dir=tmp_path)
    with pytest.raises(ValueError, match=r"which the engine scripted does not give; take decode=generate"):
        evaluate(ScriptedEngine(lambda item: "A"), items, tmp_path / "out", Sampling())
    assert not (tmp_path / "out").exists()
