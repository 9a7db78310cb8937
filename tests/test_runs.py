"""Run folders: one configuration, one process, and children that end with their parent."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest
import yaml

from riftk import runs
from riftk.paths import resolve
from riftk.runs import RunError, open_run


def test_the_same_configuration_goes_on_and_another_stops(tmp_path):
    config = {"learning_rate": 1e-3, "stages": ["synth"], "hub_token": "secret", "benchmarks": ("tiny",)}
    run = open_run(tmp_path, config)
    assert yaml.safe_load((tmp_path / "config.yaml").read_text())["benchmarks"] == ["tiny"]
    assert "secret" not in (tmp_path / "config.yaml").read_text()
    run.mark_finished("train")
    run.lock.close()
    again = open_run(tmp_path, {**config, "stages": ["eval"]})
    assert again.is_finished("train")
    assert not again.is_finished("run")
    again.lock.close()
    with pytest.raises(RunError, match=r"learning_rate: 0\.001 -> 0\.1"):
        open_run(tmp_path, {**config, "learning_rate": 0.1})


def test_a_folder_in_use_is_refused(tmp_path):
    held = open_run(tmp_path, {})
    with pytest.raises(RunError, match="another process"):
        open_run(tmp_path, {})
    held.lock.close()


def test_a_failing_child_is_one_sentence():
    with pytest.raises(RunError, match="riftk check stopped with exit status 2"):
        runs.riftk("check", constraint="no:such_constraint", rules=["robust"])


def test_a_child_does_not_inherit_the_launchers_variables(tmp_path, monkeypatch):
    seen = tmp_path / "environment"
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    (tmp_path / "python").write_text(f"#!/bin/sh\nenv > {seen}\n")
    (tmp_path / "python").chmod(0o755)
    for name in ("RANK", "MASTER_ADDR", "ACCELERATE_USE_DEEPSPEED", "FSDP_VERSION"):
        monkeypatch.setenv(name, "1")
    monkeypatch.setenv("KEPT", "1")
    runs.riftk("eval", model="m", limit=None, flag=True, off=False, benchmarks=["a", "b"])
    names = {line.split("=")[0] for line in seen.read_text().splitlines()}
    assert "KEPT" in names
    assert not names & {"RANK", "MASTER_ADDR", "ACCELERATE_USE_DEEPSPEED", "FSDP_VERSION"}


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel's parent-death signal is Linux's")
def test_a_killed_parent_takes_its_worker_along():
    worker = (
        "import time; from riftk.runs import die_with_parent\n"
        "die_with_parent(); print('up', flush=True); time.sleep(60)"
    )
    parent = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {worker!r}])"
    process = subprocess.Popen(
        [sys.executable, "-c", parent], stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    assert process.stdout.readline() == "up\n"
    process.kill()
    process.wait()
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        try:
            os.killpg(process.pid, 0)
        except ProcessLookupError:
            return
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGKILL)
    pytest.fail("the worker outlived its parent")


def test_names_resolve_to_files_packages_or_the_hub(tmp_path):
    assert resolve(str(tmp_path)) == str(tmp_path)
    assert resolve("Qwen/Qwen3-8B") == "Qwen/Qwen3-8B"
    assert resolve("pkg://riftk/py.typed").endswith("py.typed")
    for missing in (
        "./no/such/folder",
        str(tmp_path / "no"),
        "pkg://riftk/no.such",
        "pkg://no_such_package/x",
    ):
        with pytest.raises(FileNotFoundError):
            resolve(missing)
