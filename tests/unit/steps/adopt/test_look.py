"""One look of rules: what begins, what waits, what ended; within limits, and each volume once in its life."""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime, timedelta
from decimal import Decimal

import pytest

from rewarm.contracts.rules import AdoptionLedger
from rewarm.domain.errors import ThrottledError
from rewarm.domain.model import Attachment
from rewarm.domain.volume.holds import Hold, TargetHolds
from rewarm.domain.volume.leftovers import ExecutionEnd, ExecutionStart
from rewarm.domain.volume.rules import REGION, STACK
from rewarm.ports.executions import LOOK_PREFIX
from rewarm.steps.adopt.rules import delete_rule, put_rule
from tests.support.builders import ALICE, INSTANCE_ID, NOW, instance
from tests.support.worlds.adoptions import RuleWorld
from tests.unit.steps.select.test_adoptions import NAME, OTHER, in_use

MATCH = {"volumeTags": {"app": "orders"}}


def put(world, name="orders", mode="act", **parts):
    put_rule(name, {"match": MATCH, "mode": mode, **parts}, by=ALICE, table=world.table)


def world_of(*names, **parts):
    world = RuleWorld()
    for number, name in enumerate(names or [NAME]):
        place = (Attachment(INSTANCE_ID, f"/dev/sd{chr(102 + number)}", "attached"),)
        in_use(world, name, attachments=place)
    put(world, **parts)
    return world


def volumes(count):
    return [f"vol-{number:017x}" for number in range(count)]


def asked(world, restore_id):
    return world.executions.started[restore_id]


def ledger(world):
    return AdoptionLedger.model_validate(world.adoptions.kept)


def test_new_volumes_of_an_instance_are_one_adoption_that_names_its_rule():
    world = world_of(NAME, OTHER)
    (restore_id,) = world.look()
    assert restore_id.startswith("rule-")
    begun = asked(world, restore_id)
    assert begun["request"]["source"]["existing"]["volumeIds"] == [NAME, OTHER]
    assert begun["request"]["dryRun"] is False
    assert begun["trigger"] == {
        "kind": "rule", "ruleName": "orders", "askedBy": {"kind": "rule", "name": "rule orders"},
    }  # fmt: skip
    assert world.adoptions.claims == {NAME: restore_id, OTHER: restore_id}
    assert ledger(world).days["orders"].volumes == 2


def test_a_rule_that_observes_only_has_a_plan_made():
    world = world_of(mode="observe")
    (restore_id,) = world.look()
    assert asked(world, restore_id)["request"]["dryRun"] is True


def test_further_looks_begin_nothing_again_whatever_became_of_it():
    world = world_of()
    (restore_id,) = world.look()
    for status in (None, "initializing", "failed"):
        if status is not None:
            world.end(restore_id, status)
        world.look(2)
        world.look(3, scans=False)
    assert list(world.executions.started) == [restore_id]
    assert ledger(world).begun == {}


def test_two_rules_adopt_a_volume_once_the_first_by_name():
    world = world_of(name="b")
    put(world, "a")
    (restore_id,) = world.look()
    assert asked(world, restore_id)["trigger"]["ruleName"] == "a"
    assert world.look(2) == []


def test_looks_that_overlap_begin_each_volume_once():
    world = world_of()
    world.adoptions.intruders.append(lambda: world.look(1))
    assert world.look(1) == []
    assert len(world.executions.started) == 1


def test_a_look_that_overlaps_one_whose_adoption_has_ended_begins_nothing():
    world = world_of()

    def other_look():
        (restore_id,) = world.look(1)
        world.end(restore_id)
        world.look(1)

    world.adoptions.intruders.append(other_look)
    assert world.look(1) == []
    assert len(world.executions.started) == 1


def test_what_was_decided_and_did_not_start_is_started_by_the_next_look():
    world = world_of()
    world.executions.failure = ThrottledError("StartExecution")
    with pytest.raises(ThrottledError):
        world.look(1)
    world.executions.failure = None
    assert world.look(2) == []
    (restore_id,) = world.look(7)
    assert asked(world, restore_id)["request"]["source"]["existing"]["volumeIds"] == [NAME]


@pytest.mark.parametrize("minutes", [-1, 1_440])
def test_volumes_that_are_older_than_the_rule_or_a_day_are_left_alone(minutes):
    world = world_of()
    if minutes < 0:
        world.table.documents["rule", "orders"]["startedAt"] = "2026-11-21T03:01:01Z"
    assert world.look(max(1, minutes)) == []
    assert world.adoptions.claims == {}


def test_without_a_scan_only_what_events_have_named_is_looked_at():
    world = world_of(NAME, OTHER)
    assert world.look(scans=False) == []
    world.adoptions.note(NAME)
    (restore_id,) = world.look(scans=False)
    assert asked(world, restore_id)["request"]["source"]["existing"]["volumeIds"] == [NAME]
    assert world.adoptions.noted == []


def test_an_instance_that_an_event_has_named_stands_for_its_volumes():
    world = world_of()
    world.instances.add(instance(devices={"/dev/sdf": NAME}))
    world.adoptions.note(INSTANCE_ID)
    (restore_id,) = world.look(scans=False)
    assert asked(world, restore_id)["request"]["source"]["existing"]["volumeIds"] == [NAME]
    assert world.adoptions.noted == []


def test_an_instance_that_ec2_shows_late_is_looked_for_again_for_ten_minutes():
    world = world_of()
    world.adoptions.note("i-0bbbbbbbbbbbbbbbb")
    world.look(1, scans=False)
    assert world.adoptions.noted == ["i-0bbbbbbbbbbbbbbbb"]
    world.look(11, scans=False)
    assert world.adoptions.noted == []


def test_a_volume_waits_for_its_attachment_and_is_adopted_then():
    world = world_of(limits={"waitForAttachmentMinutes": 30})
    there = world.volumes.get(NAME).attachments
    world.volumes.change(NAME, attachments=())
    world.adoptions.note(NAME)
    assert world.look(1, scans=False) == []
    assert world.adoptions.noted == [NAME]
    world.volumes.change(NAME, attachments=there)
    assert len(world.look(29, scans=False)) == 1


def test_a_volume_whose_instance_systems_manager_does_not_know_yet_waits_too():
    world = world_of()
    world.instances.add(instance(devices={"/dev/sdf": NAME}, ssm_online=False))
    world.adoptions.note(INSTANCE_ID)
    assert world.look(1, scans=False) == []
    assert world.adoptions.noted == [NAME]
    world.instances.add(instance(devices={"/dev/sdf": NAME}))
    assert len(world.look(2, scans=False)) == 1


def test_a_rule_on_tags_of_the_instance_waits_until_there_is_one():
    world = world_of(match={"instanceTags": {"role": "db"}})
    there = world.volumes.get(NAME).attachments
    world.volumes.change(NAME, attachments=())
    world.adoptions.note(NAME)
    world.look(1, scans=False)
    assert world.adoptions.noted == [NAME]
    world.instances.add(instance(tags={"role": "db"}))
    world.volumes.change(NAME, attachments=there)
    assert len(world.look(2, scans=False)) == 1


@pytest.mark.parametrize("gone", [True, False])
def test_what_is_gone_or_fits_no_rule_is_looked_at_once(gone):
    world = world_of(match={"volumeTags": {"app": "other"}})
    world.adoptions.note(NAME)
    if gone:
        del world.volumes.volumes[NAME]
    assert world.look(scans=False) == []
    assert (world.adoptions.noted, world.adoptions.claims, world.adoptions.kept) == ([], {}, {})


def test_after_its_time_a_volume_that_is_attached_nowhere_is_given_up_and_counted_once():
    world = world_of(limits={"waitForAttachmentMinutes": 30})
    world.volumes.change(NAME, attachments=())
    world.look(30)
    world.look(31)
    (reason,) = ledger(world).news["orders"].refused
    assert "limits.waitForAttachmentMinutes (30) are over" in reason
    assert ledger(world).news["orders"].refused[reason] == 1
    assert world.adoptions.claims == {NAME: "refused by orders"}


def test_a_volume_that_nobody_can_read_is_refused_at_once():
    world = world_of()
    world.volumes.change(NAME, source_volume_id=OTHER)
    assert world.look() == []
    (reason,) = ledger(world).news["orders"].refused
    assert reason.startswith("vol-… is a copy of vol-…")


def test_a_volume_that_may_cost_too_much_is_refused():
    world = world_of(limits={"maxUsdPerVolume": "0.000001"})
    assert world.look() == []
    assert "maxUsdPerVolume" in next(iter(ledger(world).news["orders"].refused))


def test_the_day_has_its_budget_and_another_day_another_one():
    names = volumes(5)
    world = world_of(*names, limits={"maxVolumesPerDay": 3})
    world.look()
    assert len(world.adoptions.claims) == 3
    for restore_id in list(ledger(world).begun):
        world.end(restore_id)
    world.look(2)
    assert len(world.adoptions.claims) == 3
    assert len(world.look(22 * 60)) == 1  # at one o'clock of the next day
    assert set(world.adoptions.claims) == set(names)


def test_what_an_adoption_really_cost_is_given_back_to_its_day():
    world = world_of()
    (restore_id,) = world.look()
    reserved = ledger(world).days["orders"].usd
    assert reserved == ledger(world).begun[restore_id].usd > 0
    world.end(restore_id, costUsd="0.000002")
    world.look(2)
    assert ledger(world).days["orders"].usd == Decimal("0.000002")


def test_volumes_beyond_the_limit_begin_when_others_have_ended():
    names = volumes(5)
    world = world_of(*names, limits={"maxAtOnce": 2, "maxAtOncePerInstance": 8})
    begun = 0
    for minute in range(1, 4):
        (restore_id,) = world.look(minute)
        begun += len(asked(world, restore_id)["request"]["source"]["existing"]["volumeIds"])
        assert begun <= 2 * minute
        world.end(restore_id)
    assert begun == 5


def test_restores_come_first():
    world = world_of(limits={"maxAtOnce": 2})
    for number in (1, 2):
        world.holds.enter(f"restore-{number}", instance_id=None, now=NOW)
    assert world.look() == []
    assert ledger(world).news["orders"].put_off == {REGION: 1}
    world.holds.leave("restore-1")
    assert len(world.look(2)) == 1


def test_what_restores_do_on_the_instance_counts():
    world = world_of(limits={"maxAtOncePerInstance": 1})
    held = (Hold("restore-1", 0, "/dev/sdz", NOW),)
    world.holds.targets[INSTANCE_ID] = TargetHolds(INSTANCE_ID, held, "1")
    assert world.look() == []


def test_the_stack_keeps_half_of_its_room_for_restores():
    world = world_of()
    world.holds.enter("restore-1", instance_id=None, now=NOW)
    assert world.look(in_stack=2) == []
    assert ledger(world).news["orders"].put_off == {STACK: 1}


def test_a_deleted_rule_begins_nothing_and_what_it_began_is_followed():
    world = world_of()
    (restore_id,) = world.look()
    delete_rule("orders", world.table)
    in_use(world, OTHER)
    world.end(restore_id)
    assert world.look(2) == []
    assert ledger(world).begun == {}


def test_a_thousand_volumes_are_adopted_once_each_with_few_calls():
    hosts = [f"i-{number:017x}" for number in range(50)]
    names = volumes(1_000)
    world = world_of(*names, limits={"maxAtOnce": 1_000, "maxAtOncePerInstance": 40})
    for number, name in enumerate(names):
        place = (Attachment(hosts[number % 50], f"/dev/sd{number // 50}", "attached"),)
        world.volumes.change(name, attachments=place)
        world.adoptions.note(name)
    for host in hosts:
        world.instances.add(instance(host))
    calls = []
    described = world.volumes.existing
    world.volumes.existing = lambda ids: calls.append(len(ids)) or described(ids)
    assert len(world.look(scans=False)) == 50
    assert world.look(2) == []
    assert calls[0] == 1_000
    assert len(calls) == 2
    sent = [one["request"]["source"]["existing"]["volumeIds"] for one in world.executions.started.values()]
    assert sorted(name for some in sent for name in some) == names


class TestLostRecords:
    """Somebody has deleted the record of an adoption; Step Functions knows what became of it."""

    def world(self, *ends, volumes=(NAME,), **limits):
        """After a look that adopts the volumes and has another one wait; the volumes' executions end so."""
        world = world_of(*volumes, OTHER, limits={"maxAtOnce": len(volumes), **limits})
        (restore_id,) = world.look()
        for index, status in enumerate(ends):
            world.witness.begins[f"{restore_id}-{index}"] = ExecutionStart({}, NOW, status)
        return world, restore_id

    @pytest.mark.parametrize("end", [
        ExecutionEnd("SUCCEEDED", output='{"verdict": "ready", "costUsd": 0.000002}'),
        ExecutionEnd("SUCCEEDED", output='{"verdict": "planned"}'),
        ExecutionEnd("SUCCEEDED"),
        ExecutionEnd("FAILED", "VolumeNotFastError", "it stays slow"),
        ExecutionEnd("ABORTED"),
        ExecutionEnd("TIMED_OUT"),
    ])  # fmt: skip
    def test_an_adoption_that_has_ended_makes_room_for_what_waits(self, end):
        world, restore_id = self.world()
        world.witness.ends[restore_id] = end
        (second,) = world.look(2)
        assert asked(world, second)["request"]["source"]["existing"]["volumeIds"] == [OTHER]
        assert list(ledger(world).begun) == [second]

    @pytest.mark.parametrize("status", ["restoring", "planned", "ready"])
    def test_one_that_a_function_has_written_to_again_makes_room_too(self, status):
        """The item is there again, with only what was written since; whether it was a dry run is lost."""
        world, restore_id = self.world()
        world.table.put(restore_id, {"status": status})
        world.witness.ends[restore_id] = ExecutionEnd("SUCCEEDED", output='{"costUsd": 0.000002}')
        (second,) = world.look(2)
        assert list(ledger(world).begun) == [second]
        assert ledger(world).news["orders"].usd == Decimal("0.000002")

    @pytest.mark.parametrize("status", ["RUNNING", "PENDING_REDRIVE"])
    def test_one_that_runs_keeps_its_place_and_is_not_begun_again(self, status):
        world, restore_id = self.world()
        world.witness.ends[restore_id] = ExecutionEnd(status)
        for minutes in (2, 30, 1_500):
            assert world.look(minutes) == []
        assert list(ledger(world).begun) == [restore_id]

    def test_its_real_cost_is_said_and_counted(self):
        world, restore_id = self.world()
        world.witness.ends[restore_id] = ExecutionEnd("SUCCEEDED", output='{"costUsd": 0.000002}')
        world.look(2, in_stack=1)
        news = ledger(world).news["orders"]
        assert (news.ready, news.failed, news.usd) == (1, {}, Decimal("0.000002"))

    def test_a_cost_that_nobody_knows_is_the_most_that_it_may_have_cost(self):
        world, restore_id = self.world()
        most = ledger(world).begun[restore_id].usd
        world.witness.ends[restore_id] = ExecutionEnd("ABORTED")
        (second,) = world.look(2)
        assert ledger(world).news["orders"].usd == most > 0
        assert ledger(world).days["orders"].usd == most + ledger(world).begun[second].usd

    def test_each_volume_that_reached_full_speed_counts_and_the_others_have_a_reason(self):
        world, restore_id = self.world("FAILED", "SUCCEEDED", volumes=volumes(2))
        cause = "it stays slow"
        world.witness.ends[restore_id] = ExecutionEnd("FAILED", "VolumeNotFastError", cause)
        world.look(2)
        news = ledger(world).news["orders"]
        ((why, count),) = news.failed.items()
        assert (news.ready, count) == (1, 1)
        assert cause in why

    def test_step_functions_that_does_not_answer_keeps_the_place(self):
        world, restore_id = self.world()
        world.witness.ends[restore_id] = ExecutionEnd("SUCCEEDED")
        world.witness.failure = ThrottledError("DescribeExecution")
        with pytest.raises(ThrottledError):
            world.look(2)
        assert list(ledger(world).begun) == [restore_id]

    def test_one_that_never_began_counts_as_failed_after_a_day(self):
        world = world_of()
        world.executions.failure = ThrottledError("StartExecution")
        for minutes in (1, 1_440, 1_442):
            with suppress(ThrottledError):
                world.look(minutes)
        assert ledger(world).begun == {}
        assert ledger(world).news["orders"].failed == {"its execution could not be started": 1}


class TestMessages:
    def test_one_an_hour_counts_what_became_of_all(self):
        world = world_of(NAME, OTHER, limits={"maxAtOnce": 1})
        (first,) = world.look(1)
        world.end(first, costUsd="0.12")
        (second,) = world.look(20)
        failure = {"error": "VolumeNotFastError", "cause": "it stays slow"}
        world.end(second, "failed", failure=failure)
        world.look(40)
        assert world.messages.sent == []
        world.look(61)
        world.look(62)
        (message,) = world.messages.sent
        assert message["event"] == "rule-report"
        assert message["title"] == "The rule orders adopts 2 new volumes, and 1 adoption failed"
        assert "1 volume reached full speed, for $0.12." in message["text"]
        assert "Failed: 1 volume (" in message["text"]
        assert message["severity"] == "warning"
        assert message["notify"] == {"slack": True, "email": True}

    def test_the_volumes_of_an_adoption_that_partly_failed_are_counted_one_by_one(self):
        world = world_of(NAME, OTHER)
        (restore_id,) = world.look()
        world.end(restore_id, "failed", settled1=True, failure={"error": "VolumeFailedError", "cause": "x"})
        world.look(2)
        news = ledger(world).news["orders"]
        assert (news.ready, sum(news.failed.values())) == (1, 1)

    def test_a_rule_that_observes_says_what_it_would_cost(self):
        world = world_of(mode="observe", notify={"email": False})
        (restore_id,) = world.look()
        planned = {"request": {"dryRun": True}, "summary": {"totalCostUsd": "0.5"}}
        world.end(restore_id, "planned", **planned)
        world.look(2)
        world.look(62)
        (message,) = world.messages.sent
        assert message["title"] == "The rule orders would adopt 1 new volume"
        assert "They would cost $0.50." in message["text"]
        assert message["notify"] == {"slack": True, "email": False}

    def test_what_was_refused_and_put_off_is_said_with_the_reason(self):
        world = world_of(*volumes(3), limits={"maxAtOnce": 1})
        world.volumes.change(volumes(1)[0], source_volume_id=OTHER)
        world.look()
        world.look(62)
        (message,) = world.messages.sent
        assert "Refused: 1 volume (vol-… is a copy of vol-…" in message["text"]
        assert "Put off: 1 volume (limits.maxAtOnce volumes are being" in message["text"]

    def test_without_anything_new_there_is_none(self):
        world = world_of(match={"volumeTags": {"app": "other"}})
        world.look(1)
        world.look(90)
        assert world.messages.sent == []
        assert world.adoptions.version == 0


def test_a_volume_waits_no_longer_than_a_day():
    world = world_of(limits={"maxAtOnce": 1})
    world.holds.enter("restore-1", instance_id=None, now=NOW)
    world.adoptions.note(NAME)
    world.look(timedelta(days=1).total_seconds() / 60, scans=False)
    assert world.adoptions.noted == []


class TestLooksAgain:
    """EBS has no event for an attachment, so a look that finds a volume without one has another follow."""

    def away(self, **parts):
        world = world_of(**parts)
        return in_use(world, NAME, attachments=())

    def names(self, world):
        return [name for name in world.executions.started if name.startswith(LOOK_PREFIX)]

    def test_one_execution_waits_for_all_volumes_and_starts_once(self):
        world = self.away()
        in_use(world, OTHER, attachments=())
        assert world.look(1.1) == []
        world.look(1.5, scans=False)
        (name,) = self.names(world)
        due = datetime.fromisoformat(asked(world, name)["lookAt"])
        assert name == f"{LOOK_PREFIX}{int(due.timestamp())}"
        assert timedelta(0) < due - NOW - timedelta(minutes=1.5) <= timedelta(minutes=1)
        assert {NAME, OTHER} <= set(world.adoptions.noted)

    def test_so_it_does_where_only_the_instance_can_say_whether_the_rule_fits(self):
        world = self.away(match={"instanceTags": {"app": "orders"}})
        world.look(1, scans=False)
        assert not self.names(world)
        world.adoptions.note(NAME)
        world.look(1, scans=False)
        assert len(self.names(world)) == 1

    def test_nothing_follows_once_it_is_attached_refused_or_given_up(self):
        for world in (
            world_of(),
            in_use(world_of(), NAME, attachments=(), source_volume_id=OTHER),
            self.away(limits={"waitForAttachmentMinutes": 1}),
        ):
            world.look(1.5)
            assert not self.names(world)

    def test_without_step_functions_the_next_sweep_looks(self):
        world = self.away()
        world.executions.failure = ThrottledError("slow down")
        assert world.look(1) == []
