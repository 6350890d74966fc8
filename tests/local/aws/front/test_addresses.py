"""Which names exist, and what each stands for (local/aws/front/addresses.py)."""

from __future__ import annotations

import socket

import pytest
from botocore.session import Session
from dnslib import DNSRecord

from local.aws.front.addresses import Addresses, NameServer, Place

REGIONS = ("us-east-1", "eu-west-1", "ap-northeast-1", "me-south-1", "cn-north-1", "us-gov-west-1")
SERVICES = (
    "ec2", "ebs", "ssm", "kms", "cloudtrail", "service-quotas", "dynamodb", "s3", "sns", "sqs", "lambda",
    "iam", "sts", "stepfunctions", "events", "scheduler", "logs", "cloudwatch", "cloudformation",
    "secretsmanager",
)  # fmt: skip


@pytest.fixture(scope="module")
def session() -> Session:
    """One for all clients: it reads botocore's endpoints and models once."""
    return Session()


@pytest.mark.parametrize("region", REGIONS)
@pytest.mark.parametrize("service", SERVICES)
def test_the_name_that_botocore_asks_for_is_the_service_that_it_signs_for(
    session: Session, region: str, service: str
) -> None:
    client = session.create_client(
        service, region_name=region, aws_access_key_id="AKIATEST", aws_secret_access_key="secret"
    )
    place = Addresses(region).place(client.meta.endpoint_url.removeprefix("https://"))
    assert place is not None
    assert place.service == client.meta.service_model.signing_name


@pytest.mark.parametrize(
    ("region", "host", "place"),
    [
        ("eu-west-1", "b.c.s3.eu-west-1.amazonaws.com", Place("s3", "eu-west-1", bucket="b.c")),
        ("eu-west-1", "s3.eu-west-1.amazonaws.com", Place("s3", "eu-west-1")),
        ("eu-west-1", "b.s3.amazonaws.com", Place("s3", "us-east-1", bucket="b", is_global=True)),
        ("cn-north-1", "b.s3.cn-north-1.amazonaws.com.cn", Place("s3", "cn-north-1", bucket="b")),
        (
            "eu-west-1",
            "a1.execute-api.eu-west-1.amazonaws.com",
            Place("execute-api", "eu-west-1", api_id="a1"),
        ),
        ("eu-west-1", "api.pricing.us-east-1.amazonaws.com", Place("pricing", "us-east-1")),
        ("eu-west-1", "EC2.eu-west-1.AmazonAWS.com.", Place("ec2", "eu-west-1")),
    ],
)
def test_forms_of_names(region: str, host: str, place: Place) -> None:
    assert Addresses(region).place(host) == place


@pytest.mark.parametrize(
    ("region", "host"),
    [
        ("eu-west-1", "ec2.us-east-1.amazonaws.com"),
        ("eu-west-1", "b.s3.us-east-1.amazonaws.com"),
        ("cn-north-1", "ec2.cn-north-1.amazonaws.com"),
        ("cn-north-1", "b.s3.amazonaws.com"),
        ("eu-west-1", "amazonaws.com"),
        ("eu-west-1", "amazonaws.com.example.org"),
        ("eu-west-1", "hooks.slack.com"),
    ],
)
def test_what_another_region_or_nobody_has_does_not_exist(region: str, host: str) -> None:
    assert Addresses(region).place(host) is None


def test_the_name_server_knows_these_names_only() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    server = NameServer(Addresses("eu-west-1"), port)
    try:
        known = asked("ec2.eu-west-1.amazonaws.com", "A", port)
        assert [str(one.rdata) for one in known.rr] == ["127.0.0.1"]
        assert asked("ec2.eu-west-1.amazonaws.com", "AAAA", port).rr == []
        assert asked("example.org", "A", port).header.rcode == 3, "NXDOMAIN"
    finally:
        server.close()


def asked(name: str, kind: str, port: int) -> DNSRecord:
    return DNSRecord.parse(DNSRecord.question(name, kind).send("127.0.0.1", port, timeout=10))
