"""States `Announce Attached`, `Announce Available` and `Announce Hot`: the volume can be used, and well.

Several messages say where a volume goes, by which plan, and which volume it replaces.
"""

from __future__ import annotations

from dataclasses import replace

from pydantic import Field

from rewarm.contracts.base import Contract, JsonObject
from rewarm.contracts.events import AnnounceEvent
from rewarm.contracts.values import Plan, VolumeAssignment
from rewarm.domain.errors import RestoreCancelledError
from rewarm.domain.model import BLOCK_BYTES
from rewarm.domain.units import iso
from rewarm.domain.words import usable as words
from rewarm.domain.words.message import AnnouncedVolume, DetachedVolume, Message, StartedInstance
from rewarm.domain.words.schedule import how_text
from rewarm.ports.restores import RestoreTable
from rewarm.steps.record.restore import ENDED, Change, KnownRestore, RestoreNotes, Status, nothing

USABLE = frozenset({"attached", "available"})


def planned_volume(
    volume: VolumeAssignment, plan: Plan, record: KnownRestore | None = None
) -> AnnouncedVolume:
    """The volume and its plan. With the record, also the volume that it has replaced."""
    where = f"{volume.place} on {volume.instance_id}" if volume.instance_id else volume.availability_zone
    return AnnouncedVolume(
        snapshot_id=volume.snapshot_id,
        snapshot_started_at=volume.snapshot_started_at,
        data_bytes=volume.data_bytes,
        where=where,
        strategy=plan.strategy,
        how=how_text(plan.strategy, plan.initialization_rate_mib_s, plan.boost),
        source_volume_id=volume.source_volume_id,
        adopts=volume.adopts,
        usable_seconds=plan.usable_seconds,
        ready_p50_seconds=plan.ready_p50_seconds,
        ready_p90_seconds=plan.ready_p90_seconds,
        cost_usd=plan.cost_usd,
        why=plan.why,
        replaced=_replaced(volume, record) if record is not None else None,
        started=_started(volume, record) if record is not None else None,
        undoes=volume.undo_index is not None,
        root_of=volume.instance_id if volume.swaps_root else None,
    )


def _started(volume: VolumeAssignment, record: KnownRestore) -> StartedInstance | None:
    noted = record.instance
    if not volume.starts_instance or noted.started_at is None or noted.up_at is None:
        return None
    return StartedInstance(str(noted.instance_id), noted.started_at, noted.up_at, noted.checked_at)


def _replaced(volume: VolumeAssignment, record: KnownRestore) -> DetachedVolume | None:
    if volume.replaces is None:
        return None
    noted = record.volume(volume.index).replaced
    old = volume.replaces
    return DetachedVolume(old.volume_id, old.size_gib, noted.unmounted, old.usd_per_month, noted.presence)


class AvailableDetails(Contract):
    """Details of `available`: the volume is not attached."""

    volume: VolumeAssignment
    plan: Plan
    volume_id: str


class AttachedDetails(AvailableDetails):
    """Details of `attached`."""

    device: str
    mount_points: list[str] = Field(default_factory=list)
    online_problem: str | None = None


class HotDetails(AvailableDetails):
    """Details of `hot`: what applications read first is read."""

    blocks: int
    seconds: float
    eta_seconds: int | None = None


def note_usable(event: AnnounceEvent, table: RestoreTable) -> None:
    """Marks the volume before the message is sent. From then on nothing deletes it.

    Raises RestoreCancelledError.
    """
    is_attached = event.event == "attached"
    details = (AttachedDetails if is_attached else AvailableDetails).model_validate(event.details)
    place: JsonObject = {"availabilityZone": details.volume.availability_zone}
    if isinstance(details, AttachedDetails):
        place = {"device": details.device}
        if details.mount_points:
            place["mountPoints"] = details.mount_points
    mark = {"volumeId": details.volume_id, **place, "at": iso(event.now)}
    if not RestoreNotes(table, event.restore_id).mark_attached(details.volume.index, mark):
        raise RestoreCancelledError(ENDED)


def announce_attached(event: AnnounceEvent, record: KnownRestore) -> tuple[Message, Change]:
    """The message of a volume that is attached to its instance."""
    details = AttachedDetails.model_validate(event.details)
    message = words.attached(
        event.restore_id,
        details.volume_id,
        details.device,
        details.volume.instance_id or "",
        replace(
            planned_volume(details.volume, details.plan, record),
            mount_points=tuple(details.mount_points),
            online_problem=details.online_problem,
        ),
    )

    def change(restore: RestoreNotes) -> None:
        index = details.volume.index
        if details.volume.replaces is not None:
            restore.volume(index).note_replaced(record.volume(index).replaced)
        restore.advance(Status.INITIALIZING)

    return message, change


def announce_available(event: AnnounceEvent, _record: KnownRestore) -> tuple[Message, Change]:
    """The message of a volume that was restored to a zone."""
    details = AvailableDetails.model_validate(event.details)
    zone = details.volume.availability_zone
    planned = planned_volume(details.volume, details.plan)
    message = words.available(event.restore_id, details.volume_id, zone, planned)
    return message, lambda restore: restore.advance(Status.INITIALIZING)


def announce_hot(event: AnnounceEvent, _record: KnownRestore) -> tuple[Message, Change]:
    """The message of a volume whose hot set is warm."""
    details = HotDetails.model_validate(event.details)
    size = details.blocks * BLOCK_BYTES
    data = details.volume.data_bytes
    warm = words.HotFacts(size, data, details.seconds, details.eta_seconds)
    return words.hot(event.restore_id, details.volume_id, warm), nothing
