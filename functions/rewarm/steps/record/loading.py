"""How far the blocks of a volume are: what an initialization has loaded, and what copy-blocks has copied.

The samples of an initialization are one small object for each volume. Only the pictures of the report need
them, so no error there stops a restore. The volume's record has what was listed, and the bucket has what is
copied. So the many functions that copy need no counter, and a shard that is tried twice counts once.
"""

from __future__ import annotations

import json
import math
from contextlib import suppress
from datetime import datetime
from typing import Any

from rewarm.contracts.copying import ListBlocksEvent, ListBlocksResult
from rewarm.contracts.events import PollInitializationEvent
from rewarm.contracts.results import PollInitializationResult
from rewarm.domain.blocks.shards import blocks_progress
from rewarm.domain.errors import RestoreError
from rewarm.domain.model import BLOCK_BYTES, GIB, MIB
from rewarm.domain.time.measured import Sample, with_sample
from rewarm.domain.units import iso
from rewarm.ports import JsonObject
from rewarm.ports.artifacts import Artifacts
from rewarm.ports.restores import RestoreTable
from rewarm.steps.record.bucket import block_map_key, first_map_key, part_key, parts_prefix, samples_key
from rewarm.steps.record.volume import VolumeNotes

MOST_PARTS = 20_000
"""The most parts that are looked at, a thousand per request: those of 5 TiB."""
MOST_BYTES = 65_536
"""Several times the size of the longest series."""
MAP_PARTS = 128
"""Parts of a volume in the picture of what is read first."""
MOST_MAP_BYTES = 4 * MIB


def note_listed(event: ListBlocksEvent, listed: ListBlocksResult, table: RestoreTable) -> None:
    """Notes it in the volume's record, only for readers: copying does not need it."""
    noted = {
        "firstPart": event.delta.first_shard_part,
        "shards": listed.shards,
        "blocks": listed.blocks - listed.zeros + listed.samples,
        "startedAt": iso(event.now),
    }
    with suppress(RestoreError):
        VolumeNotes(table, event.restore_id, event.delta.index).note_copying(noted)


def copying_progress(restore_id: str, index: int, listed: JsonObject, artifacts: Artifacts) -> JsonObject:
    """What was listed, and what is copied of it now; only what was listed if S3 does not answer."""
    first = int(listed["firstPart"])
    shards = int(listed["shards"])
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


def note_sample(
    event: PollInitializationEvent, result: PollInitializationResult, artifacts: Artifacts
) -> None:
    """Adds what this poll saw. Raises nothing if the bucket is out of reach."""
    signals = result.signals
    sample = Sample(
        seconds=round((event.now - event.started_at).total_seconds(), 1),
        percent=result.progress_percent,
        bytes_done=result.bytes_done,
        mib_per_second=None if result.mib_per_second is None else round(result.mib_per_second, 1),
        read_ops=signals.read_ops_per_minute[-1] if signals.read_ops_per_minute else None,
        read_ms=None if signals.read_latency_ms is None else round(signals.read_latency_ms, 3),
    )
    key = samples_key(event.restore_id, event.volume.index)
    known = read_samples(event.restore_id, event.volume.index, artifacts)
    with suppress(RestoreError):
        artifacts.put_json(key, {"samples": [list(entry) for entry in with_sample(known, sample)]})


def read_samples(restore_id: str, index: int, artifacts: Artifacts) -> list[Sample]:
    """What earlier polls have added; empty if the object is missing or damaged."""
    try:
        text = artifacts.get_text(samples_key(restore_id, index), most_bytes=MOST_BYTES)
        found: Any = json.loads(text or "{}")
        return [Sample(*entry) for entry in found["samples"]]
    except (RestoreError, ValueError, TypeError, KeyError):
        return []


def read_hot_map(restore_id: str, index: int, size_gib: int, artifacts: Artifacts) -> list[list[float]]:
    """Of each of 128 equal parts of a volume: which share is written, and which is read first.

    Empty where nothing is read first, or where a map is too large for a picture.
    """
    keys = block_map_key(restore_id, index), first_map_key(restore_id, index)
    written, first = (_shares(key, size_gib * GIB // BLOCK_BYTES, artifacts) for key in keys)
    return [list(pair) for pair in zip(written, first, strict=True)] if written and first else []


def _shares(key: str, blocks: int, artifacts: Artifacts) -> list[float]:
    part = blocks / MAP_PARTS
    shares = [0.0] * MAP_PARTS
    with suppress(RestoreError, ValueError):
        text = artifacts.get_text(key, most_bytes=MOST_MAP_BYTES)
        for line in (text or "").splitlines():
            start, count = map(int, line.split())
            end = min(start + count, blocks)
            for place in range(int(start // part), math.ceil(end / part)):
                shares[place] += min(end, (place + 1) * part) - max(start, place * part)
        return [round(min(1.0, share / part), 4) for share in shares] if text else []
    return []
