"""State Create Volume."""

from __future__ import annotations

import pytest

from rewarm.contracts import CreateVolumeEvent
from rewarm.domain.errors import (
    CapacityUnavailableError,
    InitializationRateUnavailableError,
    RestoreCancelledError,
)
from rewarm.domain.model import Strategy
from rewarm.steps.create_volume import client_token, create_volume
from tests.support.builders import NOW, RESTORE_ID, SNAPSHOT_ID, VOLUME_ID, World, assignment, plan, request


def create(world, *, strategy=Strategy.WARM_UP_AGENT, attempt=0, volume=None):
    event = CreateVolumeEvent(
        restore_id=RESTORE_ID,
        now=NOW,
        request=request(),
        volume=volume or assignment(),
        plan=plan(strategy),
        attempt=attempt,
    )
    return create_volume(event, volumes=world.volumes, table=world.table, stack_name="rewarm")


class TestCreateVolume:
    def test_creates_the_volume_as_planned(self):
        world = World()
        assert create(world).volume_id == VOLUME_ID
        volume = world.volumes.volumes[VOLUME_ID]
        assert (volume.snapshot_id, volume.availability_zone) == (SNAPSHOT_ID, "ap-northeast-1a")
        assert (volume.settings.iops, volume.settings.throughput_mib_s) == (3_000, 125)
        assert world.volumes.rates[VOLUME_ID] is None

    def test_asks_for_the_rate_of_the_plan(self):
        world = World()
        create(world, strategy=Strategy.PROVISIONED_RATE)
        assert world.volumes.rates[VOLUME_ID] == 100

    def test_creates_one_volume_however_often_it_is_retried(self):
        world = World()
        first, second = create(world), create(world)
        assert first == second
        assert len(world.volumes.volumes) == 1

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
        settings = assignment().volume.model_copy(update={"tags": {"app": "shop"}})
        create(world, volume=assignment(index=3, volume=settings))
        assert world.volumes.volumes[VOLUME_ID].settings.tags == {
            "app": "shop",
            "rewarm:restore-id": RESTORE_ID,
            "rewarm:volume-index": "3",
            "rewarm:stack": "rewarm",
            "rewarm:strategy": "warm-up-agent",
            "rewarm:snapshot-id": SNAPSHOT_ID,
        }

    def test_notes_the_volume(self):
        world = World()
        create(world)
        assert world.table.records[RESTORE_ID]["volume0"]["volumeId"] == VOLUME_ID
        assert world.table.records[RESTORE_ID]["status"] == "restoring"

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
