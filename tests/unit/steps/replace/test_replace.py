"""States Replace Check and Replace Detachment."""

from __future__ import annotations

from dataclasses import replace as changed

import pytest

from rewarm.contracts.events import ReplaceEvent
from rewarm.domain.errors import (
    AccessDeniedError,
    AgentUnreachableError,
    RequestRefusedError,
    RestoreCancelledError,
    TargetBusyError,
    TargetNotUsableError,
    VolumeFailedError,
    VolumeInUseError,
)
from rewarm.domain.model import Attachment
from rewarm.domain.volume.replacing import place_of
from rewarm.steps.replace.replace import replace
from rewarm.steps.replace.swap_root import may_be_root
from tests.support.builders import DEVICE, INSTANCE_ID, RESTORE_ID, VOLUME_ID, assignment, at, request
from tests.support.worlds.replacing import OLD, STACK, ReplacingWorld


def ask(world, phase="check", pending=None, *, unmount=None, minute=0.0, volume=None, **more):
    target = {"instanceId": INSTANCE_ID, "device": DEVICE, "mode": "replace", "unmount": unmount, **more}
    event = ReplaceEvent(
        restore_id=RESTORE_ID,
        now=at(minute),
        request=request(target=target),
        volume=volume or world.assignment,
        volume_id=VOLUME_ID,
        phase=phase,
        pending=pending,
    )
    return replace(event, world.replace_ports)


def detached(world, **options):
    """Up to the call that detaches."""
    pending = ask(world, "detach", **options)
    world.say()
    return ask(world, "detach", pending, **options)


@pytest.fixture
def world():
    return ReplacingWorld()


class TestCheck:
    def test_asks_the_instance_and_waits(self, world):
        pending = ask(world)
        assert (pending.finished, pending.state) == (False, "looking")
        ((_, instance_id, parameters),) = world.commands.sent
        assert instance_id == INSTANCE_ID
        assert (parameters["action"], parameters["volumeId"]) == ("check", OLD)
        assert ask(world, pending=pending) == pending
        world.say()
        assert ask(world, pending=pending).state == "replaceable"
        assert len(world.commands.sent) == 1

    def test_touches_nothing(self, world):
        before = world.volumes.volumes[OLD]
        pending = ask(world, unmount=True)
        world.say("/data")
        ask(world, pending=pending, unmount=True)
        assert world.volumes.volumes[OLD] == before
        assert [parameters["action"] for _, _, parameters in world.commands.sent] == ["check"]

    def test_a_mounted_volume_is_refused_with_its_mount_points(self, world):
        pending = ask(world)
        world.say("/data", "/srv/files")
        with pytest.raises(VolumeInUseError, match=f"^target.device: {OLD} at {DEVICE} on") as refused:
            ask(world, pending=pending)
        assert "mounted at /data, /srv/files" in str(refused.value)
        assert "target.unmount true lets Rewarm unmount it" in str(refused.value)

    def test_it_may_be_mounted_where_the_request_allows_to_unmount(self, world):
        pending = ask(world, unmount=True)
        world.say("/data")
        assert ask(world, pending=pending, unmount=True).mounts == ["/data"]

    def test_what_cannot_be_unmounted_is_refused_all_the_same(self, world):
        pending = ask(world, unmount=True)
        world.say("/data", others=["swap on /dev/nvme1n1p2"])
        with pytest.raises(VolumeInUseError, match="used by swap on /dev/nvme1n1p2") as refused:
            ask(world, pending=pending, unmount=True)
        assert "target.unmount" not in str(refused.value)

    def test_an_instance_that_cannot_say_is_refused(self, world):
        pending = ask(world)
        world.commands.finish(
            "command-1", status="Failed", status_details="Failed", exit_code=66, stderr="no device"
        )
        with pytest.raises(AgentUnreachableError, match=r"could not say .* \(no device\)"):
            ask(world, pending=pending)

    def test_an_answer_that_never_comes_is_not_waited_for_for_ever(self, world):
        pending = ask(world)
        assert ask(world, pending=pending, minute=5).state == "looking"
        with pytest.raises(AgentUnreachableError, match="no answer came"):
            ask(world, pending=pending, minute=7)

    def test_another_volume_at_the_device_is_refused(self, world):
        other = "vol-0bbbbbbbbbbbbbbbb"
        world.volumes.volumes[other] = changed(world.volumes.volumes[OLD], volume_id=other)
        world.volumes.change(OLD, attachments=(), state="available")
        with pytest.raises(TargetNotUsableError, match=f"has {other} by now, and {OLD} was to be replaced"):
            ask(world)

    def test_a_volume_on_several_instances_is_refused(self, world):
        here, there = Attachment(INSTANCE_ID, DEVICE, "attached"), Attachment("i-other", DEVICE, "attached")
        world.volumes.change(OLD, attachments=(here, there))
        with pytest.raises(TargetNotUsableError, match=r"attached to i-other too \(Multi-Attach\)"):
            ask(world)

    def test_a_volume_that_leaves_already_is_refused(self, world):
        world.volumes.change(OLD, attachments=(Attachment(INSTANCE_ID, DEVICE, "detaching"),))
        with pytest.raises(TargetNotUsableError, match=f"{OLD} is detaching at {DEVICE}"):
            ask(world)

    def test_a_volume_of_an_aws_service_is_refused(self, world):
        world.volumes.change(OLD, managed_by="ecs.amazonaws.com")
        with pytest.raises(TargetNotUsableError, match=r"belongs to ecs\.amazonaws\.com"):
            ask(world)

    def test_a_volume_with_a_product_code_is_refused(self, world):
        world.volumes.codes[OLD] = ["abc123"]
        with pytest.raises(TargetNotUsableError, match=r"Marketplace product code \(abc123\)"):
            ask(world)

    @pytest.mark.parametrize("status", ["restoring", "initializing"])
    def test_a_volume_that_is_being_restored_itself_is_refused(self, world, status):
        settings = world.volumes.volumes[OLD].settings
        tags = {"rewarm:restore-id": "restore-other"}
        world.volumes.change(OLD, settings=changed(settings, tags=tags))
        world.table.records["restore-other"] = {"status": status}
        with pytest.raises(TargetBusyError, match="being restored itself, by restore-other"):
            ask(world)
        world.table.records["restore-other"] = {"status": "ready"}
        assert ask(world).state == "looking"

    def test_a_stopped_instance_is_refused(self, world):
        stopped = changed(world.instances.instances[INSTANCE_ID], state="stopped")
        world.instances.add(stopped)
        with pytest.raises(TargetNotUsableError, match="is stopped"):
            ask(world)

    def test_a_cancelled_restore_ends(self, world):
        world.table.records[RESTORE_ID] = {"cancelRequested": True}
        with pytest.raises(RestoreCancelledError):
            ask(world)

    def test_a_plan_that_replaces_nothing_is_refused(self, world):
        with pytest.raises(TargetNotUsableError, match="replaces no volume"):
            ask(world, volume=assignment())


class TestDetachment:
    def test_the_volume_leaves_with_what_it_takes_to_go_back(self, world):
        world = ReplacingWorld(delete_on_termination=True)
        assert detached(world).state == "detaching"
        old = world.volumes.volumes[OLD]
        assert old.attachments == ()
        tags = old.settings.tags
        assert tags["rewarm:replaced-by-restore"] == RESTORE_ID
        assert tags["rewarm:replaced-by-stack"] == STACK
        place = place_of(tags)
        assert (place.instance_id, place.device, place.index) == (INSTANCE_ID, DEVICE, 0)
        assert place.delete_on_termination
        record = world.table.records[RESTORE_ID]["replaced0"]
        assert (record["volumeId"], record["newVolumeId"], record["state"]) == (OLD, VOLUME_ID, "out")
        assert record["card"] is None, "the instance has one EBS card"

    def test_the_record_has_its_card_where_the_instance_has_several(self, world):
        pending = ask(world)
        world.say()
        on_card = world.assignment.model_copy(update={"card": 1})
        looking = ask(world, "detach", ask(world, pending=pending), volume=on_card)
        world.say()
        assert ask(world, "detach", looking, volume=on_card).state == "detaching"
        assert world.table.records[RESTORE_ID]["replaced0"]["card"] == 1

    def test_it_is_out_at_the_next_look(self, world):
        pending = detached(world)
        assert ask(world, "detach", pending).state == "detached"

    def test_it_is_asked_again_right_before(self, world):
        pending = ask(world)
        world.say()
        checked = ask(world, pending=pending)
        assert ask(world, "detach", checked).state == "looking"
        assert len(world.commands.sent) == 2

    def test_it_is_unmounted_where_the_request_allows_that(self, world):
        pending = ask(world, unmount=True)
        world.say("/data")
        checked = ask(world, pending=pending, unmount=True)
        looking = ask(world, "detach", checked, unmount=True)
        assert world.commands.sent[-1][2]["action"] == "unmount"
        world.say()
        assert ask(world, "detach", looking, unmount=True).state == "detaching"
        assert world.table.records[RESTORE_ID]["replaced0"]["unmounted"] == ["/data"]

    def test_what_is_still_mounted_stays_where_it_is(self, world):
        pending = ask(world, "detach", unmount=True)
        world.say("/data")
        with pytest.raises(VolumeInUseError, match="mounted at /data"):
            ask(world, "detach", pending, unmount=True)
        assert world.place_of(OLD) == (INSTANCE_ID, DEVICE)
        assert "rewarm:replaced-by-restore" not in world.volumes.volumes[OLD].settings.tags

    def test_an_old_answer_is_not_believed(self, world):
        pending = ask(world, "detach")
        world.say()
        assert ask(world, "detach", pending, minute=7).state == "looking"
        assert world.place_of(OLD) == (INSTANCE_ID, DEVICE)

    def test_a_repeated_state_detaches_nothing_twice(self, world):
        """The function crashed after the effect: its answer is lost, the state is retried."""
        pending = ask(world, "detach")
        world.say()
        ask(world, "detach", pending)
        assert ask(world, "detach", pending).state == "detached"

    def test_a_crash_before_the_effect_goes_on(self, world, monkeypatch):
        def denied(*_):
            raise AccessDeniedError("DetachVolume: UnauthorizedOperation")

        pending = ask(world, "detach")
        world.say()
        with monkeypatch.context() as patch:
            patch.setattr(world.volumes, "detach", denied)
            with pytest.raises(AccessDeniedError):
                ask(world, "detach", pending)
        assert world.volumes.volumes[OLD].settings.tags["rewarm:replaced-by-restore"] == RESTORE_ID
        assert ask(world, "detach", pending).state == "detaching"
        assert world.place_of(OLD) is None

    def test_a_refusal_after_the_effect_is_none(self, world, monkeypatch):
        detach = world.volumes.detach

        def lost(volume_id, instance_id):
            detach(volume_id, instance_id)
            raise RequestRefusedError("DetachVolume: IncorrectState")

        monkeypatch.setattr(world.volumes, "detach", lost)
        assert detached(world).state == "detaching"

    def test_what_ec2_shows_from_before_is_waited_for(self, world):
        attachment = world.volumes.volumes[OLD].attachments
        pending = detached(world)
        world.volumes.change(OLD, attachments=attachment, state="in-use")
        assert ask(world, "detach", pending).state == "detaching"
        assert len(world.commands.sent) == 1

    def test_a_busy_volume_is_not_waited_for_for_ever(self, world):
        world.volumes.slow_detach = True
        pending = detached(world)
        assert ask(world, "detach", pending, minute=4).state == "detaching"
        with pytest.raises(VolumeFailedError, match=f"{OLD} is still detaching at {DEVICE} .* after 6 min"):
            ask(world, "detach", pending, minute=6)

    def test_a_volume_that_somebody_else_took_out_is_refused(self, world):
        world.volumes.change(OLD, attachments=(), state="available")
        with pytest.raises(Exception, match=f"nothing is attached at {DEVICE}"):
            ask(world, "detach")


class TestOnAStoppedInstance:
    """With target.start: nobody needs to be asked, and the root volume may leave."""

    @pytest.fixture
    def stopped(self, world):
        world.instances.add(changed(world.instances.instances[INSTANCE_ID], state="stopped"))
        return world

    def ask(self, world, phase, pending=None):
        volume = world.assignment.model_copy(update={"starts_instance": True})
        return ask(world, phase, pending, volume=volume)

    def test_it_is_detached_without_a_question(self, stopped):
        stopped.volumes.codes[OLD] = ["abc123"]
        assert self.ask(stopped, "check").state == "replaceable"
        pending = self.ask(stopped, "detach")
        assert pending.state == "detaching"
        assert self.ask(stopped, "detach", pending).finished
        assert stopped.commands.sent == []
        assert place_of(stopped.volumes.volumes[OLD].settings.tags).device == DEVICE

    def test_also_the_root_volume(self, stopped):
        found = changed(stopped.instances.instances[INSTANCE_ID], devices={}, root_device=DEVICE)
        stopped.instances.add(found)
        assert self.ask(stopped, "detach").state == "detaching"

    def test_an_instance_that_runs_by_now_is_refused(self, world):
        with pytest.raises(TargetNotUsableError, match=r"is running; allowed with target\.start"):
            self.ask(world, "detach")

    def test_another_volume_in_the_place_is_refused(self, stopped):
        stopped.volumes.change(OLD, attachments=(), state="available")
        with pytest.raises(TargetNotUsableError, match="has nothing by now"):
            self.ask(stopped, "detach")


class TestTheRootVolume:
    ROOT = "/dev/xvda"

    def ask(self, world, pending=None, *, phase="swap", minute=0.0, unproven=False, **more):
        volume = world.assignment.model_copy(update={"root_unproven": unproven})
        replaces = volume.replaces.model_copy(update={"root_device": self.ROOT})
        swapped = volume.model_copy(update={"replaces": replaces, "device": "/dev/sdf"})
        return ask(world, phase, pending, minute=minute, volume=swapped, **more)

    @pytest.fixture
    def world(self):
        world = ReplacingWorld()
        old = world.volumes.volumes[OLD]
        place = Attachment(INSTANCE_ID, self.ROOT, "attached", delete_on_termination=True)
        world.volumes.volumes[OLD] = changed(old, attachments=(place,))
        world.instances.add(
            changed(world.instances.instances[INSTANCE_ID], devices={}, root_device=self.ROOT)
        )
        world.volumes.volumes[VOLUME_ID] = changed(
            old, volume_id=VOLUME_ID, state="available", attachments=()
        )
        return world

    def test_ec2_is_asked_with_one_token_however_often_the_answer_gets_lost(self, world):
        world.instances.swap = "in-progress"
        first = self.ask(world)
        assert (first.finished, first.state) == (False, "swapping")
        noted = world.table.get_volume(RESTORE_ID, 0)["replaced"]
        lost = {name: value for name, value in noted.items() if name != "taskId"}
        world.table.update_volume(RESTORE_ID, 0, {"replaced": lost})
        self.ask(world, first, minute=1)
        assert len(set(world.instances.asked_swaps)) == 1

    def test_it_has_the_new_volume_leave_its_place_first(self, world):
        beside = Attachment(INSTANCE_ID, "/dev/sdf", "attached")
        new = world.volumes.volumes[VOLUME_ID]
        world.volumes.volumes[VOLUME_ID] = changed(new, state="in-use", attachments=(beside,))
        pending = self.ask(world)
        assert pending.state == "looking"
        world.say()
        assert self.ask(world, pending).state == "detaching"
        assert world.place_of(VOLUME_ID) is None
        assert world.instances.asked_swaps == []

    @pytest.mark.parametrize("boots", [True, False, None])
    @pytest.mark.parametrize(("unproven", "forced"), [(True, False), (True, True), (False, False)])
    def test_one_of_data_that_nothing_else_has_shown_is_not_swapped(self, world, boots, unproven, forced):
        beside = Attachment(INSTANCE_ID, "/dev/sdf", "attached")
        new = world.volumes.volumes[VOLUME_ID]
        world.volumes.volumes[VOLUME_ID] = changed(new, state="in-use", attachments=(beside,))
        more = {"forceRoot": world.assignment.snapshot_id, "reboot": True} if forced else {}
        pending = self.ask(world, unproven=unproven, **more)
        assert world.commands.sent[-1][2]["action"] == "boot"
        world.say(boots=boots)
        if boots is False and unproven and not forced:
            with pytest.raises(VolumeFailedError, match="has no partition for a boot loader"):
                self.ask(world, pending, unproven=unproven, **more)
            assert world.place_of(VOLUME_ID) == (INSTANCE_ID, "/dev/sdf")
        else:
            assert self.ask(world, pending, unproven=unproven, **more).state == "detaching"

    def test_a_cancelled_restore_is_not_swapped(self, world):
        world.table.records[RESTORE_ID] = {"cancelRequested": True}
        with pytest.raises(RestoreCancelledError):
            self.ask(world)
        assert world.instances.asked_swaps == []

    def test_one_of_the_marketplace_is_refused_before_anything_is_made(self, world):
        assert self.ask(world, phase="check").state == "replaceable"
        world.volumes.codes[OLD] = ["abc"]
        with pytest.raises(TargetNotUsableError, match=r"Marketplace product code \(abc\)"):
            self.ask(world, phase="check")

    def test_a_new_volume_that_somebody_works_with_is_kept_and_told(self, world):
        """The instance has rebooted by itself, and runs from the copy."""
        beside = Attachment(INSTANCE_ID, "/dev/sdf", "attached")
        new = world.volumes.volumes[VOLUME_ID]
        world.volumes.volumes[VOLUME_ID] = changed(new, state="in-use", attachments=(beside,))
        pending = self.ask(world)
        world.say("/")
        with pytest.raises(VolumeInUseError, match=r"is mounted at /\. It is kept"):
            self.ask(world, pending)
        assert may_be_root(RESTORE_ID, 0, VOLUME_ID, world.table)

    def test_a_program_that_only_looks_at_it_is_waited_for(self, world):
        beside = Attachment(INSTANCE_ID, "/dev/sdf", "attached")
        new = world.volumes.volumes[VOLUME_ID]
        world.volumes.volumes[VOLUME_ID] = changed(new, state="in-use", attachments=(beside,))
        pending = self.ask(world)
        world.say(others=["process 7 (blkid)"])
        again = self.ask(world, pending, minute=1)
        assert (again.state, again.command_id != pending.command_id) == ("looking", True)
        world.say(others=["process 7 (blkid)"])
        with pytest.raises(VolumeInUseError):
            self.ask(world, again, minute=6)

    def test_a_task_of_somebody_else_is_waited_for_by_nobody(self, world):
        world.instances.asked_swaps.append((INSTANCE_ID, "vol-other", "theirs"))
        world.instances.swap = "pending"
        with pytest.raises(TargetNotUsableError, match="replaces the root volume"):
            self.ask(world)
        assert not may_be_root(RESTORE_ID, 0, VOLUME_ID, world.table)

    def test_what_ec2_refuses_at_first_is_asked_again_for_two_minutes(self, world):
        world.instances.swap_failure = RequestRefusedError("IncorrectState")
        refused = self.ask(world, minute=9)
        assert refused.state == "swapping"
        assert self.ask(world, refused, minute=10).state == "swapping"
        with pytest.raises(RequestRefusedError):
            self.ask(world, refused, minute=12)
        assert not may_be_root(RESTORE_ID, 0, VOLUME_ID, world.table)

    def test_a_task_whose_answer_was_lost_is_found_again(self, world):
        world.instances.swap_failure = RequestRefusedError("IncorrectInstanceState")
        world.instances.begins_all_the_same = True
        assert self.ask(world).state == "swapping"
        assert world.table.get_volume(RESTORE_ID, 0)["replaced"]["taskId"].startswith("replacevol-")

    def test_no_word_from_the_instance_is_told_with_the_way_back(self, world):
        self.ask(world)
        old, new = world.volumes.volumes[OLD], world.volumes.volumes[VOLUME_ID]
        world.volumes.volumes[VOLUME_ID] = changed(new, attachments=old.attachments)
        world.volumes.volumes[OLD] = changed(old, attachments=())
        assert self.ask(world, minute=1).state == "swapping"
        with pytest.raises(VolumeFailedError, match=f"may not boot from it.*--volume-id {OLD}"):
            self.ask(world, minute=40)
        assert may_be_root(RESTORE_ID, 0, VOLUME_ID, world.table)

    def test_the_token_fits_however_long_the_name_of_the_restore_is(self, world):
        self.ask(world)
        assert len(world.instances.asked_swaps[0][2]) == 64
