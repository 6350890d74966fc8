"""Plans of several volumes against an exact solver, and against the limits that they share."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from itertools import groupby

import pytest

from local.tools.bench.checks.plans import DEADLINES, VOLUMES, volumes
from rewarm.domain.model import BLOCK_BYTES, GIB, FastSnapshotRestore, InstanceEbsLimits, VolumeSettings
from rewarm.domain.plan.allocation import allocate
from rewarm.domain.plan.estimates import Estimate, PlanObjective
from rewarm.domain.plan.facts import VolumeFacts
from rewarm.domain.time.measured import Phase
from rewarm.domain.time.timings import PRIORS
from rewarm.domain.volume.volume_types import speed
from tests.support.amount import LONG
from tests.support.builders import NOW
from tests.support.values.exact_plan import ExactPlan
from tests.support.values.facts import TOKYO

CASES = 2_000 if LONG else 10
MOST = 6
INSTANCES = (
    InstanceEbsLimits(156.25, 593.75, 6_000, 20_000),
    InstanceEbsLimits(593.75, 593.75, 20_000, 20_000),
    InstanceEbsLimits(43.0, 260.0, 2_000, 11_800),
    InstanceEbsLimits(2_500.0, 2_500.0, 80_000, 80_000),
)
SNAPSHOTS = (
    None,
    FastSnapshotRestore("enabled", NOW, 0.0),
    FastSnapshotRestore("enabled", NOW, 2.5),
    FastSnapshotRestore("optimizing", NOW, 0.0),
)
RATES, SCARCE_RATES = (0, 100, 150, 200, 300, 450, 600, 1_000, 5_000), (0, 100, 300)
SIZES_GIB = (8, 50, 100, 200, 500, 1_024, 2_048, 4_096)
SETTINGS = (("gp3", 3_000, 125), ("gp3", 4_000, 250), ("gp3", 16_000, 1_000))


def restore(seed: int) -> tuple[list[VolumeFacts], float]:
    """One to six volumes on at most three instances, of at most three snapshots, and a deadline.

    Every fifth has next to no quota and fast volumes of one snapshot, so that the agent must read or write.
    Every third has instances with two EBS cards.
    """
    draw = random.Random(seed)
    scarce = seed % 5 == 0
    quotas = {
        "rate_quota_left_mib_s": draw.choice(SCARCE_RATES if scarce else RATES),
        "fast_restore_quota_left": 0 if scarce else draw.choice((0, 1, 2, 5)),
    }
    snapshots = [
        (draw.choice(SIZES_GIB), draw.choice(SNAPSHOTS), draw.choice((0.3, 0.7, 1.0))) for _ in range(3)
    ]
    instances = [INSTANCES[-1] if scarce else draw.choice(INSTANCES) for _ in range(3)]
    volumes = []
    for _ in range(draw.randint(1, MOST)):
        snapshot, instance = draw.randrange(1 if scarce else 3), draw.randrange(0 if scarce else -1, 3)
        size_gib, fast_restore, written = snapshots[snapshot]
        kind, iops, throughput = SETTINGS[-1] if scarce else draw.choice(SETTINGS)
        settings = VolumeSettings(kind, size_gib, iops, throughput)
        blocks = int(size_gib * GIB * written) // BLOCK_BYTES
        volumes.append(
            VolumeFacts(
                data_bytes=blocks * BLOCK_BYTES,
                written_bytes=blocks * BLOCK_BYTES,
                written_blocks=blocks,
                snapshot_size_gib=size_gib,
                speed=speed(settings),
                settings=settings,
                instance_limits=instances[instance] if instance >= 0 else None,
                instance_id=f"i-{instance}" if instance >= 0 else None,
                card=draw.randrange(2) if seed % 3 == 0 and instance >= 0 else None,
                agent_available=instance >= 0,
                agent_writes=scarce or draw.random() < 0.7,
                verified=True,
                snapshot_id=f"snap-{snapshot}",
                availability_zone="ap-northeast-1a",
                fast_restore=fast_restore,
                **quotas,
            )
        )
    return volumes, 600 * (100_000 / 600) ** draw.random()


@pytest.mark.oracle
@pytest.mark.parametrize("first", range(0, CASES, 10))
def test_no_exact_solver_is_cheaper_by_more_than_two_percent_or_in_time_where_we_are_late(first):
    for seed in range(first, first + 10):
        volumes, deadline = restore(seed)
        mix = allocate(volumes, PlanObjective(deadline), TOKYO)
        try:
            least = ExactPlan(volumes, deadline, TOKYO).least_usd()
        except TimeoutError:
            continue
        if least is None:
            assert mix is None or mix.seconds > deadline - 6, seed
            continue
        assert mix is not None, seed
        assert mix.seconds <= deadline, seed
        assert mix.usd <= least * Decimal("1.02") + Decimal("0.000010"), (seed, mix.usd, least)
        if mix.usd == mix.least_usd:
            assert mix.usd <= least + Decimal("0.000010"), (seed, mix.usd, least)


def test_that_no_other_mix_costs_less_is_known_of_a_late_restore_too():
    volumes, deadline = restore(329)
    mix = allocate(volumes, PlanObjective(deadline), TOKYO)
    assert mix is not None
    assert mix.seconds > deadline
    assert mix.is_proven
    # The solver begins each rate at a whole second.
    assert ExactPlan(volumes, mix.seconds + 1, TOKYO).least_usd() == mix.usd


@pytest.mark.parametrize("first", range(0, 20 * CASES, 200))
def test_no_quota_is_passed_and_what_is_said_to_be_the_least_is_no_more_than_the_price(first):
    for seed in range(first, first + 200):
        volumes, deadline = restore(seed)
        mix = allocate(volumes, PlanObjective(deadline), TOKYO)
        if mix is None:
            continue
        assert mix.least_usd <= mix.usd, seed
        assert _most_rate(mix.estimates) <= volumes[0].rate_quota_left_mib_s, seed
        assert _enabled(volumes, mix.estimates) <= volumes[0].fast_restore_quota_left, seed


def _most_rate(estimates: Sequence[Estimate]) -> int:
    """MiB/s at the busiest moment."""
    changes = []
    for estimate in estimates:
        if estimate.rate_mib_s is not None:
            start = sum(part.p90 for phase, part in estimate.times.phases if phase is Phase.QUEUE)
            loaded = estimate.times.ready_p90 - PRIORS.status_delay_seconds.p90
            changes += [(start, estimate.rate_mib_s), (loaded, -estimate.rate_mib_s)]
    most = now = 0
    for _, together in groupby(sorted(changes), key=lambda change: change[0]):
        now += sum(rate for _, rate in together)
        most = max(most, now)
    return most


def _enabled(volumes: Sequence[VolumeFacts], estimates: Sequence[Estimate]) -> int:
    taken = {
        facts.place
        for facts, estimate in zip(volumes, estimates, strict=True)
        if estimate.strategy == "fast-snapshot-restore" and not facts.fast_restore_runs
    }
    return len(taken)


@pytest.mark.parametrize("first", range(0, 10 * CASES, 100))
def test_important_volumes_are_never_later_for_the_others_sake(first):
    for seed in range(first, first + 100):
        volumes, deadline = restore(seed)
        draw = random.Random(seed)
        ranked = [replace(volume, priority=draw.choice((1, 9))) for volume in volumes]
        even = allocate(volumes, PlanObjective(deadline), TOKYO)
        mix = allocate(ranked, PlanObjective(deadline), TOKYO)
        assert (mix is None) == (even is None), seed
        if mix is None or even is None:
            continue
        if even.seconds <= deadline:
            assert mix.usd == even.usd, seed
        first_ready = [
            estimate.times.ready_p90
            for volume, estimate in zip(ranked, mix.estimates, strict=True)
            if volume.priority == 1
        ]
        assert max(first_ready, default=0.0) <= max(deadline, even.seconds) + 0.01, seed
        assert _most_rate(mix.estimates) <= volumes[0].rate_quota_left_mib_s, seed


@pytest.mark.parametrize("important", [0, 1, 2])
def test_the_important_volume_is_in_time_where_the_rate_suffices_for_no_other(important):
    alone = replace(
        restore(0)[0][0],
        data_bytes=1_024 * GIB,
        written_bytes=1_024 * GIB,
        written_blocks=1_024 * GIB // BLOCK_BYTES,
        snapshot_size_gib=1_024,
        instance_id=None,
        instance_limits=None,
        agent_available=False,
        fast_restore=None,
        fast_restore_quota_left=0,
        rate_quota_left_mib_s=100,
    )
    ranked = [
        replace(alone, snapshot_id=f"snap-{place}", priority=1 if place == important else 9)
        for place in range(3)
    ]
    mix = allocate(ranked, PlanObjective(4 * 3_600.0), TOKYO)
    assert mix is not None
    in_time = [place for place, one in enumerate(mix.estimates) if one.times.ready_p90 <= 4 * 3_600]
    assert in_time == [important]


@pytest.mark.parametrize(
    ("count", "deadline_seconds"),
    [
        (1_000, DEADLINES["in time"]),
        pytest.param(VOLUMES, DEADLINES["in time"], marks=pytest.mark.long),
        pytest.param(VOLUMES, DEADLINES["late"], marks=pytest.mark.long),
    ],
)
def test_many_volumes_are_planned_within_the_quotas(count, deadline_seconds):
    several = volumes(count)
    mix = allocate(several, PlanObjective(deadline_seconds), TOKYO)
    assert mix is not None
    assert mix.seconds <= deadline_seconds or deadline_seconds == DEADLINES["late"]
    assert _most_rate(mix.estimates) <= 5_000
    assert _enabled(several, mix.estimates) <= 5
