"""From observations to a value and its interval.

With chance, intervals cover 99 % of repetitions; without it, they cover what polling leaves open. Only the
mean, which is of many reads, assumes a distribution.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from statistics import fmean, median, stdev
from typing import NamedTuple

SIGMAS = 2.576
"""99 % of a normal distribution are within so many standard deviations of the mean."""
LIKELIHOOD_DROP = 3.317
"""Half of chi-square's 99 % quantile with one degree of freedom: values with a lower likelihood are out."""


class Figure(NamedTuple):
    """A value with its interval, and how many observations it comes from."""

    value: float
    low: float
    high: float
    observations: int

    @property
    def document(self) -> dict[str, float | int]:
        """The figure as the file has it."""
        return {
            "value": rounded(self.value),
            "low": math.floor(self.low * 1e4) / 1e4,
            "high": math.ceil(self.high * 1e4) / 1e4,
            "observations": self.observations,
        }


class Seen(NamedTuple):
    """A duration that polling has bounded: it had not ended after `low` seconds, but after `high`."""

    low: float
    high: float

    @property
    def middle(self) -> float:
        """Halfway."""
        return (self.low + self.high) / 2


def rounded(value: float) -> float:
    """Rounded to four places, because no measurement has more."""
    return round(value, 4)


def duration(seen: Sequence[Seen]) -> Figure | None:
    """The median of a few durations, and the range in which all of them were."""
    if not seen:
        return None
    return Figure(
        median(each.middle for each in seen),
        min(each.low for each in seen),
        max(each.high for each in seen),
        len(seen),
    )


def middle(values: Sequence[Seen]) -> Figure | None:
    """The median of many durations that differ by chance, between two of them (order statistics)."""
    slack = max(((value.high - value.low) / 2 for value in values), default=0.0)
    return quantile([value.middle for value in values], 0.5, slack=slack)


def quantile(values: Sequence[float], share: float, *, slack: float = 0.0) -> Figure | None:
    """A quantile, between the two order statistics that have it between them in 99 % of samples."""
    if len(values) < 2:
        return None
    ordered = sorted(values)
    count = len(values)
    spread = SIGMAS * math.sqrt(count * share * (1 - share)) + 0.5
    low = math.floor(count * share - spread)
    high = math.ceil(count * share + spread)
    value = ordered[min(count - 1, int(count * share))]
    return Figure(value, ordered[max(0, low)] - slack, ordered[min(count - 1, high)] + slack, count)


def mean(values: Sequence[float]) -> Figure | None:
    """The mean of many values with its standard error; few and skewed values get a wider interval."""
    if len(values) < 8:
        return None
    centre = fmean(values)
    skew = fmean([(value - centre) ** 3 for value in values]) / max(1e-12, stdev(values)) ** 3
    error = SIGMAS * stdev(values) / math.sqrt(len(values))
    # The first term of Cornish and Fisher's expansion: a skewed sample misses its mean on one side.
    lean = max(0.0, skew) * SIGMAS / (6 * math.sqrt(len(values)))
    return Figure(centre, max(0.0, centre - error * (1 + lean / 2)), centre + error * (1 + lean), len(values))


def ratio(of: Figure, to: float, least: float, most: float) -> Figure:
    """A figure times a factor that is itself between two bounds."""
    return Figure(of.value * to, of.low * least, of.high * most, of.observations)


def slope(points: Sequence[tuple[Seen, int]]) -> Figure | None:
    """Per cent a second, from the first and the last change of a whole per cent."""
    if len(points) < 2:
        return None
    (began, first) = points[0]
    (ended, last) = points[-1]
    least = ended.low - began.high
    most = ended.high - began.low
    gained = last - first
    if least <= 0 or gained < 2:
        return None
    usual = ended.middle - began.middle
    return Figure(gained / usual, (gained - 1) / most, (gained + 1) / least, len(points))


def spacing(times: Sequence[Seen]) -> Figure | None:
    """The time between two refreshes of what EC2 shows: the same for all, or from the least to the most."""
    gaps = [
        Seen(max(0.0, later.low - earlier.high), later.high - earlier.low)
        for earlier, later in pairwise(times)
    ]
    if not gaps:
        return None
    low = max(gap.low for gap in gaps)
    high = min(gap.high for gap in gaps)
    if low > high:
        low = min(gap.low for gap in gaps)
        high = max(gap.high for gap in gaps)
    return Figure(min(high, max(low, median(gap.middle for gap in gaps))), low, high, len(gaps))


def end_of_loading(probes: Sequence[tuple[float, bool]]) -> Figure | None:
    """When all is loaded, from reads at chance places: (seconds since loading began, whether it was cold).

    At a steady rate the cold share falls linearly. The end is the one that makes the reads likeliest, and the
    interval has every end that makes them not much less likely.
    """
    cold = [seconds for seconds, is_cold in probes if is_cold]
    if len(cold) < 10 or len(cold) == len(probes):
        return None
    least = max(cold)
    ends = [least * (1 + step / 250) + 0.01 for step in range(500)]
    chances = [sum(_chance(seconds / end, is_cold=is_cold) for seconds, is_cold in probes) for end in ends]
    best = max(chances)
    likely = [end for end, chance in zip(ends, chances, strict=True) if chance >= best - LIKELIHOOD_DROP]
    # Ends between two tried ones were not tried.
    slack = least / 250
    return Figure(ends[chances.index(best)], likely[0] - slack, likely[-1] + slack, len(probes))


def _chance(share: float, *, is_cold: bool) -> float:
    """The logarithm of a likelihood that a stray read among thousands does not make zero."""
    loaded = min(0.999, max(0.001, share))
    return math.log(1 - loaded if is_cold else loaded)
