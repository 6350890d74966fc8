"""Fleets in the fast lab: the real state machines, functions and roles, in virtual time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from local.aws.region.faults import FaultRule
from local.soak.lab.lab import FastLab
from rewarm.steps.fleet import plan_fleet

Json = dict[str, Any]
FLEET, RESTORE = "FleetStateMachine", "RestoreStateMachine"


@pytest.fixture
def lab() -> Iterator[FastLab]:
    with FastLab(seed=3) as made:
        yield made


def item(lab: FastLab, instance_id: str, **parts: Any) -> Json:
    """One volume to the instance."""
    snapshot_id = lab.region.add_snapshot(size_gib=2, extents=((0, 50),))
    return {"source": {"snapshotId": snapshot_id}, "target": {"instanceId": instance_id}, **parts}


def broken(lab: FastLab) -> Json:
    """One volume that EC2 does not make, to an instance of its own."""
    found = item(lab, lab.region.add_instance())
    when = {"SnapshotId": found["source"]["snapshotId"]}
    lab.region.faults.add(FaultRule("CreateVolume", code="UnauthorizedOperation", when=when, times=None))
    return found


def fleet_of(items: list[Json], **parts: Any) -> Json:
    return {"source": {"items": items}, "objective": {"strategy": "warm-up-agent"}, **parts}


def started(lab: FastLab, request: Json) -> str:
    status, body = lab.api("POST", "/fleets", request)
    assert (status, body["status"], body["run"]) == (202, "accepted", 1), body
    return str(body["fleetId"])


def finished(lab: FastLab, fleet_id: str, run: int = 1) -> Json:
    """The record when the execution of the run has ended."""
    execution = lab.execution(FLEET, fleet_id if run == 1 else f"{fleet_id}-{run}")
    assert execution is not None
    lab.finish(execution)
    return shown(lab, fleet_id)


def shown(lab: FastLab, fleet_id: str) -> Json:
    status, record = lab.api("GET", f"/fleets/{fleet_id}")
    assert status == 200
    return record


def messages(lab: FastLab, kind: str) -> list[Json]:
    return [sent["detail"] for sent in lab.events.sent if sent["detail"]["kind"] == kind]


def restores(lab: FastLab) -> list[str]:
    return [execution.name for execution in lab.executions(RESTORE)]


def test_one_of_three_restores_fails_and_a_redrive_brings_it_back_alone(lab: FastLab) -> None:
    shared, alone = lab.region.add_instance(), lab.region.add_instance()
    refused = broken(lab)
    items = [item(lab, shared), refused, item(lab, alone), item(lab, shared)]
    fleet_id = started(lab, fleet_of(items, volume={"volumeType": "gp3"}))
    record = finished(lab, fleet_id)
    assert (record["status"], record["progress"]["counts"]) == ("incomplete", {"failed": 1, "ready": 3})
    (failed,) = record["progress"]["failed"]
    assert failed["snapshot"] == refused["source"]
    assert "UnauthorizedOperation" in failed["cause"]
    first = restores(lab)
    assert len(first) == record["restoreCount"] == 3, "two volumes to one instance are one restore"

    lab.region.faults.clear()
    status, body = lab.api("POST", f"/fleets/{fleet_id}/redrive")
    assert (status, body["run"]) == (202, 2), body
    record = finished(lab, fleet_id, run=2)
    assert (record["status"], record["progress"]["counts"]) == ("ready", {"ready": 4})
    assert len(restores(lab)) == len(first) + 1, "what was ready is not restored again"
    told = [one["event"] for one in messages(lab, "Fleet")]
    assert told == ["fleet-planned", "fleet-ended"] * 2
    quiet = {"slack": False, "email": False, "hot": True}
    assert all(one["notify"] == quiet for one in messages(lab, "Restore"))


def test_more_failures_than_are_tolerated_stop_the_others_and_nothing_is_left(lab: FastLab) -> None:
    slow = lab.region.add_snapshot(size_gib=500, extents=((0, 900_000),))
    items = [
        {"source": {"snapshotId": slow}, "target": item(lab, lab.region.add_instance())["target"]},
        broken(lab),
    ]
    fleet_id = started(lab, fleet_of(items, toleratedFailureCount=0))
    record = finished(lab, fleet_id)
    assert record["status"] == "incomplete"
    assert "threshold" in record["failure"]["cause"]
    (execution,) = [one for one in lab.executions(FLEET) if one.name == fleet_id]
    assert (execution.status, execution.error) == ("FAILED", "States.ExceedToleratedFailureThreshold")
    lab.pass_time(3_600)
    assert lab.states.running() == []
    assert shown(lab, fleet_id)["progress"]["counts"] == {"failed": 2}


def test_a_cancelled_fleet_starts_no_more_and_keeps_what_is_ready(lab: FastLab) -> None:
    first, second, third = (lab.region.add_instance() for _ in range(3))
    slow = lab.region.add_snapshot(size_gib=500, extents=((0, 900_000),))
    items = [
        item(lab, first),
        {"source": {"snapshotId": slow}, "target": {"instanceId": second}},
        item(lab, third),
    ]
    fleet_id = started(lab, fleet_of(items, maxConcurrency=1))
    lab.run(lambda: len(lab.executions(RESTORE)) == 2)
    lab.pass_time(300)
    status, body = lab.api("DELETE", f"/fleets/{fleet_id}")
    assert (status, body["cancelRequested"]) == (202, True)
    assert lab.api("POST", f"/fleets/{fleet_id}/redrive")[0] == 409
    lab.pass_time(3_600)
    record = shown(lab, fleet_id)
    assert record["status"] == "cancelled"
    counts = record["progress"]["counts"]
    assert (counts["ready"], counts["waiting"]) == (1, 1)
    # Whether the sweeper comes to the restore first or to the fleet, chance decides.
    assert counts.get("failed", 0) + counts.get("cancelled", 0) == 1
    assert len(lab.executions(RESTORE)) == 2
    assert lab.api("DELETE", f"/fleets/{fleet_id}")[0] == 409
    assert [one["event"] for one in messages(lab, "Fleet")][-1] == "fleet-ended"


def test_a_restore_that_begins_late_has_the_deadline_of_the_fleet(lab: FastLab) -> None:
    items = [item(lab, lab.region.add_instance()) for _ in range(2)]
    objective = {"strategy": "warm-up-agent", "readyWithinMinutes": 60}
    fleet_id = started(lab, fleet_of(items, maxConcurrency=1, objective=objective))
    record = finished(lab, fleet_id)
    for restore_id in restores(lab):
        status, restore = lab.api("GET", f"/restores/{restore_id}")
        assert (status, restore["deadlineAt"]) == (200, record["deadlineAt"])
        assert restore["trigger"]["fleetId"] == fleet_id


def test_the_list_has_the_newest_first_and_the_same_key_starts_one_fleet(lab: FastLab) -> None:
    request = fleet_of([item(lab, lab.region.add_instance())])
    first, again = (
        lab.api("POST", "/fleets", request, Idempotency_Key="once")[1]["fleetId"] for _ in range(2)
    )
    assert first == again
    finished(lab, first)
    second = started(lab, fleet_of([item(lab, lab.region.add_instance())]))
    lab.pass_time(5)
    status, listed = lab.api("GET", "/fleets")
    assert status == 200
    assert [(one["fleetId"], one["status"]) for one in listed["fleets"]] == [
        (second, "restoring"),
        (first, "ready"),
    ]
    assert lab.api("GET", f"/restores/{first}")[0] == 404


def test_what_is_wrong_with_an_item_is_said_at_once(lab: FastLab) -> None:
    bad = {
        **item(lab, "i-0ffffffffffffffff"),
        "target": {"availabilityZone": "us-east-1a", "device": "/dev/sdf"},
    }
    status, problem = lab.api("POST", "/fleets", fleet_of([item(lab, lab.region.add_instance()), bad]))
    assert (status, problem["error"], problem["field"]) == (400, "InvalidRequestError", "source.items")
    assert "of item 1: target.device" in problem["detail"]
    assert lab.api("GET", "/fleets/fleet-0000")[0] == 404


def test_a_fleet_that_is_stopped_by_hand_is_reported_by_the_sweeper(lab: FastLab) -> None:
    fleet_id = started(lab, fleet_of([item(lab, lab.region.add_instance())]))
    execution = lab.execution(FLEET, fleet_id)
    assert execution is not None
    lab.run(lambda: bool(lab.executions(RESTORE)))
    lab.states.stop(execution.arn)
    lab.pass_time(3_600)
    record = shown(lab, fleet_id)
    assert (record["status"], record["progress"]["counts"]) == ("failed", {"failed": 1})
    assert "execution was stopped" in record["failure"]["cause"]


def test_a_source_that_is_refused_makes_nothing_and_says_why(lab: FastLab) -> None:
    missing = {
        "source": {"snapshotId": "snap-0ffffffffffffffff"},
        "target": {"instanceId": lab.region.add_instance()},
    }
    fleet_id = started(lab, fleet_of([item(lab, lab.region.add_instance()), missing]))
    record = finished(lab, fleet_id)
    assert (record["status"], record["progress"]) == ("failed", None)
    assert "snap-0ffffffffffffffff" in record["failure"]["cause"]
    assert restores(lab) == []


def test_an_instance_is_restored_by_one_restore(lab: FastLab) -> None:
    source, target = lab.region.add_instance(), lab.region.add_instance()
    for device in ("/dev/sdf", "/dev/sdg"):
        volume_id = lab.region.add_volume(size_gib=2, attach_to=source, device=device)
        lab.region.add_snapshot(size_gib=2, extents=((0, 50),), volume_id=volume_id)
    request = {"source": {"instance": {"instanceId": source, "devices": ["/dev/sdf", "/dev/sdg"]}}}
    objective = {"strategy": "warm-up-agent"}
    fleet_id = started(lab, {**request, "target": {"instanceId": target}, "objective": objective})
    record = finished(lab, fleet_id)
    assert (record["status"], record["progress"]["counts"], record["restoreCount"]) == (
        "ready",
        {"ready": 2},
        1,
    )


def test_one_approval_and_one_plan_for_all_restores_of_a_fleet(lab: FastLab) -> None:
    zone = lab.region.settings.zones[0]
    items = [item(lab, lab.region.add_instance())]
    for size_gib in (20, 20):
        snapshot_id = lab.region.add_snapshot(size_gib=size_gib, extents=((0, 40_000),))
        items.append({"source": {"snapshotId": snapshot_id}, "target": {"availabilityZone": zone}})
    objective = {"readyWithinMinutes": 40, "approveAboveUsd": 0, "maxCostUsd": 5}
    request = {"source": {"items": items}, "objective": objective, "volume": {"volumeType": "gp3"}}
    status, planned = lab.api("POST", "/fleets/plans", request)
    assert (status, planned["restoreCount"], planned["volumeCount"]) == (200, 3, 3), planned
    assert planned["summary"]["needsApproval"]
    assert lab.executions(FLEET) == []

    fleet_id = started(lab, request)
    lab.run(lambda: shown(lab, fleet_id)["status"] == "awaiting-approval")
    assert restores(lab) == []
    waiting = shown(lab, fleet_id)
    assert waiting["plan"]["totalCostUsd"] == planned["summary"]["totalCostUsd"]
    lab.pass_time(60)
    assert waiting["approval"]["usd"] == planned["summary"]["totalCostUsd"]
    status, answer = lab.api("POST", f"/restores/{fleet_id}/approve")
    assert (status, "approval" in answer) == (202, True), answer
    record = finished(lab, fleet_id)
    assert (record["status"], record["progress"]["counts"]) == ("ready", {"ready": 3})
    told = [one["event"] for one in messages(lab, "Fleet") if one["event"] != "fleet-progress"]
    assert told == ["approval", "fleet-planned", "fleet-ended"]
    for volume, restore_id in zip(planned["volumes"], sorted_by_volume(lab, planned), strict=True):
        restore = lab.api("GET", f"/restores/{restore_id}")[1]
        assert "approval" not in restore
        assert restore["plans"][0]["plan"]["strategy"] == volume["strategy"]
        assert restore["summary"]["notes"][0] == "It is a part of the fleet's plan."


def sorted_by_volume(lab: FastLab, planned: Json) -> list[str]:
    """The restores, in the order of the planned volumes."""
    found = {}
    for restore_id in restores(lab):
        restore = lab.api("GET", f"/restores/{restore_id}")[1]
        found[restore["plans"][0]["snapshotId"]] = restore_id
    return [found[volume["snapshotId"]] for volume in planned["volumes"]]


def test_a_plan_that_takes_longer_than_an_answer_may_is_fetched(
    lab: FastLab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plan_fleet, "MOST_PLANNED_AT_ONCE", 1)
    items = [item(lab, lab.region.add_instance()), item(lab, lab.region.add_instance())]
    status, begun = lab.api("POST", "/fleets/plans", fleet_of(items))
    assert (status, begun["status"]) == (202, "planning"), begun
    (execution,) = lab.executions(FLEET)
    lab.finish(execution)
    status, plan = lab.api("GET", f"/fleets/plans/{begun['planId']}")
    assert (status, plan["volumeCount"], len(plan["volumes"])) == (200, 2, 2), plan
    assert lab.api("GET", "/fleets")[1]["fleets"] == []
    assert (restores(lab), messages(lab, "Fleet")) == ([], [])


def test_a_plan_that_no_strategy_fits_says_so_when_it_is_fetched(
    lab: FastLab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plan_fleet, "MOST_PLANNED_AT_ONCE", 0)
    request = fleet_of([item(lab, lab.region.add_instance())])
    request["objective"] = {"strategy": "provisioned-rate", "maxCostUsd": 0.000001}
    begun = lab.api("POST", "/fleets/plans", request)[1]
    (execution,) = lab.executions(FLEET)
    lab.finish(execution)
    status, refusal = lab.api("GET", f"/fleets/plans/{begun['planId']}")
    assert (status, refusal["error"]) == (422, "NoStrategyFitsError"), refusal
    assert execution.status == "SUCCEEDED", "an alarm tells of executions that failed"
    assert lab.api("GET", "/fleets/plans/fleet-plan-0123456789abcdef")[0] == 404
    assert lab.api("GET", "/fleets/plans/restore-1")[0] == 404
