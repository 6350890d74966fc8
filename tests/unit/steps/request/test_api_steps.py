"""What the API does: start, plan, look, cancel, runbooks."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest

from rewarm.adapters import prices
from rewarm.domain.errors import (
    InvalidRequestError,
    RestoreEndedError,
    RestoreNotFoundError,
    RunbookNotFoundError,
    ServiceUnavailableError,
    SnapshotNotUsableError,
    TargetBusyError,
    ThrottledError,
    TooManyRestoresError,
)
from rewarm.domain.model import GIB, FastSnapshotRestore, PriceFigure, Strategy
from rewarm.domain.volume.leftovers import ExecutionStart
from rewarm.ports.restores import RUNBOOK
from rewarm.steps.plan.plan_restore import PlanRestorePorts, plan_restore
from rewarm.steps.record.restore import RestoreNotes
from rewarm.steps.request.routes import (
    CancelRestorePorts,
    GetRestorePorts,
    StartRestorePorts,
    cancel_restore,
    get_restore,
    start_restore,
)
from rewarm.steps.request.runbooks import delete_runbook, get_runbook
from tests.support.builders import (
    ALICE,
    BOB,
    NOW,
    RESTORE_ID,
    SNAPSHOT_ID,
    TO_INSTANCE,
    TO_ZONE,
    ZONE,
    World,
    instance,
    snapshot,
)
from tests.support.fakes import FakeHistory, FakePrices
from tests.support.wired import wired
from tests.support.worlds.performance import FakeRestoreExecutions
from tests.support.worlds.runbooks import put_runbook
from tests.support.worlds.signals import FakeTasks, FakeWaiters


def start(world, body=None, restore_id=RESTORE_ID, now=NOW, **limits):
    return start_restore(
        body or TO_INSTANCE,
        restore_id=restore_id,
        by=ALICE,
        now=now,
        ports=wired(StartRestorePorts, world, keeper=world.keeper(**limits)),
    )


def dry_run(world, body):
    return plan_restore(
        body,
        restore_id=RESTORE_ID,
        now=NOW,
        ports=wired(PlanRestorePorts, world),
    ).to_json()


class TestStartRestore:
    def test_starts_the_state_machine_with_the_complete_request(self):
        world = World()
        answer = start(world)
        assert answer["restoreId"] == RESTORE_ID
        assert answer["links"]["self"] == f"/restores/{RESTORE_ID}"
        started = world.executions.started[RESTORE_ID]
        assert started["trigger"] == {"kind": "api", "askedBy": {"kind": "iam", "name": ALICE.name}}
        assert started["request"]["onFailure"] == "clean-up"
        assert world.table.records[RESTORE_ID]["status"] == "accepted"

    def test_the_same_call_of_somebody_else_starts_nothing_in_another_name(self):
        world = World()
        start(world)
        ports = wired(StartRestorePorts, world, keeper=world.keeper())
        start_restore(TO_INSTANCE, restore_id=RESTORE_ID, by=BOB, now=NOW, ports=ports)
        asked = {"kind": "api", "askedBy": {"kind": "iam", "name": ALICE.name}}
        assert world.table.records[RESTORE_ID]["trigger"] == asked
        assert world.executions.started[RESTORE_ID]["trigger"] == asked

    def test_the_same_id_starts_one_restore(self):
        world = World()
        assert start(world) == start(world)
        assert len(world.executions.started) == 1

    def test_refuses_at_once_what_the_workflow_would_refuse(self):
        world = World()
        world.snapshots.add(snapshot(state="pending"))
        with pytest.raises(SnapshotNotUsableError, match=r"^source.snapshotId"):
            start(world)
        assert world.executions.started == {}
        assert world.table.records == {}

    def test_refuses_an_unknown_field(self):
        with pytest.raises(InvalidRequestError, match=r"^colour: unknown field; allowed are source, target"):
            start(World(), {**TO_INSTANCE, "colour": "red"})

    def test_resolves_an_alarm_to_its_runbook(self):
        world = World()
        put_runbook("rewarm-a", TO_INSTANCE, table=world.table)
        start(world, {"source": {"alarm": "rewarm-a"}})
        request = world.executions.started[RESTORE_ID]["request"]
        assert request["source"]["snapshotId"] == TO_INSTANCE["source"]["snapshotId"]

    def test_one_that_is_ready_stays_so_when_it_is_asked_for_again(self):
        """The name of its execution is used up: nothing would run, and it would look as if it did."""
        world = World()
        world.table.put_new(RESTORE_ID, {"status": "ready", "request": TO_INSTANCE})
        assert start(world)["restoreId"] == RESTORE_ID
        assert world.executions.started == {}
        assert world.table.records[RESTORE_ID]["status"] == "ready"

    def test_a_restore_that_could_not_be_started_does_not_look_as_if_it_ran(self):
        world = World()
        world.executions.failure = ServiceUnavailableError("StartExecution")
        with pytest.raises(ServiceUnavailableError):
            start(world)
        assert world.table.records[RESTORE_ID]["status"] == "failed"
        world.executions.failure = None
        assert start(world)["status"] == "accepted"

    def test_one_that_could_not_be_checked_gives_its_place_back(self, monkeypatch):
        """Nothing was started, whatever the service does: others must not wait for the sweeper."""
        world = World()

        def unavailable(*_given):
            raise ServiceUnavailableError("DescribeInstances")

        monkeypatch.setattr(world.instances, "get", unavailable)
        with pytest.raises(ServiceUnavailableError, match="DescribeInstances"):
            start(world)
        assert world.holds.running() == []
        assert RESTORE_ID not in world.table.records

    def test_one_whose_start_got_no_answer_keeps_its_device_and_gives_way(self):
        """It may run: then its record says so. Else the record says that it failed."""
        world = World()
        body = {**TO_INSTANCE, "target": {**TO_INSTANCE["target"], "device": "/dev/sdf"}}
        world.executions.failure = ServiceUnavailableError("StartExecution")
        with pytest.raises(ServiceUnavailableError):
            start(world, body)
        world.executions.failure = None
        world.table.update(RESTORE_ID, {"status": "planning"})
        with pytest.raises(TargetBusyError, match=RESTORE_ID):
            start(world, body, "restore-second")
        world.table.update(RESTORE_ID, {"status": "failed"})
        assert start(world, body, "restore-second")["status"] == "accepted"

    def test_one_that_was_surely_not_started_holds_nothing(self):
        world = World()
        world.executions.failure = ThrottledError("StartExecution")
        with pytest.raises(ThrottledError):
            start(world)
        assert (world.holds.targets, world.holds.entries) == ({}, {})

    def test_the_second_to_a_device_is_refused_before_anything_is_made(self):
        world = World()
        start(world)
        body = {**TO_INSTANCE, "target": {**TO_INSTANCE["target"], "device": "/dev/sdf"}}
        with pytest.raises(TargetBusyError) as caught:
            start(world, body, "restore-second")
        assert caught.value.held_by == RESTORE_ID
        assert list(world.executions.started) == list(world.table.records) == [RESTORE_ID]
        assert list(world.holds.entries) == [RESTORE_ID]

    def test_one_whose_answer_was_lost_is_not_in_its_own_way(self):
        world = World()
        body = {**TO_INSTANCE, "target": {**TO_INSTANCE["target"], "device": "/dev/sdf"}}
        first = start(world, body)
        attached = {"/dev/sdf": "vol-00000000000000009"}
        world.instances.add(instance(devices=attached))
        assert start(world, body) == first

    def test_beyond_the_limit_it_is_refused(self):
        world = World()
        start(world, in_stack=1)
        with pytest.raises(TooManyRestoresError, match=RESTORE_ID):
            start(world, restore_id="restore-second", in_stack=1)
        assert list(world.executions.started) == [RESTORE_ID]

    def test_what_is_refused_holds_nothing(self):
        world = World()
        world.snapshots.add(snapshot(state="pending"))
        with pytest.raises(SnapshotNotUsableError):
            start(world)
        assert (world.holds.targets, world.holds.entries) == ({}, {})


class TestPlanRestore:
    def test_shows_every_strategy_and_creates_nothing(self):
        world = World()
        answer = dry_run(world, {**TO_INSTANCE, "objective": {"readyWithinMinutes": 30}})
        assert len(answer["plans"][0]["candidates"]) == sum(one.makes_volume for one in Strategy)
        assert answer["plans"][0]["plan"]["strategy"] == "warm-up-agent"
        assert answer["summary"]["deadlineMissed"] is False
        assert world.artifacts.maps == {}
        assert world.volumes.volumes == {}
        assert world.table.records == {}
        assert world.executions.started == {}

    def test_shows_the_facts_that_led_to_it(self):
        world = World()
        world.fast_restores.states[(SNAPSHOT_ID, ZONE)] = FastSnapshotRestore("enabled", NOW, 0.5)
        facts = dry_run(world, TO_INSTANCE)["plans"][0]["facts"]
        assert (facts["dataBytes"], facts["dataBytesFrom"]) == (40 * GIB, "fullSnapshotSize")
        assert facts["writtenBytes"] == 40 * GIB
        assert facts["snapshotSizeGib"] == 100
        assert facts["volumeLimits"] == {"iops": 3_000, "sustainedMibS": 125.0, "burstMibS": 125.0}
        assert facts["instanceLimits"]["instanceType"] == "m7g.large"
        assert (
            facts["instanceLimits"]["baselineIops"] == world.instances.ebs_limits("m7g.large").baseline_iops
        )
        assert facts["fastSnapshotRestore"]["state"] == "enabled"
        assert facts["fastSnapshotRestore"]["credits"] == 0.5
        assert facts["quotasLeft"]["initializationRateMibS"] > 0

    def test_each_price_has_source_and_date_and_old_ones_are_marked(self):
        world = World()
        shipped = prices.shipped("us-east-1")
        own = {"fsrUsdPerHour": PriceFigure(Decimal("0.70"), NOW - timedelta(days=90), "your own prices")}
        world.prices = FakePrices(prices.book("us-east-1", {**shipped, **own}))
        shown = {price["name"]: price for price in dry_run(world, TO_INSTANCE)["prices"]}
        assert shown["fsrUsdPerHour"] == {
            "name": "fsrUsdPerHour", "usd": "0.70", "source": "your own prices",
            "asOf": "2026-08-23T03:00:00Z", "stale": False,
        }  # fmt: skip
        assert shown["rateUsdPerGibMibS"]["stale"] is True
        assert "iopsUsdPerMonth.gp3" in shown
        assert not [name for name in shown if name.startswith("storage") or name.endswith("io2")]

    def test_the_price_of_every_deadline_agrees_with_the_plan_for_it(self):
        offers = dry_run(World(), TO_INSTANCE)["frontier"]
        assert len(offers) > 2
        costs = [Decimal(offer["costUsd"]) for offer in offers]
        deadlines = [offer["deadlineSeconds"] for offer in offers]
        assert costs == sorted(costs, reverse=True)
        assert deadlines == sorted(deadlines)
        for minutes in (-(-deadline // 60) for deadline in (deadlines[0], deadlines[-1])):
            answer = dry_run(World(), {**TO_INSTANCE, "objective": {"readyWithinMinutes": minutes}})
            offer = next(one for one in reversed(offers) if one["deadlineSeconds"] <= 60 * minutes)
            assert Decimal(answer["summary"]["totalCostUsd"]) <= Decimal(offer["costUsd"])
            (choice,) = offer["choices"]
            assert answer["plans"][0]["plan"]["strategy"] == choice["strategy"]

    def test_the_price_of_a_deadline_is_given_once(self):
        """Of a snapshot of 1 GiB, the rates of 100 to 300 MiB/s are 8 seconds apart."""
        world = World()
        world.snapshots.add(snapshot(full_size_bytes=GIB))
        offers = dry_run(world, {**TO_ZONE, "objective": {"strategy": "provisioned-rate"}})["frontier"]
        deadlines = [offer["deadlineSeconds"] for offer in offers]
        assert len(deadlines) == len(set(deadlines)) > 5
        assert offers[-1]["choices"][0]["initializationRateMibS"] == 100

    def test_plans_what_the_runbook_of_an_alarm_says(self):
        world = World()
        put_runbook("rewarm-a", {**TO_INSTANCE, "objective": {"readyWithinMinutes": 30}}, table=world.table)
        answer = dry_run(world, {"source": {"alarm": "rewarm-a"}})
        assert answer["request"]["source"]["snapshotId"] == SNAPSHOT_ID
        assert answer["request"]["objective"]["readyWithinMinutes"] == 30
        with pytest.raises(RunbookNotFoundError):
            dry_run(world, {"source": {"alarm": "b"}})

    def test_refuses_what_cannot_be_restored(self):
        with pytest.raises(InvalidRequestError, match=r"^volume.sizeGib"):
            dry_run(World(), {**TO_ZONE, "volume": {"sizeGib": 1}})

    def test_of_a_drill_that_brings_the_application_back_it_says_how_long_that_may_take(self):
        world = World()
        world.instances.add(instance(tags={"rewarm:drills": "true"}))
        runbook = {
            **TO_INSTANCE,
            "after": {"healthCheck": {"url": "http://localhost:5432/"}},
            "drill": {"target": TO_INSTANCE["target"], "after": True},
        }
        world.table.store(RUNBOOK, "rewarm-orders", runbook, trigger={"kind": "api"})
        answer = dry_run(world, {"source": {"alarm": "rewarm-orders"}, "drill": {}})
        assert any("gets its application back" in note for note in answer["summary"]["notes"])


class TestGetRestore:
    def test_gathers_what_is_known_of_each_volume(self):
        world = World()
        start(world)
        key = "restores/x/0/progress.json"
        world.table.put(RESTORE_ID, {"volume0": {"volumeId": "vol-1"}, "volume1": {"volumeId": "vol-2"}})
        world.table.update_volume(RESTORE_ID, 0, {"command": {"dispatch": {"progressKey": key}}})
        world.artifacts.objects[key] = {"event": "progress", "bytesDone": 7}
        found = get_restore(RESTORE_ID, wired(GetRestorePorts, world))
        assert found["status"] == "accepted"
        assert [volume["volume"]["volumeId"] for volume in found["volumes"]] == ["vol-1", "vol-2"]
        assert found["volumes"][0]["agent"] == {"event": "progress", "bytesDone": 7}
        assert found["volumes"][1]["agent"] is None
        assert "volume0" not in found

    def test_says_which_volumes_are_proven_before_the_others_are(self):
        world = World()
        start(world)
        world.table.put(RESTORE_ID, {"volume0": {"volumeId": "vol-1"}, "volume1": {"volumeId": "vol-2"}})
        world.table.update(RESTORE_ID, {"settled1": True, "attached1": {"volumeId": "vol-2"}})
        first, second = get_restore(RESTORE_ID, wired(GetRestorePorts, world))["volumes"]
        assert ("proven" in first, second["proven"]) == (False, True)
        assert second["attached"] == second["volume"] == {"volumeId": "vol-2"}

    def test_says_how_far_the_blocks_of_a_volume_are_copied(self):
        world = World()
        start(world)
        listed = {"firstPart": 2, "shards": 4, "blocks": 2_048, "startedAt": "2026-11-23T12:00:00Z"}
        world.table.update_volume(RESTORE_ID, 0, {"copying": listed})
        for part, seconds in ((0, 5), (2, 16), (4, 32), (6, 33)):
            key = f"deltas/{RESTORE_ID}/0/part-{part:06d}"
            world.artifacts.written_at[key] = datetime(2026, 11, 23, 12, 0, seconds, tzinfo=UTC)
        version = get_restore(RESTORE_ID, wired(GetRestorePorts, world))["version"]
        (volume,) = get_restore(RESTORE_ID, wired(GetRestorePorts, world))["volumes"]
        assert volume["copying"] == listed | {
            "blocksCopied": 1_024, "bytesCopied": 512 << 20, "mibPerSecond": 16.0, "remainingSeconds": 32,
        }  # fmt: skip
        world.artifacts.written_at.clear()
        found = get_restore(RESTORE_ID, wired(GetRestorePorts, world))
        assert (found["volumes"][0]["copying"]["blocksCopied"], found["version"]) == (0, version)

    def test_has_a_fresh_link_to_each_page_that_there_is(self):
        world = World()
        start(world)
        assert get_restore(RESTORE_ID, wired(GetRestorePorts, world))["reportUrl"] is None
        world.table.update(RESTORE_ID, {"pageKey": "restores/x/report.html"})
        world.table.update_volume(RESTORE_ID, 1, {"report": {"pageKey": "restores/x/1/report.html"}})
        found = get_restore(RESTORE_ID, wired(GetRestorePorts, world))
        assert found["reportUrl"] == world.artifacts.download_url(
            "restores/x/report.html", expires_seconds=3_600
        )
        assert "restores/x/1/report.html" in found["volumes"][0]["report"]["reportUrl"]

    def test_tells_the_news_of_all_volumes_in_order(self):
        """Each volume keeps its own; of the same moment a plan comes first, and an end last."""
        world, at_once = World(), "2026-11-21T03:00:05Z"
        start(world)
        for index, at in ((2, at_once), (0, "2026-11-21T03:00:05.500Z"), (1, at_once)):
            news = {"event": "attached", "at": at, "title": f"{index}"}
            world.table.append_volume_event(RESTORE_ID, index, news)
        world.table.append_event(RESTORE_ID, {"event": "plan", "at": at_once, "title": "plan"})
        world.table.append_event(RESTORE_ID, {"event": "failed", "at": at_once, "title": "failed"})
        found = get_restore(RESTORE_ID, wired(GetRestorePorts, world))
        assert [one["title"] for one in found["events"]] == ["plan", "1", "2", "failed", "0"]
        assert not any(name.startswith("events") for name in found if name != "events")

    def test_has_the_plan_of_every_volume(self):
        world = World()
        start(world)
        for index in (1, 0):
            told = {"index": index, "snapshotId": SNAPSHOT_ID, "plan": {"why": "cheapest"}}
            world.table.update_volume(RESTORE_ID, index, {"plan": told})
        found = get_restore(RESTORE_ID, wired(GetRestorePorts, world))
        assert [one["index"] for one in found["plans"]] == [0, 1]
        assert found["volumes"] == []

    def test_knows_no_other_restores(self):
        world = World()
        with pytest.raises(RestoreNotFoundError, match="there is no restore nothing"):
            get_restore("nothing", wired(GetRestorePorts, world))


class TestCancelRestore:
    @staticmethod
    def cancel(world, restore_id=RESTORE_ID):
        return cancel_restore(
            restore_id,
            by=BOB,
            now=NOW,
            ports=CancelRestorePorts(
                table=world.table, holds=world.holds, waiters=FakeWaiters(), tasks=FakeTasks()
            ),
        )

    def test_asks_the_restore_to_stop(self):
        world = World()
        start(world)
        told = self.cancel(world)
        assert (told["status"], told["cancelRequested"]) == ("accepted", True)
        assert world.table.is_cancelled(RESTORE_ID)

    @pytest.mark.parametrize(
        ("trigger", "status", "is_known"),
        [*((kind, "RUNNING", True) for kind in ("api", "fleet", "rule")), ("api", "SUCCEEDED", False)],
    )
    def test_one_whose_record_is_lost_while_it_runs_is_cancelled(self, trigger, status, is_known):
        world = World()
        start(world)
        data = {"request": world.table.records[RESTORE_ID]["request"], "trigger": {"kind": trigger}}
        world.table.lose(RESTORE_ID)
        witness = FakeRestoreExecutions(begins={RESTORE_ID: ExecutionStart(data, NOW, status)})
        ports = CancelRestorePorts(
            table=world.table, holds=world.holds, waiters=FakeWaiters(), tasks=FakeTasks(), witness=witness
        )
        if is_known:
            assert cancel_restore(RESTORE_ID, by=BOB, now=NOW, ports=ports)["cancelRequested"]
            assert world.table.is_cancelled(RESTORE_ID)
            seen = get_restore(RESTORE_ID, wired(GetRestorePorts, world, witness=witness))
            assert seen["request"] == data["request"]
        else:
            with pytest.raises(RestoreNotFoundError):
                cancel_restore(RESTORE_ID, by=BOB, now=NOW, ports=ports)

    @pytest.mark.parametrize("trigger", ["api", "fleet", "rule"])
    def test_one_that_is_ready_is_not_cancelled_though_its_record_is_lost(self, trigger):
        """It only waits for the second witness: its volume's execution says that it is at full speed."""
        world = World()
        start(world)
        data = {"request": world.table.records[RESTORE_ID]["request"], "trigger": {"kind": trigger}}
        world.table.lose(RESTORE_ID)
        world.holds.leave(RESTORE_ID)
        begins = {
            RESTORE_ID: ExecutionStart(data, NOW, "RUNNING"),
            f"{RESTORE_ID}-0": ExecutionStart(data, NOW, "SUCCEEDED"),
        }
        ports = CancelRestorePorts(
            table=world.table,
            holds=world.holds,
            waiters=FakeWaiters(),
            tasks=FakeTasks(),
            witness=FakeRestoreExecutions(begins=begins),
        )
        with pytest.raises(RestoreEndedError, match="has ended: it is ready"):
            cancel_restore(RESTORE_ID, by=BOB, now=NOW, ports=ports)
        assert not world.table.is_cancelled(RESTORE_ID)

    def test_who_asks_first_is_recorded_and_named(self):
        world = World()
        start(world)
        self.cancel(world)
        cancel_restore(
            RESTORE_ID,
            by=ALICE,
            now=NOW,
            ports=CancelRestorePorts(
                table=world.table, holds=world.holds, waiters=FakeWaiters(), tasks=FakeTasks()
            ),
        )
        found = get_restore(RESTORE_ID, wired(GetRestorePorts, world))
        assert found["cancelledBy"] == {"kind": "iam", "name": BOB.name}
        assert [news["title"] for news in found["events"]] == [f"Cancelled by {BOB.name}"]
        # Somebody cancels its fleet, and the sweeper all that is left of it.
        assert RestoreNotes(world.table, RESTORE_ID).cancel(ALICE)
        assert get_restore(RESTORE_ID, wired(GetRestorePorts, world))["cancelledBy"]["name"] == BOB.name

    def test_asking_twice_changes_nothing(self):
        world = World()
        start(world)
        assert self.cancel(world) == self.cancel(world)
        world.table.update(RESTORE_ID, {"status": "cancelled"})
        assert self.cancel(world)["status"] == "cancelled"

    @pytest.mark.parametrize("status", ["ready", "failed", "duplicate"])
    def test_a_restore_that_has_ended_is_left_as_it_is(self, status):
        world = World()
        world.table.put_new(RESTORE_ID, {"status": status})
        with pytest.raises(RestoreEndedError, match=f"has ended: it is {status}"):
            self.cancel(world)
        assert not world.table.is_cancelled(RESTORE_ID)

    def test_a_dry_run_has_nothing_to_cancel(self):
        world = World()
        world.table.put_new(RESTORE_ID, {"status": "planned", "request": {"dryRun": True}})
        with pytest.raises(RestoreEndedError, match="dry run"):
            self.cancel(world)

    def test_no_volume_at_full_speed_is_cancelled(self):
        world = World()
        count = 2
        world.table.put_new(RESTORE_ID, {"status": "initializing", "volumeCount": count, "settled0": True})
        assert self.cancel(world)["cancelRequested"]
        other = World()
        record = {"status": "initializing", "volumeCount": count, "settled0": True, "settled1": True}
        other.table.put_new(RESTORE_ID, record)
        with pytest.raises(RestoreEndedError, match="its volumes are at full speed"):
            self.cancel(other)

    def test_volumes_that_no_plan_was_told_of_count_too(self):
        """`Announce Plan` failed: of two volumes one is ready, and nothing is made of the other one yet."""
        world = World()
        record = {"status": "initializing", "volumeCount": 2, "volume0": {"volumeId": "vol-1"}}
        world.table.put_new(RESTORE_ID, {**record, "settled0": True})
        assert self.cancel(world)["cancelRequested"]
        assert world.table.is_cancelled(RESTORE_ID)
        other = World()
        other.table.put_new(RESTORE_ID, {**record, "volumeCount": 1, "settled0": True})
        with pytest.raises(RestoreEndedError, match="its volumes are at full speed"):
            self.cancel(other)

    def test_of_many_volumes_one_that_is_not_ready_is_enough(self):
        world = World()
        count = 450
        settled = {f"settled{index}": True for index in range(449)}
        world.table.put_new(RESTORE_ID, {"status": "initializing", "volumeCount": count, **settled})
        assert self.cancel(world)["cancelRequested"]
        assert world.table.is_cancelled(RESTORE_ID)

    def test_what_gets_ready_in_the_same_moment_is_asked_again(self, monkeypatch):
        """Two parts of a hundred: the first is at full speed before the mark is written."""
        world = World()
        count = 101
        world.table.put_new(RESTORE_ID, {"status": "initializing", "volumeCount": count})
        ask = world.table.request_cancel

        def meanwhile(restore_id, *, by=None, unless=()):
            for index in range(100):
                world.table.set_unless_cancelled(restore_id, f"settled{index}", True)
            return ask(restore_id, by=by, unless=unless)

        monkeypatch.setattr(world.table, "request_cancel", meanwhile)
        assert self.cancel(world)["cancelRequested"]
        world.table.records[RESTORE_ID].pop("cancelRequested")
        world.table.set_unless_cancelled(RESTORE_ID, "settled100", True)
        with pytest.raises(RestoreEndedError):
            self.cancel(world)

    def test_knows_no_other_restores(self):
        with pytest.raises(RestoreNotFoundError):
            self.cancel(World(), "nothing")


class TestRunbooks:
    def test_keeps_the_complete_request(self):
        table = World().table
        put_runbook("rewarm-db down", TO_INSTANCE, table=table)
        found = get_runbook("rewarm-db down", table=table, history=FakeHistory())
        assert found["request"]["verify"]["samples"] == 256

    def test_shows_what_its_drills_have_shown(self):
        table, drills = World().table, [{"restoreId": RESTORE_ID}]
        put_runbook("rewarm-a", TO_INSTANCE, table=table)
        history = FakeHistory(drilled={"rewarm-a": drills})
        assert get_runbook("rewarm-a", table=table, history=history)["drills"] == drills

    def test_refuses_a_bad_request_on_a_good_day(self):
        with pytest.raises(InvalidRequestError, match=r"^target"):
            put_runbook("rewarm-db down", {"source": TO_ZONE["source"], "target": {}}, table=World().table)

    def test_refuses_a_runbook_that_names_an_alarm(self):
        with pytest.raises(InvalidRequestError, match=r"^source.alarm"):
            put_runbook("rewarm-db down", {**TO_INSTANCE, "source": {"alarm": "x"}}, table=World().table)

    def test_refuses_a_name_that_no_alarm_can_have(self):
        with pytest.raises(InvalidRequestError, match=r"^alarmName"):
            put_runbook("x" * 256, TO_INSTANCE, table=World().table)

    @pytest.mark.parametrize("name", ["other-name", "Rewarm-a", "operations-of-rewarm-a"])
    def test_refuses_a_name_whose_alarm_would_start_nothing(self, name):
        table = World().table
        told = f'^alarmName: found "{name}"; allowed are names that begin with "rewarm-" .* start restores$'
        with pytest.raises(InvalidRequestError, match=told):
            put_runbook(name, TO_INSTANCE, table=table)
        assert table.runbook(name) is None

    def test_refuses_a_runbook_that_would_only_plan(self):
        with pytest.raises(InvalidRequestError, match=r'^dryRun: found true; .*\{"alarm": "rewarm-a"\}'):
            put_runbook("rewarm-a", {**TO_INSTANCE, "dryRun": True}, table=World().table)

    def test_refuses_a_document_that_could_not_be_sent(self):
        world = World()
        body = {**TO_INSTANCE, "after": {"document": {"name": "start-orders"}}}
        told = "^after.document.name: Systems Manager has no document start-orders here$"
        with pytest.raises(InvalidRequestError, match=told):
            put_runbook("rewarm-a", body, table=world.table, documents=world.documents)
        assert world.table.runbook("rewarm-a") is None
        world.documents.add("start-orders", platforms=frozenset({"Windows"}))
        stored = put_runbook("rewarm-a", body, table=world.table, documents=world.documents)
        assert stored["request"]["after"]["document"]["name"] == "start-orders"

    def test_forgets_a_runbook(self):
        table = World().table
        put_runbook("rewarm-db down", TO_INSTANCE, table=table)
        assert delete_runbook("rewarm-db down", table=table) == {
            "alarmName": "rewarm-db down",
            "deleted": True,
        }
        with pytest.raises(RunbookNotFoundError):
            get_runbook("rewarm-db down", table=table, history=FakeHistory())
        with pytest.raises(RunbookNotFoundError):
            delete_runbook("rewarm-db down", table=table)
