"""Who answers a request, by the name that it was sent to, once its signature is checked."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Protocol
from urllib.parse import parse_qsl, urlencode

from moto.core.request import Request

from local.aws.front.addresses import Addresses, Place
from local.aws.front.global_s3 import elsewhere
from local.aws.front.listener import HttpAnswer, HttpRequest
from local.aws.front.refusals import code_and_message, refusal
from local.aws.front.signatures import AccessKey, SignatureError, check
from local.aws.region import Region
from local.aws.wire import protocol

Headers = tuple[tuple[str, str], ...]
OF_SIGNATURE = {
    "authorization", "x-amz-security-token", "X-Amz-Algorithm", "X-Amz-Credential", "X-Amz-Date",
    "X-Amz-Expires", "X-Amz-SignedHeaders", "X-Amz-Signature", "X-Amz-Security-Token",
}  # fmt: skip
"""Headers and query parameters that only a signature needs."""
NOT_FOUND = 404
UNSIGNED = re.compile(r"/_ministack/cfn-response/[^/]+")
"""ResponseURL of custom resources; on AWS CloudFormation presigns it."""


class Emulator(Protocol):
    """What the front needs of the emulator."""

    def answer(
        self,
        method: str,
        path: str,
        query: str,
        headers: Headers,
        body: bytes,
        signer: tuple[str, str] | None = None,
    ) -> tuple[int, Headers, bytes]:
        """Status, headers and body; `signer` has the id of the access key, and the ARN of who has it."""

    def access_key(self, access_key_id: str) -> tuple[str, str] | None:
        """Secret and user's ARN of a key that IAM's API has made; None where it has not, or no more."""

    def has_bucket(self, name: str) -> bool:
        """S3 has a bucket of this name."""

    def is_open(self, api_id: str, method: str, path: str) -> bool:
        """The API's method asks for no signature."""

    def is_http_api(self, api_id: str) -> bool:
        """It is an HTTP API, and no REST API."""

    def gateway_response(
        self, api_id: str, path: str, error: str, message: str
    ) -> tuple[int, Headers, bytes] | None:
        """API Gateway's own answer to a call that it refuses; None where the API has no such stage."""


@dataclass(frozen=True, slots=True)
class Call:
    """A call whose signature is good: who makes it, to what, and how."""

    key: AccessKey
    place: Place
    request: HttpRequest


class Front:
    """Everything that listens at AWS's names."""

    def __init__(
        self, addresses: Addresses, region: Region, emulator: Emulator, keys: Mapping[str, AccessKey]
    ) -> None:
        self._addresses = addresses
        self._account = region.settings.account_id
        self._protocol = protocol.Protocol(region)
        self._emulator = emulator
        self._keys = keys
        self.authorize: Callable[[Call], HttpAnswer | None] = lambda _call: None
        """Called for each signed call; returns the refusal, or None."""
        self.unlisted: Callable[[Call], HttpAnswer | None] = lambda _call: None
        """Called where S3 has no such object; returns an answer in place of S3's, or None."""

        self.others: Mapping[str, Callable[[HttpRequest], HttpAnswer]] = {}
        """Who answers at names that are not AWS's."""

    def answer(self, request: HttpRequest) -> HttpAnswer:
        """The answer to one request, errors included."""
        if request.host in self.others:
            return self.others[request.host](request)
        place = self._addresses.place(request.host)
        if place is None:
            return HttpAnswer(421, (), f"AWS has nothing at {request.host} in this Region.\n".encode())
        if place.is_global and place.bucket and self._emulator.has_bucket(place.bucket):
            redirect = elsewhere(request, place, self._addresses.region)
            if redirect is not None:
                return redirect
        if UNSIGNED.fullmatch(request.path) or self._is_open(request, place):
            return self._by_emulator(request, place)
        try:
            key = check(request, place, self._key, datetime.now(UTC))
        except SignatureError as error:
            return self._in_the_apis_form(request, place, refusal(request, place, error))
        call = Call(key, place, request)
        refused = self.authorize(call)
        return self._allowed(call) if refused is None else self._in_the_apis_form(request, place, refused)

    def _key(self, access_key_id: str) -> AccessKey | None:
        known = self._keys.get(access_key_id)
        if known is not None:
            return known
        made = self._emulator.access_key(access_key_id)
        return None if made is None else AccessKey(access_key_id, *made)

    def _in_the_apis_form(self, request: HttpRequest, place: Place, refused: HttpAnswer) -> HttpAnswer:
        if place.api_id is None:
            return refused
        error, message = code_and_message(refused)
        answer = self._emulator.gateway_response(place.api_id, request.path, error, message)
        return refused if answer is None else HttpAnswer(*answer)

    def _allowed(self, call: Call) -> HttpAnswer:
        request, place = call.request, call.place
        if place.service in protocol.SERVICES:
            return self._by_region(request)
        signer = (call.key.access_key_id, call.key.principal)
        answer = self._by_emulator(self._as_account(request, place), place, signer)
        is_missing = place.service == "s3" and answer.status == NOT_FOUND
        return (self.unlisted(call) if is_missing else None) or answer

    def _is_open(self, request: HttpRequest, place: Place) -> bool:
        return place.api_id is not None and self._emulator.is_open(place.api_id, request.method, request.path)

    def _by_region(self, request: HttpRequest) -> HttpAnswer:
        url = f"https://{request.host}{request.path}?{request.query}"
        answer = self._protocol.answer(
            Request.from_primitives(request.method, url, dict(request.headers), request.body)
        )
        return HttpAnswer(answer.status_code, tuple(answer.headers.items()), answer.get_data())

    def _by_emulator(
        self, request: HttpRequest, place: Place, signer: tuple[str, str] | None = None
    ) -> HttpAnswer:
        path = request.path
        if place.api_id and self._emulator.is_http_api(place.api_id):
            path = f"/_aws/execute-api/{place.api_id}/$default{path}"
        elif place.api_id:
            # API Gateway developer guide, "Important notes for REST APIs": the path is decoded, and a per
            # cent sign in it is encoded again. The emulator only decodes.
            path = f"/_aws/execute-api/{place.api_id}{path.replace('%25', '%2525')}"
        return HttpAnswer(
            *self._emulator.answer(request.method, path, request.query, request.headers, request.body, signer)
        )

    def _as_account(self, request: HttpRequest, place: Place) -> HttpRequest:
        """The request as the emulator takes it: it checks no signature, and its access key is the account."""
        scope = f"{self._account}/{datetime.now(UTC):%Y%m%d}/{place.region}/{place.service}/aws4_request"
        signed = ("authorization", f"AWS4-HMAC-SHA256 Credential={scope}, SignedHeaders=host, Signature=0")
        headers = tuple(pair for pair in request.headers if pair[0] not in OF_SIGNATURE)
        query = request.query
        if "X-Amz-Signature=" in query:
            pairs = parse_qsl(query, keep_blank_values=True)
            query = urlencode([pair for pair in pairs if pair[0] not in OF_SIGNATURE])
        return replace(request, headers=(*headers, signed), query=query)
