"""State `Release`: disables fast snapshot restore and ends a boost. From here on nobody can cancel.

A ready volume never fails because something cannot be released: the message lists what still costs money.
If this step fails for good, the state machine continues to the ready message, which says so. Only a volume
that somebody has deleted since its measurement fails here: nobody shall hear that it is at full speed.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

from pydantic import Field

from rewarm.contracts.base import JsonObject, StepEvent
from rewarm.contracts.results import ReleaseResult
from rewarm.contracts.values import Plan, VolumeAssignment
from rewarm.domain.errors import (
    TEMPORARY,
    RestoreCancelledError,
    RestoreError,
    VolumeFailedError,
    VolumeNotFoundError,
)
from rewarm.domain.units import duration_text, iso
from rewarm.domain.value import Value
from rewarm.domain.volume.adopting import WARM_SINCE_TAG
from rewarm.domain.volume.leftovers import DELETED
from rewarm.domain.volume.performance import COSTS, BoostOutcome, modify_command, performance_of
from rewarm.ports.restores import RestoreTable
from rewarm.ports.snapshots import FastSnapshotRestores, SnapshotCopies
from rewarm.ports.volumes import VolumeModifications, VolumeStore
from rewarm.steps.record.boosts import boost_of
from rewarm.steps.record.restore import ENDED, RestoreNotes
from rewarm.steps.registration import state
from rewarm.steps.volume.adopted_boosts import lower_volume, never_raised
from rewarm.steps.volume.extras import delete_copies, lower, release_fast_restore

WAIT_SECONDS = 10
PATIENCE = timedelta(minutes=15)
"""EBS user guide, "Monitor the progress of volume modifications": `optimizing` is reached within seconds to
minutes. The message that the volume is ready waits no longer."""


class ReleaseEvent(StepEvent):
    """Asks to give back what costs money by the hour; `previous` is the result of the call before."""

    volume: VolumeAssignment
    volume_id: str | None = None
    plan: Plan | None = None
    keep_copy: bool = Field(default=False, description="The snapshot's copy stays.")
    previous: ReleaseResult | None = None


class ReleasePorts(Value, kw_only=True):
    """The ports that release needs."""

    fast_restores: FastSnapshotRestores
    copies: SnapshotCopies
    volumes: VolumeStore
    modifications: VolumeModifications
    table: RestoreTable


@state("Release")
def release(event: ReleaseEvent, ports: ReleasePorts) -> ReleaseResult:
    """Releases what the strategy left running, if anything. Idempotent.

    Raises RestoreCancelledError, VolumeFailedError.
    """
    if event.previous is None:
        _look_once_more(event.volume_id, ports.volumes)
    record = RestoreNotes(ports.table, event.restore_id)
    if not record.mark_settled(event.volume.index):
        raise RestoreCancelledError(ENDED)
    if event.volume.adopts is not None:
        return _release_adopted(event, event.volume.adopts, ports)
    earlier = event.previous.released if event.previous else []
    place = (event.volume.snapshot_id, event.volume.availability_zone)
    returned = release_fast_restore(
        event.restore_id, event.volume.index, place, fast_restores=ports.fast_restores, table=ports.table
    )
    now = list(returned.released)
    if event.volume.copy_of is not None and not event.keep_copy:
        now += delete_copies(event.restore_id, event.volume.index, copies=ports.copies, table=ports.table)
    left = [*(event.previous.left if event.previous else []), *returned.left]
    boost = _release_boost(event, ports.volumes, ports.modifications)
    if boost is not None:
        record.volume(event.volume.index).note_boost(_noted(event, boost))
    if boost is not None and boost.state == "lowered":
        now.append(f"boost of {event.volume_id} taken back: {boost.target} instead of {boost.boosted}")
    return ReleaseResult(
        released=list(dict.fromkeys([*earlier, *now])),
        left=list(dict.fromkeys(left)),
        finished=boost is None or boost.state != "lowering",
        wait_seconds=WAIT_SECONDS,
        first_tried_at=_first_tried_at(event),
        boost=boost,
    )


def _noted(event: ReleaseEvent, boost: BoostOutcome) -> JsonObject:
    """For the record of a volume that was made with a boost."""
    return {
        "volumeId": event.volume_id,
        "state": boost.state,
        "boosted": boost.boosted,
        "target": boost.target,
        "reason": boost.reason,
        "targetSettings": performance_of(event.volume.volume.settings()).as_text,
        "at": iso(event.now),
    }


def _look_once_more(volume_id: str | None, volumes: VolumeStore) -> None:
    """Raises VolumeFailedError if the volume is gone; if EC2 does not answer, nothing changes."""
    if volume_id is None:
        return
    try:
        is_gone = volumes.get(volume_id).state in DELETED
    except VolumeNotFoundError:
        is_gone = True
    except RestoreError:
        return
    if is_gone:
        raise VolumeFailedError(f"{volume_id} was deleted after it had reached full speed")


def _release_adopted(event: ReleaseEvent, volume_id: str, ports: ReleasePorts) -> ReleaseResult:
    """Tags an adopted volume with the time since which it is at full speed. A refused tag changes nothing."""
    if event.previous is None:
        try:
            ports.volumes.tag(volume_id, {WARM_SINCE_TAG: iso(event.now)})
        except RestoreError as error:
            if isinstance(error, TEMPORARY):
                raise
    noted = boost_of(event.restore_id, event.volume.index, volume_id, ports.table)
    if noted is not None:
        return _of_adopted(event, lower_volume(noted, ports, now=event.now))
    earlier = event.previous.boost if event.previous is not None else None
    if earlier is not None:
        # It was lowered, and the answer got lost.
        return _of_adopted(event, BoostOutcome("lowered", earlier.boosted, earlier.target))
    return _of_adopted(event, None if event.plan is None else never_raised(event.volume, event.plan))


def _of_adopted(event: ReleaseEvent, boost: BoostOutcome | None) -> ReleaseResult:
    """The message waits for a change that EC2 has begun, but not for one that EC2 does not accept now."""
    waited = event.now - _first_tried_at(event)
    is_lowering = boost is not None and boost.state == "lowering"
    if boost is not None and is_lowering and waited >= PATIENCE:
        why = f"not within {duration_text(waited.total_seconds())}: {boost.reason}"
        boost = replace(boost, state="not-lowered", reason=why)
    return ReleaseResult(
        released=[],
        finished=boost is None or boost.state != "lowering",
        wait_seconds=WAIT_SECONDS,
        first_tried_at=_first_tried_at(event),
        boost=boost,
    )


def _first_tried_at(event: ReleaseEvent) -> datetime:
    return event.previous.first_tried_at if event.previous else event.now


def _release_boost(
    event: ReleaseEvent, volumes: VolumeStore, modifications: VolumeModifications
) -> BoostOutcome | None:
    if event.plan is None or event.plan.boost is None or event.volume_id is None:
        return None
    target = performance_of(event.volume.volume.settings())
    outcome = lower(event.volume_id, target.as_text, volumes=volumes, modifications=modifications)
    state = outcome.state
    reason = outcome.reason
    waited = event.now - _first_tried_at(event)
    if state == "lowering" and waited >= PATIENCE:
        state = "not-lowered"
        reason = f"not within {duration_text(waited.total_seconds())}: {reason}"
    return BoostOutcome(
        state=state,
        boosted=performance_of(event.plan.boost).in_words,
        target=target.in_words,
        reason=reason,
        command=modify_command(event.volume_id, target) if state in COSTS else "",
    )
