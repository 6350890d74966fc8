"""Whether the way back of a restore is still there: each message, report and answer that names it asks.

The record says what there was at the end of the writing. Between that and a message, S3, a rule of backups or
a person may delete it. A look that fails ends nothing: the way back is named then, with the reason.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from rewarm.domain.errors import TEMPORARY, RestoreError, SnapshotNotFoundError
from rewarm.domain.snapshots import in_recycle_bin
from rewarm.domain.value import Value
from rewarm.domain.volume.leftovers import DELETED
from rewarm.domain.words import way_back as words
from rewarm.domain.words.way_back import PRESENT, Presence
from rewarm.ports import JsonObject
from rewarm.steps.record.bucket import undo_head_key
from rewarm.steps.record.restore import KnownRestore
from rewarm.steps.record.volume import KnownReplaced, KnownVolume, Rewinding

if TYPE_CHECKING:
    from rewarm.ports.artifacts import Artifacts
    from rewarm.ports.snapshots import SnapshotCatalog
    from rewarm.ports.volumes import VolumeStore

IN_PLACE = frozenset({None, "in-place", "back"})
"""States of a replaced volume that is where it was, so that there is nothing to go back to."""


class WayBackPorts(Value, kw_only=True):
    """The ports that a look at a way back needs; wiring.py fills them by hand, once somebody looks."""

    snapshots: SnapshotCatalog
    volumes: VolumeStore
    artifacts: Artifacts


def looked(record: KnownRestore, ports: WayBackPorts) -> KnownRestore:
    """The record, with what EC2 and S3 show now of each way back. Raises no error of AWS."""
    look = _LookAtAll(ports)
    volumes = {index: look.volume(index, volume) for index, volume in record.volumes.items()}
    return record.model_copy(update={"volumes": volumes})


def in_words(volume: KnownVolume, *, is_ready: bool) -> str:
    """One sentence or several about the way back; empty if nothing was overwritten or replaced."""
    rewind = volume.rewind
    replaced = volume.replaced
    if rewind is not None:
        return _of_rewind(rewind)
    new_id = replaced.new_volume_id or volume.volume_id
    if replaced.volume_id is None or new_id is None or not (is_ready or replaced.state == "replaced"):
        return ""
    return words.by_volume(replaced.volume_id, new_id, replaced.presence)


def shown_way_back(record: KnownRestore, index: int) -> JsonObject:
    """What GET /restores/{id} shows of the way back of one volume."""
    volume = record.volume(index)
    known: JsonObject = {"wayBack": in_words(volume, is_ready=record.settled(index))}
    if volume.rewind is not None:
        known["rewind"] = {**volume.rewind.raw, "evidenceState": volume.rewind.evidence_state}
    return known


def _of_rewind(rewind: Rewinding) -> str:
    volume_id = rewind.volume_id or "the volume"
    log = rewind.undo_log
    if not rewind.has_written:
        return ""
    if log is not None:
        return words.by_log(log.restore_id, volume_id, rewind.presence, log.size)
    if rewind.evidence is not None:
        equalled = rewind.evidence == rewind.equal
        return words.by_snapshot(rewind.evidence, volume_id, rewind.presence, equalled=equalled)
    is_counted = rewind.state == "done" or "undoLog" in rewind.raw
    return words.nothing_kept(volume_id) if is_counted else words.not_known(volume_id)


class _LookAtAll:
    """One look at all ways back of a restore. If a service gives no answer, it is asked no more."""

    def __init__(self, ports: WayBackPorts) -> None:
        self._ports = ports
        self._silent: str | None = None

    def volume(self, index: int, volume: KnownVolume) -> KnownVolume:
        """The volume's record with what is there."""
        rewind = volume.rewind
        replaced = volume.replaced
        changes: dict[str, object] = {}
        if rewind is not None and (rewind.undo_log or rewind.evidence):
            changes["rewind"] = self._rewind(index, rewind)
        if replaced.volume_id is not None and replaced.state not in IN_PLACE:
            changes["replaced"] = self._replaced(replaced.volume_id, replaced)
        return volume.model_copy(update=changes)

    def _rewind(self, index: int, rewind: Rewinding) -> Rewinding:
        log = rewind.undo_log
        evidence_id = rewind.evidence or ""
        if log is not None:
            return rewind.model_copy(
                update={"presence": self._asked(lambda: self._log(log.restore_id, index))}
            )
        presence = self._asked(lambda: self._snapshot(evidence_id))
        if presence.found == "unknown" and rewind.evidence_state == "gone":
            presence = Presence("gone", "is gone")
        state = presence.shown or ("gone" if presence.is_gone else rewind.evidence_state)
        return rewind.model_copy(update={"presence": presence, "evidence_state": state})

    def _replaced(self, volume_id: str, replaced: KnownReplaced) -> KnownReplaced:
        return replaced.model_copy(update={"presence": self._asked(lambda: self._volume(volume_id))})

    def _asked(self, look: Callable[[], Presence]) -> Presence:
        if self._silent is not None:
            return Presence("unknown", self._silent)
        try:
            return look()
        except TEMPORARY as error:
            self._silent = str(error)
            return Presence("unknown", self._silent)
        except RestoreError as error:
            return Presence("unknown", str(error))

    def _log(self, restore_id: str, index: int) -> Presence:
        """A log without its head undoes nothing; and what it does not have is read from its snapshot."""
        key = undo_head_key(restore_id, index)
        head = self._ports.artifacts.get_json(key)
        if head is None:
            return Presence("gone", f"is deleted: the bucket has no {key}")
        snapshot_id = str(head.get("snapshotId"))
        needed = self._snapshot(snapshot_id)
        if needed.is_gone:
            why = f"is there, but {snapshot_id}, which the undoing needs too, {needed.reason}"
            return Presence("gone", why, shown="log")
        return PRESENT

    def _snapshot(self, snapshot_id: str) -> Presence:
        snapshots = self._ports.snapshots
        try:
            state = snapshots.get(snapshot_id).state
        except SnapshotNotFoundError:
            return Presence("gone", f"is gone: {self._recovery(snapshot_id)}")
        if state in {"completed", "pending"}:
            return Presence("there", shown=state)
        return Presence("gone", f"is in the state {state}, so that nobody can use it", shown=state)

    def _recovery(self, snapshot_id: str) -> str:
        """How it can be recovered; if that cannot be looked up, it is gone all the same."""
        with suppress(RestoreError):
            for binned in self._ports.snapshots.in_recycle_bin(snapshot_id):
                return in_recycle_bin(binned)
        return "EC2 shows no such snapshot"

    def _volume(self, volume_id: str) -> Presence:
        found = next(iter(self._ports.volumes.existing([volume_id])), None)
        if found is None or found.state in DELETED:
            return Presence("gone", "is deleted: EC2 shows no such volume")
        return PRESENT
