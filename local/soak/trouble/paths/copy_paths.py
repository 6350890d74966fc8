"""Ways of copying blocks: what differs between two encrypted snapshots, all blocks of one, and a rewind."""

from __future__ import annotations

from dataclasses import replace

from local import Json
from local.soak.lab.endings import Ending
from local.soak.lab.lab import FastLab
from local.soak.lab.states.distributed_map import TOO_MANY
from local.soak.trouble.paths.interrupted_paths import PATHS
from local.soak.trouble.paths.paths import path, restored
from rewarm.domain.words.failures import explain

__all__ = ["PATHS"]
COPY = "CopyBlocksStateMachine"
VOLUME_ID = "vol-0123456789abcdef0"
KEY = "arn:aws:kms:us-east-1:123456789012:key/11111111-2222-3333-4444-555555555555"
HELD = ((0, 6), (1_000, 2))
DAMAGED = ((4, 2), (700, 1))


@path("copy-blocks")
def _copy_blocks(lab: FastLab) -> Ending:
    good, newest = (
        lab.region.add_snapshot(
            size_gib=1, volume_id=VOLUME_ID, extents=extents, layers=layers, encrypted=True, kms_key_id=KEY
        )
        for extents, layers in (
            (HELD, ((HELD, "good"),)),
            ((*HELD[:1], *DAMAGED[1:], *HELD[1:]), ((HELD, "good"), (DAMAGED, "damage"))),
        )
    )
    differing = _copied(lab, "restore-1", good, newest)
    return differing if differing.status != "copied" else _copied(lab, "restore-2", good, None)


@path("rewind")
def _rewind(lab: FastLab) -> Ending:
    """A volume with a snapshot of half an hour ago is unmounted, and goes back to an older one."""
    instance_id = lab.region.add_instance()
    volume_id = lab.region.add_volume(size_gib=8, attach_to=instance_id, device="/dev/sdf")
    good = lab.region.add_snapshot(size_gib=8, extents=((0, 30),), volume_id=volume_id)
    lab.pass_time(3_600)
    lab.region.add_snapshot(size_gib=8, extents=((0, 36),), volume_id=volume_id)
    lab.pass_time(1_800)
    target = {"instanceId": instance_id, "mode": "rewind", "unmount": True}
    ending = restored(lab, {"source": {"snapshotId": good}, "target": target, "verify": {"samples": 100}})
    error, cause = _of_shard(lab, ending.error, ending.cause)
    return replace(ending, error=error, cause=cause)


@path("rewind-with-undo-log")
def _rewind_with_undo_log(lab: FastLab) -> Ending:
    """A volume that has more than its snapshot goes back, and what was overwritten is put back again."""
    instance_id = lab.region.add_instance()
    volume_id = lab.region.add_volume(size_gib=1, attach_to=instance_id, device="/dev/sdf")
    good = lab.region.add_snapshot(size_gib=1, extents=((0, 20), (700, 5)), volume_id=volume_id)
    lab.data_plane.volume(volume_id).blocks_written = 40
    lab.pass_time(1_800)
    target = {"instanceId": instance_id, "mode": "rewind", "evidence": "undo-log"}
    back = restored(lab, {"source": {"snapshotId": good}, "target": target})
    if back.kind != "ready":
        error, cause = _of_shard(lab, back.error, back.cause)
        return replace(back, error=error, cause=cause)
    undone = restored(lab, {"source": {"undoOf": back.restore_ids[0]}, "target": target})
    error, cause = _of_shard(lab, undone.error, undone.cause)
    both = [*back.restore_ids, *undone.restore_ids]
    return replace(undone, error=error, cause=cause, restore_ids=both)


def _copied(lab: FastLab, restore_id: str, good: str, against: str | None) -> Ending:
    delta: Json = {
        "snapshotId": good, "volumeId": VOLUME_ID, "volumeBytes": 1 << 30, "index": 0, "region": None,
        "against": against, "without": [], "firstPart": 0, "goesOn": False, "samples": 2,
    }  # fmt: skip
    begun = lab.states.start(lab.machine(COPY), restore_id, {"restoreId": restore_id, "delta": delta})
    lab.finish(begun)
    if begun.status == "SUCCEEDED":
        return Ending("copied")
    error, cause = _of_shard(lab, begun.error, begun.cause)
    return Ending("failed", explain(error, cause).error, cause)


def _of_shard(lab: FastLab, error: str, cause: str) -> tuple[str, str]:
    """Where the bucket takes no reason of a shard, only its own execution has it."""
    failed = [one for one in lab.executions(COPY) if one.is_child and one.status == "FAILED"]
    return (failed[0].error, failed[0].cause) if failed and TOO_MANY in cause else (error, cause)
