"""Times that AWS does not promise: priors with where they come from, until an account has its own history.

P50 is what to expect, P90 what to promise. History only makes another `Timings`.

An account's history and a prior together give robust quantiles of few weighted observations.
The prior is added as pseudo-observations (Gelman et al., "Bayesian Data Analysis", 3rd ed., 2.4). So one
restore does not overturn it, and two that agree do.

Quantiles are order statistics of the weighted sample, without interpolation. So raising an observation never
lowers a quantile, and one outlier moves the median no further than to its neighbour. The upper quantile takes
the rank p (n + 1) (Hyndman & Fan 1996, "Sample Quantiles in Statistical Packages", type 6, after Weibull).
The next observation is below it with probability p; the usual rank p n is too low for small n.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from rewarm.domain.model import BLOCK_BYTES, MIB, Strategy
from rewarm.domain.value import Value

UPPER_SHARE = 0.9
"""The share of the quantile that Rewarm promises (P90)."""
_CLOSE = 1e-9
"""Tolerance for rounding in sums of weights."""


class Quantiles(Value):
    """A figure as it is in 5 and in 9 of 10 cases; the second is always the worse one."""

    p50: float
    p90: float

    def inverse(self) -> Quantiles:
        """Of a rate, the time that a unit takes; of that time, the rate."""
        return Quantiles(1 / self.p50, 1 / self.p90)


class Basis(Value):
    """What an estimate rests on: shipped priors, `rewarm calibrate`, or so many restores of this account."""

    source: Literal["priors", "calibration", "history"] = "priors"
    restores: int = field(default=0, metadata={"ge": 0})


BY_PRIORS = Basis()
BY_CALIBRATION = Basis("calibration")
MB_S = 1_000_000 / MIB
"""Published speeds are in MB/s."""
FIRST_TOUCH_SECONDS = 0.091
"""Measured: 11 random 4 KiB reads a second at depth 1 right after a restore (gp3, published 2025)."""
FIRST_TOUCH_CONCURRENCY = 64
"""Measured prior: fetches of one volume from S3 that proceed side by side."""
_FIRST_TOUCH_MIB_S = FIRST_TOUCH_CONCURRENCY * (BLOCK_BYTES / MIB) / FIRST_TOUCH_SECONDS
FIRST_TOUCH_BAD_DAY = 1.5
"""How much longer a bad day takes if the usual rate is known; a choice, AWS only says "fluctuates"."""
LEAST_SHARE = 0.75
"""Share of the lowest limit; who reads less was held back by something else. A published read of a whole
volume (tuned fio, 2024) reached 100 MB/s, which is 0.76 of the 125 MiB/s that each gp3 volume has."""
PROVISIONED_IOPS = frozenset({"io1", "io2"})
"""Types that load faster from S3 than all others do (published measurements)."""


class Timings(Value):
    """Durations in seconds and rates in MiB/s; the defaults are the priors."""

    create_seconds: Quantiles = Quantiles(10, 60)
    """CreateVolume until `available`: seconds, though botocore's waiter allows for 10 minutes."""
    attach_seconds: Quantiles = Quantiles(5, 30)
    """AttachVolume until `attached`."""
    boot_seconds: Quantiles = Quantiles(60, 300)
    """StartInstances until Systems Manager hears from the instance. AWS names no time (unverified)."""
    delivery_seconds: Quantiles = Quantiles(5, 60)
    """SendCommand until the agent reads, after a download of less than 1 MiB and two dozen cold reads."""
    first_touch_mib_s: Quantiles = Quantiles(135 * MB_S, 100 * MB_S)
    """What S3 gives a volume. Published for gp3 are 130 to 140 MB/s, though the volumes had up to 1,000 MB/s,
    and 100 MB/s (tuned fio, 2024). No published gp3 volume loaded faster."""
    first_touch_io_mib_s: Quantiles = Quantiles(700 * MB_S, _FIRST_TOUCH_MIB_S / FIRST_TOUCH_BAD_DAY)
    """The same for io1 and io2: published for io2 are 700 MB/s to 1.2 GB/s. One article is no promise. That
    is 64 x 0.5 MiB / 91 ms = 352 MiB/s, on a bad day."""
    warm_up_share: Quantiles = Quantiles(1.0, LEAST_SHARE)
    """Share of the lowest limit (volume, instance, the user's own) that the agent reaches."""
    metric_delay_seconds: Quantiles = Quantiles(120, 300)
    """From the agent's end to the datapoint of a whole quiet minute (AWS names no delay). Only a volume that
    nobody measures waits for it."""
    status_delay_seconds: Quantiles = Quantiles(120, 300)
    """Status lags "up to 5 minutes" (EBS user guide, "Monitor the status of initialization")."""
    measure_seconds: Quantiles = Quantiles(10, 60)
    """Delivery of the command and two dozen reads of the cold volume, where EBS loads by itself."""
    verify_seconds: Quantiles = Quantiles(10, 60)
    """Delivery of the command and 256 reads of a millisecond or two."""
    rate_delivered: Quantiles = Quantiles(1.0, 0.9)
    """Share of a provisioned rate (EBS user guide, "Provisioned Rate": on average within 10 % of the rate,
    99 % of the time)."""
    fsr_optimizing_seconds_per_tib: Quantiles = Quantiles(3_600, 3_960)
    """EBS user guide, "View fast snapshot restore": 60 minutes per TiB; no promise, so a tenth more."""
    fsr_poll_seconds: Quantiles = Quantiles(60, 180)
    """The credit metric comes by the minute, and is looked at again no sooner."""
    background_seconds_per_tib: Quantiles = Quantiles(8 * 3_600, 24 * 3_600)
    """100 GiB were back at full speed within 24 hours (published 2025); "unpredictable", says AWS."""
    background_least_seconds: Quantiles = Quantiles(8 * 3_600, 24 * 3_600)
    """The same for less than 1 TiB: only an account's history shows that time grows with the size."""
    clone_first_tib_seconds: Quantiles = Quantiles(3 * 3_600, 6 * 3_600)
    """EBS user guide, "Copy volumes": up to 6 hours for the first TiB; half of that is UNVERIFIED."""
    clone_next_tib_seconds: Quantiles = Quantiles(0.6 * 3_600, 1.2 * 3_600)
    """The same page: 1.2 hours more for each TiB up to 16 TiB."""
    clone_most_seconds: Quantiles = Quantiles(12 * 3_600, 24 * 3_600)
    """The same page: 24 hours above 16 TiB."""
    evidence_seconds: Quantiles = Quantiles(900, 7_200)
    """CreateSnapshot of a volume that has snapshots, until it is completed: people report 3 minutes, 15
    minutes and 2 hours. AWS names no time (unverified)."""
    copy_start_seconds: Quantiles = Quantiles(10, 30)
    """Of `Copy Blocks`: a nested execution, a function that lists blocks, the start of a Distributed Map, the
    first packs, and a function at the end: 8 to 31 s on the embedded AWS. AWS names no time (unverified)."""
    restores: Mapping[Strategy, int] = field(default_factory=dict)
    """Finished restores that the figures of a strategy rest on."""
    measured_here: frozenset[Strategy] = frozenset()
    """Strategies whose own figures a calibration of this account has measured."""

    def from_s3_mib_s(self, volume_type: str) -> Quantiles:
        """What S3 gives a volume of the type."""
        return self.first_touch_io_mib_s if volume_type in PROVISIONED_IOPS else self.first_touch_mib_s

    def basis_of(self, strategy: Strategy) -> Basis:
        """What an estimate of the strategy rests on."""
        count = self.restores.get(strategy, 0)
        if count:
            return Basis("history", count)
        return BY_CALIBRATION if strategy in self.measured_here else BY_PRIORS


PRIORS = Timings()


@dataclass(frozen=True, slots=True, order=True)
class WeightedValue:
    """One measured value and how much it counts, up to 1."""

    value: float
    weight: float = 1.0


PRIOR_WEIGHT = 1.5
"""The prior counts as one and a half restores that are alike and recent. One restore does not overturn the
median; two that agree do, and nine overturn P90. A choice, not a measurement."""
_PRIOR_MEDIAN_PART = 0.9
"""Share of the prior's weight at its P50. The rest is at its P90: without observations both stay the same."""


GUESS_WEIGHT = 0.5
"""The same of a prior that is a guess within a wide range: the first restore overturns its median."""


def shrunk(
    observations: Iterable[WeightedValue], prior: Quantiles, prior_weight: float = PRIOR_WEIGHT
) -> Quantiles:
    """Returns median and P90 of observations and prior together; the prior's own without observations.

    Both are bounded by the lowest and the highest of all values, the prior's included.
    """
    sample = [
        *observations,
        WeightedValue(prior.p50, prior_weight * _PRIOR_MEDIAN_PART),
        WeightedValue(prior.p90, prior_weight * (1 - _PRIOR_MEDIAN_PART)),
    ]
    median = weighted_median(sample)
    return Quantiles(median, max(median, upper_quantile(sample, UPPER_SHARE)))


def narrowed(observations: Sequence[WeightedValue], prior: Quantiles) -> Quantiles:
    """As `shrunk`, of times whose prior is wide because nobody knows what is usual, not because days differ.

    The more is known of what is usual, the less of that width stays. One restore leaves a third of it; after
    two that are alike it is a bad day's.
    """
    usual = shrunk(observations, prior, GUESS_WEIGHT).p50
    known = min(1.0, sum(observation.weight for observation in observations) / PRIOR_WEIGHT)
    p90 = prior.p90 + known * (usual * FIRST_TOUCH_BAD_DAY - prior.p90)
    return Quantiles(usual, shrunk(observations, Quantiles(usual, p90), GUESS_WEIGHT).p90)


def at_least(observations: Sequence[WeightedValue], prior: Quantiles) -> Quantiles:
    """Narrows the prior of a time by observations that may be too long: something else held them back.

    Usual is then the shortest time within which two restores stayed; similar times show how days differ.
    """
    weight = 0.0
    for observation in sorted(observations):
        weight += observation.weight
        if weight >= PRIOR_WEIGHT:
            usual = observation.value
            close = [other for other in observations if other.value * LEAST_SHARE <= usual]
            p90 = shrunk(close, Quantiles(usual, usual * FIRST_TOUCH_BAD_DAY)).p90
            return Quantiles(prior.p50, max(prior.p50, min(prior.p90, p90)))
    return prior


def weighted_median(sample: Sequence[WeightedValue]) -> float:
    """Returns the value with half of the weight on either side; between two values, their mean."""
    half = sum(observation.weight for observation in sample) / 2
    return (_first_at(sample, half) + _first_above(sample, half)) / 2


def upper_quantile(sample: Sequence[WeightedValue], share: float) -> float:
    """Returns the lowest value with `share` of the weight, one observation more counted, at or below it."""
    total = sum(observation.weight for observation in sample)
    return _first_at(sample, min(total, share * (total + 1)))


def _first_at(sample: Sequence[WeightedValue], weight: float) -> float:
    return _first(sample, weight - _CLOSE)


def _first_above(sample: Sequence[WeightedValue], weight: float) -> float:
    return _first(sample, weight + _CLOSE)


def _first(sample: Sequence[WeightedValue], weight: float) -> float:
    ordered = sorted(sample)
    so_far = 0.0
    for observation in ordered:
        so_far += observation.weight
        if so_far >= weight:
            return observation.value
    return ordered[-1].value
