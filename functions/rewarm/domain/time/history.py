"""From an account's finished restores to the figures of the next estimate.

Each figure is learned by itself, by the quantiles of domain/time/timings.py. They take the observations of
the most similar restores (at most NEAREST, each with its weight) together with the prior. Some durations are
a fixed delay and a part that grows with the size. Short ones teach the delay and long ones the growth,
because the other part is small in each. Failed and cancelled restores are no records. A duration that a fault
has stretched is one wild value among others, which moves a median to its neighbour at most.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from rewarm.domain.model import GIB, Strategy
from rewarm.domain.time.measured import Likeness, Measured, Phase, weight
from rewarm.domain.time.timings import (
    LEAST_SHARE,
    PRIORS,
    PROVISIONED_IOPS,
    Quantiles,
    Timings,
    WeightedValue,
    at_least,
    narrowed,
    shrunk,
)
from rewarm.domain.value import Value

NEAREST = 20
"""Enough for a P90; more would only bring in what is older and less alike."""
LEAST_APPLICATIONS = 3
"""An application may start otherwise today; fewer restores say too little of it."""
LONG_SECONDS = 3_600.0
"""From here on, minutes of delay are small beside what grows with the size."""
TIB = 1024 * GIB

Figure = Callable[[Measured], float | None]
"""What a restore has to say of one figure; None where it says nothing."""


LEAST_RATE, MOST_RATE = 1e-9, 1e9
"""Values beyond these are no observations: no clock and no volume can show them."""


class SimilarRestores(Value):
    """Records and the restore for which they are asked."""

    records: tuple[Measured, ...]
    wanted: Likeness
    now: datetime

    def observations(self, figure: Figure) -> list[WeightedValue]:
        """Of the restores that are most alike; ties by the restore's name, so that no order matters."""
        found = [
            (weight(record, self.wanted, self.now), record.name, value)
            for record in self.records
            if (value := figure(record)) is not None
        ]
        found.sort(key=lambda weighed: (-weighed[0], weighed[1]))
        return [WeightedValue(value, counts) for counts, _, value in found[:NEAREST]]

    def duration(self, figure: Figure, prior: Quantiles) -> Quantiles:
        """The larger, the worse."""
        return shrunk(self.observations(figure), prior)

    def rate(self, figure: Figure, prior: Quantiles) -> Quantiles:
        """The smaller, the worse: the quantiles are those of the time that a unit takes."""
        observations = self.inverses(figure)
        if not observations:
            return prior
        return shrunk(observations, prior.inverse()).inverse()

    def inverses(self, figure: Figure) -> list[WeightedValue]:
        """Observations of the time that a unit takes, where `figure` is a rate."""

        def inverse(record: Measured) -> float | None:
            value = figure(record)
            return 1 / value if value is not None and LEAST_RATE <= value <= MOST_RATE else None

        return self.observations(inverse)


def learned(
    records: Iterable[Measured], wanted: Likeness, *, now: datetime, priors: Timings = PRIORS
) -> Timings:
    """The priors with everything that the records teach; the priors themselves where there are none."""
    known = {record.name: record for record in sorted(records, key=lambda record: (record.at, record.name))}
    if not known:
        return priors
    history = SimilarRestores(tuple(known.values()), wanted, now)
    timings = _common(history, priors)
    timings = _by_agent(history, timings)
    timings = _by_rate(history, timings)
    timings = _in_background(history, timings)
    timings = _by_fast_restore(history, timings)
    return replace(timings, restores=_counts(history.records))


class ApplicationTimes(Value):
    """How long an application takes to come back: the whole, and each part."""

    restores: int
    whole: Quantiles
    parts: tuple[Quantiles, ...]


def application_times(
    records: Iterable[Measured], limits: Sequence[tuple[str, int]], wanted: Likeness, *, now: datetime
) -> ApplicationTimes | None:
    """By restores and drills that brought back an application of the same parts; None before there are some.

    `limits` are title and time limit of each part. A limit is all that is known before, so it is the prior.
    """
    titles = [title for title, _ in limits]
    alike = {record.name: record for record in records if [title for title, _ in record.parts] == titles}
    if len(alike) < LEAST_APPLICATIONS:
        return None
    history = SimilarRestores(tuple(alike.values()), wanted, now)

    def usual(figure: Figure, most: int) -> Quantiles:
        return narrowed(history.observations(figure), Quantiles(most, most))

    def of_part(place: int) -> Figure:
        return lambda record: record.parts[place][1]

    whole = usual(lambda record: sum(part for _, part in record.parts), sum(most for _, most in limits))
    parts = tuple(usual(of_part(place), most) for place, (_, most) in enumerate(limits))
    return ApplicationTimes(len(alike), whole, parts)


def _counts(records: Sequence[Measured]) -> Mapping[Strategy, int]:
    """Restores behind each strategy's own figures; both that use the agent learn from each other."""
    by_agent = sum(record.strategy.reads_with_agent for record in records)
    return {
        strategy: by_agent
        if strategy.reads_with_agent
        else sum(record.strategy is strategy for record in records)
        for strategy in Strategy
    }


def _common(history: SimilarRestores, priors: Timings) -> Timings:
    return replace(
        priors,
        create_seconds=history.duration(_phase(Phase.CREATE), priors.create_seconds),
        attach_seconds=history.duration(_phase(Phase.ATTACH), priors.attach_seconds),
        boot_seconds=history.duration(_phase(Phase.BOOT), priors.boot_seconds),
        measure_seconds=history.duration(_phase(Phase.MEASURE), priors.measure_seconds),
        verify_seconds=history.duration(_phase(Phase.VERIFY), priors.verify_seconds),
    )


def _phase(phase: Phase) -> Figure:
    return lambda record: record.of(phase)


def _by_agent(history: SimilarRestores, priors: Timings) -> Timings:
    return replace(
        priors,
        delivery_seconds=history.duration(_delivery, priors.delivery_seconds),
        metric_delay_seconds=history.duration(_phase(Phase.SETTLE), priors.metric_delay_seconds),
        warm_up_share=history.rate(_share_of_limit, priors.warm_up_share),
        first_touch_mib_s=_from_s3(history, priors.first_touch_mib_s, provisioned_iops=False),
        first_touch_io_mib_s=_from_s3(history, priors.first_touch_io_mib_s, provisioned_iops=True),
    )


def _delivery(record: Measured) -> float | None:
    """Of agents that measure the cold volume before they read; those that write do not."""
    return record.of(Phase.DELIVER) if record.strategy.reads_with_agent else None


def _share_of_limit(record: Measured) -> float | None:
    """If volume, instance or user limited the agent; at most 1, because other volumes keep their limits."""
    rate = record.read_mib_s
    limit = record.read_limit_mib_s
    return min(1.0, rate / limit) if rate and limit and rate >= LEAST_SHARE * limit else None


def _from_s3(history: SimilarRestores, prior: Quantiles, *, provisioned_iops: bool) -> Quantiles:
    """What S3 gives a volume of this kind; volumes of the other kind say nothing of it.

    A reader that met another limit says only that S3 gives no less. Above what is expected of S3 that is an
    observation. Below it, and where there is no observation, it can only make the promise better. A slow
    reader on another instance type may have met that type's baseline, and says nothing.
    """

    def rate_of(record: Measured) -> float:
        alike = (record.likeness.volume_type in PROVISIONED_IOPS) is provisioned_iops
        return (record.read_mib_s or 0.0) if alike and record.read_limit_mib_s else 0.0

    def seen(record: Measured) -> float | None:
        rate = rate_of(record)
        same = record.likeness.instance_type == history.wanted.instance_type
        return rate if rate > prior.p50 or (same and _share_of_limit(record) is None) else None

    def held_back(record: Measured) -> float | None:
        return rate_of(record) if _share_of_limit(record) is not None else None

    observations = history.inverses(seen)
    if observations:
        return narrowed(observations, prior.inverse()).inverse()
    return at_least(history.inverses(held_back), prior.inverse()).inverse()


def _by_rate(history: SimilarRestores, priors: Timings) -> Timings:
    def delivered(record: Measured) -> float | None:
        paid = record.paid_seconds
        taken = record.of(Phase.LOAD)
        if paid is None or taken is None or paid < LONG_SECONDS:
            return None
        return paid / max(1.0, taken - priors.status_delay_seconds.p50)

    share = history.rate(delivered, priors.rate_delivered)

    def delay(record: Measured) -> float | None:
        paid = record.paid_seconds
        taken = record.of(Phase.LOAD)
        if paid is None or taken is None or paid >= LONG_SECONDS:
            return None
        return max(0.0, taken - paid / share.p50)

    return replace(
        priors,
        rate_delivered=share,
        status_delay_seconds=history.duration(delay, priors.status_delay_seconds),
    )


def _in_background(history: SimilarRestores, priors: Timings) -> Timings:
    """The prior's least time means that nobody knows; each restore is evidence that time grows with size."""

    def per_tib(record: Measured) -> float | None:
        taken = record.of(Phase.LOAD)
        if record.strategy is not Strategy.BACKGROUND or not record.data_bytes:
            return None
        if taken is None or taken < max(LONG_SECONDS, priors.status_delay_seconds.p50):
            return None
        return (taken - priors.status_delay_seconds.p50) / (record.data_bytes / TIB)

    def nothing(record: Measured) -> float | None:
        return None if per_tib(record) is None else 0.0

    return replace(
        priors,
        background_seconds_per_tib=history.duration(per_tib, priors.background_seconds_per_tib),
        background_least_seconds=history.duration(nothing, priors.background_least_seconds),
    )


def _by_fast_restore(history: SimilarRestores, priors: Timings) -> Timings:
    def delay(record: Measured) -> float | None:
        lead = record.lead_seconds
        taken = record.of(Phase.PREPARE)
        if lead is None or taken is None or lead >= LONG_SECONDS:
            return None
        return max(0.0, taken - lead)

    least = priors.fsr_optimizing_seconds_per_tib

    def stretched(record: Measured) -> float | None:
        lead = record.lead_seconds
        taken = record.of(Phase.PREPARE)
        if lead is None or taken is None or lead < LONG_SECONDS:
            return None
        return least.p50 * taken / lead

    return replace(
        priors,
        fsr_poll_seconds=history.duration(delay, priors.fsr_poll_seconds),
        fsr_optimizing_seconds_per_tib=history.duration(stretched, least),
    )
