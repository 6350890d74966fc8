"""Which snapshots of several volumes belong together."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewarm.domain.errors import SnapshotNotFoundError, SnapshotNotUsableError
from rewarm.domain.model import BinnedSnapshot
from rewarm.domain.snapshot.selection import unusable
from rewarm.domain.snapshot.snapshot_sets import newest_set
from tests.support.builders import NOW, snapshot

VOLUMES = ("vol-a", "vol-b", "vol-c")


@st.composite
def candidates(draw):
    """Some calls of CreateSnapshots, each of some of the volumes; some members cannot be used."""
    found = {volume_id: [] for volume_id in VOLUMES}
    number = 0
    for hours in range(draw(st.integers(1, 4))):
        for volume_id in VOLUMES:
            state = draw(st.sampled_from(["completed", "completed", "error", None]))
            if state is not None:
                number += 1
                found[volume_id].append(
                    snapshot(
                        f"snap-{number:017x}",
                        volume_id=volume_id,
                        state=state,
                        started_at=NOW - timedelta(hours=hours),
                        description="nightly",
                    )
                )
    return found


def choose(found, **options):
    try:
        return newest_set(found, field="source.instanceId", **options)
    except (SnapshotNotFoundError, SnapshotNotUsableError):
        return None


def whole_calls(found):
    times = {one.started_at for each in found.values() for one in each}
    return [
        at
        for at in times
        if all(any(one.started_at == at and unusable(one) is None for one in each) for each in found.values())
    ]


@given(candidates())
def test_a_set_is_consistent_exactly_where_there_is_a_whole_one_and_then_the_newest(found):
    chosen = choose(found)
    if any(all(unusable(one) is not None for one in each) for each in found.values()):
        assert chosen is None
        return
    times = {selection.snapshot.started_at for selection in chosen.by_volume.values()}
    whole = whole_calls(found)
    assert chosen.consistent == bool(whole)
    assert all(unusable(selection.snapshot) is None for selection in chosen.by_volume.values())
    if whole:
        assert times == {max(whole)}
    else:
        assert "not a consistent set" in chosen.reason


@given(candidates(), st.randoms(use_true_random=False))
def test_the_order_of_snapshots_changes_nothing(found, random):
    shuffled = {volume_id: random.sample(each, len(each)) for volume_id, each in found.items()}
    assert choose(found) == choose(shuffled)


@given(candidates())
def test_says_of_each_other_one_why_not(found):
    chosen = choose(found)
    if chosen is None:
        return
    for volume_id, selection in chosen.by_volume.items():
        named = {one.snapshot_id for one in selection.passed_over} | {selection.snapshot.snapshot_id}
        assert named == {one.snapshot_id for one in found[volume_id]}
        assert all(one.reason for one in selection.passed_over)


def test_the_recycle_bin_counts_for_the_volume_it_belongs_to():
    found = {
        volume_id: [snapshot(f"snap-{volume_id[-1] * 17}", volume_id=volume_id)] for volume_id in VOLUMES
    }
    binned = [BinnedSnapshot("snap-gone", "vol-b", NOW, NOW + timedelta(days=7))]
    chosen = choose(found, binned=binned)
    assert chosen.consistent
    assert [one.snapshot_id for one in chosen.by_volume["vol-b"].passed_over] == ["snap-gone"]
    assert chosen.by_volume["vol-a"].passed_over == ()


def test_a_further_reason_breaks_a_set_like_the_snapshots_own():
    locked = snapshot("snap-locked", volume_id="vol-b", encrypted=True, started_at=NOW)
    found = {
        "vol-a": [snapshot("snap-a2", started_at=NOW), snapshot("snap-a1", volume_id="vol-a")],
        "vol-b": [locked, snapshot("snap-b1", volume_id="vol-b")],
    }
    chosen = choose(found, refusal=lambda one: "its key is disabled" if one.encrypted else unusable(one))
    assert chosen.consistent
    assert {each.snapshot.snapshot_id for each in chosen.by_volume.values()} == {"snap-a1", "snap-b1"}
    assert chosen.by_volume["vol-b"].passed_over[0].reason == "its key is disabled"


def test_names_the_volume_that_has_none():
    with pytest.raises(SnapshotNotFoundError, match=r"^source.instanceId: no snapshot of vol-b belongs"):
        newest_set({"vol-a": [snapshot()], "vol-b": []}, field="source.instanceId")
