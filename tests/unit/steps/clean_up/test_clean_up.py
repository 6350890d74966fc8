"""State Clean Up."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from rewarm.contracts.events import PrepareSnapshotEvent
from rewarm.contracts.values import Failure
from rewarm.domain.errors import (
    AccessDeniedError,
    IncompleteCleanUpError,
    ModificationPostponedError,
    RequestRefusedError,
    ServiceUnavailableError,
    ThrottledError,
)
from rewarm.domain.model import Attachment, Strategy
from rewarm.domain.units import iso
from rewarm.domain.volume.performance import PerformanceSettings
from rewarm.steps.clean_up.clean_up import CleanUpEvent, CleanUpPorts, clean_up
from rewarm.steps.record.leftovers import removed_and_kept
from rewarm.steps.record.restore import RestoreNotes
from rewarm.steps.record.volume import VolumeNotes
from rewarm.steps.replace.started import StartedPorts
from rewarm.steps.rewind.evidence import Wanted
from rewarm.steps.volume.create_volume import CreateVolumeEvent, CreateVolumePorts, create_volume
from rewarm.steps.volume.prepare_snapshot import PrepareSnapshotPorts, prepare_snapshot
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
    boosted_plan,
    dispatch,
    plan,
    request,
)
from tests.support.wired import wired

OWNERS = "vol-owner"
TARGET_TEXT = "gp3 iops=3000 throughputMibS=125"


def create(world, *, index=0, attempt=0, chosen=None):
    event = CreateVolumeEvent(
        restore_id=RESTORE_ID,
        now=NOW,
        request=request(),
        volume=assignment(index=index),
        plan=chosen or plan(),
        attempt=attempt,
    )
    return create_volume(event, wired(CreateVolumePorts, world)).volume_id


def clean(
    world,
    *,
    volume_id=VOLUME_ID,
    announced=False,
    command=None,
    story=None,
    fallback=None,
    rewinds=None,
    **changes,
):
    event = CleanUpEvent(
        restore_id=RESTORE_ID,
        now=NOW,
        request=request(**changes),
        volume=assignment(rewinds=rewinds),
        volume_id=volume_id,
        dispatch=command,
        attached_announced=announced,
        story=story or {},
        fallback=fallback,
    )
    return clean_up(
        event,
        wired(CleanUpPorts, world),
    )


def recording(world):
    """One that runs, on the attached volume."""
    world.volumes.attach(VOLUME_ID, INSTANCE_ID, DEVICE)
    VolumeNotes(world.table, RESTORE_ID, 0).note_recording(VOLUME_ID, "command-2", INSTANCE_ID)
    world.commands.finish("command-2", status="InProgress", status_details="InProgress", exit_code=None)
    world.commands.clock = NOW


def copied(world, *, minutes=5):
    """A volume that somebody makes of the same snapshot, with all tags of ours."""
    ours = world.volumes.volumes[VOLUME_ID]
    world.volumes.volumes["vol-copy"] = replace(
        ours, volume_id="vol-copy", created_at=ours.created_at + timedelta(minutes=minutes)
    )
    return "vol-copy"


@pytest.fixture
def world():
    world = World()
    create(world)
    return world


class TestCleanUp:
    def test_deletes_the_volume(self, world):
        assert clean(world).removed == [f"volume {VOLUME_ID}"]
        assert world.volumes.deleted == [VOLUME_ID]

    def test_cancels_the_command_and_detaches_first(self, world):
        world.volumes.attach(VOLUME_ID, INSTANCE_ID, DEVICE)
        result = clean(world, command=dispatch())
        assert world.commands.cancelled == ["command-1"]
        assert result.removed == [f"volume {VOLUME_ID}"]

    def test_is_retried_while_the_volume_is_being_detached(self, world):
        world.volumes.attach(VOLUME_ID, INSTANCE_ID, DEVICE)
        world.volumes.slow_detach = True
        with pytest.raises(ServiceUnavailableError, match=f"{VOLUME_ID} is still being detached"):
            clean(world)
        world.volumes.change(VOLUME_ID, attachments=(), state="available")
        assert clean(world).removed == [f"volume {VOLUME_ID}"]

    def test_is_retried_while_the_volume_is_being_created(self, world):
        world.volumes.change(VOLUME_ID, state="creating")
        with pytest.raises(ServiceUnavailableError, match="still being created"):
            clean(world)

    def test_a_volume_that_ec2_calls_failed_is_not_called_usable(self, world):
        world.volumes.change(VOLUME_ID, state="error")
        (kept,) = clean(world, announced=True).kept
        assert "EC2 calls it failed (error), so its data are lost" in kept
        assert "usable" not in kept

    def test_never_deletes_a_volume_that_was_announced(self, world):
        world.volumes.attach(VOLUME_ID, INSTANCE_ID, DEVICE)
        result = clean(world, announced=True)
        assert result.removed == []
        assert result.kept[0].startswith(f"volume {VOLUME_ID}, still {DEVICE} on {INSTANCE_ID} (")
        assert result.kept[0].endswith("(it is usable and may hold new data; tagged rewarm:failed)")
        noted = world.table.records[RESTORE_ID]["cleanUp0"]["stays"]
        assert noted == [{"volumeId": VOLUME_ID, "device": DEVICE, "instanceId": INSTANCE_ID}]
        volume = world.volumes.volumes[VOLUME_ID]
        assert volume.attachments == (Attachment(INSTANCE_ID, DEVICE, "attached"),)
        assert volume.settings.tags["rewarm:failed"] == RESTORE_ID

    def test_deletes_the_volume_of_a_drill_although_it_was_announced(self, world):
        world.volumes.attach(VOLUME_ID, INSTANCE_ID, DEVICE)
        result = clean(world, announced=True, drill={"runbook": "rewarm-orders"})
        assert result.removed == [f"volume {VOLUME_ID}"]

    def test_the_recording_of_a_drill_ends_by_itself_once_its_volume_is_detached(self, world):
        """A command that is cancelled uploads nothing more."""
        recording(world)
        with pytest.raises(ServiceUnavailableError, match="recording of reads: it ends once its volume is"):
            clean(world, announced=True, drill={"runbook": "rewarm-orders"})
        assert world.volumes.deleted == [VOLUME_ID]
        assert world.commands.cancelled == []
        world.commands.finish("command-2", status="Failed", status_details="Failed", exit_code=1)
        world.commands.clock = NOW + timedelta(seconds=5)
        assert clean(world, announced=True, drill={"runbook": "rewarm-orders"}).removed == [
            f"volume {VOLUME_ID}"
        ]

    def test_the_recording_of_a_drill_is_not_waited_for_longer_than_a_minute(self, world):
        recording(world)
        world.commands.clock = NOW + timedelta(seconds=60)
        clean(world, announced=True, drill={"runbook": "rewarm-orders"})
        assert world.commands.cancelled == ["command-2"]

    def test_the_recording_of_a_restore_that_failed_is_cancelled_at_once(self, world):
        recording(world)
        clean(world)
        assert world.commands.cancelled == ["command-2"]

    def test_a_drill_whose_volume_cannot_be_deleted_has_failed(self, world):
        del world.volumes.volumes[VOLUME_ID].settings.tags["rewarm:stack"]
        with pytest.raises(IncompleteCleanUpError, match=f"volume {VOLUME_ID}.*tag rewarm:stack is gone"):
            clean(world, announced=True, drill={"runbook": "rewarm-orders"})
        assert VOLUME_ID in world.table.records[RESTORE_ID]["cleanUp0"]["kept"][0]

    def test_keeps_the_volume_where_the_request_says_so(self, world):
        result = clean(world, onFailure="keep")
        assert "the request says onFailure keep" in result.kept[0]
        assert VOLUME_ID in world.volumes.volumes

    @pytest.mark.parametrize(
        ("made_of", "announced", "is_incomplete"),
        [({}, False, True), ({}, True, False), ({"source_volume_id": "vol-1"}, False, False)],
        ids=["empty", "written", "clone"],
    )
    def test_says_and_tags_what_is_written_in_part(self, world, made_of, announced, is_incomplete):
        world.volumes.change(VOLUME_ID, snapshot_id=None, **made_of)
        (kept,) = clean(world, onFailure="keep", announced=announced).kept
        assert ("it is written in part only" in kept) == is_incomplete
        tags = world.volumes.volumes[VOLUME_ID].settings.tags
        assert tags["rewarm:failed"] == RESTORE_ID
        assert ("rewarm:incomplete" in tags) == is_incomplete

    def test_keeps_none_that_ec2_could_not_make(self, world):
        """Nothing is in it, and EC2 changes its settings no more: its boost would be billed for ever."""
        world.volumes.change(VOLUME_ID, state="error")
        assert clean(world, onFailure="keep").removed == [f"volume {VOLUME_ID}"]

    def test_keeps_a_volume_that_somebody_has_attached_elsewhere(self, world):
        world.volumes.attach(VOLUME_ID, "i-other", DEVICE)
        assert "attached to i-other" in clean(world).kept[0]

    @pytest.mark.parametrize("fallback", [None, "new-volume"])
    def test_what_was_kept_once_stays_when_its_owner_detaches_it(self, world, fallback):
        """It carries no tag any more that says so."""
        world.volumes.attach(VOLUME_ID, "i-other", DEVICE)
        clean(world, fallback=fallback)
        world.volumes.change(VOLUME_ID, attachments=(), state="available")
        tags = world.volumes.volumes[VOLUME_ID].settings.tags
        tags.pop("rewarm:failed", None)
        for _ in range(2):
            assert "it was kept before" in clean(world).kept[0]
        assert VOLUME_ID in world.volumes.volumes
        assert "rewarm:failed" not in world.volumes.volumes[VOLUME_ID].settings.tags

    def test_finds_a_volume_whose_id_was_never_told(self, world):
        assert clean(world, volume_id=None).removed == [f"volume {VOLUME_ID}"]

    def test_deletes_the_volume_of_an_earlier_plan_too(self, world):
        second = create(world, attempt=1)
        result = clean(world, volume_id=second, announced=True)
        assert result.removed == [f"volume {VOLUME_ID}"]
        assert list(world.volumes.volumes) == [second]

    @pytest.mark.parametrize("error", [RequestRefusedError("item too large"), ThrottledError("slow down")])
    def test_a_story_that_cannot_be_kept_keeps_nothing_from_being_removed(self, world, error, monkeypatch):
        update = world.table.update_volume

        def refuse_story(restore_id, index, changes):
            if "story" in changes:
                raise error
            update(restore_id, index, changes)

        monkeypatch.setattr(world.table, "update_volume", refuse_story)
        if isinstance(error, ThrottledError):
            with pytest.raises(ThrottledError):
                clean(world, story={"plan": {}})
        else:
            clean(world, story={"plan": {}})
        assert world.volumes.deleted == [VOLUME_ID]

    def test_a_record_that_cannot_be_read_keeps_no_known_command_running(self, world, monkeypatch):
        def unreadable(restore_id, index):
            raise AccessDeniedError("GetItem")

        monkeypatch.setattr(world.table, "get_volume", unreadable)
        with pytest.raises(AccessDeniedError):
            clean(world, command=dispatch())
        assert world.commands.cancelled == ["command-1"]
        assert world.volumes.deleted == [VOLUME_ID]

    def test_leaves_a_volume_alone_to_which_somebody_copied_our_tags(self, world):
        """Of the same snapshot, while the restore ran."""
        copy = copied(world)
        assert clean(world).removed == [f"volume {VOLUME_ID}"]
        assert list(world.volumes.volumes) == [copy]

    @pytest.mark.parametrize("minutes", [-0.5, 0, 5])
    def test_of_two_volumes_that_nothing_tells_apart_none_is_deleted(self, world, minutes):
        """CreateVolume's answer was lost, and somebody has copied the tags to a volume of that time."""
        copy = copied(world, minutes=minutes)
        world.table.update_volume(RESTORE_ID, 0, {"volume": None})
        result = clean(world, volume_id=None)
        assert result.removed == []
        assert list(world.volumes.volumes) == [VOLUME_ID, copy]
        for kept, name in zip(result.kept, (VOLUME_ID, copy), strict=True):
            assert "it may be somebody else's" in kept
            assert f"aws ec2 delete-volume --volume-id {name}" in kept

    @pytest.mark.parametrize("minutes", [-600, 600])
    def test_says_nothing_of_a_volume_that_was_made_before_or_after(self, world, minutes):
        world.table.update(RESTORE_ID, {"startedAt": iso(NOW)})
        copied(world, minutes=minutes)
        assert clean(world).kept == []

    @pytest.mark.parametrize(
        "change",
        [
            {"created_at": NOW - timedelta(days=365)},
            {"created_at": NOW + timedelta(hours=3)},
            {"snapshot_id": "snap-0ffffffffffffffff"},
            {"availability_zone": "us-east-1b"},
            {"attachments": (Attachment(INSTANCE_ID, DEVICE, "attached"),), "state": "in-use"},
        ],
    )
    def test_a_lost_answer_is_no_licence_for_a_volume_that_ec2_made_otherwise(self, world, change):
        """The tags alone say that it is ours, with the key of an attempt whose volume the record lacks."""
        world.volumes.change(VOLUME_ID, **change)
        world.table.update_volume(RESTORE_ID, 0, {"volume": None})
        assert clean(world, volume_id=None).removed == []
        assert (world.volumes.deleted, list(world.volumes.volumes)) == ([], [VOLUME_ID])

    def test_an_attempt_that_the_record_does_not_know_makes_no_volume_ours(self, world):
        """A year-old volume, attached to its instance, with the tags of a restore that has failed."""
        theirs = replace(
            world.volumes.volumes[VOLUME_ID],
            volume_id="vol-theirs",
            created_at=NOW - timedelta(days=365),
            attachments=(Attachment("i-theirs", DEVICE, "attached"),),
        )
        world.volumes.volumes["vol-theirs"] = theirs
        world.volumes.tag("vol-theirs", {"rewarm:attempt": "7", "rewarm:creation": "key of an attempt"})
        world.table.put(RESTORE_ID, {"startedAt": NOW.isoformat()})
        before = world.volumes.volumes["vol-theirs"]
        result = clean(world)
        assert (result.removed, result.kept) == ([f"volume {VOLUME_ID}"], [])
        assert world.volumes.volumes == {"vol-theirs": before}

    def test_a_volume_that_was_there_before_is_not_ours_though_the_record_names_it(self, world):
        world.volumes.change(VOLUME_ID, created_at=NOW - timedelta(days=365))
        assert clean(world).removed == []
        assert world.volumes.deleted == []

    def test_without_the_record_no_tag_proves_that_a_volume_is_ours(self, world):
        """The restore's own may be gone by now, and this one somebody's copy."""
        copy = copied(world)
        world.volumes.delete(VOLUME_ID)
        world.table.records.clear()
        (kept,) = clean(world, volume_id=None).kept
        assert kept.startswith(f"volume {copy} (it has this restore's tags")
        assert list(world.volumes.volumes) == [copy]

    def test_deletes_the_volume_of_a_later_plan_whose_id_was_never_told(self, world):
        second = create(world, attempt=1)
        made = world.table.records[RESTORE_ID]["volume0"]
        world.table.update_volume(RESTORE_ID, 0, {"volume": {**made, "volumeIds": {"0": VOLUME_ID}}})
        assert clean(world, volume_id=None).removed == [f"volume {VOLUME_ID}", f"volume {second}"]

    def test_deletes_an_empty_volume_whose_id_was_never_told(self):
        """Of a direct write: EC2 names no snapshot of it."""
        world = World()
        empty = create(world, chosen=plan(Strategy.DIRECT_WRITE))
        world.table.update_volume(RESTORE_ID, 0, {"volume": None})
        assert clean(world, volume_id=None).removed == [f"volume {empty}"]

    def test_leaves_a_volume_of_a_snapshot_alone_that_has_the_tags_of_an_empty_one(self):
        world = World()
        empty = create(world, chosen=plan(Strategy.DIRECT_WRITE))
        world.volumes.change(empty, snapshot_id="snap-backup")
        world.table.update_volume(RESTORE_ID, 0, {"volume": None})
        assert clean(world, volume_id=None).removed == []
        assert list(world.volumes.volumes) == [empty]

    def test_names_a_volume_whose_tag_of_the_stack_is_gone(self, world):
        """Nobody but its owner may change it; and it costs money."""
        boosted = create(world, attempt=1, chosen=boosted_plan())
        for name in (VOLUME_ID, boosted):
            world.volumes.untag(name, "rewarm:stack", "rewarm:restore-id")
        kept = clean(world, volume_id=boosted).kept
        assert [text.split(" (")[0] for text in kept] == [f"volume {VOLUME_ID}", f"volume {boosted}"]
        assert all("its tag rewarm:stack is gone" in text for text in kept)
        assert "it has its boost: gp3 with 4,000 IOPS and 1,000 MiB/s" in kept[1]
        assert world.volumes.deleted == []
        stays = world.table.records[RESTORE_ID]["cleanUp0"]["stays"]
        assert [one["volumeId"] for one in stays] == [VOLUME_ID, boosted]

    def test_lowers_a_boost_whose_tag_is_gone(self, world):
        boosted = create(world, attempt=1, chosen=boosted_plan())
        world.volumes.untag(boosted, "rewarm:boost")
        clean(world, volume_id=boosted, announced=True)
        assert world.modifications.started == [(boosted, PerformanceSettings("gp3", 3_000, 125))]

    def test_leaves_the_other_volumes_of_the_restore_alone(self, world):
        other = create(world, index=1)
        clean(world)
        assert list(world.volumes.volumes) == [other]

    def test_gives_fast_snapshot_restore_back(self, world):
        event = PrepareSnapshotEvent(
            restore_id=RESTORE_ID, now=NOW, volume=assignment(), plan=plan(Strategy.FAST_SNAPSHOT_RESTORE)
        )
        prepare_snapshot(
            event,
            wired(PrepareSnapshotPorts, world),
        )
        assert clean(world).removed[-1] == f"fast snapshot restore of {SNAPSHOT_ID} in {ZONE} disabled"

    def test_lowers_the_boost_of_a_volume_that_stays(self, world):
        boosted = create(world, attempt=1, chosen=boosted_plan())
        world.volumes.attach(boosted, INSTANCE_ID, DEVICE)
        result = clean(world, volume_id=boosted, announced=True)
        assert result.kept[0].startswith(f"volume {boosted}, still {DEVICE} on {INSTANCE_ID} (it is usable")
        assert result.removed[-1] == f"boost of {boosted} (it goes back to {TARGET_TEXT})"
        assert world.modifications.started == [(boosted, PerformanceSettings("gp3", 3_000, 125))]
        clean(world, volume_id=boosted, announced=True)
        assert len(world.modifications.started) == 1

    def test_does_not_lower_what_it_deletes(self, world):
        create(world, attempt=1, chosen=boosted_plan())
        clean(world)
        assert world.volumes.volumes == {}
        assert world.modifications.started == []

    def test_is_retried_while_a_boost_cannot_be_lowered_yet(self, world):
        boosted = create(world, attempt=1, chosen=boosted_plan())
        world.modifications.failure = ModificationPostponedError("IncorrectModificationState")
        with pytest.raises(ServiceUnavailableError, match=f"boost of {boosted} .gp3 with 4,000 IOPS"):
            clean(world, volume_id=boosted, announced=True)

    def test_names_a_boost_that_stays(self, world):
        boosted = create(world, attempt=1, chosen=boosted_plan())
        world.modifications.failure = AccessDeniedError("ec2:ModifyVolume")
        with pytest.raises(IncompleteCleanUpError, match=r"to be gp3 iops=3000.*ec2:ModifyVolume"):
            clean(world, volume_id=boosted, announced=True)

    def test_a_volume_that_is_gone_is_removed_whatever_the_answer_was(self, world, monkeypatch):
        """The answer of the first call was lost; the second is refused, as the tag that allows it is gone."""

        def refused(volume_id):
            del world.volumes.volumes[volume_id]
            raise AccessDeniedError("ec2:DeleteVolume")

        monkeypatch.setattr(world.volumes, "delete", refused)
        assert clean(world).removed == [f"volume {VOLUME_ID}"]

    def test_one_failure_keeps_nothing_else_from_being_removed(self, world):
        world.commands.failure = AccessDeniedError("ssm:CancelCommand")
        with pytest.raises(IncompleteCleanUpError, match="command command-1: ssm:CancelCommand"):
            clean(world, command=dispatch())
        assert world.volumes.deleted == [VOLUME_ID]

    def test_is_retried_where_aws_is_busy(self, world):
        world.volumes.failure = ThrottledError("slow down")
        with pytest.raises(ServiceUnavailableError, match=f"volume {VOLUME_ID}: slow down"):
            clean(world)
        world.volumes.failure = None
        clean(world)
        assert world.volumes.volumes == {}

    def test_names_what_it_may_not_delete(self, world):
        world.volumes.failure = AccessDeniedError("ec2:DeleteVolume")
        with pytest.raises(IncompleteCleanUpError, match=f"volume {VOLUME_ID}: ec2:DeleteVolume"):
            clean(world)
        assert world.table.records[RESTORE_ID]["cleanUp0"]["kept"] == [
            f"volume {VOLUME_ID}: ec2:DeleteVolume (the sweeper tries again every 15 minutes)"
        ]
        assert world.table.records[RESTORE_ID]["cleanUp0"]["unfinished"] is True

    def test_twice_gives_the_same_account(self, world):
        assert clean(world) == clean(world)

    def test_has_nothing_to_do_where_nothing_was_made(self):
        result = clean(World(), volume_id=None)
        assert (result.removed, result.kept) == ([], [])


def evidence_tags(attempt, **changes):
    wanted = Wanted(RESTORE_ID, 0, attempt, OWNERS, SNAPSHOT_ID)
    return {**wanted.tags("rewarm"), **changes}


def named(world):
    """What the message names as kept after a clean-up."""
    clean(world, volume_id=None, rewinds=OWNERS)
    record = RestoreNotes(world.table, RESTORE_ID).read_whole()
    return removed_and_kept(RESTORE_ID, [{"index": 0}], record)[1]


class TestRewind:
    """The snapshots that a rewind made of the volume stay, and cost money."""

    @pytest.mark.parametrize("attempts", [1, 2, 5])
    @pytest.mark.parametrize(
        ("noted", "became"),
        [
            (None, f"no record says any more whether {OWNERS} was written to"),
            ({"state": "preparing"}, f"{OWNERS} is unchanged"),
            ({"state": "done"}, "it is whole"),
            ({"found": f"{OWNERS} is mixed: 3 blocks"}, "is mixed: 3 blocks"),
        ],
    )
    def test_all_are_named_whatever_the_record_has_lost(self, noted, became, attempts):
        world = World()
        made = [world.evidence.create(OWNERS, evidence_tags(attempt)) for attempt in range(attempts)]
        if noted is not None:
            world.table.update_volume(RESTORE_ID, 0, {"rewind": {"volumeId": OWNERS, **noted}})
        kept = named(world)
        assert [line.split()[1] for line in kept] == made
        assert all(became in line for line in kept)
        assert world.table.get_volume(RESTORE_ID, 0)["rewind"]["others"] == made
        assert named(world) == kept

    def test_those_of_further_attempts_are_named_beside_the_way_back(self):
        world = World()
        other, newest = [world.evidence.create(OWNERS, evidence_tags(attempt)) for attempt in (0, 1)]
        known = {"volumeId": OWNERS, "state": "done", "evidence": newest}
        world.table.update_volume(RESTORE_ID, 0, {"rewind": known})
        assert named(world) == [
            f"snapshot {newest} (it has {OWNERS} as it was before the rewind; it is whole)",
            f"snapshot {other} (it compared {OWNERS} once more)",
        ]

    def test_one_whose_tags_somebody_has_changed_is_named(self):
        world = World()
        name = world.evidence.create(OWNERS, evidence_tags(0))
        world.evidence.change(name, tags=evidence_tags(7))
        (kept,) = named(world)
        assert name in kept

    def test_one_that_only_has_the_tags_is_not_ours(self):
        world = World()
        world.table.update_volume(RESTORE_ID, 0, {"plan": {}})
        name = world.evidence.create(OWNERS, evidence_tags(0))
        world.evidence.change(name, description="nightly")
        assert named(world) == []

    def test_an_undo_log_may_be_there_where_the_record_is_lost(self):
        (kept,) = named(World())
        assert kept.startswith(f"undo log of {RESTORE_ID}, if there is one")

    @pytest.mark.parametrize(
        ("failure", "found"),
        [
            (ThrottledError("no"), ServiceUnavailableError),
            (AccessDeniedError("no"), IncompleteCleanUpError),
        ],
    )
    def test_a_look_that_failed_is_not_an_answer(self, failure, found, monkeypatch):
        world = World()

        def fails(_restore_id, _index):
            raise failure

        monkeypatch.setattr(world.evidence, "of_restore", fails)
        with pytest.raises(found, match=f"snapshots that {RESTORE_ID} made of its volume: no"):
            clean(world, volume_id=None, rewinds=OWNERS)


def test_a_mixed_volume_is_named_although_its_undo_log_is_deleted() -> None:
    world = World()
    found = {
        "volumeId": "vol-owner",
        "state": "writing",
        "undoLog": None,
        "found": "vol-owner is mixed: 3 blocks",
    }
    world.table.update_volume(RESTORE_ID, 0, {"rewind": found, "plan": {}})
    assert clean(world, volume_id=None, rewinds=OWNERS).kept == [], (
        "the message says it, once somebody has looked"
    )
    (kept,) = named(world)
    assert "vol-owner is mixed: 3 blocks" in kept
    assert "no way back" in kept


def test_what_is_known_of_the_volume_is_kept_for_the_report():
    world = World()
    event = CleanUpEvent(
        restore_id=RESTORE_ID,
        now=NOW,
        request=request(),
        volume=assignment(index=3),
        story={"warmUps": 1, "timeline": {"began": "2026-11-21T03:00:00Z"}},
    )
    clean_up(
        event,
        wired(CleanUpPorts, world),
    )
    assert world.table.records[RESTORE_ID]["story3"] == event.story


class TestStartedInstance:
    """With target.start: all of its volumes or none, until it is up."""

    def clean(self, world):
        event = CleanUpEvent(
            restore_id=RESTORE_ID,
            now=NOW,
            request=request(),
            volume=assignment(starts_instance=True),
            volume_id=VOLUME_ID,
            failure=Failure(error="QuotaExceededError", cause="no volumes left"),
        )
        return clean_up(
            event, wired(CleanUpPorts, world, started=wired(StartedPorts, world, states=world.instances))
        )

    @pytest.fixture
    def started(self, world):
        world.volumes.attach(VOLUME_ID, INSTANCE_ID, DEVICE)
        noted = {"instanceId": INSTANCE_ID, "state": "started", "startedAt": "2026-11-21T03:00:00Z"}
        world.table.records[RESTORE_ID]["instance"] = noted
        return world

    def test_it_is_stopped_before_a_volume_leaves_it(self, started):
        with pytest.raises(ServiceUnavailableError, match=f"{INSTANCE_ID} is being stopped"):
            self.clean(started)
        assert started.instances.get(INSTANCE_ID).state == "stopped"
        assert started.volumes.volumes[VOLUME_ID].attachments
        assert self.clean(started).removed == [f"volume {VOLUME_ID}"]

    def test_one_that_is_up_keeps_its_volumes(self, started):
        started.table.records[RESTORE_ID]["instance"]["state"] = "up"
        (kept,) = self.clean(started).kept
        assert f"volume {VOLUME_ID}" in kept
        assert "usable and may hold new data" in kept
        assert started.instances.get(INSTANCE_ID).state == "running"

    def test_a_volume_that_fails_before_the_start_keeps_the_instance_from_it(self, started):
        started.table.records[RESTORE_ID].pop("instance")
        started.volumes.detach(VOLUME_ID, INSTANCE_ID)
        self.clean(started)
        noted = started.table.records[RESTORE_ID]["instance"]
        assert noted["state"] == "given-up"
        why = (
            "volume 0 of this restore has failed (QuotaExceededError: no volumes left), and an instance gets"
        )
        assert noted["reason"].startswith(why)
