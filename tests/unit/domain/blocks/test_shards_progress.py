"""How far the copying of blocks is."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewarm.domain.blocks.shards import blocks_progress
from rewarm.domain.model import BLOCK_BYTES

START = datetime(2026, 11, 23, 12, tzinfo=UTC)


def after(*seconds: float) -> list[datetime]:
    return [START + timedelta(seconds=one) for one in seconds]


@pytest.mark.parametrize(
    ("times", "copied", "mib_per_second", "remaining"),
    [
        ([], 0, None, None),
        ([0], 512, None, None),
        ([4, 8], 1_024, 64.0, 32),
        ([1, 2, 3, 3_600, 3_616], 2_560, 8.5, 150),
        ([2] * 10, 5_120, 1_280.0, 0),
    ],
    ids=["nothing yet", "no time has passed", "half a minute", "a pause of an hour", "all"],
)
def test_rate_and_rest_are_those_of_the_last_minute(
    times: list[float], copied: int, mib_per_second: float | None, remaining: int | None
) -> None:
    found = blocks_progress(5_120, 10, after(*times), START)
    assert (found.blocks_copied, found.bytes_copied) == (copied, copied * BLOCK_BYTES)
    assert (found.mib_per_second, found.remaining_seconds) == (mib_per_second, remaining)


def test_nothing_to_copy_is_done() -> None:
    assert blocks_progress(0, 0, [], START).remaining_seconds == 0


@given(st.integers(1, 10**8), st.lists(st.floats(-10, 10**6), max_size=50), st.integers(0, 10))
def test_it_is_done_with_the_last_part_and_not_before(
    blocks: int, times: list[float], open_ones: int
) -> None:
    shards = len(times) + open_ones
    found = blocks_progress(blocks, shards, after(*times), START)
    assert 0 <= found.blocks_copied <= blocks
    assert (found.blocks_copied == blocks) == (shards > 0 and not open_ones)
    assert (found.remaining_seconds == 0) >= (found.blocks_copied == blocks)
