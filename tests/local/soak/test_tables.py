"""The lab's DynamoDB and S3 beside moto's: the same random calls of the functions get the same answers."""

from __future__ import annotations

import io
import random
from collections.abc import Callable, Iterator
from typing import Any

import boto3
import pytest
from boto3.s3.transfer import TransferConfig
from botocore.awsrequest import AWSResponse
from botocore.exceptions import ClientError
from moto import mock_aws

from local.soak.lab.objects import Buckets
from local.soak.lab.tables import MOST_ITEM_BYTES, Tables
from local.soak.lab.template import stack

TABLE, BUCKET = "rewarm-RestoresTable", "rewarm-artifactsbucket"
KEYS = tuple(f"restore#{number}" for number in range(4))
CALLS = 300
NAMES = {"#name": "name", "#status": "status"}


class Raw(io.BytesIO):
    """What botocore reads an answer from."""

    def stream(self, **_options: Any) -> Iterator[bytes]:
        yield self.read()


def client(service: str, answer: Callable[..., tuple[int, dict[str, str], bytes]]) -> Any:
    """A client of the lab's service."""

    def respond(request: Any, event_name: str, **_more: Any) -> Any:
        status, headers, body = answer(event_name.rpartition(".")[2], request)
        told: Any = headers
        raw: Any = Raw(body)
        return AWSResponse(request.url, status, told, raw)

    made = boto3.Session().client(
        service, region_name="us-east-1", aws_access_key_id="a", aws_secret_access_key="b"
    )
    made.meta.events.register_first("before-send", respond)
    return made


@pytest.fixture
def dynamodb() -> Any:
    """The lab's, with the table of restores."""
    return client("dynamodb", Tables(stack().tables).answer)


def with_moto_s_tables(play: Callable[[Any], list[Any]]) -> list[Any]:
    """What comes of it on moto's DynamoDB."""
    properties = stack().tables[TABLE]
    with mock_aws():
        theirs = boto3.Session().client("dynamodb", region_name="us-east-1")
        wanted = ("AttributeDefinitions", "KeySchema", "GlobalSecondaryIndexes", "BillingMode")
        theirs.create_table(TableName=TABLE, **{name: properties[name] for name in wanted})
        return play(theirs)


def told(service: Any, operation: str, request: dict[str, Any]) -> Any:
    """The answer, or the error's code and the item that it shows."""
    try:
        answer = getattr(service, operation)(**request)
    except ClientError as error:
        return error.response["Error"]["Code"], error.response.get("Item")
    shown = ("Item", "Items", "Attributes", "Responses", "UnprocessedKeys")
    return {name: _ordered(answer[name]) for name in shown if name in answer}


def _ordered(value: Any) -> Any:
    """Sets have no order."""
    if isinstance(value, dict):
        return {name: sorted(one) if name in ("SS", "NS") else _ordered(one) for name, one in value.items()}
    return [_ordered(one) for one in value] if isinstance(value, list) else value


def updates(chance: random.Random) -> dict[str, Any]:
    """One of the updates that the adapters make, and a few like them."""
    number, text = {"N": str(chance.randrange(5))}, {"S": chance.choice(["a", "b", "ä"])}
    names = {"SS": chance.sample(["x", "y", "z"], 2)}
    more = {"L": [{"M": {"at": text, "ok": {"BOOL": True}}}]}
    return chance.choice(
        [
            {"UpdateExpression": "SET #name = :v, expiresAt = if_not_exists(expiresAt, :n)",
             "ExpressionAttributeNames": {"#name": "name"},
             "ExpressionAttributeValues": {":v": chance.choice([text, more, number]), ":n": number}},
            {"UpdateExpression": "SET events = list_append(if_not_exists(events, :none), :new)",
             "ExpressionAttributeValues": {":none": {"L": []}, ":new": more}},
            {"UpdateExpression": "REMOVE events[0]",
             "ConditionExpression": "attribute_exists(events) AND size(events) > :most",
             "ExpressionAttributeValues": {":most": number}},
            {"UpdateExpression": "ADD people :p REMOVE lastUser",
             "ExpressionAttributeValues": {":p": names}},
            {"UpdateExpression": "DELETE people :p SET lastUser = :u",
             "ConditionExpression": "contains(people, :u)",
             "ExpressionAttributeValues": {":p": names, ":u": {"S": "x"}}},
            {"UpdateExpression": "SET givenUntil = givenUntil + :n",
             "ConditionExpression": "givenUntil >= :n", "ExpressionAttributeValues": {":n": number}},
            {"UpdateExpression": "SET givenUntil = :n",
             "ConditionExpression": "attribute_not_exists(givenUntil) OR givenUntil < :n",
             "ExpressionAttributeValues": {":n": number}},
            {"UpdateExpression": "SET #status = :s, startedAt = :at",
             "ConditionExpression": "(attribute_not_exists(gone) OR gone = :no) AND "
                                    "(NOT #status = :s OR attribute_not_exists(#status))",
             "ExpressionAttributeNames": {"#status": "status"},
             "ExpressionAttributeValues": {":s": text, ":no": {"BOOL": False}, ":at": {"S": number["N"]}}},
            {"UpdateExpression": "SET unknown.x = :v", "ExpressionAttributeValues": {":w": text}},
            {"UpdateExpression": "SET status = :v", "ExpressionAttributeValues": {":v": text}},
            {"UpdateExpression": "SET gone = :v", "ExpressionAttributeValues": {":v": text, ":w": text}},
        ]
    )  # fmt: skip


def calls(chance: random.Random) -> Iterator[tuple[str, dict[str, Any]]]:
    """Random calls of the functions."""
    of_table = {"TableName": TABLE}
    for _ in range(CALLS):
        key = {"pk": {"S": chance.choice(KEYS)}}
        match chance.choice(("update",) * 8 + ("put", "delete", "get", "get", "many", "query", "query")):
            case "update":
                returning = chance.choice(["NONE", "ALL_NEW", "ALL_OLD"])
                yield "update_item", {**of_table, "Key": key, "ReturnValues": returning, **updates(chance)}
            case "put":
                item = {**key, "name": {"S": "put"}, "status": {"S": "a"}, "startedAt": {"S": "2"}}
                new = {
                    "ConditionExpression": "attribute_not_exists(pk)",
                    "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
                }
                yield "put_item", {**of_table, "Item": item, **chance.choice([{}, new])}
            case "delete":
                yield "delete_item", {**of_table, "Key": key, "ReturnValues": "ALL_OLD"}
            case "get":
                some = {"ProjectionExpression": "#name, #status, people", "ExpressionAttributeNames": NAMES}
                yield "get_item", {**of_table, "Key": key, **chance.choice([{}, some])}
            case "many":
                yield (
                    "batch_get_item",
                    {"RequestItems": {TABLE: {"Keys": [{"pk": {"S": one}} for one in KEYS]}}},
                )
            case "query":
                values = {":s": {"S": "a"}, ":low": {"S": "0"}, ":high": {"S": "~"}}
                yield "query", {
                    **of_table,
                    "IndexName": "by-status",
                    "KeyConditionExpression": "#status = :s AND startedAt BETWEEN :low AND :high",
                    "ExpressionAttributeNames": {"#status": "status"},
                    "ExpressionAttributeValues": values,
                    "ScanIndexForward": chance.choice([True, False]),
                }  # fmt: skip


@pytest.mark.parametrize("seed", range(2))
def test_both_tables_answer_alike(dynamodb: Any, seed: int) -> None:
    def play(service: Any) -> list[Any]:
        return [(request, told(service, *request)) for request in calls(random.Random(seed))]

    for ours, theirs in zip(play(dynamodb), with_moto_s_tables(play), strict=True):
        assert ours == theirs


def test_pages_of_the_index_have_every_item_once(dynamodb: Any) -> None:
    for number in range(7):
        item = {"pk": {"S": f"restore#{number}"}, "status": {"S": "a"}, "startedAt": {"S": str(number // 3)}}
        dynamodb.put_item(TableName=TABLE, Item=item)
    found, start = [], {}
    while True:
        answer = dynamodb.query(
            TableName=TABLE, IndexName="by-status", KeyConditionExpression="#status = :s", Limit=2,
            ExpressionAttributeNames={"#status": "status"}, ExpressionAttributeValues={":s": {"S": "a"}},
            **start,
        )  # fmt: skip
        found += [item["pk"]["S"] for item in answer["Items"]]
        if "LastEvaluatedKey" not in answer:
            break
        start = {"ExclusiveStartKey": answer["LastEvaluatedKey"]}
    assert found == [f"restore#{number}" for number in range(7)]


@pytest.mark.parametrize(("size", "is_taken"), [(MOST_ITEM_BYTES - 100, True), (MOST_ITEM_BYTES + 1, False)])
def test_an_item_has_400_kilobytes_at_most(dynamodb: Any, size: int, is_taken: bool) -> None:  # noqa: FBT001
    item = {"pk": {"S": "large"}, "text": {"S": "ä" * (size // 2)}}
    answer = told(dynamodb, "put_item", {"TableName": TABLE, "Item": item})
    assert answer == ({} if is_taken else ("ValidationException", None))


def test_both_buckets_answer_alike() -> None:
    parts = TransferConfig(multipart_threshold=6 << 20, multipart_chunksize=5 << 20, use_threads=False)

    def story(s3: Any) -> list[Any]:
        seen: list[Any] = []
        for key, most in (("map", 100), ("ä/large & old", 6 << 20)):
            body = bytes(random.Random(key).randbytes(most))
            s3.upload_fileobj(io.BytesIO(body), BUCKET, key, ExtraArgs={"ContentType": "a/b"}, Config=parts)
            found = s3.get_object(Bucket=BUCKET, Key=key)
            seen.append((found["Body"].read() == body, found["ContentType"], found["ContentLength"]))
        s3.put_object(Bucket=BUCKET, Key="note", Body=b"x", Metadata={"made-at": "now"})
        head = s3.head_object(Bucket=BUCKET, Key="note")
        seen.append((head["Metadata"], head["ContentLength"], head["ETag"]))
        for operation, more in (
            ("put_object", {"IfNoneMatch": "*"}),
            ("get_object", {}),
            ("head_object", {}),
        ):
            for key in ("note", "missing" + operation):
                answer = told(s3, operation, {"Bucket": BUCKET, "Key": key, **more})
                seen.append(answer)
        pages = s3.get_paginator("list_objects_v2").paginate(Bucket=BUCKET, PaginationConfig={"PageSize": 2})
        seen.append([[(one["Key"], one["Size"]) for one in page["Contents"]] for page in pages])
        return seen

    ours = story(client("s3", Buckets((BUCKET,), lambda: 0.0).answer))
    with mock_aws():
        theirs = boto3.Session().client("s3", region_name="us-east-1")
        theirs.create_bucket(Bucket=BUCKET)
        assert ours == story(theirs)
