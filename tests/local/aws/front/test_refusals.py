"""A refused signature in the words of each service, as its SDK reads them (local/aws/front/refusals.py)."""

from __future__ import annotations

import urllib.error
import urllib.request
from typing import TYPE_CHECKING

import boto3
import pytest
from botocore.config import Config

from tests.support.stack.refusals import each, refusal
from tests.support.stack.state_machines import create_bucket

if TYPE_CHECKING:
    from local.aws.host import Host


def refused_with(host: Host, service: str, operation: str, secret: str, key: str = "") -> tuple[str, int]:
    client = boto3.Session().client(  # type: ignore[call-overload]
        service,
        aws_access_key_id=key or host.environment["AWS_ACCESS_KEY_ID"],
        aws_secret_access_key=secret,
        config=Config(retries={"total_max_attempts": 1}),
    )
    params = {"SnapshotId": "snap-0123456789abcdef0"} if service == "ebs" else {}
    return refusal(getattr(client, operation), **params)


@each(
    ec2=("AuthFailure", 401),
    s3=("SignatureDoesNotMatch", 403),
    sns=("SignatureDoesNotMatch", 403),
    cloudformation=("SignatureDoesNotMatch", 403),
    ssm=("InvalidSignatureException", 400),
    dynamodb=("InvalidSignatureException", 400),
    stepfunctions=("InvalidSignatureException", 400),
    ebs=("InvalidSignatureException", 403),
    **{"lambda": ("InvalidSignatureException", 403)},
)
def test_a_wrong_secret(host: Host, service: str, operation: str, expected: tuple[str, int]) -> None:
    assert refused_with(host, service, operation, "wrong") == expected


@each(
    ec2=("AuthFailure", 401),
    s3=("InvalidAccessKeyId", 403),
    sns=("InvalidClientTokenId", 403),
    ssm=("UnrecognizedClientException", 400),
    **{"lambda": ("UnrecognizedClientException", 403)},
)
def test_an_unknown_key(host: Host, service: str, operation: str, expected: tuple[str, int]) -> None:
    assert refused_with(host, service, operation, "any", "AKIANOBODY") == expected


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
    old = boto3.Session().client(
        "s3", config=Config(signature_version="s3", s3={"addressing_style": "virtual"})
    )
    of_version_2 = old.generate_presigned_url("get_object", {"Bucket": "refusals", "Key": "page"})
    assert "Please use AWS4-HMAC-SHA256." in refused(of_version_2)


def refused(url: str) -> str:
    with pytest.raises(urllib.error.HTTPError) as refusal_of_s3:
        urllib.request.urlopen(url)
    with refusal_of_s3.value as answer:
        return answer.read().decode()
