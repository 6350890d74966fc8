"""GET /volumes/{volumeId}/performance: what the volume has, its latest change, and when the next is free."""

from __future__ import annotations

from datetime import datetime

from rewarm.contracts.performance import settings_of
from rewarm.domain.units import iso
from rewarm.domain.volume.performance import VolumeModification, performance_of
from rewarm.domain.volume.performance_change import PER_DAY, ModificationRule, Slots
from rewarm.ports import JsonObject
from rewarm.steps.performance.changes import PerformancePorts, known_slots, requested_at
from rewarm.steps.performance.start_performance_change import the_volume
from rewarm.steps.record.records import parsed_time


def get_performance(
    volume_id: str,
    *,
    now: datetime,
    ports: PerformancePorts,
) -> JsonObject:
    """Raises InvalidRequestError, VolumeNotFoundError."""
    volume = the_volume(volume_id, ports.volumes)
    latest = ports.modifications.latest(volume_id)
    free = known_slots(volume, latest, now=now, ports=ports)
    return {
        "volumeId": volume_id,
        "performance": settings_of(performance_of(volume.settings)).to_json(),
        "modification": None if latest is None else _modification(latest),
        "slots": _slots(free),
        "change": _change(volume_id, ports),
    }


def _modification(latest: VolumeModification) -> JsonObject:
    return {
        "state": latest.state,
        "target": settings_of(latest.target).to_json(),
        "original": None if latest.original is None else settings_of(latest.original).to_json(),
        "progressPercent": latest.progress_percent,
        "startedAt": None if latest.started_at is None else iso(latest.started_at),
        "endedAt": None if latest.ended_at is None else iso(latest.ended_at),
        "message": latest.message,
    }


def _slots(free: Slots) -> JsonObject:
    return {
        "rule": free.rule.value,
        "startedWithin24Hours": [iso(start) for start in free.started_at],
        "limit": PER_DAY if free.rule is ModificationRule.FOUR_IN_24_H else 1,
        "nextFreeAt": None if free.next_free_at is None else iso(free.next_free_at),
        "reason": free.reason,
    }


def _change(volume_id: str, ports: PerformancePorts) -> JsonObject | None:
    """CloudTrail shows a call some minutes late, so its time is asked for once more."""
    change_id = ports.log.change_id(volume_id)
    record = ports.table.get(change_id) if change_id is not None else None
    if change_id is None or record is None:
        return None
    started_at = parsed_time(record.get("startedAt"))
    if record.get("requestedFrom") != "cloudtrail" and started_at is not None:
        at = requested_at(volume_id, started_at, ports.trail)
        if at is not None:
            news = {"requestedAt": iso(at), "requestedFrom": "cloudtrail"}
            ports.table.update(change_id, news)
            record |= news
    return {"changeId": change_id, **record}
