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

UPPER_SHARE = 0.9
"""The share of the quantile that Rewarm promises (P90)."""
_CLOSE = 1e-9
"""Tolerance for rounding in sums of weights."""


@dataclass(frozen=True, slots=True)
class Quantiles:
    """A figure as it is in 5 and in 9 of 10 cases; the second is always the worse one."""

    p50: float
    p90: float


@dataclass(frozen=True, slots=True)
class FigureBasis:
    """What the figures rest on: priors, a calibration of this account, or so many of its restores."""

    source: Literal["priors", "calibration", "history"] = "priors"
    restores: int = 0


BY_PRIORS = FigureBasis()
BY_CALIBRATION = FigureBasis("calibration")
FIRST_TOUCH_SECONDS = 0.091
"""Measured: 11 random 4 KiB reads a second at depth 1 right after a restore (gp3, published 2025)."""
FIRST_TOUCH_CONCURRENCY = 64
"""Measured prior: fetches of one volume from S3 that proceed side by side."""
_FIRST_TOUCH_MIB_S = FIRST_TOUCH_CONCURRENCY * (BLOCK_BYTES / MIB) / FIRST_TOUCH_SECONDS


@dataclass(frozen=True, slots=True)
class Timings:
    """Durations in seconds and rates in MiB/s; the defaults are the priors."""

    create_seconds: Quantiles = Quantiles(10, 60)
    """CreateVolume until `available`: seconds, though botocore's waiter allows for 10 minutes."""
    attach_seconds: Quantiles = Quantiles(5, 30)
    """AttachVolume until `attached`."""
    boot_seconds: Quantiles = Quantiles(60, 300)
    """StartInstances until Systems Manager hears from the instance. AWS names no time (unverified)."""
    delivery_seconds: Quantiles = Quantiles(5, 60)
    """SendCommand until the agent reads, with the download of a binary of less than 1 MiB and two dozen reads
    of the cold volume."""
    first_touch_mib_s: Quantiles = Quantiles(_FIRST_TOUCH_MIB_S, _FIRST_TOUCH_MIB_S / 1.5)
    """What S3 gives one volume: 64 x 0.5 MiB / 91 ms = 352 MiB/s. AWS says that the default rate
    "fluctuates"; a bad day takes half as long again."""
    warm_up_share: Quantiles = Quantiles(1.0, 1.0)
    """Share of the lowest limit (volume, instance, S3, the user's own) that the agent reaches."""
    metric_delay_seconds: Quantiles = Quantiles(120, 300)
    """From the agent's end to the datapoint of a whole quiet minute (AWS names no delay). Only a volume that
    nobody measures waits for it."""
    status_delay_seconds: Quantiles = Quantiles(120, 300)
    """DescribeVolumeStatus lags by "up to 5 minutes" (EBS user guide, "Monitor the status of
    initialization")."""
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
    """The same for less than 1 TiB: that time goes with the size is known only from an account's history."""
    clone_first_tib_seconds: Quantiles = Quantiles(3 * 3_600, 6 * 3_600)
    """EBS user guide, "Copy volumes": up to 6 hours for the first TiB. AWS names no usual time; half of the
    most is assumed (unverified)."""
    clone_next_tib_seconds: Quantiles = Quantiles(0.6 * 3_600, 1.2 * 3_600)
    """The same page: 1.2 hours more for each TiB up to 16 TiB."""
    clone_most_seconds: Quantiles = Quantiles(12 * 3_600, 24 * 3_600)
    """The same page: 24 hours above 16 TiB."""
    restores: Mapping[Strategy, int] = field(default_factory=dict)
    """Finished restores that the figures of a strategy rest on."""
    measured_here: frozenset[Strategy] = frozenset()
    """Strategies whose own figures a calibration of this account has measured."""

    def basis_of(self, strategy: Strategy) -> FigureBasis:
        """What an estimate of the strategy rests on."""
        count = self.restores.get(strategy, 0)
        if count:
            return FigureBasis("history", count)
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


def shrunk(observations: Iterable[WeightedValue], prior: Quantiles) -> Quantiles:
    """Returns median and P90 of observations and prior together; the prior's own without observations.

    Both are bounded by the lowest and the highest of all values, the prior's included.
    """
    sample = [
        *observations,
        WeightedValue(prior.p50, PRIOR_WEIGHT * _PRIOR_MEDIAN_PART),
        WeightedValue(prior.p90, PRIOR_WEIGHT * (1 - _PRIOR_MEDIAN_PART)),
    ]
    median = weighted_median(sample)
    return Quantiles(median, max(median, upper_quantile(sample, UPPER_SHARE)))


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
