"""What `warmer observe` must record of reads that are known, and what it must refuse."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.local.agent.arrangements import kernel
from tests.local.agent.arrangements.base import volume_id
from tests.local.agent.observations.observer import (
    BLOCK,
    VOLUME_ID,
    Place,
    observing,
    read,
    read_as,
    write,
)

Scene = Callable[[Place], None]
LOCKED_DOWN = "cannot observe: the kernel is locked down (confidentiality), and then nobody may trace it"
KIB = 1024
MIB = 1024 * KIB


class SkippedError(Exception):
    """The kernel here lacks what the scene needs."""


def the_order_is_that_of_first_reads(place: Place) -> None:
    """A histogram knows it between two readings; events know it of each read."""
    with observing(place, place.disk) as observer:
        read(place.disk, (50 * BLOCK, 4 * KIB), (10 * BLOCK + 8 * KIB, 4 * KIB), (50 * BLOCK, 4 * KIB))
        observer.wait_for(2)
        read(place.disk, (30 * BLOCK, 4 * KIB), (5 * BLOCK, 4 * KIB), (10 * BLOCK, 4 * KIB))
        recording, result = observer.stop()
    if place.source == "events":
        assert recording.order == [50, 10, 30, 5]
    assert (set(recording.order[:2]), set(recording.order[2:])) == ({10, 50}, {5, 30})
    assert {block: reads for block, reads, _second in recording.blocks} == {50: 2, 10: 2, 30: 1, 5: 1}
    seconds = [second for _block, _reads, second in recording.blocks]
    assert seconds == sorted(seconds)
    assert result["blocks"] == 4
    assert result["reads"] == 6


def the_recording_says_what_it_is_of(place: Place) -> None:
    with observing(place, place.disk) as observer:
        recording, result = observer.stop()
    seconds = recording.head.pop("seconds")
    assert recording.head == {
        "recording": 1,
        "volumeId": VOLUME_ID,
        "bytes": kernel.bytes_of(place.disk),
        "blockBytes": BLOCK,
        "source": place.source,
        "dropped": 0,
        "complete": False,
    }
    assert seconds <= result["elapsedSeconds"]
    assert (result["verdict"], observer.process.returncode) == ("interrupted", 4)
    assert recording.blocks == []


def requests_that_span_blocks_count_for_all_of_them(place: Place) -> None:
    with observing(place, place.disk) as observer:
        read(
            place.disk, (20 * BLOCK - 4 * KIB, 8 * KIB), (40 * BLOCK, 2 * MIB), (61 * BLOCK + 64 * KIB, BLOCK)
        )
        recording, _result = observer.stop()
    assert sorted(recording.order) == [19, 20, 40, 41, 42, 43, 61, 62]


def the_disks_last_block_counts(place: Place) -> None:
    size = kernel.bytes_of(place.disk)
    with observing(place, place.disk) as observer:
        read(place.disk, (size - 4 * KIB, 4 * KIB))
        recording, _result = observer.stop()
    assert recording.order == [(size - 1) // BLOCK]


def writes_and_a_warm_up_are_left_out(place: Place) -> None:
    """As are the agent's measurements, and a warm-up whose file has another name."""
    block_map = place.folder / "map"
    block_map.write_text("70 4\n", "ascii")
    renamed = place.folder / "exe"
    renamed.unlink(missing_ok=True)
    renamed.symlink_to(place.agent)
    verify = [
        place.agent,
        "verify",
        place.disk,
        "--samples",
        "5",
        "--map",
        str(block_map),
        "--max-p99-ms",
        "60000",
    ]
    with observing(place, place.disk) as observer:
        write(place.disk, 80 * BLOCK, BLOCK)
        subprocess.run(
            [place.agent, "warm", place.disk, "--map", str(block_map)], check=True, capture_output=True
        )
        threads = [str(renamed), "warm", place.disk, "--map", str(block_map), "--engine", "threads"]
        subprocess.run(threads, check=True, capture_output=True)
        subprocess.run(verify, check=True, capture_output=True)
        read(place.disk, (90 * BLOCK, 4 * KIB))
        recording, _result = observer.stop()
    assert recording.order == [90], recording.blocks


LOOKS_SECONDS = 7
"""In so many seconds the observer looks twice at what a warm-up has read."""


def first_reads_of_what_a_warm_up_has_not_read_are_counted(place: Place) -> None:
    """Block 9 is not written, 3 comes before the warm-up, 5 is read by it, and 7 never."""
    written, read_by_it, state = (place.folder / name for name in ("written", "read", "state"))
    written.write_text("3 5\n", "ascii")
    read_by_it.write_text("3 4\n", "ascii")
    warm = [place.agent, "warm", place.disk, "--map", str(read_by_it), "--state", str(state)]
    with observing(place, place.disk, "--map", str(written), "--state", str(state)) as observer:
        read(place.disk, (9 * BLOCK, 4 * KIB), (3 * BLOCK, 4 * KIB))
        observer.wait_for(2)
        subprocess.run(warm, check=True, capture_output=True)
        observer.go_on_for(LOOKS_SECONDS)
        state.unlink()
        read(place.disk, (5 * BLOCK, 4 * KIB), (3 * BLOCK, 4 * KIB), (7 * BLOCK, 4 * KIB))
        recording, result = observer.stop()
    assert sorted(recording.order) == [3, 5, 7, 9]
    assert (recording.head["coldBlocks"], result["coldBlocks"]) == (2, 2)


def nothing_is_said_of_cold_reads_where_no_warm_up_keeps_a_state(place: Place) -> None:
    with observing(place, place.disk, "--state", str(place.folder / "none")) as observer:
        read(place.disk, (3 * BLOCK, 4 * KIB))
        recording, result = observer.stop()
    assert recording.order == [3]
    assert "coldBlocks" not in {**recording.head, **result}


def reads_of_the_kernels_threads_are_left_out(place: Place) -> None:
    """But for small ones of a kworker, which are an application's: dm-crypt and file systems have some."""
    with observing(place, place.disk) as observer:
        for number, name in enumerate(("kworker/1:9-kbl", "iou-wrk-77", "warmer-linux-x8", "postgres")):
            read_as(name, place.disk, ((10 + number) * BLOCK, 128 * KIB), ((20 + number) * BLOCK, 4 * KIB))
        recording, _result = observer.stop()
    assert sorted(recording.order) == [13, 20, 23]


def it_ends_when_as_many_blocks_are_known_as_are_wanted(place: Place) -> None:
    with observing(place, place.disk, "--most-blocks", "3") as observer:
        read(place.disk, *((number * BLOCK, 4 * KIB) for number in (8, 6, 4, 2)))
        recording, result = observer.end()
    assert len(recording.blocks) == 3
    assert set(recording.order) < {8, 6, 4, 2}
    assert recording.head["complete"]
    assert result["verdict"] == "recorded"


def it_ends_when_the_time_is_over(place: Place) -> None:
    with observing(place, place.disk, "--seconds", "1") as observer:
        recording, result = observer.end()
    assert recording.head["complete"]
    assert recording.head["seconds"] >= 1
    assert (result["verdict"], observer.process.returncode) == ("recorded", 0)


def a_partition_leads_to_its_disk(place: Place) -> None:
    part = kernel.add_partition(place.disk, 1, 100 * BLOCK, 50 * BLOCK)
    try:
        with observing(place, part) as observer:
            read(part, (7 * BLOCK, 4 * KIB))
            read(place.disk, (3 * BLOCK, 4 * KIB))
            recording, result = observer.stop()
    finally:
        kernel.delete_partition(place.disk, 1)
    assert sorted(recording.order) == [3, 107]
    assert result["device"] == place.disk
    assert recording.head["bytes"] == kernel.bytes_of(place.disk)


def it_ends_with_the_disk_and_takes_no_other_for_it(place: Place) -> None:
    files = [place.folder / name for name in ("one", "another")]
    for file in files:
        file.write_bytes(b"")
        os.truncate(file, 100 * BLOCK)
    disk = kernel.attach_loop(str(files[0]))
    with observing(place, disk) as observer:
        read(disk, (3 * BLOCK, 4 * KIB))
        observer.wait_for(1)
        kernel.detach_loop(disk)
        later = kernel.attach_loop(str(files[1]))
        try:
            read(later, (7 * BLOCK, 4 * KIB))
            recording, result = observer.end()
        finally:
            kernel.detach_loop(later)
    assert recording.order == [3], f"{disk} was followed by {later}"
    assert not recording.head["complete"]
    assert (result["verdict"], result["error"]) == ("incomplete", "the device disappeared")
    assert observer.process.returncode == 1


@contextlib.contextmanager
def _mapped(name: str, *parts: str) -> Iterator[str]:
    """A device of device-mapper that is made of parts of disks, one behind the other."""
    try:  # tools of LVM make the file also where the kernel has nothing behind it
        Path("/dev/mapper/control").open("rb").close()
    except OSError as error:
        raise SkippedError("this kernel has no device-mapper") from error
    length = 100 * BLOCK // 512
    table = [f"{number * length} {length} linear {part}" for number, part in enumerate(parts)]
    make = ["dmsetup", "create", "--noudevsync", name]
    subprocess.run(make, input="\n".join(table) + "\n", text=True, check=True, capture_output=True)
    path = f"/dev/mapper/{name}"
    if not Path(path).exists():
        subprocess.run(["dmsetup", "mknodes", name], check=True, capture_output=True)
    try:
        yield path
    finally:
        kernel.patiently(lambda: subprocess.run(["dmsetup", "remove", "--noudevsync", name], check=True))


def a_mapped_device_leads_to_its_disk(place: Place) -> None:
    offset = 40 * BLOCK // 512
    with (
        _mapped("rewarm_one", f"{place.disk} {offset}") as mapped,
        _mapped("rewarm_two", f"{mapped} 0") as above,
        observing(place, above) as observer,
    ):
        read(above, (2 * BLOCK, 4 * KIB))
        recording, result = observer.stop()
    assert recording.order == [42]
    assert result["device"] == place.disk


def a_device_on_two_disks_is_refused_with_their_names(place: Place) -> None:
    (place.folder / "other").write_bytes(b"")
    os.truncate(place.folder / "other", 100 * BLOCK)
    other = kernel.attach_loop(str(place.folder / "other"))
    try:
        with _mapped("rewarm_both", f"{place.disk} 0", f"{other} 0") as mapped:
            assert _refusal(place, mapped) in {
                f"cannot observe {mapped}: it stands on {place.disk}, {other}",
                f"cannot observe {mapped}: it stands on {other}, {place.disk}",
            }
    finally:
        kernel.detach_loop(other)


def _refusal(place: Place, device: str, *more: str) -> str:
    command = [place.agent, "observe", device, "--seconds", "1", *more]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 3, done.stdout
    return done.stderr.strip().removeprefix("warmer: ")


def a_second_one_is_refused_beside_the_first(place: Place) -> None:
    with observing(place, place.disk) as observer:
        assert _refusal(place, place.disk) == "cannot observe: another warmer is observing this device"
        read(place.disk, (9 * BLOCK, 4 * KIB))
        recording, _result = observer.stop()
    assert recording.order == [9]
    with observing(place, place.disk) as observer:
        assert observer.stop()[0].blocks == []


def another_volume_is_refused(place: Place) -> None:
    if not Path(f"/sys/block/{Path(place.disk).name}/device/serial").exists():
        raise SkippedError("a loop device has no volume id")
    other = volume_id(77)
    reason = f"cannot observe {place.disk}: it is {VOLUME_ID} and not {other}"
    assert _refusal(place, place.disk, "--volume", other) == reason


def what_is_no_disk_is_refused(place: Place) -> None:
    file = place.folder / "file"
    file.write_bytes(b"")
    assert _refusal(place, str(file)) == f"cannot observe {file}: it is not a block device"
    lost = place.folder / "no" / "folder"
    reason = f"cannot write {lost}: No such file or directory"
    assert _refusal(place, place.disk, "--output", str(lost)) == reason


def a_full_disk_keeps_the_last_whole_recording(place: Place) -> None:
    folder = place.folder / "full"
    kernel.mount("none", folder, "tmpfs", options="size=64k")
    try:
        with observing(dataclasses.replace(place, folder=folder), place.disk) as observer:
            with contextlib.suppress(OSError), (folder / "filler").open("wb", buffering=0) as filler:
                while True:
                    filler.write(bytes(4 * KIB))
            read(place.disk, (9 * BLOCK, 4 * KIB))
            recording, result = observer.stop()
        assert recording.blocks == [], "as it was while there was room"
        reason = f"cannot write {observer.output}: No space left on device"
        assert (result["verdict"], result["error"]) == ("refused", reason)
        assert {path.name for path in folder.iterdir()} == {"errors", "filler", "recording"}
    finally:
        kernel.unmount(folder)


def a_kernel_that_is_locked_down_is_refused(place: Place) -> None:
    security = Path("/sys/kernel/security")
    kernel.mount("none", security, "tmpfs")
    try:
        (security / "lockdown").write_text("none integrity [confidentiality]\n", "ascii")
        assert _refusal(place, place.disk) == LOCKED_DOWN
        (security / "lockdown").write_text("none [integrity] confidentiality\n", "ascii")
        with observing(place, place.disk) as observer:
            observer.stop()
    finally:
        kernel.unmount(security)


def a_lockdown_for_good_is_refused(place: Place) -> None:
    """With tracefs mounted, and without; nothing but a restart of the machine ends this lockdown."""
    security = Path("/sys/kernel/security")
    kernel.mount("none", security, "securityfs")
    (security / "lockdown").write_text("integrity", "ascii")
    with observing(place, place.disk) as observer:
        read(place.disk, (9 * BLOCK, 4 * KIB))
        assert observer.stop()[0].order == [9]
    (security / "lockdown").write_text("confidentiality", "ascii")
    assert _refusal(place, place.disk) == LOCKED_DOWN
    kernel.unmount(Path("/sys/kernel/tracing"))
    assert _refusal(place, place.disk) == LOCKED_DOWN


def only_root_may(place: Place) -> None:
    def become_nobody() -> None:
        os.setgroups([])
        os.setresgid(65534, 65534, 65534)
        os.setresuid(65534, 65534, 65534)

    copy = Path("/tmp") / f"observe-{os.getpid()}"
    copy.write_bytes(Path(place.agent).read_bytes())
    copy.chmod(0o755)
    command = [str(copy), "observe", place.disk]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, preexec_fn=become_nobody)
    finally:
        copy.unlink()
    assert (done.returncode, done.stderr) == (3, "warmer: cannot observe: only root may trace the kernel\n")


SCENES: tuple[Scene, ...] = (
    the_recording_says_what_it_is_of,
    the_order_is_that_of_first_reads,
    requests_that_span_blocks_count_for_all_of_them,
    the_disks_last_block_counts,
    writes_and_a_warm_up_are_left_out,
    first_reads_of_what_a_warm_up_has_not_read_are_counted,
    nothing_is_said_of_cold_reads_where_no_warm_up_keeps_a_state,
    reads_of_the_kernels_threads_are_left_out,
    it_ends_when_as_many_blocks_are_known_as_are_wanted,
    it_ends_when_the_time_is_over,
    it_ends_with_the_disk_and_takes_no_other_for_it,
    a_partition_leads_to_its_disk,
    a_mapped_device_leads_to_its_disk,
    a_device_on_two_disks_is_refused_with_their_names,
    a_second_one_is_refused_beside_the_first,
    another_volume_is_refused,
    what_is_no_disk_is_refused,
    a_full_disk_keeps_the_last_whole_recording,
    a_kernel_that_is_locked_down_is_refused,
    only_root_may,
)
