"""What a row holds, in whatever layout: the output of a model, its constraints, and the prompt.

Layouts that are recognised by their columns, beside those named by `Columns`:

    output       `resps` (samples of riftk and of lm-evaluation-harness); `messages` that end with the
                 assistant's; `text` (judged as it is); `completion`, a text or messages; `reasoning` and
                 `response`; `response`. Of messages the last one counts, with its `reasoning_content`,
                 `thinking` or `reasoning`
    constraints  `constraints` (riftk); `instruction_id_list` and `kwargs` (IFEval, IFBench);
                 `constraint_name` and `constraint_args` (MathIF, ReasonIF); any of them within `doc`
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from riftk.constraints import Constraint, Text, parse_constraint
from riftk.judging import Output
from riftk.rewards.completions import read_completion
from riftk.rows import RowError, paired_constraints

from .records import Record


@dataclass(frozen=True)
class Columns:
    """Names of columns; None recognises the layout by its usual names.

    Args:
        text: a text that is judged as it is, nothing split off.
        completion: everything that was generated, as text or as messages.
        reasoning, response: the two parts of an output, already split.
        constraints: list of `{"id", "args", "target"}`, or its JSON.
        finish_reason: "stop", "length" (cut off) or "error".
    """

    text: str | None = None
    completion: str | None = None
    reasoning: str | None = None
    response: str | None = None
    constraints: str | None = None
    finish_reason: str | None = None

    def __post_init__(self) -> None:
        ways = (self.text, self.completion, self.reasoning or self.response)
        if sum(way is not None for way in ways) > 1:
            raise ValueError("give a text column, or a completion column, or reasoning and response columns")


@dataclass(frozen=True)
class Case:
    """One row, ready to be judged.

    Args:
        source: the output of a model, or a text that is judged as it is.
        constraints: what it must follow, in order.
        prompt, answer: text of the request and gold answer, as far as the row has them.
        published: rulebook of the benchmark whose columns the row has.
    """

    source: Output | Text
    constraints: tuple[Constraint, ...]
    prompt: str = ""
    answer: str = ""
    published: str | None = None

    @property
    def status(self) -> str | None:
        """How the reasoning of an output ends, see `riftk.completions.Completion`; None for a text."""
        return self.source.completion.status if isinstance(self.source, Output) else None


@dataclass(frozen=True)
class Reader:
    """Reads rows into cases.

    Args:
        columns: where things are.
        constraints: those of every row; empty takes each row's own.
        target: what constraints are about that do not say it; None follows the benchmark (ReasonIF:
            reasoning; all others: response).
        think: how completions mark their reasoning, see `riftk.completions.think_mode`; None takes the
            row's own `think`, or decides from the text.
    """

    columns: Columns = field(default_factory=Columns)
    constraints: tuple[Constraint, ...] = ()
    target: str | None = None
    think: str | None = None

    def case(self, record: Record) -> Case:
        """Read one row.

        Raises:
            RowError: a column that is missing or holds something else.
            riftk.constraints.ConstraintError: a constraint that cannot be checked.
        """
        published, constraints = (None, self.constraints) if self.constraints else self._constraints(record)
        source = self._source(record)
        if isinstance(source, Text) and self.columns.reasoning:
            for constraint in constraints:
                if constraint.target != "reasoning":
                    raise RowError(f"{constraint.id} is about the response, of which no column is given")
        answer = record.get("answer")
        return Case(source, constraints, _prompt(record), "" if answer is None else str(answer), published)

    # ------------------------------------------------------------------------------ constraints

    def _constraints(self, record: Record) -> tuple[str | None, tuple[Constraint, ...]]:
        """The constraints of a row, and the rulebook of the benchmark whose columns it has."""
        if name := self.columns.constraints:
            return None, self._parsed(_column(record, name), name)
        for place in (record, record.get("doc")):
            if not isinstance(place, Mapping):
                continue
            if place.get("constraints") is not None:
                return None, self._parsed(place["constraints"], "constraints")
            if "instruction_id_list" in place:
                return self._paired(place, "instruction_id_list", "kwargs", "ifeval", "response")
            if "constraint_name" in place:
                # Of the two benchmarks with these columns, only MathIF describes its constraints so.
                mathif = "constraint_desc" in place
                benchmark = ("mathif", "response") if mathif else ("reasonif", "reasoning")
                return self._paired(place, "constraint_name", "constraint_args", *benchmark)
        raise RowError(
            "no list of `constraints` (or `instruction_id_list`, `constraint_name`), and no --constraint "
            f"given; found {_names(record)}"
        )

    def _parsed(self, value: Any, name: str) -> tuple[Constraint, ...]:
        aim = {} if self.target is None else {"target": self.target}
        specs = _list(value, name)
        return tuple(parse_constraint({**aim, **s} if isinstance(s, Mapping) else s) for s in specs)

    def _paired(
        self, record: Record, ids: str, args: str, published: str, usual: str
    ) -> tuple[str | None, tuple[Constraint, ...]]:
        target = self.target or usual
        names, values = _list(record[ids], ids), _list(_column(record, args), args)
        return published if target == usual else None, paired_constraints(names, values, target)

    # ------------------------------------------------------------------------------ the output

    def _source(self, record: Record) -> Output | Text:
        columns = self.columns
        if columns.text:
            return Text(_string(record, columns.text))
        if columns.completion:
            return self._output(record, _column(record, columns.completion), columns.completion)
        if columns.reasoning and not columns.response:
            return Text(_string(record, columns.reasoning))
        if columns.response:
            return self._parts(record, columns.reasoning, columns.response)
        if "resps" in record:
            return self._output(record, _only(record["resps"]), "resps")
        if _answered(record.get("messages")):
            return self._output(record, record["messages"], "messages")
        if isinstance(record.get("text"), str):
            return Text(record["text"])
        if record.get("completion") is not None:
            return self._output(record, record["completion"], "completion")
        if "response" in record:
            return self._parts(record, "reasoning" if "reasoning" in record else None, "response")
        raise RowError(f"no text in a column `text` or `completion`; found {_names(record)}")

    def _parts(self, record: Record, reasoning: str | None, response: str) -> Output:
        trace = _column(record, reasoning) if reasoning else None
        if trace is not None and not isinstance(trace, str):
            raise RowError(f"column {reasoning!r} holds no text, but {type(trace).__name__}")
        return self._output({**record, "reasoning_content": trace}, _string(record, response), response)

    def _output(self, record: Record, completion: Any, name: str) -> Output:
        trace = record.get("reasoning_content")
        if isinstance(completion, list | tuple):
            if not _answered(completion):
                raise RowError(f"column {name!r} holds no messages that end with the assistant's")
            completion, apart = read_completion(completion)
            trace = apart or trace
        if not isinstance(completion, str | None):
            raise RowError(f"column {name!r} holds no text, but {type(completion).__name__}")
        finish_reason = record.get("finish_reason")
        if self.columns.finish_reason:
            finish_reason = _column(record, self.columns.finish_reason)
        return Output(
            text=completion or "",
            think=self.think or record.get("think"),
            reasoning_content=trace if isinstance(trace, str) else None,
            finish_reason=finish_reason or "stop",
            tokens=record.get("completion_tokens"),
            error=record.get("error"),
        )


def _column(record: Record, name: str) -> Any:
    if name not in record:
        raise RowError(f"column {name!r} is missing; found {_names(record)}")
    return record[name]


def _string(record: Record, name: str) -> str:
    value = _column(record, name)
    if not isinstance(value, str):
        raise RowError(f"column {name!r} holds no text, but {type(value).__name__}")
    return value


def _names(record: Record) -> str:
    return ", ".join(sorted(map(str, record))) or "nothing"


def _list(value: Any, name: str) -> list[Any]:
    """A list that may be written as JSON."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError) as error:
            raise RowError(f"column `{name}` is not JSON ({error})") from None
    if not isinstance(value, list | tuple):
        raise RowError(f"column `{name}` holds no list, but {type(value).__name__}")
    return list(value)


def _only(resps: Any) -> Any:
    """The one completion of a stored sample, `[[text]]`."""
    texts = [
        text for group in _list(resps, "resps") for text in (group if isinstance(group, list) else [group])
    ]
    if len(texts) != 1:
        raise RowError(f"column `resps` holds {len(texts)} completions; give each a row of its own")
    return texts[0]


def _answered(messages: Any) -> bool:
    """Whether a list of messages ends with the assistant's."""
    last = messages[-1] if isinstance(messages, list | tuple) and messages else None
    return isinstance(last, Mapping) and last.get("role") == "assistant"


def _prompt(record: Record) -> str:
    """The last request of a user."""
    doc = record.get("doc")
    places = [record, doc] if isinstance(doc, Mapping) else [record]
    for place in places:
        for name in ("prompt", "messages", "question"):
            value = place.get(name)
            if isinstance(value, str):
                return value
            if isinstance(value, list | tuple):
                asked = [m for m in value if isinstance(m, Mapping) and m.get("role") == "user"]
                if asked:
                    return read_completion(asked[-1])[0]
    return ""
