"""Split what a model generated into reasoning and response.

A completion reaches riftk in many shapes: with `<think>` tags of many spellings, with the opening tag in
the prompt instead of the text, with gpt-oss channels (special tokens kept, or stripped by the decoder), or
already separated by an API. `split_completion` reads all of them from the text.

Sources: ReasonIF (trace extraction), MathIF (text judged after the trace), huggingface/trl#6966 (prefilled
    tags).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

THINK_MODES = ("tags", "prefilled", "channels", "none")

# (opening, closing) of every tag family; the first one found wins, so the common ones come first.
TAGS = (
    ("<think>", "</think>"),
    ("<thinking>", "</thinking>"),
    ("<thought>", "</thought>"),  # EXAONE Deep
    ("<reasoning>", "</reasoning>"),
    ("<|begin_of_thought|>", "<|end_of_thought|>"),  # Sky-T1, OpenThinker
    ("[THINK]", "[/THINK]"),  # Magistral
    ("<seed:think>", "</seed:think>"),  # Seed-OSS
    ("<|START_THINKING|>", "<|END_THINKING|>"),  # Command A Reasoning
    ("<|inner_prefix|>", "<|inner_suffix|>"),  # Apertus
    ("◁think▷", "◁/think▷"),  # Kimi-VL
    ("<|channel>thought", "<channel|>"),  # Gemma 4
    ("<unused94>thought", "<unused95>"),  # MedGemma
)
MARKER = {mark.lower(): (family, mark == pair[0]) for family, pair in enumerate(TAGS) for mark in pair}
# Factored by first character, so that ten megabytes of "<" cost one failed character class each.
MARK = re.compile(
    r"<(?=[/t|scru])(?:"
    r"/?(?:think(?:ing)?|thought|reasoning|seed:think)>|\|(?:begin|end)_of_thought\|>|\|(?:START|END)_THINKING\|>"
    r"|\|inner_(?:prefix|suffix)\|>|\|channel>thought|channel\|>|unused94>thought|unused95>)"
    r"|\[/?THINK\]|◁/?think▷",
    re.IGNORECASE,
)

_HARMONY = re.compile(r"<\|(start|channel|message|end|return|call|eom|eot)\|>")
_HARMONY_CHANNEL = re.compile(r"\s*(\w+)")
_STRIPPED_START = re.compile(r"\s*(?:assistant)?(analysis|commentary|final)")
_STRIPPED_SURE = re.compile(r"\s*(?:assistant)?analysis(?=[A-Z0-9])")
_STRIPPED_NEXT = re.compile(r"assistant(?: to=[\w.]+ ?)?(analysis|commentary|final)")

# Decoders that keep special tokens leave the end of the turn behind the text (OpenRLHF does).
_TURN_END = re.compile(
    r"(?:<\|im_end\|>|<\|endoftext\|>|<\|eot_id\|>|<\|end_of_text\|>|<\|end\|>|<\|return\|>|<\|eot\|>|<\|eos\|>"
    r"|<\|END_OF_TURN_TOKEN\|>|<｜end▁of▁sentence｜>|<end_of_turn>|<turn\|>|<eos>|</s>|\[EOS\]|\[\|endofturn\|\])\Z"
)
_WRAPPER = re.compile(r"<\|(?:begin|end)_of_solution\|>|<\|(?:START|END)_RESPONSE\|>")  # around a response


@dataclass(frozen=True)
class Completion:
    """What a model generated, split.

    Args:
        reasoning: text of the trace, without its markers; several blocks are joined by newlines.
        response: the visible answer, without markers; "" while the trace is not closed.
        status: "closed"; "unclosed" (cut off while thinking); "none" (no think block, so all of the text is
            response); "empty" (a block without text in it, or nothing generated at all).
        prefilled: the prompt opened the block, so that the text holds its end only.
        blocks: number of think blocks (of analysis messages with channels).
    """

    reasoning: str
    response: str
    status: str
    prefilled: bool = False
    blocks: int = 0


def split_completion(
    text: str | None, *, think: str | None = None, reasoning_content: str | None = None
) -> Completion:
    """Split a completion into reasoning and response. Never raises on any text, and is linear in its length.

    Rules, in this order:

    1. `reasoning_content` (an API's own field, `reasoning` in newer vLLM) wins where it is given.
    2. gpt-oss channels: all analysis messages are the trace, the last final message is the response. They are
       also read when the decoder stripped the special tokens ("analysis…assistantfinal…").
    3. Think tags of any family, in any letter case. A block ends at the *last* closing tag before the next
       opening one, because traces mention their own tags. A closing tag without an opening one belongs to a
       block that the prompt opened. Text before the first block is part of neither side. After a closed block
       an opening tag in the middle of a line, never closed, is a mention.
    4. No marker at all: everything is response (status "none"), except with `think="prefilled"`, where it
       is a trace that was cut off (status "unclosed"): it must not be taken for the answer.

    Args:
        text: everything that was generated, without the prompt; None counts as "".
        think: what `think_mode` says of the model; None decides from the text alone. "tags" and "none" read
            the text in the same way: a model that wrote no tag did not think, and one that wrote tags did.
        reasoning_content: trace as separated by an API; None where there is no such field.

    Raises:
        ValueError: `think` is not a think mode.
    """
    if think is not None and think not in THINK_MODES:
        raise ValueError(f"think must be one of {', '.join(THINK_MODES)} or None, not {think!r}")
    text = text or ""
    if reasoning_content is not None:
        return _from_api(text, reasoning_content)
    layout = _layout(text, think)
    if layout is None:
        status = "none" if text.strip() else "empty"
        return Completion("", _clean(text), status)
    bodies = [body for body in (_clean(text[start:end]) for start, end in layout.trace) if body]
    reasoning = "\n".join(bodies)
    response = _clean("".join(text[start:end] for start, end in layout.visible))
    status = "unclosed" if not layout.closed else "closed" if reasoning else layout.blank
    return Completion(reasoning, response, status, layout.prefilled, len(layout.trace))


def response_start(text: str, think: str | None = None) -> int:
    """Offset in `text` at which the visible response begins, just past the marker that ends the trace.

    0 where there is no think block, `len(text)` where the trace is not closed.
    """
    layout = _layout(text, think)
    if layout is None:
        return 0
    return layout.visible[-1][0] if layout.closed else len(text)


def _from_api(text: str, reasoning_content: str) -> Completion:
    inner = split_completion(text)  # servers without a reasoning parser leave the tags in the content
    reasoning = reasoning_content.strip() or inner.reasoning
    if inner.status == "unclosed" or (reasoning and not inner.response):
        status = "unclosed"
    else:
        status = "closed" if reasoning else "empty"
    return Completion(reasoning, inner.response, status, False, max(1, inner.blocks))


@dataclass(frozen=True)
class _Layout:
    """Where the parts lie: (start, end) spans of the trace's blocks and of the visible text."""

    trace: list[tuple[int, int]]
    visible: list[tuple[int, int]]
    closed: bool
    prefilled: bool = False
    blank: str = "empty"  # status of a closed layout whose trace holds no text


def _layout(text: str, think: str | None) -> _Layout | None:
    layout = _harmony_layout(text)
    if layout is None and think in (None, "channels"):
        layout = _stripped_layout(text, sure=think == "channels")
    if layout is None:
        layout = _tag_layout(text, prefilled=think == "prefilled")
    return layout


def _clean(text: str) -> str:
    text = (_WRAPPER.sub("", text) if "<|" in text else text).strip()
    stop = len(text)
    while stop and text[stop - 1] in ">]":
        end = _TURN_END.search(text, max(0, stop - 32), stop)
        if not end:
            break
        stop = end.start()
        while stop and text[stop - 1].isspace():
            stop -= 1
    return text[:stop]


def _tag_layout(text: str, prefilled: bool) -> _Layout | None:
    marks = [(m.start(), m.end(), *MARKER[m[0].lower()]) for m in MARK.finditer(text)]
    family = _family_in_use(text, marks)
    marks = [mark for mark in marks if mark[2] == family]
    if not prefilled and not marks:
        return None
    prefilled = prefilled or not marks[0][3]
    body: int | None = None  # where the open block's text begins
    if prefilled:
        doubled = bool(marks) and marks[0][3] and not text[: marks[0][0]].strip()
        body = marks.pop(0)[1] if doubled else 0
    closing: tuple[int, int] | None = None  # its last closing tag so far
    trace: list[tuple[int, int]] = []
    visible: list[tuple[int, int]] = []
    for start, end, _, opening in marks:
        if not opening:
            closing = (start, end)
        elif body is None:
            body = end
        elif closing is not None:
            trace.append((body, closing[0]))
            visible.append((closing[1], start))
            body, closing = end, None
    assert body is not None  # either the prompt opened a block or the first mark does
    if closing is not None:
        trace.append((body, closing[0]))
        visible.append((closing[1], len(text)))
        return _Layout(trace, visible, True, prefilled)
    if visible:
        line = text[slice(*visible[-1])].rpartition("\n")[2]
        if line.strip():  # "… the tag <think> opens a trace": a mention in the answer
            visible[-1] = (visible[-1][0], len(text))
            return _Layout(trace, visible, True, prefilled)
    trace.append((body, len(text)))
    return _Layout(trace, visible, False, prefilled)


def _family_in_use(text: str, marks: list[tuple[int, int, int, bool]]) -> int | None:
    """The family whose opening tag begins the text, else the first that closes (or only opens) a block."""
    if not marks:
        return None
    start, _, family, opening = marks[0]
    if opening and not text[:start].strip():
        return family
    closing = {mark[2] for mark in marks if not mark[3]}
    return min(closing or {mark[2] for mark in marks})


def _harmony_layout(text: str) -> _Layout | None:
    if "<|message|>" not in text and "<|channel|>" not in text:
        return None
    messages: list[tuple[str, int, int]] = []  # channel, start, end
    header, channel, body, prefilled = 0, "", None, False
    for mark in _HARMONY.finditer(text):
        if mark[1] == "message":
            if body is None:
                # Muse names a recipient instead of a channel
                to_self = "to=self" in text[header : mark.start()]
                body, channel = mark.end(), channel or ("analysis" if to_self else "final")
            continue
        if body is not None:
            messages.append((channel, body, mark.start()))
        elif mark[1] == "end" and header == 0 and text[: mark.start()].strip():
            messages.append(("analysis", 0, mark.start()))  # the prompt ended inside the analysis message
            prefilled = True
        header, channel, body = mark.end(), "", None
        if mark[1] == "channel" and (name := _HARMONY_CHANNEL.match(text, mark.end())):
            channel = name[1]
    if body is not None:
        messages.append((channel, body, len(text)))
    trace = [(start, end) for name, start, end in messages if name == "analysis"]
    final = [(start, end) for name, start, end in messages if name == "final"]
    return _Layout(trace, final[-1:], bool(final), prefilled, blank="empty" if trace else "none")


def _stripped_layout(text: str, sure: bool) -> _Layout | None:
    """gpt-oss text whose special tokens were stripped: the channel names are glued to the text.

    Without being `sure` that the model uses channels, the word "analysis" alone is not enough: the text
    must go on as no sentence does, or hold "assistantfinal" as well.
    """
    opening = _STRIPPED_START.match(text)
    if not opening:
        return None
    marks = [(opening.start(), opening.end(), opening[1])]
    marks += [(m.start(), m.end(), m[1]) for m in _STRIPPED_NEXT.finditer(text, opening.end())]
    finals = [number for number, mark in enumerate(marks) if mark[2] == "final"]
    if not sure and not (opening[1] == "analysis" and (finals or _STRIPPED_SURE.match(text))):
        return None
    last = finals[-1] if finals else len(marks)
    trace: list[tuple[int, int]] = []
    for number, (_, end, channel) in enumerate(marks[:last]):
        stop = marks[number + 1][0] if number + 1 < len(marks) else len(text)
        if channel == "analysis":
            trace.append((end, stop))
        elif channel == "final" and trace:  # an earlier "assistantfinal" is a mention inside the trace
            trace[-1] = (trace[-1][0], stop)
    visible = [(marks[last][1], len(text))] if finals else []
    return _Layout(trace, visible, bool(finals), blank="empty" if trace else "none")
