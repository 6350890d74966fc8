"""Whose request it is, and what AWS refuses (local/aws/front/signatures.py)."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

import pytest
from botocore.awsrequest import AWSResponse
from botocore.config import Config
from botocore.session import Session

from local.aws.front.addresses import Addresses
from local.aws.front.listener import HttpRequest
from local.aws.front.signatures import AccessKey, Fault, SignatureError, check

REGION = "eu-west-1"
KEY = AccessKey(
    "AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", "arn:aws:iam::123456789012:user/one"
)
ROLE = AccessKey("ASIAEXAMPLE", "another", "arn:aws:iam::123456789012:role/one", session_token="a token/+=")
KEYS = {key.access_key_id: key for key in (KEY, ROLE)}
CALLS = [
    ("ec2", "describe_volumes", {"VolumeIds": ["vol-1"], "Filters": [{"Name": "a b", "Values": ["*"]}]}),
    ("ebs", "list_snapshot_blocks", {"SnapshotId": "snap-0123456789abcdef0", "NextToken": "a+b/c="}),
    ("ssm", "list_commands", {}),
    ("lambda", "invoke", {"FunctionName": "arn:aws:lambda:eu-west-1:1:function:f", "Payload": b"{}"}),
    ("apigateway", "get_tags", {"resourceArn": "arn:aws:apigateway:eu-west-1::/restapis/a"}),
    (
        "s3",
        "put_object",
        {"Bucket": "bucket-1", "Key": "a b/ü+~%.json", "Body": b"text", "Metadata": {"x": "a  b"}},
    ),
    ("s3", "list_objects_v2", {"Bucket": "bucket-1", "Prefix": "a/ b", "Delimiter": ""}),
    ("sns", "publish", {"TopicArn": "arn:aws:sns:eu-west-1:1:t", "Message": "a & b"}),
    ("pricing", "describe_services", {}),
]


def client(service: str, key: AccessKey = KEY, secret: str = "", region: str = REGION) -> Any:
    return Session().create_client(
        service, region_name="us-east-1" if service == "pricing" else region,
        aws_access_key_id=key.access_key_id, aws_secret_access_key=secret or key.secret,
        aws_session_token=key.session_token or None,
        config=Config(retries={"total_max_attempts": 1}, s3={"addressing_style": "virtual"}),
    )  # fmt: skip


def sent(made: Any, operation: str, **params: Any) -> HttpRequest:
    """The request that botocore would send."""
    requests = []

    def keep(request: Any, **_options: Any) -> AWSResponse:
        requests.append(request)
        raise InterruptedError

    made.meta.events.register("before-send", keep)
    with pytest.raises(InterruptedError):
        getattr(made, operation)(**params)
    (request,) = requests
    url = urlsplit(request.url)
    body = request.body.read() if hasattr(request.body, "read") else request.body or b""
    headers = {name.lower(): as_text(value) for name, value in request.headers.items()}
    return HttpRequest(
        request.method, url.path, url.query, tuple({"host": url.netloc, **headers}.items()),
        body.encode() if isinstance(body, str) else body,
    )  # fmt: skip


def as_text(value: str | bytes) -> str:
    return value.decode() if isinstance(value, bytes) else value


def presigned(url: str, method: str = "GET", **headers: str) -> HttpRequest:
    parts = urlsplit(url)
    return HttpRequest(method, parts.path, parts.query, (("host", parts.netloc), *headers.items()))


def owner(request: HttpRequest, *, later: timedelta = timedelta(), region: str = REGION) -> AccessKey:
    place = Addresses(region).place(request.host)
    assert place is not None
    return check(request, place, KEYS.get, datetime.now(UTC) + later)


def fault(request: HttpRequest, **more: Any) -> Fault:
    with pytest.raises(SignatureError) as refused:
        owner(request, **more)
    return refused.value.fault


@pytest.mark.parametrize(
    ("service", "operation", "params"), CALLS, ids=lambda one: one if isinstance(one, str) else ""
)
@pytest.mark.parametrize("key", [KEY, ROLE], ids=["user", "role"])
def test_what_botocore_signs_is_its_owner_s(
    service: str, operation: str, params: Any, key: AccessKey
) -> None:
    assert owner(sent(client(service, key), operation, **params)) == key


@pytest.mark.parametrize(
    ("service", "operation", "params"), CALLS, ids=lambda one: one if isinstance(one, str) else ""
)
def test_another_secret_does_not_match(service: str, operation: str, params: Any) -> None:
    assert fault(sent(client(service, secret="wrong"), operation, **params)) is Fault.MISMATCH


class TestInTheHeader:
    def test_whatever_was_signed_may_not_change(self) -> None:
        request = sent(
            client("ebs"), "list_snapshot_blocks", SnapshotId="snap-0123456789abcdef0", MaxResults=100
        )
        assert fault(replace(request, method="POST")) is Fault.MISMATCH
        assert fault(replace(request, path=f"{request.path}/x")) is Fault.MISMATCH
        assert fault(replace(request, query="maxResults=101")) is Fault.MISMATCH
        assert fault(replace(request, body=b"x")) is Fault.MISMATCH

    def test_a_body_is_the_one_whose_hash_was_signed(self) -> None:
        request = sent(client("s3"), "delete_object", Bucket="bucket-1", Key="k")
        assert fault(replace(request, body=b"x")) is Fault.OTHER_BODY

    def test_it_holds_for_minutes_only(self) -> None:
        ec2, s3 = sent(client("ec2"), "describe_volumes"), sent(client("s3"), "list_buckets")
        assert owner(ec2, later=timedelta(minutes=4)) == owner(s3, later=timedelta(minutes=14)) == KEY
        assert fault(ec2, later=timedelta(minutes=6)) is Fault.SKEWED
        assert fault(ec2, later=timedelta(minutes=-6)) is Fault.SKEWED
        assert fault(s3, later=timedelta(minutes=16)) is Fault.SKEWED

    def test_service_and_region_are_those_of_the_host(self) -> None:
        request = sent(client("ec2"), "describe_volumes")
        headers = dict(request.headers)
        other = tuple({**headers, "host": "ssm.eu-west-1.amazonaws.com"}.items())
        assert fault(replace(request, headers=other)) is Fault.SERVICE
        elsewhere = tuple({**headers, "host": "ec2.eu-west-2.amazonaws.com"}.items())
        assert fault(replace(request, headers=elsewhere), region="eu-west-2") is Fault.REGION

    def test_the_token_of_temporary_credentials_belongs_to_the_key(self) -> None:
        stolen = replace(ROLE, session_token="of somebody else")
        assert fault(sent(client("ec2", stolen), "describe_volumes")) is Fault.TOKEN

    def test_a_key_that_nobody_has_is_unknown(self) -> None:
        nobody = AccessKey("AKIANOBODY", "x", "")
        assert fault(sent(client("ec2", nobody), "describe_volumes")) is Fault.UNKNOWN_KEY

    def test_without_a_signature(self) -> None:
        request = sent(client("ec2"), "describe_volumes")
        others = tuple(pair for pair in request.headers if pair[0] != "authorization")
        assert fault(replace(request, headers=others)) is Fault.MISSING
        half = (*others, ("authorization", "AWS4-HMAC-SHA256 Credential=a/b/c/d/aws4_request"))
        assert fault(replace(request, headers=half)) is Fault.INCOMPLETE
        old = (*others, ("authorization", "AWS AKIDEXAMPLE:signature"))
        assert fault(replace(request, headers=old)) is Fault.MECHANISM


class TestPresigned:
    @pytest.fixture(params=[KEY, ROLE], ids=["user", "role"])
    def url(self, request: pytest.FixtureRequest) -> str:
        config = Config(signature_version="s3v4", s3={"addressing_style": "virtual"})
        key: AccessKey = request.param
        made: Any = Session().create_client(
            "s3", region_name=REGION, aws_access_key_id=key.access_key_id, aws_secret_access_key=key.secret,
            aws_session_token=key.session_token or None, config=config,
        )  # fmt: skip
        place = {"Bucket": "bucket-1", "Key": "maps/a map.txt"}
        return str(made.generate_presigned_url("get_object", place, ExpiresIn=600))

    def test_it_is_whoever_signed_it(self, url: str) -> None:
        assert owner(presigned(url)) in (KEY, ROLE)
        assert owner(presigned(url, range="bytes=0-9")) in (KEY, ROLE)

    def test_it_ends(self, url: str) -> None:
        assert fault(presigned(url), later=timedelta(seconds=602)) is Fault.EXPIRED

    def test_it_is_for_one_method_and_one_object(self, url: str) -> None:
        assert fault(presigned(url, method="PUT")) is Fault.MISMATCH
        assert fault(presigned(url.replace("/maps/", "/other/"))) is Fault.MISMATCH
        assert fault(presigned(url.replace("X-Amz-Expires=600", "X-Amz-Expires=6000"))) is Fault.MISMATCH

    def test_it_lasts_a_week_at_most(self, url: str) -> None:
        assert fault(presigned(url.replace("X-Amz-Expires=600", "X-Amz-Expires=604801"))) is Fault.INCOMPLETE

    def test_it_holds_at_its_own_host_only(self, url: str) -> None:
        assert fault(presigned(url.replace("https://bucket-1.", "https://bucket-2."))) is Fault.MISMATCH
        assert fault(presigned(url.replace("s3.eu-west-1.", "s3."))) is Fault.REGION
