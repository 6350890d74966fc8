"""State Prepare Snapshot."""

from __future__ import annotations

from datetime import timedelta

import pytest

from rewarm.contracts.events import PrepareSnapshotEvent
from rewarm.domain.errors import (
    FastSnapshotRestoreUnavailableError,
    RestoreCancelledError,
    ServiceUnavailableError,
    ThrottledError,
)
from rewarm.domain.model import FastSnapshotRestore, Strategy
from rewarm.steps.record.volume import VolumeNotes
from rewarm.steps.volume.extras import release_fast_restore
from rewarm.steps.volume.prepare_snapshot import PrepareSnapshotPorts, prepare_snapshot
from tests.support.builders import NOW, RESTORE_ID, SNAPSHOT_ID, ZONE, World, assignment, at, plan
from tests.support.wired import wired

PLACE = (SNAPSHOT_ID, ZONE)


def give_back(world, *, index=0, restore_id=RESTORE_ID):
    return release_fast_restore(
        restore_id, index, PLACE, fast_restores=world.fast_restores, table=world.table
    )


def prepare(world, *, minute=0.0, index=0, restore_id=RESTORE_ID, previous=None):
    event = PrepareSnapshotEvent(
        restore_id=restore_id,
        now=at(minute),
        volume=assignment(index=index),
        plan=plan(Strategy.FAST_SNAPSHOT_RESTORE),
        previous=previous,
    )
    return prepare_snapshot(event, wired(PrepareSnapshotPorts, world))


class TestTurn:
    """At a provisioned rate, where the plan gives the Region's quota to other volumes first."""

    def take_turn(self, minute):
        event = PrepareSnapshotEvent(
            restore_id=RESTORE_ID,
            now=at(minute),
            volume=assignment(),
            plan=plan(Strategy.PROVISIONED_RATE).model_copy(update={"start_at": at(20)}),
        )
        return prepare_snapshot(event, wired(PrepareSnapshotPorts, World()))

    def test_it_is_waited_for_in_steps_in_which_a_cancel_is_seen(self):
        result = self.take_turn(0)
        assert (result.ready, result.wait_seconds, result.state) == (False, 300, "queued")
        assert not result.enabled_by_us

    @pytest.mark.parametrize(("seconds", "waits"), [(120, 120), (3.2, 4), (0.1, 1)])
    def test_the_last_step_ends_with_the_turn(self, seconds, waits):
        assert self.take_turn(20 - seconds / 60).wait_seconds == waits

    def test_then_the_volume_is_made(self):
        assert self.take_turn(20).ready


class TestPrepareSnapshot:
    def test_enables_it_and_waits(self):
        world = World()
        result = prepare(world)
        assert world.fast_restores.enabled == [PLACE]
        assert (result.ready, result.state, result.enabled_by_us) == (False, "enabling", True)
        assert result.wait_seconds >= 1

    def test_enables_it_once_however_often_it_is_asked(self):
        world = World()
        for minute in range(5):
            prepare(world, minute=minute)
        assert world.fast_restores.enabled == [PLACE]

    def test_waits_for_a_credit_after_it_is_enabled(self):
        world = World()
        prepare(world)
        world.fast_restores.states[PLACE] = FastSnapshotRestore("enabled", at(6), 0.4)
        result = prepare(world, minute=8)
        assert not result.ready
        # 100 GiB fill 10 credits an hour, so the missing 0.6 take 216 s.
        assert result.wait_seconds == 216

    def test_is_ready_with_one_credit(self):
        world = World()
        prepare(world)
        world.fast_restores.states[PLACE] = FastSnapshotRestore("enabled", at(6), 1.0)
        result = prepare(world, minute=13)
        assert (result.ready, result.credits, result.enabled_by_us) == (True, 1.0, True)

    def test_says_where_somebody_else_has_enabled_it(self):
        world = World()
        world.fast_restores.states[PLACE] = FastSnapshotRestore("enabled", at(-600), 10.0)
        result = prepare(world)
        assert (result.ready, result.enabled_by_us) == (True, False)
        assert world.fast_restores.enabled == []

    def test_two_volumes_of_one_restore_enable_it_once(self):
        world = World()
        prepare(world, index=0)
        assert not prepare(world, index=1).enabled_by_us
        assert world.fast_restores.enabled == [PLACE]

    def test_each_volume_needs_a_credit_of_its_own(self):
        world = World()
        prepare(world, index=0)
        prepare(world, index=1)
        world.fast_restores.states[PLACE] = FastSnapshotRestore("enabled", at(6), 1.9)
        assert prepare(world, minute=13, index=0).ready
        waits = prepare(world, minute=13, index=1)
        assert (waits.ready, waits.wait_seconds) == (False, 60)
        assert prepare(world, minute=14, index=0).ready, "asking again takes no second credit"
        world.fast_restores.states[PLACE] = FastSnapshotRestore("enabled", at(6), 1.1)
        assert not prepare(world, minute=17, index=1).ready, "the balance may still hold it"
        assert prepare(world, minute=18.5, index=1).ready

    def test_two_credits_serve_two_volumes_at_once(self):
        world = World()
        prepare(world, index=0)
        prepare(world, index=1)
        world.fast_restores.states[PLACE] = FastSnapshotRestore("enabled", at(6), 2.0)
        assert [prepare(world, minute=13, index=index).ready for index in (0, 1)] == [True, True]

    def test_waits_for_a_metric_that_is_late(self):
        world = World()
        prepare(world)
        world.fast_restores.states[PLACE] = FastSnapshotRestore("enabled", at(6), None)
        result = prepare(world, minute=8)
        assert (result.ready, result.wait_seconds) == (False, 60)

    def test_believes_the_documented_fill_rate_where_the_metric_never_comes(self):
        world = World()
        prepare(world)
        world.fast_restores.states[PLACE] = FastSnapshotRestore("enabled", at(6), None)
        assert not prepare(world, minute=26).ready
        assert prepare(world, minute=28).ready

    def test_tells_a_refusal(self):
        world = World()
        world.fast_restores.quota = 0
        with pytest.raises(FastSnapshotRestoreUnavailableError, match="quota"):
            prepare(world)

    def test_a_claim_is_noted_before_enabling_so_that_a_crash_leaks_nothing(self):
        world = World()
        world.fast_restores.failure = FastSnapshotRestoreUnavailableError("no capacity")
        with pytest.raises(FastSnapshotRestoreUnavailableError):
            prepare(world)
        assert world.table.claims[PLACE].users == {f"{RESTORE_ID}/0"}

    def test_the_record_names_the_place_of_the_claim_before_ec2_is_asked(self):
        world = World()
        world.fast_restores.failure = ServiceUnavailableError("EC2 does not answer")
        with pytest.raises(ServiceUnavailableError):
            prepare(world)
        record = VolumeNotes(world.table, RESTORE_ID, 0)
        assert record.read().fast_restore.place == PLACE
        assert world.table.claim(*PLACE).users
        world.fast_restores.failure = None
        give_back(world)
        assert world.table.claim(*PLACE) is None
        assert record.read().fast_restore.place == (None, None)

    def test_what_somebody_else_enables_meanwhile_is_theirs_and_told(self):
        """EC2 takes our call, too, and shows when it was enabled: before we asked."""
        world = World()

        def they_enable():
            world.fast_restores.states[PLACE] = FastSnapshotRestore("enabling")
            world.fast_restores.since[PLACE] = at(-0.05)

        world.fast_restores.before_enabling = they_enable
        assert not prepare(world).enabled_by_us
        (left,) = give_back(world).left
        assert left.startswith(f"fast snapshot restore of {SNAPSHOT_ID} in {ZONE}, which stays on (it was ")
        assert left.endswith(f"--availability-zones {ZONE} --source-snapshot-ids {SNAPSHOT_ID})")
        assert world.fast_restores.disabled == []

    @pytest.mark.parametrize("ahead_seconds", [-10, -3, 3, 10])
    def test_ours_is_known_by_ec2s_clock_alone(self, ahead_seconds):
        """Step Functions' and Lambda's clocks may be seconds away from it."""
        world = World()
        world.fast_restores.now = NOW + timedelta(seconds=ahead_seconds, milliseconds=700)
        assert prepare(world).enabled_by_us
        assert give_back(world).released
        assert world.fast_restores.disabled == [PLACE]

    def test_a_claim_that_is_lost_is_written_again_while_it_is_waited_for(self):
        world = World()
        prepare(world)
        prepare(world, index=1)
        world.table.claims.clear()
        prepare(world, minute=1)
        prepare(world, minute=1, index=1)
        assert give_back(world).released == ()
        assert PLACE in world.fast_restores.states
        assert give_back(world, index=1).released
        assert world.fast_restores.disabled == [PLACE]

    def test_what_we_enabled_is_disabled_though_every_note_of_it_is_lost(self):
        """The state machine carries what came of the call before."""
        world = World()
        result = prepare(world)
        world.table.claims.clear()
        world.table.lose(RESTORE_ID)
        world.table.records.clear()
        assert prepare(world, minute=1, previous=result).enabled_by_us
        assert give_back(world).released
        assert world.fast_restores.disabled == [PLACE]

    @pytest.mark.parametrize("another", [True, False])
    def test_what_we_enabled_is_disabled_though_the_claim_is_lost(self, another):
        """Also where another restore has claimed it since, for which it looks like somebody else's."""
        world = World()
        prepare(world)
        world.table.claims.clear()
        if another:
            assert not prepare(world, restore_id="restore-2").enabled_by_us
            assert give_back(world).released == ()
            assert give_back(world, restore_id="restore-2").released
        else:
            assert give_back(world).released
        assert world.fast_restores.disabled == [PLACE]

    @pytest.mark.parametrize(("minute", "disabled"), [(0.5, [PLACE]), (-0.5, []), (30, [])])
    def test_what_a_crash_left_enabled_is_known_by_its_time(self, minute, disabled):
        world = World()
        world.fast_restores.failure = ServiceUnavailableError("no answer")
        with pytest.raises(ServiceUnavailableError):
            prepare(world)
        world.fast_restores.failure = None
        world.fast_restores.states[PLACE] = FastSnapshotRestore("enabled")
        world.fast_restores.since[PLACE] = at(minute)
        give_back(world)
        assert world.fast_restores.disabled == disabled

    def test_what_was_refused_is_never_disabled(self):
        """Also where disabling would be throttled for so long that somebody else enables it meanwhile."""
        world = World()
        world.fast_restores.quota = 0
        with pytest.raises(FastSnapshotRestoreUnavailableError):
            prepare(world)
        world.fast_restores.states[PLACE] = FastSnapshotRestore("enabling")
        world.fast_restores.since[PLACE] = at(0.5)
        world.fast_restores.failure = ThrottledError("slow down")
        assert give_back(world).released == ()
        assert PLACE in world.fast_restores.states

    def test_what_was_refused_and_yet_done_is_ours(self):
        """The answer of a first try was lost, the second one is refused."""
        world = World()

        def take_effect():
            world.fast_restores.states[PLACE] = FastSnapshotRestore("enabling")
            world.fast_restores.since[PLACE] = at(0.01)
            world.fast_restores.quota = 0

        world.fast_restores.before_enabling = take_effect
        with pytest.raises(FastSnapshotRestoreUnavailableError):
            prepare(world)
        give_back(world)
        assert world.fast_restores.disabled == [PLACE]

    def test_refuses_while_it_is_being_disabled(self):
        world = World()
        world.fast_restores.states[PLACE] = FastSnapshotRestore("disabling")
        with pytest.raises(FastSnapshotRestoreUnavailableError, match="is disabling now"):
            prepare(world)

    def test_notices_that_it_was_taken_away(self):
        world = World()
        prepare(world)
        world.fast_restores.states.clear()
        assert not prepare(world, minute=1).ready
        with pytest.raises(FastSnapshotRestoreUnavailableError, match="is disabled, though it was enabled"):
            prepare(world, minute=3)

    def test_gives_up_after_three_times_what_aws_says_and_an_hour(self):
        world = World()
        prepare(world)
        assert not prepare(world, minute=90).ready
        with pytest.raises(FastSnapshotRestoreUnavailableError, match="gave no credit within 1 h 40 min"):
            prepare(world, minute=100)

    def test_stops_when_the_restore_is_cancelled(self):
        world = World()
        prepare(world)
        world.table.request_cancel(RESTORE_ID)
        with pytest.raises(RestoreCancelledError):
            prepare(world, minute=1)
