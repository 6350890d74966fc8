"""Signature Version 4 as AWS checks it: in a header or a presigned address, by the secret of the access key.

The expected signature is botocore's own for the same request ("Create a signed AWS API request", IAM user
guide). A request is signed and judged by this machine's clock, not by lab time.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import Enum, auto
from typing import Any
from urllib.parse import parse_qsl

from botocore.auth import S3SigV4Auth, SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.compat import HTTPHeaders
from botocore.credentials import Credentials

from local.aws.front.addresses import Place
from local.aws.front.listener import HttpRequest

ALGORITHM = "AWS4-HMAC-SHA256"
UNSIGNED = "UNSIGNED-PAYLOAD"
LONGEST = timedelta(days=7)
"""The longest X-Amz-Expires that S3 accepts."""
SKEW, SKEW_OF_S3 = timedelta(minutes=5), timedelta(minutes=15)
"""How far a request's date may be from AWS's clock."""
_STAMP = "%Y%m%dT%H%M%SZ"
_PART = re.compile(r"(Credential|SignedHeaders|Signature)=([^,\s]+)")
_HASH = re.compile(r"[0-9a-f]{64}")


class Fault(Enum):
    """What may be wrong with a request's signature."""

    MISSING = auto()
    INCOMPLETE = auto()
    UNKNOWN_KEY = auto()
    TOKEN = auto()
    MISMATCH = auto()
    OTHER_BODY = auto()
    """The signed hash is of another body."""
    SKEWED = auto()
    EXPIRED = auto()
    """A presigned address."""
    REGION = auto()
    SERVICE = auto()
    MECHANISM = auto()
    """An older version of signatures."""


class SignatureError(Exception):
    """AWS would refuse the request; `fault` says why."""

    def __init__(self, fault: Fault, message: str) -> None:
        super().__init__(message)
        self.fault = fault


@dataclass(frozen=True, slots=True)
class AccessKey:
    """An access key, and who has it."""

    access_key_id: str
    secret: str
    principal: str
    """ARN of the user or role."""
    session_token: str = ""
    """Of temporary credentials."""


Keys = Callable[[str], AccessKey | None]
"""Access key id -> the key; None where there is none."""


@dataclass(frozen=True, slots=True)
class _Signature:
    """The parts of a request's signature."""

    access_key_id: str
    date: str
    region: str
    service: str
    signed_headers: tuple[str, ...]
    value: str
    stamp: str
    token: str
    expires: timedelta | None = None
    """Of a presigned address; None for a signature in a header."""


class _AsSent:
    """The headers that the client has chosen, and the hash that it names."""

    def headers_to_sign(self, request: AWSRequest) -> HTTPHeaders:
        """All that the request was given."""
        return request.headers

    def payload(self, request: AWSRequest) -> str:
        """The hash from the context."""
        return str(request.context["payload"])


class _Expected(_AsSent, SigV4Auth):
    """botocore's signer."""


class _ExpectedOfS3(_AsSent, S3SigV4Auth):
    """S3 signs a path as it is, all others encode it again."""


def check(request: HttpRequest, place: Place, known: Keys, now: datetime) -> AccessKey:
    """Whose request it is. Raises SignatureError where AWS would refuse it."""
    query = parse_qsl(request.query, keep_blank_values=True)
    signature = _presigned(dict(query)) if "X-Amz-Signature" in dict(query) else _in_header(request)
    key = known(signature.access_key_id)
    if key is None:
        raise SignatureError(Fault.UNKNOWN_KEY, "The security token included in the request is invalid.")
    if "host" not in signature.signed_headers:
        message = "'Host' or ':authority' must be a 'SignedHeader' in the AWS Authorization."
        raise SignatureError(Fault.MISMATCH, message)
    _check_scope(signature, place)
    _check_time(signature, now)
    if not hmac.compare_digest(_expected(request, query, signature, key), signature.value):
        raise SignatureError(
            Fault.MISMATCH,
            "The request signature we calculated does not match the signature you provided. Check your AWS "
            "Secret Access Key and signing method. Consult the service documentation for details.",
        )
    if signature.token != key.session_token:
        raise SignatureError(Fault.TOKEN, "The security token included in the request is invalid.")
    _check_body(request)
    return key


def _in_header(request: HttpRequest) -> _Signature:
    given = request.header("authorization")
    if given.startswith("AWS ") or "AWSAccessKeyId=" in request.query:
        message = (
            "The authorization mechanism you have provided is not supported. Please use AWS4-HMAC-SHA256."
        )
        raise SignatureError(Fault.MECHANISM, message)
    if not given:
        raise SignatureError(Fault.MISSING, "Missing Authentication Token")
    parts, stamp = dict(_PART.findall(given)), request.header("x-amz-date")
    if not given.startswith(ALGORITHM) or len(parts) < 3 or not stamp:
        raise SignatureError(Fault.INCOMPLETE, "The request signature does not conform to AWS standards.")
    return _Signature(
        *_scope(parts["Credential"]),
        tuple(parts["SignedHeaders"].split(";")),
        parts["Signature"],
        stamp,
        request.header("x-amz-security-token"),
    )


def _presigned(query: dict[str, str]) -> _Signature:
    wanted = ("X-Amz-Credential", "X-Amz-SignedHeaders", "X-Amz-Date", "X-Amz-Expires")
    seconds = query.get("X-Amz-Expires", "")
    if not all(query.get(name) for name in wanted) or not seconds.isdigit():
        raise SignatureError(Fault.INCOMPLETE, "The request signature does not conform to AWS standards.")
    if timedelta(seconds=int(seconds)) > LONGEST:
        raise SignatureError(Fault.INCOMPLETE, "X-Amz-Expires must be less than a week (in seconds)")
    return _Signature(
        *_scope(query["X-Amz-Credential"]),
        tuple(query["X-Amz-SignedHeaders"].split(";")),
        query["X-Amz-Signature"],
        query["X-Amz-Date"],
        query.get("X-Amz-Security-Token", ""),
        timedelta(seconds=int(seconds)),
    )


def _scope(credential: str) -> tuple[str, str, str, str]:
    """Access key id, date, Region and service of a credential."""
    parts = credential.split("/")
    if len(parts) != 5 or parts[4] != "aws4_request":
        raise SignatureError(Fault.INCOMPLETE, f"Credential must have exactly 5 elements, got '{credential}'")
    return parts[0], parts[1], parts[2], parts[3]


def _check_scope(signature: _Signature, place: Place) -> None:
    if signature.service != place.service:
        message = f"Credential should be scoped to correct service: '{place.service}'."
        raise SignatureError(Fault.SERVICE, message)
    if signature.region != place.region:
        message = f"Credential should be scoped to a valid region, not '{signature.region}'."
        raise SignatureError(Fault.REGION, message)
    if signature.date != signature.stamp[:8]:
        message = "Date in Credential scope does not match YYYYMMDD from ISO-8601 version of date from HTTP"
        raise SignatureError(Fault.MISMATCH, message)


def _check_time(signature: _Signature, now: datetime) -> None:
    try:
        signed_at = datetime.strptime(signature.stamp, _STAMP).replace(tzinfo=UTC)
    except ValueError:
        raise SignatureError(Fault.INCOMPLETE, f"'{signature.stamp}' is not a date") from None
    skew = SKEW_OF_S3 if signature.service == "s3" else SKEW
    if signature.expires is not None and now > signed_at + signature.expires:
        raise SignatureError(Fault.EXPIRED, "Request has expired")
    minutes = f"{skew.seconds // 60} min."
    if signature.expires is None and signed_at < now - skew:
        raise SignatureError(
            Fault.SKEWED,
            f"Signature expired: {signature.stamp} is now earlier than {now - skew:{_STAMP}} "
            f"({now:{_STAMP}} - {minutes})",
        )
    if signed_at > now + skew:
        raise SignatureError(
            Fault.SKEWED,
            f"Signature not yet current: {signature.stamp} is still later than {now + skew:{_STAMP}} "
            f"({now:{_STAMP}} + {minutes})",
        )


def _expected(
    request: HttpRequest, query: list[tuple[str, str]], signature: _Signature, key: AccessKey
) -> str:
    """The signature that botocore gives the same request."""
    kind = _ExpectedOfS3 if signature.service == "s3" else _Expected
    signer = kind(Credentials(key.access_key_id, key.secret), signature.service, signature.region)
    signed = AWSRequest(
        method=request.method,
        url=f"https://{request.header('host')}{request.path}",
        headers={name: request.header(name) for name in signature.signed_headers},
    )
    # botocore takes a list of pairs as well; a name may come twice.
    pairs: Any = [(name, value) for name, value in query if name != "X-Amz-Signature"]
    signed.params = pairs
    signed.context["timestamp"] = signature.stamp
    signed.context["payload"] = _payload(request, signature)
    return str(signer.signature(signer.string_to_sign(signed, signer.canonical_request(signed)), signed))


def _payload(request: HttpRequest, signature: _Signature) -> str:
    given = request.header("x-amz-content-sha256")
    if given:
        return given
    if signature.service == "s3" and signature.expires is not None:
        return UNSIGNED
    return hashlib.sha256(request.body).hexdigest()


def _check_body(request: HttpRequest) -> None:
    """Raise SignatureError where a signed hash is not that of the body."""
    signed = request.header("x-amz-content-sha256")
    if _HASH.fullmatch(signed) and signed != hashlib.sha256(request.body).hexdigest():
        message = "The provided 'x-amz-content-sha256' header does not match what was computed."
        raise SignatureError(Fault.OTHER_BODY, message)
