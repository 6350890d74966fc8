"""Volumes that are there already: which can be adopted, and what is known of them before anything is read."""

from __future__ import annotations

import dataclasses
from datetime import timedelta

import pytest

from rewarm.domain.errors import (
    InvalidRequestError,
    NotAttachedError,
    RestoreCancelledError,
    TargetBusyError,
    TargetNotUsableError,
    TooManyRestoresError,
)
from rewarm.domain.model import GIB, MIB, Attachment, InitializationStatus, Volume, VolumeSettings
from rewarm.domain.units import clock_text
from rewarm.steps.plan.plan_restore import PlanRestorePorts, plan_restore
from rewarm.steps.record.bucket import block_map_key
from rewarm.steps.request.routes import StartRestorePorts, start_restore
from rewarm.steps.select.admission import HoldingPorts, assign_and_hold
from rewarm.steps.select.select_snapshot import SelectSnapshotEvent, SelectSnapshotPorts, select_snapshot
from tests.support.builders import (
    ALICE,
    INSTANCE_ID,
    NOW,
    RESTORE_ID,
    SNAPSHOT_ID,
    SOURCE_VOLUME_ID,
    ZONE,
    World,
    instance,
    request,
    snapshot,
)
from tests.support.fakes import FakePrices
from tests.support.values.facts import TOKYO
from tests.support.wired import wired

NAME = "vol-0aaaaaaaaaaaaaaaa"
OTHER = "vol-0bbbbbbbbbbbbbbbb"
GONE = "snap-0bbbbbbbbbbbbbbbb"


def in_use(world, name=NAME, *, snapshot_id=SNAPSHOT_ID, instance_id=INSTANCE_ID, **changes):
    """A volume of 100 GiB that others have attached."""
    place = (Attachment(instance_id, "/dev/sdf", "attached"),)
    settings = VolumeSettings("gp3", 100, 3_000, 125, tags={"app": "orders"})
    volume = Volume(name, "in-use", ZONE, settings, snapshot_id, None, place, NOW)
    world.volumes.volumes[name] = dataclasses.replace(volume, **changes)
    return world


def adopting(existing=None, **parts):
    return request({"source": {"existing": existing or {"volumeIds": [NAME]}}}, **parts)


def adopt(world, asked=None, restore_id=RESTORE_ID):
    ports = wired(HoldingPorts, world, keeper=world.keeper())
    return assign_and_hold(asked or adopting(), restore_id=restore_id, now=NOW, ports=ports).volumes


def refusal(world, asked=None):
    with pytest.raises((TargetNotUsableError, InvalidRequestError)) as caught:
        adopt(world, asked)
    return str(caught.value)


def test_a_volume_stays_where_it_is_with_the_settings_that_it_has():
    (volume,) = adopt(in_use(World()))
    assert (volume.adopts, volume.instance_id, volume.device) == (NAME, INSTANCE_ID, "/dev/sdf")
    assert (volume.snapshot_id, volume.data_bytes) == (SNAPSHOT_ID, 40 * GIB)
    assert (volume.volume.size_gib, volume.volume.iops, volume.volume.tags) == (100, 3_000, {})
    assert volume.politeness(None) == 20.0
    assert volume.politeness(5.0) == 5.0
    assert volume.warm_because is None
    assert volume.unlisted_because is None


@pytest.mark.parametrize("existing", [{"instanceId": INSTANCE_ID}, {"tags": {"app": "orders"}}])
def test_a_volume_that_the_request_does_not_name_is_noted_as_the_restores(existing):
    world = in_use(World())
    world.instances.add(instance(devices={"/dev/sdf": NAME}))
    event = SelectSnapshotEvent(restore_id=RESTORE_ID, now=NOW, request=adopting(existing))
    select_snapshot(event, wired(SelectSnapshotPorts, world, keeper=world.keeper()))
    assert world.table.of_volumes == {NAME: {RESTORE_ID}}


@pytest.mark.parametrize("existing", [{"instanceId": INSTANCE_ID}, {"tags": {"app": "orders"}}])
def test_an_instance_or_tags_name_volumes(existing):
    world = in_use(World())
    world.instances.add(instance(devices={"/dev/sdf": NAME}))
    assert [volume.adopts for volume in adopt(world, adopting(existing))] == [NAME]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"attachments": ()}, "is attached to no instance"),
        ({"attachments": (Attachment(INSTANCE_ID, "/dev/sdf", "attaching"),)}, "is attaching"),
        (
            {"attachments": tuple(Attachment(name, "/dev/sdf", "attached") for name in ("i-1", "i-2"))},
            "is attached to 2 instances",
        ),
        ({"source_volume_id": OTHER}, f"is a copy of {OTHER}"),
        ({"attachments": (Attachment("", "/dev/xvdba", "attached"),)}, "a Fargate task may have it"),
        ({"settings": VolumeSettings("standard", 8)}, "is of the type standard"),
        ({"settings": VolumeSettings("gp3", 8, tags={"rewarm:rewinding": "restore-1"})}, "is being rewound"),
    ],
)
def test_a_volume_that_cannot_be_read_in_its_place_is_refused(changes, said):
    assert said in refusal(in_use(World(), **changes))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"state": "stopped"}, "is stopped"),
        ({"ssm_online": False}, "is not online in Systems Manager"),
        ({"system": "Bottlerocket"}, "without the host's block devices"),
        ({"architecture": "riscv"}, "there is no agent for linux on riscv"),
    ],
)
def test_an_instance_without_an_agent_is_refused(changes, said):
    world = in_use(World())
    world.instances.add(instance(**changes))
    assert said in refusal(world)


def test_a_volume_that_is_not_there_is_named():
    assert refusal(World()) == f"source.existing.volumeIds: found {NAME}; there is no such volume"


def test_an_asterisk_is_a_tag_like_any_other():
    assert "no attached volume carries" in refusal(in_use(World()), adopting({"tags": {"app": "*"}}))


def test_a_volume_that_is_named_twice_is_adopted_once():
    assert len(adopt(in_use(World()), adopting({"volumeIds": [NAME, NAME]}))) == 1


def test_volumes_of_two_instances_need_two_requests():
    world = in_use(in_use(World()), OTHER, instance_id="i-0bbbbbbbbbbbbbbbb")
    assert "found volumes of 2 instances" in refusal(world, adopting({"volumeIds": [NAME, OTHER]}))


def test_no_volume_is_adopted_twice_at_once():
    world = in_use(World())
    assert world.keeper().holds.enter("restore-1", instance_id=None, now=NOW)
    adopt(world, restore_id="restore-1")
    assert world.holds.entry("restore-1").instance_id == INSTANCE_ID
    with pytest.raises(TargetBusyError, match=r"^source.existing: restore-1 works on one of the volumes"):
        adopt(world, restore_id="restore-2")


class TestWarm:
    def test_a_volume_that_was_made_empty_has_nothing_to_load(self):
        (volume,) = adopt(in_use(World(), snapshot_id=None))
        assert volume.was_made_empty
        assert volume.data_bytes == 0
        assert "made empty" in volume.warm_because

    @pytest.mark.parametrize("percent", [None, 100])
    def test_ebs_says_that_it_has_loaded_it(self, percent):
        world = in_use(World())
        world.volumes.statuses[NAME] = InitializationStatus("completed", "default", percent, None)
        assert "EBS says" in adopt(world)[0].warm_because

    def test_completed_beside_75_percent_says_nothing(self):
        world = in_use(World())
        world.volumes.statuses[NAME] = InitializationStatus("completed", "default", 75, None)
        assert adopt(world)[0].warm_because is None

    def test_a_request_for_the_agent_has_it_read_anyway(self):
        world = in_use(World(), snapshot_id=None)
        (volume,) = adopt(world, adopting(objective={"strategy": "warm-up-agent"}))
        assert volume.warm_because is None
        assert volume.unlisted_because == "the request asks for it"


class TestMaps:
    def blocks(self, world, asked=None):
        event = SelectSnapshotEvent(restore_id=RESTORE_ID, now=NOW, request=asked or adopting())
        (volume,) = select_snapshot(event, wired(SelectSnapshotPorts, world, keeper=world.keeper())).volumes
        return volume

    def test_what_the_snapshot_has_is_read(self):
        assert self.blocks(in_use(World())).written_blocks == 4

    def test_all_of_a_volume_is_read_whose_snapshot_is_gone(self):
        volume = self.blocks(in_use(World(), snapshot_id=GONE))
        assert volume.written_blocks == 100 * 2_048
        assert (
            volume.unlisted_because
            == f"{GONE}, which it was made of, is gone or not shared with this account"
        )


def test_too_many_restores_on_its_instance_are_said_of_the_volumes():
    """The request has no target to name."""
    world = in_use(in_use(World()), OTHER)
    adopt(world, adopting({"volumeIds": [OTHER]}), restore_id="restore-1")
    ports = wired(HoldingPorts, world, keeper=world.keeper(per_instance=1))
    with pytest.raises(TooManyRestoresError, match=r"^source\.existing: restore-1 runs on i-"):
        assign_and_hold(adopting(), restore_id=RESTORE_ID, now=NOW, ports=ports)


def _tagged(world, name=NAME, **tags):
    settings = world.volumes.volumes[name].settings
    world.volumes.change(name, settings=dataclasses.replace(settings, tags=tags))


class TestRecordings:
    def test_those_of_a_cold_volume_belong_to_what_it_was_made_of(self):
        assert adopt(in_use(World()))[0].lineage == SOURCE_VOLUME_ID
        assert adopt(in_use(World(), snapshot_id=GONE))[0].lineage == GONE

    def test_those_of_one_that_was_made_of_a_copy_are_with_those_of_its_copies(self):
        world = in_use(World())
        tags = {"rewarm:lineage": "vol-0123abcd"}
        world.snapshots.add(snapshot(is_copy=True, volume_id="vol-ffffffff", tags=tags))
        assert adopt(world)[0].lineage == "copies-of-vol-0123abcd"
        world.snapshots.add(snapshot(is_copy=True, tags={"rewarm:lineage": "orders"}))
        assert "rewarm:lineage" in adopt(world)[0].unlearned_because

    def test_those_of_a_warm_volume_are_for_snapshots_of_itself(self):
        world = in_use(World())
        world.volumes.statuses[NAME] = InitializationStatus("completed", "default", 100, None)
        assert adopt(world)[0].lineage == NAME
        assert adopt(in_use(World(), snapshot_id=None))[0].lineage == NAME

    def test_a_tag_of_the_volume_or_of_its_snapshot_forbids_them(self):
        world = in_use(World())
        assert adopt(world)[0].unlearned_because is None
        world.snapshots.add(snapshot(tags={"rewarm:learn": "false"}))
        assert adopt(world)[0].unlearned_because.startswith(SNAPSHOT_ID)
        _tagged(world, **{"rewarm:learn": "false"})
        assert adopt(world)[0].unlearned_because.startswith(NAME)

    def test_so_does_one_of_the_volume_that_the_snapshot_was_made_of(self):
        world = in_use(World())
        settings = VolumeSettings("gp3", 100, 3_000, 125, tags={"rewarm:learn": "false"})
        source = Volume(SOURCE_VOLUME_ID, "in-use", ZONE, settings, None, None, (), NOW)
        world.volumes.volumes[SOURCE_VOLUME_ID] = source
        (volume,) = adopt(world, adopting(warmUp={"learn": {"minutes": 5}}))
        assert volume.unlearned_because.startswith(SOURCE_VOLUME_ID)


BY_SELECTOR = [{"instanceId": INSTANCE_ID}, {"tags": {"app": "orders"}}]
TWO_PLACES = tuple(Attachment(name, "/dev/sdg", "attached") for name in (INSTANCE_ID, "i-0bbbbbbbbbbbbbbbb"))


class TestLeftOut:
    """Of volumes that tags or an instance name, those that cannot be adopted are left out by name."""

    def selected(self, world, existing, restore_id=RESTORE_ID):
        world.instances.add(instance(devices={"/dev/sdf": NAME, "/dev/sdg": OTHER}))
        ports = wired(HoldingPorts, world, keeper=world.keeper())
        return assign_and_hold(adopting(existing), restore_id=restore_id, now=NOW, ports=ports)

    @pytest.mark.parametrize("existing", BY_SELECTOR)
    def test_the_others_are_warmed(self, existing):
        world = in_use(in_use(World(), attachments=TWO_PLACES), OTHER)
        found = self.selected(world, existing)
        assert [(one.index, one.adopts, one.map_key) for one in found.volumes] == [
            (0, OTHER, block_map_key(RESTORE_ID, 0))
        ]
        (left,) = found.request.left_out
        assert left.sentence == (
            f"{NAME} is not warmed up, because it is attached to 2 instances; allowed is a volume of one, "
            "whose agent reads it."
        )
        assert left.missing == f"{NAME} is not warmed up"
        assert [hold.device for hold in world.holds.on_target(INSTANCE_ID).holds] == ["/dev/sdf"]

    @pytest.mark.parametrize("existing", BY_SELECTOR)
    def test_so_is_one_that_another_restore_works_on(self, existing):
        world = in_use(in_use(World()), OTHER, attachments=(Attachment(INSTANCE_ID, "/dev/sdg", "attached"),))
        assert world.keeper().holds.enter("restore-1", instance_id=None, now=NOW)
        adopt(world, restore_id="restore-1")
        found = self.selected(world, existing)
        assert [one.adopts for one in found.volumes] == [OTHER]
        assert [left.because for left in found.request.left_out] == ["restore-1 works on it already"]

    def test_a_request_that_names_it_is_refused_whole(self):
        world = in_use(in_use(World(), attachments=TWO_PLACES), OTHER)
        assert "is attached to 2 instances" in refusal(world, adopting({"volumeIds": [NAME, OTHER]}))

    @pytest.mark.parametrize("existing", BY_SELECTOR)
    def test_where_none_can_be_adopted_the_request_is_refused(self, existing):
        world = in_use(World(), attachments=TWO_PLACES)
        world.instances.add(instance(devices={"/dev/sdf": NAME}))
        assert "is attached to 2 instances" in refusal(world, adopting(existing))

    @pytest.mark.parametrize("existing", BY_SELECTOR)
    def test_where_others_work_on_all_of_them_the_request_is_refused(self, existing):
        world = in_use(World())
        world.instances.add(instance(devices={"/dev/sdf": NAME}))
        assert world.keeper().holds.enter("restore-1", instance_id=None, now=NOW)
        adopt(world, restore_id="restore-1")
        with pytest.raises(TargetBusyError, match="restore-1 works on one of the volumes already"):
            adopt(world, adopting(existing))

    def test_the_record_says_what_the_restore_does_without(self):
        world = in_use(in_use(World(), attachments=TWO_PLACES), OTHER)
        event = SelectSnapshotEvent(restore_id=RESTORE_ID, now=NOW, request=adopting(BY_SELECTOR[1]))
        world.table.put_new(RESTORE_ID, {"status": "planning", "request": event.request.to_json()})
        result = select_snapshot(event, wired(SelectSnapshotPorts, world, keeper=world.keeper()))
        assert [left.effect for left in result.request.left_out] == [f"{NAME} is not warmed up"]
        assert world.table.get(RESTORE_ID)["request"]["leftOut"][0]["effect"] == f"{NAME} is not warmed up"

    def test_a_record_that_has_lost_its_request_does_not_look_whole_again(self):
        world = in_use(in_use(World(), attachments=TWO_PLACES), OTHER)
        event = SelectSnapshotEvent(restore_id=RESTORE_ID, now=NOW, request=adopting(BY_SELECTOR[1]))
        select_snapshot(event, wired(SelectSnapshotPorts, world, keeper=world.keeper()))
        assert "request" not in world.table.get(RESTORE_ID)


class TestWaits:
    """With waitForAttachmentMinutes, volumes may be attached later."""

    def look(self, world, minutes, existing=None):
        asked = adopting({"volumeIds": [NAME], "waitForAttachmentMinutes": 30, **(existing or {})})
        now = NOW + timedelta(minutes=minutes)
        event = SelectSnapshotEvent(restore_id=RESTORE_ID, now=now, request=asked, started_at=NOW)
        return select_snapshot(event, wired(SelectSnapshotPorts, world, keeper=world.keeper()))

    @pytest.mark.parametrize(
        ("minutes", "seconds"), [(0, 5), (1, 15), (4, 60), (16, 240), (28, 120), (29.99, 1)]
    )
    def test_looks_grow_apart_and_the_last_one_is_when_the_time_is_over(self, minutes, seconds):
        found = self.look(in_use(World(), attachments=()), minutes)
        assert (found.wait_seconds, found.volumes_key) == (seconds, None)

    def test_the_record_says_what_is_waited_for(self):
        world = in_use(World(), attachments=())
        self.look(world, 1)
        assert world.table.get(RESTORE_ID)["waiting"] == (
            f"{NAME} is attached to no instance; attach it first: an agent on its instance reads it. "
            f"It is waited for until {clock_text(NOW + timedelta(minutes=30))}"
        )
        assert not world.holds.on_target(INSTANCE_ID).holds
        found = self.look(in_use(world), 2)
        assert (found.wait_seconds, found.volume_count) == (0, 1)
        assert world.table.get(RESTORE_ID)["waiting"] is None

    @pytest.mark.parametrize("changes", [{"state": "pending"}, {"ssm_online": False}, {"state": "stopped"}])
    def test_an_instance_may_come_online_later(self, changes):
        world = in_use(World())
        world.instances.add(instance(**changes))
        assert self.look(world, 1).wait_seconds == 15

    @pytest.mark.parametrize(
        "changes", [{"source_volume_id": OTHER}, {"settings": VolumeSettings("standard", 8)}]
    )
    def test_what_can_never_be_adopted_is_not_waited_for(self, changes):
        with pytest.raises(TargetNotUsableError):
            self.look(in_use(World(), attachments=(), **changes), 1)

    def test_an_instance_that_is_gone_is_not_waited_for(self):
        world = in_use(World())
        world.instances.add(instance(state="terminated"))
        with pytest.raises(TargetNotUsableError):
            self.look(world, 1)

    def test_once_the_time_is_over_the_request_is_refused(self):
        with pytest.raises(NotAttachedError, match=r"is attached to no instance; .* It was waited for until"):
            self.look(in_use(World(), attachments=()), 30)

    def test_of_tags_what_is_attached_is_warmed_once_the_time_is_over(self):
        world = in_use(in_use(World(), attachments=()), OTHER)
        tags = {"volumeIds": None, "tags": {"app": "orders"}}
        assert self.look(world, 29, tags).wait_seconds == 60
        found = self.look(world, 30, tags)
        assert [one.adopts for one in found.volumes] == [OTHER]
        assert [left.effect for left in found.request.left_out] == [f"{NAME} is not warmed up"]
        assert found.request.source.existing.wait_for_attachment_minutes == 30

    def test_without_a_wait_tags_mean_attached_volumes_alone(self):
        world = in_use(in_use(World(), attachments=()), OTHER)
        assert [one.adopts for one in adopt(world, adopting({"tags": {"app": "orders"}}))] == [OTHER]

    def test_a_restore_that_waits_can_be_cancelled(self):
        world = in_use(World(), attachments=())
        self.look(world, 1)
        world.table.request_cancel(RESTORE_ID, by=None, unless=[])
        with pytest.raises(RestoreCancelledError):
            self.look(world, 2)


class TestPlans:
    """POST /plans, and what POST /restores answers."""

    def plan(self, world, existing):
        body = {"source": {"existing": existing}}
        return plan_restore(body, restore_id=RESTORE_ID, now=NOW, ports=wired(PlanRestorePorts, world))

    def test_a_volume_that_is_not_attached_yet_has_a_time_and_a_price(self):
        world = in_use(World(), attachments=())
        found = self.plan(world, {"volumeIds": [NAME], "waitForAttachmentMinutes": 30})
        (plan,) = found.plans
        assert (plan.plan.strategy, plan.facts.instance_limits) == ("warm-up-agent", None)
        assert plan.plan.ready_p50_seconds > 40 * GIB / MIB / 125
        assert any(f"{NAME} is attached to no instance" in note for note in found.summary.notes)

    def test_what_is_left_out_is_noted(self):
        world = in_use(in_use(World(), attachments=TWO_PLACES), OTHER)
        found = self.plan(world, {"tags": {"app": "orders"}})
        assert [one.volume.adopts for one in found.plans] == [OTHER]
        assert found.summary.notes[0].startswith(f"{NAME} is not warmed up, because it is attached to 2")

    def test_the_answer_to_a_start_says_both(self):
        world = in_use(in_use(World(), attachments=TWO_PLACES), OTHER, attachments=())
        body = {"source": {"existing": {"tags": {"app": "orders"}, "waitForAttachmentMinutes": 30}}}
        ports = wired(StartRestorePorts, world, keeper=world.keeper())
        answer = start_restore(body, restore_id=RESTORE_ID, by=ALICE, now=NOW, ports=ports)
        assert answer["waitsBecause"].startswith(f"{OTHER} is attached to no instance")
        assert [left["effect"] for left in answer["leftOut"]] == [f"{NAME} is not warmed up"]
        assert world.executions.started[RESTORE_ID]["request"]["leftOut"] == []


@pytest.mark.parametrize(
    ("asked", "tags", "refusal"),
    [
        (True, {"rewarm:managed": "true"}, None),
        (False, {"rewarm:managed": "true"}, "the request does not allow it"),
        (True, {}, f"the owner of {NAME} has not allowed it by the tag rewarm:managed=true"),
        (True, {"rewarm:managed": "yes"}, f"the owner of {NAME} has not allowed it"),
        (True, {"rewarm:managed": "true", "rewarm:boost": "gp3"}, f"{NAME} is boosted already"),
    ],
)
def test_a_boost_needs_two_consents(asked, tags, refusal):
    world = in_use(World(), settings=VolumeSettings("gp3", 100, 3_000, 125, tags=tags))
    (volume,) = adopt(world, adopting({"volumeIds": [NAME], "boost": asked}))
    found = volume.boost_refusal
    assert (found is None) if refusal is None else found.startswith(refusal)


def test_a_plan_names_price_and_time_of_a_boost_or_why_there_is_none():
    def candidate(world, strategy="auto"):
        asked = adopting({"volumeIds": [NAME], "boost": True}, objective={"strategy": strategy})
        ports = wired(PlanRestorePorts, world)
        plan = plan_restore(asked.to_json(), restore_id=RESTORE_ID, now=NOW, ports=ports).to_json()
        (volume,) = plan["plans"]
        return plan, next(one for one in volume["candidates"] if one["strategy"] == "boosted-warm-up")

    world = in_use(World(), settings=VolumeSettings("io2", 100, 100, tags={"rewarm:managed": "true"}))
    world.prices = FakePrices(TOKYO)
    plan, boosted = candidate(world, "boosted-warm-up")
    assert boosted["chosen"]
    (_, price) = boosted["costParts"]
    # A tenth of the 6 h for a full TiB, and the sweeper a quarter of an hour later.
    assert price["seconds"] == 2_110 + 900
    assert any("about 6 h for a full TiB" in note for note in plan["summary"]["notes"])
    untagged = in_use(World(), settings=VolumeSettings("io2", 100, 100))
    _, refused = candidate(untagged)
    assert refused["reason"].startswith(f"Not possible: the owner of {NAME} has not allowed it")
