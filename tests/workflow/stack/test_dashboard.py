"""The dashboard on the embedded AWS: after restores and a sweep, each of its metrics has datapoints.

The emulator keeps what functions write, but does not take the embedded metric format out of it as CloudWatch
Logs does; that is done here. AWS's own metrics are the emulator's.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from local.aws.region.faults import FaultRule
from tests.support.stack.dashboard import Wanted, shown
from tests.support.stack.emitted import Datapoint, datapoints
from tests.support.stack.endings import assert_failed
from tests.support.stack.restores import RestoreUser, request_for

Json = dict[str, Any]
DENIED: Json = {
    "code": "UnauthorizedOperation",
    "message": "You are not authorized to perform this operation.",
    "status": 403,
}
NOT_HERE = {"Swept", "FallBacks", "ExecutionThrottled"}
"""Nothing was swept, no plan was replaced; the emulator's Step Functions throttles nobody."""
ONLY_WHEN_IT_HAPPENS = {"ExecutionsFailed", "ExecutionsTimedOut", "ExecutionsAborted"}
"""The machine restore fails here, the two others do not; nothing is stopped or too late."""


@pytest.fixture
def body(user: RestoreUser) -> Json:
    """The dashboard as CloudWatch has it, with the stack's own names."""
    name = user.lab.outputs["DashboardName"]
    answer = user.lab.client("cloudwatch").get_dashboard(DashboardName=name)
    parsed: Json = json.loads(answer["DashboardBody"])
    assert "${" not in answer["DashboardBody"]
    return parsed


def sweep(user: RestoreUser, *, ends_it_all: bool = True) -> None:
    answer = user.lab.client("lambda").invoke(
        FunctionName=user.lab.outputs["SweepFunctionName"], Payload=b"{}"
    )
    assert ("FunctionError" not in answer) is ends_it_all, answer["Payload"].read()


def written(user: RestoreUser) -> list[Datapoint]:
    """What the functions of this stack wrote as metrics, from their log group."""
    pages = user.lab.client("logs").get_paginator("filter_log_events")
    lines = [
        line
        for page in pages.paginate(logGroupName=user.lab.outputs["LogGroupName"])
        for event in page["events"]
        for line in event["message"].splitlines()
    ]
    return sorted(datapoints(lines), key=lambda one: one.at_ms)


def has_datapoints(user: RestoreUser, one: Wanted, found: list[Datapoint]) -> bool:
    if one.namespace == "Rewarm":
        return any(one.is_met_by(it.namespace, it.name, it.dimensions) for it in found)
    now = datetime.now(UTC)
    answer = user.lab.client("cloudwatch").get_metric_statistics(
        Namespace=one.namespace,
        MetricName=one.name,
        Dimensions=[{"Name": name, "Value": value} for name, value in one.dimensions],
        StartTime=now - timedelta(days=30),
        EndTime=now + timedelta(days=3_650),
        Period=86_400,
        Statistics=["Sum"],
    )
    return bool(answer["Datapoints"])


def values(found: list[Datapoint], name: str) -> list[float]:
    return [one.value for one in found if one.name == name]


def boosts(user: RestoreUser) -> tuple[float, float]:
    """How many there are, and how many that no restore needs, at the last sweep."""
    found = written(user)
    return values(found, "BoostedVolumes")[-1], values(found, "BoostedVolumesLeft")[-1]


def test_each_metric_has_datapoints_after_a_restore_that_is_ready_and_one_that_fails(
    user: RestoreUser, body: Json
) -> None:
    ready = user.restore(request_for(user, "warm-up-agent", readyWithinMinutes=600))
    assert ready.main.status == "SUCCEEDED", ready.why
    before = written(user)
    lost = request_for(user, "warm-up-agent") | {"source": {"snapshotId": "snap-0000000000000dead"}}
    failed = user.finished(user.start_execution({"request": lost}))
    assert_failed(user, failed, "SnapshotNotFoundError")
    sweep(user)
    found = written(user)
    lacking = {
        (one.where, one.name)
        for one in shown(body)
        if not one.where.startswith("Lambda") and not has_datapoints(user, one, found)
    }
    assert {name for _, name in lacking} <= NOT_HERE | ONLY_WHEN_IT_HAPPENS
    assert ("Restores", "ExecutionsFailed") not in lacking
    assert values(found, "FastSnapshotRestoresLeft")[-1] == 0
    assert values(before, "DeadlinesMissed")[-1] == 0
    assert 0 < values(before, "DeadlineUsedPercent")[-1] <= 100
    assert values(before, "CostUsd")[-1] == pytest.approx(float(ready.record["costUsd"]))
    assert max(values(before, "AgentMibPerSecond")) > 0
    (reason,) = {
        value
        for one in found if one.name == "RestoresFailed" and one not in before
        for name, value in one.dimensions if name == "reason"
    }  # fmt: skip
    assert reason == "SnapshotNotFoundError"


@pytest.mark.long
def test_a_restore_in_flight_is_counted_and_later_not(user: RestoreUser) -> None:
    with user.lab.clock.busy():
        restore_id = user.start(request_for(user, "provisioned-rate"))
        user.wait_for_state(restore_id, "Create Volume")
        sweep(user)
    assert values(written(user), "RestoresInFlight")[-1] >= 1
    user.finished(restore_id)
    sweep(user)
    assert values(written(user), "RestoresInFlight")[-1] == 0


@pytest.mark.long
def test_a_boost_that_nobody_needs_is_told_until_it_is_lowered(user: RestoreUser) -> None:
    with user.lab.clock.busy():
        restore_id = user.start(request_for(user, "boosted-warm-up", instance_type="m5.4xlarge"))
        user.wait_for_state(restore_id, "Attach Volume")
        sweep(user)
        assert boosts(user) == (1, 0)
        denied = [FaultRule(call, times=None, **DENIED) for call in ("ModifyVolume", "DeleteVolume")]
        user.region.faults.add(*denied)
        user.lab.client("stepfunctions").stop_execution(executionArn=user.arn(0, restore_id))
        sweep(user, ends_it_all=False)
        assert boosts(user) == (1, 1)
    user.region.faults.clear()
    for _ in range(2):
        user.lab.clock.sleep(60)
        sweep(user)
    assert boosts(user) == (0, 0)
