"""State Attach Volume."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rewarm.contracts.events import AttachVolumeEvent
from rewarm.domain.errors import DeviceInUseError, TargetNotUsableError, VolumeFailedError
from rewarm.domain.model import Attachment
from rewarm.steps.replace.device_look import LookPorts
from rewarm.steps.volume.attach_volume import AttachVolumePorts, attach_volume
from tests.support.builders import (
    DEVICE,
    INSTANCE_ID,
    NOW,
    RESTORE_ID,
    SNAPSHOT_ID,
    VOLUME_ID,
    ZONE,
    World,
    assignment,
    at,
    instance,
    request,
    zone_assignment,
)
from tests.support.wired import wired


def attach(world, volume=None, *, minute=0.0, previous=None):
    event = AttachVolumeEvent(
        restore_id=RESTORE_ID,
        now=at(minute),
        request=request(),
        volume=volume or assignment(),
        volume_id=VOLUME_ID,
        previous=previous,
    )
    look = LookPorts(world.instances, world.commands, world.artifacts)
    return attach_volume(event, wired(AttachVolumePorts, world, look=look))


@pytest.fixture
def world():
    world = World()
    settings = assignment().volume.settings()
    world.volumes.create(SNAPSHOT_ID, ZONE, settings, rate_mib_s=None, client_token="t")
    return world


class TestAttachVolume:
    def test_attaches_and_looks_again_later(self, world):
        first = attach(world)
        assert not first.attached
        result = attach(world, previous=first)
        assert (result.attached, result.device) == (True, DEVICE)
        assert world.volumes.volumes[VOLUME_ID].attachments == (Attachment(INSTANCE_ID, DEVICE, "attached"),)

    def test_waits_while_it_is_attaching(self, world):
        world.volumes.attaching_state = "attaching"
        result = attach(world, previous=attach(world))
        assert not result.attached
        assert result.wait_seconds >= 1

    def test_does_not_wait_for_ever(self, world):
        stuck = Attachment(INSTANCE_ID, DEVICE, "attaching", since=NOW)
        world.volumes.change(VOLUME_ID, state="in-use", attachments=(stuck,))
        assert not attach(world, minute=15).attached
        with pytest.raises(VolumeFailedError, match=r"still attaching at .* after 16 min"):
            attach(world, minute=16)

    def test_refuses_a_device_that_was_taken_in_the_meantime(self, world):
        world.instances.add(instance(devices={DEVICE: "vol-0123456789abcdef0"}))
        with pytest.raises(DeviceInUseError, match=f"{DEVICE} already holds vol-0123456789abcdef0"):
            attach(world)
        assert world.volumes.volumes[VOLUME_ID].attachments == ()

    def test_refuses_an_instance_that_was_stopped_in_the_meantime(self, world):
        world.instances.add(instance(state="stopping"))
        with pytest.raises(TargetNotUsableError, match="is stopping"):
            attach(world)

    def test_refuses_a_volume_that_somebody_else_has_taken(self, world):
        world.volumes.change(VOLUME_ID, attachments=(Attachment("i-other", DEVICE, "attached"),))
        with pytest.raises(VolumeFailedError, match="attached to i-other already"):
            attach(world)

    def test_a_volume_for_several_instances_may_be_attached_elsewhere(self, world):
        settings = replace(world.volumes.volumes[VOLUME_ID].settings, multi_attach=True)
        other = Attachment("i-other", DEVICE, "attached")
        world.volumes.change(VOLUME_ID, settings=settings, state="in-use", attachments=(other,))
        first = attach(world)
        assert not first.attached
        assert attach(world, previous=first).attached

    def test_an_attachment_whose_answer_was_lost_is_found(self, world):
        attach(world)
        assert attach(world).attached

    def test_refuses_a_volume_that_is_gone_bad(self, world):
        world.volumes.change(VOLUME_ID, state="error")
        with pytest.raises(VolumeFailedError, match="is error instead of available"):
            attach(world)

    def test_refuses_where_there_is_no_instance(self, world):
        with pytest.raises(TargetNotUsableError, match=r"^target.instanceId"):
            attach(world, zone_assignment())


class TestOnAStoppedInstance:
    """With target.start."""

    def volume(self, **changes):
        return assignment(device="/dev/xvda", starts_instance=True, **changes)

    @pytest.fixture
    def stopped(self, world):
        world.instances.add(instance(state="stopped", ssm_online=False, root_device="/dev/xvda", devices={}))
        return world

    def test_a_root_volume_goes_to_the_root_device(self, stopped):
        attach(stopped, self.volume())
        assert attach(stopped, self.volume()).device == "/dev/xvda"

    def test_the_end_of_the_instance_means_what_it_meant_at_the_source(self, stopped):
        for _ in range(2):
            attach(stopped, self.volume(delete_on_termination=True))
        (attachment,) = stopped.volumes.volumes[VOLUME_ID].attachments
        assert attachment.delete_on_termination

    def test_a_place_that_somebody_has_taken_is_refused(self, stopped):
        taken = {"/dev/xvda": "vol-0bbbbbbbbbbbbbbbb"}
        stopped.instances.add(replace(stopped.instances.instances[INSTANCE_ID], devices=taken))
        with pytest.raises(DeviceInUseError, match="holds vol-0bbbbbbbbbbbbbbbb"):
            attach(stopped, self.volume())

    def test_an_instance_that_runs_by_now_is_refused(self, world):
        with pytest.raises(TargetNotUsableError, match=r"is running; allowed with target\.start"):
            attach(world, self.volume())
