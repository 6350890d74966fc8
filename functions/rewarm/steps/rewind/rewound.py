"""What a finished rewind leaves: counts of writes, which show the next one whether somebody has written.
They are in the bucket under the volume's id, so they outlive the record.
"""

from __future__ import annotations

import re
from contextlib import suppress

from rewarm.contracts.rewinding import RewindEvent
from rewarm.domain.errors import RestoreError
from rewarm.domain.snapshots import unusable
from rewarm.domain.units import iso
from rewarm.ports import JsonObject
from rewarm.ports.artifacts import Artifacts
from rewarm.ports.snapshots import SnapshotCatalog
from rewarm.steps.record.bucket import rewound_key
from rewarm.steps.rewind.ways import undone_log

_BOOT_ID = re.compile(r"[0-9a-f-]{8,64}")


def note_rewound(event: RewindEvent, account: JsonObject, artifacts: Artifacts) -> None:
    """By the last account of the agent. A rewind needs it for nothing, so it fails for no lack of it.

    Kernels before 5.15 do not tell one attachment of a volume from the next one. Their counts prove nothing,
    so the agent gives none.
    """
    boot_id, count = account.get("bootId"), account.get("writeCount")
    if not isinstance(boot_id, str) or not _BOOT_ID.fullmatch(boot_id) or not isinstance(count, dict):
        return
    told: JsonObject = {
        "volumeId": event.written_id,
        "snapshotId": event.volume.snapshot_id if undone_log(event) is None else None,
        "restoreId": event.restore_id,
        "index": event.volume.index,
        "bootId": boot_id,
        "writeCount": count,
        "at": iso(event.now),
    }
    with suppress(RestoreError):
        artifacts.put_json(rewound_key(event.written_id), told)


def rewound_before(event: RewindEvent, artifacts: Artifacts) -> JsonObject | None:
    """What the last rewind of the volume has left, where that helps this one; None where nobody knows.

    It helps to undo that rewind, and to go to another snapshot than that one did.
    """
    log = undone_log(event)
    with suppress(RestoreError):
        found = artifacts.get_json(rewound_key(event.written_id)) or {}
        if log is not None and (found.get("restoreId"), found.get("index")) == (log.restore_id, log.index):
            return found
        if log is None and found.get("snapshotId") not in {None, event.volume.snapshot_id}:
            return found
    return None


def snapshot_on_it(event: RewindEvent, artifacts: Artifacts, snapshots: SnapshotCatalog) -> str | None:
    """The snapshot that the volume equals, where nobody has written since; None where EBS cannot compare it.

    Only completed snapshots of the volume itself are compared with each other. A log is laid over the
    snapshot itself, so nothing is compared.
    """
    found = rewound_before(event, artifacts)
    if found is None or undone_log(event) is not None:
        return found.get("snapshotId") if found else None
    of_volume = snapshots.of_volume(event.written_id)
    usable = {one.snapshot_id for one in of_volume if not one.is_copy and not unusable(one)}
    known = str(found["snapshotId"])
    return known if {known, event.volume.snapshot_id} <= usable else None
