"""State Check Volume."""

from __future__ import annotations

import pytest

from rewarm.domain.errors import RestoreCancelledError, VolumeFailedError, VolumeNotFoundError
from rewarm.steps.volume.check_volume import CheckVolumeEvent, CheckVolumePorts, check_volume
from rewarm.steps.volume.create_volume import CreateVolumeEvent, CreateVolumePorts, create_volume
from tests.support.builders import NOW, RESTORE_ID, VOLUME_ID, World, assignment, at, plan, request
from tests.support.wired import wired


def check(world, minute=0.5):
    event = CheckVolumeEvent(
        restore_id=RESTORE_ID, now=at(minute), volume=assignment(), volume_id=VOLUME_ID, plan=plan()
    )
    return check_volume(event, wired(CheckVolumePorts, world))


@pytest.fixture
def world():
    world = World()
    event = CreateVolumeEvent(
        restore_id=RESTORE_ID, now=NOW, request=request(), volume=assignment(), plan=plan(), attempt=0
    )
    create_volume(event, wired(CreateVolumePorts, world))
    return world


class TestCheckVolume:
    def test_waits_while_the_volume_is_created(self, world):
        world.volumes.change(VOLUME_ID, state="creating")
        result = check(world)
        assert (result.available, result.state) == (False, "creating")
        assert result.wait_seconds >= 1

    @pytest.mark.parametrize("state", ["available", "in-use"])
    def test_goes_on_once_it_can_be_used(self, world, state):
        world.volumes.change(VOLUME_ID, state=state)
        assert check(world).available

    def test_tells_whether_fast_snapshot_restore_did_it_good(self, world):
        world.volumes.change(VOLUME_ID, fast_restored=True)
        assert check(world).fast_restored is True

    @pytest.mark.parametrize("state", ["error", "deleting", "deleted"])
    def test_fails_with_the_volume(self, world, state):
        world.volumes.change(VOLUME_ID, state=state)
        with pytest.raises(VolumeFailedError, match=f"{VOLUME_ID} is {state} instead of available"):
            check(world)

    def test_waits_for_a_new_volume_that_ec2_does_not_show_yet(self, world):
        del world.volumes.volumes[VOLUME_ID]
        assert not check(world, minute=1).available

    def test_fails_where_the_volume_stays_away(self, world):
        del world.volumes.volumes[VOLUME_ID]
        with pytest.raises(VolumeNotFoundError):
            check(world, minute=3)

    def test_does_not_wait_for_ever(self, world):
        world.volumes.change(VOLUME_ID, state="creating")
        with pytest.raises(VolumeFailedError, match=f"{VOLUME_ID} is still being created after .* min"):
            check(world, minute=31)

    def test_stops_when_the_restore_is_cancelled(self, world):
        world.table.request_cancel(RESTORE_ID)
        with pytest.raises(RestoreCancelledError):
            check(world)
