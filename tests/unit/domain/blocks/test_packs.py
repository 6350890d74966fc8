"""Of what each attempt of a rewind has kept, the earliest is what the volume had before it."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from rewarm.domain.blocks.packs import LogPack, PackedBlock, PackFacts, PackIndex, changed_between, shares


def pack(attempt: int, *indices: int) -> LogPack:
    blocks = [PackedBlock(index, 524_288, "ab" * 32, b"") for index in indices]
    return LogPack(f"{attempt}/{indices}", attempt, PackIndex(blocks, [], PackFacts(0, len(blocks), "")))


def test_blocks_that_were_written_between_two_attempts_are_counted() -> None:
    first, same, other = pack(0, 1, 2, 3), pack(1, 2, 7), pack(2, 3, 1)
    changed = [replace(block, sha256="cd" * 32) for block in other.index.blocks]
    assert changed_between([first, same, other]) == 0
    assert changed_between([first, same, replace(other, index=replace(other.index, blocks=changed))]) == 2


def test_a_pack_that_is_wholly_in_earlier_ones_is_left_out() -> None:
    first, second, third = shares([pack(1, 2, 3), pack(0, 1, 2), pack(2, 3, 4), pack(1, 1)])
    assert (first.indices, first.is_whole) == ([1, 2], True)
    assert (second.pack.attempt, second.indices, second.is_whole) == (1, [3], False)
    assert (third.pack.attempt, third.indices) == (2, [4])


@given(st.lists(st.tuples(st.integers(0, 4), st.sets(st.integers(0, 20), min_size=1)), max_size=8))
def test_each_block_is_taken_once_and_from_its_earliest_attempt(kept: list[tuple[int, set[int]]]) -> None:
    packs = [pack(attempt, *sorted(blocks)) for attempt, blocks in kept]
    found = {index: share.pack.attempt for share in shares(packs) for index in share.indices}
    assert sum(len(share.indices) for share in shares(packs)) == len(found)
    expected = {index: min(a for a, blocks in kept if index in blocks) for _, all_ in kept for index in all_}
    assert found == expected
