"""Whether the evidence or the undo log can still undo the rewind: anybody may have deleted it."""

from __future__ import annotations

from rewarm.contracts.rewinding import RewindEvent, RewindResult
from rewarm.domain.errors import TEMPORARY, RestoreError, SnapshotNotFoundError
from rewarm.steps.record.volume import VolumeNotes
from rewarm.steps.rewind.needs import RewindPorts
from rewarm.steps.rewind.undo_logs import in_words, undo_log
from rewarm.steps.rewind.ways import keeps_log


def way_back(event: RewindEvent, pending: RewindResult, ports: RewindPorts) -> str:
    """A sentence for people, by what EC2 shows now; the record notes the evidence's state.

    Raises ThrottledError, ServiceUnavailableError.
    """
    if keeps_log(event):
        return _by_log(event, ports)
    evidence_id, volume_id = pending.evidence_id, event.written_id
    state = _state(event, evidence_id, ports)
    VolumeNotes(ports.table, event.restore_id, event.volume.index).note_evidence_state(state)
    if state == "completed":
        if evidence_id == pending.equal_id:
            volume_id += ", to which nobody had written since its last rewind,"
        return f"{evidence_id} has {volume_id} as it was: a rewind to it undoes this one"
    if state == "unknown":
        return f"nobody could look whether {evidence_id} still has {volume_id} as it was"
    is_gone = state == "gone"
    why = "is gone" if is_gone else f"is in the state {state}"
    return f"there is no way back: {evidence_id}, which had {volume_id} as it was, {why}"


def _by_log(event: RewindEvent, ports: RewindPorts) -> str:
    """The bucket knows what was overwritten; the record notes it."""
    try:
        found = undo_log(event.restore_id, event.volume.index, ports)
    except TEMPORARY:
        raise
    except RestoreError as error:
        return f"nobody could look what is in the undo log of {event.restore_id} ({error})"
    told = None if found is None else found.model_dump(mode="json", by_alias=True)
    VolumeNotes(ports.table, event.restore_id, event.volume.index).note_undo_log(told)
    if found is None:
        return f"nothing of {event.written_id} is in an undo log: no block was overwritten, or it was deleted"
    return (
        f"a rewind with source.undoOf {event.restore_id} undoes this one; {in_words(found)} (rewarm undo-log "
        f"delete {event.restore_id})"
    )


def _state(event: RewindEvent, evidence_id: str | None, ports: RewindPorts) -> str:
    """Of a snapshot that this restore has made, or of one that the volume still equalled."""
    try:
        found = ports.evidence.of_restore(event.restore_id, event.volume.index)
        made = next((one.state for one in found if one.snapshot_id == evidence_id), None)
        return made or ports.snapshots.get(evidence_id or "").state
    except TEMPORARY:
        raise
    except SnapshotNotFoundError:
        return "gone"
    except RestoreError:
        return "unknown"
