"""Runs of blocks."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rewarm.domain.model import Extent
from rewarm.domain.volume.extents import clip

runs = st.lists(st.builds(Extent, st.integers(0, 5_000), st.integers(0, 60)), max_size=30)


def blocks(extents):
    return {block for one in extents for block in range(one.start_block, one.start_block + one.block_count)}


class TestClip:
    @given(runs)
    def test_keeps_what_is_on_the_volume(self, extents):
        # 1 GiB has 2,048 blocks of 512 KiB.
        assert blocks(clip(extents, 1)) == {block for block in blocks(extents) if block < 2_048}
