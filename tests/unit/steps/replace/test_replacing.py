"""Replacing a volume, in the steps that attach has as well: plan, attachment, news, clean-up, sweep."""

from __future__ import annotations

from dataclasses import replace as changed

import pytest

from rewarm.contracts.events import AnnounceEvent, AttachVolumeEvent
from rewarm.contracts.values import VolumePlan
from rewarm.domain.errors import (
    DeviceInUseError,
    IncompleteCleanUpError,
    InvalidRequestError,
    ServiceUnavailableError,
    TargetNotUsableError,
)
from rewarm.domain.model import Attachment
from rewarm.domain.volume.replacing import REPLACED_TAG, TAGS, Place
from rewarm.steps.announce.announce import announce
from rewarm.steps.clean_up.clean_up import CleanUpEvent, CleanUpPorts, clean_up
from rewarm.steps.plan.plan_notes import plan_notes
from rewarm.steps.select.select_snapshot import SelectSnapshotEvent, SelectSnapshotPorts, select_snapshot
from rewarm.steps.volume.attach_volume import AttachVolumePorts, attach_volume
from tests.support.builders import (
    DEVICE,
    INSTANCE_ID,
    NOW,
    RESTORE_ID,
    SNAPSHOT_ID,
    SOURCE_VOLUME_ID,
    VOLUME_ID,
    ZONE,
    World,
    assignment,
    instance,
    plan,
    request,
    snapshot,
)
from tests.support.fakes import tokyo_prices
from tests.support.values import accounts
from tests.support.wired import wired
from tests.support.worlds.replacing import OLD, STACK, ReplacingWorld, note_out

TARGET = {"instanceId": INSTANCE_ID, "device": DEVICE, "mode": "replace"}


@pytest.fixture
def world():
    return ReplacingWorld(delete_on_termination=True)


def take_out(world):
    place = Place(INSTANCE_ID, DEVICE, 0, delete_on_termination=True)
    world.volumes.change(OLD, attachments=(), state="available")
    world.volumes.tag(OLD, place.tags(RESTORE_ID, STACK))
    note_out(world.table)


def make_new(world):
    settings = assignment().volume.settings(
        {
            "rewarm:restore-id": RESTORE_ID,
            "rewarm:volume-index": "0",
            "rewarm:stack": STACK,
            "rewarm:snapshot-id": SNAPSHOT_ID,
        }
    )
    made = world.volumes.create(SNAPSHOT_ID, ZONE, settings, rate_mib_s=None, client_token="t")
    world.table.update_volume(RESTORE_ID, 0, {"volume": {"volumeId": made, "volumeIds": {"0": made}}})
    return made


class TestSelectSnapshot:
    def select(self, world, **changes):
        event = SelectSnapshotEvent(
            restore_id=RESTORE_ID, now=NOW, request=request(**{"target": TARGET, **changes})
        )
        return select_snapshot(
            event,
            wired(SelectSnapshotPorts, world, keeper=world.keeper()),
        ).volumes

    def test_says_which_volume_is_replaced(self, world):
        (volume,) = self.select(world)
        assert volume.device == DEVICE
        assert volume.replaces is not None
        assert (volume.replaces.volume_id, volume.replaces.size_gib) == (OLD, 100)
        assert volume.replaces.delete_on_termination

    def test_attach_replaces_nothing(self, world):
        (volume,) = self.select(world, target={"instanceId": INSTANCE_ID})
        assert volume.replaces is None

    def test_each_volume_of_an_instance_takes_its_own_place(self, world):
        world.snapshots.add(snapshot("snap-0ccccccccccccccccc"[:22], volume_id=OLD))
        source = {"instanceId": INSTANCE_ID, "devices": [DEVICE]}
        target = {"instanceId": INSTANCE_ID, "mode": "replace"}
        (volume,) = self.select(world, source=source, target=target)
        assert volume.replaces is not None
        assert (volume.device, volume.replaces.volume_id) == (DEVICE, OLD)

    def test_an_instance_without_nvme_is_refused(self, world):
        world.instances.limits = changed(world.instances.limits, nvme=False)
        with pytest.raises(TargetNotUsableError, match=r"^target\.mode: .* has no NVMe.*allowed is attach$"):
            self.select(world)

    def test_only_disks_of_windows_are_brought_online(self, world):
        target = {"instanceId": INSTANCE_ID, "bringOnline": True}
        with pytest.raises(
            InvalidRequestError, match=r"^target\.bringOnline: only .* of Windows; .* is linux$"
        ):
            self.select(world, target=target)
        world.instances.add(instance(platform="windows", devices={}))
        assert self.select(world, target=target)
        world.instances.limits = changed(world.instances.limits, nvme=False)
        with pytest.raises(TargetNotUsableError, match=r"^target\.bringOnline: .* has no NVMe"):
            self.select(world, target=target)

    def test_a_drive_letter_is_that_of_one_volume(self, world):
        world.snapshots.add(snapshot("snap-0ccccccccccccccccc"[:22], volume_id=OLD))
        source = {"instanceId": INSTANCE_ID}
        target = {"instanceId": INSTANCE_ID, "bringOnline": True, "mountPath": "E:"}
        world.instances.add(instance(platform="windows", devices={DEVICE: OLD, "xvdg": SOURCE_VOLUME_ID}))
        with pytest.raises(InvalidRequestError, match=r"^target\.mountPath: found E: for 2 volumes"):
            self.select(world, source=source, target=target)

    def test_a_device_is_needed_otherwise(self, world):
        with pytest.raises(InvalidRequestError, match=r"^target\.device: is missing"):
            self.select(world, target={"instanceId": INSTANCE_ID, "mode": "replace"})

    def test_the_root_device_is_refused(self, world):
        with pytest.raises(TargetNotUsableError, match=r"target\.reboot true"):
            self.select(world, target={**TARGET, "device": "/dev/xvda"})

    def test_a_volume_on_several_instances_is_refused(self, world):
        both = tuple(Attachment(one, DEVICE, "attached") for one in (INSTANCE_ID, "i-other"))
        world.volumes.change(OLD, attachments=both)
        with pytest.raises(TargetNotUsableError, match="Multi-Attach"):
            self.select(world)

    def test_the_plan_notes_it(self, world):
        (volume,) = self.select(world)
        notes = plan_notes([VolumePlan(volume=volume, plan=plan())], tokyo_prices(NOW))
        place = f"now {DEVICE} on {INSTANCE_ID}"
        how = "is replaced: detached once the new volume is there, and kept."
        assert notes == [f"{OLD} (100 GiB), {place}, {how}"]


class TestAttachVolume:
    def attach(self, world):
        event = AttachVolumeEvent(
            restore_id=RESTORE_ID,
            now=NOW,
            request=request(),
            volume=world.assignment,
            volume_id=VOLUME_ID,
        )
        return attach_volume(event, wired(AttachVolumePorts, world, look=world.look_ports))

    def test_the_new_volume_keeps_what_the_place_had(self, world):
        take_out(world)
        make_new(world)
        assert not self.attach(world).attached
        assert self.attach(world).attached
        (attachment,) = world.volumes.volumes[VOLUME_ID].attachments
        assert (attachment.device, attachment.delete_on_termination) == (DEVICE, True)

    def test_what_ec2_shows_from_before_is_waited_for(self, world):
        take_out(world)
        make_new(world)
        found = world.instances.instances[INSTANCE_ID]
        world.instances.add(changed(found, devices={**found.devices, DEVICE: OLD}))
        assert not self.attach(world).attached
        assert world.place_of(VOLUME_ID) is None

    def test_a_place_that_was_taken_meanwhile_is_refused(self, world):
        make_new(world)
        with pytest.raises(DeviceInUseError, match=f"holds {OLD}"):
            self.attach(world)


class TestAnnounce:
    def say(self, world, kind, **details):
        event = AnnounceEvent(
            restore_id=RESTORE_ID,
            now=NOW,
            event=kind,
            request=request(),
            details={
                "volume": world.assignment.to_json(),
                "plan": plan().to_json(),
                "volumeId": VOLUME_ID,
                **details,
            },
        )
        announce(event, table=world.table, messages=world.messages)
        return world.messages.sent[-1]

    def test_who_was_replaced_and_what_happens_on_failure(self, world):
        world.table.update_volume(RESTORE_ID, 0, {"replaced": {"volumeId": OLD, "unmounted": ["/data"]}})
        told = self.say(world, "attached", device=DEVICE)
        assert f"It has taken the place of {OLD}" in told["text"]
        assert f"If the restore fails, Rewarm puts {OLD} back and keeps {VOLUME_ID}" in told["text"]
        assert told["nextSteps"][0] == f"Mount {VOLUME_ID} where {OLD} was: /data."
        assert world.table.records[RESTORE_ID]["replaced0"]["state"] == "replaced"

    def test_what_to_do_with_it_afterwards(self, world):
        told = self.say(
            world,
            "ready",
            startedAt=NOW.isoformat(),
            readyAt=NOW.isoformat(),
            initialization={
                "ready": True, "waitSeconds": 1, "progressPercent": 100.0, "bytesDone": 1, "bytesTotal": 1,
                "reasons": ["it is"], "signals": {}, "polls": 1, "firstPolledAt": NOW.isoformat(),
                "lastProgressAt": NOW.isoformat(),
            },
        )  # fmt: skip
        assert f"{VOLUME_ID} has taken the place of {OLD}, which is detached, kept and tagged" in told["text"]
        assert told["nextSteps"][-1].endswith(f"aws ec2 delete-volume --volume-id {OLD}")

    def test_attach_says_nothing_of_it(self, world):
        told = self.say(world, "attached", device=DEVICE, volume=assignment().to_json())
        assert "taken the place" not in told["text"]


class TestCleanUp:
    def clean(self, world, *, announced=False, **changes):
        event = CleanUpEvent(
            restore_id=RESTORE_ID,
            now=NOW,
            request=request(**changes),
            volume=world.assignment,
            volume_id=VOLUME_ID,
            attached_announced=announced,
        )
        return clean_up(
            event,
            wired(CleanUpPorts, world, put_back=world.put_back_ports),
        )

    def ended(self, world, **options):
        """As the state is retried."""
        for _ in range(9):
            try:
                return self.clean(world, **options)
            except ServiceUnavailableError:
                if world.commands.sent and not world.commands.statuses:
                    world.say()
        raise AssertionError("it never ends")

    def test_the_new_volume_is_deleted_and_the_old_one_back(self, world):
        take_out(world)
        world.volumes.attach(make_new(world), INSTANCE_ID, DEVICE)
        result = self.ended(world)
        assert result.removed == [f"volume {VOLUME_ID}"]
        place = f"{OLD} is back in its place, {DEVICE} on {INSTANCE_ID}"
        assert result.kept == [f"volume {OLD}: {place}; it is not mounted again"]
        assert world.place_of(OLD) == (INSTANCE_ID, DEVICE)
        assert OLD in world.volumes.volumes

    def test_what_was_announced_is_kept_and_the_old_one_back(self, world):
        take_out(world)
        world.volumes.attach(make_new(world), INSTANCE_ID, DEVICE)
        result = self.ended(world, announced=True)
        assert len(result.kept) == 2
        assert world.place_of(VOLUME_ID) is None
        assert world.place_of(OLD) == (INSTANCE_ID, DEVICE)
        assert result.kept[0].startswith(f"volume {VOLUME_ID} (it was kept"), "it is nowhere any more"
        noted = world.table.records[RESTORE_ID]["cleanUp0"]
        assert (noted["kept"], noted["stays"]) == (result.kept, [{"volumeId": VOLUME_ID}])

    def test_what_cannot_go_back_is_told_with_both_volumes(self, world):
        take_out(world)
        world.volumes.attach(make_new(world), INSTANCE_ID, DEVICE)
        with pytest.raises(ServiceUnavailableError):
            self.clean(world, announced=True)
        world.say("/data")
        with pytest.raises(IncompleteCleanUpError, match=f"{VOLUME_ID} is at .*mounted at /data: {OLD} goes"):
            self.clean(world, announced=True)
        (stays,) = world.table.records[RESTORE_ID]["cleanUp0"]["stays"]
        assert stays == {"volumeId": VOLUME_ID, "device": DEVICE, "instanceId": INSTANCE_ID}
        assert world.volumes.volumes[OLD].settings.tags[REPLACED_TAG] == RESTORE_ID

    def test_where_nothing_was_detached_nothing_is_put_back(self, world):
        make_new(world)
        before = world.volumes.volumes[OLD]
        assert self.clean(world).kept == []
        assert world.volumes.volumes[OLD] == before
        assert not set(TAGS) & set(before.settings.tags)


class TestReport:
    def reported(self, result, **record):
        world = ReplacingWorld()
        world.table.update_volume(RESTORE_ID, 0, record)
        one = VolumePlan(volume=world.assignment, plan=plan())
        report, _document = accounts.reported(world, [one], [result])
        return report.volumes[0].replaced

    def test_who_was_replaced(self):
        replaced = self.reported(accounts.ready(), replaced={"state": "out"})
        assert (replaced.volume_id, replaced.device, replaced.state) == (OLD, DEVICE, "replaced")

    def test_where_it_is_after_a_failure(self):
        replaced = self.reported(accounts.failed(), replaced={"state": "left", "reason": "it is mounted"})
        assert (replaced.state, replaced.reason) == ("left", "it is mounted")

    def test_one_that_was_never_touched_is_in_its_place(self):
        assert self.reported(accounts.failed()).state == "in-place"

    def test_nothing_is_said_where_nothing_was_to_be_replaced(self):
        report, _document = accounts.reported(World(), [accounts.planned()], [accounts.ready()])
        assert report.volumes[0].replaced is None
