"""The gate: the first part of a rewind's manifest, which has no lines.

The agent waits for it, and all other parts come after it. It is put once the evidence is completed, or once
the agent keeps an undo log. So nothing is written before there is a way back, though packs may be copied.
"""

from __future__ import annotations

from contextlib import suppress
from itertools import count

from rewarm.contracts.rewinding import RewindEvent, RewindResult
from rewarm.domain.blocks.packs import ManifestHead
from rewarm.domain.blocks.rewind_facts import attached_to
from rewarm.domain.errors import (
    TEMPORARY,
    AccessDeniedError,
    RestoreCancelledError,
    RestoreError,
    TargetNotUsableError,
)
from rewarm.domain.model import GIB
from rewarm.domain.volume.leftovers import REWINDING_STACK_TAG, REWINDING_TAG
from rewarm.ports.volumes import VolumeStore
from rewarm.steps.record.bucket import delta_address, part_key, parts_prefix
from rewarm.steps.record.restore import ENDED, RestoreNotes
from rewarm.steps.record.volume import VolumeNotes
from rewarm.steps.rewind.needs import RewindPorts

READY, PREPARING = "writing", "preparing"
"""The rewind's state in the record, on either side of the gate."""
MOST_PARTS = 1_000_000
"""More than any manifest has."""


def other_instances(event: RewindEvent, ports: RewindPorts) -> list[str]:
    """Those that have the volume besides the one that is to write it."""
    found = ports.volumes.get(event.written_id).attachments
    return sorted({one.instance_id for one in found if one.state != "detached"} - {event.volume.instance_id})


def check_alone(event: RewindEvent, ports: RewindPorts) -> None:
    """Raises TargetNotUsableError where the volume is not attached to its instance alone."""
    volume_id, instance_id = event.written_id, event.volume.instance_id
    if attached_to(ports.volumes.get(volume_id)) != instance_id:
        raise TargetNotUsableError(f"{volume_id} is not attached to {instance_id} alone any more")


def open_gate(event: RewindEvent, pending: RewindResult, ports: RewindPorts) -> RewindResult:
    """From here on blocks are written, nobody cancels, and whoever looks at the volume sees its tag.

    Raises RestoreCancelledError: somebody was sooner; and TargetNotUsableError as check_alone.
    """
    gate = pending.gate_part
    if gate is None:
        return pending
    check_alone(event, ports)
    if not pending.writing and not RestoreNotes(ports.table, event.restore_id).mark_writing():
        raise RestoreCancelledError(ENDED)
    try:
        _note_state(event, READY, ports)
        tags = {REWINDING_TAG: event.restore_id, REWINDING_STACK_TAG: ports.stack_name}
        ports.volumes.tag(event.written_id, tags)
        after = part_key(event.restore_id, event.volume.index, gate + 1)
        _put_empty(event, pending, gate, ports, following=delta_address(after, ports.artifacts))
    except TEMPORARY:
        raise
    except RestoreError:
        if not pending.writing:
            close_gate(event, ports)
        raise
    return pending.model_copy(update={"writing": True})


def close_gate(event: RewindEvent, ports: RewindPorts) -> str | None:
    """Where nothing was written: the record and the volume say so. Returns what people should know."""
    with suppress(AccessDeniedError):
        _note_state(event, PREPARING, ports)
    return unmark(event.written_id, ports.volumes)


def unmark(volume_id: str, volumes: VolumeStore) -> str | None:
    """Removes the tags. Returns which ones stay, and the command that removes them; None where none does.

    IAM allows it by one of the tags: a second try is denied where only the first answer was lost.
    """
    try:
        volumes.untag(volume_id, REWINDING_TAG, REWINDING_STACK_TAG)
    except AccessDeniedError as error:
        if REWINDING_TAG in volumes.get(volume_id).settings.tags:
            return (
                f"its tags {REWINDING_TAG} and {REWINDING_STACK_TAG} stay ({error}); remove them: "
                f"aws ec2 delete-tags --resources {volume_id} --tags Key={REWINDING_TAG} "
                f"Key={REWINDING_STACK_TAG}"
            )
    return None


def end_manifest(event: RewindEvent, pending: RewindResult, ports: RewindPorts) -> None:
    """Puts an end in the place of the first part that is missing, once no more parts are made.

    So the agent ends by itself, and its result says what it wrote. One that is cancelled is killed.
    """
    index, first = event.volume.index, (pending.gate_part or 0) + 1
    there = ports.artifacts.written(parts_prefix(event.restore_id, index), most=MOST_PARTS)
    missing = (number for number in count(first) if part_key(event.restore_id, index, number) not in there)
    _put_empty(event, pending, next(missing), ports, following=None)


def _put_empty(
    event: RewindEvent, pending: RewindResult, number: int, ports: RewindPorts, *, following: str | None
) -> None:
    """A part without lines."""
    volume_bytes = event.volume.snapshot_size_gib * GIB
    head = ManifestHead(event.written_id, event.volume.snapshot_id, volume_bytes, pending.counts.blocks)
    key = part_key(event.restore_id, event.volume.index, number)
    ports.packs.put_text(key, [head.part(number, [], following)])


def _note_state(event: RewindEvent, state: str, ports: RewindPorts) -> None:
    """Before the gate is there: an answer that is lost must not leave a record that knows nothing."""
    VolumeNotes(ports.table, event.restore_id, event.volume.index).note_rewind(event.written_id, state)
