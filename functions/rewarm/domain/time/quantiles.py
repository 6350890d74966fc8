"""Robust quantiles of few weighted observations, drawn towards a prior that counts as some more of them.

The prior is added as pseudo-observations (Gelman et al., "Bayesian Data Analysis", 3rd ed., 2.4: a prior
worth so many observations), so that one restore does not overturn it and two that agree do. Quantiles are
order statistics of the weighted sample, without interpolation: then raising an observation never lowers a
quantile, and one wild value moves the median no further than to its neighbour. The upper quantile takes the
rank p (n + 1) (Hyndman & Fan 1996, "Sample Quantiles in Statistical Packages", type 6, after Weibull): the
next observation is below it with probability p, where the usual rank p n is too low for small n.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rewarm.domain.time.timings import Quantiles

UPPER_SHARE = 0.9
"""P90 is what is promised."""
_CLOSE = 1e-9
"""What sums of weights lose in floating point."""


@dataclass(frozen=True, slots=True, order=True)
class WeightedValue:
    """One measured value and how much it counts, up to 1."""

    value: float
    weight: float = 1.0


PRIOR_WEIGHT = 1.5
"""The prior counts as one and a half restores that are alike and recent: one does not overturn what is
expected, two that agree do, and nine do what is promised. A choice, not a measurement."""
_PRIOR_MEDIAN_PART = 0.9
"""Of the prior's weight at its P50; the rest at its P90, so that without observations both are as given."""


def shrunk(observations: Iterable[WeightedValue], prior: Quantiles) -> Quantiles:
    """Median and P90 of the observations and the prior together; the prior's own where there are none.

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
    """Half of the weight is at or below it and half at or above; between two values their middle."""
    half = sum(observation.weight for observation in sample) / 2
    return (_first_at(sample, half) + _first_above(sample, half)) / 2


def upper_quantile(sample: Sequence[WeightedValue], share: float) -> float:
    """The lowest value at or below which lies `share` of the weight and of one observation more."""
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
