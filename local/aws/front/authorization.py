"""IAM at AWS's names: each call is allowed or refused by the policies of whoever signed it.

A presigned address has the permissions of its signer (S3 user guide, "Download and upload objects with
presigned URLs"). The account's root is allowed everything. It deploys the stack; `make run` calls as root.
"""

from __future__ import annotations

import secrets
from collections.abc import MutableMapping

from moto.core.request import Request

from local.aws.front.front import Call
from local.aws.front.listener import HttpAnswer
from local.aws.front.refusals import denied
from local.aws.front.signatures import AccessKey
from local.aws.permissions import requests
from local.aws.permissions.policies import Need
from local.aws.permissions.requests import Asked, Place, State
from local.aws.permissions.service_calls import ServiceCalls
from local.aws.wire import protocol

ROOT = ":root"
HOST = "s3.amazonaws.com"
LARGEST_XML_BYTES = 2 << 20
"""A larger body of a call to S3 is an object's content. No permission depends on it, and copies take time."""


class AccessKeys:
    """Access keys of one account, each made when its principal first needs it."""

    def __init__(self, keys: MutableMapping[str, AccessKey]) -> None:
        self._keys = keys
        self._of: dict[str, AccessKey] = {}

    def of(self, principal: str) -> AccessKey:
        """The key of a user, or the temporary credentials of a role's session (STS API, Credentials).

        IAM user guide, "Unique identifiers": the first begin with AKIA, the others with ASIA.
        """
        found = self._of.get(principal)
        if found is None:
            is_session = ":assumed-role/" in principal
            key_id = ("ASIA" if is_session else "AKIA") + secrets.token_hex(8).upper()
            token = secrets.token_urlsafe(96) if is_session else ""
            # Another thread may have been faster: its key is the one that counts.
            found = self._of.setdefault(
                principal, AccessKey(key_id, secrets.token_urlsafe(30), principal, token)
            )
            self._keys[found.access_key_id] = found
        return found


class Authorization:
    """IAM of one account, for Front.authorize and Front.unlisted."""

    def __init__(self, place: Place, state: State, iam: ServiceCalls) -> None:
        self._place = place
        self._state = state
        self._iam = iam

    def refusal(self, call: Call) -> HttpAnswer | None:
        """The answer to a call that its principal may not make."""
        return None if call.key.principal.endswith(ROOT) else self._refusal(call, self._needs(call))

    def unlisted(self, call: Call) -> HttpAnswer | None:
        """S3's answer for an object that is not there, to those who may not list the bucket."""
        asked = None if call.key.principal.endswith(ROOT) else self._asked(call)
        if asked is None or asked.operation not in ("GetObject", "HeadObject"):
            return None
        return self._refusal(call, [requests.listing(asked)])

    def _refusal(self, call: Call, wanted: list[Need]) -> HttpAnswer | None:
        reason = self._iam.reason(call.key.principal, wanted)
        return None if reason is None else denied(call.request, call.place, f"User: {reason}")

    def _needs(self, call: Call) -> list[Need]:
        asked = self._asked(call)
        if asked is None:
            return [Need(f"{call.place.service}:")]
        return requests.needs(asked)

    def _asked(self, call: Call) -> Asked | None:
        """None for an operation that AWS does not have."""
        request = call.request
        if call.place.api_id:
            params = {"ApiId": call.place.api_id, "Method": request.method, "Path": request.path}
            return Asked("execute-api", "Invoke", params, self._place, self._state)
        path = f"/{call.place.bucket}{request.path}" if call.place.bucket else request.path
        # The name is without the bucket, which is in the path now.
        headers = {**dict(request.headers), "host": HOST}
        url = f"https://{HOST}{path}?{request.query}"
        is_content = call.place.service == "s3" and len(request.body) > LARGEST_XML_BYTES
        found = protocol.called(
            call.place.service,
            Request.from_primitives(request.method, url, headers, b"" if is_content else request.body),
        )
        return None if found is None else Asked(*found, self._place, self._state)


def session_of(role_arn: str, name: str) -> str:
    """The principal of a service that has assumed a role (IAM user guide, "IAM identifiers")."""
    head, _, role = role_arn.replace(":iam:", ":sts:", 1).partition(":role/")
    return f"{head}:assumed-role/{role.rpartition('/')[2]}/{name}"
