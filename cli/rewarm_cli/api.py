"""Rewarm's API as a user calls it: HTTP, signed with IAM credentials (Signature Version 4)."""

from __future__ import annotations

import http.client
import json
import shlex
import ssl
import time
import urllib.error
import urllib.request
from dataclasses import dataclass
from functools import cache
from typing import Any

from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from botocore.exceptions import BotoCoreError, ClientError

from rewarm_cli import __version__

Json = dict[str, Any]

SERVICE = "execute-api"
TIMEOUT_SECONDS = 90.0
PAUSES_SECONDS = (1.0, 2.0, 4.0)
"""Seconds before a call that was throttled or not answered is sent again."""
PASSING = frozenset({429, 503, 504})
"""Statuses that say that the API, or a service behind it, was busy."""
NOT_JSON = "text"
"""Field of the body of an answer that is no JSON object: an SVG that was asked for, or of another program."""
ALREADY_STORED = "AlreadyStoredError"
"""Another runbook or rule is stored under the name; the answer has both, and a version of what is stored."""
LASTING = frozenset({"TooManyRestoresError"})
"""Errors with such a status that last until a restore has ended."""


@dataclass(frozen=True, slots=True)
class Answer:
    """Status and body of an HTTP answer."""

    status: int
    body: Json
    retry_after: str | None = None
    """The header: seconds until the next try."""


class ApiRefusedError(RuntimeError):
    """The API answered with another status than the expected one."""

    def __init__(self, call: str, answer: Answer) -> None:
        super().__init__(f"{call} answered {answer.status}: {json.dumps(answer.body)}")
        self.call = call
        self.answer = answer

    @property
    def may_pass(self) -> bool:
        """Whether the same call may succeed a moment later."""
        return self.answer.status in PASSING and self.answer.body.get("error") not in LASTING


@dataclass(frozen=True, slots=True)
class Api:
    """The REST API of a stack."""

    url: str
    """The address, including the stage."""
    region: str
    access_key_id: str
    secret_access_key: str
    session_token: str | None = None
    """The session token of temporary credentials."""
    renewed: Credentials | None = None
    """Renews temporary credentials, which may expire before a warm-up has ended."""
    ca_bundle: str | None = None
    """File of the authorities to trust, if not the system's."""
    timeout_seconds: float = TIMEOUT_SECONDS
    stack_version: str | None = None
    """The stack's version, if its outputs were read and have it."""

    def call(
        self, method: str, path: str, body: Json | None = None, headers: dict[str, str] | None = None
    ) -> Answer:
        """Send a request and return the answer, whatever its status."""
        data = None if body is None else json.dumps(body).encode()
        signed = self._signed(method, path, data, headers or {})
        request = urllib.request.Request(f"{self.url}{path}", data=data, method=method, headers=signed)
        try:
            with urllib.request.urlopen(
                request, timeout=self.timeout_seconds, context=self._trust()
            ) as answer:
                return Answer(answer.status, _object(answer.read()))
        except urllib.error.HTTPError as refusal:
            with refusal:
                return Answer(refusal.code, _object(refusal.read()), refusal.headers.get("Retry-After"))

    def expect(
        self,
        status: int | range,
        method: str,
        path: str,
        body: Json | None = None,
        headers: dict[str, str] | None = None,
    ) -> Json:
        """The body of an answer of this status; raises ApiRefusedError at any other."""
        answer = self.call(method, path, body, headers)
        allowed = range(status, status + 1) if isinstance(status, int) else status
        if answer.status not in allowed or (NOT_JSON in answer.body and "accept" not in (headers or {})):
            raise ApiRefusedError(f"{method} {path}", answer)
        return answer.body

    def insist(
        self,
        status: int | range,
        method: str,
        path: str,
        body: Json | None = None,
        headers: dict[str, str] | None = None,
    ) -> Json:
        """Like `expect`, for a call that may be sent twice: temporary errors are waited out."""
        for pause in PAUSES_SECONDS:
            try:
                return self.expect(status, method, path, body, headers)
            except ApiRefusedError as refusal:
                if not refusal.may_pass:
                    raise
            except (ConnectionResetError, http.client.RemoteDisconnected):
                pass
            time.sleep(pause)
        return self.expect(status, method, path, body, headers)

    def curl(self, method: str, path: str, body: Json | None = None) -> str:
        """The same call as a curl command."""
        words = ["curl", "--aws-sigv4", f"aws:amz:{self.region}:{SERVICE}"]
        words += ["--user", f"{self.access_key_id}:{self.secret_access_key}"]
        words += [] if method == "GET" else ["-X", method]
        if body is not None:
            words += ["-H", "content-type: application/json", "-d", json.dumps(body)]
        return shlex.join([*words, f"{self.url}{path}"])

    def _trust(self) -> ssl.SSLContext | None:
        return _trusting(self.ca_bundle) if self.ca_bundle else None

    def _signed(self, method: str, path: str, data: bytes | None, headers: dict[str, str]) -> dict[str, str]:
        headers = {"user-agent": f"rewarm-cli/{__version__}", **headers}
        if data is not None:
            headers = {"content-type": "application/json", **headers}
        request = AWSRequest(method=method, url=f"{self.url}{path}", data=data, headers=headers)
        SigV4Auth(self._credentials(), SERVICE, self.region).add_auth(request)
        return dict(request.headers.items())

    def _credentials(self) -> Any:
        """Those that hold now. Raises ConnectionError."""
        if self.renewed is None:
            return Credentials(self.access_key_id, self.secret_access_key, self.session_token)
        try:
            return self.renewed.get_frozen_credentials()
        except (BotoCoreError, ClientError) as error:
            raise ConnectionError(f"the AWS credentials cannot be renewed: {error}") from error


@cache
def _trusting(ca_bundle: str) -> ssl.SSLContext:
    """Who watches a restore calls often, and reading a system's authorities takes 25 ms."""
    return ssl.create_default_context(cafile=ca_bundle)


def _object(content: bytes) -> Json:
    """The JSON object of a body; anything else is kept as text, so that an error shows it."""
    try:
        parsed = json.loads(content or b"{}")
    except ValueError:
        return {NOT_JSON: content.decode(errors="replace")}
    return parsed if isinstance(parsed, dict) else {"value": parsed}
