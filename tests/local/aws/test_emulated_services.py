"""What Rewarm relies on in the emulator's other services, as AWS documents it; none of it is mended here."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
import uuid
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from tests.support.stack.state_machines import create_bucket, create_lambda, create_machine, start, wait
from tests.support.waiting import wait_until

if TYPE_CHECKING:
    from local.aws.host import Host


def poll(find: Any) -> Any:
    """What `find` finds, once it is something."""
    found = []
    wait_until(lambda: found.append(find()) or found[-1])
    return found[-1]


@pytest.fixture(scope="module")
def table(host: Host):
    dynamodb = host.client("dynamodb")
    name = f"test-{uuid.uuid4().hex[:8]}"
    dynamodb.create_table(
        TableName=name,
        KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
    )
    specification = {"Enabled": True, "AttributeName": "expiresAt"}
    dynamodb.update_time_to_live(TableName=name, TimeToLiveSpecification=specification)
    return name


class TestDynamoDb:
    def test_the_first_of_two_conditional_writes_wins(self, host: Host, table):
        dynamodb = host.client("dynamodb")
        write = {"TableName": table, "ConditionExpression": "attribute_not_exists(id)"}
        dynamodb.put_item(Item={"id": {"S": "once"}, "n": {"N": "1"}}, **write)
        with pytest.raises(ClientError) as refusal:
            dynamodb.put_item(
                Item={"id": {"S": "once"}, "n": {"N": "2"}},
                ReturnValuesOnConditionCheckFailure="ALL_OLD",
                **write,
            )
        assert refusal.value.response["Error"]["Code"] == "ConditionalCheckFailedException"
        assert refusal.value.response["Item"]["n"] == {"N": "1"}

    def test_string_sets_grow_and_shrink_and_vanish_when_empty(self, host: Host, table):
        dynamodb = host.client("dynamodb")

        def update(action: str, values: list[str]) -> Any:
            return dynamodb.update_item(
                TableName=table,
                Key={"id": {"S": "set"}},
                UpdateExpression=f"{action} holders :v",
                ExpressionAttributeValues={":v": {"SS": values}},
                ReturnValues="ALL_NEW",
            )["Attributes"]

        assert update("ADD", ["a", "b"])["holders"]["SS"] == ["a", "b"]
        assert sorted(update("ADD", ["b", "c"])["holders"]["SS"]) == ["a", "b", "c"]
        assert sorted(update("DELETE", ["a", "x"])["holders"]["SS"]) == ["b", "c"]
        assert "holders" not in update("DELETE", ["b", "c"])

    def test_an_update_in_a_map_is_conditional_too(self, host: Host, table):
        dynamodb = host.client("dynamodb")
        key = {"TableName": table, "Key": {"id": {"S": "map"}}}
        dynamodb.update_item(
            UpdateExpression="SET volumes = :empty", ExpressionAttributeValues={":empty": {"M": {}}}, **key
        )
        claim = {
            "UpdateExpression": "SET volumes.#i = if_not_exists(volumes.#i, :command)",
            "ExpressionAttributeNames": {"#i": "0"},
            "ReturnValues": "ALL_NEW",
        }
        for command in ("first", "second"):
            answer = dynamodb.update_item(
                ExpressionAttributeValues={":command": {"S": command}}, **claim, **key
            )
            assert answer["Attributes"]["volumes"]["M"]["0"]["S"] == "first"

    def test_time_to_live_is_kept(self, host: Host, table):
        answer = host.client("dynamodb").describe_time_to_live(TableName=table)
        assert answer["TimeToLiveDescription"] == {
            "TimeToLiveStatus": "ENABLED",
            "AttributeName": "expiresAt",
        }


class TestS3:
    @pytest.fixture
    def bucket(self, host: Host):
        name = f"test-{uuid.uuid4().hex[:8]}"
        create_bucket(host, name)
        return name

    def test_presigned_urls_read_and_write_without_an_sdk(self, host: Host, bucket):
        s3 = host.client("s3")
        place = {"Bucket": bucket, "Key": "maps/a map.txt"}
        write = urllib.request.Request(s3.generate_presigned_url("put_object", place), b"0 8\n", method="PUT")
        with urllib.request.urlopen(write) as answer:
            assert answer.status == 200
        url = s3.generate_presigned_url("get_object", place)
        assert url.startswith(f"https://{bucket}.s3.")
        with urllib.request.urlopen(url) as answer:
            assert answer.read() == b"0 8\n"

    def test_an_address_for_one_upload_replaces_nothing_and_wants_its_header(self, host: Host, bucket):
        """Amazon S3 user guide, "How to prevent object overwrites with conditional writes"."""
        s3 = host.client("s3", config=Config(signature_version="s3v4"))
        place = {"Bucket": bucket, "Key": "undo/restore-1/0/0/000001-000", "IfNoneMatch": "*"}
        url = s3.generate_presigned_url("put_object", place)

        def put(data: bytes, headers: dict[str, str]) -> int:
            request = urllib.request.Request(url, data, headers, method="PUT")
            try:
                with urllib.request.urlopen(request) as answer:
                    return int(answer.status)
            except urllib.error.HTTPError as refusal:
                refusal.close()
                return refusal.code

        once = {"If-None-Match": "*"}
        assert put(b"other", {}) == 403, "the header is signed"
        assert put(b"first", once) == 200
        assert put(b"second", once) == 412
        assert s3.get_object(Bucket=bucket, Key=place["Key"], Range="bytes=1-2")["Body"].read() == b"ir"

    def test_a_missing_object_is_not_found(self, host: Host, bucket):
        s3 = host.client("s3")
        with pytest.raises(ClientError, match="NoSuchKey"):
            s3.get_object(Bucket=bucket, Key="absent")
        url = s3.generate_presigned_url("get_object", {"Bucket": bucket, "Key": "absent"})
        with pytest.raises(urllib.error.HTTPError) as refusal:
            urllib.request.urlopen(url)
        refusal.value.close()
        assert refusal.value.code == 404


def test_secrets_can_be_read(host: Host):
    secrets = host.client("secretsmanager")
    name = f"test-{uuid.uuid4().hex[:8]}"
    arn = secrets.create_secret(Name=name, SecretString="https://example.com/hook")["ARN"]
    assert secrets.get_secret_value(SecretId=arn)["SecretString"] == "https://example.com/hook"
    with pytest.raises(ClientError, match="ResourceNotFoundException"):
        secrets.get_secret_value(SecretId="absent")


def test_sns_reaches_sqs_with_its_attributes(host: Host):
    topic = host.client("sns").create_topic(Name=f"test-{uuid.uuid4().hex[:8]}")["TopicArn"]
    sqs = host.client("sqs")
    queue = sqs.create_queue(QueueName=f"test-{uuid.uuid4().hex[:8]}")["QueueUrl"]
    arn = sqs.get_queue_attributes(QueueUrl=queue, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    host.client("sns").subscribe(TopicArn=topic, Protocol="sqs", Endpoint=arn)
    host.client("sns").publish(
        TopicArn=topic,
        Subject="Ready",
        Message="vol-1 is ready",
        MessageAttributes={"kind": {"DataType": "String", "StringValue": "ready"}},
    )
    (message,) = poll(lambda: sqs.receive_message(QueueUrl=queue).get("Messages"))
    body = json.loads(message["Body"])
    assert (body["Subject"], body["Message"]) == ("Ready", "vol-1 is ready")
    assert body["MessageAttributes"]["kind"]["Value"] == "ready"


class TestEventBridge:
    def test_nobody_but_aws_may_use_a_source_of_aws(self, host: Host):
        entry = {"Source": "aws.ec2", "DetailType": "EBS Volume Notification", "Detail": "{}"}
        answer = host.client("events").put_events(Entries=[entry])
        assert answer["Entries"][0]["ErrorCode"] == "NotAuthorizedForSourceException"

    def test_the_end_of_an_execution_is_an_event_for_children_too(self, host: Host):
        child = create_machine(host, {"Fail": {"Type": "Fail", "Error": "Broken", "Cause": "by a test"}})
        call = {
            "Type": "Task",
            "Resource": "arn:${Partition}:states:::states:startExecution.sync:2",
            "Arguments": {"StateMachineArn": child},
            "End": True,
        }
        parent = create_machine(host, {"Call": call})
        sqs, events = host.client("sqs"), host.client("events")
        queue = sqs.create_queue(QueueName=f"test-{uuid.uuid4().hex[:8]}")["QueueUrl"]
        arn = sqs.get_queue_attributes(QueueUrl=queue, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
        detail = {"status": ["FAILED"], "stateMachineArn": [parent, child]}
        pattern = {"source": ["aws.states"], "detail": detail}
        rule = f"test-{uuid.uuid4().hex[:8]}"
        events.put_rule(Name=rule, EventPattern=json.dumps(pattern))
        events.put_targets(Rule=rule, Targets=[{"Id": "queue", "Arn": arn}])
        wait(host, start(host, parent))
        seen: dict[str, Any] = {}

        def both_arrived() -> bool:
            for message in sqs.receive_message(QueueUrl=queue, MaxNumberOfMessages=10).get("Messages", []):
                event = json.loads(message["Body"])
                seen[event["detail"]["stateMachineArn"]] = event["detail"]
            return len(seen) == 2

        poll(both_arrived)
        assert seen[child]["error"] == "Broken"


def test_metrics_of_the_days_ahead_can_be_published_and_read(host: Host):
    instant = host.clock.now() + 10 * 86_400
    name = f"vol-{uuid.uuid4().hex[:17]}"
    dimensions = [{"Name": "VolumeId", "Value": name}]
    data = {"MetricName": "VolumeReadOps", "Dimensions": dimensions, "Unit": "Count"}
    host.emulator.put_metrics("AWS/EBS", [{**data, "Timestamp": instant, "Value": 60.0}])
    metric = {"Namespace": "AWS/EBS", "MetricName": "VolumeReadOps", "Dimensions": dimensions}
    query = {"Id": "reads", "MetricStat": {"Metric": metric, "Period": 60, "Stat": "Sum"}}
    around = datetime.fromtimestamp(instant, UTC)
    answer = host.client("cloudwatch").get_metric_data(
        MetricDataQueries=[query],
        StartTime=around - timedelta(minutes=5),
        EndTime=around + timedelta(minutes=5),
    )
    assert answer["MetricDataResults"][0]["Values"] == [60.0]


IDEMPOTENT = """
import os
from aws_lambda_powertools.utilities.idempotency import (
    DynamoDBPersistenceLayer, IdempotencyConfig, idempotent,
)

calls = []
store = DynamoDBPersistenceLayer(table_name=os.environ["TABLE"])

@idempotent(persistence_store=store, config=IdempotencyConfig(event_key_jmespath="key"))
def handler(event, context):
    calls.append(event)
    return {"calls": len(calls)}
"""


def test_powertools_idempotency_keeps_its_records(host: Host, table):
    function = create_lambda(host, IDEMPOTENT, environment={"TABLE": table})
    client = host.client("lambda")

    def call(key: str) -> Any:
        return json.loads(
            client.invoke(FunctionName=function, Payload=json.dumps({"key": key}))["Payload"].read()
        )

    assert [call("a"), call("a"), call("b")] == [{"calls": 1}, {"calls": 1}, {"calls": 2}]
