"""Chat templates: how a template makes a model mark its reasoning, and in which form it keeps a given
trace."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

from riftk.completions.split import MARK, MARKER, TAGS, split_completion

_USER = "Sentinel question of riftk"
_TRACE = "Sentinel trace of riftk"
_ANSWER = "Sentinel answer of riftk"


@dataclass(frozen=True)
class _Form:
    """How a message carries a trace: under a key of its own, or inside the content between two markers."""

    key: str | None = None
    before: str = ""
    between: str = ""

    def message(self, reasoning: str, response: str) -> dict[str, str]:
        if self.key:
            return {"role": "assistant", self.key: reasoning, "content": response}
        content = self.before + reasoning + self.between + response
        return {"role": "assistant", "content": content}


# The form found for each tokenizer and template; a replaced template is looked at again.
_FORMS: WeakKeyDictionary[Any, tuple[str, _Form]] = WeakKeyDictionary()


def think_mode(tokenizer: Any) -> str:
    """How the tokenizer's chat template leads a model to mark its reasoning.

    Returns:
        "prefilled": the generation prompt ends with an opening tag. "channels": gpt-oss style messages.
        "tags": the template renders reasoning inside tags that the model has to write itself. "none":
        everything else, also templates that keep tags which they are given but never make any, and prompts
        with a closed empty block (a model that writes tags without its template knowing is still split
        correctly).

    Raises:
        ValueError: the tokenizer has no chat template.
    """
    question = [{"role": "user", "content": _USER}]
    prompt = generation_prompt(tokenizer, question)
    if prompt.rstrip().endswith("<|channel|>analysis<|message|>"):
        return "channels"
    if opens_trace(prompt):
        return "prefilled"
    if MARK.search(prompt.rpartition(_USER)[2]):
        return "none"
    for key in ("reasoning_content", "thinking"):
        try:
            text = _render(tokenizer, [*question, _Form(key).message(_TRACE, _ANSWER)])
        except _template_errors():
            continue
        lead = text[len(prompt) : text.find(_TRACE)] if _TRACE in text else ""
        if "<|message|>" in lead:
            return "channels"
        if any(MARKER[m[0].lower()][1] for m in MARK.finditer(lead)):
            return "tags"
    return "none"


def render_reasoning(tokenizer: Any, reasoning: str, response: str) -> dict[str, str]:
    """One assistant message with the trace in the form which *this* chat template keeps and supervises.

    Many templates drop `reasoning_content` without a word, and the one of DeepSeek-R1-Distill deletes
    everything before `</think>`. So the forms (reasoning keys, tags in the content, content that continues
    a block opened by the prompt, channels) are tried with a sentinel, and the first is taken for which

    - the trace and the answer survive rendering, once each;
    - the rendered generation prompt is a prefix of the rendered conversation, in text and in token ids, so
      that the trace lies inside the labels;
    - what follows the prompt splits back into exactly this trace and this answer, with one think block;
    - a special token ends the turn.

    Raises:
        ValueError: no form survives (the message says why for each, and which template to use), the
            tokenizer has no chat template, or the reasoning is blank (a row without a trace is a plain
            message).
    """
    if not reasoning.strip():
        raise ValueError("the reasoning is blank; a row without a trace is a plain assistant message")
    return _form(tokenizer).message(reasoning.strip(), response.strip())


def generation_prompt(tokenizer: Any, messages: list[Any]) -> str:
    """The rendered prompt, up to where the model starts to write.

    Raises:
        ValueError: the tokenizer has no chat template.
    """
    if not getattr(tokenizer, "chat_template", None):
        name = getattr(tokenizer, "name_or_path", "") or type(tokenizer).__name__
        raise ValueError(
            f"the tokenizer of {name} has no chat template (base models have none); set its chat_template"
        )
    return _render(tokenizer, messages, add_generation_prompt=True)


def opens_trace(prompt: str) -> bool:
    """Whether a rendered prompt ends with an opening think tag: the completion begins inside the trace."""
    return prompt.rstrip().lower().endswith(tuple(opening.lower() for opening, _ in TAGS))


def turn_tail(tokenizer: Any) -> str:
    """What the chat template renders behind the last answer, e.g. "<|im_end|>" and a newline."""
    messages = [{"role": "user", "content": _USER}, {"role": "assistant", "content": _ANSWER}]
    return _render(tokenizer, messages).rpartition(_ANSWER)[2]


def _render(tokenizer: Any, messages: list[Any], **options: Any) -> str:
    return tokenizer.apply_chat_template(messages, tokenize=False, **options)


def _template_errors() -> tuple[type[Exception], ...]:
    from jinja2.exceptions import TemplateError

    return (TemplateError, TypeError, ValueError, KeyError, AttributeError)


def turn_end_ids(tokenizer: Any) -> set[int]:
    """Ids of the tokens that can end a turn: the EOS token and all special ones.

    Tokens that are merely added to the vocabulary (`</think>`, runs of newlines in Gemma's) cannot.
    """
    ids = {index for index, token in tokenizer.added_tokens_decoder.items() if token.special}
    return ids if tokenizer.eos_token_id is None else ids | {tokenizer.eos_token_id}


def _form(tokenizer: Any) -> _Form:
    cached = _FORMS.get(tokenizer)
    template = str(tokenizer.chat_template)
    if cached and cached[0] == template:
        return cached[1]
    messages = [{"role": "user", "content": _USER}]
    prompt = generation_prompt(tokenizer, messages)
    faults: list[str] = []
    for form in _candidate_forms(tokenizer, prompt):
        try:
            text = _render(tokenizer, [*messages, form.message(_TRACE, _ANSWER)])
        except _template_errors() as error:
            fault = f"the template refuses it: {error}"
        else:
            fault = _fault(tokenizer, prompt, text)
        if fault is None:
            _FORMS[tokenizer] = (template, form)
            return form
        if fault not in faults:
            faults.append(fault)
    raise ValueError(
        f"this chat template keeps and supervises a trace in no form ({'; or '.join(faults)}). Take a "
        "template made for training: tokenizer.chat_template = "
        "trl.chat_template_utils.get_training_chat_template(tokenizer) for the families that trl knows "
        "(DeepSeek-R1-Distill is one), or one that renders the assistant's content unchanged and ends the "
        "turn with the EOS token"
    )


def _candidate_forms(tokenizer: Any, prompt: str) -> Iterator[_Form]:
    yield _Form("reasoning_content")
    yield _Form("thinking")
    turn = prompt.rpartition(_USER)[2]
    opened = [TAGS[MARKER[m[0].lower()][0]] for m in MARK.finditer(turn)]
    known = [pair for pair in TAGS if pair[0] in tokenizer.get_added_vocab()]
    opening, closing = (opened + known + [TAGS[0]])[0]
    for before in (f"{opening}\n", "", opening):
        yield _Form(None, before, f"\n{closing}\n\n")
    if "<|channel|>" in tokenizer.get_added_vocab():
        final = "<|end|><|start|>assistant<|channel|>final<|message|>"
        yield _Form(None, "<|channel|>analysis<|message|>", final)


def _fault(tokenizer: Any, prompt: str, text: str) -> str | None:
    """Why a rendered sentinel conversation is no use for training, or None."""
    if _TRACE not in text:
        return "the trace is dropped"
    if text.count(_TRACE) > 1 or text.count(_ANSWER) != 1:
        return "trace and answer do not appear once each"
    if not text.startswith(prompt):
        return "the generation prompt is not a prefix of the rendered conversation"
    if text.find(_TRACE) < len(prompt):
        return "the trace lies before the generation prompt's end, outside the labels"
    lead = text[text.find(_USER) + len(_USER) : text.find(_TRACE)]
    if len(MARK.findall(lead)) > 1:
        return "the think block is doubled"
    body, tail = text[len(prompt) :].split(_ANSWER)
    think = "prefilled" if opens_trace(prompt) else None
    split = split_completion(body + _ANSWER, think=think)
    if (split.reasoning, split.response, split.blocks) != (_TRACE, _ANSWER, 1):
        return "the rendered turn does not split back into trace and answer"
    ids = tokenizer(text, add_special_tokens=False)["input_ids"]
    prompt_ids = tokenizer(prompt, add_special_tokens=False)["input_ids"]
    if ids[: len(prompt_ids)] != prompt_ids:
        return "the prompt's tokens are not a prefix of the conversation's tokens"
    if turn_end_ids(tokenizer).isdisjoint(tokenizer(tail, add_special_tokens=False)["input_ids"]):
        return "no special token ends the turn, so the model would never learn to stop"
    return None
