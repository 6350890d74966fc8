"""`make run` killed with SIGKILL, it or what it started: the next start ends and unmounts all of it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from local.aws.machines.linux import ProcessIdentity
from tests.local.tools.run.test_run_main import left_behind, read_until, start, started_processes
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.agent, pytest.mark.slow, pytest.mark.workflow]

MOMENTS = [
    ("Deploy template.yaml", "the program"),
    ("Announce Attached", "first-touch"),
    ("Dispatch Warmer", "warmer"),
    ("Dispatch Warmer", "everything"),
]
"""A line of the story, and whom SIGKILL then meets."""


END_SECONDS = 120
"""A run that was interrupted ends within seconds."""


@pytest.fixture
def runs(tmp_path: Path) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Starts `make run` in one and the same state folder; whatever happens, the last one ends tidily."""
    started: list[subprocess.Popen[str]] = []
    makefile = tmp_path / "Makefile"
    makefile.write_text("run:\n\t@$(COMMAND)\n", encoding="utf-8")

    def next_run(*, by_make: bool = False) -> subprocess.Popen[str]:
        over = ["make", "-f", str(makefile)] if by_make else []
        more = ["--written-percent", "40", "--region", "eu-west-1"]
        started.append(start(tmp_path / "state", *more, over=over))
        return started[-1]

    yield next_run
    for run in started:
        if run.poll() is None:
            run.send_signal(signal.SIGINT)
        try:
            run.communicate(timeout=END_SECONDS)
        except subprocess.TimeoutExpired:
            run.kill()
            raise
    assert left_behind(tmp_path / "state") == []


@pytest.mark.long
def test_nothing_of_a_killed_run_outlives_the_next_start(
    runs: Callable[[], subprocess.Popen[str]], tmp_path: Path
) -> None:
    state = tmp_path / "state"
    earlier: list[ProcessIdentity] = []
    for words, whom in MOMENTS:
        run = runs()
        read_until(run.stderr, "Embedded AWS")
        assert [one for one in earlier if one.is_alive()] == []
        read_until(run.stderr, words)
        earlier = kill(run, whom, state)
    last = runs()
    out, err = last.communicate()
    assert [one for one in earlier if one.is_alive()] == []
    assert last.returncode == 0, err
    assert json.loads(out.splitlines()[-1])["verdict"] == "ready"
    assert left_behind(state) == []


def test_a_killed_make_takes_its_run_along_and_the_next_start_waits_for_that(
    runs: Callable[..., subprocess.Popen[str]], tmp_path: Path
) -> None:
    """Without the first it would go on, and keep the next start out."""
    run = runs(by_make=True)
    read_until(run.stderr, "Deploy template.yaml")
    processes = started_processes(tmp_path / "state")
    earlier = [ProcessIdentity.of(pid) for pid in processes if Path(f"/proc/{pid}").exists()]
    kill_one(run.pid)
    run.wait()
    read_until(runs().stderr, "Embedded AWS")
    assert [one for one in earlier if one.is_alive()] == []


def kill(run: subprocess.Popen[str], whom: str, state: Path) -> list[ProcessIdentity]:
    """SIGKILL for one of them, then for the program itself; all that it had started."""
    processes = wait_for_process(whom, state)
    victims = [pid for pid, command in processes.items() if whom in (program(command), "everything")]
    identities = [ProcessIdentity.of(pid) for pid in processes if Path(f"/proc/{pid}").exists()]
    for pid in victims:
        kill_one(pid)
    time.sleep(0.5 if victims else 0)
    kill_one(run.pid)
    run.wait()
    return identities


def wait_for_process(name: str, state: Path) -> dict[int, str]:
    """All of them, once the one with this name is among them."""
    processes: dict[int, str] = {}

    def is_there() -> bool:
        processes.update(started_processes(state))
        return name in ("the program", "everything", *map(program, processes.values()))

    wait_until(is_there, lambda: processes)
    return processes


def program(command: str) -> str:
    return Path(command.split(maxsplit=1)[0]).name


def kill_one(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:  # ended by itself, or with another
        return
