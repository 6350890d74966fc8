"""What runs, from EC2, Step Functions and the table together."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import boto3
import pytest

from rewarm.adapters.executions import AwsInventory
from rewarm.adapters.table.restores import RELEASED_SECONDS, DynamoRestoreTable
from rewarm.domain.errors import AccessDeniedError
from rewarm.domain.model import RunningFastRestore
from tests.contract.answers import ApiError, Aws

TABLE, MACHINE = "restores", "arn:aws:states:us-east-1:123456789012:stateMachine:restore"
SINCE = datetime(2026, 11, 21, 3, 0, tzinfo=UTC)
PLACE = ("snap-1", "us-east-1a")
USER = "restore-1/0"


def execution(name: str) -> dict[str, Any]:
    arn = MACHINE.replace("stateMachine", "execution") + f":{name}"
    return {
        "executionArn": arn, "stateMachineArn": MACHINE, "name": name, "status": "RUNNING",
        "startDate": SINCE,
    }  # fmt: skip


def active(snapshot_id: str = PLACE[0], **times: Any) -> dict[str, Any]:
    return {
        "SnapshotId": snapshot_id, "AvailabilityZone": PLACE[1], "State": "optimizing",
        **(times or {"EnablingTime": SINCE, "OptimizingTime": SINCE + timedelta(minutes=1)}),
    }  # fmt: skip


@pytest.fixture
def table(dynamodb: Any) -> DynamoRestoreTable:
    return DynamoRestoreTable(dynamodb, TABLE, clock=(SINCE + timedelta(hours=1)).timestamp)


def inventory(ec2: Aws | None = None, states: Aws | None = None) -> AwsInventory:
    clients = (ec2 or Aws("ec2"), states or Aws("stepfunctions"), Aws("cloudformation"))
    table = DynamoRestoreTable(boto3.client("dynamodb"), TABLE)
    return AwsInventory(*(aws.client for aws in clients), table, MACHINE)


def test_counts_every_page_of_what_runs(table: DynamoRestoreTable) -> None:
    assert table.get("restore-1") is None
    states = Aws("stepfunctions").on(
        "ListExecutions",
        {"executions": [execution("a"), execution("b")], "nextToken": "more"},
        {"executions": [execution("c"), execution("rule-look-1764223800")]},
    )
    assert inventory(states=states).restores_in_flight() == 3, "a look of rules restores nothing"
    assert states.params("ListExecutions")[0]["statusFilter"] == "RUNNING"


def test_what_we_enabled_is_ours_and_says_who_needs_it(table: DynamoRestoreTable) -> None:
    table.claim_fast_snapshot_restore(*PLACE, USER, asked_at=SINCE)
    table.claim_fast_snapshot_restore("snap-2", PLACE[1], USER, asked_at=None)
    ec2 = Aws("ec2").on(
        "DescribeFastSnapshotRestores",
        {"FastSnapshotRestores": [active(), active("snap-2"), active("snap-3")]},
    )
    assert inventory(ec2).fast_restores() == [RunningFastRestore(*PLACE, SINCE, frozenset({USER}))]
    (asked,) = ec2.params("DescribeFastSnapshotRestores")
    assert asked["Filters"] == [{"Name": "state", "Values": ["enabling", "optimizing", "enabled"]}]


def test_what_could_not_be_disabled_is_still_ours(table: DynamoRestoreTable) -> None:
    table.claim_fast_snapshot_restore(*PLACE, USER, asked_at=SINCE)
    table.release_fast_snapshot_restore(*PLACE, USER)
    ec2 = Aws("ec2").on("DescribeFastSnapshotRestores", {"FastSnapshotRestores": [active()]})
    assert inventory(ec2).fast_restores() == [RunningFastRestore(*PLACE, SINCE, frozenset())]


def test_what_somebody_else_enabled_after_our_release_is_theirs(table: DynamoRestoreTable) -> None:
    table.claim_fast_snapshot_restore(*PLACE, USER, asked_at=SINCE)
    table.release_fast_snapshot_restore(*PLACE, USER)
    later = SINCE + timedelta(hours=1, seconds=RELEASED_SECONDS / 2)
    ec2 = Aws("ec2").on(
        "DescribeFastSnapshotRestores", {"FastSnapshotRestores": [active(EnablingTime=later)]}
    )
    assert inventory(ec2).fast_restores() == []


def test_a_missing_permission_is_named(table: DynamoRestoreTable) -> None:
    assert table.get("restore-1") is None
    states = Aws("stepfunctions").on("ListExecutions", ApiError("AccessDeniedException", status=400))
    with pytest.raises(AccessDeniedError, match="ListExecutions"):
        inventory(states=states).restores_in_flight()
