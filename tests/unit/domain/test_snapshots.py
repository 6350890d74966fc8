"""Which snapshot of several, and which snapshots of several volumes belong together."""

from __future__ import annotations

from datetime import timedelta

import pytest
from botocore.session import Session
from hypothesis import given
from hypothesis import strategies as st

from rewarm.domain.errors import SnapshotNotFoundError, SnapshotNotUsableError
from rewarm.domain.model import BinnedSnapshot
from rewarm.domain.snapshots import newest_set, newest_usable, require_usable, unusable
from tests.support.builders import NOW, snapshot

STATES = ["completed", "pending", "error", "recoverable", "recovering", "brand-new-state"]

OUTPOST = "arn:aws:outposts:us-east-1:123456789012:outpost/op-0123456789abcdef0"
VOLUMES = ("vol-a", "vol-b", "vol-c")


PARTITIONS = ("aws", "aws-cn", "aws-us-gov", "aws-iso", "aws-iso-b", "aws-eusc")
REGIONS = [name for partition in PARTITIONS for name in Session().get_available_regions("ec2", partition)]


@pytest.mark.parametrize("zone", [None, *(f"{name}{letter}" for name in REGIONS for letter in "af")])
def test_a_snapshot_in_a_region_s_own_zone_makes_volumes(zone):
    assert unusable(snapshot(zone=zone)) is None


@pytest.mark.parametrize(
    "zone",
    ["us-west-2-lax-1a", "us-east-1-atl-2a", "cn-north-1-pkx-1a", "us-east-1-wl1-bos-wlz-1", "use1-atl2-az1"],
)
def test_a_snapshot_in_another_kind_of_zone_makes_none(zone):
    """As anything else that is not known to be a zone of the Region."""
    assert "in that Local Zone only" in unusable(snapshot(zone=zone))


@st.composite
def candidates(draw):
    count = draw(st.integers(1, 6))
    return [
        snapshot(
            f"snap-{number:017x}",
            state=draw(st.sampled_from(STATES)),
            storage_tier=draw(st.sampled_from(["standard", "archive", "brand-new-tier"])),
            outpost_arn=draw(st.sampled_from([None, None, OUTPOST])),
            zone=draw(st.sampled_from([None, "us-east-1a", "us-east-1-atl-2a"])),
            started_at=NOW - timedelta(hours=draw(st.integers(0, 3))),
        )
        for number in range(count)
    ]


def newest(found, at=None):
    try:
        return newest_usable(found, at=at, what="vol-1", field="source.volumeId")
    except (SnapshotNotFoundError, SnapshotNotUsableError):
        return None


class TestNewestUsable:
    @given(candidates(), st.randoms(use_true_random=False))
    def test_the_order_of_candidates_changes_nothing(self, found, random):
        shuffled = list(found)
        random.shuffle(shuffled)
        assert newest(found) == newest(shuffled)

    @given(candidates(), st.integers(0, 3))
    def test_takes_the_newest_that_can_be_used_and_is_old_enough(self, found, hours):
        at = NOW - timedelta(hours=hours)
        fitting = [one for one in found if unusable(one) is None and one.started_at <= at]
        chosen = newest(found, at)
        if not fitting:
            assert chosen is None
        else:
            assert chosen.snapshot.started_at == max(one.started_at for one in fitting)

    @given(candidates())
    def test_says_of_each_other_one_why_not(self, found):
        chosen = newest(found)
        if chosen is not None:
            named = {one.snapshot_id for one in chosen.passed_over} | {chosen.snapshot.snapshot_id}
            assert named == {one.snapshot_id for one in found}
            assert all(one.reason for one in chosen.passed_over)

    def test_says_where_there_is_none_at_all(self):
        with pytest.raises(SnapshotNotFoundError, match=r"^source.volumeId: no snapshot of vol-1 belongs"):
            newest_usable([], at=None, what="vol-1", field="source.volumeId")

    def test_names_the_oldest_where_all_are_too_new(self):
        with pytest.raises(
            SnapshotNotFoundError, match=r"the oldest is snap-0123456789abcdef0 of 2026-11-20 03:00"
        ):
            newest_usable([snapshot()], at=NOW - timedelta(days=9), what="vol-1", field="source.at")

    def test_lists_five_reasons_at_the_most(self):
        found = [snapshot(f"snap-{number:017x}", state="error") for number in range(8)]
        with pytest.raises(SnapshotNotUsableError, match="and 3 more"):
            newest_usable(found, at=None, what="vol-1", field="source.volumeId")


class TestUsable:
    @pytest.mark.parametrize("state", STATES[1:])
    def test_only_completed_snapshots_are(self, state):
        with pytest.raises(SnapshotNotUsableError, match=r"^source.snapshotId: .*cannot be restored"):
            require_usable(snapshot(state=state), field="source.snapshotId")

    def test_a_completed_one_is(self):
        assert require_usable(snapshot(), field="source.snapshotId") == snapshot()


@st.composite
def candidate_sets(draw):
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


@given(candidate_sets())
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


@given(candidate_sets(), st.randoms(use_true_random=False))
def test_the_order_of_snapshots_changes_nothing(found, random):
    shuffled = {volume_id: random.sample(each, len(each)) for volume_id, each in found.items()}
    assert choose(found) == choose(shuffled)


@given(candidate_sets())
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


def test_a_set_may_be_asked_for_as_of_a_moment():
    def run(number, hours):
        at = NOW - timedelta(hours=hours)
        return [snapshot(f"snap-{each}{number}", volume_id=f"vol-{each}", started_at=at) for each in "ab"]

    old, before, after = run(1, 9), run(2, 6), run(3, 3)
    found = {f"vol-{each}": [old[i], before[i], after[i]] for i, each in enumerate("ab")}
    chosen = choose(found, at=NOW - timedelta(hours=6))
    assert chosen.consistent
    assert [each.snapshot for each in chosen.by_volume.values()] == before
    reasons = {one.snapshot_id: one.reason for one in chosen.by_volume["vol-a"].passed_over}
    assert reasons["snap-a1"] == "older than snap-a2"
    assert reasons["snap-a3"].startswith("taken at 2026-11-21 00:00 UTC, later than asked for")
    assert choose(found, at=NOW - timedelta(hours=10)) is None


def test_names_the_volume_that_has_none():
    with pytest.raises(SnapshotNotFoundError, match=r"^source.instanceId: no snapshot of vol-b belongs"):
        newest_set({"vol-a": [snapshot()], "vol-b": []}, field="source.instanceId")
