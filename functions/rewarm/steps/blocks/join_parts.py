"""State `Join Parts`: looks whether the manifest is whole, and counts what it has."""

from __future__ import annotations

import json
from dataclasses import dataclass

from rewarm.contracts.copying import CopyBlocksResult, JoinPartsEvent
from rewarm.domain.errors import PartMissingError
from rewarm.ports.blocks import PackStore
from rewarm.steps.record.bucket import part_key


@dataclass(frozen=True, kw_only=True)
class JoinPartsPorts:
    """The ports that join_parts needs."""

    packs: PackStore


def join_parts(event: JoinPartsEvent, ports: JoinPartsPorts) -> CopyBlocksResult:
    """Raises PartMissingError."""
    delta, listed = event.delta, event.listed
    numbers = range(delta.first_part, delta.first_part + listed.shards)
    keys = [part_key(event.restore_id, delta.index, number) for number in numbers]
    packs = packed_bytes = 0
    for key, text in zip(keys, ports.packs.texts(keys), strict=True):
        if text is None:
            raise PartMissingError(f"a part of the manifest is missing: {key}")
        lines = [json.loads(line) for line in text.splitlines()]
        packs += lines[-1]["packs"]
        packed_bytes += sum(line["bytes"] for line in lines if "pack" in line)
    return CopyBlocksResult(
        manifest_key=part_key(event.restore_id, delta.index, delta.first_part),
        next_part=listed.next_part,
        blocks=listed.blocks,
        zeros=listed.zeros,
        samples=listed.samples,
        packs=packs,
        packed_bytes=packed_bytes,
        list_calls=listed.list_calls,
        seconds=(event.now - event.started_at).total_seconds(),
    )
