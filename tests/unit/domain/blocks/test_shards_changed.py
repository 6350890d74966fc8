"""Counting the blocks that differ, with few requests."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewarm.domain.blocks.shards import ChangedCount, count_changed
from tests.support.fakes import FakeBlocks

VOLUME = 10_000


def counted(indices, most_requests, page=100, zeros=(), has_time=lambda: True):
    blocks = FakeBlocks({("good", "newest"): sorted(indices)}, frozenset(zeros), page)
    found = count_changed(
        lambda start: blocks.changed("good", "newest", start_block=start), VOLUME, most_requests, has_time
    )
    assert found.requests == blocks.requests <= max(1, most_requests)
    return found


def test_a_short_list_is_one_request():
    assert counted(range(50), 16, zeros=[3, 4]) == ChangedCount(50, 2, 1, 1.0)


def test_a_list_that_is_read_to_its_end_is_exact():
    found = counted(range(0, VOLUME, 10), 32)
    assert (found.blocks, found.listed_share) == (1_000, 1.0)


def test_a_list_that_is_cut_off_says_how_much_of_the_volume_was_read():
    found = counted(range(VOLUME), 17)
    assert (found.blocks, found.requests) == (1_700, 17)
    assert found.blocks / found.listed_share == pytest.approx(VOLUME)


def test_it_stops_when_the_time_is_over():
    turns = iter([True, True, True, False])
    assert counted(range(VOLUME), 17, has_time=lambda: next(turns, False)).requests == 3


@given(st.sets(st.integers(0, VOLUME - 1)), st.integers(1, 40), st.integers(1, 300))
def test_no_block_is_counted_twice_or_beyond_what_was_listed(indices, most_requests, page):
    found = counted(indices, most_requests, page)
    assert found.blocks <= len(indices)
    assert 0 <= found.listed_share <= 1
    assert found.listed_share < 1 or found.blocks == len(indices)
