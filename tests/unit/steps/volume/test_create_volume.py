"""State Create Volume."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rewarm.domain.errors import (
    BoostUnavailableError,
    CapacityUnavailableError,
    InitializationRateUnavailableError,
    QuotaExceededError,
    RequestRefusedError,
    RestoreCancelledError,
    VolumeCopyUnavailableError,
)
from rewarm.domain.model import Strategy, VolumeSettings
from rewarm.steps.record.volume import VolumeNotes
from rewarm.steps.volume.create_volume import (
    CreateVolumeEvent,
    CreateVolumePorts,
    client_token,
    create_volume,
)
from tests.support.builders import (
    NOW,
    RESTORE_ID,
    SNAPSHOT_ID,
    SOURCE_VOLUME_ID,
    VOLUME_ID,
    ZONE,
    World,
    assignment,
    boosted_plan,
    plan,
    request,
)
from tests.support.wired import wired


def create(world, *, strategy=Strategy.WARM_UP_AGENT, attempt=0, volume=None, chosen=None):
    event = CreateVolumeEvent(
        restore_id=RESTORE_ID,
        now=NOW,
        request=request(),
        volume=volume or assignment(),
        plan=chosen or plan(strategy),
        attempt=attempt,
    )
    return create_volume(event, wired(CreateVolumePorts, world))


class TestCreateVolume:
    def test_creates_the_volume_as_planned(self):
        world = World()
        assert create(world).volume_id == VOLUME_ID
        volume = world.volumes.volumes[VOLUME_ID]
        assert (volume.snapshot_id, volume.availability_zone) == (SNAPSHOT_ID, "ap-northeast-1a")
        assert (volume.settings.iops, volume.settings.throughput_mib_s) == (3_000, 125)
        assert world.volumes.rates[VOLUME_ID] is None
        assert world.table.of_volumes == {VOLUME_ID: {RESTORE_ID}}

    def test_asks_for_the_rate_of_the_plan(self):
        world = World()
        create(world, strategy=Strategy.PROVISIONED_RATE)
        assert world.volumes.rates[VOLUME_ID] == 100

    def test_creates_one_volume_however_often_it_is_retried(self):
        world = World()
        first, second = create(world), create(world)
        assert first == second
        assert len(world.volumes.volumes) == 1

    @pytest.mark.parametrize("is_planned", [True, False])
    def test_the_record_knows_of_the_volume_before_it_is_created(self, is_planned):
        """Else nothing proves that it is ours, where the id cannot be noted: nobody would delete it."""
        world = World()
        if is_planned:
            world.table.update_volume(RESTORE_ID, 0, {"plan": {"index": 0}})
        world.volumes.failure = RequestRefusedError("CreateVolume: refused")
        with pytest.raises(RequestRefusedError):
            create(world)
        known = VolumeNotes(world.table, RESTORE_ID, 0).read()
        (creation,) = known.creations.values()
        assert (creation.asked_at, creation.origin, creation.zone) == (NOW, SNAPSHOT_ID, ZONE)
        assert known.plan is not None

    def test_the_next_plan_has_a_token_of_its_own(self):
        world = World()
        first, second = create(world), create(world, strategy=Strategy.BACKGROUND, attempt=1)
        assert first.client_token != second.client_token
        assert len(world.volumes.volumes) == 2

    def test_the_token_is_what_ec2_takes(self):
        token = client_token(RESTORE_ID, 0, 0)
        assert len(token) == 64
        assert token.isascii()

    def test_tags_the_volume_with_whose_it_is_and_keeps_the_users_tags(self):
        world = World()
        settings = replace(assignment().volume, tags={"app": "shop"})
        create(world, volume=assignment(index=3, volume=settings))
        assert world.volumes.volumes[VOLUME_ID].settings.tags == {
            "app": "shop",
            "rewarm:restore-id": RESTORE_ID,
            "rewarm:volume-index": "3",
            "rewarm:stack": "rewarm",
            "rewarm:strategy": "warm-up-agent",
            "rewarm:attempt": "0",
            "rewarm:creation": f"key of {RESTORE_ID}/3/0",
            "rewarm:snapshot-id": SNAPSHOT_ID,
        }

    def test_notes_the_volume(self):
        world = World()
        create(world)
        assert world.table.records[RESTORE_ID]["volume0"]["volumeId"] == VOLUME_ID
        assert world.table.records[RESTORE_ID]["status"] == "restoring"

    @pytest.mark.parametrize("mark", ["sweptAt", "finishedAt"])
    def test_a_restore_that_is_over_keeps_its_status_and_knows_the_volume(self, mark):
        """Stopping an execution does not stop the function that it has called."""
        world = World()
        world.table.records[RESTORE_ID] = {"status": "failed", mark: "2026-11-21T03:00:00Z"}
        create(world)
        assert world.table.records[RESTORE_ID]["status"] == "failed"
        assert world.table.records[RESTORE_ID]["volume0"]["volumeId"] == VOLUME_ID

    def test_tells_that_the_rate_cannot_be_had(self):
        world = World()
        world.volumes.supplies_rates = False
        with pytest.raises(InitializationRateUnavailableError):
            create(world, strategy=Strategy.PROVISIONED_RATE)

    def test_tells_that_there_is_no_capacity(self):
        world = World()
        world.volumes.failure = CapacityUnavailableError("InsufficientVolumeCapacity")
        with pytest.raises(CapacityUnavailableError):
            create(world)
        assert world.volumes.volumes == {}

    def test_creates_nothing_once_the_restore_is_cancelled(self):
        world = World()
        world.table.put_new(RESTORE_ID, {})
        world.table.request_cancel(RESTORE_ID)
        with pytest.raises(RestoreCancelledError, match="cancelled"):
            create(world)
        assert world.volumes.volumes == {}


class TestBoost:
    def test_the_volume_has_the_boost_and_says_what_to_go_back_to(self):
        world = World()
        create(world, chosen=boosted_plan())
        settings = world.volumes.volumes[VOLUME_ID].settings
        assert (settings.volume_type, settings.iops, settings.throughput_mib_s) == ("gp3", 4_000, 1_000)
        assert settings.tags["rewarm:boost"] == "gp3 iops=3000 throughputMibS=125"
        assert world.table.records[RESTORE_ID]["boost0"] == {
            "volumeId": VOLUME_ID,
            "state": "boosted",
            "boosted": "gp3 with 4,000 IOPS and 1,000 MiB/s",
            "target": "gp3 with 3,000 IOPS and 125 MiB/s",
            "targetSettings": "gp3 iops=3000 throughputMibS=125",
            "at": "2026-11-21T03:00:00Z",
        }

    def test_without_a_boost_there_is_neither_tag_nor_record(self):
        world = World()
        create(world)
        assert "rewarm:boost" not in world.volumes.volumes[VOLUME_ID].settings.tags
        assert "boost0" not in world.table.records[RESTORE_ID]

    @pytest.mark.parametrize("refusal", [QuotaExceededError, RequestRefusedError])
    def test_a_refused_boost_leaves_the_next_plan_its_chance(self, refusal):
        world = World()
        world.volumes.failure = refusal("MaxIOPSLimitExceeded")
        with pytest.raises(BoostUnavailableError, match=r"4,000 IOPS and 1,000 MiB/s cannot be had: MaxIOPS"):
            create(world, chosen=boosted_plan())
        with pytest.raises(refusal):
            create(world)


def clone_world(size_gib=100, zone=ZONE):
    """The source volume lives."""
    world = World()
    source = world.volumes.create(
        SNAPSHOT_ID,
        zone,
        VolumeSettings("gp3", size_gib, 3_000, 125),
        rate_mib_s=None,
        client_token="source",
    )
    return world, assignment(source_volume_id=source)


class TestClone:
    def test_copies_the_source_as_it_is_now(self):
        world, volume = clone_world()
        made = create(world, strategy=Strategy.VOLUME_CLONE, volume=volume).volume_id
        assert world.volumes.copied == {made: volume.source_volume_id}
        tags = world.volumes.volumes[made].settings.tags
        assert tags["rewarm:source-volume-id"] == volume.source_volume_id
        assert "rewarm:snapshot-id" not in tags

    def test_a_retried_state_copies_once(self):
        world, volume = clone_world()
        first, second = (create(world, strategy=Strategy.VOLUME_CLONE, volume=volume) for _ in range(2))
        assert first == second
        assert len(world.volumes.copied) == 1

    def test_a_source_that_has_grown_decides_the_size(self):
        world, volume = clone_world(size_gib=150)
        made = create(world, strategy=Strategy.VOLUME_CLONE, volume=volume).volume_id
        assert world.volumes.volumes[made].settings.size_gib == 150

    def test_a_source_that_is_gone_cannot_be_copied(self):
        with pytest.raises(VolumeCopyUnavailableError, match=f"source volume {SOURCE_VOLUME_ID} is gone"):
            create(World(), strategy=Strategy.VOLUME_CLONE)
        with pytest.raises(VolumeCopyUnavailableError, match="names no source volume"):
            create(World(), strategy=Strategy.VOLUME_CLONE, volume=assignment(source_volume_id=None))

    def test_a_source_in_another_zone_cannot_be_copied(self):
        world, volume = clone_world(zone="ap-northeast-1c")
        with pytest.raises(VolumeCopyUnavailableError, match="is in ap-northeast-1c, and a copy stays there"):
            create(world, strategy=Strategy.VOLUME_CLONE, volume=volume)
        assert world.volumes.copied == {}

    def test_a_refused_copy_is_told(self):
        world, volume = clone_world()
        world.volumes.failure = VolumeCopyUnavailableError("CopyVolumesLimitExceeded")
        with pytest.raises(VolumeCopyUnavailableError, match="CopyVolumesLimitExceeded"):
            create(world, strategy=Strategy.VOLUME_CLONE, volume=volume)
