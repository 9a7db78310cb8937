"""verifiers' own scoring with riftk's reward: documented tasks of v1, former rubrics.

Run in an environment with verifiers (0.1 to 0.4 are known): `python -m pytest -m verifiers tests`.
"""

from __future__ import annotations

import asyncio
import importlib.util
import json
import tomllib
from typing import Any

import pytest
from adapter_cases import BROKEN, CLOSED, CUT_OFF, GOOD, QUESTION, ROW, TRACE
from docs_blocks import blocks

pytestmark = pytest.mark.verifiers
pytest.importorskip("verifiers", reason="verifiers is not installed; see README, Tests")
V1 = importlib.util.find_spec("verifiers.v1") is not None and importlib.util.find_spec("verifiers.v1.trace")
v1 = pytest.mark.skipif(not V1, reason="this verifiers has no v1")
former = pytest.mark.skipif(bool(V1), reason="this verifiers has no rubrics")
RESPONSE = CLOSED.partition("</think>")[2]


@pytest.fixture
def task(tmp_path, monkeypatch):
    """The first task of the documented taskset, loaded through the documented configuration."""
    from verifiers.v1.utils.loaders import load_taskset, resolve_env_config

    row = {"item_id": "a", "prompt": [{"role": "user", "content": QUESTION}], **ROW}
    (tmp_path / "rows.jsonl").write_text(json.dumps(row) + "\n")
    (tmp_path / "my_rows.py").write_text(blocks("docs/rewards/verifiers.md", "python")[0])
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    configured = tomllib.loads(blocks("docs/rewards/verifiers.md", "toml")[0])
    return next(iter(load_taskset(resolve_env_config(configured["env"]).taskset)))


def score(task: Any, content: str | None, reasoning: str | None = None, finish: str = "stop") -> Any:
    """A trace of one reply, scored by the task."""
    import verifiers.v1 as vf

    nodes = [
        vf.MessageNode(message=vf.UserMessage(content=QUESTION)),
        vf.MessageNode(
            parent=0,
            sampled=True,
            message=vf.AssistantMessage(content=content, reasoning_content=reasoning),
        ),
    ]
    calls = [vf.ModelCall(node=1, finish_reason=finish)]
    trace = vf.Trace.model_construct(
        nodes=nodes, calls=calls, rewards={}, metrics={}, root_reply=None, stop_condition=None
    )
    asyncio.run(task.score(trace))
    return trace


@v1
@pytest.mark.parametrize(
    ("content", "reasoning", "finish", "earned"),
    [
        (GOOD, None, "stop", 1.0),
        (CLOSED, None, "stop", 1.0),
        (BROKEN, None, "stop", 0.0),
        (CUT_OFF, None, "length", 0.0),
        (CUT_OFF, None, "stop", 0.0),
        (RESPONSE, TRACE, "stop", 1.0),
        (RESPONSE, TRACE, "length", 0.0),
        (None, CUT_OFF, "length", 0.0),
        (None, None, "stop", 0.0),
    ],
)
def test_a_task_pays_by_the_documented_configuration(task, content, reasoning, finish, earned):
    trace = score(task, content, reasoning, finish)
    assert trace.reward == earned
    assert trace.rewards["gated"].score == earned
    assert trace.metrics["score"] == earned
    assert trace.metrics["has_answer"] == 1.0


@v1
def test_a_file_can_be_plugged_in():
    from verifiers.v1.utils.loaders import plugged_fn

    path = importlib.util.find_spec("riftk.rewards.verifiers").origin
    assert plugged_fn(f"{path}:gated").__name__ == "gated"


@former
@pytest.mark.parametrize(("text", "earned"), [(GOOD, 1.0), (CLOSED, 1.0), (BROKEN, 0.0), (CUT_OFF, 0.0)])
@pytest.mark.parametrize("as_object", [False, True], ids=["dicts", "objects"])
def test_a_rubric_pays(text, earned, as_object):
    import verifiers as vf
    from verifiers.types import AssistantMessage

    from riftk.rewards.verifiers import rubric_reward

    said = {"role": "assistant", "content": text}
    state = vf.State(
        prompt=[{"role": "user", "content": QUESTION}],
        completion=[AssistantMessage(**said) if as_object else said],
        answer="8",
        info=dict(ROW),
        trajectory=[],
        timing=None,
    )
    rubric = vf.Rubric(funcs=[rubric_reward], weights=[1.0])
    asyncio.run(rubric.score_group([state]))
    assert state["reward"] == earned
    assert state["metrics"] == {"rubric_reward": earned}
