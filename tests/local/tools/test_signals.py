"""What ends a command: a signal, or the end of the make that runs it (local/tools/signals.py)."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from local import ROOT
from local.aws.machines.linux import ProcessIdentity
from local.tools.signals import MADE_BY_MAKE
from tests.support.waiting import wait_until

PROGRAM = """
import os, sys, time
from local.tools.signals import stop_by_signals
stop_by_signals()
try:
    print(os.getpid(), flush=True)
    time.sleep(60)
finally:
    open(sys.argv[1], "w").write("tidy")
"""


def start(tmp_path: Path, *command: str, **environment: str) -> tuple[subprocess.Popen[str], ProcessIdentity]:
    """The program under another one, and its own identity."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    (tmp_path / "program.py").write_text(PROGRAM, encoding="utf-8")
    words = [sys.executable, str(tmp_path / "program.py"), str(tmp_path / "trace")]
    (tmp_path / "Makefile").write_text(f"run:\n\t@{shlex.join(words)}\n", encoding="utf-8")
    over = subprocess.Popen(
        [*command, *(words if command[0] != "make" else [])],
        stdout=subprocess.PIPE, text=True, cwd=tmp_path, env={**kept, **environment, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert over.stdout is not None
    return over, ProcessIdentity.of(int(over.stdout.readline()))


def kill(over: subprocess.Popen[str]) -> None:
    over.kill()
    over.wait()
    assert over.stdout is not None
    over.stdout.close()


def test_a_killed_make_ends_what_it_ran_tidily(tmp_path: Path) -> None:
    over, program = start(tmp_path, "make", "run")
    assert program.pid != over.pid
    kill(over)
    wait_until(lambda: not program.is_alive())
    assert (tmp_path / "trace").read_text(encoding="utf-8") == "tidy"


def test_who_was_not_run_by_make_goes_on(tmp_path: Path) -> None:
    """As with nohup and `&`: only make stands for the command that it runs."""
    over, program = start(tmp_path, "setsid", "--fork", "--wait")
    try:
        kill(over)
        time.sleep(0.5)
        assert program.is_alive()
    finally:
        program.kill()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_it_tidily(tmp_path: Path, number: signal.Signals) -> None:
    over, program = start(tmp_path, "env", **{MADE_BY_MAKE: "1"})
    os.kill(program.pid, number)
    over.communicate()
    assert (tmp_path / "trace").read_text(encoding="utf-8") == "tidy"
