"""The routes of /volumes/{volumeId}/performance.

POST refuses at once what EC2 would refuse; then the state machine takes over. GET shows what the volume has,
its latest change, and when the next one is possible.
"""

from __future__ import annotations

import re
from datetime import datetime

from rewarm.contracts.answers import (
    AcceptedChange,
    LatestModification,
    ModificationSlots,
    PerformanceLinks,
    VolumePerformance,
    parse_performance_request,
)
from rewarm.domain.errors import (
    InvalidRequestError,
    ModificationPostponedError,
    RestoreError,
    TargetNotUsableError,
)
from rewarm.domain.model import VOLUME_ID, Caller, Volume
from rewarm.domain.units import iso, shown
from rewarm.domain.volume.performance import (
    BOOST_TAG,
    MANAGED_TAG,
    PER_DAY,
    STACK_TAG,
    ModificationRule,
    Slots,
    performance_of,
    settle_target,
)
from rewarm.domain.volume.proof import CREATION_TAG
from rewarm.ports import JsonObject
from rewarm.ports.executions import Executions
from rewarm.ports.volumes import VolumeStore
from rewarm.steps.performance.changes import ChangeStatus, PerformancePorts, known_slots, requested_at
from rewarm.steps.record.boosts import noted_boost
from rewarm.steps.record.restore import asked_through_api, parsed_time

_VOLUME = re.compile(VOLUME_ID)


class StartPerformanceChangePorts(PerformancePorts, kw_only=True):
    """The ports that start_performance_change needs."""

    stack_name: str
    executions: Executions


def start_performance_change(
    volume_id: str,
    body: JsonObject,
    *,
    change_id: str,
    by: Caller,
    now: datetime,
    ports: StartPerformanceChangePorts,
) -> JsonObject:
    """The same change id starts one change only. Raises every error that names a field of the request."""
    request = parse_performance_request(body)
    volume = the_volume(volume_id, ports.volumes)
    _check_volume(volume, ports)
    original = performance_of(volume.settings)
    target = settle_target(volume.settings, request.wanted())
    latest = ports.modifications.latest(volume_id)
    free = known_slots(volume, latest, now=now, ports=ports)
    _check_free(volume_id, free)
    if target.fits(original):
        raise InvalidRequestError(f"{volume_id} is {original.in_words} already", field="request")
    accepted = AcceptedChange(
        change_id=change_id,
        status=ChangeStatus.ACCEPTED.value,
        volume_id=volume_id,
        size_gib=volume.settings.size_gib,
        original=original,
        target=target,
        accepted_at=now,
        links=PerformanceLinks(self_=f"/volumes/{volume_id}/performance"),
    ).to_json()
    change = {name: value for name, value in accepted.items() if name not in {"changeId", "status", "links"}}
    noted = {"status": ChangeStatus.ACCEPTED.value, "trigger": asked_through_api(by)}
    ports.table.put_new(change_id, {**change, **noted})
    ports.log.begin(volume_id, change_id)
    try:
        ports.executions.start(change_id, {**change, "notify": request.notify.to_json()})
    except RestoreError as error:
        ports.table.update(change_id, {"status": ChangeStatus.FAILED.value, "failure": {"cause": str(error)}})
        raise
    return accepted


def the_volume(volume_id: str, volumes: VolumeStore) -> Volume:
    """Returns the volume. Raises InvalidRequestError, VolumeNotFoundError."""
    if _VOLUME.fullmatch(volume_id) is None:
        raise InvalidRequestError(
            f"found {shown(volume_id)}; allowed is an id such as vol-0123456789abcdef0", field="volumeId"
        )
    return volumes.get(volume_id)


def _check_volume(volume: Volume, ports: StartPerformanceChangePorts) -> None:
    tags = volume.settings.tags
    is_made_here = tags.get(STACK_TAG) == ports.stack_name and CREATION_TAG in tags
    if not is_made_here and tags.get(MANAGED_TAG) != "true":
        raise TargetNotUsableError(
            f"{volume.volume_id} is not this stack's, and its role may change no other volume; tag it "
            f"{MANAGED_TAG}=true to allow that"
        )
    if volume.state not in {"available", "in-use"}:
        raise TargetNotUsableError(
            f"{volume.volume_id} is {volume.state}; it must be available or in use to be changed"
        )
    if BOOST_TAG in tags:
        raise ModificationPostponedError(
            f"{volume.volume_id} is boosted for its warm-up, and lowered to {tags[BOOST_TAG]} after it"
        )
    noted = noted_boost(volume.volume_id, ports.table)
    if noted is not None:
        raise ModificationPostponedError(
            f"{volume.volume_id} is boosted for its warm-up by {noted.restore_id}, and lowered to "
            f"{noted.original.in_words} after it"
        )


def _check_free(volume_id: str, free: Slots) -> None:
    """Raises ModificationPostponedError."""
    if free.next_free_at is None:
        return
    why = f"{volume_id} takes its next change at {iso(free.next_free_at)}: {free.reason}"
    raise ModificationPostponedError(why, retry_at=free.next_free_at)


def get_performance(
    volume_id: str,
    *,
    now: datetime,
    ports: PerformancePorts,
) -> JsonObject:
    """Returns the answer as JSON. Raises InvalidRequestError, VolumeNotFoundError."""
    volume = the_volume(volume_id, ports.volumes)
    latest = ports.modifications.latest(volume_id)
    free = known_slots(volume, latest, now=now, ports=ports)
    slots = ModificationSlots(
        rule=free.rule.value,
        started_within_24_hours=list(free.started_at),
        limit=PER_DAY if free.rule is ModificationRule.FOUR_IN_24_H else 1,
        next_free_at=free.next_free_at,
        reason=free.reason,
    )
    return VolumePerformance(
        volume_id=volume_id,
        performance=performance_of(volume.settings),
        modification=None if latest is None else LatestModification.model_validate(latest),
        slots=slots,
        change=_change(volume_id, ports),
    ).to_json()


def _change(volume_id: str, ports: PerformancePorts) -> JsonObject | None:
    """The latest change. CloudTrail shows a call some minutes late, so its time is looked up once more."""
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
