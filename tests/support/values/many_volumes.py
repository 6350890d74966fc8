"""Restores of 25 to 200 volumes that are hard to plan, always the same for a seed."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal

from rewarm.domain.model import BLOCK_BYTES, GIB, FastSnapshotRestore, InstanceEbsLimits, VolumeSettings
from rewarm.domain.plan.facts import VolumeFacts
from rewarm.domain.volume.volume_types import speed
from tests.support.builders import NOW

INSTANCES = (
    InstanceEbsLimits(156.25, 593.75, 6_000, 20_000),
    InstanceEbsLimits(593.75, 593.75, 20_000, 20_000),
    InstanceEbsLimits(43.0, 260.0, 2_000, 11_800),
    InstanceEbsLimits(2_500.0, 2_500.0, 80_000, 80_000),
    InstanceEbsLimits(12_500.0, 12_500.0, 400_000, 400_000),
)
FAST_RESTORES = (
    None,
    None,
    None,
    FastSnapshotRestore("enabled", NOW, 0.0),
    FastSnapshotRestore("enabled", NOW, 5.0),
    FastSnapshotRestore("optimizing", NOW, 0.0),
)
SIZES_GIB = (8, 50, 100, 200, 500, 1_024, 2_048, 4_096)
SETTINGS = (("gp3", 3_000, 125), ("gp3", 4_000, 250), ("gp3", 16_000, 1_000), ("io2", 8_000, None))
RATES, FAST_QUOTAS = (0, 300, 1_000, 5_000, 5_000, 20_000, 100_000), (0, 1, 2, 5, 5, 50)
COUNTS = (25, 26, 30, 40, 60, 100, 150, 200)
CROWDED = (0.0, 0.0, 0.5, 0.9, 1.0)
"""Share of the volumes that go to the first instance."""


def restore(seed: int, counts: Sequence[int] = COUNTS) -> tuple[list[VolumeFacts], float, Decimal | None]:
    """The volumes, a deadline in seconds, and for some a budget.

    Few snapshots with many volumes each, or many with one; equal sizes, or any; one crowded instance beside
    free ones, or all alike; one huge volume among small ones.
    """
    draw = random.Random(seed)
    count = draw.choice(counts)
    instances = draw.choice((1, 2, 5, 20, count))
    limits = [draw.choice(INSTANCES) for _ in range(instances)]
    crowded, alone, writes = draw.choice(CROWDED), draw.choice((0.0, 0.1, 0.5)), draw.choice((0.0, 0.7, 1.0))
    settings = [draw.choice(SETTINGS)] if draw.random() < 0.5 else list(SETTINGS)
    equal, is_even = draw.choice(SIZES_GIB), draw.random() < 0.4
    snapshots = [
        (_blocks(draw, equal if is_even else None), draw.choice(FAST_RESTORES))
        for _ in range(draw.choice((1, 2, 4, 10, max(1, count // 4), count)))
    ]
    if draw.random() < 0.2:
        snapshots[0] = (4_096, 4_096 * GIB // BLOCK_BYTES), snapshots[0][1]
    quotas = {
        "rate_quota_left_mib_s": draw.choice(RATES),
        "fast_restore_quota_left": draw.choice(FAST_QUOTAS),
    }
    volumes = []
    for number in range(count):
        snapshot = number if len(snapshots) == count else draw.randrange(len(snapshots))
        instance = 0 if draw.random() < crowded else draw.randrange(instances)
        has_instance = draw.random() >= alone
        there = (f"i-{instance}", limits[instance]) if has_instance else None
        (size_gib, blocks), fast_restore = snapshots[snapshot]
        kind, iops, throughput = draw.choice(settings)
        wanted = VolumeSettings(kind, size_gib, iops, throughput)
        one = _volume(wanted, blocks, there, is_written=has_instance and draw.random() < writes)
        volumes.append(replace(one, snapshot_id=f"snap-{snapshot}", fast_restore=fast_restore, **quotas))
    deadline = 1_200 * (200_000 / 1_200) ** draw.random()
    budget = Decimal(round(10_000 * 20_000 ** draw.random())) / 1_000_000 if draw.random() < 0.2 else None
    return volumes, deadline, budget


def _volume(
    wanted: VolumeSettings, blocks: int, there: tuple[str, InstanceEbsLimits] | None, *, is_written: bool
) -> VolumeFacts:
    return VolumeFacts(
        data_bytes=blocks * BLOCK_BYTES,
        written_bytes=blocks * BLOCK_BYTES,
        written_blocks=blocks,
        snapshot_size_gib=wanted.size_gib,
        speed=speed(wanted),
        settings=wanted,
        instance_limits=there[1] if there else None,
        instance_id=there[0] if there else None,
        agent_available=there is not None,
        agent_writes=is_written,
        verified=True,
        availability_zone="ap-northeast-1a",
    )


def _blocks(draw: random.Random, size_gib: int | None) -> tuple[int, int]:
    """Size and written blocks, of a few sizes or of any."""
    size_gib = size_gib or (draw.choice(SIZES_GIB) if draw.random() < 0.5 else draw.randint(4, 2_000))
    written = draw.choice((0.3, 0.7, 1.0, 1.0, draw.random()))
    return size_gib, max(1, int(size_gib * GIB * written) // BLOCK_BYTES)
