"""State `Check Performance`: is the change in effect, and since when?

EC2's `optimizing` says that the new settings are billed, not that reads and writes get them. CloudWatch shows
the new speed of a busy volume within a minute or two. So we wait a while for it; else EC2's word is enough.
"""

from __future__ import annotations

import math
from datetime import datetime, timedelta

from rewarm.contracts.base import Instant, StepEvent
from rewarm.contracts.results import CheckPerformanceResult
from rewarm.domain.errors import ModificationFailedError, RestoreError
from rewarm.domain.units import clock_text, duration_text, iso
from rewarm.domain.value import Value
from rewarm.domain.volume.performance import (
    SAME,
    Activity,
    Limit,
    PerformanceSettings,
    Sight,
    VolumeModification,
    changed_limit,
    is_loaded,
    sight,
)
from rewarm.ports.restores import RestoreTable
from rewarm.ports.volumes import CallTrail, Metrics, VolumeModifications
from rewarm.steps.performance.changes import ChangeStatus, requested_at
from rewarm.steps.registration import state

WAIT_SECONDS = (5, 300)
METRIC_WAIT_SECONDS = 20
METRIC_PATIENCE = timedelta(minutes=4)
"""Published: the change shows in the datapoint of the next minute; a datapoint comes some minutes late."""
GIVE_UP = timedelta(hours=24)
"""EBS user guide: a change is in force within minutes; what takes a day needs a person."""
BEFORE = timedelta(minutes=5)
"""Metrics are read from so long before the change: a lower limit shows only in a comparison."""


class _Look(Value):
    """What EC2 and CloudWatch say now."""

    state: str
    in_force_since: datetime | None
    limit: Limit | None
    activity: list[Activity]
    seen: Sight | None


class CheckPerformanceEvent(StepEvent):
    """Asks whether the change has taken effect; `previous` is the result of the look before."""

    volume_id: str
    size_gib: int
    original: PerformanceSettings
    target: PerformanceSettings
    started_at: Instant
    previous: CheckPerformanceResult | None = None


class CheckPerformancePorts(Value, kw_only=True):
    """The ports that check_performance needs."""

    modifications: VolumeModifications
    metrics: Metrics
    trail: CallTrail
    table: RestoreTable


@state("Check Performance")
def check_performance(
    event: CheckPerformanceEvent,
    ports: CheckPerformancePorts,
) -> CheckPerformanceResult:
    """Says whether the change has taken effect. Raises ModificationFailedError."""
    at, source = _requested(event, ports.trail)
    look = _look(event, at, ports.modifications, ports.metrics)
    result = _result(event, look, at, source)
    changes = result.to_json()
    for name in ("finished", "waitSeconds"):
        del changes[name]
    status = ChangeStatus.CHANGED if result.finished else ChangeStatus.CHANGING
    ports.table.update(event.restore_id, {"status": status.value, **changes, "lookedAt": iso(event.now)})
    return result


def _requested(event: CheckPerformanceEvent, trail: CallTrail) -> tuple[datetime, str]:
    if event.previous is not None and event.previous.requested_from == "cloudtrail":
        return event.previous.requested_at, "cloudtrail"
    at = requested_at(event.volume_id, event.started_at, trail)
    return (event.started_at, "ec2") if at is None else (at, "cloudtrail")


def _look(
    event: CheckPerformanceEvent,
    requested: datetime,
    modifications: VolumeModifications,
    activity: Metrics,
) -> _Look:
    state = _state(event, modifications.latest(event.volume_id))
    since = event.previous.in_force_since if event.previous is not None else None
    if state in {"optimizing", "completed"}:
        since = since or event.now
    elif event.now - event.started_at >= GIVE_UP:
        raise ModificationFailedError(
            f"EC2 has not put the change of {event.volume_id} to {event.target.in_words} in force "
            f"within {duration_text(GIVE_UP.total_seconds())}; it may still do so"
        )
    limit = changed_limit(event.original, event.target, event.size_gib)
    found = [] if limit is None else _activity(event, activity)
    seen = None if limit is None else sight(limit, found, requested)
    return _Look(state, since, limit, found, seen)


def _state(event: CheckPerformanceEvent, latest: VolumeModification | None) -> str:
    if latest is None:
        return "modifying"
    target = event.target
    if not target.fits(latest.target):
        later = latest.started_at is not None and latest.started_at > event.started_at + SAME
        # EC2 accepts another change only when this one is completed. If it shows an earlier one, it lags.
        return "completed" if later else "modifying"
    if latest.state == "failed":
        why = f": {latest.message}" if latest.message else ""
        raise ModificationFailedError(
            f"EC2 gave up the change of {event.volume_id} to {target.in_words}{why}; it is as it was"
        )
    return latest.state


def _activity(event: CheckPerformanceEvent, activity: Metrics) -> list[Activity]:
    try:
        return activity.activity(event.volume_id, since=event.started_at - BEFORE, until=event.now)
    except RestoreError:
        # Metrics prove more, but EC2's word is enough.
        return []


def _result(
    event: CheckPerformanceEvent, look: _Look, requested: datetime, source: str
) -> CheckPerformanceResult:
    common = {
        "state": look.state,
        "requested_at": requested,
        "requested_from": source,
        "in_force_since": look.in_force_since,
    }
    if look.limit is not None and look.seen is not None:
        return CheckPerformanceResult(
            **common,
            finished=True,
            wait_seconds=1,
            took_effect_at=max(look.seen.minute, requested),
            known_by="cloudwatch",
            rate=round(look.seen.rate, 1),
            rate_before=None if look.seen.rate_before is None else round(look.seen.rate_before, 1),
            unit=look.limit.unit,
            reason=_seen(look.limit, look.seen),
        )
    why = _enough(event, look)
    if why is not None:
        return CheckPerformanceResult(
            **common,
            finished=True,
            wait_seconds=1,
            took_effect_at=look.in_force_since,
            known_by="modification",
            reason=f"EC2 says that the change is {look.state}; {why}",
        )
    return CheckPerformanceResult(**common, finished=False, wait_seconds=_wait_seconds(event, look))


def _enough(event: CheckPerformanceEvent, look: _Look) -> str | None:
    """Why EC2's word is enough; None until EC2 confirms the change, or while CloudWatch may show it."""
    if look.in_force_since is None:
        return None
    if look.limit is None:
        return "neither IOPS nor throughput change, so CloudWatch has nothing to show"
    if not is_loaded(look.limit, look.activity):
        return "the volume works too little for CloudWatch to show it"
    if event.now - look.in_force_since >= METRIC_PATIENCE:
        waited = duration_text(METRIC_PATIENCE.total_seconds())
        return f"CloudWatch did not show it within {waited}, so the load does not reach the limit"
    return None


def _seen(limit: Limit, seen: Sight) -> str:
    before = f" ({seen.rate_before:,.0f} before)" if seen.rate_before is not None else ""
    return (
        f"CloudWatch shows {seen.rate:,.0f} {limit.unit} in the minute of {clock_text(seen.minute)}{before}"
    )


def _wait_seconds(event: CheckPerformanceEvent, look: _Look) -> int:
    """A quarter of the time that has passed: soon at first, seldom if the change takes hours."""
    if look.in_force_since is not None:
        return METRIC_WAIT_SECONDS
    least, most = WAIT_SECONDS
    return min(most, max(least, math.ceil((event.now - event.started_at).total_seconds() / 4)))
