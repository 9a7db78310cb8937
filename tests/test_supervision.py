"""Which tokens carry loss, for every kind of chat template."""

from __future__ import annotations

import pytest
from toy_tokenizers import KEEP_NO_TRACE, OWN, toy_tokenizer, trl_templates

from riftk.completions import render_reasoning
from riftk.supervision import check_supervision, is_trained, show_supervision, tokenize_row

PROMPT = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "How many, in all?"}]
TRACE = "Three apples, four pears.\n\nSeven."
ANSWER = "It is 7.\n\n* seven"


def trained(tokenizer, row):
    return tokenizer.decode([label for label in row["labels"] if label != -100])


def rows_of(tokenizer, trace=TRACE, answer=ANSWER, prompt=PROMPT, **options):
    message = render_reasoning(tokenizer, trace, answer)
    return [
        tokenize_row(tokenizer, prompt, message, loss_on=on, **options)
        for on in ("reasoning", "response", "both")
    ]


TRAINED = {
    # template: (markers around the trace that the model writes, what comes between them and the answer, end)
    "chatml": ("<think>\n{}\n</think>", "\n\n", "<|im_end|>"),
    "think_tags": ("<think>\n{}\n</think>", "\n\n", "<|im_end|>"),
    "prefilled": ("{}\n</think>", "\n\n", "<|im_end|>"),
    "keeps_trace": ("{}\n</think>", "\n\n", "<｜end▁of▁sentence｜>"),
    "opens_itself": ("{}\n</think>", "\n\n", "<|im_end|>"),
    "channels": (
        "<|channel|>analysis<|message|>{}<|end|><|start|>assistant<|channel|>final<|message|>",
        "",
        "<|return|>",
    ),
}


@pytest.mark.parametrize("name", TRAINED)
def test_loss_lies_on_the_part_that_is_asked_for_and_on_the_end(name):
    tokenizer = toy_tokenizer(OWN[name])
    around, between, end = TRAINED[name]
    reasoning, response, both = rows_of(tokenizer)
    assert trained(tokenizer, reasoning) == around.format(TRACE) + end
    assert trained(tokenizer, response) == between + ANSWER + end
    assert trained(tokenizer, both) == around.format(TRACE) + between + ANSWER + end
    assert reasoning["input_ids"] == response["input_ids"] == both["input_ids"]


@pytest.mark.parametrize("name", TRAINED)
def test_ids_begin_with_the_prompt_and_end_with_the_end_of_the_turn(name):
    tokenizer = toy_tokenizer(OWN[name])
    prompt = tokenizer.apply_chat_template(PROMPT, add_generation_prompt=True)["input_ids"]
    for row in rows_of(tokenizer):
        assert row["input_ids"][: len(prompt)] == prompt
        assert set(row["labels"][: len(prompt)]) == {-100}
        assert row["labels"][-1] == row["input_ids"][-1]
        assert tokenizer.decode(row["input_ids"][-1:]) == TRAINED[name][2]
        assert all(
            label in (-100, token) for token, label in zip(row["input_ids"], row["labels"], strict=True)
        )


def test_loss_on_the_end_also_where_another_added_token_stands_before_it():
    source = OWN["chatml"].replace("message.content + '<|im_end|>", "message.content + '<|end|><|im_end|>")
    _, response, _ = rows_of(toy_tokenizer(source))
    assert trained(toy_tokenizer(source), response).endswith("<|end|><|im_end|>")


@pytest.mark.parametrize("answer", ["d", "|", ">", "end", "7 ", "\n7"])
def test_short_answers_are_not_found_in_the_end_of_the_turn(answer):
    tokenizer = toy_tokenizer(OWN["think_tags"])
    _, response, _ = rows_of(tokenizer, answer=answer)
    assert trained(tokenizer, response) == "\n\n" + answer.strip() + "<|im_end|>"


def test_non_ascii_text_and_tags_in_the_prompt():
    tokenizer = toy_tokenizer(OWN["think_tags"])
    prompt = [{"role": "user", "content": "Write <think> and </think>. 多少？"}]
    reasoning, response, _ = rows_of(tokenizer, trace="三加四等于七。🍎", answer="七。", prompt=prompt)
    assert trained(tokenizer, reasoning) == "<think>\n三加四等于七。🍎\n</think><|im_end|>"
    assert trained(tokenizer, response) == "\n\n七。<|im_end|>"


def test_a_row_without_a_trace_is_a_plain_message():
    tokenizer = toy_tokenizer(OWN["chatml"])
    row = tokenize_row(tokenizer, PROMPT, {"role": "assistant", "content": "Seven."}, loss_on="both")
    assert trained(tokenizer, row) == "Seven.<|im_end|>"


def test_where_a_token_merges_across_the_prompt_the_turn_is_tokenised_alone():
    tokenizer = toy_tokenizer(OWN["chatml"].replace("assistant\\n' }}", "assistant' }}"))
    row = tokenize_row(tokenizer, PROMPT, {"role": "assistant", "content": "Seven."}, loss_on="both")
    prompt = tokenizer.apply_chat_template(PROMPT, add_generation_prompt=True)["input_ids"]
    assert row["input_ids"][: len(prompt)] == prompt
    assert trained(tokenizer, row) == "\nSeven.<|im_end|>"


@pytest.mark.parametrize(
    ("name", "message", "fault"),
    [
        ("chatml", {"reasoning_content": "plan", "content": "7"}, "does not keep this message's reasoning"),
        ("deletes_trace", {"content": "<think>\nplan\n</think>\n\n7"}, "renders the prompt differently"),
        ("doubles_block", {"content": "<think>\nplan\n</think>\n\n7"}, "2 think blocks"),
        ("no_end", {"content": "7"}, "never learn to stop"),
    ],
)
def test_templates_that_damage_a_row_are_refused(name, message, fault):
    with pytest.raises(ValueError, match=fault):
        tokenize_row(toy_tokenizer(OWN[name]), PROMPT, {"role": "assistant", **message}, loss_on="both")


def test_an_unknown_part_is_refused():
    with pytest.raises(ValueError, match="loss_on must be one of"):
        tokenize_row(
            toy_tokenizer(OWN["chatml"]), PROMPT, {"role": "assistant", "content": "7"}, loss_on="all"
        )


def test_truncation_is_on_the_right_and_counted():
    tokenizer = toy_tokenizer(OWN["think_tags"])
    whole = rows_of(tokenizer)
    short = rows_of(tokenizer, max_length=len(whole[0]["input_ids"]) - 5)
    assert [row["input_ids"] for row in short] == [row["input_ids"][:-5] for row in whole]
    counts = check_supervision(tokenizer, whole + short, max_share=0.5)
    assert (counts.rows, counts.truncated, counts.untrained) == (6, 3, 0)
    assert counts.trained == sum(label != -100 for row in whole + short for label in row["labels"])
    assert "6 rows" in str(counts)
    with pytest.raises(ValueError, match="3 of 6 rows are cut off before the end of the turn"):
        check_supervision(tokenizer, whole + short, max_share=0.4)


def test_rows_without_a_trained_token_are_counted_and_refused():
    tokenizer = toy_tokenizer(OWN["chatml"])
    prompt_only = rows_of(tokenizer, max_length=10)[0]
    end_only = tokenize_row(tokenizer, PROMPT, {"role": "assistant", "content": "7"}, loss_on="reasoning")
    assert not is_trained(prompt_only)
    assert is_trained(end_only)
    assert not is_trained(end_only, {end_only["labels"][-1]})
    with pytest.raises(ValueError, match="2 of 2 rows have no trained token"):
        check_supervision(tokenizer, [prompt_only, end_only])
    with pytest.raises(ValueError, match="no row to train on"):
        check_supervision(tokenizer, [])


def test_a_row_is_shown_with_its_loss_in_colour():
    tokenizer = toy_tokenizer(OWN["think_tags"])
    reasoning, _, _ = rows_of(tokenizer, answer="It is 7.")
    shown = show_supervision(tokenizer, reasoning)
    assert (
        f"{sum(label != -100 for label in reasoning['labels'])} of {len(reasoning['labels'])} tokens" in shown
    )
    assert "\x1b[1;32mSeven.\x1b[0m" in shown
    assert "\x1b[2mIt is 7.\x1b[0m" in shown
    assert "[bold]" in show_supervision(tokenizer, rows_of(tokenizer, trace="[bold]x[/bold]")[0])  # no markup


@pytest.mark.skipif(not trl_templates(), reason="trl, which ships real chat templates, is not installed")
def test_the_templates_that_trl_ships():
    checked = 0
    for name, source in trl_templates().items():
        tokenizer = toy_tokenizer(source)
        if name in KEEP_NO_TRACE:
            continue
        rows = rows_of(tokenizer, prompt=PROMPT[1:])
        checked += 1
        reasoning, response, both = (trained(tokenizer, row) for row in rows)
        assert TRACE in reasoning, name
        assert ANSWER not in reasoning, name
        assert ANSWER in response, name
        assert TRACE not in response, name
        assert TRACE in both, name
        assert check_supervision(tokenizer, rows).truncated == 0, name
    assert checked > 40
