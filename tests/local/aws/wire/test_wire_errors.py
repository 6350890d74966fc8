"""Errors over the wire: each service's codes, messages, HTTP statuses and modelled exceptions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import requests
from botocore.config import Config
from botocore.exceptions import ClientError

from local.aws.region import FaultRule
from local.aws.wire import client, serve
from tests.local.aws.region.region_lab import INSTANCE, ZONE, Lab


def failing(call: Callable[..., Any], **params: Any) -> tuple[str, int, str]:
    """(code, HTTP status, message)"""
    with pytest.raises(ClientError) as refused:
        call(**params)
    answer = refused.value.response
    return answer["Error"]["Code"], answer["ResponseMetadata"]["HTTPStatusCode"], answer["Error"]["Message"]


def free(lab: Lab, service: str) -> Any:
    """A client that sends what the model forbids, as other SDKs would."""
    config = Config(parameter_validation=False, retries={"total_max_attempts": 1})
    return client(lab.region, service, config=config)


def test_ec2_says_what_is_missing_or_wrong() -> None:
    ec2 = free(Lab(), "ec2")
    assert failing(ec2.attach_volume, VolumeId="vol-1")[:2] == ("MissingParameter", 400)
    assert "Device" in failing(ec2.attach_volume, VolumeId="vol-1")[2]
    code, _, message = failing(ec2.create_volume, AvailabilityZone=ZONE, Size="big")
    assert (code, "big" in message) == ("InvalidParameterValue", True)
    tags = [{"ResourceType": "spaceship", "Tags": []}]
    assert (
        failing(ec2.create_volume, AvailabilityZone=ZONE, Size=1, TagSpecifications=tags)[0]
        == "InvalidParameterValue"
    )
    assert failing(ec2.create_volume, AvailabilityZone=ZONE, Size=1, DryRun=True)[:2] == (
        "DryRunOperation",
        412,
    )


def test_json_services_say_validation_exception() -> None:
    lab = Lab()
    code, status, message = failing(free(lab, "ssm").send_command, InstanceIds=[INSTANCE])
    assert (code, status) == ("ValidationException", 400)
    assert "'documentName' failed to satisfy constraint" in message
    assert failing(free(lab, "ssm").get_parameter, Name=7)[0] in (
        "ValidationException",
        "SerializationException",
    )
    pricing = free(lab, "pricing")
    assert failing(pricing.get_products, ServiceCode="AmazonEC2", MaxResults=0)[0] == "ValidationException"


def test_modelled_exceptions_arrive_as_their_classes() -> None:
    lab = Lab()
    ssm, ebs = client(lab.region, "ssm"), client(lab.region, "ebs")
    with pytest.raises(ssm.exceptions.InvocationDoesNotExist):
        ssm.get_command_invocation(CommandId="0" * 36, InstanceId=INSTANCE)
    with pytest.raises(ebs.exceptions.ResourceNotFoundException) as refused:
        ebs.list_snapshot_blocks(SnapshotId="snap-0000000000000dead")
    assert refused.value.response["Reason"] == "SNAPSHOT_NOT_FOUND"
    assert refused.value.response["ResponseMetadata"]["HTTPStatusCode"] == 404
    code, status, _ = failing(
        free(lab, "ebs").list_snapshot_blocks, SnapshotId="snap-0000000000000dead", MaxResults=99
    )
    assert (code, status) == ("ValidationException", 400)


def test_throttling_has_each_services_code_and_status() -> None:
    lab = Lab()
    lab.region.faults.inject("throttled")
    assert failing(client(lab.region, "ec2").describe_volumes)[:2] == ("RequestLimitExceeded", 503)
    lab.region.faults.inject("send-command-throttled")
    call = client(lab.region, "ssm").send_command
    assert failing(call, DocumentName="AWS-RunShellScript", InstanceIds=[INSTANCE])[:2] == (
        "ThrottlingException",
        400,
    )
    lab.region.faults.add(FaultRule("ListSnapshotBlocks", code="InternalServerException", status=500))
    call = client(lab.region, "ebs").list_snapshot_blocks
    assert failing(call, SnapshotId="snap-0000000000000dead")[:2] == ("InternalServerException", 500)


def test_boto3_retries_a_lost_answer_and_makes_one_volume() -> None:
    lab = Lab()
    lab.region.faults.inject("create-answer-lost")
    server = serve(lab.region)
    try:
        ec2 = client(lab.region, "ec2", config=Config(retries={"total_max_attempts": 3, "mode": "standard"}))
        volume = ec2.create_volume(AvailabilityZone=ZONE, Size=1)
    finally:
        server.close()
    assert volume["ResponseMetadata"]["RetryAttempts"] == 1
    assert list(lab.plane.volumes) == [volume["VolumeId"]]


def test_what_is_not_modelled_says_so() -> None:
    lab = Lab()
    code, status, message = failing(client(lab.region, "ec2").describe_vpcs)
    assert (code, status) == ("InvalidAction", 400)
    assert "DescribeVpcs is not modelled" in message
    code, _, message = failing(client(lab.region, "ssm").list_associations)
    assert (code, "ListAssociations is not modelled" in message) == ("UnknownOperationException", True)
    assert failing(client(lab.region, "ebs").start_snapshot, VolumeSize=1)[0] == "UnknownOperationException"


def test_an_error_of_the_region_itself_is_an_internal_error() -> None:
    lab = Lab()
    lab.region.operations["ec2", "DescribeTags"] = lambda _params: 1 / 0  # type: ignore[assignment,return-value]
    code, status, message = failing(client(lab.region, "ec2").describe_tags)
    assert (code, status) == ("InternalError", 500)
    assert "ZeroDivisionError" in message


def test_requests_that_no_sdk_would_send() -> None:
    server = serve(Lab().region)
    scope = (
        "AWS4-HMAC-SHA256 Credential=x/20260101/us-east-1/{}/aws4_request, SignedHeaders=host, Signature=0"
    )
    try:
        unsigned = requests.post(server.url, data={"Action": "DescribeVolumes"}, timeout=60)
        assert (unsigned.status_code, "signs as ''" in unsigned.text) == (400, True)
        headers = {"Authorization": scope.format("ec2")}
        unknown = requests.post(server.url, data={"Action": "Dance"}, headers=headers, timeout=60)
        assert (unknown.status_code, "<Code>InvalidAction</Code>" in unknown.text) == (400, True)
        headers = {
            "Authorization": scope.format("ssm"),
            "X-Amz-Target": "AmazonSSM.GetParameter",
            "Content-Type": "application/x-amz-json-1.1",
        }
        broken = requests.post(server.url, data="{", headers=headers, timeout=60)
        assert (broken.status_code, "Exception" in broken.json()["__type"]) == (400, True)
    finally:
        server.close()


def test_the_server_listens_on_loopback_only_and_frees_its_port() -> None:
    lab = Lab()
    server = serve(lab.region)
    assert server.url == f"http://127.0.0.1:{server.port}"
    server.close()
    again = serve(lab.region, server.port)
    again.close()
