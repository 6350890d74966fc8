"""The gate: the first part of a rewind's manifest, which has no lines.

The agent waits for this part, and all other parts follow it. It is written once the evidence is completed, or
once the agent keeps an undo log. So no block is written before there is a way back, but packs may be copied.
Anybody may delete the way back later, so each message looks whether it is still there.
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
from rewarm.ports.snapshots import EvidenceSnapshots, PackStore, SnapshotCatalog
from rewarm.ports.volumes import VolumeStore
from rewarm.steps.record.bucket import delta_address, part_key, parts_prefix
from rewarm.steps.record.restore import ENDED, RestoreNotes
from rewarm.steps.record.volume import VolumeNotes
from rewarm.steps.replace.device_look import LookPorts
from rewarm.steps.rewind.undo_logs import UndoLogPorts, undo_log
from rewarm.steps.rewind.ways import keeps_log
from rewarm.steps.warm.agent_command import AgentPorts

READY, PREPARING = "writing", "preparing"
"""The rewind's state in the record after and before the gate is opened."""
MOST_PARTS = 1_000_000
"""More than any manifest has."""


class RewindPorts(AgentPorts, UndoLogPorts, kw_only=True):
    """The ports that rewind needs."""

    volumes: VolumeStore
    snapshots: SnapshotCatalog
    evidence: EvidenceSnapshots
    packs: PackStore
    look: LookPorts
    stack_name: str


def note_way_back(event: RewindEvent, pending: RewindResult, ports: RewindPorts) -> None:
    """Notes what undoes the rewind. Each message looks whether it is still there (record/way_back.py).

    Raises ThrottledError, ServiceUnavailableError.
    """
    record = VolumeNotes(ports.table, event.restore_id, event.volume.index)
    is_logged = keeps_log(event)
    if not is_logged:
        known = {"evidence": pending.evidence_id, "equal": pending.equal_id}
        record.note_way_back(event.written_id, state=READY, **known)
    # The record has the way back since before the first block was written, unless somebody has deleted it.
    try:
        if is_logged:
            found = undo_log(event.restore_id, event.volume.index, ports)
            record.note_undo_log(None if found is None else found.model_dump(mode="json", by_alias=True))
        else:
            record.note_snapshots(ports.evidence.of_restore(event.restore_id, event.volume.index))
    except TEMPORARY:
        raise
    except RestoreError:
        return


def other_instances(event: RewindEvent, ports: RewindPorts) -> list[str]:
    """Other instances than the writing one that have the volume attached."""
    found = ports.volumes.get(event.written_id).attachments
    attached = {place.instance_id for place in found if place.state != "detached"}
    return sorted(attached - {event.volume.instance_id})


def check_alone(event: RewindEvent, ports: RewindPorts) -> None:
    """Raises TargetNotUsableError unless the volume is attached to its instance only."""
    volume_id = event.written_id
    instance_id = event.volume.instance_id
    if attached_to(ports.volumes.get(volume_id)) != instance_id:
        raise TargetNotUsableError(f"{volume_id} is not attached to {instance_id} alone any more")


def open_gate(event: RewindEvent, pending: RewindResult, ports: RewindPorts) -> RewindResult:
    """Opens the gate: from now on blocks are written, as a tag of the volume says, and nobody can cancel.

    Raises RestoreCancelledError if somebody was faster, and TargetNotUsableError as check_alone.
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
    """Notes in record and tags that nothing was written. Returns what people should know."""
    with suppress(AccessDeniedError):
        _note_state(event, PREPARING, ports)
    return unmark(event.written_id, ports.volumes)


def unmark(volume_id: str, volumes: VolumeStore) -> str | None:
    """Removes the tags. Returns which tags stay and the command that removes them; None if none stays.

    IAM allows it only with the tag, so a second try is denied if the first one's answer was lost.
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
    """Writes an end in place of the first missing part, once no more parts are made.

    So the agent ends by itself, and its result says what it wrote. A cancelled agent is killed.
    """
    index = event.volume.index
    first = (pending.gate_part or 0) + 1
    there = ports.artifacts.written(parts_prefix(event.restore_id, index), most=MOST_PARTS)
    missing = (number for number in count(first) if part_key(event.restore_id, index, number) not in there)
    _put_empty(event, pending, next(missing), ports, following=None)


def _put_empty(
    event: RewindEvent, pending: RewindResult, number: int, ports: RewindPorts, *, following: str | None
) -> None:
    """Writes a part without lines."""
    volume_bytes = event.volume.snapshot_size_gib * GIB
    head = ManifestHead(event.written_id, event.volume.snapshot_id, volume_bytes, pending.counts.blocks)
    key = part_key(event.restore_id, event.volume.index, number)
    ports.packs.put_text(key, [head.part(number, [], following)])


def _note_state(event: RewindEvent, state: str, ports: RewindPorts) -> None:
    """Notes the state before the gate is written, so that a lost answer leaves a record that is right."""
    VolumeNotes(ports.table, event.restore_id, event.volume.index).note_rewind(event.written_id, state)
