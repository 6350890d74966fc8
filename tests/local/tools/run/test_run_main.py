"""The program as a process: exit statuses, the line of JSON, and that stopping it leaves nothing behind."""

import fcntl
import json
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from local import ROOT
from local.aws.state_dir import MARKER
from local.tools.run import __main__ as program
from local.tools.run.live.view import View
from local.tools.run.options import Options
from local.tools.run.story import Story
from local.tools.signals import MADE_BY_MAKE, SIGNALS

SMALL = ["--size-gib", "1", "--written-percent", "5", "--skip-second", "--json"]


@pytest.fixture(autouse=True)
def handlers(monkeypatch):
    """`main` takes over the signals; give them back. And `make test` is not the make that runs it."""
    monkeypatch.delenv(MADE_BY_MAKE, raising=False)
    before = {number: signal.getsignal(number) for number in SIGNALS}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def start(state_dir, *more, over=()):
    """The program, or what runs it as COMMAND."""
    command = [sys.executable, "-m", "local.tools.run", "--state-dir", str(state_dir), *SMALL, *more]
    return subprocess.Popen(
        [*over, f"COMMAND={shlex.join(command)}"] if over else command,
        cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def read_until(stream, words):
    """Lines up to the one with the words."""
    seen = []
    for line in stream:
        seen.append(line)
        if words in line:
            return seen
    raise AssertionError(f"{words!r} did not come: {''.join(seen)}")


def started_processes(state_dir):
    """What an embedded AWS in the state folder has started: command lines by process id.

    Programs on an instance do not inherit the mark; they are in the process namespace of their instance.
    """
    mark, here = f"{MARKER}={state_dir}".encode(), Path("/proc/self/ns/pid").readlink()
    found, namespaces = {}, {}
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            pid, inside = int(entry.name), (entry / "ns/pid").readlink()
            namespaces.setdefault(inside, []).append(pid)
            if mark in (entry / "environ").read_bytes().split(b"\0"):
                found[pid] = (entry / "ns/pid_for_children").readlink()
        except OSError:  # ended meanwhile
            continue
    instances = {name for name in found.values() if name != here}
    everyone = {*found, *(pid for name in instances for pid in namespaces.get(name, []))}
    return {pid: words for pid in sorted(everyone) if (words := command_line(pid))}


def lines_of(path):
    try:
        return path.read_text().splitlines()
    except OSError:  # another test's device, released meanwhile
        return []


def command_line(pid):
    try:
        return Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ").strip()
    except OSError:  # ended meanwhile
        return ""


def left_behind(state_dir):
    """Processes, mounts and loop devices that belong to the state folder."""
    lists = [Path("/proc/self/mountinfo"), *Path("/sys/block").glob("loop*/loop/backing_file")]
    found = [line for one in lists for line in lines_of(one) if str(state_dir) in line]
    return [*found, *started_processes(state_dir).values()]


@pytest.mark.agent
@pytest.mark.slow
@pytest.mark.workflow
@pytest.mark.long
def test_a_small_restore_ends_ready_with_one_line_of_json(tmp_path):
    process = start(tmp_path / "state")
    out, err = process.communicate()
    assert process.returncode == 0, err
    (line,) = out.splitlines()
    told = json.loads(line)
    assert told["verdict"] == "ready"
    (restore,) = told["restores"]
    assert restore["strategy"] == "warm-up-agent"
    assert restore["proof"]["filesIdentical"] == restore["proof"]["files"] > 0
    if told["dataPlane"]["kind"] == "first-touch":
        assert restore["proof"]["readBlocks"] == restore["proof"]["writtenBlocks"] > 0
    assert Path(told["report"]).read_text(encoding="utf-8").startswith("<!doctype html>")
    assert "Plan for snap-" in err
    assert left_behind(tmp_path / "state") == []


@pytest.mark.agent
@pytest.mark.slow
@pytest.mark.workflow
@pytest.mark.long
def test_volumes_that_others_have_made_are_adopted_and_nothing_is_left(tmp_path):
    process = start(tmp_path / "state", "--scenario", "adopt", "--region", "eu-central-1")
    out, err = process.communicate()
    assert process.returncode == 0, err
    told = json.loads(out)
    assert (told["verdict"], told["leftRunning"]) == ("ready", [])
    by_rule, asked, again = told["restores"]
    for restore in (by_rule, asked):
        proof = restore["proof"]
        assert (restore["strategy"], proof["filesIdentical"]) == ("warm-up-agent", proof["files"])
        assert proof["readBlocks"] == proof["writtenBlocks"] > 0
    assert again["proof"]["readBlocks"] == asked["proof"]["readBlocks"], "it was warm, so nothing is read"
    assert "An application has read 4 KiB" in err
    assert err.count("is where it was, in-use. All that it has got: rewarm:warm-since=") == 2
    assert left_behind(tmp_path / "state") == []


@pytest.mark.agent
@pytest.mark.slow
@pytest.mark.workflow
@pytest.mark.parametrize(
    ("words", "number"),
    [
        pytest.param("Embedded AWS", signal.SIGINT, marks=pytest.mark.long),
        ("Create Volume", signal.SIGTERM),
        pytest.param("Dispatch Warmer", signal.SIGINT, marks=pytest.mark.long),
    ],
)
def test_stopping_ends_everything_that_was_started(tmp_path, words, number):
    process = start(tmp_path / "state", "--region", "us-east-1")
    read_until(process.stderr, words)
    process.send_signal(number)
    out, err = process.communicate()
    assert process.returncode == 130, err
    assert json.loads(out) == {"verdict": "stopped"}
    assert "Stopped. Everything that was started has been ended." in err
    assert "Traceback" not in err
    assert left_behind(tmp_path / "state") == []


def test_a_folder_in_use_is_a_sentence_and_status_1(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(program, "_log_to_file", lambda: None)
    with (tmp_path / "lock").open("ab") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert program.main(["--state-dir", str(tmp_path), *SMALL]) == 1
    told = capsys.readouterr()
    result = json.loads(told.out.splitlines()[-1])
    assert result["verdict"] == "failed"
    assert "another embedded AWS runs in" in result["problems"][0]
    assert "Rewarm cannot run here: another embedded AWS runs in" in told.err
    assert "Setting up" not in told.err


def test_a_disk_without_room_is_a_sentence_before_anything_is_made(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(program, "_log_to_file", lambda: None)
    monkeypatch.setattr("shutil.disk_usage", lambda path: SimpleNamespace(free=5 << 30))
    size = ["--size-gib", "8", "--json"]
    assert program.main(["--state-dir", str(tmp_path), *size, "--scenario", "rewind"]) == 1
    told = capsys.readouterr()
    (problem,) = json.loads(told.out.splitlines()[-1])["problems"]
    assert problem == (
        f"{tmp_path} has 5.0 GiB of free disk space, and the run needs 24.0 GiB; "
        "free some, or take a smaller --size-gib or --written-percent"
    )
    assert "File system of the lost volume" not in told.err


def test_a_second_signal_does_not_interrupt_the_clean_up(monkeypatch, capsys):
    ended = []

    class Host:
        def __init__(self, _state_dir, *, region_settings):
            """Nothing starts."""

        def close(self):
            os.kill(os.getpid(), signal.SIGINT)
            ended.append("closed")

    def tell(_story, _host):
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(5)

    monkeypatch.setattr(program, "Host", Host)
    monkeypatch.setattr(program, "_log_to_file", lambda: None)
    monkeypatch.setattr(Story, "tell", tell)
    assert program.main(SMALL) == 130
    assert ended == ["closed"]
    assert json.loads(capsys.readouterr().out) == {"verdict": "stopped"}


def test_a_fault_of_the_program_itself_is_not_hidden(monkeypatch):
    class Host:
        closed = 0

        def __init__(self, _state_dir, *, region_settings):
            """Nothing starts."""

        def close(self):
            Host.closed += 1

    def tell(_story, _host):
        raise ZeroDivisionError

    monkeypatch.setattr(program, "Host", Host)
    monkeypatch.setattr(program, "_log_to_file", lambda: None)
    monkeypatch.setattr(Story, "tell", tell)
    with pytest.raises(ZeroDivisionError):
        program.main(SMALL)
    assert Host.closed == 1


def test_without_json_the_story_goes_to_standard_output(monkeypatch, capsys):
    streams = []

    def run(_options, view):
        streams.append(view.console.file)
        return 0, {}

    monkeypatch.setattr(program, "_log_to_file", lambda: None)
    monkeypatch.setattr(program, "_run", run)
    assert program.main(["--skip-second"]) == 0
    assert streams == [sys.stdout]
    assert capsys.readouterr().out == ""


def test_a_story_starts_with_an_empty_record():
    story = Story(Options(), View(sys.stderr))
    assert story.run.restores == []
