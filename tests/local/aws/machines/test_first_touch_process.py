"""first-touch as a process: its command line, its end, and the same under the sanitizers."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from local.aws.machines.dataplane import DataPlaneError, SnapshotImage
from local.aws.machines.first_touch_process import PROGRAM, SOURCE_FOLDER, FirstTouchSettings, build_program
from local.aws.machines.linux import mounts_under
from local.aws.machines.volumes import FirstTouchVolume, VolumeRequest, make_backing
from tests.local.aws.machines.test_first_touch import (
    MIB,
    QUICK,
    UNLIMITED,
    Make,
    Volume,
    image_of,
    make,
    read_and_write_at_random,
)
from tests.support.waiting import wait_until

__all__ = ["make"]
ROOT = Path(__file__).resolve().parents[4]


def wait_until_unmounted(folder: Path) -> None:
    wait_until(lambda: mounts_under(folder) == [])


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--surprise"], "--surprise is not an option"),
        (["--mount"], "--mount needs a value"),
        (["--iops", "0"], "--iops cannot be '0'"),
        (["--iops", "many"], "--iops cannot be 'many'"),
        (["--latency-mean-ms", "-1"], "cannot be '-1'"),
        (["--seed", "-1"], "cannot be '-1'"),
        (["--mount", "/m"], "--mount and --backing are required"),
        (["--mount", "/m", "--backing", "/b", "--size-bytes", "1000"], "must be a multiple of 524288"),
        (
            ["--tail-probability", "2", "--mount", "/m", "--backing", "/b", "--size-bytes", "524288"],
            "between 0 and 1",
        ),
    ],
)
def test_bad_options_are_refused(arguments: list[str], complaint: str) -> None:
    done = subprocess.run([build_program(), *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert complaint in done.stderr


@pytest.mark.parametrize(
    ("lines", "complaint"),
    [
        ("0 1\nx\n", "extents:2: the extent is not 'start count'"),
        ("0 1 2\n", "extents:1: the extent is not 'start count'"),
        ("5 5\n9 1\n", "extents:2: the extent is not after the one before"),
        ("0 0\n", "extents:1: the extent lies outside the volume"),
        ("2047 2\n", "extents:1: the extent lies outside the volume"),
        ("18446744073709551615 2\n", "extents:1: the extent lies outside the volume"),
    ],
)
def test_bad_extents_are_refused(tmp_path: Path, lines: str, complaint: str) -> None:
    (tmp_path / "extents").write_text(lines)
    arguments: list[str | Path] = [
        "--mount",
        tmp_path,
        "--backing",
        tmp_path / "backing",
        "--extents",
        tmp_path / "extents",
    ]
    done = subprocess.run(
        [build_program(), *arguments, "--size-bytes", str(1 << 30)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 3
    assert complaint in done.stderr


def test_requests_under_way_fail_when_the_volume_ends(make: Make) -> None:
    volume = make(settings=QUICK)
    volume.made.inject("stall 3600")
    failed = threading.Event()

    def read() -> None:
        with pytest.raises(OSError, match="Input/output error"):
            volume.read_block(0)
        failed.set()

    reader = threading.Thread(target=read)
    reader.start()
    while volume.made.first_touch.ask("stats")["in_flight"] == 0:
        time.sleep(0.01)
    assert volume.made.first_touch.stop() == 0
    reader.join()
    assert failed.is_set()
    assert mounts_under(volume.made.path.parent) == []
    with pytest.raises(DataPlaneError, match="does not answer"):
        volume.made.counters()


def test_a_terminated_volume_unmounts_itself(make: Make) -> None:
    volume = make()
    os.kill(volume.made.first_touch.pid, signal.SIGTERM)
    wait_until_unmounted(volume.made.path.parent)
    assert volume.made.first_touch.stop() == 0


_HOLD = """
import sys, time
from pathlib import Path
from local.aws.machines.dataplane import VolumeLimits
from local.aws.machines.first_touch_process import FirstTouchSettings
from local.aws.machines.volumes import FirstTouchVolume, VolumeRequest
folder = Path(sys.argv[1])
request = VolumeRequest(volume_id="vol-0", size_gib=1, image=None, limits=VolumeLimits(100, 100), warm=False)
volume = FirstTouchVolume(folder, request, FirstTouchSettings())
print("ready", flush=True)
time.sleep(600)
"""


def test_a_volume_ends_with_the_process_that_made_it(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", _HOLD, tmp_path], cwd=ROOT, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"ready\n"
        assert mounts_under(tmp_path) == [tmp_path / "mount"]
        holder.kill()
    wait_until_unmounted(tmp_path)


def test_data_and_an_end_with_requests_under_way_are_clean_under_the_sanitizers(
    make: Make, tmp_path: Path
) -> None:
    subprocess.run(["make", "--silent", "-C", SOURCE_FOLDER, "asan"], check=True)
    expected = image_of(tmp_path / "image", 8 * MIB)
    volume = make(
        extents=((0, 16), (40, 8)),
        settings=FirstTouchSettings(mean_latency_ms=2, latency_sigma=0.5, fetch_charged=True),
        image=tmp_path / "image",
        program=PROGRAM.with_name("first-touch-asan"),
    )
    read_and_write_at_random(volume, expected, 150)
    for fault in ("eio 46 1", "slow 40 6 3600"):
        volume.made.inject(fault)
    with pytest.raises(OSError, match="Input/output error"):
        volume.read_block(46)
    readers = [threading.Thread(target=_read_quietly, args=[volume, block]) for block in (40, 40, 41, 42)]
    for reader in readers:
        reader.start()
    while volume.made.first_touch.ask("stats")["in_flight"] < len(readers):
        time.sleep(0.01)
    volume.made.set_initialized_fraction(1.0)
    assert volume.made.first_touch.stop() == 0
    for reader in readers:
        reader.join()
    assert (tmp_path / "vol-0" / "first-touch.log").read_text() == ""


def _read_quietly(volume: Volume, block: int) -> None:
    with pytest.raises(OSError, match="Input/output error"):
        volume.read_block(block)


def test_volumes_beyond_one_file_of_ext4_keep_their_bytes(tmp_path: Path) -> None:
    size_gib = 64 * 1024
    make_backing(tmp_path / "backing", None, size_gib)
    last = size_gib * 2048 - 1
    image = SnapshotImage("snap-1", size_gib, ((16 << 21, 4), (last, 1)), None)
    request = VolumeRequest(volume_id="vol-0", size_gib=size_gib, image=image, limits=UNLIMITED, warm=False)
    volume = FirstTouchVolume(tmp_path, request, QUICK)
    try:
        descriptor = os.open(volume.path, os.O_RDWR)
        boundary = 8 << 40
        os.pwrite(descriptor, b"abcdefgh", boundary - 4)
        assert os.pread(descriptor, 8, boundary - 4) == b"abcdefgh"
        assert os.pread(descriptor, 4096, (64 << 40) - 4096) == bytes(4096)
        os.close(descriptor)
        assert volume.counters().fetched_blocks == 1
        assert volume.counters().written_blocks == 5
    finally:
        volume.stop()
