"""Which snapshot of several."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewarm.domain.errors import SnapshotNotFoundError, SnapshotNotUsableError
from rewarm.domain.snapshot.selection import newest_usable, require_usable, unusable
from tests.support.builders import NOW, snapshot

STATES = ["completed", "pending", "error", "recoverable", "recovering", "brand-new-state"]


@st.composite
def candidates(draw):
    count = draw(st.integers(1, 6))
    return [
        snapshot(
            f"snap-{number:017x}",
            state=draw(st.sampled_from(STATES)),
            storage_tier=draw(st.sampled_from(["standard", "archive"])),
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
