"""The boost of a volume that was there: what is noted before EC2 is asked, and when the volume is lowered."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal

import pytest

from rewarm.contracts.results import ReleaseResult
from rewarm.domain.errors import (
    AccessDeniedError,
    ModificationPostponedError,
    RestoreCancelledError,
    ServiceUnavailableError,
    ThrottledError,
)
from rewarm.domain.model import Volume, VolumeSettings
from rewarm.domain.plan.cost import CostPart
from rewarm.domain.volume.performance import PerformanceSettings, VolumeModification
from rewarm.ports.restores import BOOST
from rewarm.steps.record.boosts import noted_boost
from rewarm.steps.volume.boost_volume import BoostVolumeEvent, BoostVolumePorts, boost_volume
from rewarm.steps.volume.release import ReleaseEvent, ReleasePorts, release
from tests.support.builders import (
    NOW,
    RESTORE_ID,
    SNAPSHOT_ID,
    VOLUME_ID,
    ZONE,
    World,
    assignment,
    at,
    boosted_plan,
    plan,
)
from tests.support.wired import wired

ORIGINAL = PerformanceSettings("gp3", 3_000, 125)
BOOSTED = PerformanceSettings("gp3", 4_000, 1_000)
OTHER = PerformanceSettings("gp3", 5_000, 300)
PRICE = CostPart("Boosted performance", Decimal("0.12"), "…", seconds=7_200.0)
BY_HAND = f"aws ec2 modify-volume --volume-id {VOLUME_ID} --iops 3000 --throughput 125"
LATER = timedelta(minutes=11)


@pytest.fixture
def world():
    """A volume of others, whose owner allows changes."""
    made = World()
    made.modifications.now = NOW
    settings = VolumeSettings("gp3", 100, 3_000, 125, tags={"rewarm:managed": "true"})
    made.volumes.volumes[VOLUME_ID] = Volume(VOLUME_ID, "in-use", ZONE, settings, SNAPSHOT_ID, None, (), NOW)
    return made


def raised(world, *, restore_id=RESTORE_ID):
    volume, the_plan = assignment(adopts=VOLUME_ID), boosted_plan(cost_parts=[PRICE])
    event = BoostVolumeEvent(restore_id=restore_id, now=NOW, volume=volume, plan=the_plan)
    return boost_volume(event, wired(BoostVolumePorts, world)).boost


def released(world, *, minute=60, **changes) -> ReleaseResult:
    values = {"volume": assignment(adopts=VOLUME_ID), "plan": boosted_plan(cost_parts=[PRICE]), **changes}
    event = ReleaseEvent(restore_id=RESTORE_ID, now=at(minute), volume_id=VOLUME_ID, **values)
    return release(event, wired(ReleasePorts, world))


def finish_raise(world):
    world.modifications.become(VOLUME_ID, "completed")
    world.modifications.now = at(60)


def settings(world, **changes):
    volume = world.volumes.volumes[VOLUME_ID]
    world.volumes.change(VOLUME_ID, settings=replace(volume.settings, **changes))


def note(world):
    return noted_boost(VOLUME_ID, world.table)


class TestRaise:
    def test_notes_what_to_go_back_to_before_it_asks(self, world):
        world.modifications.failure = SystemExit()  # the function is killed at this point
        with pytest.raises(SystemExit):
            raised(world)
        found = note(world)
        assert (found.restore_id, found.index, found.asked_at) == (RESTORE_ID, 0, NOW)
        assert (found.original, found.boosted) == (ORIGINAL, BOOSTED)
        assert found.usd_per_hour == Decimal("0.06")

    def test_asks_once_however_often_it_is_called(self, world):
        assert [raised(world).state for _ in range(3)] == ["raised"] * 3
        assert world.modifications.started == [(VOLUME_ID, BOOSTED)]
        assert world.log.starts(VOLUME_ID) == [NOW]

    @pytest.mark.parametrize(
        "error", [ModificationPostponedError, AccessDeniedError, ThrottledError, ServiceUnavailableError]
    )
    def test_what_ec2_refuses_is_no_error(self, world, error):
        world.modifications.failure = error("not now")
        assert raised(world).reason == "EC2 refused it: not now"
        world.modifications.failure = None
        assert raised(world).state == "not-raised", "a retry asks no second time"
        assert world.modifications.started == []

    def test_a_refusal_of_botocores_own_second_call_is_none(self, world):
        class Deaf(type(world.modifications)):
            def start(self, volume_id, target):
                super().start(volume_id, target)
                raise ModificationPostponedError("IncorrectModificationState")

        world.modifications.__class__ = Deaf
        assert raised(world).state == "raised"

    @pytest.mark.parametrize("tag", [None, "false"])
    def test_without_its_owners_consent_nothing_is_asked(self, world, tag):
        settings(world, tags={} if tag is None else {"rewarm:managed": tag})
        assert f"the owner of {VOLUME_ID} has not allowed it" in raised(world).reason
        assert (world.modifications.started, note(world)) == ([], None)

    def test_what_somebody_has_changed_since_the_plan_stays(self, world):
        settings(world, iops=5_000)
        assert raised(world).reason.startswith("somebody has changed it since the plan was made")
        assert (world.modifications.started, note(world)) == ([], None)

    def test_leaves_a_change_of_the_day_to_lower_it(self, world):
        for hours in (1, 5, 9):
            world.log.note_start(VOLUME_ID, NOW - timedelta(hours=hours))
        assert "changed 3 times within 24 hours" in raised(world).reason
        assert world.modifications.started == []
        world.log.started[VOLUME_ID].remove(NOW - timedelta(hours=9))
        assert raised(world).state == "raised"

    def test_a_boost_of_another_restore_is_no_second_one(self, world):
        raised(world, restore_id="another")
        world.modifications.become(VOLUME_ID, "completed")
        assert raised(world).reason == "the restore another has boosted it"
        assert note(world).restore_id == "another"

    def test_a_cancelled_restore_raises_nothing(self, world):
        world.table.put_new(RESTORE_ID, {"volumeCount": 1})
        world.table.request_cancel(RESTORE_ID)
        with pytest.raises(RestoreCancelledError):
            raised(world)
        assert (world.modifications.started, note(world)) == ([], None)


class TestLower:
    def test_a_volume_is_lowered_and_waited_for(self, world):
        raised(world)
        finish_raise(world)
        first = released(world)
        assert (first.finished, first.boost.state) == (False, "lowering")
        assert world.modifications.started[1:] == [(VOLUME_ID, ORIGINAL)]
        world.modifications.become(VOLUME_ID, "optimizing")
        last = released(world, minute=61, previous=first)
        assert (last.finished, last.boost.state) == (True, "lowered")
        assert note(world) is None
        again = released(world, minute=61, previous=first)
        assert (again.finished, again.boost.state) == (True, "lowered"), "the answer was lost"
        assert "rewarm:warm-since" in world.volumes.volumes[VOLUME_ID].settings.tags

    @pytest.mark.parametrize("state", ["modifying", "optimizing"])
    def test_the_message_does_not_wait_until_ec2_has_finished_the_raise(self, world, state):
        raised(world)
        world.modifications.become(VOLUME_ID, state)
        found = released(world)
        assert (found.finished, found.boost.state) == (True, "not-lowered")
        assert "EC2 takes its next change only when it has finished the raise" in found.boost.reason
        assert (found.boost.usd_per_hour, found.boost.command) == (Decimal("0.06"), BY_HAND)
        assert len(world.modifications.started) == 1
        assert note(world) is not None, "the sweeper finds it"

    def test_waits_a_while_for_throttles_and_then_leaves_it_to_the_sweeper(self, world):
        raised(world)
        finish_raise(world)
        world.modifications.failure = ThrottledError("slow down")
        first = released(world)
        assert (first.finished, first.boost.state) == (False, "lowering")
        last = released(world, minute=75, previous=first)
        assert (last.finished, last.boost.state) == (True, "not-lowered")
        assert last.boost.reason == "not within 15 min: slow down"

    def test_the_limit_of_changes_is_told(self, world):
        raised(world)
        finish_raise(world)
        world.modifications.failure = ModificationPostponedError("VolumeModificationRateExceeded")
        found = released(world)
        assert (found.finished, found.boost.state) == (True, "not-lowered")
        assert found.boost.reason == "VolumeModificationRateExceeded"
        assert note(world) is not None

    def test_without_the_tag_nothing_is_changed_any_more(self, world):
        raised(world)
        finish_raise(world)
        settings(world, tags={})
        found = released(world)
        assert (found.finished, found.boost.state) == (True, "not-lowered")
        assert "Key=rewarm:managed,Value=true" in found.boost.reason
        assert (len(world.modifications.started), note(world) is not None) == (1, True)

    @pytest.mark.parametrize("is_shown", [True, False])
    def test_what_somebody_else_has_set_stays(self, world, is_shown):
        raised(world)
        finish_raise(world)
        settings(world, iops=OTHER.iops, throughput_mib_s=OTHER.throughput_mib_s)
        if is_shown:
            other = VolumeModification("optimizing", OTHER, started_at=at(30))
            world.modifications.changes[VOLUME_ID] = other
        else:
            del world.modifications.changes[VOLUME_ID]
        found = released(world)
        assert (found.finished, found.boost.state) == (True, "left-alone")
        assert found.boost.reason == f"somebody has changed it to {OTHER.in_words}"
        assert (len(world.modifications.started), note(world)) == (1, None)

    def test_the_same_settings_by_somebody_else_stay(self, world):
        raised(world)
        finish_raise(world)
        world.modifications.changes[VOLUME_ID] = VolumeModification("completed", BOOSTED, started_at=at(30))
        assert released(world).boost.state == "left-alone"
        assert (len(world.modifications.started), note(world)) == (1, None)

    def test_a_volume_that_its_owner_has_grown_meanwhile_is_lowered(self, world):
        raised(world)
        grown = VolumeModification("optimizing", BOOSTED, started_at=at(30), original=BOOSTED)
        world.modifications.changes[VOLUME_ID] = grown
        settings(world, iops=BOOSTED.iops, throughput_mib_s=BOOSTED.throughput_mib_s, size_gib=120)
        found = released(world).boost
        assert (found.state, found.command) == ("not-lowered", BY_HAND)
        assert "EC2 takes its next change only when it has finished the last one" in found.reason
        finish_raise(world)
        assert released(world).boost.state == "lowering"
        assert world.modifications.started[1:] == [(VOLUME_ID, ORIGINAL)]

    def test_lowered_by_hand_is_lowered(self, world):
        raised(world)
        finish_raise(world)
        settings(world, iops=3_000, throughput_mib_s=125)
        by_hand = VolumeModification("optimizing", ORIGINAL, started_at=at(30))
        world.modifications.changes[VOLUME_ID] = by_hand
        assert released(world).boost.state == "lowered"
        assert (len(world.modifications.started), note(world)) == (1, None)

    def test_what_ec2_gave_up_was_never_raised(self, world):
        raised(world)
        world.modifications.become(VOLUME_ID, "failed")
        assert released(world).boost.state == "not-raised"
        assert note(world) is None

    def test_a_lowering_that_ec2_gave_up_is_asked_for_again(self, world):
        raised(world)
        finish_raise(world)
        released(world)
        world.modifications.become(VOLUME_ID, "failed")
        assert released(world).boost.state == "lowering"
        assert len(world.modifications.started) == 3

    def test_a_refused_raise_is_no_boost_whatever_others_change(self, world):
        """Somebody's change was the reason why EC2 refused."""
        world.modifications.failure = ModificationPostponedError("IncorrectModificationState")
        raised(world)
        world.modifications.changes[VOLUME_ID] = VolumeModification(
            "completed", ORIGINAL, started_at=at(-0.2)
        )
        assert released(world).boost.state == "not-raised"

    def test_a_raise_that_ec2_does_not_show_yet_is_not_forgotten(self, world):
        """The function may have been killed at its call, and EC2 shows what it accepts a moment later."""
        raised(world)
        change = world.modifications.changes.pop(VOLUME_ID)
        assert released(world, minute=2).boost.state == "not-raised"
        assert note(world) is not None
        world.modifications.changes[VOLUME_ID] = change
        assert released(world, minute=3).boost.state == "not-lowered"
        del world.modifications.changes[VOLUME_ID]
        released(world, minute=LATER.total_seconds() / 60)
        assert note(world) is None

    def test_a_note_that_somebody_deletes_is_made_again_and_the_volume_lowered(self, world):
        raised(world)
        world.table.discard(BOOST, VOLUME_ID)
        assert released(world).boost.state == "not-lowered"
        assert note(world) is not None
        finish_raise(world)
        world.table.discard(BOOST, VOLUME_ID)
        assert released(world, minute=61).boost.state == "lowering"
        assert world.modifications.started[-1] == (VOLUME_ID, ORIGINAL)

    def test_a_lost_note_is_no_reason_to_take_back_what_the_owner_has_changed(self, world):
        raised(world)
        finish_raise(world)
        world.table.discard(BOOST, VOLUME_ID)
        other = PerformanceSettings("gp3", 5_000, 600)
        world.modifications.changes[VOLUME_ID] = VolumeModification("completed", other, started_at=at(30))
        assert released(world).boost.state == "left-alone"
        assert len(world.modifications.started) == 1

    def test_a_deleted_volume_costs_nothing(self, world):
        raised(world)
        world.volumes.volumes[VOLUME_ID] = replace(world.volumes.volumes[VOLUME_ID])
        finish_raise(world)
        first = released(world)
        del world.volumes.volumes[VOLUME_ID]
        assert released(world, minute=61, previous=first).boost.state == "lowered"
        assert note(world) is None

    def test_a_refused_boost_is_told_at_the_end(self, world):
        world.modifications.failure = AccessDeniedError("ec2:ModifyVolume")
        raised(world)
        found = released(world)
        assert (found.finished, found.boost.state) == (True, "not-raised")
        assert found.boost.reason == "EC2 refused it: ec2:ModifyVolume"
        assert (found.boost.usd_per_hour, note(world)) == (None, None)

    def test_a_plan_that_needed_no_boost_says_so(self, world):
        assert released(world).boost.state == "not-raised"
        assert released(world, plan=plan()).boost is None

    def test_another_restores_boost_is_none_of_its_own(self, world):
        raised(world, restore_id="another")
        finish_raise(world)
        assert released(world, plan=plan()).boost is None
        assert len(world.modifications.started) == 1
        assert world.table.stored(BOOST, VOLUME_ID) is not None
