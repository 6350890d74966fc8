"""State Attach Volume."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from rewarm.contracts.events import AttachVolumeEvent
from rewarm.contracts.results import AttachVolumeResult
from rewarm.contracts.values import ReplacedVolume
from rewarm.domain.errors import (
    DeviceInUseError,
    RestoreCancelledError,
    TargetNotUsableError,
    VolumeFailedError,
)
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

    @pytest.mark.parametrize("card", [None, 0, 1])
    def test_names_the_card_of_the_plan(self, world, card):
        attach(world, assignment(card=card))
        assert world.volumes.cards[VOLUME_ID] == card

    def test_names_it_where_it_looks_before_it_attaches(self, world):
        previous = AttachVolumeResult(attached=False, wait_seconds=2, device=DEVICE)
        attach(world, assignment(card=1), previous=previous)
        assert world.volumes.cards[VOLUME_ID] == 1

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


OLD = ReplacedVolume(volume_id="vol-0fedcba9876543210", size_gib=100)


@pytest.fixture
def windows():
    windows = World()
    windows.instances.add(instance(platform="windows", architecture="x86_64"))
    windows.artifacts.agents["windows", "x86_64"] = ("agents/warmer.exe", "a" * 64)
    windows.volumes.create(
        SNAPSHOT_ID, ZONE, assignment().volume.settings(), rate_mib_s=None, client_token="t"
    )
    place = Attachment(INSTANCE_ID, DEVICE, "attached")
    windows.volumes.change(VOLUME_ID, state="in-use", attachments=(place,))
    return windows


def bring_online_by(windows, previous=None, *, minute=0.0, replaces=None, **target):
    asked = request(target={"instanceId": INSTANCE_ID, **target})
    event = AttachVolumeEvent(
        restore_id=RESTORE_ID,
        now=at(minute),
        request=asked,
        volume=assignment().model_copy(update={"replaces": replaces}),
        volume_id=VOLUME_ID,
        previous=previous,
    )
    look = LookPorts(windows.instances, windows.commands, windows.artifacts)
    return attach_volume(event, wired(AttachVolumePorts, windows, look=look))


def ends(windows, *mounts, stderr=""):
    told = {"event": "use", "volumeId": VOLUME_ID, "mounts": list(mounts), "others": []}
    windows.commands.finish(windows.commands.sent[-1][0], stdout=json.dumps(told), stderr=stderr)


def online(windows, *mounts, stderr="", **target):
    """What comes of it where the instance answers so."""
    first = bring_online_by(windows, bringOnline=True, **target)
    assert not first.attached
    ends(windows, *mounts, stderr=stderr)
    return bring_online_by(windows, first, minute=0.1, bringOnline=True, **target)


def sent_parameters(windows):
    return windows.commands.sent[-1][2]


class TestBringOnline:
    def test_without_consent_nothing_is_sent(self, windows):
        assert bring_online_by(windows).attached
        assert windows.commands.sent == []

    def test_the_letter_that_windows_gives_is_in_the_result(self, windows):
        result = online(windows, "E:\\")
        assert result == AttachVolumeResult(
            attached=True, wait_seconds=2, device=DEVICE, mount_points=["E:\\"]
        )
        assert len(windows.commands.sent) == 1

    def test_the_wished_path_is_handed_on(self, windows):
        assert online(windows, "E:\\", mountPath="e:").online_problem is None
        assert (sent_parameters(windows)["action"], sent_parameters(windows)["mountPath"]) == ("online", "e:")

    def test_a_wish_that_windows_refuses_is_said_and_the_restore_goes_on(self, windows):
        why = "warmer: cannot mount the volume at E:\\: Directory not empty"
        result = online(windows, "F:\\", stderr=why, mountPath="E:")
        assert (result.attached, result.mount_points, result.online_problem) == (True, ["F:\\"], why)

    def test_a_disk_without_a_letter_is_said(self, windows):
        result = online(windows, "disk 3, which is online")
        assert result.mount_points == []
        assert result.online_problem == "the disk is online, but Windows has given it no drive letter"

    def test_it_waits_for_the_answer_but_not_for_ever(self, windows):
        first = bring_online_by(windows, bringOnline=True)
        again = bring_online_by(windows, first, minute=1, bringOnline=True)
        assert (again.attached, again.command_id) == (False, first.command_id)
        last = bring_online_by(windows, again, minute=7, bringOnline=True)
        assert (last.attached, last.online_problem) == (True, "no answer came")

    def test_an_agent_that_fails_fails_no_restore(self, windows):
        first = bring_online_by(windows, bringOnline=True)
        windows.commands.finish(
            windows.commands.sent[-1][0], status="Failed", stdout="", stderr="warmer: Permission denied"
        )
        result = bring_online_by(windows, first, bringOnline=True)
        assert (result.attached, result.online_problem) == (True, "warmer: Permission denied")

    def test_an_instance_out_of_reach_fails_no_restore(self, windows):
        windows.instances.add(instance(platform="windows", ssm_online=False))
        result = bring_online_by(windows, bringOnline=True)
        assert result.attached
        assert result.online_problem == f"{INSTANCE_ID} is not online in Systems Manager"

    def test_a_cancelled_restore_brings_nothing_online(self, windows):
        windows.table.update(RESTORE_ID, {"cancelRequested": True})
        with pytest.raises(RestoreCancelledError):
            bring_online_by(windows, bringOnline=True)
        assert windows.commands.sent == []


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
    def test_the_new_volume_gets_the_letter_of_the_old_one(self, windows, before, wished):
        windows.table.update_volume(RESTORE_ID, 0, {"replaced": {"unmounted": before}})
        bring_online_by(windows, bringOnline=True, replaces=OLD, mode="replace")
        assert sent_parameters(windows)["mountPath"] == wished

    def test_another_path_may_be_asked_for(self, windows):
        windows.table.update_volume(RESTORE_ID, 0, {"replaced": {"unmounted": ["E:\\"]}})
        bring_online_by(windows, bringOnline=True, replaces=OLD, mode="replace", mountPath="G:")
        assert sent_parameters(windows)["mountPath"] == "G:"
