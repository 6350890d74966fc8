"""What `rewarm calibrate` measured in this account, in the place of the shipped priors.

A few measurements of one hour show what is usual, but nothing of a bad day. So P90 keeps at least the
distance from P50 that the shipped prior has, and only measured figures change. Only S3's rate gets the
distance FIRST_TOUCH_BAD_DAY, because the prior's mostly covers a lack of measurements.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from enum import StrEnum

from rewarm.domain.model import Strategy
from rewarm.domain.time.timings import FIRST_TOUCH_BAD_DAY, PRIORS, Quantiles, Timings
from rewarm.domain.value import Value

KIB_PER_MIB = 1024
MIB_PER_TIB = 1024 * 1024
MINUTE_SECONDS = 60.0


class FigureName(StrEnum):
    """What a calibration can measure; the name ends with the unit."""

    CREATE = "createSeconds"
    ATTACH = "attachSeconds"
    DETACH = "detachSeconds"
    SNAPSHOT = "snapshotSeconds"
    DELIVERY = "deliverySeconds"
    METRIC_DELAY = "metricDelaySeconds"
    STATUS_LAG = "statusLagSeconds"
    BACKGROUND = "backgroundMibS"
    RATE_DELIVERED = "rateDelivered"
    FIRST_TOUCH = "firstTouchMs"
    FIRST_TOUCH_P90 = "firstTouchP90Ms"
    WARM_READ = "warmReadMs"
    FETCH_CONCURRENCY = "fetchConcurrency"
    FETCH_UNIT = "fetchUnitKib"
    READ_AHEAD = "readAheadKib"
    FSR_ENABLING = "fsrEnablingSeconds"
    FSR_OPTIMIZING = "fsrOptimizingSeconds"
    FSR_DISABLING = "fsrDisablingSeconds"


class CalibratedFigure(Value):
    """A measured value and the interval that is stated for it."""

    value: float
    low: float
    high: float


Figures = Mapping[FigureName, CalibratedFigure]


def calibrated(figures: Figures) -> Timings:
    """Returns the priors with what was measured here; the priors themselves where nothing was."""
    timings = _by_agent(figures, _common(figures, PRIORS))
    timings = _by_ebs(figures, timings)
    return replace(timings, measured_here=frozenset(_measured(figures)))


def _common(figures: Figures, priors: Timings) -> Timings:
    return replace(
        priors,
        create_seconds=_longer(figures.get(FigureName.CREATE), priors.create_seconds),
        attach_seconds=_longer(figures.get(FigureName.ATTACH), priors.attach_seconds),
        delivery_seconds=_longer(figures.get(FigureName.DELIVERY), priors.delivery_seconds),
    )


def _by_agent(figures: Figures, priors: Timings) -> Timings:
    """The first whole quiet minute begins half a minute after the agent's end, on average."""
    delay = figures.get(FigureName.METRIC_DELAY)
    latency = figures.get(FigureName.FIRST_TOUCH)
    if delay is not None:
        quiet = CalibratedFigure(
            *(1.5 * MINUTE_SECONDS + seconds for seconds in (delay.value, delay.low, delay.high))
        )
        priors = replace(priors, metric_delay_seconds=_longer(quiet, priors.metric_delay_seconds))
    unit = figures.get(FigureName.FETCH_UNIT)
    side_by_side = figures.get(FigureName.FETCH_CONCURRENCY)
    if latency is None or unit is None or side_by_side is None or latency.value <= 0:
        return priors
    rate = side_by_side.value * unit.value / KIB_PER_MIB / (latency.value / 1_000)
    return replace(priors, first_touch_mib_s=Quantiles(rate, rate / FIRST_TOUCH_BAD_DAY))


def _by_ebs(figures: Figures, priors: Timings) -> Timings:
    lag = figures.get(FigureName.STATUS_LAG)
    share = figures.get(FigureName.RATE_DELIVERED)
    if lag is not None:
        # The next refresh shows a completion: on average after half of the time between two.
        priors = replace(priors, status_delay_seconds=Quantiles(lag.value / 2, max(lag.high, lag.value / 2)))
    if share is not None:
        worse = min(share.low, share.value * priors.rate_delivered.p90)
        priors = replace(priors, rate_delivered=Quantiles(share.value, worse))
    background = figures.get(FigureName.BACKGROUND)
    if background is not None and background.value > 0:
        usual = MIB_PER_TIB / background.value
        each = priors.background_seconds_per_tib
        least = priors.background_least_seconds
        priors = replace(
            priors,
            background_seconds_per_tib=Quantiles(usual, usual * each.p90 / each.p50),
            background_least_seconds=Quantiles(0.0, least.p90),
        )
    enabling = figures.get(FigureName.FSR_ENABLING)
    if enabling is None:
        return priors
    beyond = CalibratedFigure(
        *(MINUTE_SECONDS + seconds for seconds in (enabling.value, enabling.low, enabling.high))
    )
    return replace(priors, fsr_poll_seconds=_longer(beyond, priors.fsr_poll_seconds))


def _longer(figure: CalibratedFigure | None, prior: Quantiles) -> Quantiles:
    """Of a duration: the larger, the worse."""
    if figure is None:
        return prior
    return Quantiles(figure.value, max(figure.high, figure.value * prior.p90 / prior.p50))


def _measured(figures: Figures) -> set[Strategy]:
    """Strategies for which a specific figure was measured."""
    found: set[Strategy] = set()
    if FigureName.FIRST_TOUCH in figures and FigureName.FETCH_CONCURRENCY in figures:
        found |= {strategy for strategy in Strategy if strategy.reads_with_agent}
    own = {
        FigureName.BACKGROUND: Strategy.BACKGROUND,
        FigureName.RATE_DELIVERED: Strategy.PROVISIONED_RATE,
        FigureName.FSR_ENABLING: Strategy.FAST_SNAPSHOT_RESTORE,
    }
    return found | {strategy for name, strategy in own.items() if name in figures}
