"""S3 at a bucket's legacy global name (local/aws/front/global_s3.py)."""

from __future__ import annotations

import urllib.error
import urllib.request
import uuid
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import boto3
import pytest
from botocore.config import Config

from local.aws.front.addresses import Addresses
from local.aws.front.global_s3 import elsewhere
from local.aws.front.listener import HttpRequest
from tests.support.stack.state_machines import create_bucket

if TYPE_CHECKING:
    from local.aws.host import Host

HOST = "maps.s3.amazonaws.com"
GET = HttpRequest("GET", "/a%20map", "X-Amz-Signature=0", (("host", HOST),))


@pytest.mark.parametrize("region", ["eu-west-1", "ap-northeast-1"])
def test_an_older_region_s_new_bucket_redirects_to_its_regional_name(region: str) -> None:
    place = Addresses(region).place(HOST)
    assert place is not None
    answer = elsewhere(GET, place, region)
    assert answer is not None
    error, headers = ET.fromstring(answer.body), dict(answer.headers)
    assert (answer.status, error.findtext("Code")) == (307, "TemporaryRedirect")
    assert error.findtext("Endpoint") == f"maps.s3.{region}.amazonaws.com"
    assert headers["Location"] == f"https://maps.s3.{region}.amazonaws.com/a%20map?X-Amz-Signature=0"
    assert headers["x-amz-bucket-region"] == region


def test_a_newer_region_refuses() -> None:
    place = Addresses("me-south-1").place(HOST)
    assert place is not None
    answer = elsewhere(GET, place, "me-south-1")
    assert answer is not None
    error = ET.fromstring(answer.body)
    assert (answer.status, error.findtext("Code")) == (400, "IllegalLocationConstraintException")
    assert "The me-south-1 location constraint is incompatible" in (error.findtext("Message") or "")


def test_us_east_1_answers_itself() -> None:
    place = Addresses("us-east-1").place(HOST)
    assert place is not None
    assert elsewhere(GET, place, "us-east-1") is None


@pytest.mark.parametrize("region", ["cn-north-1", "us-gov-west-1"])
def test_other_partitions_are_not_behind_that_name(region: str) -> None:
    assert Addresses(region).place(HOST) is None


def test_an_address_that_boto3_presigns_by_default_is_good_in_us_east_1_only(host: Host) -> None:
    """Version 4 and no addressing style: botocore then signs for the global name, in all of `aws`."""
    bucket = f"maps-{uuid.uuid4().hex[:8]}"
    create_bucket(host, bucket)
    host.client("s3").put_object(Bucket=bucket, Key="map", Body=b"0 8\n")
    s3 = boto3.Session().client("s3", config=Config(signature_version="s3v4"))
    url = s3.generate_presigned_url("get_object", {"Bucket": bucket, "Key": "map"})
    if host.addresses.region in ("eu-west-1", "ap-northeast-1", "me-south-1"):
        assert url.startswith(f"https://{bucket}.s3.amazonaws.com/")
        with pytest.raises(urllib.error.HTTPError) as refusal:
            urllib.request.urlopen(url)
        with refusal.value as answer:
            assert answer.code in (400, 403)
            assert ET.fromstring(answer.read()).findtext("Code") in (
                "SignatureDoesNotMatch",  # after the redirect, the host is another than the one signed
                "IllegalLocationConstraintException",
            )
    else:
        with urllib.request.urlopen(url) as answer:
            assert answer.read() == b"0 8\n"
