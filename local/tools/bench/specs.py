"""The volumes of the benchmark, and the least time in which each of them can be warmed."""

from __future__ import annotations

import random
from dataclasses import dataclass, field, replace

from local.aws.machines.dataplane import BLOCK_BYTES, Extent, VolumeLimits
from local.aws.machines.first_touch_process import FirstTouchSettings

GIB = 1 << 30
MIB = 1 << 20
OPERATION_BYTES = 256 * 1024
TOUCH_BYTES = 4096
SIZE_STEP_BYTES = 16 * MIB
"""Sixteen dd processes share a volume in whole MiB."""
LONGEST_RUN_BLOCKS = 32

DD, PARALLEL_DD, FIO_AWS = "dd", "parallel-dd", "fio-aws"
FIO_BEST, FIO_BEST_MAP = "fio-best", "fio-best-map"
IO_URING, THREADS, TOUCH = "agent-io_uring", "agent-threads", "agent-touch"
ENGINES = (IO_URING, THREADS)
READERS = (*ENGINES, TOUCH)
COMMON = VolumeLimits(iops=3_000, throughput_mib_s=125)
DOUBLED = VolumeLimits(iops=6_000, throughput_mib_s=250)
FAST = VolumeLimits(iops=16_000, throughput_mib_s=1_000)
WIDE = FirstTouchSettings(fetch_concurrency=256)
ALONE = FirstTouchSettings(neighbours=0)
TAILED = FirstTouchSettings(tail_probability=0.01, tail_seconds=2.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class VolumeSpec:
    """One kind of volume."""

    name: str
    text: str
    size_gib: float
    written_fraction: float = 1.0
    limits: VolumeLimits = COMMON
    changed_limits: VolumeLimits | None = None
    """What the limits become half way, reckoned by the throughput that it begins with."""
    settings: FirstTouchSettings = field(default_factory=FirstTouchSettings)
    on_file: bool = False
    """Measured on the volume's file: a loop device has 128 tags, which caps what is in flight at 32 MiB."""
    tools: tuple[str, ...] = ()
    """Run in every round."""
    once: tuple[str, ...] = ()
    """Run in the first round only: no goal rests on them, and they take long."""

    @property
    def size_bytes(self) -> int:
        """Whole steps, at least one."""
        return max(1, round(self.size_gib * GIB / SIZE_STEP_BYTES)) * SIZE_STEP_BYTES

    @property
    def extents(self) -> tuple[Extent, ...]:
        """The written runs: the same in every round."""
        blocks = self.size_bytes // BLOCK_BYTES
        return scattered_runs(blocks, round(blocks * self.written_fraction))

    @property
    def written_blocks(self) -> int:
        """How many blocks have to be warmed."""
        return round(self.size_bytes // BLOCK_BYTES * self.written_fraction)

    @property
    def change_after_seconds(self) -> float | None:
        """When the limits change, counted from the first read."""
        if self.changed_limits is None:
            return None
        return self.written_blocks * BLOCK_BYTES / MIB / self.limits.throughput_mib_s / 2

    def sized(self, size_gib: float) -> VolumeSpec:
        """The same kind with another size."""
        return replace(self, size_gib=size_gib)


SPECS = (
    VolumeSpec(
        name="full",
        text="125 MiB/s, 3,000 IOPS, fully written",
        size_gib=1,
        tools=(DD, FIO_AWS, FIO_BEST, *READERS),
        once=(PARALLEL_DD,),
    ),
    VolumeSpec(
        name="quarter",
        text="125 MiB/s, 3,000 IOPS, 25 % written in scattered runs",
        size_gib=2,
        written_fraction=0.25,
        tools=(DD, FIO_AWS, FIO_BEST_MAP, *READERS),
        once=(PARALLEL_DD,),
    ),
    VolumeSpec(
        name="quarter-tail",
        text="as quarter, and 1 % of the fetches take 2 s",
        size_gib=4,
        written_fraction=0.25,
        settings=TAILED,
        on_file=True,
        tools=(FIO_BEST_MAP, *READERS),
        once=(DD, PARALLEL_DD, FIO_AWS),
    ),
    VolumeSpec(
        name="quarter-large",
        text="as quarter, and larger: touching measures a second first, whatever the size",
        size_gib=10,
        written_fraction=0.25,
        tools=(FIO_BEST_MAP, *READERS),
        once=(DD, PARALLEL_DD, FIO_AWS),
    ),
    VolumeSpec(
        name="changing",
        text="fully written; 125 MiB/s and 3,000 IOPS become 250 MiB/s and 6,000 IOPS half way",
        size_gib=1,
        changed_limits=DOUBLED,
        tools=(FIO_BEST, *READERS),
        once=(DD, PARALLEL_DD, FIO_AWS),
    ),
    VolumeSpec(
        name="fast-64",
        text="1,000 MiB/s, 16,000 IOPS, fully written, 64 fetches at a time",
        size_gib=4,
        limits=FAST,
        on_file=True,
        tools=(DD, FIO_AWS, FIO_BEST, *READERS),
        once=(PARALLEL_DD,),
    ),
    VolumeSpec(
        name="fast-64-alone",
        text="as fast-64, but no block is fetched ahead of a sequential reader",
        size_gib=4,
        limits=FAST,
        settings=ALONE,
        on_file=True,
        tools=(FIO_AWS, FIO_BEST, *READERS),
    ),
    VolumeSpec(
        name="fast-256",
        text="1,000 MiB/s, 16,000 IOPS, fully written, 256 fetches at a time",
        size_gib=2,
        limits=FAST,
        settings=WIDE,
        on_file=True,
        tools=(FIO_AWS, FIO_BEST, *READERS),
        once=(DD, PARALLEL_DD),
    ),
    VolumeSpec(
        name="fast-256-quarter",
        text="1,000 MiB/s, 16,000 IOPS, 25 % written, 256 fetches at a time",
        size_gib=4,
        written_fraction=0.25,
        limits=FAST,
        settings=WIDE,
        on_file=True,
        tools=(FIO_AWS, FIO_BEST_MAP, *READERS),
        once=(DD, PARALLEL_DD),
    ),
)
"""In the order in which they are measured and shown."""
TOOLS = (DD, PARALLEL_DD, FIO_AWS, FIO_BEST, FIO_BEST_MAP, *READERS)
"""In the order in which they are shown."""


def scattered_runs(blocks: int, written: int) -> tuple[Extent, ...]:
    """Exactly `written` of `blocks`, in runs of 1 to 32 blocks between gaps of any length."""
    if written >= blocks:
        return ((0, blocks),)
    generator = random.Random(20)
    lengths: list[int] = []
    while (left := written - sum(lengths)) > 0:
        lengths.append(min(left, generator.randint(1, LONGEST_RUN_BLOCKS)))
    free = blocks - written
    gap_ends = sorted(generator.randint(0, free) for _ in lengths)
    runs: list[Extent] = []
    done = 0
    for gap_end, length in zip(gap_ends, lengths, strict=True):
        first = gap_end + done
        if runs and sum(runs[-1]) == first:
            runs[-1] = (runs[-1][0], runs[-1][1] + length)
        else:
            runs.append((first, length))
        done += length
    return tuple(runs)


@dataclass(frozen=True, slots=True)
class PhysicalLimit:
    """What each of the volume's limits alone would take; nobody can be faster than the largest."""

    by_throughput_seconds: float
    by_iops_seconds: float
    by_fetches_seconds: float

    @property
    def seconds(self) -> float:
        """The largest."""
        return max(self.by_throughput_seconds, self.by_iops_seconds, self.by_fetches_seconds)


def physical_limit(spec: VolumeSpec, *, touch: bool = False) -> PhysicalLimit:
    """Bytes / throughput, requests / IOPS, fetches x latency / concurrency; `touch` reads 4 KiB a block."""
    blocks = spec.written_blocks
    block_bytes = TOUCH_BYTES if touch else BLOCK_BYTES
    requests = blocks * max(1, block_bytes // OPERATION_BYTES)
    after = spec.changed_limits or spec.limits
    change = spec.change_after_seconds
    return PhysicalLimit(
        _seconds(blocks * block_bytes / MIB, spec.limits.throughput_mib_s, after.throughput_mib_s, change),
        _seconds(requests, spec.limits.iops, after.iops, change),
        blocks * mean_fetch_seconds(spec.settings) / spec.settings.fetch_concurrency,
    )


def mean_fetch_seconds(settings: FirstTouchSettings) -> float:
    """The tail included."""
    common = (1 - settings.tail_probability) * settings.mean_latency_ms / 1e3
    return common + settings.tail_probability * settings.tail_seconds


def _seconds(work: float, rate: float, rate_after: float, change_after: float | None) -> float:
    """How long the work takes at a rate that changes once."""
    if change_after is None or work <= rate * change_after:
        return work / rate
    return change_after + (work - rate * change_after) / rate_after
