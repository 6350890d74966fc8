"""Scenarios whose volumes are written block by block: rewinds and direct writes, and what befalls them.

They have a chance of their own, so that every seed means what it meant before, and more.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from local import Json
from local.aws.region import ApiError, FaultRule
from local.soak.lab.instances.agent import Trouble
from local.soak.lab.instances.applying import APPLY, EXITS, restore_of
from local.soak.lab.lab import FastLab
from local.soak.trouble.undoings import HARMLESS, delete_snapshot, draw, write_to
from rewarm.domain.volume.leftovers import EVIDENCE_TAG, RESTORE_TAG

if TYPE_CHECKING:
    from local.soak.trouble.scenarios import Plan

REWINDS, DIRECT_WRITES, TROUBLES, USED = 0.15, 0.15, 0.6, 0.3
SIZE_GIB, SIZE_OF_REWINDS = 8, 1
HELD = (((0, 150),), ((0, 80), (3_000, 400)), ((10, 1_200),))
"""What a snapshot holds. A later one of the same volume has some more, or less."""
HELD_OF_REWINDS = (((0, 15),), ((0, 8), (300, 40)), ((1, 120),))
"""Where nothing but rewinds is played: most of the time goes into the reading of blocks."""
KINDS = (*EXITS, "hangs", "evidence", "corrupt", "mounted", "gone", "packs", "cancelled", "deleted")
OUTSIDE = ("mounted", "gone", "packs", "deleted")


class WrittenBlocks:
    """Adds to one plan."""

    def __init__(self, plan: Plan, chance: random.Random) -> None:
        self._plan = plan
        self._chance = chance
        self._size_gib, self._held = SIZE_GIB, HELD

    def write(self, lab: FastLab) -> None:
        """What the chance says; fleets have neither."""
        if self._plan.fleet is not None:
            return
        chance = self._chance
        is_rewound, is_written = chance.random() < REWINDS, chance.random() < DIRECT_WRITES
        if is_rewound:
            self._rewind(lab)
        if is_written:
            self._direct(lab)
        if (is_rewound or is_written) and chance.random() < TROUBLES:
            self._trouble(lab, chance.choice(KINDS))
        if is_rewound:
            self._undo(lab)

    def write_rewind(self, lab: FastLab) -> None:
        """A rewind whatever the chance says, and nothing else that is written."""
        self._size_gib, self._held = SIZE_OF_REWINDS, HELD_OF_REWINDS
        self._rewind(lab)
        if self._chance.random() < TROUBLES:
            self._trouble(lab, self._chance.choice(KINDS))
        self._undo(lab)

    def _undo(self, lab: FastLab) -> None:
        """What undoes the first rewind; somebody may use its volume while the agent is away."""
        plan, chance = self._plan, self._chance
        undone = next(at for at, one in enumerate(plan.requests) if one["target"].get("mode") == "rewind")
        target = plan.requests[undone]["target"]
        plan.undoings = draw(len(plan.requests), undone, target, chance)
        for one in plan.undoings:
            plan.told.append(f"{one.number} undoes {one.of}, after: {one.between}, with: {one.trouble}")
            plan.harmless &= one.trouble is None and one.between in {None, *HARMLESS}
        if chance.random() < USED:
            when = 5 + chance.expovariate(1 / 60)
            plan.told.append(f"somebody writes to the volume after {when:.0f} s")
            lab.scheduler.after(when, lambda: self._use(lab, target["instanceId"]))

    def _use(self, lab: FastLab, instance_id: str) -> None:
        for volume in list(lab.data_plane.volumes.values()):
            if instance_id in volume.attached_to:
                write_to(lab, volume.volume_id, self._chance)

    def _rewind(self, lab: FastLab) -> None:
        """To a snapshot of half an hour ago, or to one with a newer one after it; or twice at once."""
        chance = self._chance
        instance_id = lab.region.add_instance()
        volume_id = lab.region.add_volume(size_gib=self._size_gib, attach_to=instance_id, device="/dev/sdf")
        good = lab.region.add_snapshot(
            size_gib=self._size_gib, extents=chance.choice(self._held), volume_id=volume_id
        )
        lab.pass_time(1_800)
        if chance.random() < 0.5:
            lab.region.add_snapshot(
                size_gib=self._size_gib, extents=chance.choice(self._held), volume_id=volume_id
            )
            lab.pass_time(600)
        target = {"instanceId": instance_id, "mode": "rewind", "unmount": chance.random() < 0.5}
        times = chance.choice((1, 1, 2))
        target |= chance.choice(({}, {"evidence": "undo-log"}, {"compare": "device"}))
        for _ in range(times):
            self._ask({"source": {"snapshotId": good}, "target": target})
        self._plan.told.append(f"{volume_id} is rewound to {good}")

    def _direct(self, lab: FastLab) -> None:
        """One volume or several of a snapshot; somebody else may want the same blocks."""
        chance = self._chance
        snapshot_id = lab.region.add_snapshot(size_gib=SIZE_GIB, extents=chance.choice(HELD))
        volumes = [{"snapshotId": snapshot_id}] * chance.choice((1, 2))
        for _ in range(chance.choice((1, 1, 2))):
            target = {"instanceId": lab.region.add_instance()}
            self._ask({"source": {"volumes": volumes}, "target": target}, strategy="direct-write")
        self._plan.told.append(f"volumes are written with the blocks of {snapshot_id}")

    def _ask(self, asked: Json, **objective: Json | str) -> None:
        verify = {"samples": self._chance.choice((0, 100))}
        self._plan.requests.append(asked | {"objective": objective, "verify": verify})
        self._plan.delays.append(self._chance.choice((0.0, 0.0, 30.0)))

    def _trouble(self, lab: FastLab, kind: str) -> None:
        plan, when = self._plan, 5 + self._chance.expovariate(1 / 30)
        if kind == "hangs" or kind in EXITS:
            share, skip = self._chance.choice((0.1, 0.9)), self._chance.choice((0, 0, 1))
            plan.troubles.append(Trouble(kind, APPLY, share, skip=skip))
        elif kind == "evidence":
            effect = self._chance.choice(("snapshot-error", "stall"))
            plan.region_faults.append(FaultRule("snapshot:creation", effect=effect))
        elif kind == "corrupt":
            plan.region_faults.append(
                FaultRule("block:data", effect="corrupt", times=self._chance.choice((1, 40)))
            )
        elif kind == "cancelled":
            plan.cancel_after[len(plan.requests) - 1] = when
        else:
            lab.scheduler.after(when, lambda: self._outside(lab, kind))
        plan.harmless = False
        plan.told.append(f"{kind}, after {when:.0f} s" if kind in OUTSIDE else kind)

    def _outside(self, lab: FastLab, kind: str) -> None:
        """Somebody mounts the volume, ends the instance, or deletes the evidence or what was copied."""
        target = self._plan.requests[-1]["target"]["instanceId"]
        if kind == "gone":
            try:
                lab.region.call("ec2", "TerminateInstances", {"InstanceIds": [target]})
            except ApiError:
                return
        elif kind == "deleted":
            _delete_evidence(lab)
        elif kind == "mounted":
            for volume in lab.data_plane.volumes.values():
                if target in volume.attached_to and volume.reader is None:
                    lab.data_plane.mounted.setdefault(volume.volume_id, ["/data"])
        else:
            objects = lab.buckets[lab.stack.buckets[0]]
            for key in [one for one in objects if one.startswith("deltas/snap-")]:
                objects.pop(key)


def _delete_evidence(lab: FastLab) -> None:
    """Whatever the snapshots are needed for: the rewind that made one may be over."""
    for shown in lab.region.call("ec2", "DescribeSnapshots", {})["Snapshots"]:
        tags = {tag["Key"]: tag["Value"] for tag in shown.get("Tags") or []}
        if EVIDENCE_TAG in tags:
            reader = lab.data_plane.volume(shown["VolumeId"]).reader
            delete_snapshot(
                lab,
                shown["SnapshotId"],
                is_needed=isinstance(reader, dict)
                and restore_of(reader["manifest_url"]) == tags[RESTORE_TAG],
            )
