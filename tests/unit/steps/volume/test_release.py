"""State Release."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rewarm.contracts.events import PrepareSnapshotEvent
from rewarm.domain.errors import (
    AccessDeniedError,
    ModificationPostponedError,
    RestoreCancelledError,
    ServiceUnavailableError,
    ThrottledError,
    VolumeFailedError,
)
from rewarm.domain.model import FastSnapshotRestore, Strategy
from rewarm.domain.volume.performance import BoostOutcome, PerformanceSettings, VolumeModification
from rewarm.steps.volume.create_volume import CreateVolumeEvent, CreateVolumePorts, create_volume
from rewarm.steps.volume.prepare_snapshot import PrepareSnapshotPorts, prepare_snapshot
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
    request,
)
from tests.support.wired import wired

PLACE = (SNAPSHOT_ID, ZONE)


def prepare(world, *, index=0, restore_id=RESTORE_ID):
    event = PrepareSnapshotEvent(
        restore_id=restore_id,
        now=NOW,
        volume=assignment(index=index),
        plan=plan(Strategy.FAST_SNAPSHOT_RESTORE),
    )
    prepare_snapshot(event, wired(PrepareSnapshotPorts, world))


def give_back(world, *, index=0, restore_id=RESTORE_ID):
    event = ReleaseEvent(restore_id=restore_id, now=at(10), volume=assignment(index=index))
    return give(world, event).released


def give(world, event):
    return release(
        event,
        wired(ReleasePorts, world),
    )


def be_throttled(world):
    """One release that fails; the next may succeed."""
    world.fast_restores.failure = ThrottledError("slow down")
    with pytest.raises(ThrottledError):
        give_back(world)
    world.fast_restores.failure = None


class TestRelease:
    def test_disables_what_we_enabled(self):
        world = World()
        prepare(world)
        assert give_back(world) == [f"fast snapshot restore of {SNAPSHOT_ID} in {ZONE} disabled"]
        assert world.fast_restores.disabled == [PLACE]

    def test_disables_it_again_where_that_is_not_known_to_be_done(self):
        world = World()
        prepare(world)
        be_throttled(world)
        assert len(give_back(world)) == 1
        assert world.table.claims == {}

    def test_from_here_on_nothing_is_cancelled_and_what_was_cancelled_goes_no_further(self):
        world = World()
        world.table.put_new(RESTORE_ID, {"volumeCount": 1})
        give_back(world)
        assert not world.table.request_cancel(RESTORE_ID, unless=["settled0"])
        give_back(world)
        other = World()
        prepare(other)
        other.table.request_cancel(RESTORE_ID)
        with pytest.raises(RestoreCancelledError):
            give_back(other)
        assert other.fast_restores.disabled == []

    def test_does_nothing_for_other_strategies(self):
        world = World()
        assert give_back(world) == []
        assert world.fast_restores.disabled == []

    def test_never_disables_what_somebody_else_enabled(self):
        world = World()
        world.fast_restores.states[PLACE] = FastSnapshotRestore("enabled", at(-600), 10.0)
        prepare(world)
        assert give_back(world) == []
        assert PLACE in world.fast_restores.states

    def test_the_last_of_two_volumes_disables_it_once(self):
        world = World()
        prepare(world, index=0)
        prepare(world, index=1)
        assert give_back(world, index=0) == []
        assert PLACE in world.fast_restores.states
        assert len(give_back(world, index=1)) == 1
        assert world.fast_restores.disabled == [PLACE]

    def test_the_last_of_two_restores_disables_it(self):
        world = World()
        prepare(world)
        prepare(world, restore_id="another")
        assert give_back(world) == []
        assert len(give_back(world, restore_id="another")) == 1

    def test_tries_again_after_a_failure(self):
        world = World()
        prepare(world)
        be_throttled(world)
        give_back(world)
        assert world.fast_restores.disabled == [PLACE]

    def test_a_repeated_release_changes_nothing(self):
        world = World()
        prepare(world)
        give_back(world)
        give_back(world)
        assert world.fast_restores.disabled == [PLACE]


class TestDeleted:
    @pytest.mark.parametrize("state", ["deleting", "deleted", None])
    def test_a_volume_that_somebody_has_deleted_is_never_called_ready(self, state):
        world = boosted_world()
        if state is None:
            del world.volumes.volumes[VOLUME_ID]
        else:
            world.volumes.change(VOLUME_ID, state=state)
        with pytest.raises(VolumeFailedError, match=f"{VOLUME_ID} was deleted after it had"):
            lower(world)
        assert "settled0" not in world.table.records.get(RESTORE_ID, {})

    def test_an_answer_that_ec2_does_not_give_changes_nothing(self, monkeypatch):
        world = boosted_world()
        prepare(world)

        def refused(volume_id):
            raise ThrottledError(f"DescribeVolumes of {volume_id}")

        monkeypatch.setattr(world.volumes, "get", refused)
        event = ReleaseEvent(restore_id=RESTORE_ID, now=at(10), volume=assignment(), volume_id=VOLUME_ID)
        assert give(world, event).finished


BOOSTED, TARGET = "gp3 with 4,000 IOPS and 1,000 MiB/s", "gp3 with 3,000 IOPS and 125 MiB/s"


def boosted_world():
    world = World()
    event = CreateVolumeEvent(
        restore_id=RESTORE_ID,
        now=NOW,
        request=request(),
        volume=assignment(),
        plan=boosted_plan(),
        attempt=0,
    )
    create_volume(event, wired(CreateVolumePorts, world))
    return world


def lower(world, *, minute=0, previous=None):
    event = ReleaseEvent(
        restore_id=RESTORE_ID,
        now=at(minute),
        volume=assignment(),
        volume_id=VOLUME_ID,
        plan=boosted_plan(),
        previous=previous,
    )
    return give(world, event)


class TestBoost:
    def test_is_taken_back_where_somebody_has_removed_its_tag(self):
        world = boosted_world()
        world.volumes.untag(VOLUME_ID, "rewarm:boost")
        assert lower(world).boost.state == "lowering"
        assert world.modifications.started == [(VOLUME_ID, PerformanceSettings("gp3", 3_000, 125))]

    def test_is_taken_back_and_waited_for(self):
        world = boosted_world()
        first = lower(world)
        assert (first.finished, first.wait_seconds, first.boost.state) == (False, 10, "lowering")
        assert world.modifications.started == [(VOLUME_ID, PerformanceSettings("gp3", 3_000, 125))]
        assert "rewarm:boost" in world.volumes.volumes[VOLUME_ID].settings.tags
        world.modifications.become(VOLUME_ID, "optimizing")
        last = lower(world, minute=1, previous=first)
        assert (last.finished, last.first_tried_at) == (True, NOW)
        assert last.boost == BoostOutcome("lowered", BOOSTED, TARGET)
        assert last.released == [f"boost of {VOLUME_ID} taken back: {TARGET} instead of {BOOSTED}"]
        assert "rewarm:boost" not in world.volumes.volumes[VOLUME_ID].settings.tags
        noted = world.table.records[RESTORE_ID]["boost0"]
        assert (noted["state"], noted["targetSettings"]) == ("lowered", "gp3 iops=3000 throughputMibS=125")

    def test_starts_one_modification_however_often_it_is_asked(self):
        world = boosted_world()
        for _ in range(3):
            lower(world)
        world.modifications.become(VOLUME_ID, "completed")
        for _ in range(3):
            assert lower(world).boost.state == "lowered"
        assert len(world.modifications.started) == 1

    def test_a_volume_that_somebody_has_lowered_is_left_alone(self):
        world = boosted_world()
        volume = world.volumes.volumes[VOLUME_ID]
        world.volumes.change(VOLUME_ID, settings=replace(volume.settings, iops=3_000, throughput_mib_s=125))
        assert lower(world).boost.state == "lowered"
        assert world.modifications.started == []

    def test_a_volume_that_is_deleted_while_it_is_lowered_costs_nothing(self):
        world = boosted_world()
        first = lower(world)
        world.volumes.volumes.clear()
        assert lower(world, minute=1, previous=first).finished

    def test_waits_for_somebody_elses_modification(self):
        world = boosted_world()
        other = PerformanceSettings("gp3", 5_000, 500)
        world.modifications.changes[VOLUME_ID] = VolumeModification("optimizing", other)
        first = lower(world)
        assert (first.finished, first.boost.reason) == (False, "IncorrectModificationState: optimizing")
        world.modifications.become(VOLUME_ID, "completed")
        assert not lower(world, minute=1, previous=first).finished
        assert len(world.modifications.started) == 1

    def test_a_failed_modification_is_tried_again(self):
        world = boosted_world()
        lower(world)
        world.modifications.become(VOLUME_ID, "failed")
        lower(world)
        assert len(world.modifications.started) == 2

    @pytest.mark.parametrize("busy", [ThrottledError, ServiceUnavailableError, ModificationPostponedError])
    def test_is_tried_again_for_a_while(self, busy):
        world = boosted_world()
        world.modifications.failure = busy("VolumeModificationRateExceeded")
        first = lower(world)
        assert not first.finished
        last = lower(world, minute=15, previous=first)
        assert (last.finished, last.boost.state) == (True, "not-lowered")
        assert last.boost.reason == "not within 15 min: VolumeModificationRateExceeded"
        assert last.released == []

    def test_a_refusal_fails_nothing_and_is_told(self):
        world = boosted_world()
        world.modifications.failure = AccessDeniedError("ec2:ModifyVolume")
        told = lower(world)
        assert (told.finished, told.boost.state, told.boost.reason) == (
            True,
            "not-lowered",
            "ec2:ModifyVolume",
        )
        assert world.table.records[RESTORE_ID]["boost0"]["reason"] == "ec2:ModifyVolume"

    def test_a_tag_that_somebody_has_changed_changes_nothing(self):
        world = boosted_world()
        world.volumes.tag(VOLUME_ID, {"rewarm:boost": "gp3 iops=16000"})
        assert lower(world).boost.state == "lowering"
        assert [target.iops for _, target in world.modifications.started] == [3_000]

    def test_keeps_what_an_earlier_call_gave_back(self):
        world = boosted_world()
        first = lower(world).model_copy(update={"released": ["something else"]})
        assert lower(world, previous=first).released == ["something else"]
