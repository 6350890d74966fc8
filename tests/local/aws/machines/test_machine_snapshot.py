"""Snapshots of real files: what is in them, and that a restore's difference is found."""

from __future__ import annotations

import mmap
import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from local.aws.machines.dataplane import BLOCK_BYTES, DataPlaneError, SnapshotImage, VolumeLimits
from local.aws.machines.first_touch_process import FirstTouchSettings
from local.aws.machines.instances import link_names
from local.aws.machines.linux import run_tool
from local.aws.machines.machine import Machine
from local.aws.machines.snapshot_image import (
    FileTree,
    compare_files,
    file_bytes,
    load_image,
    load_manifest,
    make_ext4_image,
    written_extents,
)

VOLUME, INSTANCE = "vol-0123456789abcdef0", "i-0123456789abcdef0"
SOURCE = "vol-0fedcba9876543210"
LIMITS = VolumeLimits(iops=16_000, throughput_mib_s=1000)
TREE = FileTree(share=0.03, seed=5)


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> SnapshotImage:
    return make_ext4_image(tmp_path_factory.mktemp("snapshot") / "image", 1, TREE)


@pytest.fixture(params=[True, False], ids=["loop device", "file"])
def machine(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Machine]:
    made = Machine(tmp_path, FirstTouchSettings(mean_latency_ms=1, use_loop_devices=request.param))
    made.start_instance(INSTANCE)
    yield made
    made.close()


def restore(machine: Machine, image: SnapshotImage) -> None:
    machine.create_volume(VOLUME, 1, image, LIMITS, warm=False)
    machine.attach_volume(VOLUME, INSTANCE, "/dev/sdf")


def test_the_files_take_their_share_in_many_sizes() -> None:
    sizes = FileTree(share=0.35).sizes(2)
    assert sum(sizes.values()) == int(2 * (1 << 30) * 0.35)
    assert sum(size < 65_536 + 1 for size in sizes.values()) > 500
    assert max(sizes.values()) == sizes["database/table.dat"] > 200 << 20
    assert FileTree(share=0.35, seed=2).sizes(2) != sizes


def test_one_seed_makes_one_snapshot(image: SnapshotImage, tmp_path: Path) -> None:
    again = make_ext4_image(tmp_path / "again", 1, TREE)
    assert load_manifest(again) == load_manifest(image)
    assert again.extents == image.extents
    other = make_ext4_image(tmp_path / "other", 1, FileTree(share=0.03, seed=6))
    assert set(load_manifest(other).values()).isdisjoint(load_manifest(image).values())


def test_a_snapshot_can_be_loaded_again(image: SnapshotImage) -> None:
    assert image.path is not None
    assert load_image(image.path) == image


def test_written_extents_are_the_blocks_that_hold_anything(image: SnapshotImage) -> None:
    assert image.path is not None
    written = {block for first, count in image.extents for block in range(first, first + count)}
    with image.path.open("rb") as file:
        for block in range(2048):
            data = os.pread(file.fileno(), BLOCK_BYTES, block * BLOCK_BYTES)
            assert (data != bytes(BLOCK_BYTES)) == (block in written)


def test_extents_of_scattered_data(tmp_path: Path) -> None:
    path = tmp_path / "scattered"
    path.touch()
    os.truncate(path, 40 * BLOCK_BYTES)
    assert written_extents(path) == ()
    with path.open("r+b") as file:
        for offset in (0, 3 * BLOCK_BYTES - 1, 3 * BLOCK_BYTES, 40 * BLOCK_BYTES - 1):
            os.pwrite(file.fileno(), b"x", offset)
        os.pwrite(file.fileno(), bytes(BLOCK_BYTES), 20 * BLOCK_BYTES)
    assert written_extents(path) == ((0, 1), (2, 2), (39, 1))


def test_a_restored_volume_has_the_files_of_its_snapshot(machine: Machine, image: SnapshotImage) -> None:
    restore(machine, image)
    assert compare_files(machine, INSTANCE, VOLUME, load_manifest(image)) == []
    assert machine.counters(VOLUME).read_blocks > 0
    machine.detach_volume(VOLUME, INSTANCE)


def test_a_copy_has_what_its_source_has_and_outlives_it(machine: Machine, image: SnapshotImage) -> None:
    machine.create_volume(SOURCE, 1, image, LIMITS, warm=False)
    machine.copy_volume(VOLUME, SOURCE, 2, LIMITS)
    assert machine.counters(SOURCE).fetched_blocks == 0
    machine.delete_volume(SOURCE)
    counters = machine.counters(VOLUME)
    assert counters.fetched_blocks == counters.written_blocks == sum(count for _, count in image.extents)
    machine.attach_volume(VOLUME, INSTANCE, "/dev/sdf")
    assert compare_files(machine, INSTANCE, VOLUME, load_manifest(image)) == []
    machine.detach_volume(VOLUME, INSTANCE)


def test_differences_are_found(machine: Machine, image: SnapshotImage, tmp_path: Path) -> None:
    assert image.path is not None
    damaged = tmp_path / "damaged"
    run_tool("cp", "--sparse=always", image.path, damaged)
    _flip_a_byte_of_the_large_file(damaged)
    restore(machine, SnapshotImage("snap-2", 1, image.extents, damaged))
    manifest = load_manifest(image)
    added = next(name for name in manifest if name.startswith("documents/"))
    expected = {name: total for name, total in manifest.items() if name != added} | {"lost.txt": "0" * 64}
    assert compare_files(machine, INSTANCE, VOLUME, expected) == [
        "lost.txt: missing",
        f"{added}: not in the snapshot",
        "database/table.dat: differs",
    ]


def test_a_volume_without_a_file_system_cannot_be_compared(image: SnapshotImage, tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    try:
        machine.start_instance(INSTANCE)
        restore(machine, SnapshotImage("snap-2", 1, (), None))
        with pytest.raises(DataPlaneError, match="cannot be read"):
            compare_files(machine, INSTANCE, VOLUME, load_manifest(image))
    finally:
        machine.close()


def _flip_a_byte_of_the_large_file(path: Path) -> None:
    start = next(file_bytes("table.dat", 64, TREE.seed))
    with path.open("r+b") as file, mmap.mmap(file.fileno(), 0) as data:
        place = data.find(start)
        assert place > 0
        data[place] ^= 1


def test_a_snapshot_has_what_was_written_to_its_volume(machine: Machine) -> None:
    machine.create_volume(SOURCE, 1, None, LIMITS, warm=True)
    machine.attach_volume(SOURCE, INSTANCE, "/dev/sdf")
    device = f"/dev/disk/by-id/{link_names(SOURCE)[0]}"
    script = f"yes rewarm | dd of={device} bs=512k count=3 seek=4 iflag=fullblock conv=fsync"
    command = machine.run_command(INSTANCE, script, environment={})
    while command.poll() is None:
        time.sleep(0.05)
    made = machine.snapshot_volume(SOURCE, "snap-0000000000000cafe")
    machine.detach_volume(SOURCE, INSTANCE)
    machine.delete_volume(SOURCE)
    assert made.extents == ((4, 3),)
    machine.create_volume(VOLUME, 1, made, LIMITS, warm=False)
    assert machine.counters(VOLUME).written_blocks == 3
    machine.delete_snapshot(made.snapshot_id)
    assert made.path is not None
    assert not made.path.exists()


def test_a_snapshot_is_of_one_moment_although_the_volume_is_written_to(machine: Machine) -> None:
    machine.create_volume(SOURCE, 1, None, LIMITS, warm=True)
    machine.attach_volume(SOURCE, INSTANCE, "/dev/sdf")
    device = f"/dev/disk/by-id/{link_names(SOURCE)[0]}"
    # Two blocks with much data between them get the same number, one after the other.
    fill = f"yes | dd of={device} bs=1M count=300 seek=100 iflag=fullblock oflag=direct"
    script = f"""{fill}; exec python3 -c '
import os
device = os.open("{device}", os.O_RDWR | os.O_DSYNC)
for number in range(1_000_000):
    for block in (0, 2_000):
        os.pwrite(device, number.to_bytes(8, "big") * 512, block * {BLOCK_BYTES})
'"""
    command = machine.run_command(INSTANCE, script, environment={})
    seen = set()
    try:
        for name in range(2):
            written = machine.counters(SOURCE).write_bytes
            while machine.counters(SOURCE).write_bytes < max(written, 300 << 20) + (64 << 10):
                time.sleep(0.01)
            made = machine.snapshot_volume(SOURCE, f"snap-000000000000000a{name}")
            assert made.path is not None
            with made.path.open("rb") as file:
                early, late = (
                    int.from_bytes(os.pread(file.fileno(), 8, block * BLOCK_BYTES), "big")
                    for block in (0, 2_000)
                )
            assert early - late in (0, 1)
            seen.add(early)
    finally:
        command.cancel()
    assert len(seen) == 2
    machine.detach_volume(SOURCE, INSTANCE)
