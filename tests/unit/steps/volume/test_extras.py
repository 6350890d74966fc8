"""The copy of another Region's snapshot: made once, waited for, and given back."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rewarm.contracts.events import PrepareSnapshotEvent
from rewarm.contracts.values import CopiedSnapshot
from rewarm.domain.errors import ServiceUnavailableError, SnapshotNotUsableError, ThrottledError
from rewarm.domain.model import Strategy
from rewarm.steps.clean_up.clean_up import CleanUpEvent, CleanUpPorts, clean_up
from rewarm.steps.volume.prepare_snapshot import PrepareSnapshotPorts, prepare_snapshot
from rewarm.steps.volume.release import ReleaseEvent, ReleasePorts, release
from tests.support.builders import (
    NOW,
    RESTORE_ID,
    SNAPSHOT_ID,
    SOURCE_VOLUME_ID,
    ZONE,
    World,
    assignment,
    at,
    plan,
    request,
)
from tests.support.wired import wired

FOREIGN = assignment(copy_of=CopiedSnapshot(snapshot_id=SNAPSHOT_ID, region="eu-west-1"))

ASKED = {"askedAt": NOW.isoformat(), "of": SNAPSHOT_ID, "region": "eu-west-1"}
"""EC2's answer was lost."""


def prepare(world, minute=0.0, *, strategy=Strategy.WARM_UP_AGENT, volume=FOREIGN):
    event = PrepareSnapshotEvent(
        restore_id=RESTORE_ID, now=at(minute), volume=volume, plan=plan(strategy, copy_minutes=60)
    )
    return prepare_snapshot(event, wired(PrepareSnapshotPorts, world))


class TestCopying:
    def test_is_ordered_once_and_waited_for(self):
        world = World()
        first = prepare(world)
        (order,) = world.copies.orders
        assert (order.snapshot_id, order.region, order.minutes) == (SNAPSHOT_ID, "eu-west-1", 60)
        assert order.tags == {
            "rewarm:copy-of": SNAPSHOT_ID,
            "rewarm:stack": "rewarm",
            "rewarm:restore-id": RESTORE_ID,
            "rewarm:volume-index": "0",
            "rewarm:creation": RESTORE_ID,
        }
        assert (first.ready, first.snapshot_id) == (False, None)
        (copy,) = world.copies.made
        world.copies.change(copy, progress_percent=40)
        second = prepare(world, 5)
        assert (second.ready, second.state, second.wait_seconds) == (False, "copying, 40 % done", 600)
        assert prepare(world, 58).wait_seconds == 60
        assert prepare(world, 70).wait_seconds == 15
        world.copies.change(copy, state="completed")
        done = prepare(world, 71)
        assert (done.ready, done.snapshot_id, done.enabled_by_us) == (True, copy, False)
        assert len(world.copies.orders) == 1
        assert world.fast_restores.enabled == []

    def test_says_of_which_volume_it_is_where_that_is_known(self):
        for lineage in (SOURCE_VOLUME_ID, f"copies-of-{SOURCE_VOLUME_ID}"):
            world = World()
            prepare(world, volume=FOREIGN.model_copy(update={"lineage": lineage}))
            assert world.copies.orders[0].tags["rewarm:lineage"] == SOURCE_VOLUME_ID

    def test_a_lost_answer_makes_no_second_copy(self):
        world = World()
        prepare(world)
        world.table.update_volume(RESTORE_ID, 0, {"snapshotCopy": ASKED})
        world.copies.change(next(iter(world.copies.made)), state="completed")
        assert prepare(world, 1).ready
        assert len(world.copies.orders) == 1

    def test_a_copy_that_never_appears_is_ordered_again(self):
        world = World()
        world.table.update_volume(RESTORE_ID, 0, {"snapshotCopy": ASKED})
        assert not prepare(world, 1).ready
        assert world.copies.orders == []
        prepare(world, 3)
        assert len(world.copies.orders) == 1

    def test_a_refusal_leaves_the_record_as_it_was_so_the_retry_asks_again(self):
        world = World()
        world.copies.refusal = ThrottledError("RequestLimitExceeded")
        with pytest.raises(ThrottledError):
            prepare(world)
        world.copies.refusal = None
        prepare(world)
        assert len(world.copies.orders) == 1

    def test_ec2_that_never_answers_ends_the_waiting(self):
        world = World()
        world.copies.refusal = ServiceUnavailableError("no answer")
        for minute in range(0, 24, 3):
            with pytest.raises(ServiceUnavailableError):
                prepare(world, minute)
            assert not prepare(world, minute + 1).ready
        with pytest.raises(SnapshotNotUsableError, match="asked 8 times to copy"):
            prepare(world, 24)

    def test_a_copy_that_fails_says_why(self):
        world = World()
        prepare(world)
        world.copies.change(next(iter(world.copies.made)), state="error", state_message="no KMS grant")
        with pytest.raises(SnapshotNotUsableError, match="from eu-west-1 failed: no KMS grant"):
            prepare(world, 2)

    def test_fast_snapshot_restore_is_that_of_the_copy(self):
        world = World()
        prepare(world, strategy=Strategy.FAST_SNAPSHOT_RESTORE)
        assert world.fast_restores.enabled == []
        (copy,) = world.copies.made
        world.copies.change(copy, state="completed")
        found = prepare(world, 30, strategy=Strategy.FAST_SNAPSHOT_RESTORE)
        assert world.fast_restores.enabled == [(copy, ZONE)]
        assert (found.ready, found.snapshot_id, found.enabled_by_us) == (False, copy, True)

    def test_a_snapshot_of_this_region_is_not_copied(self):
        world = World()
        prepare(world, strategy=Strategy.FAST_SNAPSHOT_RESTORE, volume=assignment())
        assert world.copies.orders == []


class TestAfterwards:
    def copied(self):
        world = World()
        prepare(world)
        (copy,) = world.copies.made
        world.copies.change(copy, state="completed")
        return world, copy

    def released(self, world, *, keep_copy=False):
        event = ReleaseEvent(restore_id=RESTORE_ID, now=at(60), volume=FOREIGN, keep_copy=keep_copy)
        return release(event, wired(ReleasePorts, world))

    def cleaned(self, world, **more):
        body = request(source={"snapshotId": SNAPSHOT_ID, "region": "eu-west-1", **more.pop("source", {})})
        event = CleanUpEvent(
            restore_id=RESTORE_ID, now=at(60), request=body, volume=FOREIGN, attached_announced=False, **more
        )
        return clean_up(event, wired(CleanUpPorts, world))

    def test_a_ready_volume_needs_no_copy(self):
        world, copy = self.copied()
        assert self.released(world).released == [f"snapshot copy {copy}"]
        assert world.copies.made == {}
        assert self.released(world).released == []

    def test_a_failed_restore_leaves_no_copy(self):
        world, copy = self.copied()
        assert f"snapshot copy {copy}" in self.cleaned(world).removed
        assert world.copies.made == {}

    @pytest.mark.parametrize("end", ["released", "cleaned"])
    @pytest.mark.parametrize("minute", [-365 * 24 * 60, 5])
    def test_a_backup_of_somebody_else_stays_whatever_tags_it_has(self, minute, end):
        world, copy = self.copied()
        backup = replace(world.copies.made[copy], description="nightly", started_at=at(minute))
        world.copies.made["snap-0bbbbbbbbbbbbbbbb"] = replace(backup, snapshot_id="snap-0bbbbbbbbbbbbbbbb")
        getattr(self, end)(world)
        assert list(world.copies.made) == ["snap-0bbbbbbbbbbbbbbbb"]

    def test_a_snapshot_that_was_there_before_is_no_copy_though_the_record_names_it(self):
        world, copy = self.copied()
        world.copies.change(copy, description="nightly", started_at=at(-365 * 24 * 60))
        self.cleaned(world)
        assert list(world.copies.made) == [copy]

    def test_another_plan_goes_on_with_the_copy(self):
        world, copy = self.copied()
        self.cleaned(world, fallback="new-volume")
        assert list(world.copies.made) == [copy]

    def test_it_stays_where_the_request_wants_it(self):
        world, copy = self.copied()
        self.released(world, keep_copy=True)
        self.cleaned(world, source={"keepCopy": True})
        assert list(world.copies.made) == [copy]

    def test_what_cannot_be_deleted_is_tried_again(self):
        world, _ = self.copied()
        world.copies.failure = ServiceUnavailableError("EC2 is busy")
        with pytest.raises(ServiceUnavailableError, match="snapshot copy: EC2 is busy"):
            self.cleaned(world)
