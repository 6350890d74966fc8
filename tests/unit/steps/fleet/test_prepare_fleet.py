"""State Prepare Fleet."""

from __future__ import annotations

from decimal import Decimal

import pytest

from rewarm.contracts.fleets import ReportFleetEvent
from rewarm.contracts.values import Approval
from rewarm.domain.errors import NoStrategyFitsError, RestoreCancelledError, RestoreNotFoundError
from rewarm.steps.fleet.plan_fleet import PlanFleetPorts
from rewarm.steps.fleet.prepare_fleet import PrepareFleetEvent, PrepareFleetPorts, prepare_fleet
from rewarm.steps.fleet.progress import kept_volumes
from rewarm.steps.fleet.report_fleet import ReportFleetPorts, report_fleet
from rewarm.steps.record.bucket import fleet_items_key, fleet_request_key
from tests.support.builders import INSTANCE_ID, NOW, SNAPSHOT_ID, ZONE, World, at
from tests.support.holds import FakePace
from tests.support.wired import wired

FLEET_ID = "fleet-0123456789abcdef"
TO_ZONE = {"source": {"snapshotId": SNAPSHOT_ID}, "target": {"availabilityZone": ZONE}}
SHARED = {"source": {"snapshotId": SNAPSHOT_ID}, "target": {"instanceId": INSTANCE_ID}}


def world(*items, **parts):
    world = World()
    world.artifacts.put_json(fleet_request_key(FLEET_ID), {"source": {"items": list(items)}, **parts})
    world.table.put_new(FLEET_ID, {"status": "fleet-accepted", "startedAt": "2026-11-21T03:00:00Z"})
    return world


def prepare(world, run=1, most_in_stack=2_000, approved=None, now=NOW, pace=None):
    event = PrepareFleetEvent(restore_id=FLEET_ID, now=now, run=run, started_at=NOW, approved=approved)
    ports = wired(
        PrepareFleetPorts,
        world,
        planning=wired(
            PlanFleetPorts,
            world,
            region="ap-northeast-1",
            most_in_stack=most_in_stack,
            pace=pace or FakePace(),
        ),
        bucket="artifacts",
    )
    return prepare_fleet(event, ports)


def items(world, run=1):
    return world.artifacts.objects[fleet_items_key(FLEET_ID, run)]


def end(world, **statuses):
    """What became of the restores, in their order."""
    for restore, (_, status) in zip(items(world), statuses.items(), strict=True):
        world.table.put_new(restore["restoreId"], {"status": status})


def test_writes_the_restores_and_how_the_map_is_to_run_them():
    one = world(SHARED, TO_ZONE, SHARED, maxConcurrency=5, toleratedFailureCount=3)
    result = prepare(one)
    assert (result.restore_count, result.volume_count, result.max_concurrency) == (2, 3, 5)
    assert (result.tolerated_failure_count, result.tolerated_failure_percentage) == (3, 100)
    assert result.items_key == f"restores/{FLEET_ID}/run-1.json"
    assert [set(item) for item in items(one)] == [{"restoreId", "input"}] * 2
    record = one.table.get(FLEET_ID)
    assert (record["status"], record["volumeCount"], record["restoreCount"]) == ("fleet-restoring", 3, 2)


def test_no_more_run_at_once_than_the_stack_allows():
    assert prepare(world(SHARED, maxConcurrency=50), most_in_stack=10).max_concurrency == 10
    assert prepare(world(SHARED), most_in_stack=10).max_concurrency == 10


def test_the_deadline_of_the_fleet_is_that_of_every_restore():
    one = world(SHARED, objective={"readyWithinMinutes": 60})
    assert prepare(one).to_json()["deadlineAt"] == "2026-11-21T04:00:00Z"
    assert items(one)[0]["input"]["trigger"]["deadlineAt"] == "2026-11-21T04:00:00Z"
    assert one.table.get(FLEET_ID)["deadlineAt"] == "2026-11-21T04:00:00Z"


def test_those_that_run_at_once_have_their_turns_at_ec2_and_the_others_take_theirs_later():
    one, pace = world(TO_ZONE, TO_ZONE, TO_ZONE, maxConcurrency=2), FakePace(seconds_a_call=1)
    prepare(one, pace=pace)
    turns = [item["input"]["trigger"]["turnAt"] for item in items(one)]
    assert turns == ["2026-11-21T03:00:00Z", "2026-11-21T03:00:07Z", None]
    assert pace.given == 14


def test_where_somebody_is_asked_first_no_turn_is_taken():
    one, pace = world(TO_ZONE, objective={"approveAboveUsd": 0}), FakePace(seconds_a_call=1)
    assert prepare(one, pace=pace).question is not None
    assert (items(one)[0]["input"]["trigger"]["turnAt"], pace.given) == (None, 0)


def test_a_second_try_writes_nothing_new():
    one = world(SHARED, TO_ZONE)
    first = prepare(one)
    written = dict(one.artifacts.objects)
    assert prepare(one) == first
    assert one.artifacts.objects == written


def test_another_run_restores_only_what_is_not_ready():
    one = world(TO_ZONE, TO_ZONE, TO_ZONE)
    prepare(one)
    end(one, first="ready", second="failed", third="cancelled")
    before = items(one)
    result = prepare(one, run=2)
    assert (result.restore_count, result.volume_count) == (2, 2)
    names = {item["restoreId"] for item in items(one, 2)}
    assert not names & {item["restoreId"] for item in before}
    _, volumes = kept_volumes(FLEET_ID, one.artifacts)
    assert {volume.restore_id for volume in volumes} == {before[0]["restoreId"], *names}
    assert one.table.get(FLEET_ID)["readyBefore"] == 1


def test_of_a_restore_of_several_volumes_only_the_one_that_failed_comes_again():
    one = world(SHARED, SHARED)
    prepare(one)
    (restore,) = items(one)
    one.table.put_new(restore["restoreId"], {"status": "failed", "settled1": True})
    assert prepare(one, run=2).volume_count == 1


def test_a_cancelled_fleet_begins_nothing():
    one = world(SHARED)
    one.table.request_cancel(FLEET_ID)
    with pytest.raises(RestoreCancelledError):
        prepare(one)


def test_says_so_where_the_request_is_gone():
    one = world(SHARED)
    one.artifacts.objects.clear()
    with pytest.raises(RestoreNotFoundError, match="gone from the bucket"):
        prepare(one)


def test_the_plan_of_all_is_in_the_answer_the_record_and_the_bucket():
    one = world(TO_ZONE, TO_ZONE, objective={"readyWithinMinutes": 60})
    plan = prepare(one).plan
    assert plan.total_cost_usd > 0
    assert one.table.get(FLEET_ID)["plan"]["totalCostUsd"] == plan.to_json()["totalCostUsd"]
    kept = one.artifacts.objects[f"restores/{FLEET_ID}/plan-1.json"]
    assert [volume["strategy"] for volume in kept["volumes"]] == ["provisioned-rate"] * 2


@pytest.mark.parametrize(("billed", "said"), [("0.25", "0.50"), (None, None)])
def test_the_report_has_what_was_planned_and_what_has_come_of_it(billed, said):
    one = world(TO_ZONE, TO_ZONE, objective={"readyWithinMinutes": 60})
    plan = prepare(one).plan
    for restore, usd in zip(items(one), ("0.25", billed), strict=True):
        one.table.put_new(restore["restoreId"], {"status": "ready", "billedUsd": usd})
    event = ReportFleetEvent(restore_id=FLEET_ID, now=at(50), run=1, started_at=NOW)
    result = report_fleet(event, wired(ReportFleetPorts, one, draw=lambda _: None))
    assert result.plan == plan
    assert result.billed_usd == (None if said is None else Decimal(said))
    assert one.artifacts.objects[f"restores/{FLEET_ID}/report.json"]["billedUsd"] == said


def test_a_budget_that_does_not_do_for_all_fails_the_fleet_before_anything_is_made():
    one = world(TO_ZONE, TO_ZONE, objective={"strategy": "provisioned-rate", "maxCostUsd": 0.1})
    with pytest.raises(NoStrategyFitsError, match="2 volumes together: the budget is"):
        prepare(one)
    assert fleet_items_key(FLEET_ID, 1) not in one.artifacts.objects


def budgets(world):
    objectives = [item["input"]["request"]["objective"] for item in items(world)]
    assert [objective["approveAboveUsd"] for objective in objectives] == [None] * len(objectives)
    return [Decimal(objective["maxCostUsd"]) for objective in objectives]


class TestApproval:
    OBJECTIVE = {"readyWithinMinutes": 60, "approveAboveUsd": 0.01}

    def test_a_plan_above_the_limit_is_asked_about_once_for_all_restores(self):
        one = world(TO_ZONE, TO_ZONE, objective=self.OBJECTIVE)
        result = prepare(one)
        assert result.question.usd == result.plan.total_cost_usd
        assert "above $0.01 it needs approval" in result.question.reason
        assert sum(budgets(one)) <= result.question.usd

    def test_below_it_nobody_is_asked_and_all_together_stay_below(self):
        one = world(TO_ZONE, TO_ZONE, objective={"readyWithinMinutes": 60, "approveAboveUsd": 1})
        assert prepare(one).question is None
        assert sum(budgets(one)) <= 1

    def test_a_plan_that_waited_is_made_again_for_the_same_restores_within_what_was_approved(self):
        one = world(TO_ZONE, TO_ZONE, SHARED, objective=self.OBJECTIVE)
        first = prepare(one)
        before = items(one)
        approved = Approval(**first.question.to_json(), approvedAt=at(10), by="somebody")
        again = prepare(one, approved=approved, now=at(20))
        assert [item["restoreId"] for item in items(one)] == [item["restoreId"] for item in before]
        assert again.plan.ready_p90_at != first.plan.ready_p90_at
        assert (again.question is None) == (again.plan.total_cost_usd <= first.question.usd)

    def test_what_costs_more_than_was_approved_is_asked_about_again(self):
        one = world(TO_ZONE, TO_ZONE, objective=self.OBJECTIVE)
        first = prepare(one)
        approved = Approval(**first.question.to_json(), approvedAt=at(10), by="somebody")
        again = prepare(one, approved=approved, now=at(50))
        assert again.plan.total_cost_usd > first.plan.total_cost_usd
        assert "was approved" in again.question.reason

    def test_a_fleet_without_a_plan_for_all_fails_where_it_needs_approval(self):
        one = world(
            {**TO_ZONE, "volume": {"sizeGib": 200}},
            objective={"strategy": "warm-up-agent", "approveAboveUsd": 1},
        )
        with pytest.raises(NoStrategyFitsError):
            prepare(one)
