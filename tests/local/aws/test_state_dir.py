"""The folder that one embedded AWS owns, and what a killed one left in it (local/aws/state_dir.py)."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from local.aws.state_dir import MARKER, StateDir, StateDirError, StateDirInUseError


def test_a_second_owner_is_refused_until_the_first_is_gone(tmp_path):
    first = StateDir(tmp_path / "state")
    with pytest.raises(StateDirInUseError, match="another embedded AWS runs in"):
        StateDir(tmp_path / "state")
    first.close()
    first.close()
    StateDir(tmp_path / "state").close()


def test_an_owner_that_ends_is_waited_for(tmp_path):
    first = StateDir(tmp_path / "state")
    first.begin_end()
    later = threading.Timer(0.3, first.close)
    later.start()
    try:
        second = StateDir(tmp_path / "state")
        with pytest.raises(StateDirInUseError, match="another embedded AWS runs in"):
            StateDir(tmp_path / "state")
        second.close()
    finally:
        later.join()
    first.begin_end()


def test_an_owner_that_does_not_come_to_its_end_is_not_waited_for_for_ever(tmp_path, monkeypatch):
    monkeypatch.setattr("local.aws.state_dir.ENDING_SECONDS", 0.2)
    first = StateDir(tmp_path / "state")
    first.begin_end()
    with pytest.raises(StateDirInUseError, match="another embedded AWS runs in"):
        StateDir(tmp_path / "state")
    first.close()


def test_a_folder_that_cannot_be_made_is_a_sentence():
    with pytest.raises(StateDirError, match=r"/proc/x cannot be the state directory \(No such file"):
        StateDir(Path("/proc/x"))


def test_files_of_a_predecessor_are_gone(tmp_path):
    (tmp_path / "state" / "tmp" / "deep").mkdir(parents=True)
    (tmp_path / "state" / "messages").write_text("old", encoding="utf-8")
    state = StateDir(tmp_path / "state")
    assert sorted(path.name for path in state.path.iterdir()) == ["lock", "tmp"]
    assert list((state.path / "tmp").iterdir()) == []
    state.close()


def sleeper(folder):
    """A process as an embedded AWS in this folder would start it; it ignores the polite signal."""
    ignore = "signal.signal(signal.SIGTERM, signal.SIG_IGN)"
    program = f"import signal, time; {ignore}; print(1, flush=True); time.sleep(60)"
    started = subprocess.Popen(
        [sys.executable, "-c", program], env={**os.environ, MARKER: str(folder)}, stdout=subprocess.PIPE
    )
    assert started.stdout is not None
    started.stdout.readline()
    return started


def test_processes_of_a_predecessor_are_ended_and_no_others(tmp_path):
    left, other = sleeper(tmp_path / "state"), sleeper(tmp_path / "state-2")
    try:
        StateDir(tmp_path / "state").close()
        assert left.wait() == -9
        assert other.poll() is None
    finally:
        for process in (left, other):
            process.kill()
            process.wait()
            process.stdout.close()


def test_a_process_that_was_started_on_the_way_out_is_ended(tmp_path):
    state = StateDir(tmp_path / "state")
    late = sleeper(tmp_path / "state")
    try:
        state.close()
        assert late.wait() == -9
    finally:
        late.kill()
        late.wait()
        late.stdout.close()


def test_mounts_of_a_predecessor_are_gone(tmp_path):
    mount = tmp_path / "state" / "a mount"
    mount.mkdir(parents=True)
    subprocess.run(["mount", "-t", "tmpfs", "none", str(mount)], check=True)
    StateDir(tmp_path / "state").close()
    assert not mount.exists()
    assert str(tmp_path) not in Path("/proc/self/mountinfo").read_text(encoding="utf-8")
