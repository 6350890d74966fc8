"""Putting a replaced volume back into its place."""

from __future__ import annotations

from dataclasses import replace as changed

import pytest

from rewarm.contracts.after import Application, HookPart
from rewarm.domain.errors import AccessDeniedError, DeviceInUseError, ThrottledError
from rewarm.domain.model import Attachment
from rewarm.domain.volume.replacing import REPLACED_STACK_TAG, REPLACED_TAG, TAGS, Place
from rewarm.steps.record.application import end
from rewarm.steps.record.restore import RestoreNotes
from rewarm.steps.replace.put_back import put_back
from rewarm.steps.volume.create_volume import CreateVolumeEvent, CreateVolumePorts, create_volume
from tests.support.builders import (
    DEVICE,
    INSTANCE_ID,
    NOW,
    RESTORE_ID,
    VOLUME_ID,
    assignment,
    at,
    instance,
    plan,
    request,
)
from tests.support.wired import wired
from tests.support.worlds.replacing import OLD, STACK, ReplacingWorld, note_out


def out(world):
    """OLD has left its place for RESTORE_ID."""
    place = Place(INSTANCE_ID, DEVICE, 0, delete_on_termination=world.delete_on_termination)
    world.volumes.change(OLD, attachments=(), state="available")
    world.volumes.tag(OLD, place.tags(RESTORE_ID, STACK))
    note_out(world.table, delete_on_termination=world.delete_on_termination)


def make_new(world, *, attached=True):
    event = CreateVolumeEvent(
        restore_id=RESTORE_ID, now=NOW, request=request(), volume=assignment(), plan=plan(), attempt=0
    )
    new = create_volume(event, wired(CreateVolumePorts, world)).volume_id
    if attached:
        world.volumes.attach(new, INSTANCE_ID, DEVICE)
    return new


def step(world):
    (done,) = put_back(RESTORE_ID, 0, world.put_back_ports, now=world.time)
    return done


@pytest.fixture
def world():
    world = ReplacingWorld(delete_on_termination=True)
    out(world)
    return world


class TestPutBack:
    def test_it_goes_back_with_everything_as_it_was(self, world):
        assert step(world).state == "pending"
        assert world.place_of(OLD) == (INSTANCE_ID, DEVICE)
        done = step(world)
        assert (done.volume_id, done.state) == (OLD, "back")
        assert "back in its place, /dev/sdf on i-0123456789abcdef0" in done.reason
        old = world.volumes.volumes[OLD]
        assert old.attachments[0].delete_on_termination
        assert not set(TAGS) & set(old.settings.tags)

    @pytest.mark.parametrize("card", [None, 1])
    def test_it_goes_back_to_its_ebs_card(self, world, card):
        noted = world.table.records[RESTORE_ID]["replaced0"]
        world.table.update_volume(RESTORE_ID, 0, {"replaced": {**noted, "card": card}})
        step(world)
        assert world.volumes.cards[OLD] == card

    def test_asked_again_it_says_so_again(self, world):
        step(world), step(world)
        before = world.volumes.volumes[OLD]
        assert step(world).state == "back"
        assert world.volumes.volumes[OLD] == before

    def test_nothing_is_done_where_nothing_was_replaced(self):
        world = ReplacingWorld()
        assert put_back(RESTORE_ID, 0, world.put_back_ports, now=world.time) == []
        assert world.place_of(OLD) == (INSTANCE_ID, DEVICE)

    def test_other_volumes_of_the_restore_stay_out(self, world):
        assert put_back(RESTORE_ID, 1, world.put_back_ports, now=world.time) == []
        assert world.place_of(OLD) is None

    def test_tags_alone_move_no_volume(self, world):
        """Whoever may tag could else have any volume attached to an instance, and deleted with it."""
        world.table.records.clear()
        assert put_back(RESTORE_ID, 0, world.put_back_ports, now=world.time) == []
        assert world.place_of(OLD) is None

    def test_a_volume_that_the_record_does_not_name_is_not_moved(self, world):
        theirs = make_new(world, attached=False)
        world.volumes.tag(theirs, world.volumes.volumes[OLD].settings.tags)
        step(world), step(world)
        assert world.place_of(theirs) is None
        assert set(TAGS) <= world.volumes.volumes[theirs].settings.tags.keys()

    def test_the_place_is_the_records_and_not_the_tags(self, world):
        elsewhere = Place("i-0fedcba9876543210", DEVICE, 0, delete_on_termination=True)
        world.volumes.tag(OLD, elsewhere.tags(RESTORE_ID, STACK))
        step(world)
        assert world.place_of(OLD) == (INSTANCE_ID, DEVICE)

    def test_it_waits_while_it_attaches(self, world):
        world.volumes.attaching_state = "attaching"
        step(world)
        assert "being attached" in step(world).reason

    def test_one_that_was_never_detached_loses_its_tags(self, world):
        attachment = Attachment(INSTANCE_ID, DEVICE, "attached", delete_on_termination=True)
        world.volumes.change(OLD, attachments=(attachment,), state="in-use")
        assert step(world).state == "back"

    @pytest.mark.parametrize("state", ["detaching", "busy"])
    def test_one_that_is_still_leaving_is_waited_for(self, world, state):
        world.volumes.change(OLD, attachments=(Attachment(INSTANCE_ID, DEVICE, state),), state="in-use")
        done = step(world)
        assert done.state == "pending"
        assert f"still {state}" in done.reason

    def test_one_that_somebody_has_attached_elsewhere_is_left_alone(self, world):
        world.volumes.change(OLD, attachments=(Attachment("i-other", DEVICE, "attached"),), state="in-use")
        assert step(world).state == "stays-out"
        assert REPLACED_TAG not in world.volumes.volumes[OLD].settings.tags

    def test_a_foreign_volume_in_its_place_is_told(self, world):
        make_new(world, attached=False)
        world.instances.add(instance(devices={"/dev/xvdf": "vol-0bbbbbbbbbbbbbbbb"}))
        done = step(world)
        assert done.state == "left"
        assert "has vol-0bbbbbbbbbbbbbbbb now" in done.reason
        assert REPLACED_TAG in world.volumes.volumes[OLD].settings.tags

    def test_a_new_volume_without_the_tag_that_lets_it_go_is_told(self, world):
        new = make_new(world)
        world.volumes.untag(new, "rewarm:stack")
        done = step(world)
        assert done.state == "left"
        assert f"has {new} now, which is not of this restore or has lost its tag rewarm:stack" in done.reason

    @pytest.mark.parametrize("state", ["terminated", "shutting-down"])
    def test_without_its_instance_it_stays_out(self, world, state):
        world.instances.add(instance(state=state))
        assert step(world).state == "stays-out"
        assert REPLACED_STACK_TAG not in world.volumes.volumes[OLD].settings.tags
        assert step(world).state == "stays-out"

    def test_a_throttled_call_is_asked_again(self, world, monkeypatch):
        def throttled(*_):
            raise ThrottledError("AttachVolume: RequestLimitExceeded")

        with monkeypatch.context() as patch:
            patch.setattr(world.volumes, "attach", throttled)
            assert step(world).state == "pending"
        step(world)
        assert step(world).state == "back"

    def test_a_place_that_is_just_being_left_is_asked_for_again(self, world, monkeypatch):
        def taken(*_):
            raise DeviceInUseError("AttachVolume: already in use")

        monkeypatch.setattr(world.volumes, "attach", taken)
        assert step(world).state == "pending"

    def test_a_missing_permission_is_told(self, world, monkeypatch):
        def denied(*_):
            raise AccessDeniedError("AttachVolume: UnauthorizedOperation")

        monkeypatch.setattr(world.volumes, "attach", denied)
        assert (step(world).state, world.table.records[RESTORE_ID]["replaced0"]["state"]) == ("left", "left")


class TestNewVolumeInThePlace:
    def test_it_leaves_the_place_once_nothing_uses_it(self, world):
        new = make_new(world)
        assert "asked what uses" in step(world).reason
        assert world.commands.sent[0][2]["action"] == "check"
        assert step(world).state == "pending"
        world.say()
        assert "is being detached" in step(world).reason
        assert world.place_of(new) is None
        step(world)
        assert step(world).state == "back"
        assert new in world.volumes.volumes

    def test_a_crash_after_the_effect_changes_nothing(self, world):
        make_new(world)
        step(world)
        world.say()
        step(world)
        world.table.records[RESTORE_ID]["replaced0"]["look"] = {
            "volumeId": VOLUME_ID, "commandId": "command-1", "askedAt": NOW.isoformat(),
        }  # fmt: skip
        step(world)
        assert step(world).state == "back"

    def test_mounted_it_stays_and_that_is_told(self, world):
        new = make_new(world)
        step(world)
        world.say("/data")
        done = step(world)
        assert done.state == "left"
        assert f"{new} is at {DEVICE} on {INSTANCE_ID}, mounted at /data: {OLD} goes back" in done.reason
        assert f"remove the tag {REPLACED_TAG} from {OLD}" in done.reason
        assert world.place_of(new) == (INSTANCE_ID, DEVICE)

    def test_the_next_sweep_asks_again(self, world):
        new = make_new(world)
        step(world)
        world.say("/data")
        step(world)
        assert step(world).state == "pending"
        assert len(world.commands.sent) == 2
        world.say()
        step(world)
        assert world.place_of(new) is None

    def test_it_is_unmounted_where_the_request_allows_that(self, world):
        make_new(world)
        world.table.update(RESTORE_ID, {"request": {"target": {"unmount": True}}})
        step(world)
        assert world.commands.sent[0][2]["action"] == "unmount"

    def test_an_agent_that_is_just_ending_is_waited_for(self, world):
        make_new(world)
        step(world)
        world.say(others=["process 77 (warmer)"])
        assert step(world).state == "pending"

    def test_without_the_instances_word_it_stays(self, world):
        new = make_new(world)
        world.instances.add(instance(ssm_online=False))
        done = step(world)
        assert done.state == "left"
        assert "never detached without knowing" in done.reason
        assert world.place_of(new) == (INSTANCE_ID, DEVICE)

    def test_a_stopped_instance_need_not_be_asked(self, world):
        new = make_new(world)
        world.instances.add(instance(state="stopped"))
        assert "is being detached" in step(world).reason
        assert world.place_of(new) is None

    def test_an_answer_that_never_comes_is_told(self, world):
        make_new(world)
        step(world)
        world.time = at(7)
        done = step(world)
        assert (done.state, "no answer came" in done.reason) == ("left", True)

    def test_a_volume_that_is_to_stay_keeps_the_place(self, world):
        new = make_new(world)
        world.table.update(RESTORE_ID, {"request": {"onFailure": "keep", "target": {}}})
        done = step(world)
        assert done.state == "stays-out"
        assert f"{new} has its place" in done.reason
        assert f"{OLD} is detached and kept, and costs storage until you delete it" in done.reason
        assert world.place_of(new) == (INSTANCE_ID, DEVICE)
        assert REPLACED_STACK_TAG not in world.volumes.volumes[OLD].settings.tags

    @pytest.mark.parametrize("attached", [True, False])
    def test_what_came_to_full_speed_is_never_undone(self, world, attached):
        """Its owner may have moved it since."""
        make_new(world, attached=attached)
        world.table.update(RESTORE_ID, {"settled0": True})
        assert step(world).state == "stays-out"
        assert world.place_of(OLD) is None

    def test_kept_but_not_in_the_place_it_does_not_count(self, world):
        make_new(world, attached=False)
        world.table.update(RESTORE_ID, {"request": {"onFailure": "keep", "target": {}}})
        step(world)
        assert step(world).state == "back"

    def test_moved_to_another_device_it_is_left_alone(self, world):
        new = make_new(world, attached=False)
        world.volumes.attach(new, INSTANCE_ID, "/dev/sdg")
        step(world)
        assert step(world).state == "back"
        assert world.place_of(new) == (INSTANCE_ID, "/dev/sdg")

    def test_what_ec2_shows_from_before_is_waited_for(self, world):
        new = make_new(world, attached=False)
        found = world.instances.instances[INSTANCE_ID]
        world.instances.add(changed(found, devices={**found.devices, DEVICE: new}))
        assert "EC2 still shows" in step(world).reason


def test_it_stays_out_where_the_instance_was_started_with_new_volumes(world):
    new = make_new(world)
    world.table.records.setdefault(RESTORE_ID, {})["instance"] = {"state": "up"}
    done = step(world)
    assert (done.state, world.place_of(new)) == ("stays-out", (INSTANCE_ID, DEVICE))
    assert f"{INSTANCE_ID} was started with new volumes and is up" in done.reason


def note_application(world, *, since):
    part = HookPart(title="mount /srv/data", limit_seconds=120, state="failed", since=since)
    application = Application(
        state="failed", index=1, instance_id=INSTANCE_ID, started_at=NOW, parts=[part], reason="cancelled"
    )
    end(application, RestoreNotes(world.table, RESTORE_ID))


def test_it_stays_out_where_the_application_may_have_written_on_the_new_volume(world):
    """Announce Application says that nothing of the volumes is undone."""
    new = make_new(world)
    note_application(world, since=NOW)
    done = step(world)
    assert (done.state, world.place_of(new)) == ("stays-out", (INSTANCE_ID, DEVICE))
    assert f"the application on {INSTANCE_ID} may have written on the new volume" in done.reason
    assert REPLACED_STACK_TAG not in world.volumes.volumes[OLD].settings.tags
    assert world.commands.sent == []


def test_it_goes_back_where_nothing_was_sent_to_the_application(world):
    note_application(world, since=None)
    assert [step(world).state, step(world).state] == ["pending", "back"]
