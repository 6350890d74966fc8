"""Recordings of reads, and the hot set that is made of them."""

from __future__ import annotations

import json
import random
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewarm.domain.model import GIB, MIB, Extent
from rewarm.domain.volume.hot import (
    MOST_BLOCKS,
    HotSet,
    OtherVolumeError,
    forbidden_by,
    hot_set,
    lineage_of,
    lineage_tags,
    read_recording,
)
from tests.support.builders import SNAPSHOT_ID, SOURCE_VOLUME_ID, VOLUME_ID, snapshot
from tests.support.worlds.recordings import recording

BYTES = 100 * GIB
MANY = 1_000_000


def made(*lists, written=MANY, sizes=(BYTES,)):
    return hot_set([(f"r{at}", recording(blocks)) for at, blocks in enumerate(lists)], sizes, written)


def test_one_recording_is_read_in_its_order():
    found = read_recording(recording([7, 3, 4, 900]), None)
    assert (list(found.blocks), found.volume_bytes, found.seconds) == ([7, 3, 4, 900], BYTES, 1_800)
    assert found.is_complete
    assert made([7, 3, 4, 900]).blocks == (7, 3, 4, 900)


@pytest.mark.parametrize(("more", "cold"), [({}, None), ({"coldBlocks": 0}, 0), ({"coldBlocks": 2}, 2)])
def test_it_says_how_many_blocks_were_cold_where_a_warm_up_ran(more, cold):
    assert read_recording(recording([7, 3], **more), None).cold_blocks == cold


def test_a_block_of_more_recordings_comes_first_then_one_that_is_read_sooner():
    assert made([1, 2, 3], [3, 9], [3, 2]).blocks == (3, 2, 1, 9)


def test_a_block_that_none_of_the_newest_four_has_leaves():
    old = [[5, 6]] * 4
    assert made([1], [1], [2], [1], *old).blocks == (1, 2)
    assert set(made([1], [1], [2], *old).blocks) == {1, 2, 5, 6}


def test_it_is_a_tenth_of_the_written_blocks_and_never_more_than_64_gib():
    """Only the agent knows which of the recorded blocks are written."""
    blocks = list(range(1_000))
    tenth = made(blocks, written=100)
    assert (tenth.blocks, tenth.most_blocks) == (tuple(blocks), 10)
    assert (tenth.block_count, tenth.bytes) == (10, 5 * MIB)
    assert (made([7], written=100).block_count, made([7], written=100).bytes) == (1, MIB // 2)
    assert (made(blocks, written=9).blocks, made(blocks, written=9).recordings) == ((), 1)
    whole = [("a", recording(range(MOST_BLOCKS))), ("b", recording(range(MOST_BLOCKS, MOST_BLOCKS * 3 // 2)))]
    largest = hot_set(whole, [BYTES], 10 * MANY)
    assert len(largest.blocks) == largest.most_blocks == MOST_BLOCKS


def test_neighbours_that_follow_each_other_are_one_extent():
    assert list(HotSet((4, 5, 6, 2, 1, 9)).extents) == [
        Extent(4, 3),
        Extent(2, 1),
        Extent(1, 1),
        Extent(9, 1),
    ]
    assert list(HotSet().extents) == []


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (None, "it is gone, or has more than 5 MiB"),
        ("", "it does not begin as a recording does"),
        ("[" * 2_000, "it does not begin as a recording does"),
        ("[" * 900 + "\n", "it does not begin as a recording does"),
        (recording([1], recording=2), "it does not begin as a recording does"),
        (recording([1], blockBytes=4_096), "it does not begin as a recording does"),
        (recording([1], bytes="100"), "of how large a device"),
        (recording([1], bytes=-1), "of how large a device"),
        (recording([1], bytes=10**400), "of how large a device"),
        (recording([1], seconds=10**400), "of how large a device"),
        (recording([1], seconds=None), "of how large a device"),
        (recording([1])[:-1], "its last line is cut short"),
        (recording(range(MOST_BLOCKS + 1)), "more than 131,072 blocks"),
        (recording([1]) + "x 1 1\n", "line 3 is not `block reads second`"),
        (recording([1]) + "-2 1 1\n", "line 3 is not"),
        (recording([1]) + "02 1 1\n", "line 3 is not"),
        (recording([1]) + "2 0 1\n", "line 3 is not"),
        (recording([1]) + "2 1\n", "line 3 is not"),
        (recording([1]) + "\u0662 1 1\n", "line 3 is not"),
        (recording([1]) + "\n", "line 3 is not"),
        (recording([BYTES // 524_288]), "line 2 is of a block beyond the end of the device"),
        (recording([4, 5, 4]), "it has a block twice"),
        *(
            (recording([4, 5], coldBlocks=cold), "more cold blocks than blocks")
            for cold in (3, -1, True, "1", 1.0)
        ),
    ],
)
def test_a_recording_that_is_damaged_is_left_out_and_named(text, reason):
    with pytest.raises(ValueError, match=reason.replace(".", r"\.")):
        read_recording(text, None)
    found = hot_set([("bad", text), ("good", recording([1]))], [BYTES], MANY)
    assert (found.blocks, found.recordings, len(found.left_out)) == ((1,), 1, 1)
    assert found.left_out[0].startswith("bad: ")


def test_a_recording_of_another_device_is_left_out():
    found = made([1, 2], sizes=(50 * GIB, 60 * GIB))
    assert (found.blocks, found.left_out) == ((), ("r0: it is of a device of 100 GiB",))


@pytest.mark.parametrize("other", ["vol-0fedcba9876543210", None, 7, VOLUME_ID.upper()])
def test_a_recording_of_another_volume_than_its_name_says_is_left_out(other):
    text, name = recording([1], volumeId=other), f"123-restore-1-0-{VOLUME_ID}"
    found = hot_set([(name, text), (name, recording([2])), ("older", text)], [BYTES], MANY)
    assert found.blocks in [(2, 1), (1, 2)]
    (left_out,) = found.left_out
    assert left_out.startswith(f"{name}: it worked on ")
    assert left_out.endswith(f", and not on {VOLUME_ID}")
    with pytest.raises(OtherVolumeError):
        read_recording(text, VOLUME_ID)


def test_an_empty_recording_is_one():
    assert made([]).recordings == 1
    assert made([], [3]).blocks == (3,)
    assert made([], [], [], [], [3]).blocks == (3,), "but no block ages by it"


@given(st.text(), st.binary(max_size=200))
def test_any_text_is_read_or_refused(text, noise):
    for candidate in (text, recording([1]) + text, recording([1]).replace("1", noise.decode("latin-1"))):
        with suppress(ValueError):
            assert len(read_recording(candidate, None).blocks) <= candidate.count("\n")


@given(st.integers(0, 2**32))
def test_damage_anywhere_in_a_recording_never_leads_beyond_the_device(seed):
    chance = random.Random(seed)
    text = list(recording(chance.sample(range(200_000), 50)))
    for _ in range(chance.randint(1, 4)):
        text[chance.randrange(len(text))] = chance.choice("0123456789 \n-x{}")
    found = hot_set([("damaged", "".join(text))], [BYTES], MANY)
    assert all(0 <= block < BYTES // 524_288 for block in found.blocks)
    assert len(set(found.blocks)) == len(found.blocks)


def test_recordings_are_kept_under_the_source_volume_or_the_snapshot_of_a_copy():
    assert lineage_of(snapshot()) == SOURCE_VOLUME_ID
    assert lineage_of(snapshot(is_copy=True, volume_id="vol-ffffffff")) == SNAPSHOT_ID
    assert lineage_of(snapshot(volume_id=None)) == SNAPSHOT_ID


def copied(named, **changes):
    tags = {"rewarm:lineage": named}
    return snapshot(**{"is_copy": True, "volume_id": "vol-ffffffff", "tags": tags, **changes})


@pytest.mark.parametrize("named", ["vol-0123abcd", "vol-0123456789abcdef0"])
def test_those_of_copies_are_kept_under_the_volume_that_their_tag_names_and_apart(named):
    assert lineage_of(copied(named)) == lineage_of(copied(named, volume_id=None)) == f"copies-of-{named}"
    assert forbidden_by(copied(named)) is None
    assert lineage_of(copied(named, is_copy=False, volume_id=SOURCE_VOLUME_ID)) == SOURCE_VOLUME_ID


@pytest.mark.parametrize(
    "named",
    ["", "vol-", "snap-0123456789abcdef0", "vol-ffffffff", "vol-0123456789ABCDEF0", "vol-0123456789abcdef",
     "../vol-0123abcd", "vol-0123abcd/", "vol-0123abcd\n", " vol-0123abcd",
     "copies-of-vol-0123abcd", "vol-\u06601234567"],
)  # fmt: skip
def test_a_tag_that_names_no_volume_counts_for_nothing_and_stops_recording(named):
    assert lineage_of(copied(named)) == SNAPSHOT_ID
    assert forbidden_by(copied(named)) == (
        f"{SNAPSHOT_ID} has the tag rewarm:lineage with {json.dumps(named, ensure_ascii=False)}, "
        "which is not the id of a volume"
    )
    assert forbidden_by(copied(named, is_copy=False)) is None


@pytest.mark.parametrize("lineage", [SOURCE_VOLUME_ID, f"copies-of-{SOURCE_VOLUME_ID}"])
def test_a_copy_gets_the_tag_of_the_volume_that_it_comes_from(lineage):
    tags = lineage_tags(lineage)
    assert tags == {"rewarm:lineage": SOURCE_VOLUME_ID}
    assert lineage_of(copied(None, tags=tags)) == f"copies-of-{SOURCE_VOLUME_ID}"
    assert lineage_tags(SNAPSHOT_ID) == lineage_tags(None) == {}


@pytest.mark.parametrize(
    ("value", "refused"), [("false", True), (" False", True), ("true", False), ("", False)]
)
def test_a_tag_forbids_recording(value, refused):
    found = forbidden_by(snapshot(tags={"rewarm:learn": value}))
    assert found == (f"{SNAPSHOT_ID} has the tag rewarm:learn with the value false" if refused else None)
    assert forbidden_by(snapshot()) is None


def test_the_first_line_is_json_with_what_the_agent_says():
    head = json.loads(recording([1]).split("\n", 1)[0])
    assert {*head} == {
        "recording", "volumeId", "bytes", "blockBytes", "seconds", "source", "dropped", "complete",
    }  # fmt: skip
