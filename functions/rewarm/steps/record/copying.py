"""How far copy-blocks is with a volume, by what was listed, in its record, and what there is in the bucket.

So nobody has to count while many functions copy, and none counts a shard twice that it has tried twice.
"""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime

from rewarm.contracts.copying import ListBlocksEvent, ListBlocksResult
from rewarm.domain.blocks.shards import blocks_progress
from rewarm.domain.errors import RestoreError
from rewarm.domain.units import iso
from rewarm.ports import JsonObject
from rewarm.ports.artifacts import Artifacts
from rewarm.ports.restores import RestoreTable
from rewarm.steps.record.bucket import part_key, parts_prefix
from rewarm.steps.record.volume import VolumeNotes

MOST_PARTS = 20_000
"""So many are looked at, a thousand by a request: those of 5 TiB."""


def note_listed(event: ListBlocksEvent, listed: ListBlocksResult, table: RestoreTable) -> None:
    """In the volume's record. Copying needs it for nothing."""
    told = {
        "firstPart": event.delta.first_shard_part,
        "shards": listed.shards,
        "blocks": listed.blocks - listed.zeros + listed.samples,
        "startedAt": iso(event.now),
    }
    with suppress(RestoreError):
        VolumeNotes(table, event.restore_id, event.delta.index).note_copying(told)


def copying_progress(restore_id: str, index: int, listed: JsonObject, artifacts: Artifacts) -> JsonObject:
    """What was listed, and what is copied of it now; just the first where S3 does not say."""
    first, shards = int(listed["firstPart"]), int(listed["shards"])
    keys = {part_key(restore_id, index, number) for number in range(first, first + min(shards, MOST_PARTS))}
    started_at = datetime.fromisoformat(listed["startedAt"])
    with suppress(RestoreError):
        there = artifacts.written(parts_prefix(restore_id, index), most=first + MOST_PARTS)
        times = [at for key, at in there.items() if key in keys]
        found = blocks_progress(int(listed["blocks"]), shards, times, started_at)
        return {
            **listed,
            "blocksCopied": found.blocks_copied,
            "bytesCopied": found.bytes_copied,
            "mibPerSecond": found.mib_per_second,
            "remainingSeconds": found.remaining_seconds,
        }
    return listed
