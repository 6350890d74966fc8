"""The SSM document of the warm-up with the action observe, beside an application on the machine's volume."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from local.aws.machines.dataplane import SnapshotImage
from local.aws.machines.machine import Machine
from tests.local.aws.machines.commands import INSTANCE, VOLUME, run, with_volume
from tests.local.aws.machines.test_device_use import LINK, filled, look

IMAGE = SnapshotImage("snap-0123456789abcdef0", 1, ((0, 2_048),), None)
TRACING = "/sys/kernel/tracing"
UPLOAD = "http://127.0.0.1/progress"
READ = f"dd if={LINK} of=/dev/null iflag=direct bs=4096 count=2 2>/dev/null skip="
OF_FILE_SYSTEMS = {*range(4), 128, *range(2_040, 2_048)}
"""Blocks in which superblocks are looked for: at the beginning, at 64 MiB (btrfs), and at the end."""
BEFORE_BLOCK_9, IN_BLOCK_1200 = 9 * 128 - 1, 1_200 * 128


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    with with_volume(tmp_path, IMAGE) as made:
        yield made


def script(action: str, arguments: str, upload: str = "none") -> str:
    values = {"action": action, "volumeId": VOLUME, "mapUrl": "none", "firstUrl": "none"}
    values |= {"progressUrl": UPLOAD, "arguments": arguments, "coldArguments": ""}
    return filled("WarmerDocument", values).replace(UPLOAD, upload)


def observe(recording: Path) -> str:
    return script("observe", "--seconds 5", recording.as_uri())


def own_reads(recording: Path) -> dict[int, int]:
    """Block -> how often the test's application read it. Tools of other tests look for file systems."""
    lines = recording.read_text("ascii").splitlines()[1:]
    reads = {int(block): int(count) for block, count, _second in map(str.split, lines)}
    return {block: count for block, count in reads.items() if block not in OF_FILE_SYSTEMS}


def test_what_an_application_reads_is_recorded_and_uploaded(machine: Machine, tmp_path: Path) -> None:
    recording = tmp_path / "recording"
    loop = f"while :; do {READ}{BEFORE_BLOCK_9}; {READ}{IN_BLOCK_1200}; sleep 0.1; done"
    machine.run_command(INSTANCE, loop, environment={})
    status, output, errors = run(machine, observe(recording))
    assert (status, json.loads(output)["verdict"]) == (0, "recorded"), errors
    told = json.loads(recording.read_text("ascii").splitlines()[0])
    assert (told["volumeId"], told["bytes"], told["complete"]) == (VOLUME, 1 << 30, True)
    reads = own_reads(recording)
    assert set(reads) == {8, 9, 1_200}
    assert abs(reads[8] - reads[9]) <= 1
    left = run(machine, 'ls "$TMPDIR"; pgrep -l warmer')[1]
    assert left.strip() == ""


def test_a_recording_whose_volume_is_detached_ends_and_uploads_what_it_has(
    machine: Machine, tmp_path: Path
) -> None:
    """As at the end of a drill; the first upload would come after 15 seconds."""
    recording = tmp_path / "recording"
    script_of_an_hour = observe(recording).replace("--seconds 5", "--seconds 3600")
    command = machine.run_command(INSTANCE, script_of_an_hour, environment={})
    assert run(machine, 'until ls "$TMPDIR"/*/progress; do sleep 0.1; done')[0] == 0
    assert run(machine, f"{READ}{IN_BLOCK_1200} && sleep 5")[0] == 0
    machine.detach_volume(VOLUME, INSTANCE)
    assert command.wait(300) == 1, "the device disappeared"
    assert set(own_reads(recording)) == {1_200}
    assert json.loads(recording.read_text("ascii").splitlines()[0])["complete"] is False


def left(machine: Machine) -> list[str]:
    """Processes, temporary folders and the trace instance of the agent, as the instance sees them."""
    number = f"$((0x$(stat -Lc %t {LINK})))-$((0x$(stat -Lc %T {LINK})))"
    looks = f'ls "$TMPDIR"; pgrep -l warmer; ls {TRACING}/instances | grep -x "rewarm-{number}"'
    return run(machine, looks)[1].split()


def test_what_a_killed_recording_left_goes_when_the_device_is_looked_at(machine: Machine) -> None:
    """Its guards are killed, too, and none of them acts before that."""
    assert run(machine, f"mount -t tracefs none {TRACING}")[0] == 0
    recording = machine.run_command(INSTANCE, script("observe", "--seconds 600"), environment={})
    assert run(machine, 'until ls "$TMPDIR"/*/progress; do sleep 0.1; done')[0] == 0
    run(machine, "all=$(pgrep warmer); kill -STOP $all; kill -KILL $all")
    assert recording.wait(300) != 0
    folder, trace = left(machine)
    assert (folder[:12], trace[:7]) == ("rewarm-work-", "rewarm-")
    assert look(machine)[0] == 0
    assert left(machine) == []


def test_beside_a_warm_up_it_says_how_many_first_reads_were_cold(machine: Machine, tmp_path: Path) -> None:
    """The warm-up, at 16 MiB a second, has not come to block 1,200 while the application reads it first."""
    recording = tmp_path / "recording"
    machine.run_command(INSTANCE, script("warm", "--max-mib-s 16"), environment={})
    loop = f"while :; do {READ}{BEFORE_BLOCK_9}; {READ}{IN_BLOCK_1200}; sleep 0.1; done"
    machine.run_command(INSTANCE, loop, environment={})
    status, output, errors = run(machine, observe(recording))
    told = json.loads(output)
    assert status == 0, errors
    assert set(own_reads(recording)) == {8, 9, 1_200}
    assert 1 <= told["coldBlocks"] <= told["blocks"]
    assert json.loads(recording.read_text("ascii").splitlines()[0])["coldBlocks"] == told["coldBlocks"]
