"""A refused signature in the words of each service, as its SDK reads them (local/aws/front/refusals.py)."""

from __future__ import annotations

import urllib.error
import urllib.request
from typing import TYPE_CHECKING

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from tests.support.state_machines import create_bucket

if TYPE_CHECKING:
    from local.aws.host import Host

WRONG = [
    ("ec2", "describe_volumes", "AuthFailure", 401),
    ("s3", "list_buckets", "SignatureDoesNotMatch", 403),
    ("sns", "list_topics", "SignatureDoesNotMatch", 403),
    ("cloudformation", "list_stacks", "SignatureDoesNotMatch", 403),
    ("ssm", "list_commands", "InvalidSignatureException", 400),
    ("dynamodb", "list_tables", "InvalidSignatureException", 400),
    ("stepfunctions", "list_state_machines", "InvalidSignatureException", 400),
    ("lambda", "list_functions", "InvalidSignatureException", 403),
    ("ebs", "list_snapshot_blocks", "InvalidSignatureException", 403),
]
UNKNOWN = [
    ("ec2", "describe_volumes", "AuthFailure", 401),
    ("s3", "list_buckets", "InvalidAccessKeyId", 403),
    ("sns", "list_topics", "InvalidClientTokenId", 403),
    ("ssm", "list_commands", "UnrecognizedClientException", 400),
    ("lambda", "list_functions", "UnrecognizedClientException", 403),
]


def refusal(host: Host, service: str, operation: str, key: str, secret: str) -> tuple[str, int]:
    client = boto3.client(  # type: ignore[call-overload]
        service,
        aws_access_key_id=key,
        aws_secret_access_key=secret,
        config=Config(retries={"total_max_attempts": 1}),
    )
    params = {"SnapshotId": "snap-0123456789abcdef0"} if service == "ebs" else {}
    with pytest.raises(ClientError) as refused:
        getattr(client, operation)(**params)
    answer = refused.value.response
    return answer["Error"]["Code"], answer["ResponseMetadata"]["HTTPStatusCode"]


@pytest.mark.parametrize(("service", "operation", "code", "status"), WRONG)
def test_a_wrong_secret(host: Host, service: str, operation: str, code: str, status: int) -> None:
    key = host.environment["AWS_ACCESS_KEY_ID"]
    assert refusal(host, service, operation, key, "wrong") == (code, status)


@pytest.mark.parametrize(("service", "operation", "code", "status"), UNKNOWN)
def test_an_unknown_key(host: Host, service: str, operation: str, code: str, status: int) -> None:
    assert refusal(host, service, operation, "AKIANOBODY", "any") == (code, status)


def test_an_address_of_s3_that_was_changed_or_has_ended(host: Host) -> None:
    s3 = host.client("s3")
    create_bucket(host, "refusals")
    s3.put_object(Bucket="refusals", Key="page", Body=b"page")
    url = s3.generate_presigned_url("get_object", {"Bucket": "refusals", "Key": "page"})
    with urllib.request.urlopen(url) as answer:
        assert answer.read() == b"page"
    assert "<Code>SignatureDoesNotMatch</Code>" in refused(url.replace("/page", "/other"))
    ended = s3.generate_presigned_url("get_object", {"Bucket": "refusals", "Key": "page"}, ExpiresIn=-1)
    assert "<Code>AuthorizationQueryParametersError</Code>" in refused(ended)
    assert "<Code>AccessDenied</Code>" in refused(url.partition("?")[0])
    old = boto3.client("s3", config=Config(signature_version="s3", s3={"addressing_style": "virtual"}))
    of_version_2 = old.generate_presigned_url("get_object", {"Bucket": "refusals", "Key": "page"})
    assert "Please use AWS4-HMAC-SHA256." in refused(of_version_2)


def refused(url: str) -> str:
    with pytest.raises(urllib.error.HTTPError) as refusal_of_s3:
        urllib.request.urlopen(url)
    with refusal_of_s3.value as answer:
        return answer.read().decode()
