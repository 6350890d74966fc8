"""The list of blocks, cut into shards."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewarm.domain.blocks.shards import (
    MOST_BLOCKS,
    SIDE_BY_SIDE,
    ChangedBlock,
    ListedRange,
    Listing,
    cut,
    gaps,
    without,
)
from rewarm.domain.volume.extents import runs_of


def blocks(indices: list[int], zeros: frozenset[int] = frozenset()) -> list[ChangedBlock]:
    return [ChangedBlock(index, None if index in zeros else f"t{index}", None) for index in indices]


def ranges(indices: list[int], size: int = 3) -> Iterator[ListedRange]:
    for begin in range(0, len(indices), size):
        yield ListedRange(blocks(indices[begin : begin + size]), 1)


@pytest.mark.parametrize(
    ("count", "shards"),
    [(0, 0), (1, 1), (64, 1), (205, 4), (2_000, 10), (5_120, 10), (5_121, 11), (6_000, 20)],
)
def test_a_short_list_is_cut_for_all_functions_and_no_shard_is_too_large(count: int, shards: int) -> None:
    found = list(cut(iter(blocks(list(range(count))))))
    assert [block.index for shard in found for block in shard] == list(range(count))
    assert len(found) == shards
    assert all(0 < len(shard) <= MOST_BLOCKS for shard in found)
    assert count > SIDE_BY_SIDE * MOST_BLOCKS or len(found) <= SIDE_BY_SIDE


def test_blocks_that_the_snapshot_has_not_got_are_zeros_and_not_fetched() -> None:
    listing = Listing()
    listed = blocks([1, 2, 3, 7], zeros=frozenset({2, 3}))
    shards = list(
        cut(listing.blocks([ListedRange(listed[:2], 2), ListedRange([], 1), ListedRange(listed[2:], 1)]))
    )
    assert [[block.index for block in shard] for shard in shards] == [[1, 7]]
    assert [(one.start_block, one.block_count) for one in listing.zeros] == [(2, 2)]
    assert [(one.start_block, one.block_count) for one in listing.changed] == [(1, 3), (7, 1)]
    assert listing.requests == 4


@given(st.sets(st.integers(0, 50)), st.sets(st.integers(0, 50)))
def test_blocks_of_an_earlier_list_are_left_out(all_blocks: set[int], earlier: set[int]) -> None:
    found = list(without(ranges(sorted(all_blocks)), iter(blocks(sorted(earlier)))))
    assert [block.index for one in found for block in one.blocks] == sorted(all_blocks - earlier)
    assert sum(one.requests for one in found) == -(-len(all_blocks) // 3)


@given(st.sets(st.integers(0, 30)), st.sets(st.integers(0, 30)), st.integers(31, 40))
def test_gaps_are_the_blocks_that_are_in_none_of_the_lists(one: set[int], other: set[int], size: int) -> None:
    found = gaps(size, runs_of(sorted(one)), runs_of(sorted(other - one)))
    indices = [at + run.start_block for run in found for at in range(run.block_count)]
    assert indices == sorted({*range(size)} - one - other)
