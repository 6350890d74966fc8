"""The benchmark's plumbing on tiny real volumes. Nothing here says how fast anything is."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from local import ROOT
from local.aws.machines.dataplane import DataPlaneError, VolumeLimits
from local.aws.machines.first_touch_process import FirstTouchSettings
from local.aws.machines.linux import mounts_under
from local.aws.machines.loop_devices import leftover_loops
from local.tools.bench.cold_volume import cold_volume
from local.tools.bench.measure import Running, run
from local.tools.bench.rounds import run_rounds
from local.tools.bench.session import Session
from local.tools.bench.specs import SPECS, VolumeSpec
from local.tools.bench.tools import AGENT, require_tools
from tests.local.tools.bench.sessions import session_below
from tests.support.waiting import wait_until

QUICK = FirstTouchSettings(mean_latency_ms=1.0)
TINY = VolumeSpec(
    name="tiny",
    text="",
    size_gib=1 / 64,
    written_fraction=0.5,
    settings=QUICK,
    tools=("dd", "agent-io_uring", "agent-threads"),
    once=("parallel-dd",),
)
FILE = VolumeSpec(
    name="file", text="", size_gib=1 / 64, settings=QUICK, on_file=True, tools=("agent-threads",)
)


@pytest.fixture
def session(tmp_path):
    with session_below(tmp_path) as made:
        yield made
    assert_nothing_left(tmp_path)


def assert_nothing_left(folder: Path) -> None:
    assert mounts_under(folder) == []
    wait_until(lambda: not leftover_loops(folder))  # the kernel releases a device at its last close


def test_every_tool_runs_once_a_round_on_a_cold_volume(session):
    told = []
    runs = run_rounds(session, [TINY, FILE], 2, lambda _: True, told.append)
    assert told == runs
    names = [(one.round, one.volume, one.tool) for one in runs]
    assert sorted(names) == sorted(
        [(number, "tiny", tool) for number in (1, 2) for tool in TINY.tools]
        + [(1, "tiny", "parallel-dd"), (1, "file", "agent-threads"), (2, "file", "agent-threads")]
    )
    assert [one.void for one in runs] == [""] * len(runs) or _only_io_uring_refused(runs)
    assert all(one.seconds > 0 and one.peak_mib > 0 for one in runs if not one.void)
    assert list(session.volumes.iterdir()) == []


def _only_io_uring_refused(runs) -> bool:
    return {one.tool for one in runs if one.void} == {"agent-io_uring"}


def test_the_volumes_count_sees_a_reader_that_leaves_something_out(session):
    with cold_volume(session.volumes, TINY, "vol-part", session.backing.path) as volume:
        usage = run([["dd", f"if={volume.target}", "of=/dev/null", "bs=512k", "count=4"]], volume.folder, 30)
        stats = volume.stats()
        assert usage.status == 0
        assert stats["read_blocks"] < stats["written_blocks"]
        assert stats["last_read_ns"] > stats["first_read_ns"] > 0
        assert volume.cpu_seconds() >= 0


def test_the_limits_change_after_the_first_read(session):
    with cold_volume(session.volumes, FILE, "vol-change", session.backing.path) as volume:
        slow, fast = (
            VolumeLimits(iops=3_000, throughput_mib_s=1),
            VolumeLimits(iops=3_000, throughput_mib_s=1_000),
        )
        command = ["dd", f"if={volume.target}", "of=/dev/null", "bs=512k"]
        with volume.changing(slow, 0.0):
            time.sleep(0.1)
            assert volume.stats()["read_ops"] == 0
            give_up = time.monotonic() + 60
            took = 0.0
            # Half a MiB at 1 MiB/s, as soon as the first read was noticed.
            while took < 0.4 and time.monotonic() < give_up:
                began = time.monotonic()
                run([[*command, "count=1"]], volume.folder, 60)
                took = time.monotonic() - began
        assert took >= 0.4
        with volume.changing(fast, 3_600.0):
            run([[*command, "count=1"]], volume.folder, 60)


def test_a_tool_that_hangs_is_killed(tmp_path):
    usage = run([["sleep", "60"], ["true"]], tmp_path, 0.3)
    assert usage.status != 0
    assert usage.seconds < 30


def test_status_and_output_are_those_of_the_tool(tmp_path):
    usage = run([["true"], ["sh", "-c", "echo told; exit 7"]], tmp_path, 30)
    assert usage.status == 7
    assert (tmp_path / "output-1").read_text() == "told\n"
    # A shell's few MiB: the large process that starts it does not count.
    assert 0 < usage.peak_mib < 16


def test_killed_tools_are_gone(tmp_path):
    running = Running([["sleep", "600", str(tmp_path)]], tmp_path)
    running.kill()
    running.kill()
    assert not _still_running(tmp_path)


def test_a_second_benchmark_is_refused(session):
    with pytest.raises(DataPlaneError, match="another benchmark uses"):
        Session(session.state_dir, AGENT)


def test_what_is_missing_is_said(tmp_path, monkeypatch):
    with pytest.raises(DataPlaneError, match="build it with"):
        require_tools(tmp_path / "warmer", ["dd"])
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(DataPlaneError, match="not installed: dd, fio, losetup"):
        require_tools(AGENT, ["dd", "fio-aws"])


def _start(state_dir: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "local.tools.bench", "--volume", "full", "--tool", "dd", "--json"]
    return subprocess.Popen(
        [*command, "--state-dir", str(state_dir)], cwd=ROOT, text=True, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, start_new_session=True,
    )  # fmt: skip


def _wait_for_dd(process: subprocess.Popen[str], state_dir: Path) -> None:
    wait_until(lambda: list(state_dir.glob("state/volumes/*/output-0")) or process.poll() is not None)
    assert process.poll() is None, process.stderr.read()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_everything(tmp_path, number):
    process = _start(tmp_path)
    _wait_for_dd(process, tmp_path)
    process.send_signal(number)
    output, _ = process.communicate()
    assert process.returncode == 130
    assert json.loads(output) == {"verdict": "stopped"}
    assert_nothing_left(tmp_path)
    assert not _still_running(tmp_path)


def test_what_a_killed_benchmark_left_is_swept_by_the_next(tmp_path):
    process = _start(tmp_path)
    _wait_for_dd(process, tmp_path)
    process.kill()
    process.communicate()
    with Session(tmp_path / "state", AGENT):
        assert_nothing_left(tmp_path)


def _still_running(folder: Path) -> list[str]:
    found = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = entry.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if str(folder) in words and entry.parent.name != str(os.getpid()):
            found.append(words)
    return found


def test_the_volumes_of_the_benchmark_fit_first_touch(session):
    for spec in SPECS:
        with cold_volume(
            session.volumes, spec.sized(1 / 64), f"vol-{spec.name}", session.backing.path
        ) as volume:
            assert volume.stats()["written_blocks"] == spec.sized(1 / 64).written_blocks
