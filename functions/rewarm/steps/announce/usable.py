"""States `Announce Attached` and `Announce Available`: the volume can be used."""

from __future__ import annotations

from dataclasses import replace

from pydantic import Field

from rewarm.contracts.base import Contract, JsonObject
from rewarm.contracts.events import AnnounceEvent
from rewarm.contracts.values import Plan, VolumeAssignment
from rewarm.domain.errors import RestoreCancelledError
from rewarm.domain.units import iso
from rewarm.domain.words import usable as words
from rewarm.domain.words.message import Message
from rewarm.ports.restores import RestoreTable
from rewarm.steps.announce.volume_facts import planned_volume
from rewarm.steps.record.restore import ENDED, Change, KnownRestore, RestoreNotes, Status

USABLE = frozenset({"attached", "available"})


class AvailableDetails(Contract):
    """Details of `available`, of a volume that is attached to nothing."""

    volume: VolumeAssignment
    plan: Plan
    volume_id: str


class AttachedDetails(AvailableDetails):
    """Details of `attached`."""

    device: str
    mount_points: list[str] = Field(default_factory=list)
    online_problem: str | None = None


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
    zone, planned = details.volume.availability_zone, planned_volume(details.volume, details.plan)
    message = words.available(event.restore_id, details.volume_id, zone, planned)
    return message, lambda restore: restore.advance(Status.INITIALIZING)
