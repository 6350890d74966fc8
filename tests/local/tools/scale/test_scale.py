"""`make scale`: its patterns, its limits, and a small listing through the stack's own function."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from local.aws.region.snapshots.block_lists import Stripes, block_count, blocks_from
from local.aws.region.snapshots.block_pages import WrittenPage
from local.tools.scale import measure
from local.tools.scale.__main__ import _parser, holds
from local.tools.scale.measure import Listing, ScaleError
from local.tools.scale.patterns import PATTERNS, lines, pages, same_lines

if TYPE_CHECKING:
    from local.aws.host import Host


def listing(**changes: object) -> Listing:
    values = {
        "pattern": "every-other",
        "size_gib": 16_384,
        "written_blocks": 1,
        "seconds": 40.0,
        "requests": 1_690,
        "peak_mib": 300.0,
        "map_mib": 180.0,
    }
    return Listing(**{**values, **changes})  # type: ignore[arg-type]


def test_stripes_are_as_good_as_the_extents_they_stand_for() -> None:
    stripes, extents = Stripes(2_048, every=3), tuple((first, 1) for first in range(0, 2_048, 3))
    assert tuple(stripes) == extents
    assert stripes[-2:] == extents[-2:]
    assert block_count(stripes) == block_count(extents)
    assert blocks_from(stripes, 100, 7) == blocks_from(extents, 100, 7) == list(range(102, 123, 3))


def test_a_page_of_blocks_says_the_same_on_the_wire_and_in_process() -> None:
    page = WrittenPage("snap-0123456789abcdef0", [0, 7, 33_554_431], 1_800_000_000)
    assert json.loads(page.json()) == list(page) == page[:]
    assert len({one["BlockToken"] for one in page}) == 3
    assert page == list(page)
    assert json.loads(WrittenPage("snap-0123456789abcdef0", [], 0).json()) == []


def test_the_quota_sets_the_time_that_16_tib_take() -> None:
    assert (pages("full", 16_384), pages("all-but-one", 16_384), pages("every-other", 16_384)) == (
        1,
        3_356,
        1_678,
    )
    assert holds(listing())
    assert not holds(listing(peak_mib=513.0))
    assert not holds(listing(pattern="full", seconds=61.0))
    assert holds(listing(pattern="all-but-one", seconds=80.0))
    assert not holds(listing(pattern="all-but-one", seconds=90.0))


@pytest.mark.parametrize("size", ["0", "65537", "1.5", "-1", "much"])
def test_refuses_sizes_that_no_snapshot_has(size: str) -> None:
    with pytest.raises(SystemExit) as refused:
        _parser().parse_args(["--size-gib", size])
    assert refused.value.code == 2


@pytest.mark.parametrize("pattern", PATTERNS)
def test_lists_a_snapshot_through_the_stacks_own_function(lab: Host, pattern: str) -> None:
    found = measure.list_blocks(lab, pattern, 32)
    assert found.written_blocks == {"full": 65_536, "all-but-one": 65_535, "every-other": 32_768}[pattern]
    assert found.requests >= pages(pattern, 32)
    assert 20 < found.peak_mib < 512


def test_notices_a_map_that_is_not_what_was_seeded(lab: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measure, "lines", lambda _extents: lines([(0, 1)]))
    with pytest.raises(ScaleError, match="not what was seeded"):
        measure.list_blocks(lab, "full", 1)


def test_maps_are_compared_to_their_ends() -> None:
    assert same_lines(iter(["0 1\n"]), iter(["0 1\n"]))
    assert not same_lines(iter(["0 1\n", "2 1\n"]), iter(["0 1\n"]))
    assert not same_lines(iter(["0 1\n"]), iter(["0 1\n", "2 1\n"]))
