"""States Start Instance and Start Instance Check."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rewarm.domain.errors import (
    InstanceNotUpError,
    RestoreCancelledError,
    ServiceUnavailableError,
    TargetNotUsableError,
)
from rewarm.domain.model import Attachment, StatusChecks, Volume
from rewarm.domain.units import iso
from rewarm.domain.volume.replacing import STARTED_TAG
from rewarm.steps.volume.start_instance import StartInstanceEvent, StartInstancePorts, start_instance
from tests.support.builders import (
    INSTANCE_ID,
    NOW,
    RESTORE_ID,
    ZONE,
    World,
    assignment,
    at,
    instance,
)
from tests.support.wired import wired

VOLUMES = ["vol-00000000000000001", "vol-00000000000000002"]
DEVICES = ["/dev/xvda", "/dev/sdf"]


def ask(world, index=0, *, phase="start", minute=0.0, pending=None):
    event = StartInstanceEvent(
        restore_id=RESTORE_ID,
        now=at(minute),
        volume=assignment(index=index, device=DEVICES[index], starts_instance=True),
        phase=phase,
        pending=pending,
    )
    return start_instance(event, wired(StartInstancePorts, world, states=world.instances))


def attach(world, index):
    place = Attachment(INSTANCE_ID, DEVICES[index], "attached")
    world.volumes.change(VOLUMES[index], state="in-use", attachments=(place,))


def noted(world):
    return world.table.records[RESTORE_ID].get("instance")


@pytest.fixture
def world():
    """A stopped instance, and two volumes that were made for it."""
    world = World()
    world.instances.add(instance(state="stopped", ssm_online=False))
    record = {"volumeCount": 2}
    for index, volume_id in enumerate(VOLUMES):
        settings = replace(assignment().volume.settings(), tags={"rewarm:restore-id": RESTORE_ID})
        world.volumes.volumes[volume_id] = Volume(volume_id, "available", ZONE, settings, None, None, (), NOW)
        record[f"volume{index}"] = {"volumeId": volume_id, "volumeIds": {"0": volume_id}}
    world.table.records[RESTORE_ID] = record
    return world


@pytest.fixture
def attached(world):
    attach(world, 0)
    attach(world, 1)
    return world


class TestStart:
    def test_a_look_reads_the_record_once(self, world, monkeypatch):
        reads = []
        for name in ("get", "standing"):
            read = getattr(world.table, name)
            monkeypatch.setattr(
                world.table, name, lambda *found, own=read, called=name: reads.append(called) or own(*found)
            )
        ask(world)
        assert reads == ["get"]

    def test_waits_until_every_volume_is_attached(self, world):
        attach(world, 0)
        result = ask(world)
        assert (result.finished, result.state) == (False, "waiting")
        assert world.instances.starts == []
        attach(world, 1)
        assert ask(world).state == "starting"
        assert world.instances.starts == [INSTANCE_ID]

    def test_a_volume_that_somebody_tagged_like_ours_does_not_count(self, world):
        attach(world, 0)
        stranger = replace(world.volumes.volumes[VOLUMES[0]], volume_id="vol-00000000000000009")
        world.volumes.volumes[stranger.volume_id] = stranger
        assert ask(world).state == "waiting"

    def test_nothing_is_started_where_the_record_is_lost(self, attached):
        del attached.table.records[RESTORE_ID]
        with pytest.raises(InstanceNotUpError, match="was not started: the restore's record is gone"):
            ask(attached)
        assert attached.instances.starts == []

    @pytest.mark.parametrize("is_up", [True, False])
    def test_what_an_execution_has_seen_is_noted_again_where_the_record_is_lost(self, attached, is_up):
        """Else nobody could stop the instance again where it does not come up."""
        seen = ask(attached)
        if is_up:
            attached.instances.hear(INSTANCE_ID, at(1))
            seen = ask(attached, minute=1, pending=seen)
        before = {name: value for name, value in noted(attached).items() if name != "askedAt"}
        attached.table.records[RESTORE_ID] = {}
        ask(attached, phase="check" if is_up else "start", minute=2, pending=seen)
        assert noted(attached) == before

    def test_its_time_begins_when_ec2_has_accepted_the_start(self, attached):
        """EC2 may throttle StartInstances for long."""
        attached.table.records[RESTORE_ID]["instance"] = {"state": "started", "startedAt": iso(at(0))}
        assert ask(attached, minute=19).state == "starting"
        assert noted(attached)["askedAt"] == iso(at(19))
        assert ask(attached, minute=38).state == "starting"
        with pytest.raises(InstanceNotUpError):
            ask(attached, minute=40)

    def test_is_started_once_and_with_the_tag_that_allows_it(self, attached):
        ask(attached)
        ask(attached, 1, minute=0.1)
        assert attached.instances.starts == [INSTANCE_ID]
        assert attached.instances.get(INSTANCE_ID).tags == {STARTED_TAG: "rewarm"}
        assert noted(attached)["state"] == "started"

    def test_is_up_when_systems_manager_hears_from_it(self, attached):
        ask(attached)
        attached.instances.hear(INSTANCE_ID, at(1))
        result = ask(attached, minute=1.1)
        assert (result.finished, result.state) == (True, "up")
        assert (result.started_at, result.up_at) == (NOW, at(1.1))
        assert attached.instances.get(INSTANCE_ID).tags == {}
        assert ask(attached, 1, minute=2).up_at == at(1.1)

    def test_what_systems_manager_heard_before_the_start_does_not_count(self, attached):
        attached.instances.hear(INSTANCE_ID, at(-1))
        ask(attached)
        assert ask(attached, minute=0.2).state == "starting"

    def test_is_up_without_systems_manager_when_its_status_checks_have_passed(self, attached):
        ask(attached)
        attached.instances.checks = StatusChecks("ok", "ok", "not-applicable")
        assert ask(attached, minute=3).state == "up"

    def test_an_instance_that_is_not_up_in_time_is_given_up(self, attached):
        ask(attached)
        assert ask(attached, minute=20).state == "starting"
        attached.instances.checks = StatusChecks("ok", "impaired", "ok")
        with pytest.raises(InstanceNotUpError, match="instance impaired") as refused:
            ask(attached, minute=20.1)
        assert "has not heard from it 20 min after its start at" in str(refused.value)
        attached.instances.hear(INSTANCE_ID, at(21))
        with pytest.raises(InstanceNotUpError, match="instance impaired"):
            ask(attached, 1, minute=21)

    def test_an_instance_that_somebody_starts_meanwhile_is_refused(self, attached):
        attached.instances.add(instance(state="running"))
        with pytest.raises(TargetNotUsableError, match="is running; allowed with target"):
            ask(attached)
        assert noted(attached) is None

    def test_an_instance_that_another_volume_starts_meanwhile_is_waited_for(self, attached):
        """Between the look at the record and the look at the instance, which may be retried for long."""
        get = attached.instances.get

        def started_meanwhile(instance_id):
            attached.instances.get = get
            ask(attached, 1)
            return get(instance_id)

        attached.instances.get = started_meanwhile
        assert ask(attached).state == "waiting"
        assert ask(attached).state == "starting"

    def test_a_start_that_failed_is_tried_again(self, attached):
        attached.instances.failure = ServiceUnavailableError("InsufficientInstanceCapacity")
        with pytest.raises(ServiceUnavailableError):
            ask(attached)
        attached.instances.failure = None
        assert ask(attached, minute=1).state == "starting"
        assert attached.instances.starts == [INSTANCE_ID]

    def test_a_cancelled_restore_starts_nothing(self, attached):
        attached.table.records[RESTORE_ID]["cancelRequested"] = True
        with pytest.raises(RestoreCancelledError):
            ask(attached)
        assert attached.instances.starts == []

    def test_of_a_cancellation_and_the_start_the_first_one_counts(self, attached):
        """Between the look at the record and the note in it."""
        replace_value = attached.table.replace_value

        def cancelled_before(*names, **values):
            attached.table.records[RESTORE_ID]["cancelRequested"] = True
            return replace_value(*names, **values)

        attached.table.replace_value = cancelled_before
        assert ask(attached).state == "waiting"
        assert attached.instances.starts == []

    def test_a_volume_that_is_never_attached_is_not_waited_for_for_ever(self, world):
        attach(world, 0)
        pending = ask(world)
        later = ask(world, minute=60 * 47, pending=pending)
        assert (later.state, later.wait_seconds) == ("waiting", 300)
        with pytest.raises(InstanceNotUpError, match=r"volume 1 of this restore was not attached within 2 d"):
            ask(world, minute=60 * 49, pending=pending)


class TestCheck:
    @pytest.fixture
    def up(self, attached):
        ask(attached)
        attached.instances.hear(INSTANCE_ID, at(1))
        self.pending = ask(attached, minute=1)
        return attached

    def check(self, world, minute, pending=None):
        return ask(world, phase="check", minute=minute, pending=pending or self.pending)

    def test_waits_until_the_checks_have_passed(self, up):
        looked = self.check(up, 2)
        assert (looked.finished, looked.since) == (False, at(2))
        up.instances.checks = StatusChecks("ok", "ok", "ok")
        result = self.check(up, 3, looked)
        assert (result.finished, result.state, result.checked_at) == (True, "checked", at(3))

    def test_another_volume_knows_it_too(self, up):
        up.instances.checks = StatusChecks("ok", "ok", "ok")
        self.check(up, 3)
        up.instances.checks = StatusChecks("ok", "impaired", "ok")
        assert self.check(up, 5).checked_at == at(3)

    def test_checks_that_do_not_pass_fail_the_restore(self, up):
        up.instances.checks = StatusChecks("ok", "impaired", "ok")
        looked = self.check(up, 100)
        assert not self.check(up, 115, looked).finished
        with pytest.raises(
            InstanceNotUpError, match=r"instance impaired.*Its new volumes stay where they are"
        ):
            self.check(up, 116, looked)
