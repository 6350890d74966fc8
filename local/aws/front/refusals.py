"""How each service of AWS words a refused signature, or a call that is not allowed.

Sources: "Common errors" and "Error codes" (API references of IAM, EC2 and DynamoDB), "Error responses" (S3
API reference), and "Troubleshoot signed requests" (IAM user guide).
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping
from types import MappingProxyType
from xml.sax.saxutils import escape

from local.aws.front.addresses import Place
from local.aws.front.listener import HttpAnswer, HttpRequest
from local.aws.front.signatures import Fault, SignatureError

MISMATCH = "The request signature we calculated does not match the signature you provided."
Words = tuple[str, int, str]
"""Code, HTTP status and message."""
QUERY = {
    Fault.MISSING: ("MissingAuthenticationToken", 403),
    Fault.INCOMPLETE: ("IncompleteSignature", 400),
    Fault.MECHANISM: ("IncompleteSignature", 400),
    Fault.UNKNOWN_KEY: ("InvalidClientTokenId", 403),
    Fault.TOKEN: ("InvalidClientTokenId", 403),
    Fault.EXPIRED: ("RequestExpired", 400),
}
"""Of services with the query protocol; any other fault is SignatureDoesNotMatch, 403."""
JSON = {
    Fault.MISSING: "MissingAuthenticationTokenException",
    Fault.INCOMPLETE: "IncompleteSignatureException",
    Fault.MECHANISM: "IncompleteSignatureException",
    Fault.UNKNOWN_KEY: "UnrecognizedClientException",
    Fault.TOKEN: "UnrecognizedClientException",
    Fault.EXPIRED: "RequestExpired",
}
"""Of services with JSON; any other fault is InvalidSignatureException."""
S3: dict[Fault, Words] = {
    Fault.MISSING: ("AccessDenied", 403, "Access Denied"),
    Fault.MECHANISM: ("InvalidRequest", 400, ""),
    Fault.UNKNOWN_KEY: (
        "InvalidAccessKeyId", 403, "The AWS Access Key Id you provided does not exist in our records.",
    ),
    Fault.TOKEN: ("InvalidToken", 400, "The provided token is malformed or otherwise invalid."),
    Fault.MISMATCH: (
        "SignatureDoesNotMatch", 403,
        f"{MISMATCH} Check your key and signing method.",
    ),
    Fault.OTHER_BODY: ("XAmzContentSHA256Mismatch", 400, ""),
    Fault.SKEWED: (
        "RequestTimeTooSkewed", 403,
        "The difference between the request time and the server's time is too large.",
    ),
    Fault.EXPIRED: ("AccessDenied", 403, "Request has expired"),
}  # fmt: skip
"""Any other fault is in the form of the signature. An empty message stands for the error's own."""
EC2: dict[Fault, Words] = {
    Fault.MISSING: ("MissingParameter", 400, "The request must contain the parameter AWSAccessKeyId"),
    Fault.INCOMPLETE: ("IncompleteSignature", 400, ""),
    Fault.SKEWED: ("RequestExpired", 400, "Request has expired."),
    Fault.EXPIRED: ("RequestExpired", 400, "Request has expired."),
}
"""Any other fault is AuthFailure."""
_AUTH_FAILURE = ("AuthFailure", 401, "AWS was not able to validate the provided access credentials")
DENIED = {"ec2": "UnauthorizedOperation", "sns": "AuthorizationError"}
"""Codes for a call that is not allowed, where a service does not use the usual one."""
REST_JSON = ("lambda", "ebs", "execute-api", "apigateway", "scheduler")
"""Their status is 403; services that name an operation in X-Amz-Target answer 400."""


def refusal(request: HttpRequest, place: Place, error: SignatureError) -> HttpAnswer:
    """The answer of the service at this place to a wrong signature."""
    if place.service == "s3":
        code, status, message = _of_s3(request, place, error)
    elif place.service == "ec2":
        code, status, message = EC2.get(error.fault, _AUTH_FAILURE)
    elif _is_json(request, place):
        code, status, message = JSON.get(error.fault, "InvalidSignatureException"), 0, ""
    else:
        code, status = QUERY.get(error.fault, ("SignatureDoesNotMatch", 403))
        message = ""
    return _answer(request, place, (code, status, message or str(error)))


def denied(request: HttpRequest, place: Place, message: str) -> HttpAnswer:
    """The answer of the service at this place to a call that the caller's policies do not allow."""
    return _answer(request, place, (*denial(place.service, is_json=_is_json(request, place)), message))


def denial(service: str, *, is_json: bool) -> tuple[str, int]:
    """Code and HTTP status of such an answer, by the service's protocol."""
    usual = "AccessDeniedException" if is_json else "AccessDenied"
    return DENIED.get(service, usual), _json_status(service) if is_json else 403


def code_and_message(answer: HttpAnswer) -> tuple[str, str]:
    """Code and message of a JSON service's error."""
    return dict(answer.headers)["x-amzn-ErrorType"], json.loads(answer.body)["message"]


def _is_json(request: HttpRequest, place: Place) -> bool:
    return place.service in REST_JSON or bool(request.header("x-amz-target"))


def _answer(request: HttpRequest, place: Place, words: Words) -> HttpAnswer:
    """An error in the service's protocol."""
    code, status, message = words
    request_id = str(uuid.uuid4())
    if _is_json(request, place):
        return _json(place, code, message, request_id)
    if place.service == "s3":
        return s3_error(request, status, code, message)
    inner = f"<Code>{code}</Code><Message>{escape(message)}</Message>"
    if place.service == "ec2":
        body = (
            f"<Response><Errors><Error>{inner}</Error></Errors><RequestID>{request_id}</RequestID></Response>"
        )
    else:
        body = (
            f"<ErrorResponse><Error><Type>Sender</Type>{inner}</Error>"
            f"<RequestId>{request_id}</RequestId></ErrorResponse>"
        )
    return _xml(status, body, request_id)


def s3_error(
    request: HttpRequest,
    status: int,
    code: str,
    message: str,
    more: Mapping[str, str] = MappingProxyType({}),
    headers: Mapping[str, str] = MappingProxyType({}),
) -> HttpAnswer:
    """An error of S3, with further elements and headers where the error has some."""
    request_id = str(uuid.uuid4())
    elements = {"Code": code, "Message": message, **more, "RequestId": request_id}
    inner = "".join(f"<{name}>{escape(value)}</{name}>" for name, value in elements.items())
    answer = _xml(status, f"<Error>{inner}</Error>", request_id)
    body = b"" if request.method == "HEAD" else answer.body
    return HttpAnswer(status, (*answer.headers, *headers.items()), body)


def _of_s3(request: HttpRequest, place: Place, error: SignatureError) -> Words:
    found = S3.get(error.fault)
    if found is not None:
        code, status, message = found
        return code, status, message or str(error)
    is_presigned = "X-Amz-Signature=" in request.query
    if error.fault is Fault.REGION:
        wrong = str(error).rpartition("not ")[2].rstrip(".")
        reason = f"the region {wrong} is wrong; expecting '{place.region}'"
    else:
        reason = str(error)
    if is_presigned:
        message = f"Error parsing the X-Amz-Credential parameter; {reason}"
        return "AuthorizationQueryParametersError", 400, message
    return "AuthorizationHeaderMalformed", 400, f"The authorization header is malformed; {reason}"


def _json_status(service: str) -> int:
    return 403 if service in REST_JSON else 400


def _json(place: Place, code: str, message: str, request_id: str) -> HttpAnswer:
    headers = (
        ("Content-Type", "application/json" if place.service in REST_JSON else "application/x-amz-json-1.1"),
        ("x-amzn-ErrorType", code),
        ("x-amzn-RequestId", request_id),
    )
    named = {} if place.service in REST_JSON else {"__type": code}
    return HttpAnswer(
        _json_status(place.service), headers, json.dumps({**named, "message": message}).encode()
    )


def _xml(status: int, body: str, request_id: str) -> HttpAnswer:
    text = f'<?xml version="1.0" encoding="UTF-8"?>\n{body}'
    return HttpAnswer(status, (("Content-Type", "text/xml"), ("x-amz-request-id", request_id)), text.encode())
