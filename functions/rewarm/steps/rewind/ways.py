"""The way of a rewind, by its plan: what keeps the blocks that it overwrites, and how it finds them.

The agent either gets the blocks that differ between two snapshots, or compares the whole device. What it
overwrites is in a snapshot, which must be completed before, or in an undo log, which it writes itself.
"""

from __future__ import annotations

from rewarm.contracts.copying import Delta, UndoLogId
from rewarm.contracts.rewinding import RewindEvent, RewindResult
from rewarm.domain.model import GIB
from rewarm.ports import JsonObject

SAMPLES = 256
"""Blocks that are not written, and are compared with the snapshot: 128 MiB to read."""


def keeps_log(event: RewindEvent) -> bool:
    """The agent keeps what it overwrites: no snapshot has to be completed before."""
    return not event.is_direct and event.plan.evidence == "undo-log"


def compares_device(event: RewindEvent) -> bool:
    """The agent compares every block: no snapshot of the volume as it is has to be listed."""
    return not event.is_direct and (event.plan.compare == "device" or keeps_log(event))


def undone_log(event: RewindEvent) -> UndoLogId | None:
    """Whose undo log is laid over the snapshot; None where the volume becomes the snapshot itself."""
    undone_id, index = event.request.source.undo_of, event.volume.undo_index
    if undone_id is None or index is None:
        return None
    return UndoLogId(restore_id=undone_id, index=index, packs=event.volume.undo_packs or 0)


def target_in_words(event: RewindEvent) -> str:
    """What the volume becomes."""
    log = undone_log(event)
    return event.volume.snapshot_id if log is None else f"what {event.written_id} had before {log.restore_id}"


def delta(event: RewindEvent, pending: RewindResult, *, against: str | None, is_last: bool) -> Delta:
    """What is to be copied now.

    Where the volume still is what its last rewind has left, the log alone undoes that; and another snapshot
    is compared with the one to which it was put back. The log alone undoes a rewind that stopped halfway,
    too: the other blocks are not those of the snapshot.
    """
    compares, log = compares_device(event), undone_log(event)
    is_known = pending.equal_id is not None or (log is not None and event.volume.undo_alone)
    return Delta(
        snapshot_id=event.volume.snapshot_id,
        volume_id=event.written_id,
        volume_bytes=event.volume.snapshot_size_gib * GIB,
        index=event.volume.index,
        region=event.volume.copy_of.region if event.volume.copy_of else None,
        against=None if log is not None else against,
        without=[pending.newest_id] if is_last and pending.newest_id else [],
        first_part=pending.next_part,
        goes_on=not is_last,
        samples=SAMPLES if is_last and not event.is_direct and not compares else 0,
        whole=compares and not is_known,
        log=log,
        undo_attempt=pending.attempt if keeps_log(event) else None,
    )


def arguments(event: RewindEvent, rewound: JsonObject | None) -> list[str]:
    """Options of the agent for this way; with `rewound` it says whether the volume is still as that was."""
    flags = ["--compare"] if compares_device(event) else []
    count = (rewound or {}).get("writeCount") or {}
    numbers = [count.get(name) for name in ("sectors", "requests", "diskSequence")]
    if rewound and rewound.get("bootId") and all(isinstance(number, int) for number in numbers):
        flags.append(f"--since {','.join(map(str, [rewound['bootId'], *numbers]))}")
    return flags
