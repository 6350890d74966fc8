"""A stopped instance gets all its volumes back, the root volume too, and works; or all is as it was."""

from __future__ import annotations

import time
from typing import Any

import pytest

from local.aws.region.faults import FaultRule
from local.aws.region.resources import ImageDevice
from rewarm_cli import launching
from tests.support.stack.restores import PATIENT, RestoreUser, texts

Json = dict[str, Any]
ROOT, DATA = "/dev/xvda", "/dev/sdf"
DENIED = {"code": "UnauthorizedOperation", "message": "You are not authorized.", "status": 403}


class WholeInstance:
    """A stopped instance with a root volume and another one, and a snapshot of each."""

    def __init__(self, user: RestoreUser) -> None:
        self.user = user
        self.instance = user.instance(root_size_gib=0)
        self.old = {}
        for device in (ROOT, DATA):
            self.old[device] = user.region.add_volume(
                size_gib=1,
                snapshot_id=user.snapshot(),
                attach_to=self.instance,
                device=device,
                delete_on_termination=device == ROOT,
            )
            user.snapshot(volume_id=self.old[device])
        user.lab.client("ec2").stop_instances(InstanceIds=[self.instance])
        user.mark()

    def request(self, strategy: str, **changes: Any) -> Json:
        return {
            "source": {"instanceId": self.instance},
            "target": {"instanceId": self.instance, "mode": "replace", "start": True},
            "objective": {"strategy": strategy},
            "verify": PATIENT,
            **changes,
        }

    def shown(self) -> Json:
        (found,) = self.user.lab.client("ec2").describe_instances(InstanceIds=[self.instance])["Reservations"]
        shown: Json = found["Instances"][0]
        return shown

    @property
    def devices(self) -> dict[str, tuple[str, bool]]:
        mapped = self.shown()["BlockDeviceMappings"]
        return {
            one["DeviceName"]: (one["Ebs"]["VolumeId"], one["Ebs"]["DeleteOnTermination"]) for one in mapped
        }

    def assert_as_it_was(self) -> None:
        assert self.devices == {ROOT: (self.old[ROOT], True), DATA: (self.old[DATA], False)}
        assert self.shown()["State"]["Name"] == "stopped"
        assert not [tag for tag in self.shown()["Tags"] if tag["Key"].startswith("rewarm:")]
        for volume_id in self.old.values():
            assert not [key for key in self.user.volume(volume_id)["Tags"] if key.startswith("rewarm:")]
        assert self.user.left() == {}


@pytest.fixture
def whole(user: RestoreUser) -> WholeInstance:
    return WholeInstance(user)


def test_every_volume_is_in_its_place_warm_and_the_instance_is_up(
    user: RestoreUser, whole: WholeInstance
) -> None:
    done = user.restore(whole.request("warm-up-agent"))
    assert done.main.status == "SUCCEEDED", done.why
    new = {device: volume_id for device, (volume_id, _) in whole.devices.items()}
    assert sorted(new.values()) == sorted(user.volumes_of(done.restore_id))
    assert {device: kept for device, (_, kept) in whole.devices.items()} == {ROOT: True, DATA: False}
    assert whole.shown()["State"]["Name"] == "running"
    assert not [tag for tag in whole.shown()["Tags"] if tag["Key"].startswith("rewarm:")]
    for volume_id in new.values():
        counters = user.counters(volume_id)
        assert counters.read_blocks == counters.written_blocks > 0
    assert {user.volume(volume_id)["State"] for volume_id in whole.old.values()} == {"available"}
    instance = done.record["instance"]
    assert instance["state"] == "up"
    assert instance["startedAt"] < instance["upAt"] < instance["checkedAt"]
    for volume in done.volumes:
        states = volume.states
        order = ["Start Instance", "Announce Attached", "Dispatch Warmer", "Start Instance Check", "Release"]
        assert [states.index(name) for name in order] == sorted(states.index(name) for name in order)
    ready = texts(user.messages(done.restore_id)[-2])
    assert f"{whole.instance} was started with its new volumes at" in ready
    assert "had passed its status checks at" in ready


@pytest.fixture
def launched(user: RestoreUser, whole: WholeInstance, monkeypatch: pytest.MonkeyPatch) -> Json:
    """A stopped instance that `rewarm launch` has made, like the old one."""
    devices = [ImageDevice(ROOT, user.snapshot(), 1)]
    image = user.region.add_image(name="plain", devices=devices)
    user.region.change_instance(whole.instance, image_id=image)
    monkeypatch.setattr(launching, "pause", lambda _seconds: time.sleep(0.05))
    ec2 = user.lab.client("ec2")
    planned = launching.plan(ec2, launching.Wanted(like=whole.instance))
    made = launching.launch(ec2, planned, whole.instance, print)
    user.mark()
    return made


@pytest.mark.long
def test_a_new_instance_gets_every_volume(user: RestoreUser, whole: WholeInstance, launched: Json) -> None:
    """Devices and DeleteOnTermination are those of the source, which keeps its volumes."""
    target = {"instanceId": launched["InstanceId"], "mode": "replace", "start": True}
    done = user.restore(whole.request("warm-up-agent", target=target))
    assert done.main.status == "SUCCEEDED", done.why
    whole.instance = launched["InstanceId"]
    new = {device: volume_id for device, (volume_id, _) in whole.devices.items()}
    assert sorted(new.values()) == sorted(user.volumes_of(done.restore_id))
    assert {device: ends for device, (_, ends) in whole.devices.items()} == {ROOT: True, DATA: False}
    assert whole.shown()["State"]["Name"] == "running"
    for volume_id in new.values():
        counters = user.counters(volume_id)
        assert counters.read_blocks == counters.written_blocks > 0
    assert done.record["instance"]["checkedAt"]
    assert {user.volume(volume_id)["State"] for volume_id in whole.old.values()} == {"in-use"}


@pytest.mark.long
def test_a_new_instance_that_does_not_come_up_is_stopped_with_its_images_volume(
    user: RestoreUser, whole: WholeInstance, launched: Json
) -> None:
    user.region.change_instance(launched["InstanceId"], reachable=False, impaired="instance")
    target = {"instanceId": launched["InstanceId"], "mode": "replace", "start": True}
    done = user.restore(whole.request("provisioned-rate", target=target))
    assert "InstanceNotUpError" in done.volumes[0].error
    whole.instance = launched["InstanceId"]
    (root,) = launched["BlockDeviceMappings"]
    assert whole.devices == {ROOT: (root["Ebs"]["VolumeId"], True)}
    assert whole.shown()["State"]["Name"] == "stopped"
    assert user.left() == {}


@pytest.mark.long
def test_an_instance_that_does_not_come_up_is_as_it_was(user: RestoreUser, whole: WholeInstance) -> None:
    user.region.change_instance(whole.instance, reachable=False, impaired="instance")
    done = user.restore(whole.request("provisioned-rate"))
    assert "InstanceNotUpError" in done.volumes[0].error
    whole.assert_as_it_was()
    assert "instance impaired" in texts(user.messages(done.restore_id)[-1])


@pytest.mark.long
@pytest.mark.parametrize("operation", ["AttachVolume", "StartInstances", "CreateVolume"])
def test_all_is_as_it_was_where_one_volume_or_the_start_fails(
    user: RestoreUser, whole: WholeInstance, operation: str
) -> None:
    user.region.faults.add(FaultRule(operation, times=None if operation == "StartInstances" else 1, **DENIED))
    done = user.restore(whole.request("background", verify={"samples": 0}))
    assert done.main.status == "FAILED", done.why
    whole.assert_as_it_was()


@pytest.mark.long
def test_a_restore_that_is_cancelled_while_it_boots_leaves_all_as_it_was(
    user: RestoreUser, whole: WholeInstance
) -> None:
    with user.lab.clock.busy():
        restore_id = user.start(whole.request("provisioned-rate"))
        user.wait_for_state(restore_id, "Wait For Instance")
        assert user.call("DELETE", f"/restores/{restore_id}").status == 202
    done = user.finished(restore_id)
    assert done.record["status"] == "cancelled"
    whole.assert_as_it_was()
