"""State `List Blocks`: lists what has to be copied, one shard per line, and writes the manifest's last parts.

The list is written while it is read. The parts of the shards come first, and each names the next one. So a
shard's part can be written before the number of shards is known. Zeros and the manifest's end come last.

An agent that compares the device reads all of it, which takes longer than most copies. So zeros and packs of
an undo log, which need no copying, are in a part before those of the shards.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from rewarm.contracts.copying import Delta, ListBlocksEvent, ListBlocksResult, Shard
from rewarm.domain.blocks.packs import (
    ADDRESSES_OF_A_PART,
    LINES_OF_A_PART,
    MOST_UNDONE,
    Line,
    LogShare,
    ManifestHead,
    changed_between,
    parts_of,
    shares,
    zeros_lines,
)
from rewarm.domain.blocks.shards import (
    MOST_BLOCKS,
    ROUNDS,
    SAMPLES_OF_A_LOOK,
    SIDE_BY_SIDE,
    ChangedBlock,
    ListedRange,
    Listing,
    cut,
    gaps,
    sample_places,
    unchanged,
    without,
)
from rewarm.domain.model import BLOCK_BYTES
from rewarm.domain.value import Value
from rewarm.domain.volume.extents import Runs, runs_of
from rewarm.ports.artifacts import Artifacts
from rewarm.ports.restores import RestoreTable
from rewarm.ports.snapshots import BlockLists, PackStore
from rewarm.steps.blocks.undo_log import log_lines, log_packs, with_undo
from rewarm.steps.record.bucket import (
    block_list_key,
    copy_results_prefix,
    delta_address,
    part_key,
)
from rewarm.steps.record.loading import note_listed
from rewarm.steps.registration import state


class ListBlocksPorts(Value, kw_only=True):
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
    log: list[LogShare] = field(default_factory=list)
    logged: Runs = field(default_factory=Runs)
    """The blocks of the undo log."""
    relogged: int = 0
    shards: int = 0
    samples: int = 0


@state("List Blocks")
def list_blocks(event: ListBlocksEvent, ports: ListBlocksPorts) -> ListBlocksResult:
    """Writes both. Raises SnapshotNotFoundError, SnapshotNotUsableError, AccessDeniedError."""
    delta = event.delta
    lists = _Lists()
    rates = ports.lists.rates(delta.region or ports.region)
    items_key = block_list_key(event.restore_id, delta.index, delta.first_part)
    ports.packs.put_text(items_key, _lines(event, lists, ports))
    zeros = lists.own.zeros.block_count
    logged = lists.logged.block_count
    total = lists.own.changed.block_count + logged + (zeros if delta.whole else 0)
    blocks_total = total + lists.earlier.changed.block_count
    listed = ListBlocksResult(
        bucket=ports.bucket,
        items_key=items_key,
        results_prefix=copy_results_prefix(event.restore_id, delta.index, delta.first_part),
        max_concurrency=SIDE_BY_SIDE,
        rates=rates,
        shards=lists.shards,
        next_part=_write_end(event, lists, blocks_total, ports),
        blocks=total,
        zeros=zeros,
        logged=logged,
        relogged=lists.relogged,
        blocks_total=blocks_total,
        samples=lists.samples,
        list_calls=lists.own.requests + lists.earlier.requests,
    )
    note_listed(event, listed, ports.table)
    return listed


def _lines(event: ListBlocksEvent, lists: _Lists, ports: ListBlocksPorts) -> Iterator[str]:
    delta = event.delta
    if delta.log is not None:
        found_packs = log_packs(delta.log, ports.packs)
        lists.log = list(shares(found_packs))
        lists.relogged = changed_between(found_packs)
        lists.logged = runs_of(sorted(index for share in lists.log for index in share.indices))
    if delta.log is None or delta.whole:
        rounds = ROUNDS if delta.whole else 1
        for blocks in cut(lists.own.blocks(_ranges(delta, lists, ports)), rounds=rounds):
            yield _line(delta, lists, blocks, samples=False)
    for share in lists.log:
        if not share.is_whole:
            taken = [ChangedBlock(index, None, None) for index in share.indices]
            yield _line(delta, lists, taken, samples=False, log_pack=share.pack.key)
    if delta.whole:
        lists.own.zeros = gaps(-(-delta.volume_bytes // BLOCK_BYTES), lists.own.changed, lists.logged)
    found = _samples(event, lists, ports)
    lists.samples = len(found)
    for begin in range(0, len(found), MOST_BLOCKS):
        yield _line(delta, lists, found[begin : begin + MOST_BLOCKS], samples=True)


def _ranges(delta: Delta, lists: _Lists, ports: ListBlocksPorts) -> Iterator[ListedRange]:
    """The blocks that differ, without those that an earlier execution has listed or the undo log has."""
    ranges = _listed(delta, delta.against, ports)
    for snapshot_id in delta.without:
        others = lists.earlier.blocks(_listed(delta, snapshot_id, ports))
        ranges = without(ranges, others)
    logged = (index for share in lists.log for index in share.indices)
    others = (ChangedBlock(index, None, None) for index in sorted(logged))
    return without(ranges, others) if lists.log else ranges


def _listed(delta: Delta, against: str | None, ports: ListBlocksPorts) -> Iterator[ListedRange]:
    return ports.lists.listed(
        delta.snapshot_id,
        against=against,
        volume_bytes=delta.volume_bytes,
        region=delta.region or ports.region,
    )


def _line(
    delta: Delta, lists: _Lists, blocks: list[ChangedBlock], *, samples: bool, log_pack: str | None = None
) -> str:
    part = delta.first_shard_part + lists.shards
    lists.shards += 1
    pairs = [(block.index, block.first_token or "") for block in blocks]
    shard = Shard(part=part, samples=samples, blocks=pairs, log_pack=log_pack)
    return shard.model_dump_json(by_alias=True) + "\n"


def _samples(event: ListBlocksEvent, lists: _Lists, ports: ListBlocksPorts) -> list[ChangedBlock]:
    """Some blocks of the snapshot that are in neither list, from all over the volume.

    There are none behind the last written block. Most volumes are filled from the front, so missing samples
    are taken from there.
    """
    delta = event.delta
    found = dict[int, ChangedBlock]()

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
    """Writes the parts that need no copying; the last one ends the manifest. Returns the next number."""
    delta = event.delta
    has_addresses = delta.log is not None or delta.undo_attempt is not None
    parts = parts_of(
        _end_lines(delta, lists, ports), ADDRESSES_OF_A_PART if has_addresses else LINES_OF_A_PART
    )
    number = delta.first_shard_part + lists.shards
    lines = next(parts)
    if delta.first_shard_part > delta.first_part:
        rest = next(parts, None)
        is_end = rest is None and not lists.shards
        _write_part(event, delta.first_part, lines, total, ports, goes_on=not is_end or delta.goes_on)
        if is_end:
            return number
        lines = rest or []
    while True:
        rest = next(parts, None)
        _write_part(event, number, lines, total, ports, goes_on=rest is not None or delta.goes_on)
        number += 1
        if rest is None:
            return number
        lines = rest


def _write_part(
    event: ListBlocksEvent,
    number: int,
    lines: list[Line],
    total: int,
    ports: ListBlocksPorts,
    *,
    goes_on: bool,
) -> None:
    delta = event.delta
    head = ManifestHead(delta.volume_id, delta.snapshot_id, delta.volume_bytes, total)
    key, following = (part_key(event.restore_id, delta.index, part) for part in (number, number + 1))
    undone = with_undo(lines, event.restore_id, delta, number, ports.artifacts)
    next_address = delta_address(following, ports.artifacts) if goes_on else None
    ports.packs.put_text(key, [head.part(number, undone, next_address)])


def _end_lines(delta: Delta, lists: _Lists, ports: ListBlocksPorts) -> Iterator[Line]:
    yield from log_lines(lists.log, ports.artifacts)
    most_blocks = None if delta.undo_attempt is None else MOST_UNDONE
    yield from zeros_lines(lists.own.zeros, most_blocks=most_blocks)
