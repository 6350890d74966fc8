"""The warm-up agent on a volume that has more performance than it is to keep, until it is warm."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable
from dataclasses import dataclass, replace

from rewarm.domain.model import BoostSettings, PriceBook, Strategy, VolumeSettings
from rewarm.domain.plan import cost
from rewarm.domain.plan.estimates import Estimate, EstimateLimits, Infeasible, Outcome, listing
from rewarm.domain.plan.facts import VolumeFacts
from rewarm.domain.plan.warm_up import (
    IOPS_PER_MIB_S,
    most_of_use_mib_s,
    no_agent,
    promised_p90,
    reading_estimate,
)
from rewarm.domain.volume.volume_types import VOLUME_TYPES, VolumeSpeed

RAISED = frozenset({"gp3", "io1", "io2"})
"""Types with a setting that ModifyVolume takes back without another type."""
IO_THROUGHPUT_MIB_S = {"io1": 1_000, "io2": 4_000}
"""EBS user guide, "Amazon EBS volume types": the most of the types that have no throughput setting."""


@dataclass(frozen=True, slots=True)
class Boosts:
    """What a volume may be raised to."""

    facts: VolumeFacts
    settings: VolumeSettings
    steps_mib_s: range
    """Those that make the promise better, each by itself."""
    ready_p90: Callable[[float], float]

    def at(self, mib_s: int) -> BoostSettings:
        """0.25 MiB/s for each IOPS is gp3's rule, and what 256 KiB an I/O come to (EBS user guide)."""
        kind = self.settings.volume_type
        had = self.settings.iops or cost.BASE_IOPS.get(kind, 0)
        return BoostSettings(kind, max(had, mib_s * IOPS_PER_MIB_S), mib_s if kind == "gp3" else None)


def boosted_warm_up(facts: VolumeFacts, book: PriceBook, limits: EstimateLimits) -> Outcome:
    """The lowest boost that meets the deadline (its price grows with it), else the fastest affordable.

    Without a deadline the fastest too: who names this strategy wants speed, and it costs cents.
    """
    boosts = boosts_of(facts, book)
    if isinstance(boosts, str):
        return Infeasible(Strategy.BOOSTED_WARM_UP, boosts)
    steps, best = boosts.steps_mib_s, len(boosts.steps_mib_s) - 1
    if limits.deadline_seconds is not None:
        in_time = bisect_left(steps, -limits.deadline_seconds, key=lambda mib_s: -boosts.ready_p90(mib_s))
        best = min(best, in_time)
    estimate = at_boost(boosts, book, steps[best])
    budget = limits.budget_usd
    if budget is None or estimate.decidable_usd <= budget:
        return estimate
    affordable = bisect_right(
        steps,
        budget,
        key=lambda mib_s: cost.boost_usd(book, boosts.settings, boosts.at(mib_s), boosts.ready_p90(mib_s)),
    )
    return at_boost(boosts, book, steps[max(0, affordable - 1)])


def at_boost(boosts: Boosts, book: PriceBook, mib_s: int) -> Estimate:
    """One of its steps."""
    facts, boost = boosts.facts, boosts.at(mib_s)
    part = cost.boost(book, boosts.settings, boost, boosts.ready_p90(mib_s))
    speed = VolumeSpeed(boost.iops, float(mib_s), float(mib_s))
    parts = (listing(facts, book), part)
    return replace(reading_estimate(Strategy.BOOSTED_WARM_UP, facts, speed, parts), boost=boost)


def boosts_of(facts: VolumeFacts, book: PriceBook) -> Boosts | str:
    """Or why there are none."""
    settings = facts.settings
    refusal = no_agent(facts) or _not_raised(settings)
    if settings is None or refusal is not None:
        return refusal or ""
    able, had = _able_mib_s(settings), facts.speed.sustained_mib_s
    first = math.floor(had) + 1
    if first > able:
        return f"{had:,.0f} MiB/s is all that this type and size of volume allow"
    steps = range(first, math.ceil(min(able, most_of_use_mib_s(facts))) + 1)
    if not steps:
        return (
            f"the volume's {had:,.0f} MiB/s is as much as instance and S3 can be relied on for, "
            "so more would be wasted"
        )
    ready = promised_p90(facts)
    fastest = ready(steps[-1])
    if ready(had) <= fastest:
        return "what reads beside it on the instance, or the little data, leaves nothing to gain"
    last = steps[bisect_left(steps, -fastest, key=lambda mib_s: -ready(mib_s))]
    boosts = Boosts(facts, settings, range(first, last + 1), ready)
    missing = cost.missing_boost_price(book, settings, boosts.at(last))
    return boosts if missing is None else f"the price book has no price for {missing}"


def _not_raised(settings: VolumeSettings | None) -> str | None:
    if settings is None or settings.volume_type not in RAISED:
        name = f"a {settings.volume_type} volume" if settings else "the volume"
        return f"{name} has no performance setting that could be raised for a while"
    if settings.multi_attach:
        return "the performance of a volume for several instances is left alone"
    return None


def _able_mib_s(settings: VolumeSettings) -> int:
    """The most that the type allows at this size, by throughput and by IOPS."""
    kind = VOLUME_TYPES[settings.volume_type]
    most_iops = min(kind.max_iops or 0, max(kind.min_iops or 0, (kind.iops_per_gib or 0) * settings.size_gib))
    ceiling = kind.max_throughput_mib_s or IO_THROUGHPUT_MIB_S[settings.volume_type]
    return min(ceiling, most_iops // IOPS_PER_MIB_S)
