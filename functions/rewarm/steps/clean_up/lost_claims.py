"""Finds whose a fast snapshot restore is that is enabled and that the table knows nothing of.

The item of a claim may be lost. Whoever enabled fast snapshot restore noted EC2's time of it in the record of
the volume, and the volume's execution ran at that time. So Step Functions names the records to look into.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from rewarm.domain.model import Strategy
from rewarm.domain.volume.leftovers import CLOCKS_AGREE, SweptResource
from rewarm.ports import JsonObject
from rewarm.steps.clean_up.sweep_restores import SweepPorts
from rewarm.steps.record.volume import VolumeNotes

SWEEP = "fast-snapshot-restores"
LOOKED_FOR = timedelta(days=14)
"""What was enabled before that, in no restore's time, is somebody else's."""

Place = tuple[str, str]


def holders(place: Place, ports: SweepPorts) -> Iterator[tuple[str, int] | SweptResource]:
    """Yields the volumes, by restore and index, whose records show that this stack enabled it.

    Yields what somebody must look at where the volume's record is lost, too.
    """
    since = ports.fast_restores.enabling_time(*place)
    if since is None or ports.now - since > LOOKED_FOR:
        return
    for restore_id, index in ports.executions.volumes_at(since):
        record = VolumeNotes(ports.table, restore_id, index).read()
        noted = record.fast_restore
        enabled_at = noted.enabling_time
        if enabled_at is not None and noted.place == place and abs(enabled_at - since) < CLOCKS_AGREE:
            yield restore_id, index
        elif not record.is_known and _was_to_enable(place, restore_id, index, ports):
            yield _unclear(place, restore_id)


def _was_to_enable(place: Place, restore_id: str, index: int, ports: SweepPorts) -> bool:
    begun = ports.executions.begun(restore_id, index)
    if begun is None or begun.runs:
        return False
    strategy = (begun.input.get("plan") or {}).get("strategy")
    return strategy == Strategy.FAST_SNAPSHOT_RESTORE and _place_of(begun.input.get("volume") or {}) == place


def _place_of(known: JsonObject) -> tuple[object, object]:
    return known.get("snapshotId"), known.get("availabilityZone")


def _unclear(place: Place, restore_id: str) -> SweptResource:
    reason = (
        f"it was enabled while {restore_id} ran, whose records are lost, and costs money by the hour; if "
        f"nobody needs it: aws ec2 disable-fast-snapshot-restores --availability-zones {place[1]} "
        f"--source-snapshot-ids {place[0]}"
    )
    return SweptResource(SWEEP, ":".join(place), "left", reason)
