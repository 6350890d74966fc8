"""State `Copy Shard`: fetches the blocks of a shard, writes its pack, and then its part of the manifest.

The pack's name says which blocks it has. A retry, a redrive, or another volume that needs the same blocks
finds the pack by its name. So it writes only its part, with freshly signed addresses.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from datetime import timedelta

from rewarm.contracts.base import Contract, StepEvent
from rewarm.contracts.copying import Count, Delta, ListBlocksResult, Shard, ShardFailure
from rewarm.domain.blocks.packs import (
    Line,
    ManifestHead,
    PackedBlock,
    PackFacts,
    pack_line,
    pack_name,
    packed,
    sample_line,
    taken_out,
)
from rewarm.domain.blocks.shards import ChangedBlock
from rewarm.domain.errors import BlockDamagedError, BlockTokenError, RestoreError, ServiceUnavailableError
from rewarm.domain.model import BLOCK_BYTES
from rewarm.domain.value import Value
from rewarm.ports.artifacts import Artifacts
from rewarm.ports.snapshots import BlockLists, BlockReader, PackStore
from rewarm.steps.blocks.undo_log import with_undo
from rewarm.steps.record.bucket import delta_address, log_part_key, pack_key, part_key, shard_failure_key
from rewarm.steps.registration import state

PACK_FRESH = timedelta(hours=12)
"""An older pack is made again, because S3 may delete it before a slow volume has loaded it."""

CLAIMED = timedelta(minutes=1)
"""A function that takes longer has failed or is slow, so another function may make the pack too."""


class CopyShardEvent(StepEvent):
    """What `Copy Shard` takes."""

    delta: Delta
    listed: ListBlocksResult
    shard: Shard


class CopyShardResult(Contract):
    """The part that was written; the manifest has the rest."""

    part: Count


class CopyShardPorts(Value, kw_only=True):
    """The ports that copy_shard needs."""

    lists: BlockLists
    reader: BlockReader
    packs: PackStore
    artifacts: Artifacts
    region: str


@state("Copy Shard")
def copy_shard(event: CopyShardEvent, ports: CopyShardPorts) -> CopyShardResult:
    """Copies a shard. A failure leaves its reason in the bucket, because a Distributed Map reports none.

    Raises BlockDamagedError, BlockTokenError, SnapshotNotFoundError, AccessDeniedError, ThrottledError.
    """
    try:
        return _copied(event, ports)
    except RestoreError as error:
        why = ShardFailure(error=type(error).__name__, reason=str(error))
        key = shard_failure_key(event.restore_id, event.delta.index, event.shard.part)
        with suppress(RestoreError):
            ports.packs.put_text(key, [why.model_dump_json(by_alias=True)])
        raise


def _copied(event: CopyShardEvent, ports: CopyShardPorts) -> CopyShardResult:
    delta = event.delta
    shard = event.shard
    blocks = [ChangedBlock(index, token, None) for index, token in shard.blocks]
    lines: list[Line]
    if shard.samples:
        lines = [sample_line(block) for block in _read(event, blocks, ports)]
    elif shard.log_pack is not None:
        lines = [_part_of_log(event, shard.log_pack, ports)]
    else:
        key = pack_key(delta.snapshot_id, pack_name(block.index for block in blocks))
        facts = ports.packs.pack(key, made_after=event.now - PACK_FRESH) or _made(key, event, blocks, ports)
        lines = [pack_line(delta_address(key, ports.artifacts), facts)]
    if not shard.samples:
        lines = with_undo(lines, event.restore_id, delta, shard.part, ports.artifacts)
    head = ManifestHead(delta.volume_id, delta.snapshot_id, delta.volume_bytes, event.listed.blocks_total)
    following = delta_address(part_key(event.restore_id, delta.index, shard.part + 1), ports.artifacts)
    own = part_key(event.restore_id, delta.index, shard.part)
    ports.packs.put_text(own, [head.part(shard.part, lines, following)])
    return CopyShardResult(part=shard.part)


def _part_of_log(event: CopyShardEvent, log_pack: str, ports: CopyShardPorts) -> Line:
    """Makes a pack of some blocks of a log's pack; the other blocks come from an earlier pack of the log.

    Raises BlockDamagedError.
    """
    shard = event.shard
    whole = ports.packs.bytes_of(log_pack)
    try:
        found = taken_out(whole, (index for index, _ in shard.blocks))
    except ValueError as error:
        raise BlockDamagedError(f"{log_pack} in the bucket is not the pack that it was: {error}") from error
    data, facts = packed(found)
    key = log_part_key(event.restore_id, event.delta.index, shard.part)
    ports.packs.put_pack(key, data, facts, made_at=event.now)
    return pack_line(delta_address(key, ports.artifacts), facts)


def _made(
    key: str, event: CopyShardEvent, blocks: Sequence[ChangedBlock], ports: CopyShardPorts
) -> PackFacts:
    """Makes the pack. Raises ServiceUnavailableError while another volume does: blocks are paid for once."""
    owner = f"{event.restore_id}/{event.delta.index}"
    if not ports.packs.claim(key, owner, claimed_at=event.now, claimed_after=event.now - CLAIMED):
        raise ServiceUnavailableError("the same blocks are being copied for another volume")
    data, facts = packed(_read(event, blocks, ports))
    ports.packs.put_pack(key, data, facts, made_at=event.now)
    return facts


def _read(event: CopyShardEvent, blocks: Sequence[ChangedBlock], ports: CopyShardPorts) -> list[PackedBlock]:
    """Reads the blocks, with new tokens if those of the list have expired after 7 days."""
    try:
        return _read_once(event, blocks, ports)
    except BlockTokenError:
        return _read_once(event, _listed_again(event, ports), ports)


def _read_once(
    event: CopyShardEvent, blocks: Sequence[ChangedBlock], ports: CopyShardPorts
) -> list[PackedBlock]:
    delta = event.delta
    return list(
        ports.reader.read(
            delta.snapshot_id,
            blocks,
            volume_bytes=delta.volume_bytes,
            region=delta.region or ports.region,
            rates=event.listed.rates,
        )
    )


def _listed_again(event: CopyShardEvent, ports: CopyShardPorts) -> list[ChangedBlock]:
    delta = event.delta
    wanted = [index for index, _ in event.shard.blocks]
    ranges = ports.lists.listed(
        delta.snapshot_id,
        against=None if event.shard.samples else delta.against,
        volume_bytes=(wanted[-1] + 1) * BLOCK_BYTES,
        region=delta.region or ports.region,
        start_block=wanted[0],
    )
    tokens = {block.index: block for found in ranges for block in found.blocks}
    missing = [index for index in wanted if index not in tokens]
    if missing:
        raise BlockTokenError(f"{delta.snapshot_id}: block {missing[0]} is not listed any more")
    return [tokens[index] for index in wanted]
