"""What undoes rewinds: by the evidence or the undo log, once more or one of another; and what befalls it."""

from __future__ import annotations

import random
from contextlib import suppress
from dataclasses import dataclass, field

from local import Json
from local.aws.region import ApiError
from local.soak.lab.endings import Ending
from local.soak.lab.instances.agent import Trouble
from local.soak.lab.instances.applying import APPLY, EXITS
from local.soak.lab.instances.undoing import overlaid
from local.soak.lab.lab import FastLab
from rewarm.steps.record.bucket import undo_pack_attempt, undo_prefix

BETWEEN = ("written", "deleted", "expired", "cut", "unsnapped")
"""Somebody writes to the volume, or deletes the log; S3 deletes all of it, or a part; snapshots are gone."""
HARMLESS = frozenset({"written"})
UNDONE, AGAIN, BEFALLEN, TROUBLED = 0.7, 0.4, 0.4, 0.4
MOST_WRITTEN = 300
"""Blocks that somebody writes at once."""


@dataclass(frozen=True)
class Undoing:
    """One rewind that undoes another one, once that has ended."""

    number: int
    """Its own, among all that is asked."""
    of: int
    """That of the rewind that is undone."""
    target: Json
    between: str | None
    """What befalls before it is asked for."""
    trouble: Trouble | None
    chance: random.Random = field(compare=False)

    def request(self, lab: FastLab, undone: Ending) -> Json | None:
        """What undoes the rewind, by its record; None where that names no way back."""
        if not undone.restore_ids:
            return None
        restore_id = undone.restore_ids[0]
        volumes = lab.api("GET", f"/restores/{restore_id}")[1].get("volumes") or [{}]
        rewind = volumes[0].get("rewind") or {}
        self._befall(lab, restore_id, rewind)
        if rewind.get("undoLog"):
            source = {"undoOf": restore_id}
        elif rewind.get("evidence"):
            source = {"snapshotId": rewind["evidence"]}
        else:
            return None
        if self.trouble is not None:
            lab.data_plane.troubles.append(self.trouble)
        return {"source": source, "target": self.target, "verify": {"samples": 100}}

    def _befall(self, lab: FastLab, restore_id: str, rewind: Json) -> None:
        objects = lab.buckets[lab.stack.buckets[0]]
        keys = [key for key in objects if key.startswith(undo_prefix(restore_id))]
        for volume in lab.data_plane.volumes.values():
            # The record may not answer, and what is deleted is gone all the same.
            if restore_id in volume.befores and self.between in {"deleted", "expired", "cut"}:
                volume.forgotten.add(restore_id)
        if self.between == "written":
            write_to(lab, rewind.get("volumeId"), self.chance)
        elif self.between == "deleted":
            lab.api("DELETE", f"/undo-logs/{restore_id}")
        elif self.between == "unsnapped":
            _delete_snapshots(lab, rewind.get("volumeId"))
        elif self.between == "expired":
            for key in keys:
                objects.pop(key)
        elif self.between == "cut":
            for key in [key for key in keys if undo_pack_attempt(key) is not None][:1]:
                objects.pop(key)


def draw(first: int, undone: int, target: Json, chance: random.Random) -> list[Undoing]:
    """None, or one or two of a rewind: both of it, or the second one of the first. They are numbered on."""
    found: list[Undoing] = []
    if chance.random() >= UNDONE:
        return found
    for number in (first, first + 1)[: 2 if chance.random() < AGAIN else 1]:
        of = chance.choice((undone, *(one.number for one in found)))
        between = chance.choice(BETWEEN) if chance.random() < BEFALLEN else None
        kind, share = chance.choice(tuple(EXITS)), chance.choice((0.1, 0.9))
        trouble = Trouble(kind, APPLY, share) if chance.random() < TROUBLED else None
        kept = chance.choice(({}, {"evidence": "undo-log"}, {"evidence": "snapshot"}))
        asked = {name: target[name] for name in ("instanceId", "mode", "unmount")}
        found.append(Undoing(number, of, {**asked, **kept}, between, trouble, chance))
    return found


def write_to(lab: FastLab, volume_id: str | None, chance: random.Random) -> None:
    """Somebody uses the volume, unless an agent has it."""
    volume = lab.data_plane.volumes.get(volume_id or "")
    if volume is None or volume.reader is not None:
        return
    first = chance.randrange(volume.size_gib * 2_048 - MOST_WRITTEN)
    blocks = range(first, first + chance.randint(1, MOST_WRITTEN))
    name = f"somebody {volume.writes}"
    volume.rewrite(overlaid(volume.image_now(), dict.fromkeys(blocks, name)))
    volume.writes += len(blocks)
    volume.used.update(blocks)


def _delete_snapshots(lab: FastLab, volume_id: str | None) -> None:
    """All of the volume, as a rule of somebody's backups does."""
    for shown in lab.region.call("ec2", "DescribeSnapshots", {})["Snapshots"]:
        if shown["VolumeId"] == volume_id:
            with suppress(ApiError):
                delete_snapshot(lab, shown["SnapshotId"], is_needed=False)


def delete_snapshot(lab: FastLab, snapshot_id: str, *, is_needed: bool) -> None:
    """By somebody; a rewind that still needs it has to say that it is gone, and no other one can."""
    if not is_needed:
        lab.outside.unsnapped.add(snapshot_id)
    lab.data_plane.images[snapshot_id] = lab.data_plane.known_image(snapshot_id)
    lab.region.call("ec2", "DeleteSnapshot", {"SnapshotId": snapshot_id})
