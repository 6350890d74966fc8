"""The tables of docs/rewind.md: from which size on a rewind is sooner, by the planner's estimates (P50)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache

from local.tools.plan import offline
from local.tools.plan.crossovers import INSTANCE_TYPE, NOW
from local.tools.plan.options import Options
from rewarm.domain.blocks.rewind import RewindEstimate, rewind
from rewarm.domain.blocks.rewind_facts import LISTED, LOGGED, RewindFacts, RewindManner, WrittenSince
from rewarm.domain.blocks.shards import ChangedCount
from rewarm.domain.model import BLOCK_BYTES, GIB, MIB, InstanceEbsLimits, PriceBook, Strategy
from rewarm.domain.plan.estimates import Estimate, EstimateLimits
from rewarm.domain.plan.estimators import ESTIMATORS
from rewarm.domain.plan.facts import VolumeFacts
from rewarm.domain.time.timings import PRIORS, Quantiles
from rewarm.domain.units import duration_text

CHANGED_PERCENT, WRITTEN_PERCENT = (1, 5), (100, 70, 50)
PENDING_SECONDS = (30, 180, 900)
EVIDENCE_SECONDS_PER_MIB = 0.004
"""As the embedded AWS completes a snapshot (docs/fidelity.md)."""
MOST_GIB = 16 * 1_024
"""The largest gp3 volume that the tables look at."""
SPEEDS_MIB_S = (125, 1_000)
TIMES = 5


@dataclass(frozen=True, slots=True)
class _Case:
    """Percent of the volume that is written and that has changed, and how long the evidence is pending."""

    written: int
    changed: int
    pending: int
    mib_s: float = 125.0


def all_tables() -> dict[str, tuple[list[str], list[list[str]]]]:
    """Name to head and rows."""
    return {"rewind-sizes": _sizes(), "rewind-comparison": _comparison()}


def _sizes() -> tuple[list[str], list[list[str]]]:
    """From which size on a rewind is five times as fast as a new volume with the same proof."""
    head = ["Changed", "Evidence pending", "Full volume", "70 % written", "Half written"]
    rows = [
        [
            f"{changed} %",
            duration_text(pending),
            *(_five_times(_Case(written, changed, pending)) for written in WRITTEN_PERCENT),
        ]
        for changed in CHANGED_PERCENT
        for pending in PENDING_SECONDS
    ]
    return head, rows


def _five_times(case: _Case) -> str:
    def ratio(gib: int) -> float:
        return _new_volume(gib, case.written) / _rewind(gib, case, LISTED).seconds.p50

    found = _first(lambda gib: ratio(gib) >= TIMES)
    return f"never: {ratio(MOST_GIB):.1f} times at 16 TiB" if found is None else _size(found)


def _comparison() -> tuple[list[str], list[list[str]]]:
    """Up to which size a comparison of the device is sooner than a snapshot and EBS's lists."""
    head = ["Evidence pending", *(f"{mib_s:,} MiB/s" for mib_s in SPEEDS_MIB_S)]
    rows = [
        [duration_text(pending), *(_up_to(mib_s, pending) for mib_s in SPEEDS_MIB_S)]
        for pending in PENDING_SECONDS
    ]
    return head, rows


def _up_to(mib_s: int, pending: int) -> str:
    case = _Case(written=100, changed=1, pending=pending, mib_s=mib_s)

    def is_later(gib: int) -> bool:
        logged, listed = (_rewind(gib, case, way) for way in (LOGGED, LISTED))
        return logged.seconds.p50 > listed.seconds.p50

    found = _first(is_later)
    if found is None:
        return "all"
    return _size(found - 1) if found > 1 else "never"


def _first(holds: Callable[[int], bool]) -> int | None:
    """The smallest size for which it holds, where it holds for all larger ones."""
    if not holds(MOST_GIB):
        return None
    low, high = 1, MOST_GIB
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle + 1, high)
    return low


def _size(gib: int) -> str:
    return f"{gib} GiB" if gib < 1_024 else f"{gib / 1_024:.1f} TiB"


@cache
def _base() -> tuple[VolumeFacts, PriceBook]:
    facts, book = offline.facts(Options(size_gib=1_024, instance_type=INSTANCE_TYPE), NOW)
    return facts[0], book


def _new_volume(gib: int, written: int) -> float:
    """Seconds until the agent has read it; that reading counts as its proof."""
    facts, book = _base()
    data = gib * GIB * written // 100
    sized = replace(
        facts,
        data_bytes=data,
        written_bytes=data,
        written_blocks=data // BLOCK_BYTES,
        snapshot_size_gib=gib,
    )
    outcome = ESTIMATORS[Strategy.WARM_UP_AGENT](sized, book, EstimateLimits())
    if not isinstance(outcome, Estimate):
        raise TypeError(f"{gib} GiB: {outcome}")
    return outcome.times.ready_p50


def _rewind(gib: int, case: _Case, way: RewindManner) -> RewindEstimate:
    facts, book = _base()
    blocks = gib * GIB // BLOCK_BYTES
    differing = math.ceil(blocks * case.changed / 100)
    waited = case.pending + differing * BLOCK_BYTES / MIB * EVIDENCE_SECONDS_PER_MIB
    of_rewind = RewindFacts(
        volume_bytes=gib * GIB,
        speed=replace(facts.speed, sustained_mib_s=case.mib_s, burst_mib_s=case.mib_s),
        instance_limits=facts.instance_limits or InstanceEbsLimits(None, None, None, None),
        changed=ChangedCount(0),
        since=WrittenSince(0, differing * BLOCK_BYTES),
        written_blocks=blocks * case.written // 100,
        timings=replace(PRIORS, evidence_seconds=Quantiles(waited, waited)),
    )
    return rewind(of_rewind, book, way)
