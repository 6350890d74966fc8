"""What lies between the lab and the world: HTTP requests to the API, addresses, Slack, threads, metrics."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from contextlib import nullcontext
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from local import Json
from local.soak.lab.objects import Buckets


class Posted:
    """Slack's answer."""

    status = 200
    data = b"ok"
    headers: Mapping[str, str] = {}


class Objects:
    """The bucket, by presigned addresses; `allowed` says what S3 does with one: (method, address)."""

    def __init__(self, buckets: Buckets, bucket: str) -> None:
        self.allowed: Callable[[str, str], bool] = lambda _method, _url: True
        self._buckets = buckets
        self._bucket = bucket

    def get(self, url: str) -> bytes | None:
        """None where S3 has no such object for the address."""
        found = self._buckets[self._bucket].get(self._key(url)) if self.allowed("GET", url) else None
        return None if found is None else found.value

    def put(self, url: str, body: bytes) -> None:
        """Write it, where S3 takes it."""
        if self.allowed("PUT", url):
            self._buckets.put(self._bucket, self._key(url), body)

    def put_once(self, url: str, body: bytes) -> int:
        """As `If-None-Match: *` has it, which must have been signed."""
        signed = parse_qs(urlsplit(url).query)["X-Amz-SignedHeaders"][0]
        if "if-none-match" not in signed or not self.allowed("PUT", url):
            return 403
        if self._buckets[self._bucket].get(self._key(url)) is not None:
            return 412
        self._buckets.put(self._bucket, self._key(url), body)
        return 200

    def _key(self, url: str) -> str:
        path = unquote(urlsplit(url).path).lstrip("/")
        return path.removeprefix(f"{self._bucket}/")


CALLER = "arn:aws:iam::123456789012:user/alice"
"""Who signs every request of the API."""


def http_event(method: str, path: str, body: Json | None, headers: dict[str, str]) -> Json:
    """API Gateway's proxy event, REST API."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return {
        "resource": path,
        "path": path,
        "httpMethod": method,
        "headers": {"Content-Type": "application/json", **named},
        "multiValueHeaders": {name: [value] for name, value in named.items()},
        "queryStringParameters": None,
        "multiValueQueryStringParameters": None,
        "pathParameters": None,
        "requestContext": {
            "requestId": "0",
            "httpMethod": method,
            "path": path,
            "stage": "v1",
            "identity": {"userArn": CALLER},
        },
        "body": None if body is None else json.dumps(body),
        "isBase64Encoded": False,
    }


class AtOnce:
    """An executor in which everything is done when it is handed in: only one thread runs in the lab."""

    def __init__(self, *_args: Any, **_options: Any) -> None:
        pass

    def submit(self, work: Callable[..., Any], *args: Any) -> Any:
        """Done when this returns."""
        future: Any = Future()
        try:
            future.set_result(work(*args))
        except Exception as error:
            future.set_exception(error)
        return future

    def shutdown(self, **_options: Any) -> None:
        """Nothing is under way."""


class _NoMetric:
    """What observability does with a metric leaves nothing behind."""

    def add_dimension(self, **_options: Any) -> None:
        """Nothing."""

    add_metadata = add_dimension


def no_metric(**_options: Any) -> Any:
    """As powertools' single_metric."""
    return nullcontext(_NoMetric())
