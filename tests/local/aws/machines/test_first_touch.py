"""The first-touch file system: what a fresh volume's reads cost, and what is counted.

Times are asserted as lower bounds, which the model guarantees on any machine; costs are asserted as counts.
"""

from __future__ import annotations

import contextlib
import os
import random
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from local.aws.machines.dataplane import (
    BLOCK_BYTES,
    DataPlaneError,
    Extent,
    SnapshotImage,
    VolumeCounters,
    VolumeLimits,
)
from local.aws.machines.first_touch_process import FirstTouchSettings, FuseUnavailableError
from local.aws.machines.linux import mounts_under
from local.aws.machines.volumes import GIB, FirstTouchVolume, VolumeRequest, make_backing
from tests.support.waiting import wait_until

KIB, MIB = 1 << 10, 1 << 20
UNLIMITED = VolumeLimits(iops=1_000_000, throughput_mib_s=100_000)
MEAN_MS = 60.0
QUICK = FirstTouchSettings(mean_latency_ms=MEAN_MS, latency_sigma=0)
INSTANT = FirstTouchSettings(mean_latency_ms=0.01, latency_sigma=0, read_latency_ms=0, write_latency_ms=0)


class Volume:
    """A volume, and reads and writes of its file."""

    def __init__(self, made: FirstTouchVolume) -> None:
        self.made = made
        self._descriptor = os.open(made.path, os.O_RDWR)

    def read(self, offset: int, length: int) -> bytes:
        return os.pread(self._descriptor, length, offset)

    def read_block(self, block: int, length: int = 4 * KIB) -> bytes:
        return self.read(block * BLOCK_BYTES, length)

    def read_blocks_at_once(self, blocks: list[int], length: int = 4 * KIB) -> None:
        with ThreadPoolExecutor(len(blocks)) as pool:
            list(pool.map(lambda block: self.read_block(block, length), blocks))

    def write(self, offset: int, data: bytes) -> int:
        return os.pwrite(self._descriptor, data, offset)

    def seconds(self, read: Callable[[], object]) -> float:
        start = time.monotonic()
        read()
        return time.monotonic() - start

    @property
    def counters(self) -> VolumeCounters:
        return self.made.counters()

    @property
    def fetches(self) -> int:
        return int(self.made.first_touch.ask("stats")["fetches_started"])

    @property
    def rereads(self) -> tuple[int, int]:
        """Blocks read more than once, and the bytes of all reads but the first."""
        stats = self.made.first_touch.ask("stats")
        return stats["reread_blocks"], stats["reread_bytes"]

    def stop(self) -> int:
        os.close(self._descriptor)
        return self.made.first_touch.stop()


Make = Callable[..., Volume]


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    volumes: list[Volume] = []

    def make_one(
        extents: tuple[Extent, ...] = ((0, 64),),
        settings: FirstTouchSettings = INSTANT,
        limits: VolumeLimits = UNLIMITED,
        *,
        image: Path | None = None,
        warm: bool = False,
        program: Path | None = None,
    ) -> Volume:
        snapshot = SnapshotImage("snap-1", 1, extents, image)
        folder = tmp_path / f"vol-{len(volumes)}"
        folder.mkdir()
        make_backing(folder / "backing", snapshot, 1)
        request = VolumeRequest(volume_id="vol-0", size_gib=1, image=snapshot, limits=limits, warm=warm)
        try:
            volumes.append(Volume(FirstTouchVolume(folder, request, settings, program)))
        except FuseUnavailableError as error:
            pytest.fail(
                f"these tests need FUSE: libfuse3-dev, fuse3, pkg-config, cc, /dev/fuse and root ({error})"
            )
        return volumes[-1]

    yield make_one
    for volume in volumes:
        if volume.made.path.exists():
            assert volume.stop() == 0
            assert mounts_under(volume.made.path.parent) == []


def test_first_read_of_a_written_block_takes_the_fetch_latency_and_the_second_needs_no_fetch(
    make: Make,
) -> None:
    volume = make(settings=QUICK)
    assert volume.seconds(lambda: volume.read_block(7)) >= MEAN_MS / 1e3
    volume.read(7 * BLOCK_BYTES + 8 * KIB, 4 * KIB)
    assert volume.fetches == 1
    assert volume.counters.fetched_blocks == 1
    assert volume.counters.read_seconds >= MEAN_MS / 1e3


def test_unwritten_blocks_are_zeros_without_a_fetch(make: Make) -> None:
    volume = make(extents=((10, 1),), settings=QUICK)
    assert volume.read(0, 2 * BLOCK_BYTES) == bytes(2 * BLOCK_BYTES)
    assert volume.fetches == 0
    assert volume.counters.written_blocks == 1


def test_a_warm_volume_never_fetches(make: Make) -> None:
    volume = make(settings=QUICK, warm=True)
    volume.read_blocks_at_once([0, 20, 40])
    assert volume.fetches == 0
    assert volume.counters.fetched_blocks == volume.counters.written_blocks == 64


def test_concurrent_readers_of_one_block_share_its_fetch(make: Make) -> None:
    volume = make(settings=QUICK)
    volume.read_blocks_at_once([5] * 16)
    assert volume.fetches == 1
    assert volume.counters.read_ops == 16


def test_no_more_fetches_run_at_a_time_than_the_setting_says(make: Make) -> None:
    volume = make(settings=FirstTouchSettings(mean_latency_ms=MEAN_MS, latency_sigma=0, fetch_concurrency=2))
    seconds = volume.seconds(lambda: volume.read_blocks_at_once([0, 8, 16, 24, 32, 40]))
    assert seconds >= 3 * MEAN_MS / 1e3
    assert volume.fetches == 6


def test_a_read_over_two_blocks_waits_for_both(make: Make) -> None:
    volume = make(settings=QUICK)
    volume.read(BLOCK_BYTES - 4 * KIB, 8 * KIB)
    assert volume.counters.fetched_blocks == 2


def test_operations_are_counted_in_units_of_256_kib(make: Make) -> None:
    volume = make()
    for length in (4 * KIB, 256 * KIB, 260 * KIB, 512 * KIB):
        volume.read(0, length)
    volume.write(0, bytes(300 * KIB))
    counters = volume.counters
    assert (counters.read_ops, counters.read_bytes) == (1 + 1 + 2 + 2, 1032 * KIB)
    assert (counters.write_ops, counters.write_bytes) == (2, 300 * KIB)


def test_a_block_counts_as_read_when_every_byte_of_it_was_read(make: Make) -> None:
    volume = make(extents=((0, 2),))
    volume.read(0, 256 * KIB)
    assert volume.counters.read_blocks == 0
    for page in range(64, 128):
        assert volume.counters.read_blocks == 0
        volume.read(page * 4 * KIB, 4 * KIB)
    assert volume.counters.read_blocks == 1
    volume.read(0, BLOCK_BYTES)
    volume.read(2 * BLOCK_BYTES, BLOCK_BYTES)
    assert volume.counters.read_blocks == 1


def test_what_is_read_again_is_counted(make: Make) -> None:
    volume = make(extents=((0, 2),))
    volume.read(0, BLOCK_BYTES)
    volume.read(BLOCK_BYTES, 256 * KIB)
    assert volume.rereads == (0, 0)
    volume.read(2 * BLOCK_BYTES, BLOCK_BYTES)
    volume.read(2 * BLOCK_BYTES, BLOCK_BYTES)
    volume.read(2 * KIB, 4 * KIB)  # no page of it whole
    assert volume.rereads == (0, 0)
    volume.read(256 * KIB, BLOCK_BYTES)
    assert volume.rereads == (2, 512 * KIB)
    volume.read(BLOCK_BYTES, BLOCK_BYTES)
    assert volume.rereads == (2, 768 * KIB)


def test_what_is_asked_for_counts_before_it_is_given(make: Make) -> None:
    volume = make(settings=FirstTouchSettings(mean_latency_ms=400, latency_sigma=0))
    with ThreadPoolExecutor() as pool:
        reading = pool.submit(volume.read, 0, 64 * KIB)
        while not (stats := volume.made.first_touch.ask("stats"))["asked_bytes"]:
            time.sleep(0.001)
        assert (stats["asked_bytes"], stats["read_bytes"]) in {(64 * KIB, 0), (64 * KIB, 64 * KIB)}
        reading.result()
    assert volume.counters.read_bytes == 64 * KIB
    volume.write(0, bytes(64 * KIB))
    assert volume.made.first_touch.ask("stats")["asked_bytes"] == 128 * KIB


def test_half_a_page_does_not_count_as_read(make: Make) -> None:
    volume = make(extents=((0, 1),))
    volume.read(2 * KIB, BLOCK_BYTES - 2 * KIB)
    assert volume.counters.read_blocks == 0
    volume.read(0, 4 * KIB)
    assert volume.counters.read_blocks == 1


def test_a_touch_may_bring_only_the_pages_it_reads(make: Make) -> None:
    volume = make(settings=FirstTouchSettings(mean_latency_ms=1, latency_sigma=0, touch_pages=True))
    for page in (0, 1, 1, 5):
        volume.read(page * 4 * KIB, 4 * KIB)
    assert volume.fetches == 3
    assert volume.counters.fetched_blocks == 0
    volume.read(0, BLOCK_BYTES)
    assert volume.counters.fetched_blocks == 1


def test_neighbours_are_fetched_ahead_of_a_sequential_reader_only(make: Make) -> None:
    settings = FirstTouchSettings(mean_latency_ms=5, latency_sigma=0, neighbours=10)
    sequential, scattered = make(settings=settings), make(settings=settings)
    for offset in range(0, 3 * MIB, 128 * KIB):
        sequential.read(offset, 128 * KIB)
    for block in (30, 4, 18, 50, 1, 11):
        scattered.read_block(block)
    assert sequential.fetches == 2 + 1 + 10
    assert scattered.fetches == 6


def test_the_iops_limit_binds(make: Make) -> None:
    volume = make(limits=VolumeLimits(iops=200, throughput_mib_s=1000), warm=True)
    assert volume.seconds(lambda: volume.read_blocks_at_once([0] * 60)) >= 60 / 200 - 0.01


def test_the_throughput_limit_binds_reads_and_writes_together(make: Make) -> None:
    volume = make(limits=VolumeLimits(iops=100_000, throughput_mib_s=16), warm=True)

    def read_and_write() -> None:
        volume.read_blocks_at_once(list(range(8)), BLOCK_BYTES)
        volume.write(0, bytes(MIB))

    assert volume.seconds(read_and_write) >= 5 / 16 - 0.01


def test_new_limits_hold_from_now_on(make: Make) -> None:
    volume = make(limits=VolumeLimits(iops=1, throughput_mib_s=1), warm=True)
    volume.made.set_limits(VolumeLimits(iops=100, throughput_mib_s=1000))
    assert volume.seconds(lambda: volume.read_blocks_at_once([0] * 30)) >= 30 / 100 - 0.01
    with pytest.raises(DataPlaneError, match="limits must be positive"):
        volume.made.set_limits(VolumeLimits(iops=0, throughput_mib_s=1))


def test_charged_fetches_use_the_throughput_once(make: Make) -> None:
    settings = FirstTouchSettings(mean_latency_ms=0.01, latency_sigma=0, fetch_charged=True)
    volume = make(settings=settings, limits=VolumeLimits(iops=100_000, throughput_mib_s=2))
    touched = volume.seconds(lambda: volume.read_blocks_at_once(list(range(8))))
    assert touched >= 8 * 0.5 / 2 - 0.01
    # The same 4 MiB again would take two seconds; they are paid for.
    assert volume.seconds(lambda: volume.read(0, 8 * BLOCK_BYTES)) < 1.5


def test_uncharged_fetches_leave_the_throughput_to_the_host(make: Make) -> None:
    volume = make(limits=VolumeLimits(iops=100_000, throughput_mib_s=0.05))
    # 64 blocks are 32 MiB, eleven minutes at this limit; the 16 pages read are 1.25 s.
    seconds = volume.seconds(lambda: volume.read_blocks_at_once(list(range(0, 64, 4))))
    assert 64 / 1024 / 0.05 - 0.01 <= seconds < 60


def test_unreadable_blocks_answer_eio_and_others_do_not(make: Make) -> None:
    volume = make()
    volume.made.inject("eio 3 2")
    for block in (3, 4):
        with pytest.raises(OSError, match="Input/output error"):
            volume.read_block(block)
    volume.read_block(2)
    volume.read_block(5)
    assert volume.counters.read_ops == 2
    volume.made.inject("clear")
    volume.read_block(3)
    assert volume.counters.read_ops == 3


def test_a_fault_may_wear_off(make: Make) -> None:
    volume = make()
    volume.made.inject("eio 3 1 2")
    for _ in range(2):
        with pytest.raises(OSError, match="Input/output error"):
            volume.read_block(3)
    assert volume.read_block(3) == bytes(4 * KIB)


def test_a_stalled_volume_answers_when_the_stall_is_over(make: Make) -> None:
    volume = make(warm=True)
    volume.made.inject("stall 0.3")
    assert volume.seconds(lambda: volume.read_block(0)) >= 0.25
    volume.made.inject("stall 3600")
    threading.Timer(0.1, lambda: volume.made.inject("clear")).start()
    volume.read_block(0)


def test_a_slow_block_holds_nobody_else_back(make: Make) -> None:
    volume = make()
    volume.made.inject("slow 3 1 1.0")
    reader = threading.Thread(target=lambda: volume.read_block(3))
    reader.start()
    for block in (0, 1, 2, 4, 5):
        volume.read_block(block)
    assert reader.is_alive()
    reader.join()
    assert volume.counters.read_seconds >= 1.0


@pytest.mark.parametrize(
    "line", ["eio", "eio 0", "eio 5000 1", "eio 0 5000", "stall -1", "slow 0 1", "slow 0 1 nan", ""]
)
def test_bad_faults_are_refused(make: Make, line: str) -> None:
    with pytest.raises(DataPlaneError, match="fault"):
        make().made.inject(line)


def test_initialization_makes_the_first_share_local_in_block_order(make: Make) -> None:
    volume = make(extents=((4, 10), (40, 10)), settings=QUICK)
    volume.made.set_initialized_fraction(0.55)
    assert volume.counters.fetched_blocks == 11
    volume.read_blocks_at_once([4, 13, 40])
    assert volume.fetches == 0
    volume.read_block(41)
    assert volume.fetches == 1
    volume.made.set_initialized_fraction(1.0)
    assert volume.counters.fetched_blocks == 20
    assert volume.counters.read_blocks == 0
    with pytest.raises(DataPlaneError, match="between 0 and 1"):
        volume.made.set_initialized_fraction(1.5)


def test_a_volume_may_initialize_itself_in_the_background(make: Make) -> None:
    volume = make(settings=FirstTouchSettings(background_mib_s=400))
    wait_until(lambda: volume.counters.fetched_blocks == 64)
    assert volume.fetches == 0


def test_a_written_block_is_local_where_it_was_written(make: Make) -> None:
    volume = make(settings=QUICK)
    volume.write(0, b"x" * BLOCK_BYTES)
    assert volume.counters.fetched_blocks == 1
    volume.write(BLOCK_BYTES, b"y" * 8 * KIB)
    assert volume.read(BLOCK_BYTES, 8 * KIB) == b"y" * 8 * KIB
    assert volume.fetches == 0
    volume.read(BLOCK_BYTES + 8 * KIB, 4 * KIB)
    assert volume.fetches == 1


def test_which_fetches_are_slow_depends_on_the_seed_and_not_on_the_order(make: Make) -> None:
    def slow_blocks(seed: int, blocks: list[int]) -> set[int]:
        volume = make(
            settings=FirstTouchSettings(
                mean_latency_ms=0.01, tail_probability=0.3, tail_seconds=60, neighbours=0, seed=seed
            )
        )
        done: set[int] = set()

        def touch(block: int) -> None:
            with contextlib.suppress(OSError):
                volume.read_block(block)
                done.add(block)

        readers = [threading.Thread(target=touch, args=[block]) for block in blocks]
        for reader in readers:
            reader.start()
        time.sleep(1)
        late = set(blocks) - done
        assert volume.made.first_touch.stop() == 0
        for reader in readers:
            reader.join()
        return late

    forward = slow_blocks(1, list(range(20)))
    assert 0 < len(forward) < 20
    assert slow_blocks(1, list(range(19, -1, -1))) == forward
    assert slow_blocks(2, list(range(20))) != forward


def read_and_write_at_random(volume: Volume, expected: bytearray, steps: int) -> None:
    draw = random.Random(7)
    for _ in range(steps):
        offset = draw.randrange(len(expected))
        length = min(draw.choice((1, 511, 4096, 65_536, 700_000)), len(expected) - offset)
        if draw.random() < 0.4:
            data = draw.randbytes(length)
            volume.write(offset, data)
            expected[offset : offset + length] = data
        else:
            assert volume.read(offset, length) == expected[offset : offset + length]
    assert volume.read(0, len(expected)) == expected


def image_of(path: Path, size: int) -> bytearray:
    data = random.Random(3).randbytes(size)
    path.write_bytes(data)
    return bytearray(data)


@pytest.mark.parametrize("touch_pages", [False, True])
def test_bytes_are_those_of_the_snapshot_and_of_later_writes(
    make: Make, tmp_path: Path, *, touch_pages: bool
) -> None:
    expected = image_of(tmp_path / "image", 8 * MIB)
    settings = FirstTouchSettings(mean_latency_ms=0.5, touch_pages=touch_pages)
    read_and_write_at_random(make(((0, 16),), settings, image=tmp_path / "image"), expected, 300)


def test_reads_end_at_the_end_of_the_volume(make: Make) -> None:
    volume = make()
    assert len(volume.read(GIB - 4 * KIB, 64 * KIB)) == 4 * KIB
    assert volume.read(GIB, 4 * KIB) == b""
    with pytest.raises(OSError, match="No space left"):
        volume.write(GIB, b"x")
