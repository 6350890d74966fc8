"""How long one joint plan of many volumes takes, and how much memory: in time, and where nothing is in time.

Ten volumes share an instance, and every volume has a snapshot of its own. Sizes, settings and credits are
random, always the same.
"""

from __future__ import annotations

import random
import resource
import time
from datetime import UTC, datetime

from local.tools.bench.view import View
from local.tools.plan import offline
from rewarm.domain.model import BLOCK_BYTES, GIB, FastSnapshotRestore, InstanceEbsLimits, VolumeSettings
from rewarm.domain.plan.allocation import allocate
from rewarm.domain.plan.estimates import PlanObjective
from rewarm.domain.plan.facts import VolumeFacts
from rewarm.domain.volume.volume_types import speed

VOLUMES, PER_INSTANCE = 10_000, 10
MOST_SECONDS, MOST_MIB = 10.0, 1_024.0
DEADLINES = {"in time": 7 * 86_400.0, "late": 3_600.0}
NOW = datetime(2026, 11, 1, tzinfo=UTC)
_INSTANCES = (
    InstanceEbsLimits(156.25, 593.75, 6_000, 20_000),
    InstanceEbsLimits(593.75, 593.75, 20_000, 20_000),
    InstanceEbsLimits(43.0, 260.0, 2_000, 11_800),
)
_SIZES_GIB = (8, 50, 100, 200, 500, 1_024, 2_048, 4_096)
_SETTINGS = ((3_000, 125), (4_000, 250), (16_000, 1_000))
_CREDITS = (None, FastSnapshotRestore("enabled", NOW, 0.0), FastSnapshotRestore("enabled", NOW, 2.5))


def volumes(count: int, seed: int = 1) -> list[VolumeFacts]:
    """Of a Region with AWS's default quotas; a quarter of them go to a zone alone."""
    draw = random.Random(seed)
    limits = [draw.choice(_INSTANCES) for _ in range(count // PER_INSTANCE + 1)]
    return [_volume(draw, number, limits[number // PER_INSTANCE]) for number in range(count)]


def _volume(draw: random.Random, number: int, limits: InstanceEbsLimits) -> VolumeFacts:
    size_gib, has_instance = draw.choice(_SIZES_GIB), draw.random() < 0.75
    iops, throughput = draw.choice(_SETTINGS)
    settings = VolumeSettings("gp3", size_gib, iops, throughput)
    blocks = int(size_gib * GIB * draw.choice((0.3, 0.7, 1.0))) // BLOCK_BYTES
    return VolumeFacts(
        data_bytes=blocks * BLOCK_BYTES,
        written_bytes=blocks * BLOCK_BYTES,
        written_blocks=blocks,
        snapshot_size_gib=size_gib,
        speed=speed(settings),
        settings=settings,
        instance_limits=limits if has_instance else None,
        instance_id=f"i-{number // PER_INSTANCE}" if has_instance else None,
        agent_available=has_instance,
        agent_writes=has_instance,
        verified=True,
        snapshot_id=f"snap-{number}",
        availability_zone="us-east-1a",
        fast_restore=draw.choice(_CREDITS),
    )


def measure(view: View) -> dict[str, dict[str, float]]:
    """Plan them, print a line for each deadline with its goal, and return the figures."""
    book, several, found = offline.Prices("us-east-1").book(now=NOW), volumes(VOLUMES), {}
    for name, deadline_seconds in DEADLINES.items():
        began = time.process_time()
        mix = allocate(several, PlanObjective(deadline_seconds), book)
        seconds = time.process_time() - began
        mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1_024
        if mix is None:
            raise AssertionError("these volumes can always be restored")
        mark = "✓" if seconds < MOST_SECONDS and mib < MOST_MIB else "✗"
        view.say(
            f"{mark} {VOLUMES:,} volumes, {name}: planned in {seconds:.1f} s of processor time with "
            f"{mib:,.0f} MiB; ${mix.usd:,.2f}, and no other mix costs less than ${mix.least_usd:,.2f}; "
            f"under {MOST_SECONDS:.0f} s and {MOST_MIB:,.0f} MiB are the goal"
        )
        found[name] = {"processorSeconds": round(seconds, 2), "mib": round(mib, 1)}
    return found
