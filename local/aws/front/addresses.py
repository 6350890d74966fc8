"""Names of AWS's endpoints: what each stands for, and a name server that answers them with loopback.

The forms are those of botocore's endpoint rules, of "Virtual hosting of buckets" (S3 user guide) and of
"Invoke a REST API" (API Gateway developer guide). The embedded AWS has one Region, so the names of others do
not exist.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

from dnslib import QTYPE, RCODE, RR, A, DNSRecord
from dnslib.server import BaseResolver, DNSLogger, DNSServer

from local.aws.region.settings import partition_of

LOOPBACK = "127.0.0.1"
DNS_PORT = 53
SECONDS_TO_LIVE = 60
GLOBAL = {
    "aws": ("us-east-1", ""),
    "aws-cn": ("cn-north-1", ".cn-north-1"),
    "aws-us-gov": ("us-gov-west-1", ".us-gov"),
}
"""Partition -> the Region that IAM's requests are signed for, and what follows `iam` in its name."""
PRICE_LISTS = ("us-east-1", "eu-central-1", "ap-south-1", "cn-northwest-1")
"""Regions with an endpoint of the Price List Query API (botocore); each knows all Regions' prices."""
_S3 = re.compile(r"(?:(?P<bucket>[a-z0-9][a-z0-9.-]*)\.)?s3(?:\.(?P<region>[a-z0-9-]+))?")
_API = re.compile(r"(?P<api>[a-z0-9]+)\.execute-api\.(?P<region>[a-z0-9-]+)")
_PRICES = re.compile(r"api\.pricing\.(?P<region>[a-z0-9-]+)")
_REGIONAL = re.compile(r"(?P<service>[a-z0-9-]+)\.(?P<region>[a-z0-9-]+)")


@dataclass(frozen=True, slots=True)
class Place:
    """What answers at a name."""

    service: str
    """As requests to it are signed."""
    region: str
    bucket: str | None = None
    """Of S3 by virtual hosting."""
    api_id: str | None = None
    """Of execute-api."""
    is_global: bool = False
    """S3's name without a Region, which leads to us-east-1."""


class Addresses:
    """The names that exist in one Region of AWS."""

    def __init__(self, region: str) -> None:
        self.region = region
        self.partition, self.domain = partition_of(region)

    def endpoint(self, service: str) -> str:
        """The Regional endpoint of a service, as a URL without a path."""
        return f"https://{service}.{self.region}.{self.domain}"

    def place(self, host: str) -> Place | None:
        """What answers there; None where AWS has nothing in this Region."""
        name, dot, rest = host.lower().rstrip(".").rpartition(f".{self.domain}")
        if not dot or rest:
            return None
        return self._global(name) or self._s3(name) or self._regional(name)

    def _global(self, name: str) -> Place | None:
        region, suffix = GLOBAL[self.partition]
        if name == f"iam{suffix}":
            return Place("iam", region)
        prices = _PRICES.fullmatch(name)
        if prices and prices["region"] in PRICE_LISTS and partition_of(prices["region"])[0] == self.partition:
            return Place("pricing", prices["region"])
        return Place("sts", "us-east-1") if name == "sts" and self.partition == "aws" else None

    def _s3(self, name: str) -> Place | None:
        found = _S3.fullmatch(name)
        if found is None or found["region"] not in (None, self.region):
            return None
        if found["region"] is None and self.partition != "aws":
            return None
        if found["region"] is None:
            return Place("s3", GLOBAL[self.partition][0], bucket=found["bucket"], is_global=True)
        return Place("s3", self.region, bucket=found["bucket"])

    def _regional(self, name: str) -> Place | None:
        api, service = _API.fullmatch(name), _REGIONAL.fullmatch(name)
        if api and api["region"] == self.region:
            return Place("execute-api", self.region, api_id=api["api"])
        return (
            Place(service["service"], self.region) if service and service["region"] == self.region else None
        )


class NameServer:
    """Answers AWS's names and `others` with loopback, and any other name with NXDOMAIN."""

    def __init__(self, addresses: Addresses, port: int = DNS_PORT, others: Collection[str] = ()) -> None:
        self._server = DNSServer(
            _Resolver(addresses, others),
            address=LOOPBACK,
            port=port,
            logger=DNSLogger(logf=lambda _line: None),
        )
        self._server.start_thread()

    def close(self) -> None:
        """Stop answering."""
        self._server.stop()
        self._server.server.server_close()


class _Resolver(BaseResolver):  # type: ignore[misc]
    def __init__(self, addresses: Addresses, others: Collection[str]) -> None:
        self._addresses = addresses
        self._others = others

    def resolve(self, request: DNSRecord, _handler: object) -> DNSRecord:
        reply = request.reply()
        name = str(request.q.qname)
        if self._addresses.place(name) is None and name.lower().rstrip(".") not in self._others:
            reply.header.rcode = RCODE.NXDOMAIN
        elif request.q.qtype == QTYPE.A:
            reply.add_answer(RR(request.q.qname, QTYPE.A, rdata=A(LOOPBACK), ttl=SECONDS_TO_LIVE))
        return reply
