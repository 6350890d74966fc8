"""Tests that are killed or hang end the run as a failure; the next run ends the machines that they left."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from local import ROOT
from local.aws.machines.linux import mounts_under
from tests.support.stack.killed import sweep_killed_machines

HOLD = """
import sys, time
from pathlib import Path
from local.aws.machines.machine import Machine
machine = Machine(Path(sys.argv[1]))
machine.start_instance("i-0123456789abcdef0")
print("ready", flush=True)
time.sleep(600)
"""


def test_only_what_nobody_holds_is_swept(tmp_path: Path) -> None:
    state_dir = tmp_path / "state"
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(state_dir)], cwd=ROOT, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"ready\n"
        assert sweep_killed_machines(tmp_path) == []
        assert mounts_under(tmp_path) != []
        holder.kill()
    assert sweep_killed_machines(tmp_path) == [state_dir]
    assert mounts_under(tmp_path) == []
    assert list((state_dir / "instances").iterdir()) == []


IS_KILLED = """
import os, signal

def test_is_killed():
    os.kill(os.getpid(), signal.SIGKILL)
"""
HANGS = """
import threading

def test_hangs():
    threading.Event().wait()
"""


@pytest.mark.parametrize(
    ("code", "says"),
    [(IS_KILLED, "crashed while running"), (HANGS, "Timeout (>2.0s)")],
    ids=["killed", "hangs"],
)
def test_a_run_whose_test_is_killed_or_hangs_ends_as_a_failure(tmp_path: Path, code: str, says: str) -> None:
    """With the settings of pyproject.toml and our conftest.py, but for a shorter limit."""
    module = tmp_path / "test_it.py"
    module.write_text(code + "\n\ndef test_another():\n    pass\n", encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-p", "tests.conftest", "-n", "1", "--timeout=2", str(module)]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert run.returncode == 1, run.stdout
    assert says in run.stdout
