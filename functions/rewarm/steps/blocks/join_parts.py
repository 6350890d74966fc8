"""State `Join Parts`: checks that the manifest is complete, and counts what it has.

If a part is missing, the execution fails here with the reason of a shard. A redrive of the execution begins
here, and goes back to the shards; each shard that is already copied costs one request.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from rewarm.contracts.base import Instant, StepEvent
from rewarm.contracts.copying import Delta, JoinPartsResult, ListBlocksResult, ShardFailure
from rewarm.contracts.values import Failure
from rewarm.domain.errors import TEMPORARY, PartMissingError, ShardFailedError
from rewarm.domain.units import count_text
from rewarm.domain.value import Value
from rewarm.domain.words.failures import explain
from rewarm.ports import JsonObject
from rewarm.ports.snapshots import PackStore
from rewarm.steps.record.bucket import part_key, shard_failure_key
from rewarm.steps.registration import state

PASSING = frozenset(error.__name__ for error in TEMPORARY)


class JoinPartsEvent(StepEvent):
    """What `Join Parts` takes."""

    delta: Delta
    listed: ListBlocksResult
    started_at: Instant
    failure: Failure | None
    """The failure of the Map."""
    redriven: bool
    """Whether the execution was redriven after the Map had ended."""


class JoinPartsPorts(Value, kw_only=True):
    """The ports that join_parts needs."""

    packs: PackStore


@state("Join Parts")
def join_parts(event: JoinPartsEvent, ports: JoinPartsPorts) -> JoinPartsResult:
    """Counts what the parts have. Raises ShardFailedError, and PartMissingError after a redrive."""
    delta = event.delta
    listed = event.listed
    numbers = range(delta.first_shard_part, delta.first_shard_part + listed.shards)
    missing: list[int] = []
    packs = packed_bytes = 0
    for number, lines in zip(numbers, _parts(event, numbers, ports), strict=True):
        if not lines:
            missing.append(number)
            continue
        packs += lines[-1]["packs"]
        packed_bytes += sum(line["bytes"] for line in lines if "pack" in line)
    if missing:
        parts = f"{count_text(len(missing), 'part')} of {len(numbers):,}"
        if event.redriven:
            raise PartMissingError(f"{parts} are still to be made")
        raise ShardFailedError(f"{parts} could not be made: {_why(event, missing, ports)}")
    return JoinPartsResult(
        manifest_key=part_key(event.restore_id, delta.index, delta.first_part),
        next_part=listed.next_part,
        blocks=listed.blocks,
        zeros=listed.zeros,
        logged=listed.logged,
        relogged=listed.relogged,
        samples=listed.samples,
        packs=packs,
        packed_bytes=packed_bytes,
        list_calls=listed.list_calls,
        seconds=(event.now - event.started_at).total_seconds(),
    )


def _parts(
    event: JoinPartsEvent, numbers: Sequence[int], ports: JoinPartsPorts
) -> Iterator[list[JsonObject]]:
    """The lines of each part; none for a missing part."""
    keys = [part_key(event.restore_id, event.delta.index, number) for number in numbers]
    for text in ports.packs.texts(keys):
        yield [json.loads(line) for line in (text or "").splitlines()]


def _why(event: JoinPartsEvent, missing: Sequence[int], ports: JoinPartsPorts) -> str:
    """A shard's own reason, permanent ones first; else what Step Functions said of the Map.

    A function that was stopped has left no reason, and other shards may only have been throttled.
    """
    keys = [shard_failure_key(event.restore_id, event.delta.index, number) for number in missing]
    passing = None
    for number, text in zip(missing, ports.packs.texts(keys), strict=True):
        if text is None:
            continue
        why = ShardFailure.model_validate_json(text)
        reason = f"shard {number}: {why.error}: {why.reason}"
        if why.error not in PASSING:
            return reason
        passing = passing or reason
    if passing is not None or event.failure is None:
        return passing or f"shard {missing[0]} is not in the bucket any more"
    found = explain(event.failure.error, event.failure.cause)
    return f"shard {missing[0]}: {found.error}: {found.sentence}"
