"""Splitting completions, and putting traces where a chat template keeps them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from toy_tokenizers import KEEP_NO_TRACE, OWN, toy_tokenizer, trl_templates

from riftk.completions import TAGS, render_reasoning, response_start, split_completion, think_mode

GOLDEN = Path(__file__).parent / "golden" / "reasonif_splits.jsonl"
CASES = [json.loads(line) for line in GOLDEN.read_text(encoding="utf-8").splitlines()]


def parts(text, **options):
    split = split_completion(text, **options)
    return split.reasoning, split.response, split.status


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["case"])
def test_golden_splits(case):
    split = split_completion(case["raw"])
    assert {"reasoning": split.reasoning, "content": split.response} == case["robust"]


@pytest.mark.parametrize("tags", TAGS, ids=lambda tags: tags[0])
@pytest.mark.parametrize("case", [str, str.upper], ids=["lower", "upper"])
def test_every_tag_family(tags, case):
    opening, closing = map(case, tags)
    assert parts(f"{opening}\nplan\n{closing}\n\nFive.") == ("plan", "Five.", "closed")
    assert parts(f"plan\n{closing}\nFive.") == ("plan", "Five.", "closed")
    assert parts(f"{opening}\nplan and") == ("plan and", "", "unclosed")


def test_a_block_opened_by_the_prompt():
    assert split_completion("plan\n</think>\n\n5").prefilled
    assert parts("plan\n</think>\n\n5", think="prefilled") == ("plan", "5", "closed")


def test_a_cut_off_prefilled_trace_carries_no_tag_and_is_no_answer():
    text = "so \\boxed{5} would be one candidate, but wait"
    split = split_completion(text, think="prefilled")
    assert (split.reasoning, split.response, split.status) == (text, "", "unclosed")
    assert split.prefilled
    assert parts(text) == ("", text, "none")
    assert parts("", think="prefilled") == ("", "", "unclosed")


def test_a_prefilled_model_that_repeats_the_opening_tag():
    assert parts("<think>\nplan</think>5", think="prefilled") == ("plan", "5", "closed")


def test_a_prefilled_trace_may_mention_the_opening_tag():
    assert parts("write <think> first. plan</think>5", think="prefilled")[0] == "write <think> first. plan"


def test_several_blocks_are_joined_and_counted():
    split = split_completion("<think>a</think>x<think>b</think>y")
    assert (split.reasoning, split.response, split.blocks) == ("a\nb", "xy", 2)


def test_a_second_block_that_is_cut_off_is_not_answer():
    assert parts("<think>a</think>5\n<think>hmm, wait") == ("a\nhmm, wait", "5", "unclosed")


def test_a_tag_mentioned_in_the_answer_opens_no_block():
    assert parts("<think>t</think>The tag <think> opens it.") == ("t", "The tag <think> opens it.", "closed")


def test_text_in_front_of_the_first_block_is_on_neither_side():
    assert parts("Sure.<think>t</think>5") == ("t", "5", "closed")


def test_empty_blocks_and_empty_texts():
    assert parts("<think>\n\n</think>\n\n5") == ("", "5", "empty")
    assert parts("") == parts(None) == parts(" \n") == ("", "", "empty")


HARMONY = "<|channel|>analysis<|message|>{}<|end|><|start|>assistant<|channel|>final<|message|>{}<|return|>"


@pytest.mark.parametrize("think", [None, "channels"])
def test_channels_with_special_tokens(think):
    assert parts(HARMONY.format("plan", "5"), think=think) == ("plan", "5", "closed")
    assert parts("<|channel|>analysis<|message|>plan and", think=think) == ("plan and", "", "unclosed")
    assert parts("<|channel|>final<|message|>5<|return|>", think=think) == ("", "5", "none")


def test_channels_with_tool_calls_and_several_analyses():
    text = (
        "<|channel|>analysis<|message|>a<|end|><|start|>assistant<|channel|>commentary to=functions.f "
        '<|constrain|>json<|message|>{"x":1}<|call|><|start|>assistant<|channel|>analysis<|message|>b<|end|>'
        "<|start|>assistant<|channel|>final<|message|>5"
    )
    split = split_completion(text)
    assert (split.reasoning, split.response, split.blocks) == ("a\nb", "5", 2)


def test_channels_whose_prompt_opened_the_analysis():
    split = split_completion("plan<|end|><|start|>assistant<|channel|>final<|message|>5")
    assert (split.reasoning, split.response, split.prefilled) == ("plan", "5", True)


def test_channels_with_special_tokens_stripped():
    assert parts("analysisWe plan.assistantfinal5") == ("We plan.", "5", "closed")
    assert parts("analysisWe plan") == ("We plan", "", "unclosed")
    assert parts("analysisplan", think="channels") == ("plan", "", "unclosed")
    assert parts("analysis shows that it is 5") == ("", "analysis shows that it is 5", "none")
    tool = 'analysisA.assistantcommentary to=functions.f json{"x":1}assistantanalysisB.assistantfinal5'
    assert parts(tool) == ("A.\nB.", "5", "closed")


def test_an_api_field_wins():
    assert parts("5", reasoning_content="plan") == ("plan", "5", "closed")
    assert parts("<think>plan</think>5", reasoning_content="plan") == ("plan", "5", "closed")
    assert parts(None, reasoning_content="plan and") == ("plan and", "", "unclosed")
    assert parts("5", reasoning_content="", think="prefilled") == ("", "5", "empty")


def test_end_of_turn_tokens_and_solution_marks_are_no_text():
    assert parts("<think>t</think>5<|im_end|>\n<|endoftext|>") == ("t", "5", "closed")
    wrapped = "<|begin_of_thought|>t<|end_of_thought|>\n<|begin_of_solution|>5<|end_of_solution|>"
    assert parts(wrapped) == ("t", "5", "closed")


def test_an_unknown_think_mode_is_refused():
    with pytest.raises(ValueError, match="think must be one of"):
        split_completion("x", think="sometimes")


PIECES = st.sampled_from([
    "<think>", "</think>", "<THINKING>", "</thought>", "<|channel|>", "analysis", "final", "<|message|>",
    "<|end|>", "<|start|>assistant", "assistantfinal", "[/THINK]", "</s>", "5", " ", "\n", "plan", "é",
    "<",
])  # fmt: skip


@settings(deadline=None)
@given(
    st.lists(PIECES | st.text(max_size=5), max_size=15).map("".join),
    st.sampled_from([None, "prefilled", "channels"]),
)
def test_no_text_raises_and_the_parts_come_from_it(text, think):
    split = split_completion(text, think=think)
    assert split.status in ("closed", "unclosed", "none", "empty")
    assert (split.status == "closed") <= bool(split.reasoning)
    assert (split.status in ("none", "empty")) <= (split.reasoning == "")
    assert 0 <= response_start(text, think) <= len(text)
    assert len(split.reasoning) + len(split.response) <= len(text)


@settings(deadline=None)
@given(st.text(), st.text())
def test_a_plain_block_is_split_losslessly(reasoning, response):
    reasoning, response = (text.translate(dict.fromkeys(map(ord, "<[◁>]"))) for text in (reasoning, response))
    split = split_completion(f"<think>{reasoning}</think>{response}")
    assert (split.reasoning, split.response) == (reasoning.strip(), response.strip())


@pytest.mark.parametrize(
    "piece", ["<", "<think>", "</think>", "<think></think>", "</s>", "[/THINK", "analysisAssistantfinal"]
)
@pytest.mark.timeout(60)  # a square would take hours
def test_two_megabytes_of_anything_are_split(piece):
    assert split_completion(piece * (2_000_000 // len(piece)))


# --- chat templates -----------------------------------------------------------------------------------------

MODES = {
    "chatml": "none",
    "think_tags": "tags",
    "prefilled": "prefilled",
    "deletes_trace": "prefilled",
    "keeps_trace": "prefilled",
    "channels": "channels",
    "opens_itself": "prefilled",
    "doubles_block": "none",
    "no_end": "none",
}


@pytest.mark.parametrize(("name", "mode"), MODES.items())
def test_think_mode_of_each_stand_in_template(name, mode):
    assert think_mode(toy_tokenizer(OWN[name])) == mode


def test_a_prompt_with_a_closed_block_expects_no_trace():
    source = OWN["prefilled"].replace("<think>\\n' }}", "<think>\\n\\n</think>\\n\\n' }}")
    assert source != OWN["prefilled"]
    assert think_mode(toy_tokenizer(source)) == "none"


FORMS = {
    "chatml": {"content": "<think>\nplan\n</think>\n\nFive."},
    "think_tags": {"reasoning_content": "plan", "content": "Five."},
    "prefilled": {"reasoning_content": "plan", "content": "Five."},
    "keeps_trace": {"content": "<think>\nplan\n</think>\n\nFive."},
    "channels": {"reasoning_content": "plan", "content": "Five."},
    "opens_itself": {"content": "plan\n</think>\n\nFive."},
}


@pytest.mark.parametrize(("name", "form"), FORMS.items())
def test_the_form_in_which_each_template_keeps_a_trace(name, form):
    assert render_reasoning(toy_tokenizer(OWN[name]), "plan", "Five.") == {"role": "assistant", **form}


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("deletes_trace", "the trace is dropped.*get_training_chat_template"),
        ("doubles_block", "the think block is doubled"),
        ("no_end", "no special token ends the turn"),
    ],
)
def test_templates_that_keep_a_trace_in_no_form(name, fault):
    with pytest.raises(ValueError, match=fault):
        render_reasoning(toy_tokenizer(OWN[name]), "plan", "Five.")


def test_a_replaced_template_is_looked_at_again():
    tokenizer = toy_tokenizer.__wrapped__(OWN["chatml"])
    assert "reasoning_content" not in render_reasoning(tokenizer, "plan", "Five.")
    tokenizer.chat_template = OWN["think_tags"]
    assert "reasoning_content" in render_reasoning(tokenizer, "plan", "Five.")


def test_bad_requests_say_what_is_wrong():
    with pytest.raises(ValueError, match="has no chat template"):
        think_mode(toy_tokenizer(None))
    with pytest.raises(ValueError, match="reasoning is blank"):
        render_reasoning(toy_tokenizer(OWN["chatml"]), " \n", "Five.")


EXPECTED_MODES = {
    "deepseek_r1_distill": "prefilled",
    "deepseek_r1_distill_training": "prefilled",
    "gptoss": "channels",
    "llama3_1": "none",
    "qwen2_5": "none",
    "qwen3": "tags",
    "qwen3_5_nothink": "none",
    "qwen3_5_think": "prefilled",
    "qwen3_instruct_2507": "none",
}


@pytest.mark.skipif(not trl_templates(), reason="trl, which ships real chat templates, is not installed")
def test_the_templates_that_trl_ships():
    templates = trl_templates()
    for name, mode in EXPECTED_MODES.items():
        assert think_mode(toy_tokenizer(templates[name])) == mode, name
    for name, source in templates.items():
        tokenizer = toy_tokenizer(source)
        if name in KEEP_NO_TRACE:
            with pytest.raises(ValueError, match="in no form"):
                render_reasoning(tokenizer, "plan", "Five.")
            continue
        question = [{"role": "user", "content": "How many?"}]
        prompt = tokenizer.apply_chat_template(question, tokenize=False, add_generation_prompt=True)
        message = render_reasoning(tokenizer, "plan", "Five.")
        text = tokenizer.apply_chat_template([*question, message], tokenize=False)
        assert text.startswith(prompt), name
        think = "prefilled" if think_mode(tokenizer) == "prefilled" else None
        assert parts(text[len(prompt) :], think=think) == ("plan", "Five.", "closed"), name
