"""What became of rewinds: whether a volume is what its restore says, and whether all that it had is kept.

A snapshot keeps the whole volume as it was, and an undo log the blocks that were overwritten.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from local import Json
from local.aws.machines.dataplane import SnapshotImage
from local.soak.lab.instances.data_plane import Volume
from local.soak.lab.instances.undoing import Seed, differing, overlaid, seeds_of
from local.soak.lab.lab import FastLab
from rewarm.domain.volume.leftovers import EVIDENCE_TAG
from rewarm.steps.record.bucket import UNDO_LOGS, undo_head_key, undo_log_of, undo_pack_attempt


class RewindAudit:
    """Looks at a lab once its restores are over."""

    def __init__(self, lab: FastLab) -> None:
        self._lab = lab
        self._told = json.dumps([*lab.slack, *(sent["detail"] for sent in lab.events.sent)], default=str)

    def findings(self, restore_ids: Iterable[str]) -> Iterator[str]:
        """A sentence for each thing that is amiss."""
        volumes = self._lab.data_plane.volumes
        yield from self._held_or_untold()
        for restore_id in restore_ids:
            record = self._lab.api("GET", f"/restores/{restore_id}")[1]
            plans = record.get("plans") or []
            for one, planned in zip(record.get("volumes") or [], plans, strict=False):
                rewind = one.get("rewind") or {}
                volume = volumes.get(rewind.get("volumeId") or "")
                if volume is not None:
                    yield from self._of_volume(restore_id, record, rewind, planned, volume)

    def _held_or_untold(self) -> Iterator[str]:
        """A volume that an agent still has, and a snapshot that a rewind made and that nobody knows of."""
        for volume in self._lab.data_plane.volumes.values():
            if volume.befores and volume.reader is not None:
                yield f"{volume.volume_id} is still held"
        for snapshot in self._lab.region._tables.snapshots.values():
            is_ours = EVIDENCE_TAG in snapshot.tags and snapshot.snapshot_id not in self._lab.outside.others
            if is_ours and snapshot.snapshot_id not in self._told:
                yield f"nobody was told of {snapshot.snapshot_id}"

    def _of_volume(
        self, restore_id: str, record: Json, rewind: Json, planned: Json, volume: Volume
    ) -> Iterator[str]:
        if (rewind.get("undoLog") or self._packs(restore_id)) and restore_id not in volume.forgotten:
            yield from self._not_kept(restore_id, volume)
        # An item that somebody has deleted has only what was written to it later.
        request: Json | None = record.get("request")
        undone = ((request or {}).get("source") or {}).get("undoOf")
        target = None if request is None or undone else planned["snapshotId"]
        yield from self._said_wrongly(restore_id, rewind, volume)
        if rewind.get("state") != "done":
            return
        if undone is not None:
            yield from self._not_undone(restore_id, undone, volume)
        elif target is not None and volume.equals != target and restore_id == _last(volume):
            yield f"{volume.volume_id} is not what {restore_id} says"
        yield from self._other_evidence(restore_id, rewind, volume)

    def _not_undone(self, restore_id: str, undone: str, volume: Volume) -> Iterator[str]:
        """The blocks of the log have what they had; by the log alone, all others what they had just now."""
        before, left = volume.befores.get(undone), volume.left.get(restore_id)
        if before is None or left is None or undone in volume.forgotten:
            return
        head = json.loads(self._lab.buckets[self._lab.stack.buckets[0]][undo_head_key(undone, 0)].value)
        if head.get("completedAt") is None or head.get("undoOf"):
            before = overlaid(volume.befores[restore_id], self._kept(undone, before))
        if self._wrong(left, before, volume):
            yield f"{volume.volume_id} is not what it was before {undone}"

    def _other_evidence(self, restore_id: str, rewind: Json, volume: Volume) -> Iterator[str]:
        """The way back has what the volume had. Whether people know that it is gone is judged elsewhere."""
        evidence = rewind.get("evidence")
        if not evidence or not self._lab.region._tables.snapshots.get(evidence):
            return
        if self._wrong(self._lab.data_plane.known_image(evidence), volume.befores[restore_id], volume):
            yield f"{evidence} is not what {volume.volume_id} was before {restore_id}"

    def _wrong(self, found: SnapshotImage, wanted: SnapshotImage, volume: Volume) -> bool:
        """Whether blocks differ that nobody has used while an agent was away."""
        return any(block not in volume.used for block in differing(found, wanted))

    def _said_wrongly(self, restore_id: str, rewind: Json, volume: Volume) -> Iterator[str]:
        """Mixed, untouched, the number of blocks and the way back, held against what was really written."""
        volume_id, written = volume.volume_id, volume.writes_of[restore_id]
        told = json.dumps(
            [one["detail"] for one in self._lab.events.sent if one["detail"].get("restoreId") == restore_id],
            default=str,
        )
        if f"{volume_id} is mixed" in told and not written:
            yield f"{volume_id} is called mixed by {restore_id}, which wrote nothing"
        if f"Nothing was written to {volume_id}" in told and written:
            yield f"{restore_id} says that it wrote nothing to {volume_id}, and wrote {written} blocks"
        if int(rewind.get("written") or 0) > written:
            yield f"{restore_id} says that it wrote {rewind['written']} blocks to {volume_id}: {written}"
        is_kept = bool(rewind.get("undoLog") or self._packs(restore_id))
        if written and not is_kept and rewind.get("evidence") not in self._lab.outside.unsnapped:
            yield from self._without_way_back(restore_id, rewind, volume_id, told)

    def _without_way_back(self, restore_id: str, rewind: Json, volume_id: str, told: str) -> Iterator[str]:
        evidence = str(rewind.get("evidence"))
        kept = self._lab.region._tables.snapshots.get(evidence)
        is_there = kept is not None and kept.state == "completed"
        if not is_there and f"{evidence} has {volume_id} as it was" in told:
            yield f"{restore_id} calls {evidence} the way back, which is {kept.state if kept else 'gone'}"
        if not is_there and "no way back" not in told:
            yield f"{volume_id} was written by {restore_id} without a way back, and nobody is told"

    def _not_kept(self, restore_id: str, volume: Volume) -> Iterator[str]:
        """Every block that the restore has overwritten is in its log, and a message names the log."""
        before, left = volume.befores.get(restore_id), volume.left.get(restore_id)
        if before is None or left is None:
            return
        kept = self._kept(restore_id, before)
        lost = [block for block in differing(before, left) if block not in kept and block not in volume.used]
        if lost:
            yield f"{len(lost)} blocks of {volume.volume_id} are overwritten and nowhere, as {lost[0]}"
        elif self._wrong(overlaid(left, kept), before, volume):
            yield f"the undo log of {restore_id} does not undo it"
        if kept and f"{restore_id}" not in self._told:
            yield f"nobody was told of the undo log of {restore_id}"

    def _packs(self, restore_id: str) -> list[str]:
        objects = self._lab.buckets[self._lab.stack.buckets[0]]
        mine = [key for key in objects if key.startswith(f"{UNDO_LOGS}{restore_id}/")]
        return [key for key in mine if undo_log_of(key) and undo_pack_attempt(key) is not None]

    def _kept(self, restore_id: str, before: SnapshotImage) -> dict[int, Seed]:
        """Of each block, what its earliest attempt has kept."""
        objects, found = self._lab.buckets[self._lab.stack.buckets[0]], dict[int, Seed]()
        for key in sorted(self._packs(restore_id), key=lambda one: undo_pack_attempt(one) or 0):
            seeds, _ = seeds_of(objects[key].value, before)
            found = seeds | found
        return found


def _last(volume: Volume) -> str | None:
    """The restore that wrote to it last."""
    return next(reversed(volume.left), None)
