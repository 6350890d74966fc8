"""Notes that people are told of a volume that they can use: attached, or available in a zone."""

from __future__ import annotations

from rewarm.contracts import AnnounceEvent
from rewarm.domain.errors import RestoreCancelledError
from rewarm.domain.units import iso
from rewarm.ports.restores import RestoreTable
from rewarm.steps.announce.details import AttachedDetails, AvailableDetails
from rewarm.steps.record.records import attached_attribute

USABLE = frozenset({"attached", "available"})


def note_usable(event: AnnounceEvent, table: RestoreTable) -> None:
    """Before anybody is told: from now on it is never deleted. Raises RestoreCancelledError."""
    told: AttachedDetails | AvailableDetails
    if event.event == "attached":
        told = AttachedDetails.model_validate(event.details)
        place = {"device": told.device}
    else:
        told = AvailableDetails.model_validate(event.details)
        place = {"availabilityZone": told.volume.availability_zone}
    noted = {"volumeId": told.volume_id, **place, "at": iso(event.now)}
    if not table.set_unless_cancelled(event.restore_id, attached_attribute(told.volume.index), noted):
        raise RestoreCancelledError("the restore was cancelled, as asked for")
