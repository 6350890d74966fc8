"""boto3 clients whose requests end in the process: the Region, tables and buckets, and small services.

A client is made once, at the import of a handler, and serves whichever lab is open. Faults of AWS's calls are
put in here, as answers on the wire or as connections that say nothing, so that botocore itself meets them.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from types import SimpleNamespace
from typing import Any, Protocol
from unittest import mock
from urllib.parse import parse_qs
from xml.sax.saxutils import escape

import boto3
import botocore.endpoint
import botocore.retries.quota
from botocore.awsrequest import AWSPreparedRequest, AWSResponse
from botocore.credentials import Credentials, ReadOnlyCredentials
from botocore.exceptions import ReadTimeoutError
from botocore.parsers import ResponseParserFactory
from botocore.utils import parse_timestamp

from local import Json
from local.aws.front.refusals import denial

ENDPOINT = "http://127.0.0.1:1"
SERVICE_NAMES = {"sfn": "stepfunctions", "secrets-manager": "secretsmanager", "eventbridge": "events"}
"""botocore's hyphenized service ids where they are not the client's name."""
KEY_PREFIX = "ASIA"
"""IAM user guide, "Unique identifiers": access keys of a role's session begin so."""
READ_SECONDS = 15.0
"""How long botocore waits for an answer before it gives up (rewarm/adapters/clients.py)."""


@dataclass(frozen=True, slots=True)
class Call:
    """One request to AWS: who makes it, and what it is."""

    place: str
    """The state whose function makes it, or the function where there is no state."""
    service: str
    operation: str
    at: float = 0.0
    """When it is made, in virtual time."""
    function: str = ""
    """The logical id of the function whose role it is made with."""

    @property
    def key(self) -> tuple[str, str, str]:
        """What a row of the fault matrix is about."""
        return self.place, self.service, self.operation


@dataclass(frozen=True, slots=True)
class Refusal:
    """An error as AWS sends it."""

    code: str
    message: str
    status: int = 400
    reason: str | None = None
    """Of the EBS direct APIs."""


XML_SERVICES = ("ec2", "s3", "sns")
"""The others that the functions call speak JSON."""


def denied(service: str, reason: str = "User is not authorized to perform this action") -> Refusal:
    """What a service answers to those who may not."""
    code, status = denial(service, is_json=service not in XML_SERVICES)
    return Refusal(code, reason, status)


class Interference(Protocol):
    """What may go wrong with a call."""

    def before(self, call: Call) -> Refusal | None:
        """An error instead of the work."""

    def after(self, call: Call) -> bool:
        """Whether the answer gets lost although the work was done."""

    def change(self, call: Call, body: bytes) -> bytes:
        """The answer as it reaches the caller."""


class Desk(Protocol):
    """The open lab, as clients see it."""

    interference: Interference

    def call_of(self, service: str, operation: str) -> Call:
        """Who calls; also notes the call."""

    def function(self) -> str:
        """The logical id of the function that runs."""

    def denied(self, call: Call, params: Json) -> Refusal | None:
        """AWS's refusal where the caller's role does not allow the call."""

    def unlisted(self, call: Call, params: Json) -> Refusal | None:
        """The same for an object that is not there."""

    def note_trouble(self, service: str) -> None:
        """Something was injected into the caller's call."""

    def respond(
        self, region: str, service: str, operation: str, request: AWSPreparedRequest
    ) -> tuple[int, dict[str, str], bytes]:
        """(status, headers, body)."""

    def sleep(self, seconds: float) -> None:
        """Let virtual time pass for the caller."""


class Switchboard:
    """Where the clients' requests go: to the lab that is open in this process."""

    def __init__(self) -> None:
        self.desk: Desk | None = None
        self._asked: ContextVar[Json] = ContextVar("asked")
        """The parameters of the call that each fiber makes."""

    def client(self, service: str, **options: Any) -> Any:
        """As boto3.client."""
        settings = {
            "region_name": options.get("region_name", "us-east-1"),
            "aws_access_key_id": "local",
            "aws_secret_access_key": "local",
        }
        # Regions and credentials are the lab's; S3 and DynamoDB differ only by their names.
        made = _MAKE(service, **{**options, **settings, "endpoint_url": _endpoint(service)})
        made._request_signer._credentials = _OwnCredentials(self)
        _spare(made)
        made.meta.events.register("provide-client-params", self._note)
        made.meta.events.register("before-send", partial(self._answer, made.meta.region_name))
        return made

    def _note(self, params: Json, **_kwargs: Any) -> None:
        self._asked.set(params)

    def _answer(
        self, region: str, request: AWSPreparedRequest, event_name: str, **_kwargs: Any
    ) -> AWSResponse:
        desk = self.desk
        assert desk is not None, f"{event_name} while no lab is open"
        _, identifier, operation = event_name.split(".")
        service = SERVICE_NAMES.get(identifier, identifier)
        call = desk.call_of(service, operation)
        refusal = desk.interference.before(call)
        if refusal is not None:
            desk.note_trouble(service)
            return _response(request, refusal.status, *_refused(service, refusal))
        refusal = desk.denied(call, self._asked.get())
        if refusal is None:
            status, headers, body = desk.respond(region, service, operation, request)
            refusal = desk.unlisted(call, self._asked.get()) if status == 404 else None
        if refusal is not None:
            return _response(request, refusal.status, *_refused(service, refusal))
        if desk.interference.after(call):
            desk.note_trouble(service)
            desk.sleep(READ_SECONDS)
            raise ReadTimeoutError(endpoint_url=request.url)
        changed = desk.interference.change(call, body)
        if changed != body:
            desk.note_trouble(service)
        return _response(request, status, headers, changed)

    @contextmanager
    def in_force(self) -> Iterator[None]:
        """boto3.client is ours, and botocore's pauses pass in virtual time."""
        with (
            mock.patch.object(boto3, "client", self.client),
            mock.patch.object(botocore.endpoint, "time", _Pauses(self)),
            mock.patch.object(botocore.retries.quota, "RetryQuota", _quota_class(self)),
        ):
            yield


def _spare(client: Any) -> None:
    """Requests that never leave the process need no signature, and no account of who sends them.

    Both take as long as the rest of botocore's work. Addresses are still signed (generate_presigned_url).
    A call's endpoint depends on nothing but its operation and bucket, so it is found out once for each.
    """
    agent = client._user_agent_creator
    event = f"request-created.{client.meta.service_model.service_id.hyphenize()}"
    client.meta.events.unregister(event, client._request_signer.handler)
    client.meta.events.unregister(event, agent.rebuild_and_replace_user_agent_handler)
    client._user_agent_creator = SimpleNamespace(to_string=lambda: "fast-lab")
    resolve, known = client._resolve_endpoint_ruleset, {}

    def resolved(operation: Any, params: Json, *context: Any, **options: Any) -> Any:
        if options:
            return resolve(operation, params, *context, **options)
        key = operation.name, params.get("Bucket")
        if key not in known:
            known[key] = resolve(operation, params, *context)
        return known[key]

    client._resolve_endpoint_ruleset = resolved
    parsers = ResponseParserFactory()
    parsers.set_parser_defaults(timestamp_parser=_moment)
    client._endpoint._response_parser_factory = parsers


def _moment(value: Any) -> datetime:
    """What botocore reads in a time, which takes a thousand times as long where it is date and time."""
    if isinstance(value, str) and value[10:11] == "T":
        return datetime.fromisoformat(value)
    found: datetime = parse_timestamp(value)
    return found


class _OwnCredentials(Credentials):
    """Each function signs with its own role's key: a client serves all of them."""

    def __init__(self, switchboard: Switchboard) -> None:
        super().__init__(KEY_PREFIX, "local")
        self._switchboard = switchboard

    def get_frozen_credentials(self) -> ReadOnlyCredentials:
        """Those of the function that runs."""
        desk = self._switchboard.desk
        return ReadOnlyCredentials(f"{KEY_PREFIX}{desk.function() if desk else ''}", "local", None)


class _Pauses:
    """The module `time` for botocore.endpoint, which only sleeps."""

    def __init__(self, switchboard: Switchboard) -> None:
        self._switchboard = switchboard

    def sleep(self, seconds: float) -> None:
        """Virtual time."""
        assert self._switchboard.desk is not None
        self._switchboard.desk.sleep(seconds)


def _quota_class(_switchboard: Switchboard) -> Callable[..., Any]:
    """A thousand functions at once have a client each on AWS, and so a quota of retries each.

    One process has one client for all: its quota would be used up by their number alone, so it has no end.
    """
    made = botocore.retries.quota.RetryQuota

    def quota(initial_capacity: int = 500, lock: Any = None) -> Any:
        return made(initial_capacity * 1_000_000, lock)

    return quota


_MAKE: Any = boto3.client


def _endpoint(service: str) -> str:
    return {
        "s3": "https://s3.us-east-1.amazonaws.com",
        "dynamodb": "https://dynamodb.us-east-1.amazonaws.com",
        "sns": "https://sns.us-east-1.amazonaws.com",
        "secretsmanager": "https://secretsmanager.us-east-1.amazonaws.com",
    }.get(service, ENDPOINT)


class _Raw(io.BytesIO):
    """What botocore expects of a response's stream."""

    def stream(self, **_options: Any) -> Any:
        """The body in one piece."""
        yield self.read()


def _response(request: AWSPreparedRequest, status: int, headers: dict[str, str], body: bytes) -> AWSResponse:
    told: Any = headers
    raw: Any = _Raw(body)
    return AWSResponse(request.url, status, told, raw)


def _refused(service: str, refusal: Refusal) -> tuple[dict[str, str], bytes]:
    """The error on the wire, by the service's protocol."""
    code, message = escape(refusal.code), escape(refusal.message)
    if service == "ec2":
        body = (
            f"<Response><Errors><Error><Code>{code}</Code><Message>{message}</Message></Error></Errors>"
            "<RequestID>00000000-0000-0000-0000-000000000000</RequestID></Response>"
        )
        return {"Content-Type": "text/xml"}, body.encode()
    if service == "s3":
        return {"Content-Type": "application/xml"}, (
            f"<Error><Code>{code}</Code><Message>{message}</Message></Error>".encode()
        )
    if service == "sns":
        return {"Content-Type": "text/xml"}, (
            f"<ErrorResponse><Error><Type>Sender</Type><Code>{code}</Code><Message>{message}</Message></Error>"
            "<RequestId>0</RequestId></ErrorResponse>"
        ).encode()
    headers = {"Content-Type": "application/x-amz-json-1.1", "x-amzn-ErrorType": refusal.code}
    told = {"__type": refusal.code, "message": refusal.message}
    if refusal.reason is not None:
        told["Reason"] = refusal.reason
    return headers, json.dumps(told).encode()


class NoInterference:
    """Everything goes well."""

    def before(self, call: Call) -> Refusal | None:
        """Nothing."""
        del call
        return None

    def after(self, call: Call) -> bool:
        """Answers arrive."""
        del call
        return False

    def change(self, call: Call, body: bytes) -> bytes:
        """As they are."""
        del call
        return body


class Removals:
    """What functions asked EC2 to delete and to change; what a user of the lab does is the user's affair."""

    def __init__(self) -> None:
        self.volume_ids: set[str] = set()
        self.changes: dict[str, list[tuple[str, str, str]]] = {}
        """Of each volume: type, IOPS and MiB/s, as they were asked for."""

    def note(self, body: Any) -> None:
        """One request to EC2."""
        text = body.decode() if isinstance(body, bytes) else str(body or "")
        if "Action=DeleteVolume&" in text:
            self.volume_ids.update(parse_qs(text).get("VolumeId", []))
        elif "Action=ModifyVolume&" in text:
            asked = {name: values[0] for name, values in parse_qs(text).items()}
            kind, iops, throughput = (
                asked.get(name, "None") for name in ("VolumeType", "Iops", "Throughput")
            )
            self.changes.setdefault(asked["VolumeId"], []).append((kind, iops, throughput))
