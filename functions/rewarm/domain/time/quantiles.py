"""Robust quantiles of few weighted observations, drawn towards a prior.

The prior is added as pseudo-observations (Gelman et al., "Bayesian Data Analysis", 3rd ed., 2.4). So one
restore does not overturn it, and two that agree do.

Quantiles are order statistics of the weighted sample, without interpolation. So raising an observation never
lowers a quantile, and one outlier moves the median no further than to its neighbour. The upper quantile takes
the rank p (n + 1) (Hyndman & Fan 1996, "Sample Quantiles in Statistical Packages", type 6, after Weibull).
The next observation is below it with probability p; the usual rank p n is too low for small n.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rewarm.domain.time.timings import Quantiles

UPPER_SHARE = 0.9
"""The share of the quantile that Rewarm promises (P90)."""
_CLOSE = 1e-9
"""Tolerance for rounding in sums of weights."""


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
