"""State `List Blocks`: what has to be copied, a shard a line, and the last parts of the manifest.

The list is written while it is read. The parts of the shards come first, and each names the next one, so a
shard's part can be written without knowing how many there are. Zeros and the manifest's end come last.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from rewarm.contracts.copying import Delta, DeltaRates, ListBlocksEvent, ListBlocksResult, Shard
from rewarm.domain.blocks.changed import ChangedBlock
from rewarm.domain.blocks.packs import ManifestHead, zeros_parts
from rewarm.domain.blocks.shards import (
    MOST_BLOCKS,
    SAMPLES_OF_A_LOOK,
    SIDE_BY_SIDE,
    ListedRange,
    Listing,
    cut,
    sample_places,
    unchanged,
    without,
)
from rewarm.domain.model import BLOCK_BYTES
from rewarm.ports.artifacts import Artifacts
from rewarm.ports.blocks import BlockLists, PackStore
from rewarm.ports.restores import RestoreTable
from rewarm.steps.record.bucket import block_list_key, copy_results_prefix, delta_address, part_key
from rewarm.steps.record.copying import note_listed


@dataclass(frozen=True, kw_only=True)
class ListBlocksPorts:
    """The ports that list_blocks needs."""

    lists: BlockLists
    packs: PackStore
    artifacts: Artifacts
    table: RestoreTable
    bucket: str
    """Where the Distributed Map reads and writes."""
    region: str


@dataclass(slots=True)
class _Lists:
    """What is listed, and what an earlier execution has listed."""

    own: Listing = field(default_factory=Listing)
    earlier: Listing = field(default_factory=Listing)
    shards: int = 0
    samples: int = 0


def list_blocks(event: ListBlocksEvent, ports: ListBlocksPorts) -> ListBlocksResult:
    """Raises SnapshotNotFoundError, SnapshotNotUsableError, AccessDeniedError."""
    delta, lists = event.delta, _Lists()
    rates = ports.lists.rates(delta.region or ports.region)
    items_key = block_list_key(event.restore_id, delta.index, delta.first_part)
    ports.packs.put_text(items_key, _lines(event, lists, ports))
    zeros, total = lists.own.zeros.block_count, lists.own.changed.block_count
    blocks_total = total + lists.earlier.changed.block_count
    listed = ListBlocksResult(
        bucket=ports.bucket,
        items_key=items_key,
        results_prefix=copy_results_prefix(event.restore_id, delta.index, delta.first_part),
        max_concurrency=SIDE_BY_SIDE,
        rates=DeltaRates.model_validate(rates),
        shards=lists.shards,
        next_part=_write_end(event, lists, blocks_total, ports),
        blocks=total,
        zeros=zeros,
        blocks_total=blocks_total,
        samples=lists.samples,
        list_calls=lists.own.requests + lists.earlier.requests,
    )
    note_listed(event, listed, ports.table)
    return listed


def _lines(event: ListBlocksEvent, lists: _Lists, ports: ListBlocksPorts) -> Iterator[str]:
    ranges = _listed(event.delta, event.delta.against, ports)
    for snapshot_id in event.delta.without:
        others = lists.earlier.blocks(_listed(event.delta, snapshot_id, ports))
        ranges = without(ranges, others)
    for blocks in cut(lists.own.blocks(ranges)):
        yield _line(event.delta, lists, blocks, samples=False)
    found = _samples(event, lists, ports)
    lists.samples = len(found)
    for begin in range(0, len(found), MOST_BLOCKS):
        yield _line(event.delta, lists, found[begin : begin + MOST_BLOCKS], samples=True)


def _listed(delta: Delta, against: str | None, ports: ListBlocksPorts) -> Iterator[ListedRange]:
    return ports.lists.listed(
        delta.snapshot_id,
        against=against,
        volume_bytes=delta.volume_bytes,
        region=delta.region or ports.region,
    )


def _line(delta: Delta, lists: _Lists, blocks: list[ChangedBlock], *, samples: bool) -> str:
    part = delta.first_part + lists.shards
    lists.shards += 1
    pairs = [(block.index, block.first_token or "") for block in blocks]
    return Shard(part=part, samples=samples, blocks=pairs).model_dump_json(by_alias=True) + "\n"


def _samples(event: ListBlocksEvent, lists: _Lists, ports: ListBlocksPorts) -> list[ChangedBlock]:
    """Some blocks of the snapshot that are in neither list, from all over the volume.

    What lies behind the last written block has none, and most volumes are filled from the front: what is
    missing is taken from there.
    """
    delta, found = event.delta, dict[int, ChangedBlock]()

    def look(places: Iterable[int], wanted: int) -> None:
        for listed in ports.lists.some(delta.snapshot_id, places, region=delta.region or ports.region):
            lists.own.requests += 1
            same = unchanged(listed, lists.own.changed, lists.earlier.changed)
            found.update({block.index: block for block in same[:: max(1, len(same) // wanted)][:wanted]})

    chance = int(hashlib.sha256(f"{event.restore_id}/{delta.index}".encode()).hexdigest()[:8], 16)
    look(sample_places(delta.samples, delta.volume_bytes // BLOCK_BYTES, chance), SAMPLES_OF_A_LOOK)
    if len(found) < delta.samples:
        look([0], delta.samples - len(found))
    return [found[index] for index in sorted(found)][: delta.samples]


def _write_end(event: ListBlocksEvent, lists: _Lists, total: int, ports: ListBlocksPorts) -> int:
    """The parts with the zeros, the last of which ends the manifest or leads on; the next part's number."""
    delta = event.delta
    head = ManifestHead(delta.volume_id, delta.snapshot_id, delta.volume_bytes, total)
    part = delta.first_part + lists.shards
    parts = list(zeros_parts(lists.own.zeros))
    for number, lines in enumerate(parts, start=part):
        key, following = (part_key(event.restore_id, delta.index, one) for one in (number, number + 1))
        is_last = number - part + 1 == len(parts)
        next_address = delta_address(following, ports.artifacts) if delta.goes_on or not is_last else None
        ports.packs.put_text(key, [head.part(number, lines, next_address)])
    return part + len(parts)
