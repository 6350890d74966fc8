"""boto3 clients that reach a Region in the same process, through the same protocol code as the server."""

from __future__ import annotations

import io
from typing import Any

import boto3
from botocore.awsrequest import AWSPreparedRequest, AWSResponse
from botocore.config import Config
from moto.core.request import normalize_request

from local.aws.region import Region
from local.aws.wire.protocol import Protocol

_SESSION = boto3.Session()
"""Not the default one, whose models the functions make smaller."""


class _Raw(io.BytesIO):
    """What botocore expects of a response's stream."""

    def stream(self, **_options: Any) -> Any:
        """The body in one piece."""
        yield self.read()


def client(region: Region, service: str, **options: Any) -> Any:
    """A boto3 client of `service` that this Region answers; nothing leaves the process."""
    options.setdefault("config", Config(retries={"total_max_attempts": 1}))
    make: Any = _SESSION.client
    made = make(
        service,
        region_name=region.settings.region,
        aws_access_key_id="local",
        aws_secret_access_key="local",  # noqa: S106
        endpoint_url="http://127.0.0.1:1",
        **options,
    )
    protocol = Protocol(region)

    def answer(request: AWSPreparedRequest, **_kwargs: Any) -> AWSResponse:
        response = protocol.answer(normalize_request(request))
        body = response.get_data()
        headers: Any = dict(response.headers)
        return AWSResponse(request.url, response.status_code, headers, _Raw(body))

    made.meta.events.register("before-send", answer)
    return made
