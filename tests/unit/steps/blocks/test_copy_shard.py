"""A shard whose tokens have expired is listed again."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import pytest

from rewarm.domain.blocks.packs import PackedBlock, PackFacts, packed, taken_out
from rewarm.domain.blocks.shards import ChangedBlock, ListedRange
from rewarm.domain.errors import BlockDamagedError, BlockTokenError, ServiceUnavailableError
from rewarm.steps.blocks.copy_shard import CopyShardEvent, CopyShardPorts, copy_shard
from tests.support.fakes import FakeArtifacts
from tests.support.values.step_events import DELTA, LISTED, NOW


@dataclass
class FakeLists:
    """Port BlockLists, with new tokens."""

    indices: list[int]
    asked: list[Any] = field(default_factory=list)

    def listed(self, snapshot_id: str, *, against: str | None, **place: Any) -> Iterator[ListedRange]:
        self.asked.append((against, place["start_block"]))
        yield ListedRange([ChangedBlock(index, "new", None) for index in self.indices], 1)


class FakeReader:
    """Port BlockReader, which takes new tokens only."""

    def read(self, _snapshot_id: str, blocks: Sequence[ChangedBlock], **_options: Any) -> list[PackedBlock]:
        if any(block.first_token != "new" for block in blocks):
            raise BlockTokenError("the block token has expired")
        return [PackedBlock(block.index, 524_288, "ab" * 32, b"frame") for block in blocks]


@dataclass
class FakePacks:
    """Port PackStore."""

    texts: dict[str, str] = field(default_factory=dict)
    packs: dict[str, PackFacts] = field(default_factory=dict)
    claims: dict[str, tuple[str, datetime]] = field(default_factory=dict)
    whole: dict[str, bytes] = field(default_factory=dict)

    def bytes_of(self, key: str) -> bytes:
        return self.whole[key]

    def put_text(self, key: str, lines: Iterable[str]) -> None:
        self.texts[key] = "".join(lines)

    def put_pack(self, key: str, data: bytes, facts: PackFacts, *, made_at: datetime) -> None:
        assert len(data) == facts.size_bytes
        assert made_at == NOW
        self.packs[key] = facts
        self.whole[key] = data

    def claim(self, key: str, owner: str, *, claimed_at: datetime, claimed_after: datetime) -> bool:
        standing, since = self.claims.get(key, (owner, claimed_at))
        if standing == owner or since <= claimed_after:
            self.claims[key] = owner, claimed_at
            return True
        return False

    def pack(self, key: str, *, made_after: datetime) -> PackFacts | None:
        assert made_after < NOW
        return self.packs.get(key)


def copied(
    lists: FakeLists,
    packs: FakePacks,
    *,
    samples: bool = False,
    log_pack: str | None = None,
    undo_attempt: int | None = None,
) -> list[Any]:
    """The lines of the part."""
    shard = {"part": 3, "samples": samples, "blocks": [(7, "old"), (9, "old")], "logPack": log_pack}
    delta = {**DELTA, "undoAttempt": undo_attempt}
    event = CopyShardEvent.model_validate(
        {"restore_id": "restore-1", "now": NOW, "delta": delta, "listed": LISTED, "shard": shard}
    )
    ports: Any = {
        "lists": lists, "reader": FakeReader(), "packs": packs, "artifacts": FakeArtifacts(),
        "region": "us-east-1",
    }  # fmt: skip
    copy_shard(event, CopyShardPorts(**ports))
    return [json.loads(line) for line in packs.texts["deltas/restore-1/0/part-000003"].splitlines()]


def test_expired_tokens_are_listed_again_and_the_part_names_the_next_one() -> None:
    lists, packs = FakeLists([7, 8, 9]), FakePacks()
    head, pack, end = copied(lists, packs)
    assert lists.asked == [("snap-0123456789abcdef1", 7)]
    assert (head["part"], head["volumeBytes"], pack["blocks"], end["packs"]) == (3, 1_073_741_824, 2, 1)
    assert "part-000004" in end["next"]
    copied(lists, packs)
    assert len(lists.asked) == 1, "the pack was found"


def test_who_needs_blocks_that_are_being_copied_waits_for_a_minute() -> None:
    packs = FakePacks()
    copied(FakeLists([7, 8, 9]), packs)
    (key,) = packs.packs
    packs.packs.clear()
    packs.claims[key] = "restore-2/0", NOW - timedelta(seconds=50)
    with pytest.raises(ServiceUnavailableError, match="copied for another volume"):
        copied(FakeLists([7, 8, 9]), packs)
    assert not packs.packs
    packs.claims[key] = "restore-2/0", NOW - timedelta(seconds=70)
    copied(FakeLists([7, 8, 9]), packs)
    assert key in packs.packs


def test_samples_are_named_by_their_checksums() -> None:
    lists = FakeLists([7, 9])
    _, first, second, end = copied(lists, FakePacks(), samples=True)
    assert lists.asked == [(None, 7)], "they are in no list of what differs"
    assert (first["unchanged"], second["unchanged"], first["sha256"]) == (7, 9, "ab" * 32)
    assert (end["packs"], end["blocks"]) == (0, 0)


def test_a_block_that_is_listed_no_more_is_named() -> None:
    with pytest.raises(BlockTokenError, match="block 9 is not listed"):
        copied(FakeLists([7]), FakePacks())


def test_before_its_blocks_are_written_the_agent_keeps_the_old_ones_at_an_address_of_the_attempt() -> None:
    _, pack, _ = copied(FakeLists([7, 9]), FakePacks(), undo_attempt=1)
    assert "/put-once/undo/restore-1/0/1/000003-000?" in pack["undo"]
    _, sample, *_ = copied(FakeLists([7, 9]), FakePacks(), undo_attempt=1, samples=True)
    assert "undo" not in sample


def test_of_a_pack_of_an_undo_log_the_blocks_are_taken_that_no_earlier_one_has() -> None:
    key, packs = "undo/restore-0/1/1/000007-000", FakePacks()
    blocks = [PackedBlock(index, 524_288, f"{index:064x}", b"frame" * index) for index in (6, 7, 8, 9)]
    packs.whole[key], _ = packed(blocks)
    _, pack, _ = copied(FakeLists([]), packs, log_pack=key)
    assert "deltas/restore-1/0/log-000003" in pack["pack"]
    made = packs.whole["deltas/restore-1/0/log-000003"]
    assert taken_out(made, [7, 9]) == [blocks[1], blocks[3]]
    assert (pack["blocks"], pack["bytes"]) == (2, len(made))


@pytest.mark.parametrize("cut", [3, 20, 400])
def test_a_pack_of_an_undo_log_that_is_cut_off_is_refused(cut: int) -> None:
    key, packs = "undo/restore-0/1/1/000007-000", FakePacks()
    whole, _ = packed([PackedBlock(index, 524_288, "ab" * 32, b"frame" * 60) for index in (7, 9)])
    packs.whole[key] = whole[:cut]
    with pytest.raises(BlockDamagedError, match="is not the pack that it was"):
        copied(FakeLists([]), packs, log_pack=key)
