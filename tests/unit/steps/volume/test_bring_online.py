"""Disks of Windows that come online once they are attached."""

from __future__ import annotations

import json

import pytest

from rewarm.contracts.events import AttachVolumeEvent
from rewarm.contracts.results import AttachVolumeResult
from rewarm.contracts.values import ReplacedVolume
from rewarm.domain.errors import RestoreCancelledError
from rewarm.domain.model import Attachment
from rewarm.steps.replace.device_look import LookPorts
from rewarm.steps.volume.attach_volume import AttachVolumePorts, attach_volume
from tests.support.builders import (
    DEVICE,
    INSTANCE_ID,
    RESTORE_ID,
    SNAPSHOT_ID,
    VOLUME_ID,
    ZONE,
    World,
    assignment,
    at,
    instance,
    request,
)
from tests.support.wired import wired

OLD = ReplacedVolume(volume_id="vol-0fedcba9876543210", size_gib=100)


@pytest.fixture
def world():
    world = World()
    world.instances.add(instance(platform="windows", architecture="x86_64"))
    world.artifacts.agents["windows", "x86_64"] = ("agents/warmer.exe", "a" * 64)
    world.volumes.create(SNAPSHOT_ID, ZONE, assignment().volume.settings(), rate_mib_s=None, client_token="t")
    place = Attachment(INSTANCE_ID, DEVICE, "attached")
    world.volumes.change(VOLUME_ID, state="in-use", attachments=(place,))
    return world


def attach(world, previous=None, *, minute=0.0, replaces=None, **target):
    asked = request(target={"instanceId": INSTANCE_ID, **target})
    event = AttachVolumeEvent(
        restore_id=RESTORE_ID,
        now=at(minute),
        request=asked,
        volume=assignment().model_copy(update={"replaces": replaces}),
        volume_id=VOLUME_ID,
        previous=previous,
    )
    look = LookPorts(world.instances, world.commands, world.artifacts)
    return attach_volume(event, wired(AttachVolumePorts, world, look=look))


def ends(world, *mounts, stderr=""):
    told = {"event": "use", "volumeId": VOLUME_ID, "mounts": list(mounts), "others": []}
    world.commands.finish(world.commands.sent[-1][0], stdout=json.dumps(told), stderr=stderr)


def online(world, *mounts, stderr="", **target):
    """What comes of it where the instance answers so."""
    first = attach(world, bringOnline=True, **target)
    assert not first.attached
    ends(world, *mounts, stderr=stderr)
    return attach(world, first, minute=0.1, bringOnline=True, **target)


def sent_parameters(world):
    return world.commands.sent[-1][2]


class TestBringOnline:
    def test_without_consent_nothing_is_sent(self, world):
        assert attach(world).attached
        assert world.commands.sent == []

    def test_the_letter_that_windows_gives_is_in_the_result(self, world):
        result = online(world, "E:\\")
        assert result == AttachVolumeResult(
            attached=True, wait_seconds=2, device=DEVICE, mount_points=["E:\\"]
        )
        assert len(world.commands.sent) == 1

    def test_the_wished_path_is_handed_on(self, world):
        assert online(world, "E:\\", mountPath="e:").online_problem is None
        assert (sent_parameters(world)["action"], sent_parameters(world)["mountPath"]) == ("online", "e:")

    def test_a_wish_that_windows_refuses_is_said_and_the_restore_goes_on(self, world):
        why = "warmer: cannot mount the volume at E:\\: Directory not empty"
        result = online(world, "F:\\", stderr=why, mountPath="E:")
        assert (result.attached, result.mount_points, result.online_problem) == (True, ["F:\\"], why)

    def test_a_disk_without_a_letter_is_said(self, world):
        result = online(world, "disk 3, which is online")
        assert result.mount_points == []
        assert result.online_problem == "the disk is online, but Windows has given it no drive letter"

    def test_it_waits_for_the_answer_but_not_for_ever(self, world):
        first = attach(world, bringOnline=True)
        again = attach(world, first, minute=1, bringOnline=True)
        assert (again.attached, again.command_id) == (False, first.command_id)
        last = attach(world, again, minute=7, bringOnline=True)
        assert (last.attached, last.online_problem) == (True, "no answer came")

    def test_an_agent_that_fails_fails_no_restore(self, world):
        first = attach(world, bringOnline=True)
        world.commands.finish(
            world.commands.sent[-1][0], status="Failed", stdout="", stderr="warmer: Permission denied"
        )
        result = attach(world, first, bringOnline=True)
        assert (result.attached, result.online_problem) == (True, "warmer: Permission denied")

    def test_an_instance_out_of_reach_fails_no_restore(self, world):
        world.instances.add(instance(platform="windows", ssm_online=False))
        result = attach(world, bringOnline=True)
        assert result.attached
        assert result.online_problem == f"{INSTANCE_ID} is not online in Systems Manager"

    def test_a_cancelled_restore_brings_nothing_online(self, world):
        world.table.update(RESTORE_ID, {"cancelRequested": True})
        with pytest.raises(RestoreCancelledError):
            attach(world, bringOnline=True)
        assert world.commands.sent == []


class TestReplacedDisks:
    @pytest.mark.parametrize(
        ("before", "wished"),
        [
            (["E:\\"], "E:\\"),
            (["E:\\", "D:\\data\\"], ""),
            (["disk 3, which is online"], ""),
            ([], ""),
        ],
    )
    def test_the_new_volume_gets_the_letter_of_the_old_one(self, world, before, wished):
        world.table.update_volume(RESTORE_ID, 0, {"replaced": {"unmounted": before}})
        attach(world, bringOnline=True, replaces=OLD, mode="replace")
        assert sent_parameters(world)["mountPath"] == wished

    def test_another_path_may_be_asked_for(self, world):
        world.table.update_volume(RESTORE_ID, 0, {"replaced": {"unmounted": ["E:\\"]}})
        attach(world, bringOnline=True, replaces=OLD, mode="replace", mountPath="G:")
        assert sent_parameters(world)["mountPath"] == "G:"
