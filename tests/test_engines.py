"""The transformers engine on a real (random) model: what it generates, resumes, refuses and reports."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import random_model
import torch

from riftk.completions import split_completion
from riftk.engines import Generation, Request, Sampling, load_engine
from riftk.engines.batching import Prompt, batch_seed, plan_batches
from riftk.engines.transformers import dropped_ids, load_tokenizer

torch.set_num_threads(1)  # with matrices this small, threads only wait for each other

QUESTIONS = [
    "how many apples remain",
    "tom eats " * 20,
    "add the numbers",
    "the total",
    "first add then subtract " * 7,
    "nine",
    "give away some of them after the answer",
]
REQUESTS = [Request(f"q{n}", ({"role": "user", "content": text},)) for n, text in enumerate(QUESTIONS)]
GREEDY = Sampling(temperature=0, max_tokens=24)
DRAWN = Sampling(temperature=1.0, top_p=0.9, max_tokens=24, seed=5)


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return random_model.build(tmp_path_factory.mktemp("model"))


@pytest.fixture(scope="module")
def engine(folder):
    return load_engine("transformers", model=str(folder), batch_size=3, device="cpu")


def reference(engine, text: str, max_tokens: int) -> list[int]:
    """Greedy ids of one prompt alone, by plain argmax over full forward passes."""
    tokenizer, model = engine.tokenizer, engine._load()
    messages = [{"role": "user", "content": text}]
    prompt = tokenizer.apply_chat_template(messages, add_generation_prompt=True, tokenize=False)
    ids = tokenizer(prompt, add_special_tokens=False).input_ids
    new = []
    for _ in range(max_tokens):
        with torch.no_grad():
            new.append(int(model(torch.tensor([ids + new])).logits[0, -1].argmax()))
        if new[-1] in engine._stops:
            break
    return new


def test_batches_generate_what_each_prompt_generates_alone(engine):
    got = dict(engine.generate(REQUESTS, GREEDY))
    assert got.keys() == {request.key for request in REQUESTS}
    dropped = dropped_ids(engine.tokenizer)
    for request in REQUESTS:
        ids = reference(engine, request.messages[0]["content"], 24)
        ended = ids[-1] in engine._stops
        generation = got[request.key]
        assert generation.finish_reason == ("stop" if ended else "length")
        assert generation.completion_tokens == len(ids)
        kept = [token for token in ids[: len(ids) - ended] if token not in dropped]
        assert generation.text == engine.tokenizer.decode(kept)


def test_every_end_token_of_the_generation_config_ends_a_completion(tmp_path):
    letters = (*"aeotnhsr", "<|endoftext|>")
    engine = load_engine(model=str(random_model.build(tmp_path, eos=letters)), device="cpu")
    requests = [Request(str(n), ({"role": "user", "content": "add " * n},)) for n in range(40)]
    got = [generation for _, generation in engine.generate(requests, Sampling(1.0, 1.0, 400))]
    stopped = [generation for generation in got if generation.finish_reason == "stop"]
    assert len(stopped) > 30
    # The tokenizer's own end token alone would hardly ever come up; the text ends before the end token.
    assert engine.tokenizer.eos_token_id in engine._stops
    assert all(generation.completion_tokens < 400 for generation in stopped)
    assert all(
        generation.completion_tokens == 400 for generation in got if generation.finish_reason == "length"
    )


def test_sampling_is_seeded_and_leaves_the_global_generator_alone(engine):
    state = torch.random.get_rng_state()
    first, second = dict(engine.generate(REQUESTS, DRAWN)), dict(engine.generate(REQUESTS, DRAWN))
    other = dict(engine.generate(REQUESTS, Sampling(1.0, 0.9, 24, seed=6)))
    assert first == second
    assert first != other
    assert torch.equal(state, torch.random.get_rng_state())
    assert len({batch_seed(seed, place) for seed in range(20) for place in range(20)}) == 400


def test_a_resumed_run_draws_what_an_uninterrupted_one_draws(engine):
    whole = dict(engine.generate(REQUESTS, DRAWN))
    for stop_after in range(len(REQUESTS) + 1):
        kept: dict = {}
        stream = engine.generate(REQUESTS, DRAWN)
        for _ in range(stop_after):
            kept.update([next(stream)])
        stream.close()
        rest = list(engine.generate(REQUESTS, DRAWN, done=frozenset(kept)))
        assert not kept.keys() & dict(rest).keys()
        assert {**kept, **dict(rest)} == whole


def test_settings_of_the_models_own_generation_config_do_not_leak_in(folder, tmp_path):
    shutil.copytree(folder, tmp_path / "m")
    path = tmp_path / "m" / "generation_config.json"
    config = {**json.loads(path.read_text()), "top_k": 1, "do_sample": True, "repetition_penalty": 5.0}
    path.write_text(json.dumps(config))
    plain, odd = (load_engine(model=str(place), batch_size=3) for place in (folder, tmp_path / "m"))
    for sampling in (GREEDY, DRAWN):
        assert list(plain.generate(REQUESTS, sampling)) == list(odd.generate(REQUESTS, sampling))


def test_text_keeps_the_marks_of_reasoning_and_no_other_special_token(engine):
    tokenizer = engine.tokenizer
    ids = tokenizer("<|im_start|><think>add</think>nine<|im_end|><|endoftext|>").input_ids
    text = tokenizer.decode([token for token in ids if token not in dropped_ids(tokenizer)])
    assert text == "<think>add</think>nine"
    assert split_completion(text).reasoning == "add"


def test_text_keeps_gpt_oss_channels_only_where_there_are_channels(folder):
    tokenizer = load_tokenizer(str(folder))
    tokenizer.add_tokens(["<|end|>"], special_tokens=True)  # Phi's end of turn
    assert tokenizer.convert_tokens_to_ids("<|end|>") in dropped_ids(tokenizer)
    tokenizer.add_tokens(["<|start|>", "<|channel|>", "<|message|>", "<|return|>"], special_tokens=True)
    raw = (
        "<|channel|>analysis<|message|>add<|end|><|start|>assistant<|channel|>final<|message|>nine<|return|>"
    )
    dropped = dropped_ids(tokenizer)
    text = tokenizer.decode([t for t in tokenizer(raw).input_ids if t not in dropped])
    completion = split_completion(text, think="channels")
    assert (completion.reasoning, completion.response, completion.status) == ("add", "nine", "closed")


def test_batches_hold_to_the_budget_and_are_sorted():
    lengths = [5, 900, 40, 41, 42, 3, 3, 3, 3, 500]
    prompts = [Prompt(str(n), [0] * length, 100) for n, length in enumerate(lengths)]
    batches = plan_batches(prompts, batch_size=4, batch_tokens=600)
    assert sorted(p.key for batch in batches for p in batch) == sorted(p.key for p in prompts)
    assert [len(p.ids) for batch in batches for p in batch] == sorted(lengths, reverse=True)
    for batch in batches:
        assert len(batch) <= 4
        assert len(batch) == 1 or len(batch) * (len(batch[0].ids) + 100) <= 600
    assert [len(batches[0]), len(batches[1])] == [1, 1]
    assert plan_batches([], 4, 100) == []
    near_the_end = [Prompt("long", [0] * 500, 12), Prompt("short", [0] * 20, 100)]
    assert len(plan_batches(near_the_end, 4, 10_000)) == 2


def test_a_prompt_that_fills_the_context_is_an_error_and_not_a_crash(engine):
    long = Request("long", ({"role": "user", "content": "apples " * 600},))
    got = dict(engine.generate([*REQUESTS[:2], long], GREEDY))
    assert got["long"].finish_reason == "error"
    assert "context" in got["long"].error
    assert got["q0"].finish_reason in ("stop", "length")


def test_the_context_limits_the_completion(engine):
    request = Request("close", ({"role": "user", "content": "apples " * 240},))
    [(_, generation)] = engine.generate([request], Sampling(0, 1.0, 16384))
    assert generation.prompt_tokens + generation.completion_tokens <= 512


def test_a_lora_folder_is_merged_into_its_base(folder, tmp_path):
    from peft import LoraConfig, get_peft_model
    from transformers import AutoModelForCausalLM

    base = AutoModelForCausalLM.from_pretrained(folder)
    torch.manual_seed(1)
    config = LoraConfig(r=4, target_modules="all-linear", init_lora_weights=False)
    get_peft_model(base, config).save_pretrained(tmp_path / "lora")
    engine = load_engine(model=str(tmp_path / "lora"), device="cpu")
    got = dict(engine.generate(REQUESTS, GREEDY))
    for request in REQUESTS[:3]:
        ids = reference(engine, request.messages[0]["content"], 24)
        assert got[request.key].completion_tokens == len(ids)
    assert got != dict(load_engine(model=str(folder), device="cpu").generate(REQUESTS, GREEDY))
    assert engine.describe()["weights"] != load_engine(model=str(folder)).describe()["weights"]


def test_another_chat_template_is_used_and_reported(folder, engine, tmp_path):
    template = tmp_path / "think.jinja"
    template.write_text(
        random_model.TEMPLATE.replace("assistant\n{% endif", "assistant\n{{ opener }}{% endif")
    )
    opened = load_engine(
        model=str(folder), chat_template=str(template), chat_template_kwargs={"opener": "<think>\n"}
    )
    assert opened.describe()["chat_template_sha"] != engine.describe()["chat_template_sha"]
    assert json.loads(opened.describe()["chat_template_kwargs"]) == {"opener": "<think>\n"}
    [ids] = opened._encode(REQUESTS[:1])
    assert opened.tokenizer.decode(ids).endswith("assistant\n<think>\n")
    assert opened.think == "prefilled"
    template.write_text(random_model.TEMPLATE.replace("assistant\n{% endif", "assistant\n<think>\n{% endif"))
    assert load_engine(model=str(folder), chat_template=str(template)).think == "prefilled"
    assert engine.think == "tags"


def test_a_prompt_that_the_template_refuses_is_named(folder, tmp_path):
    template = tmp_path / "strict.jinja"
    template.write_text("{% if messages[0].role != 'user' %}{{ raise_exception('user first') }}{% endif %}x")
    strict = load_engine(model=str(folder), chat_template=str(template))
    request = Request("item-7", ({"role": "system", "content": "be brief"},))
    with pytest.raises(ValueError, match="item-7: the chat template refuses the prompt: user first"):
        list(strict.generate([request], GREEDY))


def test_progress_goes_to_standard_error(engine, capsys):
    list(engine.generate(REQUESTS, GREEDY, done=frozenset({"q0"})))
    captured = capsys.readouterr()
    assert captured.out == ""
    assert f"{len(REQUESTS)}/{len(REQUESTS)}" in captured.err
    assert "tokens/s" in captured.err


def test_half_precision_only_where_it_is_quick(engine):
    assert engine.describe()["dtype"] == "float32"
    assert engine._load().dtype is torch.float32


def test_nothing_to_do_loads_nothing(folder):
    fresh = load_engine(model=str(folder))
    assert list(fresh.generate(REQUESTS, GREEDY, done=frozenset(r.key for r in REQUESTS))) == []
    assert list(fresh.generate([], GREEDY)) == []
    assert fresh._model is None
    assert fresh.count_tokens("<think>") == 1


def test_what_cannot_work_is_said_before_weights_are_read(folder, tmp_path, monkeypatch):
    with pytest.raises(FileNotFoundError, match=r"\./no/such/model does not exist"):
        load_engine(model="./no/such/model")
    with pytest.raises(ValueError, match="unknown engine 'vlm'"):
        load_engine("vlm", model=str(folder))
    with pytest.raises(ValueError, match="batch_size"):
        load_engine(model=str(folder), batch_size=0)
    with pytest.raises(ValueError, match="dtype 'int4' is none of"):
        load_engine(model=str(folder), dtype="int4")
    with pytest.raises(ValueError, match="think 'yes' is none of"):
        load_engine(model=str(folder), think="yes")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(FileNotFoundError, match="nobody/nothing"):
        load_engine(model="nobody/nothing")

    bare = shutil.copytree(folder, tmp_path / "bare")
    (bare / "chat_template.jinja").unlink()
    with pytest.raises(ValueError, match="no chat template; give one with --chat-template"):
        load_engine(model=str(bare))
    (bare / "model.safetensors").rename(bare / "pytorch_model.bin")
    with pytest.raises(FileNotFoundError, match="safetensors"):
        load_engine(model=str(bare))
    with pytest.raises(FileNotFoundError, match="no model folder"):
        load_engine(model=str(tmp_path))
    lora = tmp_path / "lora"
    lora.mkdir()
    (lora / "adapter_config.json").write_text(json.dumps({"base_model_name_or_path": "/gone/base"}))
    with pytest.raises(FileNotFoundError, match="the base model is gone"):
        load_engine(model=str(lora))


def test_two_requests_with_one_key_are_refused(engine):
    with pytest.raises(ValueError, match="same key"):
        list(engine.generate([REQUESTS[0], REQUESTS[0]], GREEDY))


def test_a_prefix_is_continued_as_if_it_had_been_generated(engine):
    whole = dict(engine.generate(REQUESTS, GREEDY))
    continued = [
        Request(request.key, request.messages, prefix=whole[request.key].text[:3]) for request in REQUESTS
    ]
    got = dict(engine.generate(continued, GREEDY))
    for request, asked in zip(REQUESTS, continued, strict=True):
        plain, [ids] = engine._encode([request])[0], engine._encode([asked])
        assert ids[: len(plain)] == plain
        assert engine.tokenizer.decode(ids[len(plain) :]) == asked.prefix
        assert got[request.key].prompt_tokens == len(ids)


def test_a_request_may_want_fewer_tokens_than_the_run(engine):
    limits = [None, 3, 9]
    limited = [
        Request(request.key, request.messages, max_tokens=limit)
        for request, limit in zip(REQUESTS[:3], limits, strict=True)
    ]
    whole, got = dict(engine.generate(REQUESTS[:3], GREEDY)), dict(engine.generate(limited, GREEDY))
    assert got["q0"] == whole["q0"]
    for request in limited[1:]:
        assert got[request.key].completion_tokens == min(
            request.max_tokens, whole[request.key].completion_tokens
        )
        assert whole[request.key].text.startswith(got[request.key].text)


def test_once_until_is_true_no_batch_is_begun(engine):
    got = []
    for key, _ in engine.generate(REQUESTS, GREEDY, until=lambda: len(got) >= 2):
        got.append(key)
    assert len(got) == 3
    rest = dict(engine.generate(REQUESTS, GREEDY, done=frozenset(got)))
    assert rest.keys() == {request.key for request in REQUESTS} - set(got)


def test_the_probe_says_where_reasoning_arrives(engine):
    assert engine.probe() == {"reasoning": "text", "finish_reason": "length"}


RANKS = """
import json, sys
from dataclasses import asdict
from riftk.engines import Request, Sampling, load_engine
engine = load_engine(model=sys.argv[1], batch_size=3, device="cpu")
requests = [Request(**request) for request in json.load(open(sys.argv[2]))]
if engine.ranks.rank:
    engine.follow()
else:
    rows = []
    for _ in range(2):
        rows.append(list(engine.generate(requests, Sampling(1.0, 0.9, 24, seed=5), frozenset(["q1"]))))
    assert dict(rows[0]) == dict(rows[1])
    print(json.dumps([[key, asdict(got)] for key, got in rows[0]]))
engine.close()
"""


@pytest.mark.slow
def test_ranks_of_a_launcher_generate_what_one_process_generates(folder, engine, tmp_path):
    from dataclasses import asdict

    (tmp_path / "requests.json").write_text(json.dumps([asdict(request) for request in REQUESTS]))
    (tmp_path / "ranks.py").write_text(RANKS)
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2"]
    finished = subprocess.run(
        [*command, tmp_path / "ranks.py", str(folder), tmp_path / "requests.json"],
        capture_output=True, text=True, check=True, timeout=500,
    )  # fmt: skip
    rows = json.loads(finished.stdout)
    assert len(rows) == len(REQUESTS) - 1
    assert {key: Generation(**got) for key, got in rows} == dict(
        engine.generate(REQUESTS, DRAWN, done=frozenset(["q1"]))
    )
