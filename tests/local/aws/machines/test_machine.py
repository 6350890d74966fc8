"""The machine: volumes on instances, commands that really run, and nothing left behind."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from local.aws.machines import first_touch_process
from local.aws.machines.dataplane import BLOCK_BYTES, DataPlaneError, SnapshotImage, VolumeLimits
from local.aws.machines.first_touch_process import FirstTouchSettings
from local.aws.machines.instances import BY_ID, Command
from local.aws.machines.linux import ProcessIdentity, mounts_under
from local.aws.machines.loop_devices import leftover_loops
from local.aws.machines.machine import Machine
from tests.local.aws.machines.commands import INSTANCE, run
from tests.support.waiting import wait_until

ROOT = Path(__file__).resolve().parents[4]
VOLUME, OTHER = "vol-0123456789abcdef0", "vol-0fedcba9876543210"
LINK = f"/dev/disk/by-id/{BY_ID}vol0123456789abcdef0"
LIMITS = VolumeLimits(iops=16_000, throughput_mib_s=1000)
SETTINGS = FirstTouchSettings(mean_latency_ms=1)
IMAGE = SnapshotImage("snap-0123456789abcdef0", 1, ((0, 8),), None)


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    made = Machine(tmp_path, SETTINGS)
    yield made
    made.close()


@pytest.fixture
def attached(machine: Machine) -> Machine:
    """A running instance with a cold volume."""
    machine.start_instance(INSTANCE)
    machine.create_volume(VOLUME, 1, IMAGE, LIMITS, warm=False)
    machine.attach_volume(VOLUME, INSTANCE, "/dev/sdf")
    assert machine.note is None, f"these tests need FUSE and loop devices: {machine.note}"
    return machine


def start(machine: Machine, script: str, **environment: str) -> Command:
    command = machine.run_command(INSTANCE, script, environment=environment)
    assert isinstance(command, Command)
    return command


def wait_for_release(folder: Path) -> None:
    """The kernel releases a device at its last close, and whoever looks for devices opens them all."""
    wait_until(lambda: not leftover_loops(folder))


def sleeper(number: int) -> str:
    """An argument for sleep that no other process of this machine has."""
    return f"{os.getpid() % 100_000 + 100_000}{number:02}"


def processes_with(argument: str) -> list[int]:
    """Living processes whose command line has this argument."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if argument.encode() in (entry / "cmdline").read_bytes().split(b"\0"):
                found.append(int(entry.name))
        except OSError:
            continue
    return found


def test_links_come_with_attach_and_go_with_detach(attached: Machine) -> None:
    expected = f"{BY_ID}vol0123456789abcdef0\n{BY_ID}vol0123456789abcdef0_1\n"
    assert run(attached, "ls /dev/disk/by-id") == (0, expected, "")
    assert run(attached, f"test -b {LINK} && blockdev --getsize64 {LINK}")[1] == f"{1 << 30}\n"
    attached.detach_volume(VOLUME, INSTANCE)
    assert run(attached, "ls /dev/disk/by-id") == (0, "", "")
    attached.attach_volume(VOLUME, INSTANCE, "/dev/sdg")
    assert run(attached, f"test -b {LINK}")[0] == 0


def test_without_nvme_no_volume_has_a_name(machine: Machine) -> None:
    machine.start_instance(INSTANCE, nvme=False)
    machine.create_volume(VOLUME, 1, IMAGE, LIMITS, warm=False)
    machine.attach_volume(VOLUME, INSTANCE, "/dev/sdf")
    assert run(machine, "ls /dev/disk/by-id") == (0, "", "")
    machine.detach_volume(VOLUME, INSTANCE)


def test_an_instance_sees_its_own_volumes_only(attached: Machine) -> None:
    attached.create_volume(OTHER, 1, None, LIMITS, warm=True)
    attached.start_instance("i-2")
    attached.attach_volume(OTHER, "i-2", "/dev/sdf")
    assert OTHER.replace("-", "") not in run(attached, "ls /dev/disk/by-id")[1]
    assert list(Path("/dev/disk").glob(f"by-id/{BY_ID}*")) == []


def test_the_device_has_the_request_limit_of_ebs(attached: Machine) -> None:
    script = (
        f'q=/sys/block/$(basename $(readlink -f {LINK}))/queue; cat "$q/max_sectors_kb" "$q/read_ahead_kb"'
    )
    assert run(attached, script)[1] == "256\n128\n"


def test_counters_tell_what_the_instance_did(attached: Machine) -> None:
    read = f"dd if={LINK} of=/dev/null bs=1M count=2 iflag=direct"
    assert run(attached, read)[0] == 0
    counters = attached.counters(VOLUME)
    assert (counters.read_ops, counters.read_bytes) == (8, 2 << 20)
    assert (counters.written_blocks, counters.read_blocks) == (8, 4)
    assert counters.fetched_blocks >= 4
    assert counters.read_seconds > 0
    assert run(attached, f"dd if=/dev/zero of={LINK} bs=256k count=3 oflag=direct")[0] == 0
    assert (attached.counters(VOLUME).write_ops, attached.counters(VOLUME).write_bytes) == (3, 768 << 10)


def test_background_initialization_and_limits_reach_the_volume(attached: Machine) -> None:
    attached.set_initialized_fraction(VOLUME, 0.5)
    assert attached.counters(VOLUME).fetched_blocks == 4
    attached.set_limits(VOLUME, VolumeLimits(iops=16_000, throughput_mib_s=8))
    started = time.monotonic()
    assert run(attached, f"dd if={LINK} of=/dev/null bs=1M count=4 iflag=direct")[0] == 0
    assert time.monotonic() - started >= 4 / 8 - 0.01


def test_faults_reach_the_volume(attached: Machine) -> None:
    attached.inject_fault(VOLUME, "eio 1 1")
    assert "Input/output error" in run(attached, f"dd if={LINK} of=/dev/null bs=512k count=2 iflag=direct")[2]
    attached.inject_fault(VOLUME, "clear")
    assert run(attached, f"dd if={LINK} of=/dev/null bs=512k count=2 iflag=direct")[0] == 0


def test_a_command_has_its_own_environment(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "of-this-process")
    machine.start_instance(INSTANCE)
    status, out, err = run(machine, "env; pwd >&2; id -u", GREETING="hello world")
    assert status == 0
    assert "GREETING=hello world\n" in out
    assert "AWS_SECRET" not in out
    assert f"HOME={machine.state_dir}/instances/{INSTANCE}/home\n" in out
    assert out.endswith("\n0\n")
    assert err.startswith(str(machine.state_dir))


def test_exit_status_and_output_come_back(machine: Machine) -> None:
    machine.start_instance(INSTANCE)
    assert run(machine, "echo out; echo err >&2; exit 7") == (7, "out\n", "err\n")
    assert run(machine, "kill -TERM $$")[0] == -1
    assert run(machine, "sh -c 'kill -KILL $$'; exit $?")[0] == 137
    assert len(run(machine, "head -c 3000000 /dev/zero | tr '\\0' x")[1]) == 3_000_000
    assert run(machine, "# " + "x" * 200_000 + "\necho long")[1] == "long\n"
    command = start(machine, "echo first; sleep 60")
    wait_until(lambda: command.output()[0] == "first\n")
    assert command.poll() is None
    command.cancel()


def test_cancel_kills_what_the_command_started(machine: Machine) -> None:
    machine.start_instance(INSTANCE)
    one, two, three, four, five = (sleeper(number) for number in range(5))
    survivor = start(machine, f"sleep {one}")
    command = start(
        machine, f"sleep {two} & setsid sleep {three} & (setsid setsid sleep {four} &) ; sleep {five}"
    )
    wait_until(lambda: all(processes_with(argument) for argument in (one, two, three, four, five)))
    command.cancel()
    assert command.poll() == -1
    assert [processes_with(argument) for argument in (two, three, four, five)] == [[], [], [], []]
    assert survivor.poll() is None
    command.cancel()


def test_stopping_an_instance_kills_everything_on_it(machine: Machine) -> None:
    machine.start_instance(INSTANCE)
    daemon, waiting = sleeper(10), sleeper(11)
    assert run(machine, f"setsid sleep {daemon} >/dev/null 2>&1 &")[0] == 0
    command = start(machine, f"sleep {waiting}")
    wait_until(lambda: processes_with(daemon) and processes_with(waiting))
    machine.stop_instance(INSTANCE)
    assert processes_with(daemon) == processes_with(waiting) == []
    assert command.poll() == -1
    machine.stop_instance(INSTANCE)
    with pytest.raises(DataPlaneError, match="is not running"):
        start(machine, "true")


def test_an_instance_that_was_killed_says_so(attached: Machine) -> None:
    record = attached.state_dir / "instances" / INSTANCE / "holder.pid"
    identity = ProcessIdentity.read(record)
    assert identity is not None
    identity.kill()
    with pytest.raises(DataPlaneError, match="has ended"):
        start(attached, "true")
    attached.detach_volume(VOLUME, INSTANCE)
    with pytest.raises(DataPlaneError, match="has ended"):
        attached.attach_volume(VOLUME, INSTANCE, "/dev/sdf")
    wait_for_release(attached.state_dir)
    attached.stop_instance(INSTANCE)
    attached.start_instance(INSTANCE)
    assert run(attached, "true")[0] == 0


def test_a_restarted_instance_has_its_volumes_and_files_again(attached: Machine) -> None:
    assert run(attached, 'echo kept > "$HOME/state"')[0] == 0
    attached.stop_instance(INSTANCE)
    attached.start_instance(INSTANCE)
    assert run(attached, f'test -b {LINK} && cat "$HOME/state"') == (0, "kept\n", "")


def test_wrong_requests_are_refused_with_a_reason(attached: Machine) -> None:
    refused: list[tuple[Callable[[], object], str]] = [
        (lambda: attached.attach_volume(VOLUME, INSTANCE, "/dev/sdg"), "is attached to"),
        (lambda: attached.detach_volume(VOLUME, "i-2"), "is not attached to i-2"),
        (lambda: attached.delete_volume(VOLUME), "is attached to"),
        (lambda: attached.attach_volume(OTHER, INSTANCE, "/dev/sdg"), "does not exist"),
        (lambda: attached.counters(OTHER), "does not exist"),
        (lambda: attached.create_volume(VOLUME, 1, None, LIMITS, warm=True), f"{VOLUME} exists"),
        (lambda: attached.create_volume("../x", 1, None, LIMITS, warm=True), "is not the id"),
        (
            lambda: attached.create_volume(OTHER, 1, SnapshotImage("snap-1", 2, (), None), LIMITS, warm=True),
            "2 GiB",
        ),
        (lambda: attached.start_instance(INSTANCE), "is running"),
        (lambda: start(attached, "true", BAD="\0"), "cannot start"),
        (lambda: Machine(attached.state_dir), "another run uses"),
    ]
    for request, reason in refused:
        with pytest.raises(DataPlaneError, match=reason):
            request()
    assert run(attached, f"test -b {LINK}")[0] == 0


def test_a_snapshot_that_is_not_there_leaves_no_volume(machine: Machine, tmp_path: Path) -> None:
    image = SnapshotImage("snap-1", 1, ((0, 8),), tmp_path / "missing")
    with pytest.raises(DataPlaneError, match="missing"):
        machine.create_volume(VOLUME, 1, image, LIMITS, warm=False)
    assert list((tmp_path / "volumes").iterdir()) == []
    machine.create_volume(VOLUME, 1, None, LIMITS, warm=True)


def test_a_deleted_volume_is_gone(attached: Machine) -> None:
    attached.detach_volume(VOLUME, INSTANCE)
    attached.delete_volume(VOLUME)
    attached.delete_volume(VOLUME)
    volumes = attached.state_dir / "volumes"
    assert list(volumes.iterdir()) == []
    wait_for_release(volumes)
    assert mounts_under(volumes) == [volumes]


def test_close_leaves_nothing_even_when_a_command_hangs_on_a_stalled_volume(attached: Machine) -> None:
    attached.inject_fault(VOLUME, "stall 3600")
    command = start(attached, f"dd if={LINK} of=/dev/null bs=1M count=1 iflag=direct")
    time.sleep(0.3)
    assert command.poll() is None
    attached.close()
    attached.close()
    assert_clean(attached.state_dir)


def assert_clean(state_dir: Path) -> None:
    assert mounts_under(state_dir) == []
    wait_for_release(state_dir)
    assert [entry for name in ("volumes", "instances") for entry in (state_dir / name).iterdir()] == []
    assert processes_with(str(state_dir / "volumes" / VOLUME / "mount")) == []


_HOLD = f"""
import sys, time
from pathlib import Path
from local.aws.machines.dataplane import SnapshotImage, VolumeLimits
from local.aws.machines.machine import Machine
machine = Machine(Path(sys.argv[1]))
machine.create_volume("{VOLUME}", 1, None, VolumeLimits(3000, 125), warm=True)
machine.attach_volume("{VOLUME}", "{INSTANCE}", "/dev/sdf")
machine.start_instance("{INSTANCE}")
machine.run_command("{INSTANCE}", "exec 3<{LINK}; setsid sleep " + sys.argv[2], environment={{}})
print("ready", flush=True)
time.sleep(600)
"""


@pytest.mark.parametrize("folder", ["same", "another"])
def test_a_machine_cleans_up_after_a_killed_one(tmp_path: Path, folder: str) -> None:
    argument = sleeper(20)
    command = [sys.executable, "-c", _HOLD, str(tmp_path / "same"), argument]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"ready\n"
        wait_until(lambda: processes_with(argument))
        (loop,) = leftover_loops(tmp_path)
        holder.kill()
    # Processes and file system end by themselves; the device stays until somebody takes it away.
    wait_until(lambda: not processes_with(argument))
    wait_until(lambda: mounts_under(tmp_path) == [tmp_path / "same" / "volumes"])
    machine = Machine(tmp_path / folder, SETTINGS)
    try:
        wait_until(lambda: loop not in leftover_loops(tmp_path))
        machine.create_volume(VOLUME, 1, None, LIMITS, warm=True)
    finally:
        machine.close()
        Machine(tmp_path / "same").close()
    assert_clean(tmp_path / "same")


def test_a_foreign_process_with_a_recorded_id_is_left_alone(tmp_path: Path) -> None:
    with subprocess.Popen(["sleep", "600"]) as foreign:
        folder = tmp_path / "instances" / "i-1"
        folder.mkdir(parents=True)
        record = folder / "holder.pid"
        ProcessIdentity.of(foreign.pid).write(record)
        kept = json.loads(record.read_text())
        record.write_text(json.dumps(kept | {"start_ticks": kept["start_ticks"] - 1}))
        Machine(tmp_path).close()
        assert foreign.poll() is None
        foreign.kill()


def test_a_recorded_process_of_a_killed_run_is_ended(tmp_path: Path) -> None:
    with subprocess.Popen(["sleep", "600"]) as leftover:
        folder = tmp_path / "instances" / "i-1"
        folder.mkdir(parents=True)
        ProcessIdentity.of(leftover.pid).write(folder / "holder.pid")
        (folder / "broken.pid").write_text('{"pid":')
        Machine(tmp_path).close()
        assert leftover.wait() == -signal.SIGKILL


def refuse_tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Let a program of the host fail as it does without the privilege."""
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / name).write_text(f"#!/bin/sh\necho {name} failed: Operation not permitted >&2\nexit 1\n")
    (tools / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}:{os.environ['PATH']}")


def test_a_machine_that_may_not_mount_says_what_it_needs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refuse_tool(tmp_path, monkeypatch, "mount")
    with pytest.raises(DataPlaneError, match="need CAP_SYS_ADMIN"):
        Machine(tmp_path / "state")
    monkeypatch.undo()
    Machine(tmp_path / "state").close()


def test_without_fuse_volumes_are_plain_files_and_the_note_says_so(
    machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unable = tmp_path / "unable"
    unable.write_text("#!/bin/sh\necho cannot mount >&2\nexit 4\n")
    unable.chmod(0o755)
    monkeypatch.setattr(first_touch_process, "build_program", lambda: unable)
    machine.create_volume(VOLUME, 1, IMAGE, LIMITS, warm=False)
    assert machine.note is not None
    assert "plain files" in machine.note
    assert "cannot mount" in machine.note
    machine.start_instance(INSTANCE)
    machine.attach_volume(VOLUME, INSTANCE, "/dev/sdf")
    assert run(machine, f"dd if={LINK} of=/dev/null bs=1M count=2 iflag=direct")[0] == 0
    machine.detach_volume(VOLUME, INSTANCE)
    counters = machine.counters(VOLUME)
    assert counters.read_bytes >= 2 << 20
    assert (counters.written_blocks, counters.fetched_blocks, counters.read_blocks) == (8, 8, 0)
    with pytest.raises(DataPlaneError, match="plain file"):
        machine.inject_fault(VOLUME, "stall 1")


def test_without_loop_devices_the_link_is_the_volume_itself(tmp_path: Path) -> None:
    machine = Machine(tmp_path, FirstTouchSettings(mean_latency_ms=1, use_loop_devices=False))
    try:
        machine.start_instance(INSTANCE)
        machine.create_volume(VOLUME, 1, IMAGE, LIMITS, warm=False)
        machine.attach_volume(VOLUME, INSTANCE, "/dev/sdf")
        assert machine.note is not None
        assert "no loop devices" in machine.note
        assert run(machine, f"dd if={LINK} of=/dev/null bs=512k count=3")[0] == 0
        assert machine.counters(VOLUME).read_blocks == 3
    finally:
        machine.close()


def test_loop_devices_that_cannot_be_made_are_noted(
    attached: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    attached.create_volume(OTHER, 1, IMAGE, LIMITS, warm=False)
    refuse_tool(tmp_path, monkeypatch, "losetup")
    attached.attach_volume(OTHER, INSTANCE, "/dev/sdg")
    assert attached.note is not None
    assert "Operation not permitted" in attached.note
    link = LINK.replace("vol0123456789abcdef0", "vol0fedcba9876543210")
    assert run(attached, f"dd if={link} of=/dev/null bs=512k count=1")[0] == 0
    monkeypatch.undo()


def test_an_instance_that_cannot_have_namespaces_says_what_it_needs(
    machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refuse_tool(tmp_path, monkeypatch, "unshare")
    with pytest.raises(DataPlaneError, match=r"needs root with CAP_SYS_ADMIN.*Operation not permitted"):
        machine.start_instance(INSTANCE)


def test_the_host_has_what_these_tests_need() -> None:
    for tool in ("unshare", "nsenter", "losetup", "mkfs.ext4", "debugfs", "cp", "make", "cc", "pkg-config"):
        assert shutil.which(tool), f"{tool} is not installed (util-linux, e2fsprogs, make, gcc, pkg-config)"
    assert Path("/dev/fuse").exists(), "there is no /dev/fuse: the kernel needs FUSE"
    assert BLOCK_BYTES == 512 * 1024


def test_what_an_instance_keeps_of_the_agent_is_its_own(machine: Machine) -> None:
    for instance_id in ("i-0123456789abcdef0", "i-0123456789abcdef1"):
        machine.start_instance(instance_id)
    written = machine.run_command("i-0123456789abcdef0", "echo kept >/var/lib/rewarm/agent", environment={})
    wait_until(lambda: written.poll() is not None)
    seen = machine.run_command("i-0123456789abcdef1", "ls -A /var/lib/rewarm", environment={})
    wait_until(lambda: seen.poll() is not None)
    assert (written.poll(), seen.poll(), seen.output()[0]) == (0, 0, "")
    assert not Path("/var/lib/rewarm/agent").exists()


def test_a_mounted_volume_is_not_taken_away(attached: Machine) -> None:
    prepare = f"mkfs.ext4 -q {LINK} && mkdir -p /var/lib/rewarm/data && mount {LINK} /var/lib/rewarm/data"
    status, _, errors = run(attached, prepare)
    assert status == 0, errors
    with pytest.raises(DataPlaneError, match=f"{VOLUME} is mounted on {INSTANCE}"):
        attached.detach_volume(VOLUME, INSTANCE)
    assert run(attached, f"test -e {LINK} && umount /var/lib/rewarm/data")[0] == 0
    attached.detach_volume(VOLUME, INSTANCE)
    assert run(attached, f"test -e {LINK}")[0] != 0


def test_what_is_on_the_root_disk_outlives_a_restart(machine: Machine) -> None:
    machine.start_instance(INSTANCE)
    assert run(machine, "echo kept >/var/lib/rewarm/state")[0] == 0
    machine.stop_instance(INSTANCE)
    machine.start_instance(INSTANCE)
    assert run(machine, "cat /var/lib/rewarm/state") == (0, "kept\n", "")


def test_a_device_gets_another_name_and_keeps_its_link(attached: Machine, tmp_path: Path) -> None:
    before = run(attached, f"readlink -f {LINK}")[1].strip()
    after = attached.rename_device(VOLUME, INSTANCE)
    assert run(attached, f"readlink -f {LINK}")[1].strip() == after != before
    assert run(attached, f"head -c 512 {LINK} | wc -c")[1].strip() == "512"
    attached.detach_volume(VOLUME, INSTANCE)
    assert run(attached, f"test -e {LINK}")[0] != 0
    wait_until(lambda: before not in leftover_loops(tmp_path))  # the kernel releases it at its last close
