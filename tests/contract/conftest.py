"""What adapters of the table meet: moto's DynamoDB, as exact as the real one where threads meet."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from moto import mock_aws

from tests.contract import repository

TABLE = "restores"


@pytest.fixture
def dynamodb(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A client with the table of restores."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIATEST")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    table = repository.resources("AWS::DynamoDB::Table")["RestoresTable"]
    with mock_aws():
        client = boto3.Session().client("dynamodb")
        client.create_table(
            TableName=TABLE,
            BillingMode="PAY_PER_REQUEST",
            AttributeDefinitions=table["AttributeDefinitions"],
            KeySchema=table["KeySchema"],
            GlobalSecondaryIndexes=table["GlobalSecondaryIndexes"],
        )
        keys = {one["AttributeName"]: one["AttributeType"] for one in table["AttributeDefinitions"]}
        yield _one_at_a_time(client, keys)


def _one_at_a_time(dynamodb: Any, keys: dict[str, str]) -> Any:
    """DynamoDB checks a condition and writes in one step; moto leaves a gap between them to other threads.

    DynamoDB refuses an update that gives an index's key another type, and moto writes it.
    """
    lock, call = threading.Lock(), dynamodb._make_api_call

    def in_turn(operation: str, params: dict[str, Any]) -> dict[str, Any]:
        with lock:
            answer: dict[str, Any] = call(operation, params)
            if operation == "UpdateItem":
                _check_keys(
                    call("GetItem", {name: params[name] for name in ("TableName", "Key")})["Item"], keys
                )
            return answer

    dynamodb._make_api_call = in_turn
    return dynamodb


def _check_keys(item: dict[str, Any], keys: dict[str, str]) -> None:
    wrong = {name: item[name] for name, kind in keys.items() if name in item and set(item[name]) != {kind}}
    assert not wrong, f"an index has these as its key, which are of {keys}: {wrong}"
