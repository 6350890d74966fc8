"""What finished restores measured, on moto's DynamoDB."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from rewarm.adapters.table.history import MOST_ATTEMPTS, MOST_RECORDS, DynamoHistory
from rewarm.adapters.table.restores import RESTORE_SECONDS
from rewarm.domain import errors
from rewarm.domain.model import GIB, Strategy
from rewarm.domain.time.measured import Likeness, Measured, Phase
from tests.contract.answers import ApiError, Aws

TABLE = "restores"
NOW = datetime(2026, 11, 21, 3, tzinfo=UTC)
RECORD = Measured(
    name="restore-1/0",
    at=NOW,
    strategy=Strategy.WARM_UP_AGENT,
    likeness=Likeness("gp3", "us-east-1a", "m5.large"),
    written_bytes=40 * GIB,
    data_bytes=41 * GIB,
    snapshot_size_gib=100,
    seconds={Phase.CREATE: 2.5, Phase.READ: 330.125},
    read_limit_mib_s=125.0,
    points=((0.0, 0), (1.5, 1 << 20)),
    estimated_p50_seconds=480,
    estimated_p90_seconds=840,
    actual_seconds=431.25,
)


@pytest.fixture(autouse=True)
def credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIATEST")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")


@pytest.fixture
def history(dynamodb: Any) -> DynamoHistory:
    return DynamoHistory(dynamodb, TABLE, clock=lambda: 1_000.0)


def numbered(number: int, **changes: Any) -> Measured:
    return replace(RECORD, name=f"restore-{number}/0", at=NOW + timedelta(minutes=number), **changes)


def item(dynamodb: Any, strategy: Strategy = Strategy.WARM_UP_AGENT) -> dict[str, Any]:
    key = {"pk": {"S": f"history#{strategy}"}}
    return dict(dynamodb.get_item(TableName=TABLE, Key=key)["Item"])


def test_a_calibration_is_no_record_and_the_next_one_takes_its_place(history: DynamoHistory) -> None:
    assert history.calibration() is None
    for value in (2.5, 3.25):
        history.keep_calibration({"calibration": {"figures": {"createSeconds": {"value": value}}}})
    assert history.calibration() == {"calibration": {"figures": {"createSeconds": {"value": 3.25}}}}
    assert history.records() == []


def test_there_is_none_at_first(history: DynamoHistory) -> None:
    assert history.records() == []


def test_a_record_comes_back_as_it_was(history: DynamoHistory) -> None:
    bare = replace(
        RECORD,
        name="restore-2/0",
        strategy=Strategy.FAST_SNAPSHOT_RESTORE,
        likeness=Likeness("io2", "us-east-1b", None),
        seconds={Phase.PREPARE: 490.0},
        lead_seconds=400.5,
        read_limit_mib_s=None,
        rate_mib_s=100,
        points=(),
        at=NOW + timedelta(seconds=1),
    )
    history.add([RECORD, bare])
    assert history.records() == [RECORD, bare]


def test_they_are_of_every_strategy_and_the_oldest_first(history: DynamoHistory) -> None:
    of_each = [numbered(number, strategy=strategy) for number, strategy in enumerate(Strategy)]
    history.add(list(reversed(of_each)))
    assert history.records() == of_each


def test_the_oldest_ones_go_when_there_are_too_many(history: DynamoHistory, dynamodb: Any) -> None:
    history.add([numbered(number) for number in range(MOST_RECORDS)])
    for number in (MOST_RECORDS, MOST_RECORDS + 1):
        history.add([numbered(number)])
    found = history.records()
    assert len(found) == MOST_RECORDS
    assert (found[0].name, found[-1].name) == ("restore-2/0", f"restore-{MOST_RECORDS + 1}/0")
    assert item(dynamodb)["expiresAt"] == {"N": str(1_000 + RESTORE_SECONDS)}


def test_more_than_fit_at_once_leave_the_latest(history: DynamoHistory) -> None:
    history.add([numbered(number) for number in range(MOST_RECORDS * 2)])
    assert next(record.name for record in history.records()) == f"restore-{MOST_RECORDS}/0"


def test_writers_at_the_same_time_lose_nothing() -> None:
    """Nothing is read before it is written: DynamoDB carries out each update by itself."""
    aws = Aws("dynamodb").on("UpdateItem", {}, {}, ApiError("ConditionalCheckFailedException"))
    DynamoHistory(aws.client, TABLE).add([RECORD])
    append, drop, refused = aws.params("UpdateItem")
    assert {name for name, _ in aws.calls} == {"UpdateItem"}
    assert append["UpdateExpression"].startswith(
        "SET records = list_append(if_not_exists(records, :none), :new)"
    )
    assert "ConditionExpression" not in append
    assert drop == refused
    assert drop["ConditionExpression"] == "size(records) > :most"


def test_what_another_version_wrote_is_left_out(history: DynamoHistory, dynamodb: Any) -> None:
    history.add([RECORD])
    dynamodb.update_item(
        TableName=TABLE,
        Key={"pk": {"S": "history#warm-up-agent"}},
        UpdateExpression="SET records = list_append(records, :new)",
        ExpressionAttributeValues={":new": {"L": [{"M": {"name": {"S": "restore-9/0"}}}, {"S": "?"}]}},
    )
    assert history.records() == [RECORD]


def test_keys_left_unanswered_are_asked_for_again_and_then_given_up() -> None:
    left = {TABLE: {"Keys": [{"pk": {"S": "history#background"}}]}}
    aws = Aws("dynamodb").on("BatchGetItem", {"Responses": {TABLE: []}, "UnprocessedKeys": left})
    assert DynamoHistory(aws.client, TABLE).records() == []
    first, *others = aws.params("BatchGetItem")
    assert len(first["RequestItems"][TABLE]["Keys"]) == len(Strategy)
    assert [one["RequestItems"] for one in others] == [left] * (MOST_ATTEMPTS - 1)


@pytest.mark.parametrize("code", ["ProvisionedThroughputExceededException", "ThrottlingException"])
def test_a_refusal_has_a_name(code: str) -> None:
    aws = Aws("dynamodb").on("BatchGetItem", ApiError(code)).on("UpdateItem", ApiError(code))
    with pytest.raises(errors.ThrottledError):
        DynamoHistory(aws.client, TABLE).records()
    with pytest.raises(errors.ThrottledError):
        DynamoHistory(aws.client, TABLE).add([RECORD])


def test_the_drills_of_a_runbook_come_back_by_time_and_once_each(history: DynamoHistory) -> None:
    first, second = (
        {"restoreId": f"restore-{number}", "at": f"2026-11-2{number}T03:00:00Z", "recoverySeconds": 450}
        for number in (1, 2)
    )
    for result in (second, first, {**second, "recoverySeconds": 460}):
        history.add_drill("rewarm-orders", result)
    history.add_drill("rewarm-other", first)
    assert history.drills("rewarm-orders") == [first, {**second, "recoverySeconds": 460}]
    assert history.drills("rewarm-none") == []
    assert history.records() == []


def test_the_oldest_drills_go_when_there_are_too_many(history: DynamoHistory) -> None:
    for number in range(MOST_RECORDS + 5):
        history.add_drill("rewarm-orders", {"restoreId": f"restore-{number:03}", "at": f"{number:03}"})
    found = history.drills("rewarm-orders")
    assert [found[0]["restoreId"], len(found)] == ["restore-005", MOST_RECORDS]
