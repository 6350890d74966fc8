"""The block list is cut into shards, and the manifest's end is written before its packs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from rewarm.contracts.copying import ListBlocksEvent, ListBlocksResult
from rewarm.domain.blocks.packs import PackedBlock, PackIndex, pack_index, packed
from rewarm.domain.blocks.shards import FEWEST_BLOCKS, ChangedBlock, ListedRange, ReadRates
from rewarm.domain.errors import BlockDamagedError
from rewarm.steps.blocks.list_blocks import ListBlocksPorts, list_blocks
from tests.support.builders import World
from tests.support.values.step_events import DELTA, NOW

AGAINST, EARLIER = DELTA["against"], "snap-0123456789abcdef2"
FOLDER = "deltas/restore-1/0"


class FakeLists:
    """Port BlockLists: blocks by the snapshot against which they are listed; without a token, zeros."""

    def __init__(self, changed: dict[str | None, dict[int, str | None]], written: Iterable[int] = ()) -> None:
        self._changed, self._written = changed, sorted(written)

    def rates(self, region: str) -> ReadRates:
        assert region == "us-east-1"
        return ReadRates(snapshot_per_second=500, account_per_second=2_000)

    def listed(self, _snapshot_id: str, *, against: str | None, **_place: Any) -> Iterator[ListedRange]:
        for index, token in sorted(self._changed[against].items()):
            yield ListedRange([ChangedBlock(index, token, None)], 1)

    def some(self, _snapshot_id: str, places: Iterable[int], **_region: Any) -> Iterator[list[ChangedBlock]]:
        for place in places:
            yield [ChangedBlock(one, f"t{one}", None) for one in self._written if one >= place][:100]


class FakePacks:
    """Port PackStore: texts only."""

    def __init__(self) -> None:
        self.texts: dict[str, list[Any]] = {}

    def put_text(self, key: str, lines: Iterable[str]) -> None:
        self.texts[key] = [json.loads(line) for line in "".join(lines).splitlines()]


def listed(
    lists: FakeLists, packs: FakePacks | None = None, **changes: Any
) -> tuple[ListBlocksResult, dict[str, list[Any]], World]:
    delta = {**DELTA, "samples": 0, **changes}
    event = ListBlocksEvent.model_validate({"restore_id": "restore-1", "now": NOW, "delta": delta})
    world, packs = World(), packs or FakePacks()
    ports: Any = {"lists": lists, "packs": packs, "artifacts": world.artifacts, "table": world.table}
    return (
        list_blocks(event, ListBlocksPorts(**ports, bucket="artifacts", region="us-east-1")),
        packs.texts,
        world,
    )


def tokens(*indexes: int) -> dict[int, str | None]:
    return {index: f"t{index}" for index in indexes}


def test_what_differs_is_a_shard_a_line_and_zeros_are_in_the_manifests_end() -> None:
    changed = {**tokens(*range(FEWEST_BLOCKS + 1)), 500: None, 501: None}
    found, texts, world = listed(FakeLists({AGAINST: changed}))
    shards = texts[found.items_key]
    assert [(one["part"], len(one["blocks"]), one["samples"]) for one in shards] == [
        (0, 64, False),
        (1, 1, False),
    ]
    assert (found.blocks, found.zeros, found.shards, found.next_part) == (67, 2, 2, 3)
    head, zeros, end = texts[f"{FOLDER}/part-000002"]
    assert (head["blocksTotal"], zeros, end["next"]) == (67, {"zeros": 500, "count": 2}, None)
    assert found.rates.snapshot_per_second == 500
    assert found.list_calls == 67
    noted = world.table.records["restore-1"]["copying0"]
    assert noted == {"firstPart": 0, "shards": 2, "blocks": 65, "startedAt": "2026-11-21T03:05:00Z"}


def test_blocks_of_the_parts_before_are_left_out_and_the_manifest_counts_them() -> None:
    lists = FakeLists({AGAINST: tokens(1, 2, 3, 4), EARLIER: tokens(2, 4, 9)})
    found, texts, _ = listed(lists, without=[EARLIER], firstPart=5)
    (shard,) = texts[found.items_key]
    assert (shard["part"], [index for index, _ in shard["blocks"]]) == (5, [1, 3])
    assert (found.blocks, found.blocks_total, found.next_part) == (2, 5, 7)


def test_a_manifest_that_goes_on_names_the_next_part() -> None:
    found, texts, _ = listed(FakeLists({AGAINST: tokens(1)}), goesOn=True)
    assert "part-000002" in texts[f"{FOLDER}/part-000001"][-1]["next"]
    assert found.next_part == 2


def test_samples_are_blocks_that_are_in_no_list() -> None:
    lists = FakeLists({AGAINST: tokens(0, 1, 2)}, written=range(40))
    found, texts, _ = listed(lists, samples=16)
    changed, sampled = texts[found.items_key]
    assert (changed["samples"], sampled["samples"], sampled["part"]) == (False, True, 1)
    indexes = [index for index, _ in sampled["blocks"]]
    assert len(indexes) == found.samples > 0
    assert not {*indexes} & {0, 1, 2}
    assert found.blocks == 3


def test_where_most_of_the_volume_is_empty_samples_are_those_at_its_front() -> None:
    found, texts, _ = listed(FakeLists({AGAINST: tokens(1)}, written=range(30)), samples=16)
    (_, sampled) = texts[found.items_key]
    assert found.samples == len(sampled["blocks"]) == 16
    assert found.list_calls == 1 + 2 + 1


def test_where_nothing_differs_the_manifest_is_its_end() -> None:
    found, texts, _ = listed(FakeLists({AGAINST: {}}))
    assert (texts[found.items_key], found.shards, found.blocks) == ([], 0, 0)
    head, end = texts[f"{FOLDER}/part-000000"]
    assert (head["blocksTotal"], end["next"]) == (0, None)


class FakeLog(FakePacks):
    """Port PackStore, with an undo log: the blocks of each of its packs by key."""

    def __init__(self, log: dict[str, list[int]]) -> None:
        super().__init__()
        self._log = log

    def keys(self, prefix: str) -> Iterator[str]:
        assert prefix == "undo/restore-0/1/"
        yield from (f"{prefix}{name}" for name in ("log.json", *self._log))

    def indices(self, keys: Iterable[str]) -> Iterator[PackIndex]:
        for key in keys:
            blocks = self._log[key.removeprefix("undo/restore-0/1/")]
            found = [PackedBlock(index, 524_288, "ab" * 32, b"frame") for index in blocks]
            yield pack_index(packed(found)[0])


LOG = {"restoreId": "restore-0", "index": 1}


def lines_of(texts: dict[str, list[Any]], *parts: int) -> list[Any]:
    """Of these parts of the manifest, without their heads and ends."""
    return [line for part in parts for line in texts[f"{FOLDER}/part-{part:06d}"][1:-1]]


def test_a_whole_volume_has_zeros_for_what_the_snapshot_has_not_got() -> None:
    lists = FakeLists({None: tokens(*range(600), 2_000)})
    found, texts, _ = listed(lists, against=None, whole=True)
    assert (found.blocks, found.zeros, found.blocks_total) == (2_048, 2_048 - 601, 2_048)
    assert found.shards == 10
    assert texts[f"{FOLDER}/part-000011"][-1]["next"] is None
    assert lines_of(texts, 0) == [
        {"zeros": 600, "count": 1_400},
        {"zeros": 2_001, "count": 47},
    ]


def test_lines_with_undo_addresses_have_at_most_512_blocks_and_each_its_own() -> None:
    lists = FakeLists({None: tokens(*range(600), 2_000)})
    _, texts, _ = listed(lists, against=None, whole=True, undoAttempt=2, firstPart=4)
    zeros = lines_of(texts, 4)
    assert [(one["zeros"], one["count"]) for one in zeros] == [
        (600, 512),
        (1_112, 512),
        (1_624, 376),
        (2_001, 47),
    ]
    addresses = [one["undo"] for one in zeros]
    keys = [f"undo/restore-1/0/2/000004-{line:03d}" for line in range(4)]
    assert [one.partition("/put-once/")[2].partition("?")[0] for one in addresses] == keys


def test_parts_with_addresses_have_a_thousand_lines() -> None:
    changed = tokens(*range(0, 2_048, 2))
    found, texts, _ = listed(FakeLists({None: changed}), against=None, whole=True, undoAttempt=0)
    last = found.shards + 1
    assert (len(lines_of(texts, 0)), len(lines_of(texts, last))) == (1_000, 24)
    assert found.next_part == last + 1
    assert "part-000001" in texts[f"{FOLDER}/part-000000"][-1]["next"]
    assert texts[f"{FOLDER}/part-{last:06d}"][-1]["next"] is None


def test_an_undo_log_alone_has_just_its_packs_and_nothing_is_copied() -> None:
    packs = FakeLog({"0/000000-000": [5, 6], "0/000001-000": [9]})
    found, texts, _ = listed(FakeLists({}), packs, against=None, log=LOG)
    assert (found.shards, found.blocks, found.logged, found.zeros, found.list_calls) == (0, 3, 3, 0, 0)
    first, second = lines_of(texts, 0)
    assert (first["blocks"], second["blocks"]) == (2, 1)
    assert "undo/restore-0/1/0/000000-000" in first["pack"]


def test_what_an_earlier_attempt_has_is_taken_out_of_the_packs_of_a_later_one() -> None:
    packs = FakeLog({"0/000000-000": [5, 6], "1/000007-000": [6, 7], "1/000008-000": [5]})
    found, texts, _ = listed(FakeLists({}), packs, against=None, log=LOG)
    (shard,) = texts[found.items_key]
    assert (shard["logPack"], shard["blocks"]) == ("undo/restore-0/1/1/000007-000", [[7, ""]])
    assert shard["part"] == 1
    assert (found.blocks, found.shards, len(lines_of(texts, 0))) == (3, 1, 1)


def test_a_log_of_which_packs_were_deleted_since_it_was_chosen_is_refused() -> None:
    packs = FakeLog({"0/000001-000": [5, 6]})
    with pytest.raises(BlockDamagedError, match="restore-0 has 1 of 2 packs left"):
        listed(FakeLists({}), packs, against=None, log={**LOG, "packs": 2})


def test_a_snapshot_overlaid_with_a_log_has_each_block_once() -> None:
    packs = FakeLog({"0/000000-000": [1, 700]})
    lists = FakeLists({None: tokens(0, 1, 2)})
    found, texts, _ = listed(lists, packs, against=None, whole=True, log=LOG)
    (shard,) = texts[found.items_key]
    assert [index for index, _ in shard["blocks"]] == [0, 2]
    pack, *zeros = lines_of(texts, 0)
    assert pack["blocks"] == 2
    assert zeros == [{"zeros": 3, "count": 697}, {"zeros": 701, "count": 1_347}]
    assert (found.blocks, found.logged, found.zeros) == (2_048, 2, 2_044)
