"""How a rewind is done, by its plan: how it finds the blocks to write, and where the old ones are kept.

The agent either gets the blocks that differ between two snapshots, or compares the whole device. What it
overwrites is kept in a snapshot, which must be completed first, or in an undo log that the agent writes.
"""

from __future__ import annotations

from rewarm.contracts.copying import Delta, UndoLogId
from rewarm.contracts.rewinding import RewindEvent, RewindResult
from rewarm.domain.model import GIB
from rewarm.ports import JsonObject

SAMPLES = 256
"""How many unwritten blocks are compared with the snapshot: 128 MiB to read."""


def keeps_log(event: RewindEvent) -> bool:
    """Whether the agent keeps what it overwrites, so that no snapshot has to be completed first."""
    return not event.is_direct and event.plan.evidence == "undo-log"


def compares_device(event: RewindEvent) -> bool:
    """Whether the agent compares every block, so that no list of differing blocks is needed."""
    return not event.is_direct and (event.plan.compare == "device" or keeps_log(event))


def undone_log(event: RewindEvent) -> UndoLogId | None:
    """The undo log that is laid over the snapshot; None if the volume becomes the snapshot itself."""
    undone_id = event.request.source.undo_of
    index = event.volume.undo_index
    if undone_id is None or index is None:
        return None
    return UndoLogId(restore_id=undone_id, index=index, packs=event.volume.undo_packs or 0)


def target_in_words(event: RewindEvent) -> str:
    """What the volume will have."""
    log = undone_log(event)
    return event.volume.snapshot_id if log is None else f"what {event.written_id} had before {log.restore_id}"


def delta(event: RewindEvent, pending: RewindResult, *, against: str | None, is_last: bool) -> Delta:
    """What is to be copied now.

    If nobody has written since the last rewind, undoing it needs only the log's blocks. A rewind to another
    snapshot compares that with the last rewind's. A rewind that stopped halfway is undone by its log's blocks
    only, because the volume's other blocks are not those of the snapshot.
    """
    compares = compares_device(event)
    log = undone_log(event)
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
    """The agent's options; with `rewound` it reports whether anybody has written since that rewind."""
    flags = ["--compare"] if compares_device(event) else []
    count = (rewound or {}).get("writeCount") or {}
    numbers = [count.get(name) for name in ("sectors", "requests", "diskSequence")]
    if rewound and rewound.get("bootId") and all(isinstance(number, int) for number in numbers):
        flags.append(f"--since {','.join(map(str, [rewound['bootId'], *numbers]))}")
    return flags
